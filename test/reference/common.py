"""What the scripts of this folder share: specs, runs of ff, and errors between tensors."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("TQDM_DISABLE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

torch.set_num_threads(2)


def run_tool(*command) -> str:
    """Runs a command, and returns what it printed. What it printed is shown where it fails."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"FAIL: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def toml(value) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    return json.dumps(str(value) if isinstance(value, pathlib.Path) else value)


def table_of(config_file: pathlib.Path, extra: dict) -> dict:
    """The fields of a config file as a table, for modules that take values which no file has."""
    fields = json.loads(config_file.read_text())
    return {k: v for k, v in fields.items() if not (k.startswith("_") or k == "architectures" or v is None or isinstance(v, dict))} | extra


def train(folder: pathlib.Path, spec: str, *flags, name: str = "trainer") -> pathlib.Path:
    """Compiles a spec and takes one step; returns the folder with gradients.safetensors and metrics.jsonl."""
    (folder / f"{name}.spec.toml").write_text(spec)
    said = run_tool("ff-compile", folder / f"{name}.spec.toml", "-o", folder / name)
    if "warning:" in said:
        raise SystemExit(f"FAIL: a warning\n{said}")
    out = folder / f"{name}.out"
    run_tool(folder / name, "--threads", 2, "--out", out, "--dump-gradients", folder / f"{name}.gradients.safetensors", *flags)
    return out


def loss_of(out: pathlib.Path) -> float:
    return json.loads((out / "metrics.jsonl").read_text().splitlines()[0])["loss"]


@contextlib.contextmanager
def everything_in_double():
    """Runs published code in fp64: where it says fp32, because the compute dtype may be less, it gets fp64."""
    saved = {name: getattr(torch, name) for name in ("float32", "float", "complex64")}, torch.Tensor.float
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.float32 = torch.float = torch.float64
    torch.complex64 = torch.complex128
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        for name, value in saved[0].items():
            setattr(torch, name, value)
        torch.Tensor.float = saved[1]
        torch.set_default_dtype(default)


def spec_of(case, folder: pathlib.Path, dtype: str, output: torch.Size, lr=1e-3, steps=1, at_end=False, more="") -> str:
    """A spec that trains a case of published.py on DIR/data.safetensors; `more` are further lines of the component."""
    config = toml("model/config.json") if not case.extra else toml(table_of(folder / "model" / "config.json", case.extra))
    target = ", ".join(["B"] + [f"D{i}" for i in range(1, len(output))])
    wide = "fp64" if dtype == "fp64" else "fp32"
    return f"""
[pipeline]
name    = "reference"
imports = [{toml(case.imports)}, "probe.toml"]

[bundle.transformer]
module  = {toml(case.module)}
config  = {config}
weights = "model"
keys    = {toml(case.keys)}
{more}

[bundle.probe]
module    = "Probe"
weights   = "probe.safetensors"
config    = {{ batch = {output[0]}, size = {output[1:].numel()} }}
precision = {{ compute_dtype = "{wide}" }}

[precision]
compute_dtype = "{dtype}"
{case.precision if dtype == "bf16" else ""}

[data]
files   = "data.safetensors"
shuffle = false

[optimizer]
lr = {lr}

[train]
steps        = {steps}
global_batch = {output[0]}

[checkpoint]
at_end = {toml(at_end)}

[program.train]
inputs  = {toml(case.inputs + [f"target: [{target}]"])}
forward = '''
out = {case.call}
return mse(out, target) + probe(out)
'''
"""


def tensors_of(path: pathlib.Path) -> dict[str, torch.Tensor]:
    """The tensors of a file, or of all files of a folder."""
    tensors = {}
    for file in sorted(path.glob("*.safetensors")) if path.is_dir() else [path]:
        tensors |= load_file(file)
    return tensors


def same_tensors(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> list[str]:
    """Names of tensors that are not the same in dtype, shape and bytes, or are on one side alone."""
    raw = lambda value: value.contiguous().flatten().view(torch.uint8)
    same = lambda x, y: x.dtype == y.dtype and x.shape == y.shape and torch.equal(raw(x), raw(y))
    return sorted(key for key in a.keys() | b.keys() if key not in a or key not in b or not same(a[key], b[key]))
