"""Linear algebra and tensor contractions."""

from __future__ import annotations

import re
from typing import Any, Callable

from .operation import Bindings, Buffer, Operation, Peer, compiled
from .pytorch import torch

def _contraction(inputs: Any, output: Any, length: int, function: Callable[..., Any],
                 peer: Peer) -> Operation:
    return Operation(
        inputs=tuple(Buffer(shape) for shape in inputs), outputs=(Buffer(output),),
        reference=lambda *a: (function(*a),), peers=(peer, compiled("torch.compile", function)),
        reduction_length=length)


def _cublas(call: Callable[..., Any]) -> Peer:
    """`call` takes two inputs and the output."""
    return Peer("cuBLAS", call, takes_outputs=True)


def dot(sizes: Bindings) -> Operation:
    length = sizes["K"]
    return _contraction([(length,), (length,)], (), length, lambda x, y: torch.dot(x, y),
                        _cublas(lambda x, y, s: torch.dot(x, y, out=s)))


def matvec(sizes: Bindings) -> Operation:
    rows, length = sizes["I"], sizes["K"]
    return _contraction([(rows, length), (length,)], (rows,), length, lambda m, v: torch.mv(m, v),
                        _cublas(lambda m, v, w: torch.mv(m, v, out=w)))


def matmul(sizes: Bindings) -> Operation:
    rows, columns, length = sizes["I"], sizes["J"], sizes["K"]
    return _contraction([(rows, length), (length, columns)], (rows, columns), length,
                        lambda a, b: torch.mm(a, b),
                        _cublas(lambda a, b, c: torch.mm(a, b, out=c)))


def matmul_t(sizes: Bindings) -> Operation:
    rows, columns, length = sizes["I"], sizes["J"], sizes["K"]
    # Stored transposed are both inputs and the result: C^T = B^T A^T.
    return _contraction([(length, rows), (columns, length)], (columns, rows), length,
                        lambda a, b: torch.mm(b, a),
                        _cublas(lambda a, b, c: torch.mm(b, a, out=c)))


def bmatmul(sizes: Bindings) -> Operation:
    batch, rows, columns, length = sizes["B"], sizes["I"], sizes["J"], sizes["K"]
    return _contraction([(batch, rows, length), (batch, length, columns)], (batch, rows, columns),
                        length, lambda a, b: torch.bmm(a, b),
                        _cublas(lambda a, b, c: torch.bmm(a, b, out=c)))


def ccsdt(name: str) -> Callable[[Bindings], Operation]:
    """Of an expression like ccsdt_gdab_efgc: the indices of both inputs; the result has a to f."""
    match = re.fullmatch(r"ccsdt_([a-g]{4})_([a-g]{4})", name)
    assert match is not None, name
    left, right = match.groups()

    def make(sizes: Bindings) -> Operation:
        def shape(indices: str) -> Any:
            return tuple(sizes[index.upper()] for index in indices)

        def contract(a: Any, b: Any) -> Any:
            return torch.einsum(f"{left},{right}->abcdef", a, b).contiguous()

        return _contraction([shape(left), shape(right)], shape("abcdef"), sizes["G"], contract,
                            Peer("einsum", contract))

    return make
