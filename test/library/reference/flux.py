"""FluxTransformer2DModel of diffusers, small."""

from __future__ import annotations

import numpy as np

from layers import (angles_1d, attend, embed, feed_forward, gelu_tanh, heads_of, layer_norm, linear, linears, merge, prefixed, rms_norm,
                    rotate_complex, silu, timestep, under)

EPS = 1e-6


def pack(x):
    """FluxPipeline._pack_latents."""
    b, c, h, w = x.shape
    return x.reshape(b, c, h // 2, 2, w // 2, 2).transpose(0, 2, 4, 1, 3, 5).reshape(b, h * w // 4, 4 * c)


def unpack(x, h, w):
    b, _, e = x.shape
    return x.reshape(b, h // 2, w // 2, e // 4, 2, 2).transpose(0, 3, 1, 4, 2, 5).reshape(b, e // 4, h, w)


def queries(p, name, norm, x, heads):
    return rms_norm(heads_of(linear(p, name, x), heads), p[norm + ".weight"], EPS)


class Flux:
    heads, axes, layers, single, text_dim, pooled_dim, channels = 2, (4, 6, 6), 2, 2, 10, 6, 12

    def __init__(self, guidance):
        self.guidance = guidance
        self.head_dim = sum(self.axes)
        self.dim = self.heads * self.head_dim

    def shapes(self):
        d, t = self.dim, "time_text_embed."
        mlp = lambda name, inner: ((t + name + ".linear_1", d, inner), (t + name + ".linear_2", d, d))
        shapes = linears(("x_embedder", d, self.channels), ("context_embedder", d, self.text_dim), *mlp("timestep_embedder", 256),
                         *(mlp("guidance_embedder", 256) if self.guidance else ()), *mlp("text_embedder", self.pooled_dim),
                         ("norm_out.linear", 2 * d, d), ("proj_out", self.channels, d))
        names = ("to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out")
        block = linears(("norm1.linear", 6 * d, d), ("norm1_context.linear", 6 * d, d), *(("attn." + n, d, d) for n in names),
                        *((f + ".net.0.proj", 4 * d, d) for f in ("ff", "ff_context")), *((f + ".net.2", d, 4 * d) for f in ("ff", "ff_context")))
        block |= {f"attn.{n}.weight": (self.head_dim,) for n in ("norm_q", "norm_k", "norm_added_q", "norm_added_k")}
        single = linears(("norm.linear", 3 * d, d), ("proj_mlp", 4 * d, d), ("proj_out", d, 5 * d), *(("attn." + n, d, d) for n in names[:3]))
        single |= {f"attn.{n}.weight": (self.head_dim,) for n in ("norm_q", "norm_k")}
        for i in range(self.layers):
            shapes |= prefixed(f"transformer_blocks.{i}.", block)
        for i in range(self.single):
            shapes |= prefixed(f"single_transformer_blocks.{i}.", single)
        return shapes

    def data(self, rng):
        latent = (2, self.channels // 4, 4, 6)
        data = {"x": rng.standard_normal(latent), "t": rng.uniform(0, 0.02, 2), "text": rng.standard_normal((2, 5, self.text_dim)),
                "pooled": rng.standard_normal((2, self.pooled_dim)), "target": rng.standard_normal(latent)}
        return data | ({"guidance": rng.uniform(0.01, 0.05, 2)} if self.guidance else {})

    def forward(self, p, data):
        h, w = data["x"].shape[2:]
        x, text = linear(p, "x_embedder", pack(data["x"])), linear(p, "context_embedder", data["text"])
        e = under(p, "time_text_embed.")
        c = embed(e, "timestep_embedder", timestep(1000 * data["t"], 256))
        if self.guidance:
            c = c + embed(e, "guidance_embedder", timestep(1000 * data["guidance"], 256))
        c = silu(c + embed(e, "text_embedder", data["pooled"]))
        length = text.shape[1]
        ids = np.zeros((h // 2, w // 2, 3))
        ids[..., 1] += np.arange(h // 2)[:, None]
        ids[..., 2] += np.arange(w // 2)[None, :]
        ids = np.concatenate([np.zeros((length, 3)), ids.reshape(-1, 3)])
        angle = np.concatenate([angles_1d(ids[:, a], self.axes[a], 1e4) for a in range(3)], -1)
        cat = lambda a, b: np.concatenate([a, b], 2)
        for i in range(self.layers):
            q = under(p, f"transformer_blocks.{i}.")
            m, n = (np.split(linear(q, name + ".linear", c)[:, None], 6, -1) for name in ("norm1", "norm1_context"))
            y, z = layer_norm(x, EPS) * (1 + m[1]) + m[0], layer_norm(text, EPS) * (1 + n[1]) + n[0]
            r = under(q, "attn.")
            qs = cat(queries(r, "add_q_proj", "norm_added_q", z, self.heads), queries(r, "to_q", "norm_q", y, self.heads))
            ks = cat(queries(r, "add_k_proj", "norm_added_k", z, self.heads), queries(r, "to_k", "norm_k", y, self.heads))
            vs = cat(heads_of(linear(r, "add_v_proj", z), self.heads), heads_of(linear(r, "to_v", y), self.heads))
            out = merge(attend(rotate_complex(qs, angle), rotate_complex(ks, angle), vs))
            x = x + m[2] * linear(r, "to_out.0", out[:, length:])
            x = x + m[5] * feed_forward(q, "ff", layer_norm(x, EPS) * (1 + m[4]) + m[3])
            text = text + n[2] * linear(r, "to_add_out", out[:, :length])
            text = text + n[5] * feed_forward(q, "ff_context", layer_norm(text, EPS) * (1 + n[4]) + n[3])
        x = np.concatenate([text, x], 1)
        for i in range(self.single):
            q = under(p, f"single_transformer_blocks.{i}.")
            shift, scale, gate = np.split(linear(q, "norm.linear", c)[:, None], 3, -1)
            y = layer_norm(x, EPS) * (1 + scale) + shift
            r = under(q, "attn.")
            qs, ks = (rotate_complex(queries(r, "to_" + n, "norm_" + n, y, self.heads), angle) for n in "qk")
            out = merge(attend(qs, ks, heads_of(linear(r, "to_v", y), self.heads)))
            x = x + gate * linear(q, "proj_out", np.concatenate([out, gelu_tanh(linear(q, "proj_mlp", y))], -1))
        x = x[:, length:]
        scale, shift = np.split(linear(p, "norm_out.linear", c)[:, None], 2, -1)
        return unpack(linear(p, "proj_out", layer_norm(x, EPS) * (1 + scale) + shift), h, w)


CASES = {"flux-dev": Flux(True), "flux-schnell": Flux(False)}
