#!/usr/bin/env bash
# Installs what ff needs from Debian and builds it. Costs nothing when there is nothing to do.
#
#   tools/setup.sh [preset]        preset: release (default), debug, sanitize
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}

packages=(
  cmake ninja-build ccache lld-19 clang-19 clang-format-19 libclang-rt-19-dev  # build
  llvm-19-dev libmlir-19-dev mlir-19-tools llvm-19-tools         # compiler
  libtomlplusplus-dev zlib1g-dev libzstd-dev                     # frontend; what LLVM's package refers to
  libdnnl-dev libgloo-dev libpng-dev nlohmann-json3-dev libcli11-dev libfmt-dev libxxhash-dev  # runtime
  libgtest-dev python3 python3-numpy                             # tests
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

if [ ! -f "build/$preset/build.ninja" ]; then
  mkdir -p build
  cmake --preset "$preset" >"build/configure-$preset.log" 2>&1 || { cat "build/configure-$preset.log"; exit 1; }
fi
echo "Building build/$preset"
cmake --build --preset "$preset" -- --quiet
