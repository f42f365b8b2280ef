"""Holds one optimizer step of a trainer against the reference: its loss, its gradient norm and the gradient of every parameter.

usage: compare.py SPEC --metrics out/metrics.jsonl --gradients FILE [--set KEY=VALUE]... [--checkpoint out/step-XXXXXXXX]

FILE is what `trainer --dump-gradients FILE` wrote for the step after the checkpoint, or for step 1 without one. The error of a tensor is
max|a - b| / max|b| with b the reference. A gradient that vanishes in the reference must vanish. Exits with 1 unless all agree.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

import dit
import tensorfile

VANISHES = 1e-12  # of the largest gradient: the reference's own rounding, where the true value is 0


def error_of(ours: np.ndarray, reference: np.ndarray, largest: float) -> float:
    """Relative to the tensor; to the largest gradient of all where the tensor vanishes."""
    if ours.shape != reference.shape or not np.isfinite(ours).all():
        return float("inf")
    scale = np.abs(reference).max()
    return float(np.abs(ours - reference).max() / (scale if scale > VANISHES * largest else largest))


def relative(ours: float | None, reference: float) -> float:
    """`ours` is null in metrics.jsonl where it is not finite."""
    return float("inf") if ours is None else abs(ours / reference - 1)


def metrics_of(path: str, step: int) -> dict:
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    found = [line for line in lines if line["step"] == step]
    if len(found) != 1:
        sys.exit(f"error: {path} has {len(found)} lines of step {step}")
    return found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    dit.add_arguments(parser)
    parser.add_argument("--metrics", required=True)
    parser.add_argument("--gradients", required=True)
    parser.add_argument("--tolerance", type=float, default=1e-5)
    args = parser.parse_args()

    reference = dit.run(dit.read_spec(args.spec, args.set), args.checkpoint)
    metrics, dumped = metrics_of(args.metrics, reference.step), tensorfile.load(args.gradients)
    missing, extra = sorted(set(reference.gradients) - set(dumped)), sorted(set(dumped) - set(reference.gradients))
    largest = max(np.abs(g).max() for g in reference.gradients.values())
    tensors = [(error_of(dumped[name].astype(np.float64), g, largest), np.abs(g).max(), name)
               for name, g in reference.gradients.items() if name in dumped]
    rows = [(relative(metrics["loss"], reference.loss), abs(reference.loss), "loss"),
            (relative(metrics["grad_norm"], reference.norm), reference.norm, "grad_norm")]
    rows += sorted(tensors, reverse=True)

    print(f"step {reference.step}: loss {metrics['loss']}, reference {reference.loss:.9g}")
    print(f"{'error':>9}  {'max|b|':>9}  tensor (the worst 10 of {len(tensors)})")
    for error, scale, name in rows[:12]:
        print(f"{error:9.2e}  {scale:9.2e}  {name}")
    zeros = [name for name, g in reference.gradients.items() if np.abs(g).max() <= VANISHES * largest]
    if zeros:
        print(f"vanish: {len(zeros)} of {len(reference.gradients)} gradients, such as {zeros[0]}")
    for name in missing:
        print(f"missing from {args.gradients}: {name}")
    for name in extra:
        print(f"not in the reference: {name}")
    bad = [name for error, _, name in rows if not error <= args.tolerance]
    if bad or missing or extra:
        print(f"FAIL: {len(bad)} of {len(rows)} differ by more than {args.tolerance:g}: {', '.join(bad)}; "
              f"{len(missing)} missing, {len(extra)} extra")
        sys.exit(1)
    print(f"PASS: {len(rows)} values agree to {args.tolerance:g}, the worst to {max(rows)[0]:.1e}")


if __name__ == "__main__":
    main()
