"""Reverse-mode differentiation over NumPy arrays in float64: what the reference models of this folder are written in.

A `Tensor` is a value and, if an input of its operation needs a gradient, the function that carries a cotangent to those inputs. Only
primitives have a hand-written gradient; softmax, layer norm, GELU and the like are composed from them, so that they share no algebra
with the compiler. `python3 autodiff.py` checks every operation against central differences.
"""

from __future__ import annotations

import math
from typing import Callable, Sequence, Union

import numpy as np

Value = Union["Tensor", np.ndarray, float]


class Tensor:
    """A float64 array in a graph of operations."""

    __array_ufunc__ = None  # array * Tensor is ours to compute

    def __init__(self, value, inputs: Sequence["Tensor"] = (), pull: Callable = None, leaf: bool = False):
        self.value = np.asarray(value, np.float64)
        self.inputs = inputs
        self.pull = pull  # cotangent -> cotangents of the inputs
        self.needs = leaf or any(i.needs for i in inputs)
        self.grad: np.ndarray = None

    shape = property(lambda self: self.value.shape)

    def __add__(self, other): return add(self, other)
    def __radd__(self, other): return add(other, self)
    def __sub__(self, other): return add(self, mul(other, -1.0))
    def __rsub__(self, other): return add(other, mul(self, -1.0))
    def __mul__(self, other): return mul(self, other)
    def __rmul__(self, other): return mul(other, self)
    def __truediv__(self, other): return mul(self, reciprocal(other))
    def __rtruediv__(self, other): return mul(other, reciprocal(self))
    def __neg__(self): return mul(self, -1.0)
    def __matmul__(self, other): return matmul(self, other)
    def __getitem__(self, index): return getitem(self, index)

    def backward(self) -> None:
        """Adds d self / d leaf to the `grad` of every leaf that `self`, a scalar, depends on."""
        order, seen, stack = [], set(), [(self, False)]
        while stack:  # depth first, an operation after its inputs
            node, done = stack.pop()
            if done:
                order.append(node)
            elif id(node) not in seen and node.needs:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((i, False) for i in node.inputs)
        cotangents = {id(self): np.ones_like(self.value)}
        for node in reversed(order):
            cotangent = cotangents.pop(id(node))
            if node.pull is None:
                node.grad = cotangent if node.grad is None else node.grad + cotangent
                continue
            for i, c in zip(node.inputs, node.pull(cotangent)):
                if i.needs:
                    assert c.shape == i.shape, (c.shape, i.shape)
                    cotangents[id(i)] = cotangents[id(i)] + c if id(i) in cotangents else c


def parameter(value) -> Tensor:
    """A leaf whose gradient is wanted."""
    return Tensor(value, leaf=True)


def wrap(x: Value) -> Tensor:
    return x if isinstance(x, Tensor) else Tensor(x)


def unbroadcast(c: np.ndarray, shape: tuple) -> np.ndarray:
    """The sum of `c` over the dims that broadcasting added to or stretched in `shape`."""
    c = c.sum(tuple(range(c.ndim - len(shape))))
    return c.sum(tuple(d for d, n in enumerate(shape) if n == 1 and c.shape[d] != 1), keepdims=True)


# Primitives.

def add(a: Value, b: Value) -> Tensor:
    a, b = wrap(a), wrap(b)
    return Tensor(a.value + b.value, (a, b), lambda c: (unbroadcast(c, a.shape), unbroadcast(c, b.shape)))


def mul(a: Value, b: Value) -> Tensor:
    a, b = wrap(a), wrap(b)
    return Tensor(a.value * b.value, (a, b),
                  lambda c: (unbroadcast(c * b.value, a.shape), unbroadcast(c * a.value, b.shape)))


def unary(x: Value, value: np.ndarray, derivative: np.ndarray) -> Tensor:
    return Tensor(value, (x,), lambda c: (c * derivative,))


def reciprocal(x: Value) -> Tensor:
    x = wrap(x)
    return unary(x, 1 / x.value, -1 / x.value**2)


def exp(x: Value) -> Tensor:
    x = wrap(x)
    return unary(x, np.exp(x.value), np.exp(x.value))


def log(x: Value) -> Tensor:
    x = wrap(x)
    return unary(x, np.log(x.value), 1 / x.value)


def tanh(x: Value) -> Tensor:
    x = wrap(x)
    return unary(x, np.tanh(x.value), 1 - np.tanh(x.value)**2)


def sin(x: Value) -> Tensor:
    x = wrap(x)
    return unary(x, np.sin(x.value), np.cos(x.value))


def cos(x: Value) -> Tensor:
    x = wrap(x)
    return unary(x, np.cos(x.value), -np.sin(x.value))


def sqrt(x: Value) -> Tensor:
    x = wrap(x)
    return unary(x, np.sqrt(x.value), 0.5 / np.sqrt(x.value))


def sigmoid(x: Value) -> Tensor:
    x = wrap(x)
    y = 0.5 * (1 + np.tanh(0.5 * x.value))
    return unary(x, y, y * (1 - y))


def matmul(a: Value, b: Value) -> Tensor:
    """Over the last two dims; leading dims broadcast."""
    a, b = wrap(a), wrap(b)
    return Tensor(a.value @ b.value, (a, b), lambda c: (unbroadcast(c @ b.value.swapaxes(-1, -2), a.shape),
                                                        unbroadcast(a.value.swapaxes(-1, -2) @ c, b.shape)))


def reshape(x: Value, shape: Sequence[int]) -> Tensor:
    x = wrap(x)
    return Tensor(x.value.reshape(shape), (x,), lambda c: (c.reshape(x.shape),))


def transpose(x: Value, order: Sequence[int]) -> Tensor:
    """Dim d of the result is dim order[d] of `x`."""
    x = wrap(x)
    return Tensor(x.value.transpose(order), (x,), lambda c: (c.transpose(np.argsort(order)),))


def getitem(x: Value, index) -> Tensor:
    """x[index], of integers and slices, or of an array of row numbers."""
    x = wrap(x)

    def pull(c: np.ndarray):
        grad = np.zeros_like(x.value)
        if isinstance(index, np.ndarray):
            np.add.at(grad, index, c)  # an element may be read more than once
        else:
            grad[index] = c
        return (grad,)
    return Tensor(x.value[index], (x,), pull)


def concat(parts: Sequence[Value], axis: int) -> Tensor:
    parts = [wrap(p) for p in parts]
    ends = np.cumsum([p.shape[axis] for p in parts])[:-1]
    return Tensor(np.concatenate([p.value for p in parts], axis), parts, lambda c: np.split(c, ends, axis))


def sum(x: Value, axis=None, keepdims: bool = False) -> Tensor:
    x = wrap(x)
    value = x.value.sum(axis, keepdims=keepdims)
    kept = x.value.sum(axis, keepdims=True).shape
    return Tensor(value, (x,), lambda c: (np.broadcast_to(c.reshape(kept), x.shape),))


# Composed.

def mean(x: Value, axis=None, keepdims: bool = False) -> Tensor:
    x = wrap(x)
    total = sum(x, axis, keepdims)
    return total * (total.value.size / x.value.size)


def square(x: Value) -> Tensor:
    return mul(x, x)


def softmax(x: Value) -> Tensor:
    """Over the last dim. The maximum cancels, so it needs no gradient."""
    x = wrap(x)
    e = exp(x - x.value.max(-1, keepdims=True))
    return e / sum(e, -1, True)


def layer_norm(x: Value, eps: float) -> Tensor:
    """Over the last dim, without scale and shift."""
    centred = wrap(x) - mean(x, -1, True)
    return centred / sqrt(mean(square(centred), -1, True) + eps)


def rms_norm(x: Value, eps: float) -> Tensor:
    """Over the last dim, without scale."""
    return wrap(x) / sqrt(mean(square(x), -1, True) + eps)


def gelu_tanh(x: Value) -> Tensor:
    x = wrap(x)
    return 0.5 * x * (1.0 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def silu(x: Value) -> Tensor:
    return wrap(x) * sigmoid(x)


def linear(x: Value, weight: Value, bias: Value = None) -> Tensor:
    """x @ weight.T + bias, with weight [out, in]."""
    y = matmul(x, transpose(weight, (1, 0)))
    return y if bias is None else y + bias


def embedding(table: Value, ids: np.ndarray) -> Tensor:
    return getitem(table, ids)


def check(name: str, f: Callable[..., Tensor], *values: np.ndarray, step: float = 1e-6) -> None:
    """Compares the gradients of sum(f(values) * w), for a fixed random w, with central differences."""
    weight = np.random.default_rng(1).normal(size=f(*values).shape)

    def loss(arrays) -> Tensor:
        return sum(f(*arrays) * weight)
    leaves = [parameter(v) for v in values]
    loss(leaves).backward()
    worst = 0.0
    for k, leaf in enumerate(leaves):
        numeric = np.zeros_like(leaf.value)
        for i in np.ndindex(leaf.shape):
            sides = []
            for sign in (1, -1):
                moved = [v.copy() for v in values]
                moved[k][i] += sign * step
                sides.append(float(loss(moved).value))
            numeric[i] = (sides[0] - sides[1]) / (2 * step)
        worst = max(worst, np.abs(numeric - leaf.grad).max() / np.abs(numeric).max())
    print(f"{name:<12} {worst:.1e}")
    assert worst < 1e-7, name


def main() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 1))
    positive = np.abs(a) + 0.5
    for f in (add, mul, lambda x, y: x - y, lambda x, y: 2.0 - x * y):
        check("arithmetic", f, a, b)
    check("divide", lambda x, y: x / y, a, np.abs(b) + 0.5)
    for f in (exp, tanh, sin, cos, sigmoid, square, gelu_tanh, silu, softmax, mean, sum):
        check(f.__name__, f, a)
    for f in (reciprocal, log, sqrt):
        check(f.__name__, f, positive)
    check("layer_norm", lambda x: layer_norm(x, 1e-3), a)
    check("rms_norm", lambda x: rms_norm(x, 1e-3), a)
    check("matmul", matmul, a, rng.normal(size=(4, 5)))
    check("matmul", matmul, rng.normal(size=(2, 1, 3, 4)), rng.normal(size=(5, 4, 2)))
    check("linear", linear, a, rng.normal(size=(5, 4)), rng.normal(size=5))
    check("reshape", lambda x: reshape(x, (4, 6)), a)
    check("transpose", lambda x: transpose(x, (2, 0, 1)), a)
    check("slice", lambda x: x[:, 1:, ::2], a)
    check("embedding", lambda x: embedding(x, np.array([[0, 2], [2, 2]])), rng.normal(size=(3, 4)))
    check("concat", lambda x, y: concat([x, y, x], 1), a, rng.normal(size=(2, 2, 4)))
    check("sum axis", lambda x: sum(x, 1), a)
    check("mean axes", lambda x: mean(x, (0, 2), True), a)
    check("reuse", lambda x: x * x + exp(x) * x, a)
    print("PASS")


if __name__ == "__main__":
    main()
