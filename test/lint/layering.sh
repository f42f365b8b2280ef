#!/usr/bin/env bash
# Dependencies run one way: see README.md, "The tree".
set -euo pipefail
fail=0
forbid() { # folder, pattern of includes that it must not have
  if git grep -nE "#include [<\"]($2)" -- "$1"; then
    echo "error: $1/ must not include $2"
    fail=1
  fi
}
forbid dialect 'passes/|codegen/|frontend/|runtime/|tools/'
forbid passes 'codegen/|frontend/|runtime/|tools/'
forbid codegen 'passes/|frontend/|runtime/(core|comm|compute|launch|train)/|tools/'
forbid frontend 'passes/|codegen/|runtime/(core|comm|compute|launch|train|cpu|cuda)/|tools/'
forbid runtime 'mlir/|llvm/|toml\+\+/|dialect/|passes/|codegen/|frontend/|tools/'
for part in core comm compute launch train; do # what every target has
  forbid runtime/$part 'runtime/(cpu|cuda)/'
done
forbid runtime/cpu 'runtime/cuda/'
forbid runtime/cuda 'runtime/cpu/'
forbid runtime/parquet 'runtime/(core|comm|compute|cpu|cuda|launch|train)/' # a library of its own
others=$(git grep -lE '#include [<"](arrow|parquet)/' -- '*.cpp' '*.h' | grep -vE '^(runtime|test/unit)/parquet/' || true)
[ -z "$others" ] || { echo "error: Arrow is used in runtime/parquet/ alone: $others"; fail=1; }
others=$(git grep -lE '#include [<"]runtime/parquet/' -- '*.cpp' '*.h' | grep -v '^runtime/parquet/' || true)
[ -z "$others" ] || { echo "error: runtime/parquet/ is used by runtime/abi/ff_parquet.h alone: $others"; fail=1; }
others=$(git grep -lE '#include <toml\+\+' -- '*.cpp' '*.h' | grep -v '^frontend/' || true)
[ -z "$others" ] || { echo "error: TOML is parsed in frontend/ alone: $others"; fail=1; }
exit $fail
