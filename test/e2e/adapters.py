"""Looks at adapters and merged weights that a trainer has saved, with NumPy alone.

usage: adapters.py moved FOLDER                  every lora_B of FOLDER/adapter_model.safetensors is non-zero, and nothing else is in it
       adapters.py merged FOLDER BASE MERGED     MERGED is BASE with W + alpha / rank * B A where FOLDER has an adapter, the rest as it is
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def load(folder: str, stem: str) -> dict[str, tuple[str, np.ndarray]]:
    """The dtype and the bits of every tensor of a model in one file."""
    with open(os.path.join(folder, stem + ".safetensors"), "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        body = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = entry["dtype"], np.frombuffer(body[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def numbers(dtype: str, bits: np.ndarray) -> np.ndarray:
    if dtype == "BF16":
        bits = (bits.astype(np.uint32) << 16).view(np.float32)
    return bits.astype(np.float64)


def spacing(dtype: str, values: np.ndarray) -> np.ndarray:
    """The distance between neighbours of a dtype, at each value."""
    digits = {"F64": 53, "F32": 24, "F16": 11, "BF16": 8}[dtype]
    return 2.0 ** (np.floor(np.log2(np.maximum(np.abs(values), 1e-30))) + 1 - digits)


def pairs(folder: str) -> dict[str, tuple[np.ndarray, float]]:
    """The update of each adapted layer in float64, by its path."""
    tensors = load(folder, "adapter_model")
    with open(os.path.join(folder, "adapter_config.json")) as file:
        config = json.load(file)
    updates = {}
    for name in sorted(tensors):
        path, a, _ = name.partition(".lora_A.weight")
        if not a:
            continue
        path_b = path + ".lora_B.weight"
        layer = path.removeprefix("base_model.model.")
        down, up = numbers(*tensors.pop(name)), numbers(*tensors.pop(path_b))
        rank = config["rank_pattern"].get(layer, config["r"])
        alpha = config["alpha_pattern"].get(layer, config["lora_alpha"])
        if down.shape[0] != rank or up.shape[1] != rank:
            sys.exit(f"{layer}: {down.shape} and {up.shape} are not of rank {rank}")
        if not np.any(up) or not np.any(down):
            sys.exit(f"{layer}: a part of its adapter is zero")
        updates[layer] = alpha / rank * (up @ down)
    if tensors:
        sys.exit(f"more than adapters: {sorted(tensors)}")
    if sorted(updates) != sorted(config["target_modules"]):
        sys.exit(f"target_modules are {config['target_modules']}")
    return updates


def merged(folder: str, base: str, result: str) -> None:
    updates = pairs(folder)
    before, after = load(base, "diffusion_pytorch_model"), load(result, "diffusion_pytorch_model")
    if sorted(before) != sorted(after):
        sys.exit(f"other tensors: {sorted(set(before) ^ set(after))}")
    changed, worst = 0, 0.0
    for name, (dtype, bits) in after.items():
        if dtype != before[name][0]:
            sys.exit(f"{name} is {dtype}, and {before[name][0]} in the base")
        update = updates.pop(name.removesuffix(".weight"), None) if name.endswith(".weight") else None
        if update is None:
            if not np.array_equal(bits, before[name][1]):
                sys.exit(f"{name} has no adapter and has changed")
            continue
        expected = numbers(*before[name]) + update
        # Half a unit of the last digit of the result, and the rounding of the sum in fp32.
        allowed = spacing(dtype, expected) * 0.501 + 1e-6 * np.abs(expected).max()
        error = np.abs(numbers(dtype, bits) - expected)
        worst = max(worst, float((error / allowed).max()))
        if not (error <= allowed).all():
            sys.exit(f"{name} differs by {error.max():.2e}, where {allowed.max():.2e} is rounding")
        changed += not np.array_equal(bits, before[name][1])
    if updates:
        sys.exit(f"no weight for {sorted(updates)}")
    print(f"{changed} weights merged, worst error {worst:.2f} of what rounding allows")


def main() -> None:
    if sys.argv[1] == "moved":
        print(f"{len(pairs(sys.argv[2]))} adapters moved")
    elif sys.argv[1] == "merged":
        merged(*sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
