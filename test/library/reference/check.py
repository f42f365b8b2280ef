"""Holds the modules of frontend/library against the NumPy models beside this file.

usage: check.py prepare CASE DIR
       check.py compare CASE DIR [--tolerance 1e-5]

`prepare` writes DIR/weights.safetensors, with the names and shapes of the published checkpoint, and DIR/data.safetensors. `compare`
reads DIR/out/metrics.jsonl and DIR/gradients.safetensors, which a trainer of Inputs/CASE.toml wrote for its first step, and checks
- the output, element by element: the loss has a term mean(probe * output), so the gradient of `probe` is the output;
- the loss;
- every gradient, along a random direction: against central differences of the reference, in fp64.
Times are small: at a phase of 1000 the rounding of fp32 alone is 6e-5.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "e2e", "reference"))
import tensorfile  # noqa: E402
from layers import Params  # noqa: E402

H = 3e-4  # of a central difference of fourth order, relative to the parameter


def case_of(name: str):
    stem = name.replace("-", "_")
    files = [f[:-3] for f in os.listdir(os.path.dirname(os.path.abspath(__file__))) if f.endswith(".py") and stem.startswith(f[:-3])]
    return importlib.import_module(max(files, key=len)).CASES[name]


def save(path: str, tensors: dict[str, np.ndarray]) -> None:
    names = {np.dtype("f4"): "F32", np.dtype("i8"): "I64"}
    header, offset = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": names[value.dtype], "shape": list(value.shape), "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for value in tensors.values():
            file.write(np.ascontiguousarray(value).tobytes())


def initial(name: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    value = rng.standard_normal(shape)
    if len(shape) >= 2 and "table" not in name and "token" not in name:
        value /= np.sqrt(np.prod(shape[1:]))
    else:
        value *= 0.3
        if "norm" in name.lower() and name.endswith("weight") or "ln_" in name and name.endswith("weight"):
            value += 1
    return value.astype("f4")


def prepare(case, folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    weights = {name: initial(name, shape) for name, shape in case.shapes().items()}
    weights.update(getattr(case, "buffers", dict)())
    save(os.path.join(folder, "weights.safetensors"), weights)
    rng = np.random.default_rng(1)
    data = {k: v.astype("i8" if v.dtype.kind in "iu" else "f4") for k, v in case.data(rng).items()}
    save(os.path.join(folder, "data.safetensors"), data)
    output = case.forward(Params({k: v.astype("f8") for k, v in weights.items()}), data)
    save(os.path.join(folder, "probe.safetensors"), {"value": rng.standard_normal((output.shape[0], output[0].size)).astype("f4")})
    print(f"{case.__class__.__name__}: {len(weights)} tensors, output {list(output.shape)}")


def compare(case, folder: str, tolerance: float) -> bool:
    load = lambda name: tensorfile.load(os.path.join(folder, name))
    params = {k: v.astype("f8") for k, v in load("weights.safetensors").items()}
    data = {k: v if v.dtype.kind == "i" else v.astype("f8") for k, v in load("data.safetensors").items()}
    probe = load("probe.safetensors")["value"].astype("f8")
    dumped = {k: v.astype("f8") for k, v in load("gradients.safetensors").items()}
    with open(os.path.join(folder, "out", "metrics.jsonl")) as file:
        loss = json.loads(file.readline())["loss"]

    used = set()

    def loss_of(values, count=None):
        output = case.forward(Params(values, count), data)
        return ((output - data["target"].reshape(output.shape)) ** 2).mean() + (output * probe.reshape(output.shape)).mean(), output

    want, output = loss_of(params, used)
    rows = [(abs(loss / want - 1), "loss")]
    got = dumped.pop("probe.value").reshape(output.shape) * output.size
    rows.append((np.abs(got - output).max() / np.abs(output).max(), "output"))

    # Parameters that nothing reads behind them have no gradient.
    idle = set(getattr(case, "idle", set)())
    fixed = set(getattr(case, "buffers", dict)()) | idle
    names = [name for name in params if name not in fixed]
    bad = [f"'{n}' is not used by the reference" for n in params if n not in used]
    bad += [f"no gradient of '{n}'" for n in names if "net." + n not in dumped]
    bad += [f"a gradient of '{n}', which the reference lacks" for n in dumped if n[len("net."):] not in names]
    largest = max(np.linalg.norm(g) for g in dumped.values())
    for name in names + sorted(idle):
        gradient = np.zeros(params[name].shape) if name in idle else dumped.get("net." + name)
        if gradient is None:
            continue
        value = params[name]
        direction = np.random.default_rng(zlib.crc32(name.encode()) + 1).standard_normal(value.shape)
        direction *= max(float(value.std()), 0.02)

        def at(step):
            return loss_of({**params, name: value + step * direction})[0]

        slope = (8 * (at(H) - at(-H)) - (at(2 * H) - at(-2 * H))) / (12 * H)
        # Relative to the gradient; to the largest one where it vanishes, as that of the bias of keys does.
        norm = np.linalg.norm(gradient)
        scale = (norm if norm > 1e-5 * largest else largest) * np.linalg.norm(direction) / np.sqrt(value.size)
        rows.append((abs((gradient * direction).sum() - slope) / scale, name))
    rows.sort(reverse=True)
    for error, name in rows[:5]:
        print(f"{error:9.2e}  {name}")
    bad += [f"{name} differs by {error:.1e}" for error, name in rows if not error <= tolerance]
    for line in bad:
        print("FAIL:", line)
    if not bad:
        print(f"PASS: loss, output and {len(rows) - 2} gradients agree to {tolerance:g}, the worst to {rows[0][0]:.1e}")
    return not bad


def main() -> None:
    command, name, folder, *rest = sys.argv[1:]
    case = case_of(name)
    if command == "prepare":
        prepare(case, folder)
    elif not compare(case, folder, float(rest[1]) if rest else 1e-5):
        sys.exit(1)


if __name__ == "__main__":
    main()
