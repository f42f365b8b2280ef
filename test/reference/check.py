"""Holds modules of frontend/library against the published classes of diffusers and transformers.

usage: check.py DIR CASE...

A small model of the published class writes its files with save_pretrained: weights in several files, their index, config.json. ff reads
these, takes one step and dumps the gradients. Compared are the loss; the output, as the gradient of a probe: the loss has a term
mean(probe * output); and the gradient of every parameter. The published code runs three times:
- fp64: everything in double, also where it says fp32. |ff - published| / |published| <= 1e-8 for each tensor, in the 2-norm.
- fp32: as it is. The same measure, <= 1e-5.
- bf16: loaded in bf16, with what it keeps in fp32. A step is 2^-8 of the largest magnitude of the tensor in fp64. No element differs by
  more than 3 steps, or, where that is more, by 4 times what the published class in bf16 is itself off from fp64: two layers of bf16 are
  off by several steps, each in its own way. That ff is no worse is held by a mean: over the gradients, the geometric mean of
  |ff - fp64| / |published - fp64| is at most 1.5: it is 0.7 to 1.3 over seeds.
A gradient that vanishes (below 1e-6 of the largest one) is measured against the largest one of the model.
"""

from __future__ import annotations

import contextlib
import math
import pathlib
import sys

from common import everything_in_double, load_file, loss_of, spec_of, torch, train
from published import CASES, Case, prepare

BOUNDS = {"fp64": 1e-8, "fp32": 1e-5, "bf16": 3}


def published(case: Case, folder: pathlib.Path, dtype: str) -> dict[str, torch.Tensor]:
    """The loss, the output and the gradients, by their names in ff."""
    data, probe = load_file(folder / "data.safetensors"), load_file(folder / "probe.safetensors")["value"]
    wide = torch.float64 if dtype == "fp64" else torch.float32
    data = {name: value.to(wide) if value.is_floating_point() else value for name, value in data.items()}
    model = case.load(folder / "model", torch.bfloat16 if dtype == "bf16" else torch.float32)
    with everything_in_double() if dtype == "fp64" else contextlib.nullcontext():
        if dtype == "fp64":  # made anew, as tables that no file has are to be exact as well
            values = model.state_dict()
            model = case.make().double()
            model.load_state_dict(values)
        model.requires_grad_(True)
        output = case.run(model, data).to(wide)
        loss = ((output - data["target"]) ** 2).mean() + (output * probe.to(wide).reshape(output.shape)).mean()
        loss.backward()
    result = {"loss": loss.detach(), "output": output.detach()}
    for name, value in model.named_parameters():
        own = case.name_in_ff(name)
        if value.grad is not None and own is not None:
            result[own] = value.grad
        elif value.grad is not None:
            raise SystemExit(f"FAIL: '{name}' has a gradient, and ff is said not to train it")
    return result


def from_ff(case: Case, folder: pathlib.Path, dtype: str, shape: torch.Size) -> dict[str, torch.Tensor]:
    out = train(folder, spec_of(case, folder, dtype, shape), name=dtype)
    dumped = load_file(folder / f"{dtype}.gradients.safetensors")
    result = {"loss": torch.tensor(loss_of(out), dtype=torch.float64)}
    # The loss has a term mean(probe * output).
    result["output"] = dumped.pop("probe.value").reshape(shape) * shape.numel()
    return result | {name.removeprefix("transformer."): value for name, value in dumped.items()}


def compare(dtype: str, ours: dict, theirs: dict, exact: dict) -> list[tuple[float, str]]:
    """How far each tensor is off, over what it may be; see the head."""
    gradients = [key for key in exact if key not in ("loss", "output")]
    rows, logs = [], []
    norm_of = {key: float(exact[key].norm()) for key in exact}
    peak_of = {key: float(exact[key].abs().max()) for key in exact}
    for key in exact:
        # Some gradients vanish, such as that of the bias of keys: what is left is rounding.
        others = gradients if key in gradients and norm_of[key] < 1e-6 * max(norm_of[k] for k in gradients) else [key]
        norm, peak = (max(values[k] for k in others) for values in (norm_of, peak_of))
        a, b, e = (values[key].double().reshape(exact[key].shape) for values in (ours, theirs, exact))
        if dtype != "bf16":
            rows.append((float((a - b).norm()) / norm / BOUNDS[dtype], key))
            continue
        step = 2**-8 * peak
        own = float((b - e).abs().max()) / step
        rows.append((float((a - b).abs().max()) / step / max(BOUNDS[dtype], 4 * own), key))
        if key in gradients and others == [key]:
            logs.append(math.log(float((a - e).norm()) / float((b - e).norm())))
    if logs:
        rows.append((math.exp(sum(logs) / len(logs)) / 1.5, "the mean error of gradients, against that of the published class"))
    return sorted(rows, reverse=True)


def check(name: str, folder: pathlib.Path) -> bool:
    case = CASES[name]
    shape = prepare(case, folder)
    exact = published(case, folder, "fp64")
    bad, worst = [], []
    for dtype in BOUNDS:
        theirs = exact if dtype == "fp64" else published(case, folder, dtype)
        ours = from_ff(case, folder, dtype, shape)
        bad += [f"{dtype}: no gradient of '{key}'" for key in exact if key not in ours]
        bad += [f"{dtype}: a gradient of '{key}', which the published class lacks" for key in ours if key not in exact]
        if set(ours) != set(exact):
            continue
        rows = compare(dtype, ours, theirs, exact)
        bad += [f"{dtype}: {key}: {over:.3g} times the bound" for over, key in rows if not over <= 1]
        worst.append(f"{dtype} {rows[0][0]:.2g}")
        if dtype == "bf16":
            worst.append(f"mean {1.5 * next(over for over, key in rows if key.startswith('the mean')):.2f}")
    for line in bad[:20]:
        print(f"FAIL: {name}: {line}")
    if not bad:
        print(f"PASS: {name}: loss, output and {len(exact) - 2} gradients; the worst over its bound: {', '.join(worst)}")
    return not bad


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    results = [check(name, folder / name) for name in sys.argv[2:]]
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
