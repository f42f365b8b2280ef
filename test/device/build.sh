#!/usr/bin/env bash
# Makes the folder that run.sh checks a GPU with: docs/device-check.md.
#
#   test/device/build.sh DIR [--small] [--chip=sm_90] [--build=build/release]
#
# --small: what the stand-in runs in seconds. Needs ff-compile, ff-device-test, ff-device-check and the stand-in, which runs the
# kernels whose results are recorded; without --small also ff_runtime_cuda_kernels_test and ff_runtime_cuda_matmul_test.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD build=build/release chip=sm_90 small= dir=
for argument; do
  case $argument in
  --small) small=1 ;;
  --chip=*) chip=${argument#*=} ;;
  --build=*) build=${argument#*=} ;;
  -*) echo "error: unknown option $argument" >&2; exit 2 ;;
  *) dir=$argument ;;
  esac
done
[ -n "$dir" ] || { sed -n '4p' "$0" >&2; exit 2; }
build=$(cd "$build" && pwd)
[ -z "$(ls -A "$dir" 2>/dev/null)" ] || { echo "error: $dir is not empty" >&2; exit 1; }
mkdir -p "$dir"
cd "$dir"
mkdir kernels timed losses trainers digits bundle work
here=$root/test/device
python=/usr/bin/python3
bin=$build/bin
standin=$build/standin/ff-standin

# Recorded launches: record NAME FILE.mlir [flags of ff-device-test]
record() {
  local name=$1 source=$2
  shift 2
  "$standin" "$bin/ff-device-test" --chip="$chip" --record="kernels/$name.st" "$source" "$@" >work/log 2>&1 ||
    { cat work/log >&2; echo "error: kernels of $source are wrong here already" >&2; exit 1; }
}
numeric=$root/test/codegen/kernels/numeric
attention() { "$python" "$root/test/codegen/device/Inputs/attention.py" "$@"; }
sed s/bf16/f16/g "$numeric/narrow.mlir" >work/f16.mlir
record elementwise "$numeric/elementwise.mlir" --skip='^f64$'
record block "$numeric/block.mlir"
record narrow-bf16 "$numeric/narrow.mlir"
if [ -z "$small" ]; then
  record reductions "$numeric/reductions.mlir" --skip='^(softmax_f64|matmul_f64)$'
  record math "$numeric/math.mlir" --skip='_f64$'
  record integers "$numeric/integers.mlir"
  record shared-constants "$numeric/shared-constants.mlir"
  record attention "$numeric/attention.mlir" --skip='_f64$'
  record narrow-f16 work/f16.mlir
  for set in all-bf16 all-f32 few-f16 blocks-bf16; do
    attention "${set%-*}" "${set#*-}" >work/attention.mlir
    record "attention-$set" work/attention.mlir
  done
else
  attention few f16 >work/attention.mlir
  record attention-few-f16 work/attention.mlir --skip="64|128"
fi
attention timed bf16 >work/timed.mlir
"$bin/ff-device-test" --chip="$chip" --record-shapes --record=timed/attention-bf16.st work/timed.mlir ${small:+--skip=4096}

# Trainers, with the losses of the CPU target: train NAME STEPS RTOL SPEC [flags of ff-compile]. Specs name files as seen from here.
train() {
  local name=$1 steps=$2 rtol=$3
  shift 3
  "$bin/ff-compile" "$@" -o work/host
  "$bin/ff-compile" "$@" --target="cuda:$chip" -o "trainers/$name"
  strip "trainers/$name"
  OMP_NUM_THREADS=2 work/host --steps "$steps" --out "work/$name" >/dev/null
  cp "work/$name/metrics.jsonl" "losses/$name.jsonl"
  echo "$name $steps $rtol" >>trainers.txt
}
cp "$root/examples/digits/"{pipeline.toml,digits.safetensors} digits
cp "$root/examples/bundle/"*.toml bundle
cp "$here/transformer.toml" .
steps=20
# Outputs start at zero: only with large steps from the start do losses soon depend on every kernel.
digits=() bundle=() pretrain=() reduced=(--set bundle.dit.config.{dim=128,depth=2,heads=2,height=16,width=16})
if [ -n "$small" ]; then
  steps=5
  digits=(--set bundle.dit.config.dim=64 --set bundle.dit.config.depth=1 --set train.{global,micro}_batch=8)
  pretrain=(--set bundle.transformer.config.{dim=32,depth=1} --set bundle.encoder.config.dim=32)
  bundle=("${pretrain[@]}" --set bundle.transformer_2.config.{dim=32,depth=1} --set train.global_batch=16)
fi
flags() { # --set a b: --set a --set b
  local argument
  for argument; do [ "$argument" = --set ] || printf -- '--set\n%s\n' "$argument"; done
}
mapfile -t digits < <(flags "${digits[@]}")
mapfile -t bundle < <(flags "${bundle[@]}")
mapfile -t pretrain < <(flags "${pretrain[@]}")
mapfile -t reduced < <(flags "${reduced[@]}")

train digits-f32 "$steps" 1e-3 digits/pipeline.toml "${digits[@]}" --set schedule.warmup_steps=0
[ -n "$small" ] || train digits-bf16 "$steps" 5e-2 digits/pipeline.toml "${digits[@]}" --set schedule.warmup_steps=0 --set precision.compute_dtype=bf16
"$bin/ff-compile" bundle/pretrain.toml "${pretrain[@]}" -o work/pretrainer
# Its weights are what the step 80 of bundle.toml stands for, however many there were.
work/pretrainer --steps 5 --out work/pretrain >/dev/null
mkdir -p bundle/out/pretrain/step-00000080
cp -r work/pretrain/step-00000005/model bundle/out/pretrain/step-00000080
train bundle "$steps" 1e-3 bundle/bundle.toml "${bundle[@]}"
"$python" "$here/data.py" data.safetensors 16
train transformer-small "$steps" 5e-2 transformer.toml "${reduced[@]}" --set train.global_batch=8 --set optimizer.lr=2e-3
mv data.safetensors small.safetensors
if [ -z "$small" ]; then
  "$python" "$here/data.py" data.safetensors 64
  "$bin/ff-compile" transformer.toml --target="cuda:$chip" -o trainers/transformer
  strip trainers/transformer
  "$bin/ff-compile" transformer.toml --target=cuda --plan |
    sed -n 's/^compute: \([0-9.]*\) TFLOP in a step.*/\1/p' >transformer.tflop
fi

cp "$bin/ff-device-check" "$here/run.sh" "$here/torch_step.py" .
strip ff-device-check
if [ -z "$small" ]; then
  mkdir unit
  for test in kernels matmul; do
    cp "$build/test/unit/runtime-cuda/ff_runtime_cuda_${test}_test" "unit/$test"
    strip "unit/$test"
  done
fi
gzip kernels/* timed/* # of which PTX is a good part
rm -rf work
bytes=$(du -sb . | cut -f1)
echo "$dir: $((bytes / 1000)) kB"
[ "$bytes" -lt 48000000 ] || { echo "error: $dir is above 48 MB" >&2; exit 1; }
