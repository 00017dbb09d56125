"""Functions of values in scalar functions; their meaning is that of core/text/grammar.md."""

from __future__ import annotations

import builtins
import math
from typing import Any, Callable

from .trace import Value, binary, unary

_NUMBERS = (bool, int, float)


def _function(name: str, doc: str) -> Callable[[Any], Any]:
    def function(value: Any) -> Any:
        if isinstance(value, _NUMBERS) and name in ("abs", "round"):
            return getattr(builtins, name)(value)  # which this one may hide
        return unary(name.upper(), value)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


abs = _function("abs", "The absolute value of a number.")
sqrt = _function("sqrt", "The square root of a floating-point value.")
rsqrt = _function("rsqrt", "1 / sqrt(x) of a floating-point value.")
exp = _function("exp", "The exponential of a floating-point value.")
exp2 = _function("exp2", "Two to the power of a floating-point value.")
log = _function("log", "The natural logarithm of a floating-point value.")
log2 = _function("log2", "The logarithm to base two of a floating-point value.")
log1p = _function("log1p", "The natural logarithm of 1 + x, also of an x near 0.")
expm1 = _function("expm1", "The exponential of a value less 1, also of a value near 0.")
cbrt = _function("cbrt", "The cube root of a floating-point value.")
tanh = _function("tanh", "The hyperbolic tangent of a floating-point value.")
floor = _function("floor", "The largest whole number not above a value; of its type.")
ceil = _function("ceil", "The smallest whole number not below a value; of its type.")
sin = _function("sin", "The sine of a floating-point value in radians.")
cos = _function("cos", "The cosine of a floating-point value in radians.")
round = _function("round", "The nearest whole number, halfway cases to the even one; of its type.")
trunc = _function("trunc", "A value without its fraction.")
erf = _function("erf", "The error function of a floating-point value.")


def pow(base: Any, exponent: Any) -> Any:
    """`base` to the power of `exponent`, floating-point values of one type."""
    if isinstance(base, _NUMBERS) and isinstance(exponent, _NUMBERS):
        return base**exponent
    return binary("POW", base, exponent)


def fmod(left: Any, right: Any) -> Any:
    """What is left of `left` by a quotient that was truncated, with its sign, as math.fmod and C have
    it; `left % right` has the sign of `right`. Of numbers of one type."""
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return math.fmod(left, right)
    return binary("REM", left, right)


def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y) in radians, from -pi to pi, of floating-point values of one type."""
    if isinstance(y, _NUMBERS) and isinstance(x, _NUMBERS):
        return math.atan2(y, x)
    return binary("ATAN2", y, x)


def copysign(value: Any, sign: Any) -> Any:
    """`value` with the sign of `sign`, floating-point values of one type."""
    if isinstance(value, _NUMBERS) and isinstance(sign, _NUMBERS):
        return math.copysign(value, sign)
    return binary("COPYSIGN", value, sign)


def logical_not(value: Any) -> Value:
    """The negation of a bool; `~value` is the same."""
    return unary("NOT", value)
