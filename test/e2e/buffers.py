"""Compares two models that trainers saved, in one file each or in several with an index.

usage: buffers.py FOLDER OTHER BUFFER...    the same names, shapes and dtypes; the bytes of BUFFERs are the same, those of all else are not
"""

import json
import os
import sys


def load(folder):
    tensors = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".safetensors"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            body = file.read()
        for key, entry in header.items():
            if key != "__metadata__":
                if key in tensors:
                    sys.exit(f"{folder}: {key} stands twice")
                begin, end = entry["data_offsets"]
                tensors[key] = entry["dtype"], entry["shape"], body[begin:end]
    return tensors


def main():
    a, b, buffers = load(sys.argv[1]), load(sys.argv[2]), sys.argv[3:]
    if {k: v[:2] for k, v in a.items()} != {k: v[:2] for k, v in b.items()} or not a:
        sys.exit(f"other tensors: {sorted(a)} and {sorted(b)}")
    for name in a:
        if (a[name] == b[name]) != (name in buffers):
            sys.exit(f"{name} is {'the same' if a[name] == b[name] else 'another'}")
    if not set(buffers) <= set(a):
        sys.exit(f"there is no {set(buffers) - set(a)}")
    print(f"{len(a) - len(buffers)} tensors were trained, {len(buffers)} stay")


if __name__ == "__main__":
    main()
