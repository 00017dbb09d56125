"""Prefix sums, histograms, and reductions with operators of several values."""

from __future__ import annotations

from typing import Any, Sequence

from .operation import Bindings, Buffer, Operation, Peer, compiled
from .pytorch import torch


def scan(sizes: Bindings) -> Operation:
    length = sizes["I"]
    return Operation(
        inputs=(Buffer((length,)),), outputs=(Buffer((length,)),),
        reference=lambda x: (torch.cumsum(x, 0),),
        peers=(Peer("cumsum", lambda x, y: torch.cumsum(x, 0, out=y), takes_outputs=True),
               compiled("torch.compile", lambda x: torch.cumsum(x, 0))),
        reduction_length=length)


def histo(sizes: Bindings) -> Operation:
    elements, bins = sizes["E"], sizes["B"]

    def fill(index: int, buffer: Any) -> None:
        if index == 0:
            buffer.copy_(torch.randint(0, bins, (elements,), device=buffer.device))
        else:
            buffer.copy_(torch.arange(bins, device=buffer.device))

    def compare_all(values: Any, numbers: Any) -> Any:
        return (values[:, None] == numbers).sum(0, dtype=torch.int32)

    def scatter(values: Any, numbers: Any) -> Any:
        counts = torch.zeros(bins, dtype=torch.int32, device=values.device)
        ones = torch.ones((), dtype=torch.int32, device=values.device).expand(values.shape[0])
        return counts.scatter_add_(0, values.long(), ones)

    return Operation(
        inputs=(Buffer((elements,), "int32"), Buffer((bins,), "int32")),
        outputs=(Buffer((bins,), "int32"),),
        reference=lambda values, numbers: (torch.bincount(values, minlength=bins)[numbers.long()],),
        peers=(Peer("histc", lambda values, numbers: torch.histc(values, bins, 0, bins - 1)),
               Peer("scatter_add", scatter), compiled("torch.compile", compare_all)),
        fill=fill, compare=_unequal_elements,
        notes=["'histc' and 'scatter_add' expect the bins to be 0, 1, 2, ..."])


def argmax(sizes: Bindings) -> Operation:
    rows, length = sizes["I"], sizes["K"]

    def largest(x: Any) -> Any:
        return tuple(torch.max(x, 1))

    return Operation(
        inputs=(Buffer((rows, length)),), outputs=(Buffer((rows,)), Buffer((rows,), "int64")),
        reference=largest,
        peers=(Peer("max", lambda x, v, i: tuple(torch.max(x, 1, out=(v, i))), takes_outputs=True),
               compiled("torch.compile", largest)),
        reduction_length=1, compare=_unequal_elements)


def softmax_stats(sizes: Bindings) -> Operation:
    rows, length = sizes["I"], sizes["K"]

    def statistics(x: Any) -> Any:
        maximum = x.amax(1, keepdim=True)
        return maximum[:, 0], torch.exp(x - maximum).sum(1)

    return Operation(
        inputs=(Buffer((rows, length)),), outputs=(Buffer((rows,)), Buffer((rows,))),
        reference=statistics,
        peers=(Peer("PyTorch", statistics), compiled("torch.compile", statistics)),
        reduction_length=length)


def _unequal_elements(outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """The share of elements that are not equal."""
    unequal = sum(int((a.double() != b.double()).sum()) for a, b in zip(outputs, references))
    return unequal / sum(b.numel() for b in references)
