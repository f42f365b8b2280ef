"""One training step of the digits example: the DiT of frontend/library/dit.toml and the flow-matching loss of
examples/digits/pipeline.toml, in float64, from the formulas in these files.

Nothing comes from the compiler or the runtime: initial values, noise, times and the order of the data follow from the seed and the names.
From the spec are read only its numbers (seed, config, batch). The step is the first one, from the initialisers, or the one after a
checkpoint, from the parameters in that.

A phase of the time embedding reaches 1000 rad, where one float32 ulp is 6e-5 rad. The gradient of the layer behind the sinusoids,
`time.linear_1.weight`, is a mean over the batch, so float32 has it to about 5e-6 at batch 128, but only to 2e-5 at batch 8.

usage: dit.py SPEC [--set KEY=VALUE]... [--checkpoint out/step-XXXXXXXX] [--save FILE.npz]
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import re
import tomllib

import numpy as np

import autodiff as ad
import philox
import tensorfile

# metadata.md: a site is a use of randomness in the spec; those of a program begin at its number << 24.
SITE_TIME, SITE_NOISE = 0, 1


@dataclasses.dataclass
class Spec:
    """The numbers of a spec."""

    seed: int
    files: list[str]
    shuffle: bool
    batch: int  # global
    dtype: type  # of what the trainer draws and stores
    channels: int
    height: int
    width: int
    patch: int
    dim: int
    depth: int
    heads: int
    classes: int
    mlp_ratio: int = 4
    frequencies: int = 128
    max_period: float = 10000.0
    time_scale: float = 1000.0


@dataclasses.dataclass
class Result:
    """What a step computes; gradients by `component.parameter`."""

    step: int  # counted from 1
    loss: float
    norm: float
    gradients: dict[str, np.ndarray]


def read_spec(path: str, overrides: list[str]) -> Spec:
    with open(path, "rb") as file:
        root = tomllib.load(file)
    for override in overrides:  # as `ff-compile --set`
        key, value = override.split("=", 1)
        *tables, last = key.split(".")
        table = root
        for name in tables:
            table = table.setdefault(name, {})
        try:
            table[last] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            table[last] = value
    data, files = root["data"], root["data"]["files"]
    dtype = {"fp32": np.float32, "fp64": np.float64}[root.get("precision", {}).get("compute_dtype", "fp32")]
    return Spec(seed=root["pipeline"]["seed"], shuffle=data.get("shuffle", True),
                files=[os.path.join(os.path.dirname(path), f) for f in ([files] if isinstance(files, str) else files)],
                batch=root["train"]["global_batch"], dtype=dtype, **root["bundle"]["dit"]["config"])


def initial_parameters(s: Spec) -> dict[str, np.ndarray]:
    """Every parameter of the DiT by its name within the component, before training."""
    pixels, tokens = s.channels * s.patch**2, (s.height // s.patch) * (s.width // s.patch)
    parameters = {}

    def declare(name: str, *shape: int, normal: float = None, zeros: bool = False) -> None:
        if normal is not None:
            init = {"kind": "normal", "mean": 0.0, "std": normal}
        elif zeros or len(shape) == 1:
            init = {"kind": "constant", "value": 0.0}
        else:  # xavier_uniform
            limit = math.sqrt(6.0 / (shape[0] + shape[1]))
            init = {"kind": "uniform", "low": -limit, "high": limit}
        parameters[name] = philox.initial(init, shape, s.seed, "dit." + name, s.dtype)

    def dense(name: str, out: int, inputs: int, **init) -> None:
        declare(name + ".weight", out, inputs, **init)
        declare(name + ".bias", out)

    dense("embed", s.dim, pixels)
    declare("position", tokens, s.dim, normal=0.02)
    declare("label_table.weight", s.classes, s.dim, normal=0.02)
    dense("time.linear_1", s.dim, 2 * s.frequencies, normal=0.02)
    dense("time.linear_2", s.dim, s.dim, normal=0.02)
    for i in range(s.depth):
        dense(f"blocks.{i}.modulation", 6 * s.dim, s.dim, zeros=True)
        dense(f"blocks.{i}.attn.qkv", 3 * s.dim, s.dim)
        dense(f"blocks.{i}.attn.proj", s.dim, s.dim)
        dense(f"blocks.{i}.mlp.fc1", s.mlp_ratio * s.dim, s.dim)
        dense(f"blocks.{i}.mlp.fc2", s.dim, s.mlp_ratio * s.dim)
    dense("final.modulation", 2 * s.dim, s.dim, zeros=True)
    dense("final.proj", pixels, s.dim, zeros=True)
    return parameters


class DiT:
    """The model; `p` has its parameters as tensors."""

    def __init__(self, spec: Spec, p: dict[str, ad.Tensor]):
        self.s, self.p = spec, p

    def linear(self, name: str, x: ad.Value) -> ad.Tensor:
        return ad.linear(x, self.p[name + ".weight"], self.p[name + ".bias"])

    def modulation(self, name: str, c: ad.Tensor, parts: int) -> list[ad.Tensor]:
        """`parts` tensors [B, 1, dim] from the condition."""
        m, dim = self.linear(name, ad.silu(c)), self.s.dim
        return [ad.reshape(m[:, i * dim:(i + 1) * dim], (-1, 1, dim)) for i in range(parts)]

    def time_embedding(self, t: np.ndarray) -> ad.Tensor:
        s = self.s
        phase = s.time_scale * t[:, None] * np.exp(np.arange(s.frequencies) * (-math.log(s.max_period) / s.frequencies))
        wave = np.concatenate([np.cos(phase), np.sin(phase)], -1)
        return self.linear("time.linear_2", ad.silu(self.linear("time.linear_1", wave)))

    def attention(self, name: str, x: ad.Tensor) -> ad.Tensor:
        s, (batch, tokens, _) = self.s, x.shape
        head = s.dim // s.heads
        qkv = ad.reshape(self.linear(name + ".qkv", x), (batch, tokens, 3, s.heads, head))
        q, k, v = (ad.transpose(qkv[:, :, i], (0, 2, 1, 3)) for i in range(3))  # [B, heads, S, head]
        scores = ad.softmax(q @ ad.transpose(k, (0, 1, 3, 2)) / math.sqrt(head))
        return self.linear(name + ".proj", ad.reshape(ad.transpose(scores @ v, (0, 2, 1, 3)), x.shape))

    def mlp(self, name: str, x: ad.Tensor) -> ad.Tensor:
        return self.linear(name + ".fc2", ad.gelu_tanh(self.linear(name + ".fc1", x)))

    def block(self, name: str, x: ad.Tensor, c: ad.Tensor) -> ad.Tensor:
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulation(name + ".modulation", c, 6)
        x = x + gate1 * self.attention(name + ".attn", ad.layer_norm(x, 1e-6) * (1.0 + scale1) + shift1)
        return x + gate2 * self.mlp(name + ".mlp", ad.layer_norm(x, 1e-6) * (1.0 + scale2) + shift2)

    def __call__(self, x: np.ndarray, t: np.ndarray, label: np.ndarray) -> ad.Tensor:
        s, batch = self.s, len(x)
        h, w = s.height // s.patch, s.width // s.patch
        x = x.reshape(batch, s.channels, h, s.patch, w, s.patch).transpose(0, 2, 4, 1, 3, 5)
        x = self.linear("embed", x.reshape(batch, h * w, -1)) + self.p["position"]
        c = self.time_embedding(t) + ad.embedding(self.p["label_table.weight"], label)
        for i in range(s.depth):
            x = self.block(f"blocks.{i}", x, c)
        shift, scale = self.modulation("final.modulation", c, 2)
        x = self.linear("final.proj", ad.layer_norm(x, 1e-6) * (1.0 + scale) + shift)
        x = ad.transpose(ad.reshape(x, (batch, h, w, s.channels, s.patch, s.patch)), (0, 3, 1, 4, 2, 5))
        return ad.reshape(x, (batch, s.channels, s.height, s.width))


def read_batch(s: Spec, step: int) -> tuple[np.ndarray, np.ndarray, range]:
    """Images, labels and stream positions of a step."""
    files = [tensorfile.load(f) for f in s.files]
    image, label = (np.concatenate([f[key] for f in files]) for key in ("image", "label"))
    positions, n = range((step - 1) * s.batch, step * s.batch), len(label)
    rows = [philox.shuffled(s.seed, p // n, p % n, n) if s.shuffle else p % n for p in positions]
    return image[rows].astype(np.float64), label[rows], positions


def loss_of(model: DiT, s: Spec, step: int) -> ad.Tensor:
    """Flow matching: the mean squared error of the velocity from image to noise, at logit-normal times."""
    image, label, positions = read_batch(s, step)
    z = np.stack([philox.normal((), s.seed, SITE_TIME, g, s.dtype) for g in positions]).astype(np.float64)
    noise = np.stack([philox.normal(image.shape[1:], s.seed, SITE_NOISE, g, s.dtype) for g in positions])
    noise = noise.astype(np.float64)
    t = 1 / (1 + np.exp(-z))
    tt = t[:, None, None, None]
    return ad.mean(ad.square(model((1 - tt) * image + tt * noise, t, label) - (noise - image)))


def run(s: Spec, checkpoint: str = None) -> Result:
    """The step after `checkpoint`, or the first one."""
    values, step = initial_parameters(s), 1
    if checkpoint:
        step = int(re.fullmatch(r"step-(\d+)", os.path.basename(os.path.normpath(checkpoint)))[1]) + 1
        stored = tensorfile.load(os.path.join(checkpoint, "model/dit/diffusion_pytorch_model.safetensors"))
        expected, found = ({k: v.shape for k, v in tensors.items()} for tensors in (values, stored))
        if expected != found:
            raise SystemExit(f"error: {checkpoint} has other parameters: {sorted(set(expected.items()) ^ set(found.items()))}")
        values = stored
    parameters = {name: ad.parameter(value) for name, value in values.items()}
    loss = loss_of(DiT(s, parameters), s, step)
    loss.backward()
    gradients = {"dit." + name: p.grad for name, p in parameters.items()}
    norm = math.sqrt(sum(float((g**2).sum()) for g in gradients.values()))
    return Result(step, float(loss.value), norm, gradients)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as for ff-compile")
    parser.add_argument("--checkpoint", help="folder step-XXXXXXXX; the step after it is computed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--save", help="write loss and gradients to this .npz")
    args = parser.parse_args()
    result = run(read_spec(args.spec, args.set), args.checkpoint)
    for name, gradient in result.gradients.items():
        print(f"{np.abs(gradient).max():12.6e}  {str(list(gradient.shape)):<12}  {name}")
    print(f"step {result.step}: loss {result.loss:.12g}, gradient norm {result.norm:.12g}")
    if args.save:
        np.savez(args.save, loss=result.loss, **result.gradients)


if __name__ == "__main__":
    main()
