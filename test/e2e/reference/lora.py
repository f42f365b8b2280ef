"""One optimizer step of Inputs/lora-layer.toml in float64, from the rules:

    y = W x + b + alpha / rank · B A drop(x),   loss = mean((tanh(y) - x[0:8])²)

W, b and A come from their initialisers, B is zero, unless a checkpoint of the adapters is given. `drop` zeroes an input where a uniform
number is below the probability and scales the others by 1 / (1 - probability). Only A and B have gradients.

usage: lora.py [--dropout 0.25] [--alpha 6] [--checkpoint out/step-XXXXXXXX] --metrics out/metrics.jsonl --gradients FILE [--tolerance 1e-5]
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys

import numpy as np

import compare
import philox
import tensorfile

SEED, BATCH, INPUTS, OUTPUTS, RANK = 11, 16, 12, 8, 3
SITE_X, SITE_DROP = 0, 1  # in the order of the spec's uses of randomness


def initial(kind: dict, shape: tuple, name: str) -> np.ndarray:
    return philox.initial(kind, shape, SEED, "net.fc." + name).astype(np.float64)


def draw(convert, site: int, step: int) -> np.ndarray:
    positions = range((step - 1) * BATCH, step * BATCH)
    return np.stack([convert((INPUTS,), SEED, site, g) for g in positions]).astype(np.float64)


def run(step: int, a: np.ndarray, b: np.ndarray, alpha: float, dropout: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The loss and the gradients of A and B."""
    w = initial({"kind": "normal", "mean": 0.0, "std": 0.3}, (OUTPUTS, INPUTS), "weight")
    bias = initial({"kind": "uniform", "low": -0.1, "high": 0.1}, (OUTPUTS,), "bias")
    x = draw(philox.normal, SITE_X, step)
    kept = x if dropout == 0 else np.where(draw(philox.uniform, SITE_DROP, step) >= dropout, x / (1 - dropout), 0.0)
    scale = alpha / RANK
    y = x @ w.T + bias + scale * (kept @ a.T) @ b.T
    difference = np.tanh(y) - x[:, :OUTPUTS]
    d_y = 2 * difference / difference.size * (1 - np.tanh(y) ** 2)
    d_b = scale * d_y.T @ (kept @ a.T)
    d_a = scale * (d_y @ b).T @ kept
    return float(np.mean(difference**2)), d_a, d_b


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--alpha", type=float, default=6.0)
    parser.add_argument("--checkpoint")
    parser.add_argument("--metrics", required=True)
    parser.add_argument("--gradients", required=True)
    parser.add_argument("--tolerance", type=float, default=1e-5)
    args = parser.parse_args()

    bound = 1 / math.sqrt(INPUTS)
    a = initial({"kind": "uniform", "low": -bound, "high": bound}, (RANK, INPUTS), "lora_A.weight")
    b, step = np.zeros((OUTPUTS, RANK)), 1
    if args.checkpoint:
        step = int(re.fullmatch(r"step-(\d+)", os.path.basename(os.path.normpath(args.checkpoint)))[1]) + 1
        stored = tensorfile.load(os.path.join(args.checkpoint, "model/net/adapter_model.safetensors"))
        a, b = (stored[f"base_model.model.fc.lora_{part}.weight"].astype(np.float64) for part in "AB")
    loss, d_a, d_b = run(step, a, b, args.alpha, args.dropout)
    norm = math.sqrt((d_a**2).sum() + (d_b**2).sum())

    dumped, metrics = tensorfile.load(args.gradients), compare.metrics_of(args.metrics, step)
    expected = {"net.fc.lora_A.weight": d_a, "net.fc.lora_B.weight": d_b}
    if sorted(dumped) != sorted(expected):
        sys.exit(f"FAIL: gradients of {sorted(dumped)}, expected those of {sorted(expected)}")
    largest = max(np.abs(g).max() for g in expected.values())
    errors = {name: compare.error_of(dumped[name], g, largest) for name, g in expected.items()}
    errors["loss"] = compare.relative(metrics["loss"], loss)
    errors["grad_norm"] = compare.relative(metrics["grad_norm"], norm)
    for name, error in errors.items():
        print(f"{name:24} {error:.2e}")
    if not max(errors.values()) <= args.tolerance:
        sys.exit("FAIL")
    print("PASS")


if __name__ == "__main__":
    main()
