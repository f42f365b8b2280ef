#!/usr/bin/env bash
# C++ is formatted as .clang-format says. Mend with: git ls-files '*.cpp' '*.h' | xargs clang-format-19 -i
set -euo pipefail
git ls-files '*.cpp' '*.h' | xargs clang-format-19 --dry-run --Werror
