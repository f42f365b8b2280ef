"""Runs a trainer, and while it trains a second one like it; prints what the second says, ends the first by SIGTERM.

usage: run_two.py trainer arguments...        Fails unless the second fails and the first ends with 0.
"""

import os
import subprocess
import sys
import time


def main():
    command = sys.argv[1:]
    out = command[command.index("--out") + 1]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.time() + 60
    while not os.path.exists(os.path.join(out, "metrics.jsonl")) and time.time() < deadline:
        time.sleep(0.01)
    second = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    print(second.stdout)
    first.terminate()
    if second.returncode == 0 or first.wait(60) != 0:
        sys.exit(f"the second ended with {second.returncode}, the first with {first.returncode}")


if __name__ == "__main__":
    main()
