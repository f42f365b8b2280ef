"""GPT2LMHeadModel of transformers, small."""

from __future__ import annotations

import numpy as np

from layers import attend, gelu_tanh, heads_of, layer_norm_of, merge, prefixed, under


class GPT2:
    vocab, places, dim, layers, heads = 11, 9, 12, 2, 3

    def __init__(self, padded=False):
        self.padded = padded

    def shapes(self):
        d = self.dim
        block = {}
        for name, inner, out in (("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d), ("mlp.c_fc", d, 4 * d), ("mlp.c_proj", 4 * d, d)):
            block |= {name + ".weight": (inner, out), name + ".bias": (out,)}  # Conv1D
        for name in ("ln_1", "ln_2"):
            block |= {name + ".weight": (d,), name + ".bias": (d,)}
        shapes = {"wte.weight": (self.vocab, d), "wpe.weight": (self.places, d), "ln_f.weight": (d,), "ln_f.bias": (d,)}
        for i in range(self.layers):
            shapes |= prefixed(f"h.{i}.", block)
        return shapes

    def data(self, rng):
        data = {"ids": rng.integers(0, self.vocab, (2, 7)), "target": rng.standard_normal((2, 7, self.vocab))}
        if self.padded:
            data["mask"] = np.array([[1] * 7, [1] * 4 + [0] * 3])
        return data

    def forward(self, p, data):
        ids = data["ids"]
        s = ids.shape[1]
        bias = np.where(np.tril(np.ones((s, s), bool)), 0.0, -np.inf)
        if self.padded:
            bias = bias + np.where(data["mask"][:, None, None, :] != 0, 0.0, -np.inf)
        x = p["wte.weight"][ids] + p["wpe.weight"][:s]
        for i in range(self.layers):
            q = under(p, f"h.{i}.")
            conv = lambda name, x: x @ q[name + ".weight"] + q[name + ".bias"]
            heads = [heads_of(v, self.heads) for v in np.split(conv("attn.c_attn", layer_norm_of(q, "ln_1", x, 1e-5)), 3, -1)]
            x = x + conv("attn.c_proj", merge(attend(*heads, bias)))
            x = x + conv("mlp.c_proj", gelu_tanh(conv("mlp.c_fc", layer_norm_of(q, "ln_2", x, 1e-5))))
        return layer_norm_of(p, "ln_f", x, 1e-5) @ p["wte.weight"].T


CASES = {"gpt2": GPT2(), "gpt2-padded": GPT2(padded=True)}
