"""Safetensors files for the scripts of tests, with the standard library alone: {name: (dtype, shape, bytes)}."""

import json
import pathlib
import struct


def read(path):
    """The tensors of a file, or of all files of a folder."""
    path = pathlib.Path(path)
    tensors = {}
    for file in sorted(path.glob("*.safetensors")) if path.is_dir() else [path]:
        data = file.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        start = 8 + length
        for name, entry in json.loads(data[8:start]).items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                tensors[name] = (entry["dtype"], entry["shape"], data[start + begin : start + end])
    return tensors


def write(path, tensors):
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))
