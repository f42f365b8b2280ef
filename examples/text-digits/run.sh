#!/usr/bin/env bash
# Fetches the encoder, makes the data, compiles pipeline.toml, trains, samples and scores. Installs and builds ff first where that is
# needed.
#
#   [MINILM=folder] examples/text-digits/run.sh [arguments of the trainer]
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
"$root/tools/setup.sh"
./fetch_encoder.sh
/usr/bin/python3 make_data.py out/all-MiniLM-L6-v2/vocab.txt ../digits/digits.safetensors out
"$root/build/release/bin/ff-compile" pipeline.toml -o out/trainer
# One thread: the products are small.
out/trainer --out out --resume none --threads 1 "$@"
out/trainer --out out --sample --threads 1
/usr/bin/python3 ../digits/score.py out/samples.safetensors out/train.safetensors --labels out/prompts.safetensors --at-least 0.85
