"""Cost functions of CUDA kernels.

    cf = cuda.CostFunction(source).kernel_args(N, a, x, y) \\
             .grid_dim(lambda WPT, LS: N / WPT / LS).block_dim(lambda LS: LS)
"""

from __future__ import annotations

import os
from typing import Dict

from ..errors import wrong
from ..v1 import program_pb2
from .kernel import Kernel, KernelCostFunction
from .kernel_arguments import Random, Zeros
from .program_cost_function import Number

__all__ = ["CostFunction", "Kernel", "Random", "Zeros"]
_VISIBLE = "CUDA_VISIBLE_DEVICES"


class CostFunction(KernelCostFunction):
    """Runs a kernel through NVRTC and the CUDA driver."""

    language = program_pb2.CUDA
    SIZES = ("grid", "block")
    _device_id = 0

    def grid_dim(self, *sizes: Number) -> "CostFunction":
        """Blocks, for 1 to 3 dimensions."""
        self._set_sizes(0, sizes)
        return self

    def block_dim(self, *sizes: Number) -> "CostFunction":
        """Threads of a block, in as many dimensions."""
        self._set_sizes(1, sizes)
        return self

    def shared_bytes(self, bytes: Number) -> "CostFunction":
        """Dynamic shared memory of a block."""
        self._spec.shared_bytes = self._number(bytes, "shared memory", "mdh_shared_bytes")
        return self

    def device_id(self, number: int) -> "CostFunction":
        """Which of the devices that this process may use; default: 0."""
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise wrong(f"the number of a device is 0, 1, ..., not {number!r}")
        self._device_id = number
        return self

    def program(self) -> program_pb2.ProgramSpec:
        if not self._spec.local_size:
            raise wrong(f"the kernel '{self._kernel.name}' has no block")
        return super().program()

    def environment(self) -> Dict[str, str]:
        if self._device_id == 0:
            return {}
        visible = [d for d in os.environ.get(_VISIBLE, "").split(",") if d]
        if visible and self._device_id >= len(visible):
            raise wrong(f"there is no CUDA device {self._device_id}: ${_VISIBLE} is "
                        f"{','.join(visible)}")
        return {_VISIBLE: visible[self._device_id] if visible else str(self._device_id)}
