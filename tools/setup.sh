#!/usr/bin/env bash
# Installs what ff needs from Debian and builds it. Costs nothing when there is nothing to do.
#
#   tools/setup.sh [preset]        preset: release (default), debug, sanitize
#
# Data in Parquet files is read by Apache Arrow, which Debian 12 has no package of: it comes from the Python package pyarrow, in build/arrow.
# Where PyPI cannot be reached, all else is built.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}

packages=(
  cmake ninja-build ccache lld-19 clang-19 clang-format-19 libclang-rt-19-dev  # build
  llvm-19-dev libmlir-19-dev mlir-19-tools llvm-19-tools         # compiler
  libtomlplusplus-dev zlib1g-dev libzstd-dev                     # frontend; what LLVM's package refers to
  libdnnl-dev libgloo-dev libpng-dev nlohmann-json3-dev libcli11-dev libfmt-dev libxxhash-dev  # runtime
  libgtest-dev python3 python3-numpy                             # tests
  python3-pip                                                    # fetches Arrow
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "Installing from Debian: ${missing[*]}"
  sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "error: not root and no sudo: install the packages above, then run this again" >&2; exit 1; }
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get update -q
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

pyarrow=26.0.1
numpy=2.4.6  # for the tests that write Parquet by pyarrow
new_arrow=
if [ ! -f "build/arrow/pyarrow-$pyarrow.dist-info/RECORD" ] || [ ! -d "build/arrow/numpy-$numpy.dist-info" ]; then
  # Unpacked beside it first: one that was cut short is not taken for whole.
  rm -rf build/arrow.new
  echo "Installing from PyPI: pyarrow $pyarrow and numpy $numpy, in build/arrow"
  if python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --retries 1 --timeout 15 \
    --target build/arrow.new "pyarrow==$pyarrow" "numpy==$numpy"; then
    rm -rf build/arrow
    mv build/arrow.new build/arrow
    new_arrow=1
  else
    rm -rf build/arrow.new
    echo "note: pyarrow could not be installed; the build goes on without support for Parquet files. Run this again with a network," \
      "or give CMake -DFF_ARROW_ROOT=, the folder of an installed pyarrow or Arrow" >&2
  fi
fi

if [ ! -f "build/$preset/build.ninja" ] || [ -n "$new_arrow" ]; then
  mkdir -p build
  cmake --preset "$preset" >"build/configure-$preset.log" 2>&1 || { cat "build/configure-$preset.log"; exit 1; }
fi
echo "Building build/$preset"
cmake --build --preset "$preset" -- --quiet
