#!/usr/bin/env bash
# Compiles pipeline.toml, trains, samples and scores. Installs and builds ff first where that is needed.
#
#   examples/digits/run.sh [arguments of the trainer]
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
"$root/tools/setup.sh"
mkdir -p out
"$root/build/release/bin/ff-compile" pipeline.toml -o out/digits
out/digits --out out --resume none --threads 2 "$@"
out/digits --out out --sample
/usr/bin/python3 score.py out/samples.safetensors digits.safetensors --at-least 0.90
