"""Makes rows of tokens of text files. The tokens are bytes, 0 to 255; 256 ends a file.

usage: make_data.py OUT LENGTH FILE...

OUT gets `tokens` and `mask`, both [rows, LENGTH + 1] i64. A row predicts LENGTH tokens: each but its first from those before it. The last
token of a row is the first of the next one, so that each token is predicted once. The last row is filled up, where `mask` is 0.
Prints the entropy of single tokens in nats: the loss of a model that knows how frequent each is, and nothing of its context.
"""

import json
import math
import struct
import sys
from array import array
from collections import Counter


def rows(texts, length, end):
    """The tensors `tokens` and `mask` of lists of ids, joined, each with `end` behind it."""
    ids = array("q", [end])
    for text in texts:
        ids.extend(text)
        ids.append(end)
    count = -(-(len(ids) - 1) // length)
    tokens, mask = array("q"), array("q")
    for start in range(0, count * length, length):
        row = ids[start : start + length + 1]
        tokens.extend(row)
        tokens.extend([end] * (length + 1 - len(row)))
        mask.extend([1] * len(row) + [0] * (length + 1 - len(row)))
    shape = [count, length + 1]
    return {"tokens": (shape, tokens), "mask": (shape, mask)}


def save(path, tensors):
    header, at = {}, 0
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "I64", "shape": shape, "data_offsets": [at, at + 8 * len(values)]}
        at += 8 * len(values)
    head = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for _, values in tensors.values():
            file.write(values.tobytes())


def entropy(tensors):
    (_, width), tokens = tensors["tokens"]
    counts = Counter(t for i, (t, m) in enumerate(zip(tokens, tensors["mask"][1])) if m and i % width)
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values())


def main():
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    texts = []
    for path in sys.argv[3:]:
        with open(path, "rb") as file:
            texts.append(file.read())
    tensors = rows(texts, int(sys.argv[2]), end=256)
    save(sys.argv[1], tensors)
    print(f"{entropy(tensors):.4f}")


if __name__ == "__main__":
    main()
