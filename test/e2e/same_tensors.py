"""Compares the tensors of two sets of safetensors files: names, dtypes, shapes and bytes.

usage: same_tensors.py a b [--prefix-b P]      a and b are files or folders; names of b may have P in front
"""

import json
import pathlib
import struct
import sys


def read(path):
    path = pathlib.Path(path)
    tensors = {}
    for file in sorted(path.glob("*.safetensors")) if path.is_dir() else [path]:
        data = file.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        for name, entry in json.loads(data[8 : 8 + length]).items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                tensors[name] = (entry["dtype"], entry["shape"], data[8 + length + begin : 8 + length + end])
    return tensors


def main():
    a, b = read(sys.argv[1]), read(sys.argv[2])
    if len(sys.argv) > 4:
        a = {name.replace("base_model.model.", sys.argv[4]): tensor for name, tensor in a.items()}
        b = {name: tensor for name, tensor in b.items() if not name.endswith(".alpha")}
    if sorted(a) != sorted(b):
        sys.exit(f"names differ: {sorted(set(a) ^ set(b))[:6]}")
    for name in a:
        if a[name] != b[name]:
            sys.exit(f"'{name}' differs: {a[name][:2]} and {b[name][:2]}")
    print(f"{len(a)} tensors are the same")


main()
