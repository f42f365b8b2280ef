"""QwenImageTransformer2DModel of diffusers, small."""

from __future__ import annotations

import numpy as np

from flux import pack, queries, unpack
from layers import (angles_1d, attend, embed, feed_forward, heads_of, layer_norm, linear, linears, merge, prefixed, rms_norm, rotate_complex,
                    silu, timestep, under)

EPS = 1e-6


class QwenImage:
    heads, axes, layers, text_dim, channels, out = 2, (4, 6, 6), 2, 10, 12, 3

    def __init__(self, masked):
        self.masked = masked
        self.head_dim = sum(self.axes)
        self.dim = self.heads * self.head_dim

    def shapes(self):
        d, t = self.dim, "time_text_embed.timestep_embedder."
        shapes = linears(("img_in", d, self.channels), ("txt_in", d, self.text_dim), (t + "linear_1", d, 256), (t + "linear_2", d, d),
                         ("norm_out.linear", 2 * d, d), ("proj_out", 4 * self.out, d)) | {"txt_norm.weight": (self.text_dim,)}
        names = ("to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out")
        block = linears(("img_mod.1", 6 * d, d), ("txt_mod.1", 6 * d, d), *(("attn." + n, d, d) for n in names),
                        *((f + ".net.0.proj", 4 * d, d) for f in ("img_mlp", "txt_mlp")), *((f + ".net.2", d, 4 * d) for f in ("img_mlp", "txt_mlp")))
        block |= {f"attn.{n}.weight": (self.head_dim,) for n in ("norm_q", "norm_k", "norm_added_q", "norm_added_k")}
        for i in range(self.layers):
            shapes |= prefixed(f"transformer_blocks.{i}.", block)
        return shapes

    def idle(self):
        last = f"transformer_blocks.{self.layers - 1}."
        return [n for n in self.shapes() if n.startswith((last + "attn.to_add_out", last + "txt_mlp"))]

    def data(self, rng):
        data = {"x": rng.standard_normal((2, self.channels // 4, 6, 10)), "t": rng.uniform(0, 0.02, 2),
                "text": rng.standard_normal((2, 5, self.text_dim)), "target": rng.standard_normal((2, self.out, 6, 10))}
        return data | ({"mask": np.array([[1] * 3 + [0] * 2, [1] * 5])} if self.masked else {})

    def rope(self, h, w, length):
        """QwenEmbedRope with scale_rope: rows and columns from -(n - n // 2) to n // 2 - 1."""
        place = lambda n: np.arange(n) - (n - n // 2)
        grid = np.stack(np.meshgrid([0], place(h), place(w), indexing="ij"), -1).reshape(-1, 3)
        text = np.repeat((max(h // 2, w // 2) + np.arange(length))[:, None], 3, 1)
        return [np.concatenate([angles_1d(ids[:, a], self.axes[a], 1e4) for a in range(3)], -1) for ids in (text, grid)]

    def forward(self, p, data):
        h, w = data["x"].shape[2:]
        x = linear(p, "img_in", pack(data["x"]))
        text = linear(p, "txt_in", rms_norm(data["text"], p["txt_norm.weight"], EPS))
        c = silu(embed(under(p, "time_text_embed."), "timestep_embedder", timestep(1000 * data["t"], 256)))
        length = text.shape[1]
        text_angle, angle = self.rope(h // 2, w // 2, length)
        bias = 0.0
        if self.masked:
            seen = np.concatenate([data["mask"] != 0, np.ones((x.shape[0], x.shape[1]), bool)], 1)
            bias = np.where(seen[:, None, None, :], 0.0, -np.inf)
        cat = lambda a, b: np.concatenate([a, b], 2)
        for i in range(self.layers):
            q = under(p, f"transformer_blocks.{i}.")
            r = under(q, "attn.")
            m, n = (np.split(linear(q, name + "_mod.1", c)[:, None], 6, -1) for name in ("img", "txt"))
            y, z = layer_norm(x, EPS) * (1 + m[1]) + m[0], layer_norm(text, EPS) * (1 + n[1]) + n[0]
            qs = cat(rotate_complex(queries(r, "add_q_proj", "norm_added_q", z, self.heads), text_angle),
                     rotate_complex(queries(r, "to_q", "norm_q", y, self.heads), angle))
            ks = cat(rotate_complex(queries(r, "add_k_proj", "norm_added_k", z, self.heads), text_angle),
                     rotate_complex(queries(r, "to_k", "norm_k", y, self.heads), angle))
            vs = cat(heads_of(linear(r, "add_v_proj", z), self.heads), heads_of(linear(r, "to_v", y), self.heads))
            out = merge(attend(qs, ks, vs, bias))
            x = x + m[2] * linear(r, "to_out.0", out[:, length:])
            text = text + n[2] * linear(r, "to_add_out", out[:, :length])
            x = x + m[5] * feed_forward(q, "img_mlp", layer_norm(x, EPS) * (1 + m[4]) + m[3])
            text = text + n[5] * feed_forward(q, "txt_mlp", layer_norm(text, EPS) * (1 + n[4]) + n[3])
        scale, shift = np.split(linear(p, "norm_out.linear", c)[:, None], 2, -1)
        return unpack(linear(p, "proj_out", layer_norm(x, EPS) * (1 + scale) + shift), h, w)


CASES = {"qwen-image": QwenImage(False), "qwen-image-masked": QwenImage(True)}
