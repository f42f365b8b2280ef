#!/bin/sh
# usage: run.sh PYTHON CASE DIR
# Trains a model of Inputs/CASE.toml for one step, in fp32 and in fp64, and compares the loss, the output and every gradient.
set -eu
here=$(dirname "$0")
python=$1 case=$2 dir=$3
rm -rf "$dir"
"$python" "$here/reference/check.py" prepare "$case" "$dir"
# Not under its own name, which an import may have.
cp "$here/Inputs/$case.toml" "$dir/spec.toml"
cp "$here/Inputs/probe.toml" "$dir"
for dtype in fp32:1e-5 fp64:1e-8; do
  ff-compile "$dir/spec.toml" --set "precision.compute_dtype=${dtype%:*}" -o "$dir/trainer"
  "$dir/trainer" --threads 2 --out "$dir/out" --dump-gradients "$dir/gradients.safetensors" > "$dir/log"
  "$python" "$here/reference/check.py" compare "$case" "$dir" --tolerance "${dtype#*:}"
  rm -rf "$dir/out"
done
