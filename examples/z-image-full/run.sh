#!/usr/bin/env bash
# Trains the pipeline at a small size on two ranks, and exports the transformer with its averaged weights. Installs and builds ff first
# where that is needed.
#
#   examples/z-image-full/run.sh [arguments of the trainer]
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
"$root/tools/setup.sh"
mkdir -p out
python3 make_data.py out/data
"$root/build/release/bin/ff-compile" small.toml -o out/trainer
out/trainer --ranks 2 --resume none --threads 1 "$@"
rm -rf out/exported
out/trainer --export out/exported --export-weights ema --export-dtype bf16
