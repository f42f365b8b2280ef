"""Writes the safetensors files of data.toml, most of them broken, into a folder."""
import json
import os
import struct
import sys

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
SIZES = {"F32": 4, "I64": 8, "U8": 1, "F64": 8}


def pack(header, body):
    text = header if isinstance(header, str) else json.dumps(header)
    return struct.pack("<Q", len(text)) + text.encode() + body


def tensors(**shapes):
    header, at = {}, 0
    for name, (dtype, shape) in shapes.items():
        size = SIZES[dtype]
        for dim in shape:
            size *= dim
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    return pack(header, bytes(at))


def write(name, content):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)


good = tensors(image=("F32", [5, 1, 4, 4]), label=("I64", [5]))
write("good.safetensors", good)
write("f64.safetensors", tensors(image=("F64", [5, 1, 4, 4]), label=("I64", [5])))
write("truncated.safetensors", good[:-8])
write("trailing.safetensors", good + b"x")
write("header.safetensors", good[:40])
write("tiny.safetensors", b"abc")
write("text.safetensors", b"this is not a safetensors file")
write("json.safetensors", pack("{nonsense", b""))
write("names.safetensors", tensors(images=("F32", [5, 1, 4, 4]), label=("I64", [5])))
write("counts.safetensors", tensors(image=("F32", [5, 1, 4, 4]), label=("I64", [4])))
write("dtype.safetensors", tensors(image=("U8", [5, 1, 4, 4]), label=("I64", [5])))
write("shape.safetensors", tensors(image=("F32", [5, 1, 4, 3]), label=("I64", [5])))
write("empty.safetensors", tensors(image=("F32", [0, 1, 4, 4]), label=("I64", [0])))
one = '{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
write("twice.safetensors", pack('{"image":%s,"image":%s}' % (one, one), bytes(4)))
write("offsets.safetensors", pack({"image": {"dtype": "F32", "shape": [3], "data_offsets": [0, 4]}}, bytes(4)))
write("unknown.safetensors", pack({"image": {"dtype": "F3", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)))
write("hole.safetensors", pack({"image": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, bytes(8)))
deep = '{"image":' + "[" * 100_000 + "]" * 100_000 + "}"
write("deep.safetensors", pack(deep, b""))
write("deep.json", deep.encode())
