"""Arrays of a case: the same in every process."""

from __future__ import annotations

import math
from typing import Any, List

import numpy

from .loop_nest import LoopNest


def arrays_of(nest: LoopNest) -> List[Any]:
    """Its inputs: normally distributed numbers, and small integers."""
    draw = numpy.random.default_rng(1)
    return [draw.standard_normal(given.shape, given.dtype) if given.dtype.startswith("float")
            else draw.integers(-9, 10, given.shape, given.dtype) for given in nest.inputs]


def error_of(nest: LoopNest, output: Any, reference: Any) -> float:
    """Relative to the largest result, or to what sums of that length have; NaN where one is."""
    if not reference.size:
        return 0.0
    scale = max(float(numpy.abs(reference).max()), math.sqrt(nest.reduction_length))
    return float(numpy.abs(output.astype("float64") - reference.astype("float64")).max()) / scale
