"""Compares the tensors of two sets of safetensors files: names, dtypes, shapes and bytes.

usage: same_tensors.py a b [--prefix-b P]      a and b are files or folders; names of b may have P in front
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
from tensor_files import read  # noqa: E402


def main():
    a, b = read(sys.argv[1]), read(sys.argv[2])
    if len(sys.argv) > 4:
        a = {name.replace("base_model.model.", sys.argv[4]): tensor for name, tensor in a.items()}
    if sorted(a) != sorted(b):
        sys.exit(f"names differ: {sorted(set(a) ^ set(b))[:6]}")
    for name in a:
        if a[name] != b[name]:
            sys.exit(f"'{name}' differs: {a[name][:2]} and {b[name][:2]}")
    print(f"{len(a)} tensors are the same")


main()
