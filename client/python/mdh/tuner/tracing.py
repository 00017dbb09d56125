"""Functions of tuning parameters as formulas: they are run with symbols.

A function is run once for every way that its conditions can turn out, so that `and`, `or`, `not`,
`if`, chained comparisons, `in`, `min` and `max` of Python are understood; the results become one
formula. What was understood is compared with the function for some values.
"""

from __future__ import annotations

import random
from typing import Any, Callable, Dict, List, Optional, Sequence

from .symbols import TRAIL, Symbol, Untraceable, as_symbol, choose

_MAX_PATHS = 256
_CHECKED_TUPLES = 64


def trace(function: Callable[..., Any], arguments: Dict[str, Symbol]) -> Symbol:
    """The function's result as a formula. Errors: Untraceable."""
    return _trace(lambda: as_symbol(function(**arguments)))


def _trace(compute: Callable[[], Symbol]) -> Symbol:
    paths = 0

    def result_of(planned: List[bool]) -> Symbol:
        nonlocal paths
        paths += 1
        if paths > _MAX_PATHS:
            raise Untraceable(f"it has more than {_MAX_PATHS} ways through its conditions")
        result = _run(compute, planned)
        conditions, decisions = TRAIL.conditions, TRAIL.decisions
        for i in reversed(range(len(planned), len(decisions))):
            otherwise = result_of(decisions[:i] + [False])
            result = choose(conditions[i], result, otherwise)
        return result

    outer = TRAIL.planned, TRAIL.conditions, TRAIL.decisions
    try:
        return result_of([])
    finally:
        TRAIL.planned, TRAIL.conditions, TRAIL.decisions = outer


def _run(compute: Callable[[], Symbol], planned: Sequence[bool]) -> Symbol:
    TRAIL.start(planned)
    try:
        result = compute()
    except Untraceable:
        raise
    except Exception as error:
        raise Untraceable(f"{type(error).__name__}: {error}") from error
    # `a and b` gives a itself where a is false.
    known = TRAIL.value_of(result) if result.kind == "bool" else None
    return result if known is None else as_symbol(known)


# What the functions of formulas mean, for comparing.
_FORMULA_NAMES: Dict[str, Any] = {
    "__builtins__": {}, "min": min, "max": max, "abs": abs,
    "ceil_div": lambda a, b: -(-a // b), "divides": lambda a, b: b % a == 0,
    "position": lambda permutation, item: permutation.index(item),
}


def trace_condition(function: Callable[..., Any], arguments: Dict[str, Symbol],
                    ranges: Dict[str, Any]) -> Symbol:
    """The function's truth as a formula; numbers are true unless 0. Compared with the function for
    values of `ranges` (ranges.py). Errors: Untraceable, also if they differ."""
    TRAIL.has_inverted = False

    def truth() -> Symbol:
        result = as_symbol(function(**arguments))
        return result != 0 if result.is_number() else result

    formula = _trace(truth)
    # ~ of a bool of Python is a number that is always true: such functions are for symbols only.
    if not TRAIL.has_inverted and not _agrees(formula, function, _samples(ranges)):
        raise Untraceable(f"it does not do with values what it does with symbols, {formula.text}")
    return formula


def _agrees(formula: Symbol, function: Callable[..., Any],
            samples: Sequence[Dict[str, Any]]) -> bool:
    """Whether both have the same truth for all of these arguments."""
    code = compile(formula.text, "<formula>", "eval")
    return all(
        _truth(lambda: eval(code, _FORMULA_NAMES, arguments))  # noqa: B023
        == _truth(lambda: function(**arguments))  # noqa: B023
        for arguments in samples)


def _truth(compute: Callable[[], Any]) -> Optional[bool]:
    try:
        return bool(compute())
    except Exception:
        return None


def _samples(ranges: Dict[str, Any]) -> List[Dict[str, Any]]:
    chance = random.Random(1)

    def pick(range_: Any) -> Any:
        small = min(range_.size, 16)
        return range_.at(chance.choice(
            (0, range_.size - 1, chance.randrange(small), chance.randrange(range_.size))))

    return [{name: pick(range_) for name, range_ in ranges.items()}
            for _ in range(_CHECKED_TUPLES)]


def trace_generator(function: Callable[[Any], Any], name: str, element: Callable[[int], Any],
                    size: int) -> Optional[str]:
    """A generator as a formula over `name`, which stands for the element; None if it is none, or
    differs from the function for some element."""
    try:
        formula = trace(lambda value: function(value), {"value": Symbol(name, "integer")})
        if formula.kind != "integer" and "**" not in formula.text:
            return None
        if _agrees_with_generator(formula, function, name, element, size):
            return formula.text
    except Untraceable:
        pass
    return None


def _agrees_with_generator(formula: Symbol, function: Callable[[Any], Any], name: str,
                           element: Callable[[int], Any], size: int) -> bool:
    """Whether both give equal values of equal types for all elements."""
    code = compile(formula.text, "<formula>", "eval")
    for position in range(size):
        value, expected = element(position), function(element(position))
        computed = eval(code, _FORMULA_NAMES, {name: value})
        if type(computed) is not int or computed != expected:
            return False
    return True
