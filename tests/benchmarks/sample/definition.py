"""What all definitions of computations have in common, and how expressions are written."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Dict, Sequence, Tuple

from gpu.operation import Bindings, Operation

# PyTorch's names of the types of expressions.
DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
          "int64": "int64"}
NARROW = ("fp16", "bf16")  # they are summed up in fp32


@dataclass(frozen=True)
class Definition:
    """A computation up to its sizes; its fields are what JSON can hold."""

    def text(self, name: str, sizes: Bindings) -> str:
        """The expression; `sizes` are the defaults of its parameters."""
        raise NotImplementedError

    def operation(self, sizes: Bindings) -> Operation:
        """What it is to PyTorch; its reference takes arrays of numpy, too."""
        raise NotImplementedError

    def flops(self, sizes: Bindings) -> int:
        """Of the definition as it stands, a comparison counted as one."""
        raise NotImplementedError

    def to_json(self) -> Dict[str, Any]:
        return {"kind": type(self).__name__.lower(),
                **{f.name: getattr(self, f.name) for f in fields(self)}}


def header(name: str, sizes: Bindings) -> str:
    return f"{name}<| {', '.join(f'{n} = {size}' for n, size in sizes.items())}> :="


def point(names: Sequence[str]) -> str:
    return f"({','.join(names)})"


def affine(*terms: Tuple[int, str], constant: int = 0) -> str:
    """"2*p + r - 1" of (2, "p"), (1, "r") and -1."""
    text = " + ".join(name if factor == 1 else f"{factor}*{name}" for factor, name in terms)
    return f"{text} {'-' if constant < 0 else '+'} {abs(constant)}" if constant else text


def product(sizes: Bindings, names: Sequence[str]) -> int:
    return math.prod(sizes[name] for name in names)


def einsum(equation: str, *arrays: Any) -> Any:
    """numpy's or PyTorch's, whatever the arrays are of."""
    if hasattr(arrays[0], "data_ptr"):
        import torch
        return torch.einsum(equation, *arrays)
    import numpy
    return numpy.einsum(equation, *arrays, optimize=True)


def zeros(shape: Sequence[int], like: Any) -> Any:
    if hasattr(like, "new_zeros"):
        return like.new_zeros(tuple(shape))
    import numpy
    return numpy.zeros(tuple(shape), like.dtype)


def larger(a: Any, b: Any) -> Any:
    """Element by element."""
    if hasattr(a, "maximum"):
        return a.maximum(b)
    import numpy
    return numpy.maximum(a, b)
