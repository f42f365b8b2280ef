"""Writes the data of transformer.toml: data.py FILE SIZE, for images of SIZE × SIZE."""

import array
import json
import random
import struct
import sys

path, size = sys.argv[1], int(sys.argv[2])
count, shape = 32, [32, 4, size, size]
source = random.Random(1)
# Few distinct rows: the file packs well, and timings do not depend on values.
row = array.array("f", (source.gauss(0, 1) for _ in range(4 * size * size)))
images = b"".join((row[i:] + row[:i]).tobytes() for i in range(count))
labels = array.array("q", (i % 10 for i in range(count))).tobytes()
header = {
    "image": {"dtype": "F32", "shape": shape, "data_offsets": [0, len(images)]},
    "label": {"dtype": "I64", "shape": [count], "data_offsets": [len(images), len(images) + len(labels)]},
}
text = json.dumps(header).encode()
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + images + labels)
