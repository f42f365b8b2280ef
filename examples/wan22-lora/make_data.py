"""Writes smooth random videos and text features, as latents would be: make_data.py out.safetensors"""

import json
import math
import random
import struct
import sys

COUNT, CHANNELS, FRAMES, HEIGHT, WIDTH, TOKENS, FEATURES = 32, 16, 2, 8, 8, 6, 32


def main():
    source = random.Random(7)
    latent, text = [], []
    for _ in range(COUNT):
        phase = [source.uniform(0, 6.28) for _ in range(CHANNELS)]
        for c in range(CHANNELS):
            for t in range(FRAMES):
                for y in range(HEIGHT):
                    for x in range(WIDTH):
                        latent.append(math.sin(phase[c] + 0.5 * t + 0.7 * x) * math.cos(phase[c] + 0.6 * y))
        text += [source.gauss(0, 1) for _ in range(TOKENS * FEATURES)]
    tensors = {
        "latent": ([COUNT, CHANNELS, FRAMES, HEIGHT, WIDTH], latent),
        "text": ([COUNT, TOKENS, FEATURES], text),
    }
    header, at = {}, 0
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * len(values)]}
        at += 4 * len(values)
    head = json.dumps(header).encode()
    with open(sys.argv[1], "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for _, values in tensors.values():
            file.write(struct.pack(f"<{len(values)}f", *values))


main()
