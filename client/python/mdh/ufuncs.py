"""numpy's functions on values of scalar functions: np.exp(x), np.remainder(a, b), np.where(c, a, b). numpy
calls these itself, and is not imported. They compute in the type of their operands, as numpy's do."""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, Tuple

from . import functions
from .arithmetic import truth
from .errors import wrong
from .trace import Value, as_value, binary, unary, where


def _operator(apply: Callable[..., Any]) -> Callable[..., Any]:
    """An operator of Python, one operand of which may be numpy's."""
    return lambda *operands: apply(*map(as_value, operands))


def _logical(operation: str) -> Callable[..., Any]:
    return lambda a, b: binary(operation, truth(a), truth(b))


def _extreme(operation: str) -> Callable[..., Any]:
    """nan wins in maximum and minimum, a number in fmax and fmin, here as in numpy."""
    return lambda a, b: binary(operation, a, b)


# By the name that the function has of itself: np.mod is "remainder".
_UFUNCS: Dict[str, Callable[..., Any]] = {
    **{name: getattr(functions, name) for name in (
        "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "floor", "ceil", "trunc", "sin", "cos",
        "fmod", "copysign")},
    "arctan2": functions.atan2,
    **{name: _operator(getattr(operator, spelled)) for name, spelled in (
        ("add", "add"), ("subtract", "sub"), ("multiply", "mul"), ("divide", "truediv"),
        ("true_divide", "truediv"), ("floor_divide", "floordiv"), ("remainder", "mod"),
        ("power", "pow"), ("negative", "neg"), ("positive", "pos"), ("absolute", "abs"),
        ("fabs", "abs"), ("invert", "invert"), ("left_shift", "lshift"), ("right_shift", "rshift"),
        ("bitwise_and", "and_"), ("bitwise_or", "or_"), ("bitwise_xor", "xor"), ("less", "lt"),
        ("less_equal", "le"), ("greater", "gt"), ("greater_equal", "ge"), ("equal", "eq"),
        ("not_equal", "ne"))},
    **{name: _extreme(operation) for name, operation in (
        ("maximum", "MAX"), ("minimum", "MIN"), ("fmax", "FMAX"), ("fmin", "FMIN"))},
    "rint": functions.round,
    "square": lambda x: x * x,
    "logical_and": _logical("AND"),
    "logical_or": _logical("OR"),
    "logical_xor": _logical("NE"),
    "logical_not": lambda x: unary("NOT", truth(x)),
}
_FUNCTIONS: Dict[str, Callable[..., Any]] = {
    "where": lambda condition, a, b: where(truth(condition), a, b),
    "round": functions.round,
    "around": functions.round,
}


def apply_ufunc(name: str, operands: Tuple[Any, ...], named: Dict[str, Any]) -> Value:
    """The universal function `name` of numpy. Errors: ExpressionError if there is no such function of
    values, or it has arguments by name."""
    return _apply(_UFUNCS, name, operands, named)


def apply_function(name: str, operands: Tuple[Any, ...], named: Dict[str, Any]) -> Value:
    """As apply_ufunc, for functions that are none of numpy's universal ones."""
    return _apply(_FUNCTIONS, name, operands, named)


def _apply(table: Dict[str, Callable[..., Any]], name: str, operands: Tuple[Any, ...],
           named: Dict[str, Any]) -> Value:
    if name not in table:
        known = ", ".join(sorted([*_UFUNCS, *_FUNCTIONS]))
        raise wrong(f"numpy's {name} is no function of scalar functions; these are: {known}")
    if named:
        raise wrong(f"numpy's {name} has no argument '{next(iter(named))}' in a scalar function")
    try:
        return table[name](*operands)
    except TypeError as error:
        raise wrong(f"numpy's {name}: {error}") from error
