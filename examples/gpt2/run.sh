#!/usr/bin/env bash
# Trains a small GPT-2 from initial values on the bytes of this repository's documents, on two ranks, and exports its weights. Installs and
# builds ff first where that is needed. With GPT2 and DATA it trains the published model instead, on one rank: a folder with model.safetensors
# and config.json, and a file with tokens and mask (README.md says how to make it).
#
#   [GPT2=folder DATA=train.safetensors] examples/gpt2/run.sh [arguments of the trainer]
set -euo pipefail
weights=${GPT2:+$(realpath -e "$GPT2")}
data=${DATA:+$(realpath -e "$DATA")}
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
"$root/tools/setup.sh"
mkdir -p out
if [ -n "$weights" ]; then
  [ -n "$data" ] || { echo "error: GPT2 without DATA; fix: DATA=train.safetensors" >&2; exit 1; }
  "$root/build/release/bin/ff-compile" pipeline.toml -o out/gpt2 --set "bundle.lm.weights=\"$weights/model.safetensors\"" \
    --set "bundle.lm.config=\"$weights/config.json\"" --set "data.files=\"$data\""
  exec out/gpt2 "$@"
fi
entropy=$(python3 make_data.py out/small.safetensors 128 ../../README.md ../../docs/*.md ../../docs/decisions/*.md)
"$root/build/release/bin/ff-compile" small.toml -o out/trainer
out/trainer --ranks 2 --resume none --threads 1 "$@"
rm -rf out/exported
out/trainer --export out/exported
# A model that knows how frequent each byte is, and nothing of its context, has a loss of $entropy.
python3 - out/metrics.jsonl "$entropy" <<'CHECK'
import json, sys
losses = [json.loads(line)["loss"] for line in open(sys.argv[1])]
last, entropy = sum(losses[-20:]) / len(losses[-20:]), float(sys.argv[2])
print(f"the loss of the last steps is {last:.2f}, the entropy of single bytes {entropy:.2f}")
sys.exit(len(losses) >= 200 and last > entropy - 0.5 and f"error: the loss should be below {entropy - 0.5:.2f}")
CHECK
