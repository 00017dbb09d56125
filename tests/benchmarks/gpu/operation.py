"""What a computation is to PyTorch: its buffers, its definition in double precision, its peers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .pytorch import torch

# Bytes of the elements that buffers are made of; the names are PyTorch's.
_ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "int32": 4, "int64": 8,
               "uint8": 1}
Bindings = Dict[str, int]


@dataclass(frozen=True)
class Buffer:
    """Shape and type of an input or output, row-major."""

    shape: Tuple[int, ...]
    dtype: str = "float32"

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return self.elements * _ITEM_BYTES[self.dtype]


@dataclass(frozen=True)
class Peer:
    """What a user would call instead. `function` takes the inputs and returns the result, or a
    tuple of several, in the layout of our kernel; with `takes_outputs` it is called with inputs and
    then outputs, and may return what these cannot take."""

    name: str
    function: Callable[..., Any]
    takes_outputs: bool = False
    is_compiled: bool = False  # torch.compile: may take long, and can be left out
    # Whether it counts as a peer; else it is only shown: another layout than ours, or no single
    # call but written for this benchmark.
    is_counted: bool = True


@dataclass(frozen=True)
class Operation:
    """One computation with its sizes."""

    inputs: Tuple[Buffer, ...]
    outputs: Tuple[Buffer, ...]
    # Of inputs in double precision (integers as they are); a tuple, one for each output.
    reference: Callable[..., Tuple[Any, ...]]
    peers: Sequence[Peer] = ()
    reduction_length: int = 1  # values combined in one result
    # Fills an input of this index; None: normally distributed numbers.
    fill: Optional[Callable[[int, Any], None]] = None
    # Whether outputs agree, if closeness is not the question: (outputs, references) -> error.
    compare: Optional[Callable[[Sequence[Any], Sequence[Any]], float]] = None
    notes: List[str] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        return sum(buffer.size_bytes for buffer in (*self.inputs, *self.outputs))

    def with_type(self, dtype: str) -> "Operation":
        """The same with buffers of another floating-point type in place of single precision."""
        def converted(buffers: Tuple[Buffer, ...]) -> Tuple[Buffer, ...]:
            return tuple(replace(b, dtype=dtype) if b.dtype == "float32" else b for b in buffers)

        return replace(self, inputs=converted(self.inputs), outputs=converted(self.outputs))


def compiled(name: str, function: Callable[..., Any], *, is_counted: bool = True,
             mode: Optional[str] = None) -> Peer:
    """The peer that torch.compile makes of `function`, when it is first called; `mode`: its own."""
    made: List[Callable[..., Any]] = []

    def call(*arguments: Any) -> Any:
        if not made:
            made.append(torch.compile(function, fullgraph=True, dynamic=False, mode=mode))
        return made[0](*arguments)

    return Peer(name, call, is_compiled=True, is_counted=is_counted)


def pytorch_peers(function: Callable[..., Any]) -> Sequence[Peer]:
    """`function` as PyTorch runs it, and as torch.compile does by its rules and by measuring."""
    return (Peer("PyTorch", function), compiled("torch.compile", function),
            compiled("max-autotune", function, mode="max-autotune-no-cudagraphs"))
