"""Compares the losses and gradient norms of two runs, step by step.

usage: compare_metrics.py a/metrics.jsonl b/metrics.jsonl [--steps N] [--bitwise | --rtol 1e-5] [--only loss]

Both files must have exactly the steps 1..N. Exits with 1 at the first difference.
"""

import argparse
import json
import sys


def load(path):
    rows = {}
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            if row["step"] in rows:
                sys.exit(f"{path}: step {row['step']} stands twice")
            rows[row["step"]] = row
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--bitwise", action="store_true")
    parser.add_argument("--rtol", type=float, default=1e-5)
    parser.add_argument("--only", help="compare this alone")
    args = parser.parse_args()

    a, b = load(args.a), load(args.b)
    want = list(range(1, args.steps + 1))
    for path, rows in ((args.a, a), (args.b, b)):
        if sorted(rows) != want:
            sys.exit(f"{path}: has steps {sorted(rows)}, expected 1..{args.steps}")
    worst = 0.0
    for step in want:
        for key in (args.only,) if args.only else ("loss", "grad_norm", "lr"):
            x, y = a[step][key], b[step][key]
            if args.bitwise and x != y:
                sys.exit(f"step {step}: {key} is {x!r} and {y!r}, expected the same bits")
            difference = abs(x - y) / max(abs(x), abs(y), 1e-30)
            worst = max(worst, difference)
            if not difference <= args.rtol:
                sys.exit(f"step {step}: {key} is {x!r} and {y!r}, a relative difference of {difference:.2e} > {args.rtol:.0e}")
    if len({a[s]["loss"] for s in want}) < 2:
        sys.exit("the loss never changes: nothing was trained")
    print(f"{args.steps} steps agree, largest relative difference {worst:.2e}")


if __name__ == "__main__":
    main()
