"""Qwen3ForCausalLM of transformers, small."""

from __future__ import annotations

import numpy as np

from layers import attend, heads_of, linear, linears, merge, prefixed, rms_norm, silu, under

EPS, THETA = 1e-6, 1e6


class Qwen3:
    vocab, dim, heads, kv_heads, head_dim, hidden, s = 13, 12, 4, 2, 6, 20, 7

    def __init__(self, layers=2, tied=True, features=False):
        self.layers, self.tied, self.features = layers, tied, features

    def shapes(self):
        d, q, kv = self.dim, self.heads * self.head_dim, self.kv_heads * self.head_dim
        layer = linears(("self_attn.q_proj", q, d, False), ("self_attn.k_proj", kv, d, False), ("self_attn.v_proj", kv, d, False),
                        ("self_attn.o_proj", d, q, False), ("mlp.gate_proj", self.hidden, d, False), ("mlp.up_proj", self.hidden, d, False),
                        ("mlp.down_proj", d, self.hidden, False))
        layer |= {"self_attn.q_norm.weight": (self.head_dim,), "self_attn.k_norm.weight": (self.head_dim,),
                  "input_layernorm.weight": (d,), "post_attention_layernorm.weight": (d,)}
        shapes = {"model.embed_tokens.weight": (self.vocab, d)}
        if not self.features:
            shapes["model.norm.weight"] = (d,)
            if not self.tied:
                shapes["lm_head.weight"] = (self.vocab, d)
        for i in range(self.layers):
            shapes |= prefixed(f"model.layers.{i}.", layer)
        return shapes

    def data(self, rng):
        return {"ids": rng.integers(0, self.vocab, (2, self.s)), "mask": np.array([[1] * 5 + [0] * 2, [1] * self.s]),
                "target": rng.standard_normal((2, self.s, self.dim if self.features else self.vocab))}

    def rotate(self, x):
        """x cos + rotate_half(x) sin."""
        angle = np.arange(x.shape[2])[:, None] / THETA ** (np.arange(0, self.head_dim, 2) / self.head_dim)
        angle = np.concatenate([angle, angle], -1)
        half = self.head_dim // 2
        return x * np.cos(angle) + np.concatenate([-x[..., half:], x[..., :half]], -1) * np.sin(angle)

    def forward(self, p, data):
        s = self.s
        bias = np.where(np.tril(np.ones((s, s), bool)), 0.0, -np.inf) + np.where(data["mask"][:, None, None, :] != 0, 0.0, -np.inf)
        x = p["model.embed_tokens.weight"][data["ids"]]
        for i in range(self.layers):
            l = under(p, f"model.layers.{i}.")
            a = under(l, "self_attn.")
            y = rms_norm(x, l["input_layernorm.weight"], EPS)
            q = self.rotate(rms_norm(heads_of(linear(a, "q_proj", y), self.heads), a["q_norm.weight"], EPS))
            k = self.rotate(rms_norm(heads_of(linear(a, "k_proj", y), self.kv_heads), a["k_norm.weight"], EPS))
            v = heads_of(linear(a, "v_proj", y), self.kv_heads)
            k, v = (np.repeat(z, self.heads // self.kv_heads, 1) for z in (k, v))
            x = x + linear(a, "o_proj", merge(attend(q, k, v, bias)))
            y = rms_norm(x, l["post_attention_layernorm.weight"], EPS)
            m = under(l, "mlp.")
            x = x + linear(m, "down_proj", silu(linear(m, "gate_proj", y)) * linear(m, "up_proj", y))
        if self.features:
            return x
        x = rms_norm(x, p["model.norm.weight"], EPS)
        return x @ p["model.embed_tokens.weight" if self.tied else "lm_head.weight"].T


CASES = {"qwen3": Qwen3(), "qwen3-untied": Qwen3(tied=False), "qwen3-features": Qwen3(features=True)}
