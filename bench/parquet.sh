#!/usr/bin/env bash
# How many rows of 1 MB a second libff_parquet.so reads, beside pyarrow. The numbers in runtime/parquet/README.md are from it.
#
#   bench/parquet.sh [build folder] [rows]        takes 1 GB of disk, and of memory twice that, with 512 rows
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
PYTHONPATH=$build/../arrow python3 bench/parquet.py "$build/runtime/libff_parquet.so" "$out" "${2:-512}"
