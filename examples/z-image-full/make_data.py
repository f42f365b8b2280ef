"""Writes a folder of samples, a file for each: make_data.py FOLDER

latent [4, H, W] f32, of two shapes: waves, of which the text says the direction. ids [n] i64, 4 to 12 tokens, between those of the template.
"""

import json
import math
import pathlib
import random
import struct
import sys

COUNT, CHANNELS, SHAPES, WORDS = 48, 4, [(8, 8), (8, 8), (12, 8)], 16


def sample(source, height, width):
    word = source.randrange(WORDS)
    angle = 2 * math.pi * word / WORDS
    latent = []
    for c in range(CHANNELS):
        for y in range(height):
            for x in range(width):
                latent.append(math.sin(0.8 * (x * math.cos(angle) + y * math.sin(angle)) + c))
    ids = [1] + [4 + word] * source.randint(2, 10) + [2]
    return {
        "latent": ("F32", [CHANNELS, height, width], struct.pack(f"<{len(latent)}f", *latent)),
        "ids": ("I64", [len(ids)], struct.pack(f"<{len(ids)}q", *ids)),
    }


def write(path, tensors):
    header, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + b"".join(data for _, _, data in tensors.values()))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    source = random.Random(7)
    for i in range(COUNT):
        write(folder / f"{i:02}.safetensors", sample(source, *SHAPES[i % len(SHAPES)]))


main()
