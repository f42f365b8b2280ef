"""Samples of several shapes, for tests of [data]: a folder with a file for each.

usage: make_samples.py FOLDER

FOLDER/samples/NAME.safetensors     image [2, H, W] f32, text [L, 8] f32 with L from 1 to 5, weight [] f64
FOLDER/of-HxW.safetensors           the samples of one shape, in the order of their names; text filled up with zeros to 5, and a mask
FOLDER/photos, FOLDER/drawings      two folders of 6 and 3 samples of one shape; label [] i64 is the number, from 100 on for drawings
"""

import pathlib
import random
import struct
import sys

import tensor_files

SHAPES = [(4, 4)] * 7 + [(8, 4)] * 5 + [(4, 6)] * 3


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def main():
    folder = pathlib.Path(sys.argv[1])
    draw = random.Random(5)
    by_shape = {}
    (folder / "samples" / "deeper").mkdir(parents=True, exist_ok=True)
    for i, (h, w) in enumerate(SHAPES):
        image = [draw.gauss(0, 1) for _ in range(2 * h * w)]
        length = draw.randint(1, 5)
        text = [draw.gauss(0, 1) for _ in range(8 * length)]
        weight = draw.uniform(0.5, 1.5)
        tensors = {
            "image": ("F32", [2, h, w], floats(image)),
            "text": ("F32", [length, 8], floats(text)),
            "weight": ("F64", [], struct.pack("<d", weight)),
        }
        where = folder / "samples" / ("deeper" if i % 4 == 3 else "")
        tensor_files.write(where / f"{i:02}.safetensors", tensors)
        # Below "samples", names sort as paths do: first 00, 01, ..., then deeper/03, ...
        by_shape.setdefault((h, w), []).append((str(where / f"{i:02}"), image, text, length, weight))
    for (h, w), samples in by_shape.items():
        samples.sort()
        n = len(samples)
        tensors = {"image": b"", "text": b"", "weight": b"", "mask": b""}
        for _, image, text, length, weight in samples:
            tensors["image"] += floats(image)
            tensors["text"] += floats(text + [0.0] * (8 * (5 - length)))
            tensors["weight"] += struct.pack("<d", weight)
            tensors["mask"] += struct.pack("<5q", *([1] * length + [0] * (5 - length)))
        types = {"image": ("F32", [n, 2, h, w]), "text": ("F32", [n, 5, 8]), "weight": ("F64", [n]), "mask": ("I64", [n, 5])}
        tensor_files.write(folder / f"of-{h}x{w}.safetensors", {k: (*types[k], v) for k, v in tensors.items()})
    for name, first, count in (("photos", 0, 6), ("drawings", 100, 3)):
        (folder / name).mkdir(exist_ok=True)
        for i in range(count):
            tensor_files.write(folder / name / f"{i}.safetensors", {"label": ("I64", [], struct.pack("<q", first + i))})


main()
