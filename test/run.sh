#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Ends in one line with the verdict.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh release
# One test at a time: those of many ranks take all cores themselves.
if ctest --test-dir build/release --output-on-failure --timeout 1200 "$@"; then
  echo "PASS: every test passed"
else
  echo "FAIL: see above; build/release/Testing/Temporary/LastTest.log has it all"
  exit 1
fi
