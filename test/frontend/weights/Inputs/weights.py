"""Writes weight files by hand, right ones and broken ones, and what ff-weights-test expects of them."""
import json
import os
import struct

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E8M0": 1, "I64": 8, "U64": 8, "C64": 8, "U8": 1, "BOOL": 1}


def layout(tensors):
    """The header and the bytes of {name: (dtype, shape)}; a shape alone is F32."""
    table, at = {}, 0
    for name, tensor in tensors.items():
        dtype, shape = tensor if isinstance(tensor, tuple) else ("F32", tensor)
        size = SIZES[dtype]
        for dim in shape:
            size *= dim
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    return table, at


def raw(path, header, size=0, length=None):
    """A file with this header, as it is, and `size` bytes after it."""
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    if not isinstance(header, (str, bytes)):
        header = json.dumps(header)
    text = header if isinstance(header, bytes) else header.encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text) if length is None else length) + text + bytes(size))


def save(path, tensors):
    raw(path, *layout(tensors))


def index(path, places):
    """An index; `places` is the weight_map, or text."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(places if isinstance(places, str) else json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))


def touch(path, content=b"x"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def expect(path, weights, params, top=""):
    """What ff-weights-test reads; a shape, or the text of an inline table."""
    lines = ["weights = " + json.dumps(weights), top, "[params]"]
    for name, value in params.items():
        text = value if isinstance(value, str) else "{ shape = %s }" % json.dumps(value)
        lines.append(json.dumps(name) + " = " + text)
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
