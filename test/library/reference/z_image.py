"""ZImageTransformer2DModel of diffusers, small: sample by sample, each with its own text, so that nothing is padded but to 32 tokens."""

from __future__ import annotations

import numpy as np

from layers import (angles_1d, attend, heads_of, layer_norm, linear, linears, merge, prefixed, rms_norm, rotate_complex, silu, timestep,
                    under)

EPS, MULTIPLE, THETA = 1e-5, 32, 256.0


class ZImage:
    heads, axes, layers, refiners, text_dim, channels = 2, (4, 6, 6), 2, 1, 10, 3

    def __init__(self, size, text, lengths=None):
        self.size, self.text, self.lengths = size, text, lengths
        self.head_dim = sum(self.axes)
        self.dim = self.heads * self.head_dim

    def shapes(self):
        d = self.dim
        hidden, patch, cond = int(d / 3 * 8), 4 * self.channels, min(d, 256)
        block = linears(*((f"attention.{n}", d, d, False) for n in ("to_q", "to_k", "to_v", "to_out.0")),
                        ("feed_forward.w1", hidden, d, False), ("feed_forward.w2", d, hidden, False), ("feed_forward.w3", hidden, d, False))
        block |= {f"attention.{n}.weight": (self.head_dim,) for n in ("norm_q", "norm_k")}
        block |= {n + ".weight": (d,) for n in ("attention_norm1", "attention_norm2", "ffn_norm1", "ffn_norm2")}
        modulated = block | linears(("adaLN_modulation.0", 4 * d, cond))
        shapes = linears(("all_x_embedder.2-1", d, patch), ("cap_embedder.1", d, self.text_dim), ("t_embedder.mlp.0", 1024, 256),
                         ("t_embedder.mlp.2", cond, 1024), ("all_final_layer.2-1.linear", patch, d),
                         ("all_final_layer.2-1.adaLN_modulation.1", d, cond))
        shapes |= {"cap_embedder.0.weight": (self.text_dim,), "x_pad_token": (1, d), "cap_pad_token": (1, d)}
        for prefix, count, kind in (("noise_refiner", self.refiners, modulated), ("context_refiner", self.refiners, block),
                                    ("layers", self.layers, modulated)):
            for i in range(count):
                shapes |= prefixed(f"{prefix}.{i}.", kind)
        return shapes

    def data(self, rng):
        latent = (2, self.channels, *self.size)
        data = {"x": rng.standard_normal(latent), "t": rng.uniform(0, 0.02, 2), "text": rng.standard_normal((2, self.text, self.text_dim)),
                "target": rng.standard_normal(latent)}
        if self.lengths:
            lengths = np.array(self.lengths)
            data |= {"length": lengths, "mask": (np.arange(self.text) < lengths[:, None]).astype(np.int64)}
        return data

    def block(self, p, x, angle, c=None):
        if c is not None:
            scale1, gate1, scale2, gate2 = np.split(linear(p, "adaLN_modulation.0", c)[:, None], 4, -1)
        else:
            scale1 = scale2 = 0.0
        norm = lambda name, x: rms_norm(x, p[name + ".weight"], EPS)
        a = under(p, "attention.")
        y = norm("attention_norm1", x) * (1 + scale1)
        q, k = (rotate_complex(rms_norm(heads_of(linear(a, "to_" + n, y), self.heads), a[f"norm_{n}.weight"], 1e-5), angle) for n in "qk")
        y = norm("attention_norm2", linear(a, "to_out.0", merge(attend(q, k, heads_of(linear(a, "to_v", y), self.heads)))))
        x = x + (np.tanh(gate1) if c is not None else 1) * y
        f = under(p, "feed_forward.")
        y = norm("ffn_norm1", x) * (1 + scale2)
        y = norm("ffn_norm2", linear(f, "w2", silu(linear(f, "w1", y)) * linear(f, "w3", y)))
        return x + (np.tanh(gate2) if c is not None else 1) * y

    def sample(self, p, image, t, caption):
        """One sample, [C, H, W] and [tokens, text_dim]."""
        c, hh, ww = image.shape
        h, w = hh // 2, ww // 2
        angle = lambda ids: np.concatenate([angles_1d(ids[:, a], self.axes[a], THETA) for a in range(3)], -1)
        pad = lambda n: -n % MULTIPLE
        n, extra = len(caption), pad(len(caption))
        text_ids = np.zeros((n + extra, 3))
        text_ids[:, 0] = 1 + np.arange(n + extra)
        ids = np.stack(np.meshgrid([n + extra + 1], np.arange(h), np.arange(w), indexing="ij"), -1).reshape(-1, 3)
        ids = np.concatenate([ids, np.zeros((pad(len(ids)), 3))])
        x = image.reshape(c, h, 2, w, 2).transpose(1, 3, 2, 4, 0).reshape(h * w, 4 * c)  # h w ph pw c
        x = linear(p, "all_x_embedder.2-1", x)
        x = np.concatenate([x, np.repeat(p["x_pad_token"], pad(h * w), 0)])[None]
        text = linear(p, "cap_embedder.1", rms_norm(caption, p["cap_embedder.0.weight"], EPS))
        text = np.concatenate([text, np.repeat(p["cap_pad_token"], extra, 0)])[None]
        cond = linear(p, "t_embedder.mlp.2", silu(linear(p, "t_embedder.mlp.0", timestep(1000 * t, 256))))[None]
        for i in range(self.refiners):
            x = self.block(under(p, f"noise_refiner.{i}."), x, angle(ids), cond)
            text = self.block(under(p, f"context_refiner.{i}."), text, angle(text_ids))
        x = np.concatenate([x, text], 1)
        both = np.concatenate([angle(ids), angle(text_ids)])
        for i in range(self.layers):
            x = self.block(under(p, f"layers.{i}."), x, both, cond)
        final = "all_final_layer.2-1."
        x = layer_norm(x, 1e-6) * (1 + linear(p, final + "adaLN_modulation.1", silu(cond)))[:, None]
        x = linear(p, final + "linear", x)[0, : h * w]
        return x.reshape(h, w, 2, 2, c).transpose(4, 0, 2, 1, 3).reshape(c, hh, ww)

    def forward(self, p, data):
        lengths = data.get("length", [self.text] * 2)
        return np.stack([self.sample(p, x, t, text[:n]) for x, t, text, n in zip(data["x"], data["t"], data["text"], lengths)])


CASES = {"z-image": ZImage((4, 6), 40, (7, 40)), "z-image-whole": ZImage((16, 8), 32), "z-image-masked": ZImage((4, 6), 40, (7, 40))}
