#!/usr/bin/env bash
# One copy of MLIR in each process, and none in the runtime.
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
