#!/usr/bin/env bash
# Makes the virtual environment of the published implementations, which the tests of this folder need. Costs nothing when it is there.
#
#   test/reference/setup.sh [arguments of pip install]
#
# It is build/reference-venv, or $FF_REFERENCE_VENV, and takes about 5 GB: torch's package for x86 is that for CUDA, whose libraries it
# is linked with, GPU or not. What torch does without on a CPU (triton, headers) and what a sentence encoder's package asks for beside its
# weights is left out, so everything is listed in requirements.txt and pip resolves nothing.
set -euo pipefail
cd "$(dirname "$0")"
venv=${FF_REFERENCE_VENV:-$(cd ../.. && pwd)/build/reference-venv}
if cmp -s requirements.txt "$venv/requirements.txt"; then
  exit 0
fi
usable() { python3 -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; }
if ! usable && [ "$(id -u)" = 0 ]; then
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends python3-venv
fi
if ! usable; then
  echo "error: python3 must be 3.11, with its venv module: apt-get install python3-venv" >&2
  exit 1
fi
echo "Installing the published implementations into $venv"
rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --no-deps --no-compile --disable-pip-version-check "$@" -r requirements.txt
"$venv/bin/python" -c 'import diffusers, peft, tokenizers, torch, transformers'
# Last, so that what was interrupted is made again.
cp requirements.txt "$venv/requirements.txt"
