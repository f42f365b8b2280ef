"""limits.py --rss-mib N --cpu-seconds N COMMAND...: runs it; fails where it took more."""

import argparse
import resource
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--rss-mib", type=float, required=True)
parser.add_argument("--cpu-seconds", type=float, required=True)
parser.add_argument("command", nargs=argparse.REMAINDER)
args = parser.parse_args()
status = subprocess.run(args.command, check=False).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu, rss = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
print(f"{cpu:.2f} s of CPU, {rss:.0f} MiB", file=sys.stderr)
sys.exit(status or int(cpu > args.cpu_seconds or rss > args.rss_mib))
