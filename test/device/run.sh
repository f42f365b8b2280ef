#!/usr/bin/env bash
# Checks and times ff on this machine's first GPU, with the folder that build.sh made: docs/device-check.md.
#
#   run.sh [DIR [LOGS]]   (default: the folder it is in)
#
# LOGS: a folder that keeps what the programs print, the whole profile among it.
# Exits with 1 where a comparison failed. Under ff-standin it compares and times nothing.
set -uo pipefail
out=
if [ $# -gt 1 ]; then
  mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
fi
cd "${1:-$(dirname "$0")}" || exit 2
check=$PWD/ff-device-check
[ -x "$check" ] || { echo "error: $PWD was not made by test/device/build.sh" >&2; exit 2; }
started=$SECONDS
failed=0
if [ -z "$out" ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi

# cuBLASLt and NCCL may have come with PyTorch alone.
if ! timeout 60 "$check" device >/dev/null 2>&1; then
  found=$(timeout 60 python3 -c 'import glob, sysconfig
print(":".join(glob.glob(sysconfig.get_path("purelib") + "/nvidia/*/lib")))' 2>/dev/null)
  [ -z "$found" ] || export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$found
fi
device=$(timeout 60 "$check" device 2>&1) || { echo "error: no GPU to check: ${device#error: }" >&2; exit 1; }
timings=1 limit=100
case $device in *standin*) timings= limit=1800 ;; esac

rule() { printf '%s\n' "--------------------------------------------------------------------------------------------------"; }
line() { printf '%-8s %-36s %s\n' "$@"; }
# verdict NAME COMMAND...: the last line that the command prints, and before it what it says is wrong
verdict() {
  local name=$1 status=ok
  shift
  timeout "$limit" "$@" >"$out/said" 2>&1 || status=FAILED
  [ "$status" = ok ] || failed=1
  line "$status" "$name" "$(tail -n 1 "$out/said")"
  [ "$status" = ok ] || head -n -1 "$out/said" | head -n 8
}
train() { # NAME FOLDER [flags]
  local name=$1 folder=$2
  shift 2
  "trainers/$name" --ranks 1 --out "$out/$folder" --resume none "$@"
}
trains() { # NAME STEPS RTOL
  local data=()
  [ "$1" = transformer-small ] && data=(--data small.safetensors)
  train "$1" "$1" --steps "$2" "${data[@]}" && "$check" metrics "losses/$1.jsonl" "$out/$1/metrics.jsonl" "$2" "$3"
}

rule
echo "$device"
rule
for file in kernels/*.st.gz; do
  gzip -dc "$file" >"$out/recording.st"
  verdict "kernels: $(basename "$file" .st.gz)" "$check" kernels "$out/recording.st"
done
for test in unit/*; do
  [ ! -x "$test" ] || verdict "runtime: ${test#unit/}" "$test" --gtest_brief=1
done
while read -r name steps rtol; do
  [ -n "$timings" ] || steps=$((steps < 5 ? steps : 5))
  # A function cannot be timed out: bash runs it anew.
  export -f train trains
  export out check
  verdict "losses: $name" bash -c 'trains "$@"' - "$name" "$steps" "$rtol"
done <trainers.txt

if [ -n "$timings" ]; then
  rule
  copy=$(timeout 60 "$check" copy) || failed=1
  line copy "256 MiB, bytes read and written" "$copy GB/s"
  rule
  printf '%-36s %10s %10s %8s %10s\n' "attention (batch_q_k_heads_dim)" us GB/s "% copy" TFLOP/s
  for file in timed/*.st.gz; do
    gzip -dc "$file" >"$out/recording.st"
    timeout 60 "$check" time "$out/recording.st" "$copy" >"$out/times" 2>&1 || { cat "$out/times"; failed=1; }
    awk '{ part[$1]++; name = $1 (part[$1] == 1 ? " forward" : " backward " part[$1] - 1)
           printf "%-36s %10s %10s %8s %10s\n", name, $3, $4, $5, $6 }' "$out/times"
  done
fi

if [ -n "$timings" ] && [ -x trainers/transformer ]; then
  rule
  echo "transformer: 12 layers of 768, 16 x 1024 tokens, bf16; kernels and matmuls by time"
  timeout 90 trainers/transformer --ranks 1 --steps 4 --profile --resume none --out "$out/profile" >"$out/profile.txt" 2>&1 ||
    { tail -n 3 "$out/profile.txt"; failed=1; }
  grep -E '^  number' "$out/profile.txt"
  grep -E '^  kernel [0-9]' "$out/profile.txt" | head -n 24
  grep -E '^  matmul [0-9]' "$out/profile.txt" | head -n 16
  grep -E '^  (kernels|matmuls|random|embeddings|optimizer|other) ' "$out/profile.txt"
  rule
  ours=
  if timeout 90 trainers/transformer --ranks 1 --steps 30 --resume none --out "$out/step" >"$out/step.txt" 2>&1; then
    # The first steps load kernels and capture graphs.
    ours=$(sed -n 's/.*"step":\([0-9]*\),.*"time":\([0-9.]*\).*/\1 \2/p' "$out/step/metrics.jsonl" |
      awk '$1 == 6 { first = $2 } $1 == 30 { printf "%.3f", 1000 * ($2 - first) / 24 }')
    line step "ff" "$ours ms, $(awk -v ms="$ours" '{ printf "%.1f", 1000 * $1 / ms }' transformer.tflop) TFLOP/s"
  else
    tail -n 3 "$out/step.txt"
    failed=1
  fi
  if ! python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    line step "PyTorch" "skipped: python3 has no torch that sees the GPU"
  else
    timeout 150 python3 torch_step.py >"$out/torch" 2>"$out/torch.err" || tail -n 2 "$out/torch.err"
    while read -r mode ms; do
      line step "PyTorch, $mode" "$ms ms; ff / PyTorch = $(awk -v a="${ours:-0}" -v b="$ms" 'BEGIN { printf "%.2f", a / b }')"
    done <"$out/torch"
  fi
fi
rule
[ "$failed" = 0 ] && echo "all comparisons passed, $((SECONDS - started)) s" || echo "FAILED, $((SECONDS - started)) s"
exit "$failed"
