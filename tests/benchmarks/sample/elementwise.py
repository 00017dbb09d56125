"""Functions of every element alone, of which activations are made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, Tuple

from gpu.operation import Bindings, Buffer, Operation, Peer, compiled

from .definition import Definition, header, point, product


def _torch_or_numpy(x: Any) -> Any:
    """The library that has functions of `x`."""
    if hasattr(x, "data_ptr"):
        import torch
        return torch
    import numpy
    return numpy


def _gelu(x: Any) -> Any:
    if hasattr(x, "data_ptr"):
        import torch
        return torch.nn.functional.gelu(x)
    import numpy
    return 0.5 * x * (1 + numpy.vectorize(math.erf)(x * math.sqrt(0.5)))


def _sigmoid(x: Any) -> Any:
    return x.sigmoid() if hasattr(x, "sigmoid") else 1 / (1 + _torch_or_numpy(x).exp(-x))


@dataclass(frozen=True)
class _Function:
    """`text` of the element x. `flops`: of a point, a function of the language counted as one."""

    text: str
    compute: Callable[[Any], Any]
    flops: int


_FUNCTIONS: Dict[str, _Function] = {
    "gelu": _Function("0.5 * x * (1 + erf(x * 0.7071067811865476))", _gelu, 5),
    "sigmoid": _Function("1 / (1 + exp(-x))", _sigmoid, 4),
    "tanh": _Function("tanh(x)", lambda x: _torch_or_numpy(x).tanh(x), 1),
}
FUNCTIONS = tuple(_FUNCTIONS)


@dataclass(frozen=True)
class Elementwise(Definition):
    """Of an array with these indices."""

    function: str
    input: str = "i"

    def text(self, name: str, sizes: Bindings) -> str:
        at = point(self.input)
        return (f"{header(name, sizes)}\n"
                f"  out_view<fp32>( y: {at} -> {at} ) o\n"
                f"  md_hom<{','.join(sizes)}>( f, ({', '.join('++' for _ in sizes)}) ) o\n"
                f"  inp_view<fp32>( x: {at} -> {at} )\n"
                f"where f(x) -> y {{ y = {_FUNCTIONS[self.function].text} }}\n")

    def flops(self, sizes: Bindings) -> int:
        return product(sizes, list(sizes)) * _FUNCTIONS[self.function].flops

    def operation(self, sizes: Bindings) -> Operation:
        compute = _FUNCTIONS[self.function].compute

        def reference(x: Any) -> Tuple[Any, ...]:
            return (compute(x),)

        array = Buffer(tuple(sizes[i.upper()] for i in self.input))
        return Operation(inputs=(array,), outputs=(array,), reference=reference,
                         peers=(Peer("PyTorch", compute), compiled("torch.compile", compute)))
