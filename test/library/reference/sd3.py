"""SD3Transformer2DModel of diffusers, small."""

from __future__ import annotations

import numpy as np

from layers import attend, embed, feed_forward, heads_of, layer_norm, linear, linears, merge, prefixed, rms_norm, silu, timestep, under

EPS = 1e-6


def norm_heads(x, heads, weight):
    """An RMS norm of each head: [B, S, H * d] to [B, H, S, d]."""
    x = heads_of(x, heads)
    return x if weight is None else rms_norm(x, weight, EPS)


class SD3:
    heads, head_dim, layers, text_dim, pooled_dim, size, channels = 2, 8, 3, 10, 6, 6, 4

    def __init__(self, dual=(), qk_norm=True):
        self.dual, self.qk_norm = dual, qk_norm
        self.dim = self.heads * self.head_dim

    def shapes(self):
        d = self.dim
        t = "time_text_embed."
        shapes = {"pos_embed.proj.weight": (d, self.channels, 2, 2), "pos_embed.proj.bias": (d,)}
        shapes |= linears((t + "timestep_embedder.linear_1", d, 256), (t + "timestep_embedder.linear_2", d, d),
                          (t + "text_embedder.linear_1", d, self.pooled_dim), (t + "text_embedder.linear_2", d, d),
                          ("context_embedder", d, self.text_dim), ("norm_out.linear", 2 * d, d), ("proj_out", 4 * self.channels, d))
        for i in range(self.layers):
            last, dual = i == self.layers - 1, i in self.dual
            names = ["to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj"] + ([] if last else ["to_add_out"])
            block = linears(("norm1.linear", (9 if dual else 6) * d, d), ("norm1_context.linear", (2 if last else 6) * d, d),
                            *(("attn." + n, d, d) for n in names), ("ff.net.0.proj", 4 * d, d), ("ff.net.2", d, 4 * d))
            norms = ["norm_q", "norm_k"] if self.qk_norm else []
            block |= {f"attn.{n}.weight": (self.head_dim,) for n in norms + [n.replace("norm", "norm_added") for n in norms]}
            if dual:
                block |= linears(*(("attn2." + n, d, d) for n in names[:4])) | {f"attn2.{n}.weight": (self.head_dim,) for n in norms}
            if not last:
                block |= linears(("ff_context.net.0.proj", 4 * d, d), ("ff_context.net.2", d, 4 * d))
            shapes |= prefixed(f"transformer_blocks.{i}.", block)
        return shapes

    def buffers(self):
        table = np.random.default_rng(7).standard_normal((1, self.size**2, self.dim))
        return {"pos_embed.pos_embed": table.astype("f4")}

    def data(self, rng):
        latent = (2, self.channels, 4, 6)
        return {"x": rng.standard_normal(latent), "t": rng.uniform(0, 20, 2), "text": rng.standard_normal((2, 5, self.text_dim)),
                "pooled": rng.standard_normal((2, self.pooled_dim)), "target": rng.standard_normal(latent)}

    def joint(self, p, x, text, last):
        w = lambda n: p[n + ".weight"] if self.qk_norm else None
        q, k = norm_heads(linear(p, "to_q", x), self.heads, w("norm_q")), norm_heads(linear(p, "to_k", x), self.heads, w("norm_k"))
        v = heads_of(linear(p, "to_v", x), self.heads)
        tq = norm_heads(linear(p, "add_q_proj", text), self.heads, w("norm_added_q"))
        tk = norm_heads(linear(p, "add_k_proj", text), self.heads, w("norm_added_k"))
        tv = heads_of(linear(p, "add_v_proj", text), self.heads)
        cat = lambda a, b: np.concatenate([a, b], 2)
        out = merge(attend(cat(q, tq), cat(k, tk), cat(v, tv)))
        s = x.shape[1]
        return linear(p, "to_out.0", out[:, :s]), None if last else linear(p, "to_add_out", out[:, s:])

    def block(self, p, x, text, c, last, dual):
        m = np.split(linear(p, "norm1.linear", silu(c))[:, None], 9 if dual else 6, -1)
        n = np.split(linear(p, "norm1_context.linear", silu(c))[:, None], 2 if last else 6, -1)
        plain = layer_norm(x, EPS)
        norm_text = layer_norm(text, EPS) * (1 + n[0]) + n[1] if last else layer_norm(text, EPS) * (1 + n[1]) + n[0]
        a, b = self.joint(under(p, "attn."), plain * (1 + m[1]) + m[0], norm_text, last)
        x = x + m[2] * a
        if dual:
            q = under(p, "attn2.")
            y = plain * (1 + m[7]) + m[6]
            w = lambda name: q[name + ".weight"] if self.qk_norm else None
            out = attend(norm_heads(linear(q, "to_q", y), self.heads, w("norm_q")), norm_heads(linear(q, "to_k", y), self.heads, w("norm_k")),
                         heads_of(linear(q, "to_v", y), self.heads))
            x = x + m[8] * linear(q, "to_out.0", merge(out))
        x = x + m[5] * feed_forward(p, "ff", layer_norm(x, EPS) * (1 + m[4]) + m[3])
        if last:
            return x, None
        text = text + n[2] * b
        return x, text + n[5] * feed_forward(p, "ff_context", layer_norm(text, EPS) * (1 + n[4]) + n[3])

    def forward(self, p, data):
        x, d = data["x"], self.dim
        b, c, hh, ww = x.shape
        h, w = hh // 2, ww // 2
        # A convolution whose stride is its kernel.
        x = np.einsum("bchiwj,dcij->bhwd", x.reshape(b, c, h, 2, w, 2), p["pos_embed.proj.weight"]).reshape(b, h * w, d) + p["pos_embed.proj.bias"]
        table = p["pos_embed.pos_embed"].reshape(self.size, self.size, d)
        top, left = (self.size - h) // 2, (self.size - w) // 2
        x = x + table[top : top + h, left : left + w].reshape(1, h * w, d)
        e = under(p, "time_text_embed.")
        c_ = embed(e, "timestep_embedder", timestep(data["t"], 256)) + embed(e, "text_embedder", data["pooled"])
        text = linear(p, "context_embedder", data["text"])
        for i in range(self.layers):
            x, text = self.block(under(p, f"transformer_blocks.{i}."), x, text, c_, i == self.layers - 1, i in self.dual)
        scale, shift = np.split(linear(p, "norm_out.linear", silu(c_))[:, None], 2, -1)
        x = linear(p, "proj_out", layer_norm(x, EPS) * (1 + scale) + shift)
        return np.einsum("nhwpqc->nchpwq", x.reshape(b, h, w, 2, 2, c)).reshape(b, c, hh, ww)


CASES = {"sd3-medium": SD3(dual=(0, 1)), "sd3-large": SD3(), "sd3-3.0": SD3(qk_norm=False)}
