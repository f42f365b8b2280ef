#!/usr/bin/env bash
# One copy of MLIR in each process, and none in the runtime. Arrow is in a library of its own, which is opened and not linked.
set -euo pipefail
build=$1
if grep -q 'libMLIR[A-Za-z]*\.a' "$build/build.ninja"; then
  echo "error: MLIR's static archives are linked beside libMLIR"
  exit 1
fi
if llvm-nm-19 -C "$build/runtime/libff_runtime.a" | grep -qE ' U .*(mlir|llvm)::'; then
  echo "error: the runtime refers to MLIR or LLVM"
  exit 1
fi
if grep -qE 'lib(arrow|parquet|ff_parquet)\.' "$build/runtime/link.txt" "$build/runtime/link-cuda.txt"; then
  echo "error: trainers are linked with Arrow"
  exit 1
fi
parquet=$build/runtime/libff_parquet.so
if [ -f "$parquet" ] && [ "$(llvm-nm-19 -D --defined-only --format=just-symbols "$parquet")" != ff_parquet_get ]; then
  echo "error: libff_parquet.so has other symbols than ff_parquet_get:"
  llvm-nm-19 -D --defined-only --format=just-symbols "$parquet"
  exit 1
fi
