#!/usr/bin/env bash
# What the digits example costs, as ratios measured in one run:
#   a training step against its matmuls alone (in oneDNN, on the same buffers);
#   the whole compilation at depth 64 against depth 4; and the time to the first step.
#
#   bench/digits.sh [build folder] [steps]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
steps=${2:-100}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
spec=examples/digits/pipeline.toml

"$build/bin/ff-compile" $spec -o "$out/trainer"
"$out/trainer" --out "$out/train" --steps "$steps" --threads 2 --profile | grep -E 'ratio|kernels|matmuls|optimizer'

seconds() { # median of five runs of a command
  for _ in 1 2 3 4 5; do
    local start=$EPOCHREALTIME
    "$@" >/dev/null
    local end=$EPOCHREALTIME
    echo "$start $end" | awk '{print $2 - $1}'
  done | sort -g | sed -n 3p
}
shallow=$(seconds "$build/bin/ff-compile" $spec -o "$out/a" --set bundle.dit.config.depth=4)
deep=$(seconds "$build/bin/ff-compile" $spec -o "$out/b" --set bundle.dit.config.depth=64)
echo "$shallow $deep" | awk '{printf "compile: %.2f s at depth 4, %.2f s at depth 64: ratio %.2f\n", $1, $2, $2 / $1}'
first() { rm -rf "$out/first"; "$build/bin/ff-compile" $spec -o "$out/c" && "$out/c" --out "$out/first" --steps 1 --threads 2; }
echo "$(seconds first)" | awk '{printf "from ff-compile to the end of the first step and its checkpoint: %.2f s\n", $1}'
