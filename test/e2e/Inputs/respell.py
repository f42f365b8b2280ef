"""Writes a PEFT adapter as kohya and as diffusers spell it, and with tensors that are whole.

usage: respell.py adapter_folder weights.safetensors out_folder alpha
"""

import pathlib
import struct
import sys

from tensor_files import read, write


def main():
    folder, weights, out, alpha = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), float(sys.argv[4])
    adapter = read(folder / "adapter_model.safetensors")
    out.mkdir(parents=True, exist_ok=True)
    kohya, diffusers = {}, {}
    for name, tensor in adapter.items():
        path = name[len("base_model.model.") :]
        diffusers["transformer." + path] = tensor
        layer, kind = path[: -len(".weight")].rsplit(".", 1)
        mangled = "lora_unet_" + layer.replace(".", "_")
        kohya[mangled + {"lora_A": ".lora_down.weight", "lora_B": ".lora_up.weight"}[kind]] = tensor
        kohya[mangled + ".alpha"] = ("F32", [], struct.pack("<f", alpha))
    write(out / "kohya.safetensors", kohya)
    write(out / "diffusers.safetensors", diffusers)
    write(out / "strange.safetensors", {"transformer." + name.replace("blocks", "layers"): t for name, t in adapter.items()})
    write(out / "half.safetensors", {n: t for n, t in diffusers.items() if "lora_A" in n})
    write(out / "partly.safetensors", {**diffusers, "transformer.other.lora_A.weight": next(iter(adapter.values()))})

    # Adapters that cannot be folded.
    bytes_ = {name: ("F8_E4M3", shape, bytes(len(data) // 4)) for name, (_, shape, data) in diffusers.items()}
    write(out / "fp8.safetensors", bytes_)
    first = next(iter(adapter))[len("base_model.model.") :].rsplit(".lora_", 1)[0]
    write(out / "alpha.safetensors", {**diffusers, "transformer." + first + ".alpha": ("F32", [0], b"")})
    write(out / "nan.safetensors", {**diffusers, "transformer." + first + ".alpha": ("F32", [], struct.pack("<f", float("nan")))})
    write(out / "dora.safetensors", {**diffusers, "transformer." + first + ".lora_magnitude_vector": ("F32", [1], bytes(4))})
    write(out / "twice.safetensors", {**diffusers, **{"unet." + name[len("transformer.") :]: t for name, t in diffusers.items()}})

    # Weights without one tensor, and an adapter that gives it.
    tensors = read(weights)
    given = "blocks.0.mlp.fc1.weight"
    write(out / "set.safetensors", {"blocks.0.mlp.fc1.set_weight": tensors[given]})
    write(out / "rest.safetensors", {n: t for n, t in tensors.items() if n != given})

    # Weights with a bias less by one, and what brings it back.
    bias = "blocks.0.mlp.fc1.bias"
    count = len(tensors[bias][2]) // 4
    zero = {**tensors, bias: (*tensors[bias][:2], bytes(4 * count))}
    write(out / "zero.safetensors", zero)
    write(out / "diff.safetensors", {"blocks.0.mlp.fc1.diff_b": tensors[bias]})


main()
