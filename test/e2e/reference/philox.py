"""Counter-based random numbers, as runtime/abi/metadata.md and runtime/train/Data.h define them, written from those texts alone.

`python3 philox.py` checks Philox4x32-10 against the known answers of Random123 and XXH32 against those of xxHash.
"""

from __future__ import annotations

import math
from typing import Callable

import numpy as np

MASK = np.uint64(0xFFFFFFFF)


def philox(counter, seed: int) -> np.ndarray:
    """Philox4x32-10 of counters [..., 4]; the key is (low, high 32 bits of seed). Returns uint64 [..., 4], each below 2^32."""
    c0, c1, c2, c3 = np.moveaxis(np.asarray(counter, np.uint64), -1, 0)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        high0, low0, high1, low1 = p0 >> np.uint64(32), p0 & MASK, p1 >> np.uint64(32), p1 & MASK
        c0, c1, c2, c3 = high1 ^ c1 ^ np.uint64(k0), low1, high0 ^ c3 ^ np.uint64(k1), low0
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], -1)


def words(count: int, seed: int, c1: int, c2, c3) -> np.ndarray:
    """Words of the blocks 0 .. ceil(count / 4) - 1, counter (block, c1, c2, c3): uint64 [4 * blocks]."""
    block = np.arange(-(-count // 4), dtype=np.uint64)
    counter = np.stack(np.broadcast_arrays(block, np.uint64(c1), np.uint64(c2), np.uint64(c3)), -1)
    return philox(counter, seed).reshape(-1)


def to_uniform(w: np.ndarray) -> np.ndarray:
    """[0, 1) with 24 bits."""
    return (w >> np.uint64(8)).astype(np.float64) * 2.0**-24


def to_normal(w: np.ndarray) -> np.ndarray:
    """Box and Muller on consecutive pairs of words, not rounded."""
    w0, w1 = w[0::2], w[1::2]
    radius = np.sqrt(-2 * np.log(((w0 >> np.uint64(8)).astype(np.float64) + 1) * 2.0**-24))
    angle = 2 * np.pi * to_uniform(w1)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(-1)


def draw(convert: Callable, shape: tuple, seed: int, site: int, g: int, dtype) -> np.ndarray:
    """A sample's values for one use of randomness; `shape` is without the batch dim."""
    count = math.prod(shape)
    return convert(words(count, seed, site, g & 0xFFFFFFFF, g >> 32))[:count].reshape(shape).astype(dtype)


def uniform(shape: tuple, seed: int, site: int, g: int, dtype=np.float32) -> np.ndarray:
    """`rand` at `site` for global sample `g`."""
    return draw(to_uniform, shape, seed, site, g, dtype)


def normal(shape: tuple, seed: int, site: int, g: int, dtype=np.float32) -> np.ndarray:
    """`randn` at `site` for global sample `g`."""
    return draw(to_normal, shape, seed, site, g, dtype)


def xxh32(data: bytes, seed: int = 0) -> int:
    """The 32-bit xxHash, from its specification."""
    p1, p2, p3, p4, p5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1

    def rotate(x: int, r: int) -> int:
        x &= 0xFFFFFFFF
        return (x << r | x >> (32 - r)) & 0xFFFFFFFF

    def lane(at: int) -> int:
        return int.from_bytes(data[at:at + 4], "little")
    at = 0
    if len(data) >= 16:
        accumulators = [seed + p1 + p2, seed + p2, seed, seed - p1]
        while at + 16 <= len(data):
            for i in range(4):
                accumulators[i] = rotate(accumulators[i] + lane(at + 4 * i) * p2, 13) * p1
            at += 16
        h = sum(rotate(a, r) for a, r in zip(accumulators, (1, 7, 12, 18)))
    else:
        h = seed + p5
    h += len(data)
    while at + 4 <= len(data):
        h = rotate(h + lane(at) * p3, 17) * p4
        at += 4
    for byte in data[at:]:
        h = rotate(h + byte * p5, 11) * p1
    h &= 0xFFFFFFFF
    h = (h ^ h >> 15) * p2 & 0xFFFFFFFF
    h = (h ^ h >> 13) * p3 & 0xFFFFFFFF
    return h ^ h >> 16


def initial(init: dict, shape: tuple, seed: int, name: str, dtype=np.float32) -> np.ndarray:
    """A parameter before training; `name` is `component.parameter`, `init` an initialiser of metadata.md."""
    if init["kind"] == "constant":
        return np.full(shape, init["value"], dtype)
    count = math.prod(shape)
    site = 0x80000000 | xxh32(name.encode()) & 0x7FFFFFFF
    w = words(count, seed, site, 0, 0xFFFFFFFF)  # no parameter has 2^34 elements
    if init["kind"] == "normal":
        values = init["mean"] + init["std"] * to_normal(w)
    else:
        values = init["low"] + (init["high"] - init["low"]) * to_uniform(w)
    return values[:count].reshape(shape).astype(dtype)


def shuffled(seed: int, epoch: int, index: int, count: int) -> int:
    """The sample at `index` of a shuffled epoch over `count` samples."""
    bits = 2
    while 2**bits < count or bits % 2:
        bits += 1
    half = bits // 2
    while True:
        left, right = index >> half, index % 2**half
        for turn in range(8):
            word = int(philox([right, turn, epoch & 0xFFFFFFFF, 0xFFFFFFFE], seed)[0])
            left, right = right, left ^ word % 2**half
        index = left * 2**half + right
        if index < count:
            return index


def main() -> None:
    known = [  # Random123, kat_vectors, philox4x32 10
        ([0] * 4, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, 0xFFFFFFFFFFFFFFFF, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], 0x299F31D0A4093822,
         [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
    ]
    for counter, seed, answer in known:
        assert philox(counter, seed).tolist() == answer, (counter, seed)
    stacked = philox([k[0] for k in known[:1]] * 3, 0)
    assert stacked.shape == (3, 4) and (stacked == known[0][2]).all()

    assert xxh32(b"") == 0x02CC5D05 and xxh32(b"a") == 0x550D7456 and xxh32(b"abc") == 0x32D153FF
    assert xxh32(b"Nobody inspects the spammish repetition") == 0xE2293B2F

    draws = np.concatenate([normal((1000,), 7, 3, g, np.float64) for g in range(100)])
    assert abs(draws.mean()) < 0.02 and abs(draws.std() - 1) < 0.02 and len(np.unique(draws)) > 99000
    flat = uniform((4000,), 7, 3, 0)
    assert 0 <= flat.min() and flat.max() < 1 and abs(flat.mean() - 0.5) < 0.02
    assert sorted(shuffled(42, 1, i, 37) for i in range(37)) == list(range(37))
    assert [shuffled(42, 0, i, 37) for i in range(37)] != [shuffled(42, 1, i, 37) for i in range(37)]
    print("PASS")


if __name__ == "__main__":
    main()
