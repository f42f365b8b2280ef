#!/usr/bin/env bash
# How long the plan of two transformers of 14 B parameters takes, and how much memory: the budget is a second and 500 MB.
#
#   bench/plan.sh [build folder]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
inputs=test/tools/plan/Inputs
python3 $inputs/make_data.py "$out/data.safetensors" latent=F32:64,16,21,60,104 text=F32:64,512,4096
python3 - "$build/bin/ff-compile" test/tools/plan/wan-like.toml --plan --ranks 8 --set "data.files=\"$out/data.safetensors\"" <<'PYTHON'
import resource, statistics, subprocess, sys, time

walls = []
for _ in range(5):
    start = time.monotonic()
    subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    walls.append(time.monotonic() - start)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = (usage.ru_utime + usage.ru_stime) / len(walls)
print(f"plan of wan-like on 8 ranks: {statistics.median(walls):.2f} s (median of 5), {cpu:.2f} s of CPU, {usage.ru_maxrss / 1024:.0f} MiB")
PYTHON
