"""Layers in NumPy, as PyTorch and diffusers define them. Everything is fp64; a parameter is p["name"], and `under(p, "a.")` is those
below a prefix."""

from __future__ import annotations

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[float])


class Params(dict):
    """Counts what is read, so that a parameter which the reference never uses is noticed."""

    def __init__(self, values, used=None, prefix=""):
        super().__init__(values)
        self.used = set() if used is None else used
        self.prefix = prefix

    def __getitem__(self, key):
        self.used.add(self.prefix + key)
        return super().__getitem__(key)


def under(p: Params, prefix: str) -> Params:
    values = {k[len(prefix):]: v for k, v in p.items() if k.startswith(prefix)}
    return Params(values, p.used, p.prefix + prefix)


def linear(p, name, x):
    y = x @ p[name + ".weight"].T
    return y + p[name + ".bias"] if name + ".bias" in p else y


def layer_norm(x, eps, weight=1.0, bias=0.0):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + eps) * weight + bias


def layer_norm_of(p, name, x, eps):
    return layer_norm(x, eps, p[name + ".weight"], p[name + ".bias"])


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def heads_of(x, heads):
    """[B, S, H * d] as [B, H, S, d]."""
    b, s, d = x.shape
    return x.reshape(b, s, heads, d // heads).transpose(0, 2, 1, 3)


def merge(x):
    b, h, s, d = x.shape
    return x.transpose(0, 2, 1, 3).reshape(b, s, h * d)


def attend(q, k, v, bias=0.0, scale=None):
    """q, k, v are [B, H, S, d]; `bias` is added to the scores."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    return softmax(scale * q @ k.transpose(0, 1, 3, 2) + bias) @ v


def timestep(t, channels, max_period=10000.0):
    """diffusers' get_timestep_embedding with flip_sin_to_cos and no shift."""
    half = channels // 2
    freqs = np.exp(-math.log(max_period) * np.arange(half) / half)
    angle = np.asarray(t)[..., None] * freqs
    return np.concatenate([np.cos(angle), np.sin(angle)], -1)


def embed(p, name, x, activation=silu):
    return linear(p, name + ".linear_2", activation(linear(p, name + ".linear_1", x)))


def feed_forward(p, name, x, activation=gelu_tanh):
    return linear(p, name + ".net.2", activation(linear(p, name + ".net.0.proj", x)))


def angles_1d(position, dim, theta):
    """position times theta^(-2i/dim), i < dim / 2."""
    return np.asarray(position, float)[..., None] / theta ** (np.arange(0, dim, 2) / dim)


def rotate_complex(x, angle):
    """x [B, H, S, d] as d/2 complex numbers, turned; `angle` is [S, d/2] or [B, 1, S, d/2]."""
    z = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
    out = np.empty_like(x)
    out[..., 0::2], out[..., 1::2] = z.real, z.imag
    return out


def linears(*pairs):
    """Shapes of linear layers: (name, out, in) with a bias, (name, out, in, False) without."""
    shapes = {}
    for name, out, inner, *bias in pairs:
        shapes[name + ".weight"] = (out, inner)
        if not bias or bias[0]:
            shapes[name + ".bias"] = (out,)
    return shapes


def prefixed(prefix, shapes):
    return {prefix + name: shape for name, shape in shapes.items()}
