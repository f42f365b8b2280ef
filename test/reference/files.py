"""Files of weights between ff and the published libraries: what either writes, the other reads, with the same tensors.

usage: files.py DIR
"""

from __future__ import annotations

import json
import pathlib
import shutil
import sys

from common import load_file, run_tool, same_tensors, spec_of, tensors_of, toml, torch, train
from published import CASES, prepare
from transformers import GPT2LMHeadModel

failed = False


def expect(holds: bool, what: str) -> None:
    global failed
    failed |= not holds
    print(f"{'PASS' if holds else 'FAIL'}: {what}")


def still(case, folder: pathlib.Path, shape: torch.Size, **more) -> pathlib.Path:
    """The folder of the weights after a step with a learning rate that changes no bit, under the names of their files."""
    out = train(folder, spec_of(case, folder, "fp32", shape, lr=1e-30, at_end=True, **more), name="still")
    run_tool(folder / "still", "--out", out, "--export", folder / "exported", "--export-shard", 60000)
    return folder / "exported" / "transformer"


def round_trip(name: str, folder: pathlib.Path) -> None:
    """theirs -> ff -> theirs."""
    case = CASES[name]
    shape = prepare(case, folder)
    exported = still(case, folder, shape)
    theirs = folder / "model"
    count = len(list(theirs.glob("*.safetensors"))), len(list(exported.glob("*.safetensors")))
    expect(min(count) > 1, f"{name}: {count[0]} files of theirs, {count[1]} of ff")
    differ = same_tensors(tensors_of(theirs), tensors_of(exported))
    expect(not differ, f"{name}: theirs -> ff -> theirs has the same names and bytes {differ}")
    texts = [(where / "config.json").read_text().rstrip() for where in (theirs, exported)]
    expect(texts[0] == texts[1], f"{name}: and the same config.json")
    # Their class reads it, through its index, and gives what it gave.
    data = load_file(folder / "data.safetensors")
    with torch.no_grad():
        outputs = [case.run(case.load(where, torch.float32), data) for where in (theirs, exported)]
    expect(torch.equal(*outputs), f"{name}: the class gives the same output from either")


def trained(folder: pathlib.Path) -> None:
    """What ff trained, as checkpoint, in several files and in bf16, is read by diffusers' from_pretrained."""
    case = CASES["wan-t2v"]
    shape = prepare(case, folder)
    out = train(folder, spec_of(case, folder, "fp32", shape, lr=1e-2, at_end=True, steps=2), name="tuner")
    checkpoint = out / "step-00000002" / "model" / "transformer"
    # The output of the weights of step 2 is in the gradients of step 3.
    run_tool(folder / "tuner", "--threads", 2, "--resume", out / "step-00000002", "--steps", 3, "--out", folder / "more",
             "--dump-gradients", folder / "more.safetensors")
    ours = load_file(folder / "more.safetensors")["probe.value"].reshape(shape) * shape.numel()
    for name, flags in (("split", ["--export-shard", 50000]), ("bf16", ["--export-dtype", "bf16"])):
        run_tool(folder / "tuner", "--out", out, "--export", folder / name, *flags)
    data = load_file(folder / "data.safetensors")
    start = tensors_of(folder / "model")
    saved = tensors_of(checkpoint)
    expect(all(not torch.equal(saved[key], start[key]) for key in start), "training changed every tensor")
    files = sorted(path.name for path in (folder / "split" / "transformer").iterdir())
    expect("diffusion_pytorch_model.safetensors.index.json" in files and len(files) > 3, f"exported as {len(files)} files")
    for where in (checkpoint, folder / "split" / "transformer"):
        model = case.load(where, torch.float32)
        expect(not same_tensors(dict(model.state_dict()), saved), f"from_pretrained({where.parent.name}) has the tensors of the checkpoint")
        with torch.no_grad():
            theirs = case.run(model, data)
        error = float((theirs - ours).norm() / theirs.norm())
        expect(error <= 1e-5, f"and gives the output of ff, to {error:.1e}")
    half = tensors_of(folder / "bf16" / "transformer")
    expect(not same_tensors({key: value.bfloat16() for key, value in saved.items()}, half), "--export-dtype bf16 rounds as torch does")
    model = case.load(folder / "bf16" / "transformer", torch.bfloat16)
    kept = {value.dtype for value in model.state_dict().values()}
    expect(kept == {torch.bfloat16, torch.float32}, "from_pretrained(bf16) keeps in fp32 what it does")
    index = json.loads((folder / "split" / "transformer" / files[-1]).read_text())
    expect(index["metadata"]["total_size"] == sum(v.nbytes for v in saved.values()), "the index has the size of all tensors")


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("wan-i2v", "sd3.5-medium", "qwen-image", "gpt2", "qwen3", "umt5"):
        round_trip(name, folder / name)
    trained(folder / "trained")
    sys.exit(failed)


if __name__ == "__main__":
    main()
