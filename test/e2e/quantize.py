"""Writes the weights of a component twice: as fp8 and int8 with scales, and as the fp32 numbers that these stand for.

usage: quantize.py OUT DIM
"""
import json
import struct
import sys

import numpy as np


def e4m3(byte):
    sign, exponent, mantissa = byte >> 7, byte >> 3 & 15, byte & 7
    if byte & 0x7F == 0x7F:
        return np.nan
    value = mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)
    return -value if sign else value


def e5m2(byte):
    return float(np.array([byte << 8], dtype=np.uint16).view(np.float16)[0])


TABLES = {"F8_E4M3": [e4m3(b) for b in range(256)], "F8_E5M2": [e5m2(b) for b in range(256)]}


def encode(x, dtype):
    table = np.array(TABLES[dtype])
    order = [b for b in range(256) if np.isfinite(table[b])]
    values = table[order]
    return np.array(order, dtype=np.uint8)[np.abs(x[..., None] - values).argmin(-1)]


def write(path, tensors):
    header, blobs, at = {}, [], 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        blobs.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    out, dim = sys.argv[1], int(sys.argv[2])
    rng = np.random.default_rng(1)
    small, plain = {}, {}
    for name, kind, rows in (("a", "F8_E4M3", 1), ("b", "F8_E5M2", dim), ("c", "I8", dim)):
        w = rng.normal(size=(dim, dim)).astype(np.float32) / np.sqrt(dim)
        scale = np.abs(w).max(axis=1, keepdims=True) if rows > 1 else np.abs(w).max()
        scale = np.float32(scale) / np.float32(100 if kind == "I8" else 8)
        if kind == "I8":
            numbers = np.round(w / scale).astype(np.int8)
            bytes_, decoded = numbers.tobytes(), numbers.astype(np.float32) * scale
        else:
            codes = encode((w / scale).astype(np.float64), kind)
            bytes_, decoded = codes.tobytes(), np.array(TABLES[kind], dtype=np.float32)[codes] * scale
        shape = (dim, 1) if rows > 1 else ()
        small[f"{name}.weight"] = (kind, (dim, dim), bytes_)
        small[f"{name}.weight_scale"] = ("F32", shape, np.float32(scale).tobytes())
        plain[f"{name}.weight"] = ("F32", (dim, dim), decoded.astype(np.float32).tobytes())
    # Two blocks of one module, in other encodings and with other scales; the root has a plain weight of the same last name.
    blocks, plain_blocks = {}, {}
    for i, (of, like) in enumerate((("a", "F8_E4M3"), ("b", "F8_E5M2"), ("c", "I8"))):
        for suffix in (".weight", ".weight_scale"):
            blocks[f"module.blocks.{i}.fc{suffix}"] = small[of + suffix]
        plain_blocks[f"module.blocks.{i}.fc.weight"] = plain[of + ".weight"]
    root = rng.normal(size=(dim, dim)).astype(np.float32) / np.sqrt(dim)
    for tensors in (blocks, plain_blocks):
        tensors["module.fc.weight"] = ("F32", (dim, dim), root.tobytes())
    write(out + "/blocks.safetensors", blocks)
    write(out + "/plain-blocks.safetensors", plain_blocks)
    write(out + "/small.safetensors", small)
    write(out + "/plain.safetensors", plain)
    x = rng.normal(size=(24, dim)).astype(np.float32)
    write(out + "/data.safetensors", {"x": ("F32", x.shape, x.tobytes())})
    write(out + "/unscaled.safetensors", {"c.weight": small["c.weight"]})


main()
