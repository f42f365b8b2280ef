"""Starts a trainer and kills all of its processes with SIGKILL once its metrics hold a step.

usage: kill_at_step.py OUT STEP -- trainer arguments...
"""

import os
import signal
import subprocess
import sys
import time


def main():
    out, step, command = sys.argv[1], int(sys.argv[2]), sys.argv[4:]
    process = subprocess.Popen(command, start_new_session=True)
    metrics = os.path.join(out, "metrics.jsonl")
    deadline = time.time() + 120
    while time.time() < deadline:
        if process.poll() is not None:
            sys.exit(f"the trainer ended by itself, with {process.returncode}, before step {step}")
        try:
            with open(metrics) as file:
                if sum(1 for _ in file) >= step:
                    break
        except FileNotFoundError:
            pass
        time.sleep(0.002)
    else:
        sys.exit(f"step {step} was not reached in time")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


if __name__ == "__main__":
    main()
