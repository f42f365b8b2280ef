"""WanTransformer3DModel of diffusers, small."""

from __future__ import annotations

import numpy as np

from layers import (angles_1d, attend, embed, feed_forward, gelu, gelu_tanh, heads_of, layer_norm, layer_norm_of, linear, linears, merge,
                    prefixed, rms_norm, rotate_complex, silu, timestep, under)


class Wan:
    heads, head_dim, ffn, layers, text_dim, freq = 2, 16, 24, 2, 10, 8
    eps = 1e-6

    def __init__(self, channels=3, out=3, image_dim=0, per_token=False):
        self.channels, self.out, self.image_dim, self.per_token = channels, out, image_dim, per_token
        self.dim = self.heads * self.head_dim

    def attention_shapes(self, image):
        d = self.dim
        shapes = linears(("to_q", d, d), ("to_k", d, d), ("to_v", d, d), ("to_out.0", d, d))
        shapes |= {"norm_q.weight": (d,), "norm_k.weight": (d,)}
        if image:
            shapes |= linears(("add_k_proj", d, d), ("add_v_proj", d, d)) | {"norm_added_k.weight": (d,)}
        return shapes

    def shapes(self):
        d, c = self.dim, "condition_embedder."
        shapes = {"patch_embedding.weight": (d, self.channels, 1, 2, 2), "patch_embedding.bias": (d,)}
        shapes |= linears((c + "time_embedder.linear_1", d, self.freq), (c + "time_embedder.linear_2", d, d), (c + "time_proj", 6 * d, d),
                          (c + "text_embedder.linear_1", d, self.text_dim), (c + "text_embedder.linear_2", d, d))
        if self.image_dim:
            i = c + "image_embedder."
            shapes |= {i + "norm1.weight": (self.image_dim,), i + "norm1.bias": (self.image_dim,), i + "norm2.weight": (d,), i + "norm2.bias": (d,)}
            shapes |= linears((i + "ff.net.0.proj", self.image_dim, self.image_dim), (i + "ff.net.2", d, self.image_dim))
        block = {"scale_shift_table": (1, 6, d), "norm2.weight": (d,), "norm2.bias": (d,)}
        block |= prefixed("attn1.", self.attention_shapes(False)) | prefixed("attn2.", self.attention_shapes(self.image_dim))
        block |= linears(("ffn.net.0.proj", self.ffn, d), ("ffn.net.2", d, self.ffn))
        for i in range(self.layers):
            shapes |= prefixed(f"blocks.{i}.", block)
        return shapes | {"scale_shift_table": (1, 2, d)} | linears(("proj_out", 4 * self.out, d))

    def data(self, rng):
        t, h, w = 2, 4, 6
        data = {"x": rng.standard_normal((2, self.channels, t, h, w)), "text": rng.standard_normal((2, 5, self.text_dim)),
                "t": rng.uniform(0, 20, (2, t * h * w // 4) if self.per_token else 2),
                "target": rng.standard_normal((2, self.out, t, h, w))}
        if self.image_dim:
            data["image"] = rng.standard_normal((2, 4, self.image_dim))
        return data

    def attention(self, p, x, y, image=None, angle=None):
        q, k, v = linear(p, "to_q", x), linear(p, "to_k", y), linear(p, "to_v", y)
        q = heads_of(rms_norm(q, p["norm_q.weight"], self.eps), self.heads)
        k = heads_of(rms_norm(k, p["norm_k.weight"], self.eps), self.heads)
        if angle is not None:
            q, k = rotate_complex(q, angle), rotate_complex(k, angle)
        out = merge(attend(q, k, heads_of(v, self.heads)))
        if image is not None:
            k = heads_of(rms_norm(linear(p, "add_k_proj", image), p["norm_added_k.weight"], self.eps), self.heads)
            out = out + merge(attend(q, k, heads_of(linear(p, "add_v_proj", image), self.heads)))
        return linear(p, "to_out.0", out)

    def rope(self, t, h, w):
        side = 2 * (self.head_dim // 6)
        dims = [self.head_dim - 2 * side, side, side]
        ids = np.stack(np.meshgrid(np.arange(t), np.arange(h), np.arange(w), indexing="ij"), -1).reshape(-1, 3)
        return np.concatenate([angles_1d(ids[:, a], dims[a], 1e4) for a in range(3)], -1)

    def forward(self, p, data):
        x, b, d = data["x"], data["x"].shape[0], self.dim
        _, c, t, h, w = x.shape
        angle = self.rope(t, h // 2, w // 2)
        kernel = p["patch_embedding.weight"]
        # A convolution whose stride is its kernel.
        x = np.einsum("bcthiwj,dcij->bthwd", x.reshape(b, c, t, h // 2, 2, w // 2, 2), kernel[:, :, 0]) + p["patch_embedding.bias"]
        x = x.reshape(b, -1, d)
        e = under(p, "condition_embedder.")
        temb = embed(e, "time_embedder", timestep(data["t"], self.freq))
        proj = linear(e, "time_proj", silu(temb))
        text = embed(e, "text_embedder", data["text"], gelu_tanh)
        image = None
        if self.image_dim:
            i = under(e, "image_embedder.")
            image = feed_forward(i, "ff", layer_norm_of(i, "norm1", data["image"], 1e-5), gelu)
            image = layer_norm_of(i, "norm2", image, 1e-5)
        for n in range(self.layers):
            q = under(p, f"blocks.{n}.")
            table = q["scale_shift_table"]
            if self.per_token:
                m = [v[:, :, 0] for v in np.split(table[None] + proj.reshape(b, -1, 6, d), 6, axis=2)]
            else:
                m = np.split(table + proj.reshape(b, 6, d), 6, axis=1)
            y = layer_norm(x, self.eps) * (1 + m[1]) + m[0]
            x = x + self.attention(under(q, "attn1."), y, y, angle=angle) * m[2]
            x = x + self.attention(under(q, "attn2."), layer_norm_of(q, "norm2", x, self.eps), text, image)
            x = x + feed_forward(q, "ffn", layer_norm(x, self.eps) * (1 + m[4]) + m[3]) * m[5]
        table = p["scale_shift_table"]
        if self.per_token:
            shift, scale = table[0, 0] + temb, table[0, 1] + temb
        else:
            shift, scale = np.split(table + temb[:, None], 2, axis=1)
        x = linear(p, "proj_out", layer_norm(x, self.eps) * (1 + scale) + shift)
        x = x.reshape(b, t, h // 2, w // 2, 1, 2, 2, self.out).transpose(0, 7, 1, 4, 2, 5, 3, 6)
        return x.reshape(b, self.out, t, h, w)


CASES = {"wan-t2v": Wan(), "wan-i2v": Wan(channels=5, image_dim=7), "wan-ti2v": Wan(per_token=True)}
