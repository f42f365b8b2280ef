#!/usr/bin/env bash
# Writes the reference pages that come from TableGen and from the frontend's key table.
#
#   docs/generate.sh [build folder] [output folder]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
out=${2:-docs/generated}
tblgen=$(command -v mlir-tblgen-19 || echo /usr/lib/llvm-19/bin/mlir-tblgen)
include=$(llvm-config-19 --includedir)
mkdir -p "$out"
"$tblgen" --gen-dialect-doc --dialect=ff dialect/Ops.td -I . -I "$include" > "$out/dialect.md"
{
  echo "# Passes"
  for td in passes codegen codegen/host; do
    printf '\n## %s/Passes.td\n\n' "$td"
    "$tblgen" --gen-pass-doc $td/Passes.td -I . -I "$include"
  done
} > "$out/passes.md"
"$build/bin/ff-compile" --print-reference > "$out/language.md"
"$build/bin/ff-compile" --print-schema > "$out/schema.json"
rm -rf "$out/tour"
# Vectors of one width, so that the kernels do not depend on the machine.
"$build/bin/ff-compile" docs/tour/pipeline.toml --cpu=x86-64-v3 --dump-dir="$out/tour" --stop-after=plan-memory -o /dev/null
# A plan on one core with AVX2, so that the scratch memory of matmuls does not depend on the machine either.
data=$(mktemp)
trap 'rm -f "$data"' EXIT
python3 test/tools/plan/Inputs/make_data.py "$data" latent=F32:64,16,21,60,104 text=F32:64,512,4096
ONEDNN_MAX_CPU_ISA=AVX2 taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" "$build/bin/ff-compile" \
  test/tools/plan/wan-like.toml --plan --ranks 8 --cpu=x86-64-v3 --set "data.files=\"$data\"" -o "$out/plan.txt" 2>/dev/null
