"""The WordPiece tokenizer of BERT without case, from the vocab.txt of a checkpoint, and safetensors files."""

import json
import re
import struct
import unicodedata

import numpy

LENGTH = 12  # tokens of a prompt, [CLS] and [SEP] among them; [PAD] behind. A step with 32 takes twice as long

DTYPES = {"F32": numpy.float32, "F64": numpy.float64, "I64": numpy.int64}


def is_punctuation(c):
    return c in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" or unicodedata.category(c)[0] == "P"


def is_cjk(c):
    ranges = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
              (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]  # fmt: skip
    return any(low <= ord(c) <= high for low, high in ranges)


class Tokenizer:
    def __init__(self, vocab):
        with open(vocab, encoding="utf-8") as file:
            self.ids = {line.rstrip("\n"): i for i, line in enumerate(file)}

    def words(self, text):
        """Lower case without accents; a mark of punctuation and an ideograph is a word of its own."""
        text = "".join(c for c in re.sub(r"[\t\n\r]", " ", text) if unicodedata.category(c) not in ("Cc", "Cf", "Co"))
        text = unicodedata.normalize("NFD", text.replace("\ufffd", ""))
        text = "".join(c.lower() for c in text if unicodedata.category(c) != "Mn")
        return "".join(f" {c} " if is_punctuation(c) or is_cjk(c) else c for c in text).split()

    def pieces(self, word):
        """The longest entry of the vocabulary, then the longest "##" one, and so on."""
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    break
            else:
                return ["[UNK]"]
            found.append(piece)
            start = end
        return found if len(word) <= 100 else ["[UNK]"]

    def encode(self, text):
        tokens = ["[CLS]"]
        for part in re.split(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])", text):
            if part in self.ids and part.startswith("["):
                tokens.append(part)
            else:
                tokens += [piece for word in self.words(part) for piece in self.pieces(word)]
        return [self.ids[token] for token in tokens + ["[SEP]"]]

    def batch(self, prompts):
        """The tensors `ids` and `mask`, [prompts, LENGTH]."""
        ids = numpy.zeros([len(prompts), LENGTH], numpy.int64)
        mask = numpy.zeros_like(ids)
        for i, prompt in enumerate(prompts):
            tokens = self.encode(prompt)
            if len(tokens) > LENGTH:
                raise SystemExit(f"error: '{prompt}' has {len(tokens)} tokens; the most is {LENGTH}")
            ids[i, : len(tokens)] = tokens
            mask[i, : len(tokens)] = 1
        return {"ids": ids, "mask": mask}


def load(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        body = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = numpy.frombuffer(body[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def save(path, tensors):
    header, at = {}, 0
    for name, tensor in tensors.items():
        dtype = next(key for key, value in DTYPES.items() if value == tensor.dtype)
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    head = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for tensor in tensors.values():
            file.write(numpy.ascontiguousarray(tensor).tobytes())
