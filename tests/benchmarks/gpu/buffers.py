"""Inputs and outputs on the GPU, several sets of them, so that none is found in the L2 cache."""

from __future__ import annotations

import math
from typing import Any, List, Sequence

from .operation import Buffer, Operation
from .pytorch import torch

_ALIGNMENT_BYTES = 256
_TIMES_L2 = 3  # what all sets together have at least
_MOST_SETS = 1500
_LARGEST_SHARE = 0.3  # of the free memory; references and peers need some, too


class Sets:
    """`inputs[n]` and `outputs[n]` are tensors of set n. All sets have the same inputs."""

    def __init__(self, operation: Operation, l2_bytes: int, device: str = "cuda"):
        """Errors: PyTorch's, if memory is short."""
        self.count = _count(operation.size_bytes, l2_bytes, _free_bytes(device))
        self._operation = operation
        inputs = [_pool(buffer, self.count, device) for buffer in operation.inputs]
        outputs = [_pool(buffer, self.count, device) for buffer in operation.outputs]
        for index, copies in enumerate(inputs):
            _fill(operation, index, copies)
        self.inputs: List[List[Any]] = [list(one) for one in zip(*inputs)]
        self.outputs: List[List[Any]] = [list(one) for one in zip(*outputs)]

    def poison(self) -> None:
        """Fills all outputs with what no kernel computes."""
        for outputs in self.outputs:
            for output in outputs:
                output.fill_(math.nan if output.is_floating_point() else 0x55)

    def references(self) -> Sequence[Any]:
        """What the outputs of every set must be, in double precision where they are fractions."""
        inputs = [i.double() if i.is_floating_point() else i for i in self.inputs[0]]
        return self._operation.reference(*inputs)


def _count(set_bytes: int, l2_bytes: int, free_bytes: int) -> int:
    wanted = max(2, math.ceil(_TIMES_L2 * l2_bytes / set_bytes))
    possible = int(_LARGEST_SHARE * free_bytes / set_bytes)
    return max(1, min(wanted, possible, _MOST_SETS))


def _free_bytes(device: str) -> int:
    return int(torch.cuda.mem_get_info()[0]) if device == "cuda" else 1 << 30


def _pool(buffer: Buffer, count: int, device: str) -> List[Any]:
    """`count` tensors of one allocation, each aligned."""
    item_bytes = buffer.size_bytes // buffer.elements
    padded = math.ceil(buffer.size_bytes / _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES // item_bytes
    memory = torch.empty((count, padded), dtype=getattr(torch, buffer.dtype), device=device)
    return [memory[n, :buffer.elements].view(buffer.shape) for n in range(count)]


def _fill(operation: Operation, index: int, copies: List[Any]) -> None:
    if operation.fill is not None:
        operation.fill(index, copies[0])
    else:
        copies[0].normal_()
    for copy in copies[1:]:
        copy.copy_(copies[0])
