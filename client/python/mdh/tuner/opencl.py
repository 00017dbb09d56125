"""Cost functions of OpenCL kernels.

    cf = opencl.CostFunction(source).kernel_args(N, a, x, y) \\
               .global_size(lambda WPT: N / WPT).local_size(lambda LS: LS)
"""

from __future__ import annotations

from ..v1 import program_pb2
from .kernel import Kernel, KernelCostFunction
from .kernel_arguments import Random, Zeros
from .program_cost_function import Number

__all__ = ["CostFunction", "Kernel", "Random", "Zeros"]


class CostFunction(KernelCostFunction):
    """Runs a kernel through OpenCL."""

    language = program_pb2.OPENCL

    def global_size(self, *sizes: Number) -> "CostFunction":
        """Work-items in all, for 1 to 3 dimensions."""
        self._set_sizes(0, sizes)
        return self

    def local_size(self, *sizes: Number) -> "CostFunction":
        """Work-items of a group, in as many dimensions; default: what the driver chooses."""
        self._set_sizes(1, sizes)
        return self
