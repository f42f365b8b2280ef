"""Functions of attention and its gradient, of one element type: what attention.test holds against the interpreter."""

import sys


def tensor(shape, element):
    return "tensor<" + "x".join(map(str, shape)) + "x" + element + ">"


class Case:
    def __init__(self, name, element, queries, keys, dim, batch=1, heads=2, causal=False, scale=None):
        self.name = name
        self.element = element
        self.scale = dim**-0.5 if scale is None else scale
        self.causal = ", causal" if causal else ""
        self.shape = (batch, queries, heads, dim)
        self.query = tensor(self.shape, element)
        self.key = tensor((batch, keys, heads, dim), element)
        self.lse = tensor((batch, heads, queries), "f32")
        self.mask = None

    def print_masked(self, keys):
        """Keys count where an input is above `keys`, of [-1, 1]."""
        batch, keys_count = self.shape[0], int(self.key.split("x")[1])
        numbers = tensor((batch, keys_count), "f32")
        self.mask = tensor((batch, keys_count), "i1")
        self.print(f"%q: {self.query}, %k: {self.key}, %v: {self.key}, %n: {numbers}",
                   [f"%z = arith.constant dense<{float(keys)}> : {numbers}", f"%m = arith.cmpf ogt, %n, %z : {numbers}"])

    def print(self, arguments, before=()):
        q, k, l = self.query, self.key, self.lse
        mask, m = (" mask %m", ", " + self.mask) if self.mask else ("", "")
        attributes = f"{{scale = {float(self.scale)} : f64{self.causal}}}"
        print(f"func.func @{self.name}({arguments}, %do: {q}) -> ({q}, {l}, {q}, {k}, {k})")
        print("    attributes {test.range = [-1.0, 1.0]} {")
        for line in before:
            print("  " + line)
        print(f"  %o, %l = ff.attention %q, %k, %v{mask} {attributes} : ({q}, {k}, {k}{m}) -> ({q}, {l})")
        print(f"  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do{mask} {attributes}")
        print(f"      : ({q}, {k}, {k}, {q}, {l}, {q}{m}) -> ({q}, {k}, {k})")
        print(f"  return %o, %l, %dq, %dk, %dv : {q}, {l}, {q}, {k}, {k}\n}}")

    def print_plain(self):
        self.print(f"%q: {self.query}, %k: {self.key}, %v: {self.key}")

    def print_packed(self, before=0):
        """Queries, keys and values are slices of one tensor, behind `before` other columns."""
        batch, rows, heads, dim = self.shape
        width = heads * dim
        all_of = tensor((batch, rows, before + 3 * width), self.element)
        one = tensor((batch, rows, width), self.element)
        lines = []
        for i, name in enumerate("qkv"):
            lines.append(f"%{name}0 = ff.slice %x dim 2 at {before + i * width} : {all_of} to {one}")
            lines.append(f"%{name} = ff.reshape %{name}0 : {one} to {self.query}")
        self.print(f"%x: {all_of}", lines)

    def print_heads_first(self):
        """Keys and values are [B, H, S, D] in memory, and all heads see the same."""
        batch, _, heads, dim = self.shape
        keys = int(self.key.split("x")[1])
        first = tensor((batch, 1, keys, dim), self.element)
        lines = []
        for name in "kv":
            wide = tensor((batch, heads, keys, dim), self.element)
            flat = tensor((batch, keys, dim), self.element)
            lines.append(f"%{name}0 = ff.reshape %{name}1 : {first} to {flat}")
            lines.append(f"%{name}2 = ff.broadcast %{name}0 dims [0, 2, 3] : {flat} to {wide}")
            lines.append(f"%{name} = ff.transpose %{name}2 [0, 2, 1, 3] : {wide} to {self.key}")
        self.print(f"%q: {self.query}, %k1: {first}, %v1: {first}", lines)


def print_all(element):
    for dim in (8, 16, 24, 32, 64, 128):
        Case(f"self_{dim}", element, 65, 65, dim).print_plain()
    for dim in (48, 112):
        Case(f"self_{dim}", element, 17, 17, dim, heads=1).print_plain()
    Case("of_17_by_1", element, 17, 1, 32).print_plain()
    for queries, keys in ((1, 17), (17, 130), (130, 17), (64, 64), (130, 130)):
        Case(f"causal_{queries}_by_{keys}", element, queries, keys, 32, heads=1, causal=True).print_plain()
    # Accesses of 16, 8, 4 and 2 bytes, as far as an element is no wider.
    for before in (8, 4, 2, 1):
        Case(f"packed_{before}", element, 33, 33, 16, batch=2).print_packed(before)
    for dim in (20, 7):
        Case(f"odd_dim_{dim}", element, 33, 40, dim, batch=2, causal=True).print_plain()
    Case("heads_first", element, 20, 33, 32, heads=3, batch=2).print_heads_first()
    Case("negative_scale", element, 33, 70, 32, scale=-0.5).print_plain()
    Case("no_scale", element, 20, 12, 16, scale=0, causal=True).print_plain()


def print_masks(element):
    for dim in (16, 64):
        Case(f"mask_{dim}", element, 65, 70, dim, batch=2).print_masked(0)
    Case("mask_causal", element, 33, 33, 32, batch=2, causal=True).print_masked(0)
    # Of a few keys, and of none: a result and gradients of 0. The logarithm of 0 is no number to compare.
    Case("mask_of_few", element, 20, 40, 32).print_masked(0.9)


def print_few(element):
    for dim in (24, 64, 128):
        Case(f"causal_{dim}", element, 65, 70, dim, heads=1, causal=True).print_plain()


def print_blocks(element):
    """So many rows that blocks have several warps."""
    # Whole warps of rows, but no whole blocks.
    Case("blocks", element, 160, 96, 16, batch=6, heads=11).print_plain()
    Case("blocks_causal", element, 130, 70, 16, batch=6, heads=11, causal=True).print_plain()


def print_timed(element):
    """Shapes of models, for test/device. The name is batch, queries, keys, heads, head dim."""
    for batch, queries, keys, heads, dim, causal in (
        (16, 1024, 1024, 12, 64, False),
        (4, 4096, 4096, 16, 64, False),
        (4, 4096, 4096, 16, 64, True),
        (4, 4096, 4096, 16, 128, False),
        (4, 4096, 4096, 16, 128, True),
        (4, 4096, 128, 16, 128, False),
    ):
        name = "_".join(map(str, ("causal" if causal else "full", batch, queries, keys, heads, dim)))
        Case(name, element, queries, keys, dim, batch=batch, heads=heads, causal=causal).print_plain()


{
    "all": print_all,
    "few": print_few,
    "masks": print_masks,
    "blocks": print_blocks,
    "timed": print_timed,
}[sys.argv[1]](sys.argv[2])
