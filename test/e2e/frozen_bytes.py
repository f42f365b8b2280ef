"""frozen_bytes.py SPLIT.json PROMOTE.json FOLDER...: frozen groups have the bytes of the files in FOLDER..., one for each component, in
the first plan, and more in the second.
"""

import json
import os
import struct
import sys


def frozen(path):
    with open(path, encoding="utf-8") as file:
        return sum(group["bytes"] for group in json.load(file)["groups"] if not group["trainable"])


def in_files(folder):
    total = 0
    for name in os.listdir(folder):
        if not name.endswith(".safetensors"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        total += sum(t["data_offsets"][1] - t["data_offsets"][0] for key, t in header.items() if key != "__metadata__")
    return total


split, promote = frozen(sys.argv[1]), frozen(sys.argv[2])
files = sum(in_files(folder) for folder in sys.argv[3:])
assert split == files, (split, files)
assert promote > split, (promote, split)
print(f"frozen: {split} bytes in split, as in the files; {promote} in promote")
