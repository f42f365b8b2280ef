"""Compares what the CPU target and the CUDA target write.

usage: cuda.py layout a b              checkpoints a and b have the same files, tensors, shapes, dtypes and offsets
       cuda.py close a b tolerance     f32 tensors of two safetensors files agree, relative to the largest element of each
       cuda.py memory plan report      the trainer's allocation is the plan's, to the byte
"""

import array
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
from tensor_files import read  # noqa: E402


def header(path):
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return data[: 8 + length]


def layout(a, b):
    a, b = pathlib.Path(a), pathlib.Path(b)
    files = sorted(str(p.relative_to(a)) for p in a.rglob("*") if p.is_file())
    others = sorted(str(p.relative_to(b)) for p in b.rglob("*") if p.is_file())
    if files != others:
        sys.exit(f"{a} has {files}, {b} has {others}")
    tensors = [name for name in files if name.endswith(".safetensors")]
    if not tensors:
        sys.exit(f"{a} has no tensors")
    for name in tensors:
        if header(a / name) != header(b / name):
            sys.exit(f"{name}: the headers differ")
    print(f"{len(tensors)} files with the same headers")


def close(a, b, tolerance):
    left, right = read(a), read(b)
    if sorted(left) != sorted(right):
        sys.exit(f"{a} and {b} hold different tensors")
    worst, compared = 0.0, 0
    for name, (dtype, _, data) in left.items():
        if dtype != "F32":
            continue
        compared += 1
        x, y = array.array("f"), array.array("f")
        x.frombytes(data)
        y.frombytes(right[name][2])
        scale = max(map(abs, x)) or 1.0
        difference = max(abs(p - q) for p, q in zip(x, y)) / scale
        worst = max(worst, difference)
        if len(x) != len(y) or not difference <= float(tolerance):
            sys.exit(f"{name}: differs by {difference:.2e} of its largest element, more than {tolerance}")
    if not compared:
        sys.exit(f"{a} has no f32 tensors to compare")
    print(f"{compared} tensors agree, worst {worst:.2e}")


def memory(plan, report):
    planned = json.loads(pathlib.Path(plan).read_text())
    line = [line for line in pathlib.Path(report).read_text().splitlines() if line.startswith("{")][-1]
    got = json.loads(line)
    want = planned["peak_device_bytes"]
    if got["arena_bytes"] != want:
        sys.exit(f"the trainer took {got['arena_bytes']} bytes, the plan says {want}")
    print(f"{want} bytes")


{"layout": layout, "close": close, "memory": memory}[sys.argv[1]](*sys.argv[2:])
