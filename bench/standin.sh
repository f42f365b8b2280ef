#!/usr/bin/env bash
# The stand-in device's speed on one core: thread instructions a second. For FF_STANDIN_THREADS=n, on n.
set -euo pipefail
build=${1:-build/release}
ninja -C "$build" standin_bench
"$build/bench/standin_bench"
