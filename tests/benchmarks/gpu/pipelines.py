"""Several steps that users know by one name: PyTorch has one call for them, or an expression."""

from __future__ import annotations

from typing import Any, Callable

from .operation import Bindings, Buffer, Operation, pytorch_peers
from .pytorch import F, torch
from .stencils import jacobi3d_step

_EPSILON = 1e-5


def softmax(sizes: Bindings) -> Operation:
    return _of_rows(sizes, lambda x: torch.softmax(x, 1))


def log_softmax(sizes: Bindings) -> Operation:
    return _of_rows(sizes, lambda x: torch.log_softmax(x, 1))


def layer_norm(sizes: Bindings) -> Operation:
    columns = sizes["J"]
    return _of_rows(sizes, lambda x, scale, shift: F.layer_norm(x, (columns,), scale, shift,
                                                                _EPSILON), by_column=2)


def rms_norm(sizes: Bindings) -> Operation:
    columns = sizes["J"]
    return _of_rows(sizes, lambda x, scale: F.rms_norm(x, (columns,), scale, _EPSILON),
                    by_column=1)


def attention(sizes: Bindings) -> Operation:
    return _attention(sizes, is_causal=False)


def causal_attention(sizes: Bindings) -> Operation:
    return _attention(sizes, is_causal=True)


def _attention(sizes: Bindings, is_causal: bool) -> Operation:
    b, h, i, j, e = (sizes[name] for name in "BHIJE")

    def attend(q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)

    return Operation(
        inputs=(Buffer((b, h, i, e)), Buffer((b, h, j, e)), Buffer((b, h, j, e))),
        outputs=(Buffer((b, h, i, e)),),
        reference=lambda q, k, v: (attend(q, k, v),),
        peers=pytorch_peers(attend), reduction_length=j)


def interp(sizes: Bindings) -> Operation:
    elements, m, n = sizes["E"], sizes["M"], sizes["N"]

    def interpolate(a: Any, u: Any) -> Any:
        return _along_all(a, a, a, u)

    return Operation(
        inputs=(Buffer((m, n), "float64"), Buffer((elements, n, n, n), "float64")),
        outputs=(Buffer((elements, m, m, m), "float64"),),
        reference=lambda a, u: (interpolate(a, u),),
        peers=pytorch_peers(interpolate), reduction_length=n * n * n)


def inverse_helmholtz(sizes: Bindings) -> Operation:
    elements, n = sizes["E"], sizes["N"]

    def solve(a: Any, b: Any, c: Any, d: Any, u: Any) -> Any:
        return _along_all(a, b, c, d * _along_all(a.T, b.T, c.T, u))

    matrix, tensor = Buffer((n, n), "float64"), Buffer((elements, n, n, n), "float64")
    return Operation(
        inputs=(matrix, matrix, matrix, tensor, tensor), outputs=(tensor,),
        reference=lambda *arguments: (solve(*arguments),),
        peers=pytorch_peers(solve), reduction_length=n * n * n)


def jacobi3d_4(sizes: Bindings) -> Operation:
    shape = tuple(sizes[name] for name in ("I1", "I2", "I3"))

    def steps(x: Any) -> Any:
        for _ in range(4):
            x = jacobi3d_step(x)
        return x

    return Operation(
        inputs=(Buffer(tuple(extent + 8 for extent in shape)),), outputs=(Buffer(shape),),
        reference=lambda x: (steps(x),), peers=pytorch_peers(steps), reduction_length=7)


def _along_all(a: Any, b: Any, c: Any, u: Any) -> Any:
    """One product for each dimension of a cube: all in one einsum would be many more operations."""
    u = torch.einsum("il,eljk->eijk", a, u)
    u = torch.einsum("jl,eilk->eijk", b, u)
    return torch.einsum("kl,eijl->eijk", c, u)


def _of_rows(sizes: Bindings, function: Callable[..., Any], by_column: int = 0) -> Operation:
    """A matrix of rows that are computed for themselves, and that many inputs by column."""
    rows, columns = sizes["I"], sizes["J"]
    return Operation(
        inputs=(Buffer((rows, columns)), *[Buffer((columns,))] * by_column),
        outputs=(Buffer((rows, columns)),),
        reference=lambda *arguments: (function(*arguments),),
        peers=pytorch_peers(function), reduction_length=columns)
