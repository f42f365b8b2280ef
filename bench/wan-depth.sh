#!/usr/bin/env bash
# How long a trainer of Wan 14B takes to compile with 4 blocks and with 40: the same, within 20 %, since all blocks are one function.
#
#   bench/wan-depth.sh [build folder]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
python3 test/tools/plan/Inputs/make_data.py "$out/data.safetensors" x=F32:8,16,5,32,32 text=F32:8,512,4096
cat > "$out/spec.toml" <<'SPEC'
[pipeline]
name    = "wan"
imports = ["wan.toml"]
[bundle.net]
module = "Wan"
config = { num_attention_heads = 40, ffn_dim = 13824, num_layers = 40 }
[data]
files = "data.safetensors"
[precision]
compute_dtype = "bf16"
[train]
steps        = 1
global_batch = 8
micro_batch  = 1
recompute    = "block"
[program.train]
inputs  = ["x: [B, C, T, H, W]", "text: [B, L, E]"]
forward = '''
t     = rand([B])
noise = randn_like(x)
tt    = t[:, None, None, None, None]
return mse(net((1 - tt) * x + tt * noise, 1000 * t, text), noise - x)
'''
SPEC
python3 - "$build/bin/ff-compile" "$out" <<'PYTHON'
import resource, statistics, subprocess, sys

compiler, out = sys.argv[1:]
cpu = {4: [], 40: []}
for _ in range(5):
    for depth, seconds in cpu.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [compiler, f"{out}/spec.toml", "--ranks", "8", "--set", f"bundle.net.config.num_layers={depth}", "-o", f"{out}/trainer"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
small, large = (min(seconds) for seconds in cpu.values())
print(f"4 blocks: {small:.2f} s, 40 blocks: {large:.2f} s of processor time, {100 * (large / small - 1):+.0f} %")
PYTHON
