#!/usr/bin/env bash
# Generated documentation is what docs/generate.sh makes of the sources. Mend with: docs/generate.sh
set -euo pipefail
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
docs/generate.sh "$1" "$out"
diff -ru docs/generated "$out" || { echo "error: docs/generated is stale; run docs/generate.sh"; exit 1; }
