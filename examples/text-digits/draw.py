#!/usr/bin/python3
"""Draws prompts with the trained model, ten images each, a row for each prompt: out/drawn/samples.png

usage: draw.py PROMPT ...
"""

import subprocess
import sys
from pathlib import Path

from text import Tokenizer, save

EACH = 10


def main():
    prompts = sys.argv[1:]
    here = Path(__file__).resolve().parent
    steps = sorted(here.glob("out/step-*"))
    if not prompts or not steps:
        raise SystemExit(__doc__ if steps else "error: there is no checkpoint; fix: run.sh")
    tokens = Tokenizer(here / "out/all-MiniLM-L6-v2/vocab.txt").batch([p for p in prompts for _ in range(EACH)])
    save(here / "out/drawn.safetensors", tokens)
    values = {"count": len(prompts) * EACH, "micro_batch": EACH, "image.columns": EACH}
    values |= {f"inputs.{name}.file": "out/drawn.safetensors" for name in tokens}
    command = [here / "../../build/release/bin/ff-compile", "--run", here / "pipeline.toml"]
    command += [f"--set=sample.{key}={value}" for key, value in values.items()]
    command += ["--", "--sample", "--threads", "1", "--out", here / "out/drawn", "--resume", steps[-1]]
    sys.exit(subprocess.run(command).returncode)


main()
