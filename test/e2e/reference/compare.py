"""Holds one optimizer step of a trainer against the reference: its loss, its gradient norm and the gradient of every parameter.

usage: compare.py SPEC --metrics out/metrics.jsonl --gradients FILE [--set KEY=VALUE]... [--checkpoint out/step-XXXXXXXX]

FILE is what `trainer --dump-gradients FILE` wrote for the step after the checkpoint, or for step 1 without one. The error of a tensor is
max|a - b| / max|b| with b the reference. It may be the tolerance or, if larger, what the rounding of phases does (see dit.py): that is
`time.linear_1.weight` in fp32. A gradient that vanishes in the reference must vanish. Exits with 1 unless all agree.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

import numpy as np

import dit
import tensorfile

VANISHES = 1e-12  # of the largest gradient: the reference's own rounding, where the true value is 0


@dataclasses.dataclass
class Row:
    """A value or tensor that is compared; errors are relative to `scale`."""

    name: str
    scale: float
    error: float
    allowed: float


def compare_tensor(name: str, ours: np.ndarray, reference: dit.Result, largest: float, tolerance: float) -> Row:
    b = reference.gradients[name]
    scale = np.abs(b).max()
    divisor = scale if scale > VANISHES * largest else largest
    comparable = ours.shape == b.shape and np.isfinite(ours).all()
    error = np.abs(ours.astype(np.float64) - b).max() / divisor if comparable else float("inf")
    return Row(name, scale, error, max(tolerance, reference.rounding[name] / divisor))


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
    tensors = [compare_tensor(name, dumped[name], reference, largest, args.tolerance)
               for name in reference.gradients if name in dumped]
    rows = [Row("loss", abs(reference.loss), abs(metrics["loss"] / reference.loss - 1), args.tolerance),
            Row("grad_norm", reference.norm, abs(metrics["grad_norm"] / reference.norm - 1), args.tolerance)]
    rows += sorted(tensors, key=lambda row: -row.error)

    print(f"step {reference.step}: loss {metrics['loss']:.9g}, reference {reference.loss:.9g}")
    print(f"{'error':>9}  {'allowed':>9}  {'max|b|':>9}  tensor (the worst of {len(tensors)})")
    for row in rows[:12]:
        print(f"{row.error:9.2e}  {row.allowed:9.2e}  {row.scale:9.2e}  {row.name}")
    zeros = [name for name, g in reference.gradients.items() if np.abs(g).max() <= VANISHES * largest]
    if zeros:
        print(f"vanish: {len(zeros)} of {len(reference.gradients)} gradients, such as {zeros[0]}")
    for name in missing:
        print(f"missing from {args.gradients}: {name}")
    for name in extra:
        print(f"not in the reference: {name}")
    bad = [row for row in rows if not row.error <= row.allowed]
    for row in bad:
        print(f"differs: {row.name}")
    if bad or missing or extra:
        print(f"FAIL: {len(bad)} of {len(rows)} differ, {len(missing)} missing, {len(extra)} extra")
        sys.exit(1)
    within = sum(row.error <= args.tolerance for row in rows)
    print(f"PASS: {len(rows)} values agree, {within} of them to {args.tolerance:g}, the worst to {max(r.error for r in rows):.1e}")


if __name__ == "__main__":
    main()
