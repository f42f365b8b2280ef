"""Writes a safetensors file that is a header over a hole: make_data.py FILE NAME=DTYPE:DIM,DIM,... ..."""

import json
import struct
import sys

SIZES = {"F32": 4, "BF16": 2, "I64": 8}

path, tensors = sys.argv[1], sys.argv[2:]
header, end = {}, 0
for text in tensors:
    name, spec = text.split("=")
    dtype, dims = spec.split(":")
    shape = [int(dim) for dim in dims.split(",")]
    size = SIZES[dtype]
    for dim in shape:
        size *= dim
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
    end += size
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text)
    file.truncate(8 + len(text) + end)  # takes no space on the disk
