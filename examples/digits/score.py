"""Says how often the training image nearest to a sample has the label that was asked for.

usage: score.py samples.safetensors digits.safetensors [--labels labels.safetensors] [--at-least 0.90]

Labels are `label` of the samples, or of the file that --labels names. The sample's pixels are clamped to [-1, 1]; distance is Euclidean over the 64 pixels. Exits with 1 below --at-least.
"""

import argparse
import json
import struct
import sys

import numpy


def load(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        body = file.read()
    dtypes = {"F32": numpy.float32, "F64": numpy.float64, "I64": numpy.int64}
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = numpy.frombuffer(body[begin:end], dtypes[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples")
    parser.add_argument("data")
    parser.add_argument("--labels")
    parser.add_argument("--at-least", type=float, default=0.0)
    args = parser.parse_args()

    samples, data = load(args.samples), load(args.data)
    label = (load(args.labels) if args.labels else samples)["label"]
    image = next(t for t in samples.values() if t.ndim == 4)
    image = numpy.clip(image.reshape(len(label), -1), -1, 1)
    known = data["image"].reshape(len(data["label"]), -1)
    distance = (image**2).sum(1)[:, None] - 2 * image @ known.T + (known**2).sum(1)[None]
    nearest = data["label"][distance.argmin(1)]
    score = float((nearest == label).mean())
    print(f"{score:.1%} of {len(label)} samples look like the digit that was asked for", end="")
    if score < args.at_least:
        print(f": FAIL, expected {args.at_least:.0%}")
        sys.exit(1)
    print(": PASS")


if __name__ == "__main__":
    main()
