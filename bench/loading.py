"""loading.py FF_COMPILE FOLDER MEGABYTES: see loading.sh."""

import json
import os
import statistics
import struct
import subprocess
import sys
import time

RANKS = 4
LIMIT = 64e6  # bytes beside the slice and the largest tensor
FILES = 8
WIDTH, INNER = 6400, 8192  # a tensor of 105 MB
REPEAT = int(os.environ.get("FF_REPEAT", "5"))

FINITE = bytes(byte & 0x80 | 0x3B for byte in range(256))  # sign and exponent: about 1e-2

SPEC = """
[pipeline]
name = "loading"
[module.Block]
config  = { width = {}, inner = {}, small = {} }
inputs  = ["x: [B, width]"]
forward = "return linear(linear(linear(x, up), mid), down)"
[module.Block.params]
"up.weight"   = ["inner", "width"]
"up.bias"     = ["inner"]
"mid.weight"  = ["small", "inner"]
"mid.bias"    = ["small"]
"down.weight" = ["width", "small"]
"down.bias"   = ["width"]
[module.Layers]
config  = { depth = {}, width = {}, inner = {}, small = {} }
inputs  = ["x: [B, width]"]
forward = '''
for block in blocks:
    x = block(x)
return x
'''
[module.Layers.modules]
blocks = { module = "Block", config = { width = "width", inner = "inner", small = "small" }, count = "depth" }
[module.Small]
config  = { width = {} }
inputs  = ["x: [B, width]"]
forward = "return linear(x, proj)"
[module.Small.params]
"proj.weight" = ["width", "width"]
"proj.bias"   = ["width"]
[bundle.layers]
module  = "Layers"
config  = { depth = %d, width = %d, inner = %d, small = %d }
weights = "weights"
train   = "frozen"
[bundle.small]
module = "Small"
config = { width = 8 }
[data]
files = "data.safetensors"
[train]
steps        = 1
global_batch = 8
[checkpoint]
at_end = false
[program.train]
inputs  = ["x: [B, 8]"]
forward = "return mean(square(small(x)))"
"""


def write_tensors(path, tensors, metadata=None):
    """Random bytes, all of them written."""
    header, end = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape) in tensors.items():
        size = {"BF16": 2, "F32": 4}[dtype]
        for dim in shape:
            size *= dim
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        left = end
        while left:
            piece = bytearray(os.urandom(min(left, 1 << 24)))
            piece[1::2] = piece[1::2].translate(FINITE)
            file.write(piece)
            left -= len(piece)
        file.flush()
        os.fsync(file.fileno())  # or the cache cannot be emptied


def make_model(folder, megabytes, width, inner, small):
    """Returns the files and the depth."""
    block = {"up.weight": [inner, width], "up.bias": [inner], "mid.weight": [small, inner], "mid.bias": [small],
             "down.weight": [width, small], "down.bias": [width]}
    size = sum(2 * a[0] * (a[1] if len(a) > 1 else 1) for a in block.values())
    depth = max(round(megabytes * 1e6 / size), 1)
    os.makedirs(f"{folder}/weights")
    paths, index = [], {}
    for i in range(FILES):
        tensors = {f"blocks.{layer}.{name}": ("BF16", shape)
                   for layer in range(i * depth // FILES, (i + 1) * depth // FILES) for name, shape in block.items()}
        if not tensors:
            continue
        name = f"model-{i + 1:05}-of-{FILES:05}.safetensors"
        write_tensors(f"{folder}/weights/{name}", tensors)
        index.update({tensor: name for tensor in tensors})
        paths.append(f"{folder}/weights/{name}")
    with open(f"{folder}/weights/model.safetensors.index.json", "w", encoding="utf-8") as file:
        json.dump({"metadata": {}, "weight_map": index}, file)
    return paths, depth


def make_adapter(folder, depth, width, inner, rank):
    tensors = {}
    for layer in range(depth):
        name = f"base_model.model.blocks.{layer}.up"
        tensors[f"{name}.lora_A.weight"] = ("BF16", [rank, width])
        tensors[f"{name}.lora_B.weight"] = ("BF16", [inner, rank])
    write_tensors(f"{folder}/adapter.safetensors", tensors)


def forget(paths):
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def plain(paths):
    """Seconds of reading the files with cat."""
    start = time.monotonic()
    with open(os.devnull, "wb") as null:
        subprocess.run(["cat", *paths], check=True, stdout=null)
    return time.monotonic() - start


def load(trainer, out, arguments):
    """What --report-loading says."""
    command = [trainer, "--ranks", str(RANKS), "--steps", "0", "--resume", "none", "--out", out, "--report-loading", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    line = next(line for line in done.stdout.splitlines() if line.startswith('{"load"'))
    return json.loads(line)


def compile_spec(compiler, folder, name, settings):
    command = [compiler, f"{folder}/spec.toml", "-o", f"{folder}/{name}"]
    for setting in settings:
        command += ["--set", setting]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(label, trainer, paths, out, arguments, cold_too):
    size = sum(os.path.getsize(path) for path in paths)
    for state in ["warm", "cold"] if cold_too else ["warm"]:
        reads, loads, report = [], [], None
        if state == "warm":
            plain(paths)
        for _ in range(REPEAT):  # in turn: the machine is not the same from minute to minute
            if state == "cold":
                forget(paths)
            reads.append(plain(paths))
            if state == "cold":
                forget(paths)
            report = load(trainer, out, arguments)
            loads.append(report["seconds"])
        read, loaded = statistics.median(reads), statistics.median(loads)
        print(f"{label}, {state}: {size / loaded / 1e9:.2f} GB/s, cat {size / read / 1e9:.2f} GB/s, ratio {read / loaded:.2f} "
              f"(loads {' '.join(f'{x:.2f}' for x in loads)} s, cat {' '.join(f'{x:.2f}' for x in reads)} s)", flush=True)
        if state == "warm":
            for rank in report["ranks"]:
                limit = rank["slice_bytes"] + report["largest_tensor_bytes"] + LIMIT
                taken = rank["peak_rss"] - rank["baseline_rss"]
                print(f"  rank {rank['rank']}: slice {rank['slice_bytes'] / 1e6:.1f} MB, peak {taken / 1e6:.1f} MB beside the process, "
                      f"{(taken - rank['slice_bytes']) / 1e6:+.1f} MB; allowed: {limit / 1e6:.1f} MB "
                      f"({'holds' if taken < limit else 'DOES NOT HOLD'}); read {rank['read_bytes'] / 1e6:.1f} MB", flush=True)
            print(f"  read {sum(rank['read_bytes'] for rank in report['ranks']) / size:.3f} times the files", flush=True)


def main():
    compiler, folder, megabytes = sys.argv[1], sys.argv[2], float(sys.argv[3])
    small = 512
    paths, depth = make_model(folder, megabytes, WIDTH, INNER, small)
    write_tensors(f"{folder}/data.safetensors", {"x": ("F32", [64, 8])})
    make_adapter(folder, depth, WIDTH, INNER, rank=16)
    with open(f"{folder}/spec.toml", "w", encoding="utf-8") as file:
        file.write(SPEC % (depth, WIDTH, INNER, small))
    print(f"{sum(map(os.path.getsize, paths)) / 1e9:.2f} GB in {len(paths)} files, {depth} blocks, {RANKS} ranks, {os.cpu_count()} cores")
    variants = [
        ("bf16", [], True),
        ("as fp32", ["bundle.layers.precision={frozen_parameters_dtype = 'fp32'}"], False),
        ("adapters", [f"bundle.layers.adapters=[{{path = '{folder}/adapter.safetensors'}}]"], False),
        ("replicated", ["bundle.layers.sharding={strategy = 'replicate'}"], False),
    ]
    for name, settings, cold_too in variants:
        if name == "replicated" and RANKS * megabytes > 9000:
            continue
        compile_spec(compiler, folder, "trainer", settings)
        modes = [[]]
        help_text = subprocess.run([f"{folder}/trainer", "--help"], capture_output=True, text=True, check=True).stdout
        if "--load" in help_text.split():
            modes = [["--load", "per-rank"], ["--load", "per-node"]]
        for mode in modes:
            measure(" ".join([name, *mode[1:]]), f"{folder}/trainer", paths, f"{folder}/out", mode, cold_too)


main()
