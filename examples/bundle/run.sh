#!/usr/bin/env bash
# Pretrains the weight files, shows the plan of bundle.toml, and trains it on two ranks. Installs and builds ff first where that
# is needed.
#
#   examples/bundle/run.sh [arguments of the trainer]
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
"$root/tools/setup.sh"
mkdir -p out
"$root/build/release/bin/ff-compile" pretrain.toml -o out/pretrainer
out/pretrainer --resume none --ranks 2 --threads 1
"$root/build/release/bin/ff-compile" bundle.toml --plan --ranks=2
"$root/build/release/bin/ff-compile" bundle.toml -o out/trainer
out/trainer --ranks 2 --resume none --threads 1 "$@"
