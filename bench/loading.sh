#!/usr/bin/env bash
# What loading a frozen model takes: the memory of each of 4 ranks, and the rate beside plain reading of the same files. Two ratios: with
# the files in the page cache, and without.
#
#   bench/loading.sh [build folder] [megabytes of weights]      4000 by default; takes that of disk, and of memory about twice that
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
out=$(mktemp -d "${TMPDIR:-/tmp}/ff-loading.XXXXXX")
trap 'rm -rf "$out"' EXIT
python3 bench/loading.py "$build/bin/ff-compile" "$out" "${2:-4000}"
