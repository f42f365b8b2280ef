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


def read(path):
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return data[: 8 + length], json.loads(data[8 : 8 + length]), data[8 + length :]


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
        if read(a / name)[0] != read(b / name)[0]:
            sys.exit(f"{name}: the headers differ")
    print(f"{len(tensors)} files with the same headers")


def close(a, b, tolerance):
    (_, header, data), (_, other, bytes_) = read(a), read(b)
    names = [name for name in header if name != "__metadata__"]
    if sorted(names) != sorted(name for name in other if name != "__metadata__"):
        sys.exit(f"{a} and {b} hold different tensors")
    worst = 0.0
    for name in names:
        if header[name]["dtype"] != "F32":
            continue
        x, y = array.array("f"), array.array("f")
        x.frombytes(data[slice(*header[name]["data_offsets"])])
        y.frombytes(bytes_[slice(*other[name]["data_offsets"])])
        scale = max(map(abs, x)) or 1.0
        difference = max(abs(p - q) for p, q in zip(x, y)) / scale
        worst = max(worst, difference)
        if not difference <= float(tolerance):
            sys.exit(f"{name}: differs by {difference:.2e} of its largest element, more than {tolerance}")
    print(f"{len(names)} tensors agree, worst {worst:.2e}")


def memory(plan, report):
    planned = json.loads(pathlib.Path(plan).read_text())
    line = [line for line in pathlib.Path(report).read_text().splitlines() if line.startswith("{")][-1]
    got = json.loads(line)
    want = planned["peak_device_bytes"]
    if got["arena_bytes"] != want:
        sys.exit(f"the trainer took {got['arena_bytes']} bytes, the plan says {want}")
    print(f"{want} bytes")


{"layout": layout, "close": close, "memory": memory}[sys.argv[1]](*sys.argv[2:])
