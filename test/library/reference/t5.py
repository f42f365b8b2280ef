"""T5EncoderModel and UMT5EncoderModel of transformers, small."""

from __future__ import annotations

import math

import numpy as np

from layers import attend, gelu_tanh, heads_of, linear, linears, merge, prefixed, rms_norm, under

EPS = 1e-6


def buckets(s, count, farthest):
    """T5's _relative_position_bucket of an encoder."""
    far = np.arange(s)[None, :] - np.arange(s)[:, None]
    half = count // 2
    result = (far > 0) * half
    n = np.abs(far)
    exact = half // 2
    # In fp32 as PyTorch has it, where a distance stands on the edge of a bucket.
    log = np.log(np.maximum(n, 1).astype("f4") / np.float32(exact)) / np.float32(math.log(farthest / exact)) * np.float32(half - exact)
    large = np.minimum(exact + log.astype(int), half - 1)
    return result + np.where(n < exact, n, large)


class T5:
    vocab, dim, head_dim, heads, hidden, layers, s = 13, 12, 5, 2, 20, 2, 23
    buckets = 8

    def __init__(self, gated=True, own=False):
        self.gated, self.own = gated, own

    def shapes(self):
        d, inner = self.dim, self.heads * self.head_dim
        wi = ("wi_0", "wi_1") if self.gated else ("wi",)
        shapes = {"shared.weight": (self.vocab, d), "encoder.final_layer_norm.weight": (d,)}
        for i in range(self.layers):
            a, f = "layer.0.SelfAttention.", "layer.1.DenseReluDense."
            layer = linears(*((a + n, inner, d, False) for n in "qkv"), (a + "o", d, inner, False),
                            *((f + n, self.hidden, d, False) for n in wi), (f + "wo", d, self.hidden, False))
            layer |= {"layer.0.layer_norm.weight": (d,), "layer.1.layer_norm.weight": (d,)}
            if self.own or i == 0:
                layer |= {a + "relative_attention_bias.weight": (self.buckets, self.heads)}
            shapes |= prefixed(f"encoder.block.{i}.", layer)
        return shapes

    def data(self, rng):
        return {"ids": rng.integers(0, self.vocab, (2, self.s)), "mask": np.array([[1] * 20 + [0] * 3, [1] * self.s]),
                "target": rng.standard_normal((2, self.s, self.dim))}

    def forward(self, p, data):
        x = p["shared.weight"][data["ids"]]
        mask = np.where(data["mask"][:, None, None, :] != 0, 0.0, -np.inf)
        place = buckets(self.s, self.buckets, 12)
        for i in range(self.layers):
            q = under(p, f"encoder.block.{i}.")
            a, f = under(q, "layer.0.SelfAttention."), under(q, "layer.1.DenseReluDense.")
            if self.own or i == 0:
                bias = a["relative_attention_bias.weight"][place].transpose(2, 0, 1)[None]
            y = rms_norm(x, q["layer.0.layer_norm.weight"], EPS)
            heads = [heads_of(linear(a, n, y), self.heads) for n in "qkv"]
            x = x + linear(a, "o", merge(attend(*heads, bias + mask, scale=1.0)))
            y = rms_norm(x, q["layer.1.layer_norm.weight"], EPS)
            y = gelu_tanh(linear(f, "wi_0", y)) * linear(f, "wi_1", y) if self.gated else np.maximum(linear(f, "wi", y), 0)
            x = x + linear(f, "wo", y)
        return rms_norm(x, p["encoder.final_layer_norm.weight"], EPS)


CASES = {"t5": T5(), "t5-umt5": T5(own=True)}
