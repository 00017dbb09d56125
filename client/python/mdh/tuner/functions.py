"""Functions for constraints and generators: of numbers, and of symbols while they are traced."""

from __future__ import annotations

import builtins
from typing import Any

from . import symbols
from .symbols import Symbol, as_symbol


def _any_symbol(*values: Any) -> bool:
    return any(isinstance(value, Symbol) for value in values)


def min(*values: Any, **options: Any) -> Any:
    """The smallest of numbers; otherwise Python's min."""
    if not options and len(values) > 1 and _any_symbol(*values):
        return symbols.smallest("min", values)
    return builtins.min(*values, **options)


def max(*values: Any, **options: Any) -> Any:
    """The largest of numbers; otherwise Python's max."""
    if not options and len(values) > 1 and _any_symbol(*values):
        return symbols.smallest("max", values)
    return builtins.max(*values, **options)


def ceil_div(dividend: Any, divisor: Any) -> Any:
    """The quotient of two integers, rounded up."""
    if _any_symbol(dividend, divisor):
        return symbols.ceil_divide(dividend, divisor)
    return -(-dividend // divisor)


def divides(divisor: Any, dividend: Any) -> Any:
    """Whether `dividend` is a multiple of `divisor`; both are integers."""
    if _any_symbol(divisor, dividend):
        return symbols.divides_evenly(divisor, dividend)
    return bool(dividend % divisor == 0)


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    """`then` if the condition holds, else `otherwise`."""
    if _any_symbol(condition, then, otherwise):
        test = as_symbol(condition)
        if test.kind != "bool":
            raise symbols.Untraceable(f"the condition of where, {test.text}, is no bool")
        return symbols.choose(test, as_symbol(then), as_symbol(otherwise))
    return then if condition else otherwise
