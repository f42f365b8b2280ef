"""Writes an encoder of a few thousand parameters, with the files of all-MiniLM-L6-v2: small_encoder.py ROOT OUT

Checks the tokenizer of examples/text-digits against what BERT's gives for a vocabulary like this one.
"""

import json
import sys
import tomllib
from pathlib import Path

import numpy

root, out = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(root / "examples/text-digits"))
from text import Tokenizer, save  # noqa: E402

DIM, HIDDEN, LAYERS, PLACES = 16, 32, 2, 16

wordings = tomllib.loads((root / "examples/text-digits/wordings.toml").read_text())
words = "zero one two three four five six seven eight nine 0 1 2 3 4 5 6 7 8 9".split()
pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "!", "?", ":", "-", "cafe", "七", "un", "##aff", "##able", "##a"]
pieces += words + sorted({word for text in sum(wordings.values(), []) for word in text.split() if word.isalpha()})
(out / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces))
tokenizer = Tokenizer(out / "vocab.txt")
for text, expected in {
    "The digit SEVEN!": "[CLS] the digit seven ! [SEP]",
    "unaffable": "[CLS] un ##aff ##able [SEP]",
    "unaffabl una": "[CLS] [UNK] un ##a [SEP]",
    "Cafe\u0301, café\t七七\u200b": "[CLS] cafe , cafe 七 七 [SEP]",
    "a [MASK]e [mask]": "[CLS] a [MASK] [UNK] [UNK] [UNK] [UNK] [SEP]",
    "": "[CLS] [SEP]",
}.items():
    found = " ".join(pieces[i] for i in tokenizer.encode(text))
    assert found == expected, f"{text!r}: {found}"

(out / "config.json").write_text(
    json.dumps(
        {
            "architectures": ["BertModel"],
            "hidden_size": DIM,
            "intermediate_size": HIDDEN,
            "max_position_embeddings": PLACES,
            "num_attention_heads": 2,
            "num_hidden_layers": LAYERS,
            "vocab_size": len(pieces),
        }
    )
)
random = numpy.random.default_rng(3)
tensors = {}


def add(name, *shape):
    tensors[name] = random.normal(0, 0.3, shape).astype(numpy.float32)


def add_linear(name, rows, columns):
    add(name + ".weight", rows, columns)
    add(name + ".bias", rows)


def add_norm(name):
    add(name + ".weight", DIM)
    add(name + ".bias", DIM)


for name, rows in {"word": len(pieces), "position": PLACES, "token_type": 2}.items():
    add(f"embeddings.{name}_embeddings.weight", rows, DIM)
add_norm("embeddings.LayerNorm")
for i in range(LAYERS):
    layer = f"encoder.layer.{i}."
    for name in ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"]:
        add_linear(layer + name, DIM, DIM)
    add_linear(layer + "intermediate.dense", HIDDEN, DIM)
    add_linear(layer + "output.dense", DIM, HIDDEN)
    add_norm(layer + "attention.output.LayerNorm")
    add_norm(layer + "output.LayerNorm")
add_linear("pooler.dense", DIM, DIM)
save(out / "model.safetensors", tensors)
