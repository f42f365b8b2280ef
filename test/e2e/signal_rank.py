"""Starts a trainer of several ranks, sends a signal to the last rank once it trains, and prints what the trainer says.

usage: signal_rank.py SIGNAL OUT command...     OUT is the folder of --out; the trainer must end by itself
"""

import pathlib
import signal
import subprocess
import sys
import time


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def main():
    name, out, *command = sys.argv[1:]
    trainer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    metrics = pathlib.Path(out) / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not (metrics.exists() and metrics.read_text().count("\n") >= 3):
        if time.monotonic() > deadline or trainer.poll() is not None:
            trainer.kill()
            sys.exit("the trainer does not train:\n" + trainer.communicate()[0])
        time.sleep(0.05)
    rank = children(trainer.pid)[-1]
    subprocess.run(["kill", "-" + name, str(rank)], check=True)
    start = time.monotonic()
    try:
        text, _ = trainer.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        trainer.kill()
        sys.exit("the trainer does not end:\n" + trainer.communicate()[0])
    print(text)
    print(f"status {trainer.returncode} after {time.monotonic() - start:.0f} s")


main()
