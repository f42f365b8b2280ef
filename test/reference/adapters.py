"""Adapters between ff and PEFT or diffusers: what either writes, the other reads, and what is merged is the same.

usage: adapters.py DIR
"""

from __future__ import annotations

import pathlib
import shutil
import sys

from common import load_file, run_tool, same_tensors, spec_of, tensors_of, toml, torch, train
from diffusers import WanPipeline
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from published import CASES, normal, prepare

CASE = CASES["wan-t2v"]
failed = False


def expect(holds: bool, what: str) -> None:
    global failed
    failed |= not holds
    print(f"{'PASS' if holds else 'FAIL'}: {what}")


def relative(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).norm() / b.norm())


def merged(model) -> dict[str, torch.Tensor]:
    """The weights with the adapters of a model of PEFT or diffusers in them."""
    if hasattr(model, "merge_and_unload"):
        return dict(model.merge_and_unload().state_dict())
    model.fuse_lora()
    model.unload_lora()
    return dict(model.state_dict())


def output(model) -> torch.Tensor:
    with torch.no_grad():
        return CASE.run(model, load_file(FOLDER / "data.safetensors"))


def near(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor], what: str) -> None:
    """Folded in fp32 in another order: within 4 roundings of the largest element of each tensor."""
    missing = ours.keys() ^ theirs.keys()
    error = max(float((ours[k] - theirs[k]).abs().max() / theirs[k].abs().max()) for k in ours.keys() & theirs.keys())
    expect(not missing and error <= 4 * 2**-24, f"{what}: {len(ours)} tensors, to {error:.1e} {sorted(missing)}")


def from_ff(shape: torch.Size) -> None:
    """Adapters that ff trains: for PEFT as a folder, for diffusers as a file, merged."""
    lora = {"rank": 4, "alpha": 6, "targets": ["attn1.to_*", "ffn.net.*"], "ranks": {"ffn.net.2": 2}, "alphas": {"blocks.1.attn1.to_q": 8},
            "merge": True}
    spec = spec_of(CASE, FOLDER, "fp32", shape, lr=1e-2, steps=2, at_end=True, more=f'train = "lora"\nlora = {toml(lora)}')
    out = train(FOLDER, spec, name="lora")
    # The output of the weights of step 2 is in the gradients of step 3.
    run_tool(FOLDER / "lora", "--threads", 2, "--resume", out / "step-00000002", "--steps", 3, "--out", FOLDER / "more",
             "--dump-gradients", FOLDER / "more.safetensors")
    ours = load_file(FOLDER / "more.safetensors")["probe.value"].reshape(shape) * shape.numel()
    run_tool(FOLDER / "lora", "--out", out, "--export", FOLDER / "adapters")
    folder = FOLDER / "adapters" / "transformer"
    whole = tensors_of(FOLDER / "adapters" / "transformer-merged")
    base = lambda: CASE.load(FOLDER / "model", torch.float32)
    expect(relative(ours, output(base())) > 1e-3, "the adapters matter")

    model = PeftModel.from_pretrained(base(), str(folder)).eval()
    error = relative(output(model.base_model.model), ours)
    expect(error <= 1e-5, f"PeftModel.from_pretrained gives the output of ff, to {error:.1e}")
    differ = same_tensors(get_peft_model_state_dict(model), load_file(folder / "adapter_model.safetensors"))
    expect(not differ, f"and has the tensors of the file {differ}")
    near(whole, merged(model), "merge_and_unload is what ff merged")

    model = base()
    model.load_lora_adapter(str(folder), weight_name="pytorch_lora_weights.safetensors", prefix="transformer")
    error = relative(output(model), ours)
    expect(error <= 1e-5, f"load_lora_adapter gives the output of ff, to {error:.1e}")
    near(whole, merged(model), "fuse_lora is what ff merged")
    error = relative(output(CASE.load(FOLDER / "adapters" / "transformer-merged", torch.float32)), ours)
    expect(error <= 1e-5, f"from_pretrained of the merged weights gives the output of ff, to {error:.1e}")


def adapted():
    """A model with adapters of PEFT that do something, with ranks and alphas of single layers."""
    config = LoraConfig(r=4, lora_alpha=6, target_modules=["to_q", "to_k", "to_out.0", "net.0.proj", "linear_1"],
                        rank_pattern={"blocks.0.attn1.to_q": 2, "net.0.proj": 8}, alpha_pattern={"blocks.1.attn2.to_k": 3, r"blocks\.[01]\.attn2\.to_[kv]": 5, "linear_1": 16})
    model = get_peft_model(CASE.load(FOLDER / "model", torch.float32), config).eval()
    for i, (name, value) in enumerate(model.named_parameters()):
        if "lora_" in name:
            value.data.copy_(0.1 * normal(100 + i, *value.shape))
    return model


def folded(shape: torch.Size, path: pathlib.Path, name: str, **more) -> dict[str, torch.Tensor]:
    """The weights with an adapter that ff folded when it loaded them: after a step with a learning rate that changes no bit."""
    adapters = toml([{"path": str(path)} | more])
    out = train(FOLDER, spec_of(CASE, FOLDER, "fp32", shape, lr=1e-30, at_end=True, more=f"adapters = {adapters}"), name=name)
    return tensors_of(out / "step-00000001" / "model" / "transformer")


def from_theirs(shape: torch.Size) -> None:
    """Adapters that PEFT and diffusers write, folded by ff."""
    model = adapted()
    model.save_pretrained(FOLDER / "peft")
    layers = get_peft_model_state_dict(model)
    want = merged(model)
    near(folded(shape, FOLDER / "peft", "with-peft"), want, "a folder of PEFT, with its patterns, is folded as merge_and_unload does")

    # A pipeline's file: what it holds of alphas stands in its metadata.
    layers = {key.removeprefix("base_model.model."): value for key, value in layers.items()}
    model = adapted()
    WanPipeline.save_lora_weights(FOLDER / "pipeline", transformer_lora_layers=layers,
                                  transformer_lora_adapter_metadata=model.peft_config["default"].to_dict())
    again = CASE.load(FOLDER / "model", torch.float32)
    again.load_lora_adapter(str(FOLDER / "pipeline"), weight_name="pytorch_lora_weights.safetensors", prefix="transformer",
                            metadata=WanPipeline.lora_state_dict(str(FOLDER / "pipeline"), return_lora_metadata=True,
                                                                 weight_name="pytorch_lora_weights.safetensors")[1])
    near(merged(again), want, "diffusers' own reading of save_lora_weights")
    near(folded(shape, FOLDER / "pipeline" / "pytorch_lora_weights.safetensors", "with-pipeline"), want, "a file of save_lora_weights is folded so")

    # The adapter of a model of diffusers by itself.
    single = CASE.load(FOLDER / "model", torch.float32)
    single.add_adapter(LoraConfig(r=4, lora_alpha=6, target_modules=["to_q", "to_v"]))
    for i, (name, value) in enumerate(single.named_parameters()):
        if "lora_" in name:
            value.data.copy_(0.1 * normal(200 + i, *value.shape))
    single.save_lora_adapter(FOLDER / "adapter", adapter_name="default")
    want = merged(single)
    near(folded(shape, FOLDER / "adapter" / "pytorch_lora_weights.safetensors", "with-single"), want, "a file of save_lora_adapter is folded so")


def main() -> None:
    global FOLDER
    FOLDER = pathlib.Path(sys.argv[1])
    shutil.rmtree(FOLDER, ignore_errors=True)
    shape = prepare(CASE, FOLDER)
    from_ff(shape)
    from_theirs(shape)
    sys.exit(failed)


if __name__ == "__main__":
    main()
