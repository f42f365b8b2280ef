"""BertModel of transformers, and the pooling of sentence-transformers, small."""

from __future__ import annotations

import numpy as np

from layers import attend, gelu, heads_of, layer_norm_of, linear, linears, merge, prefixed, under

EPS = 1e-12


class Bert:
    vocab, places, dim, layers, heads, hidden = 13, 8, 12, 2, 3, 20

    def __init__(self, pooling, normalize=False, types=False):
        self.pooling, self.normalize, self.types = pooling, normalize, types

    def shapes(self):
        d = self.dim
        norm = lambda name: {name + ".weight": (d,), name + ".bias": (d,)}
        layer = linears(*((f"attention.self.{n}", d, d) for n in ("query", "key", "value")), ("attention.output.dense", d, d),
                        ("intermediate.dense", self.hidden, d), ("output.dense", d, self.hidden))
        layer |= norm("attention.output.LayerNorm") | norm("output.LayerNorm")
        shapes = prefixed("embeddings.", {"word_embeddings.weight": (self.vocab, d), "position_embeddings.weight": (self.places, d),
                                          "token_type_embeddings.weight": (2, d)} | norm("LayerNorm"))
        for i in range(self.layers):
            shapes |= prefixed(f"encoder.layer.{i}.", layer)
        return shapes | (linears(("pooler.dense", d, d)) if self.pooling == "cls" else {})

    def data(self, rng):
        shape = (2, 7, self.dim) if self.pooling == "none" else (2, self.dim)
        data = {"ids": rng.integers(0, self.vocab, (2, 7)), "mask": np.array([[1] * 5 + [0] * 2, [1] * 7]), "target": rng.standard_normal(shape)}
        if self.types:
            data["types"] = np.array([[0, 0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1, 1]])
        return data

    def forward(self, p, data):
        ids, mask = data["ids"], data["mask"]
        e = under(p, "embeddings.")
        types = data.get("types", np.zeros_like(ids))
        x = e["word_embeddings.weight"][ids] + e["position_embeddings.weight"][: ids.shape[1]] + e["token_type_embeddings.weight"][types]
        x = layer_norm_of(e, "LayerNorm", x, EPS)
        bias = np.where(mask[:, None, None, :] != 0, 0.0, -np.inf)
        for i in range(self.layers):
            q = under(p, f"encoder.layer.{i}.")
            heads = [heads_of(linear(q, f"attention.self.{n}", x), self.heads) for n in ("query", "key", "value")]
            y = linear(q, "attention.output.dense", merge(attend(*heads, bias)))
            x = layer_norm_of(q, "attention.output.LayerNorm", x + y, EPS)
            y = linear(q, "output.dense", gelu(linear(q, "intermediate.dense", x)))
            x = layer_norm_of(q, "output.LayerNorm", x + y, EPS)
        if self.pooling == "cls":
            return np.tanh(linear(p, "pooler.dense", x[:, 0]))
        if self.pooling == "mean":
            x = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
            if self.normalize:
                x = x / np.linalg.norm(x, axis=-1, keepdims=True)
        return x


CASES = {"bert": Bert("none", types=True), "bert-sentence": Bert("mean", normalize=True), "bert-pooler": Bert("cls")}
