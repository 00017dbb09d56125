"""Probabilistic record linkage, as client/expressions/prl.mdh defines it."""

from __future__ import annotations

from typing import Any, Sequence, Tuple

from .operation import Bindings, Buffer, Operation, compiled
from .pytorch import torch

_FIELDS = 14
_MATCH_BYTES = 24  # j: int32 at 0, weight: fp64 at 8, status: int32 at 16
_MISSING = -1
# Values of every field, so that some records agree in many of them.
_VALUES = (40, 40, 40, 30, 30, 30, 40, 40, 40, 31, 12, 100, 2, 50)
_SAME = (6.60733031374961,) * 9 + (4.93969674069176, 3.570462931026041, 6.6293566200796095,
                                   0.9985565831303312, 9.813781191217037)
_OTHER = (-5.307428525192246,) * 9 + (-6.596550474996366, -6.518325307690865, -6.629356620079609,
                                      -8.965784284662085, -3.320484678017694)
_CHUNK = 4096  # rows that the reference treats at a time


def _weights(records: Any, candidates: Any) -> Any:
    """Of all pairs, a matrix in double precision."""
    a, b = records[:, None, :], candidates[None, :, :]
    same = [(a[..., f] != _MISSING) & (a[..., f] == b[..., f]) for f in range(_FIELDS)]
    date = same[9] & same[10] & same[11]
    in_one_block = (same[0] & same[3] & (date | same[13])) | (same[6] & date)
    total = torch.zeros((), dtype=torch.float64, device=records.device)
    for f in range(_FIELDS):
        is_missing = (a[..., f] == _MISSING) | (b[..., f] == _MISSING)
        differs = torch.where(is_missing, 0.0, torch.full((), _OTHER[f], dtype=torch.float64,
                                                          device=records.device))
        total = total + torch.where(same[f], _SAME[f], differs)
    return torch.where(in_one_block, total, 0.0)


def _best(records: Any, candidates: Any) -> Tuple[Any, Any, Any]:
    """Index, weight and status of every record's best partner; of equal ones the first."""
    weight, index = torch.max(_weights(records, candidates), 1)
    status = (weight > 15).int() + (weight > 45).int()
    return index.int(), weight, status


def _reference(records: Any, candidates: Any) -> Tuple[Any, ...]:
    """The records of 24 bytes."""
    parts = []
    for chunk in records.split(_CHUNK):
        weights = _weights(chunk, candidates)
        # The first of the largest ones, whatever torch.max says of equal ones.
        largest = weights.max(1, keepdim=True).values
        numbers = torch.arange(weights.shape[1], device=weights.device)
        index = torch.where(weights == largest, numbers, weights.shape[1]).min(1).values
        parts.append((index.int(), largest[:, 0], (largest[:, 0] > 15).int()
                      + (largest[:, 0] > 45).int()))
    index, weight, status = (torch.cat([part[i] for part in parts]) for i in range(3))
    matches = torch.zeros((index.shape[0], _MATCH_BYTES), dtype=torch.uint8, device=index.device)
    matches.view(torch.int32)[:, 0] = index
    matches.view(torch.float64)[:, 1] = weight
    matches.view(torch.int32)[:, 4] = status
    return (matches,)


def _compare(outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """The share of records that differ; weights may differ by rounding. Padding is not looked at.
    A peer's answer is a triple."""
    expected = _fields(references[0])
    got = _fields(outputs[0]) if len(outputs) == 1 else tuple(outputs)
    differs = ((got[0] != expected[0]) | (got[2] != expected[2])
               | ~torch.isclose(got[1], expected[1], rtol=1e-12, atol=1e-12))
    return float(differs.double().mean())


def _fields(matches: Any) -> Tuple[Any, Any, Any]:
    return (matches.view(torch.int32)[:, 0], matches.view(torch.float64)[:, 1],
            matches.view(torch.int32)[:, 4])


def _fill(index: int, buffer: Any) -> None:
    """Random fields, some missing."""
    rows = buffer.shape[0]
    for f in range(_FIELDS):
        values = torch.randint(0, _VALUES[f], (rows,), device=buffer.device)
        is_missing = torch.rand(rows, device=buffer.device) < 0.1
        buffer[:, f] = torch.where(is_missing, _MISSING, values).int()


def prl(sizes: Bindings) -> Operation:
    rows, candidates = sizes["I"], sizes["J"]
    return Operation(
        inputs=(Buffer((rows, _FIELDS), "int32"), Buffer((candidates, _FIELDS), "int32")),
        outputs=(Buffer((rows, _MATCH_BYTES), "uint8"),),
        reference=_reference, peers=(compiled("torch.compile", _best),),
        fill=_fill, compare=_compare, reduction_length=candidates)
