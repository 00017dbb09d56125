"""Python's operators on values of scalar functions, made of the operations that there are.

The language's / and % are those of C (core/text/grammar.md). Python's // and % round down, and its /
of integers is a real number; of elements these are numpy's, whose types hold here, too. Python raises
ZeroDivisionError where numpy and a kernel go on: integers divided by 0, and their remainders, are 0,
floating-point quotients are infinite or nan, remainders nan.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

from .errors import wrong
from .trace import Value, as_value, binary, cast, common_type, literal, unary, where
from .types import ScalarType, bool_, fp32, fp64


def true_divide(left: Any, right: Any) -> Value:
    """`left / right`: in fp64 if one is an integer and the other an integer or a number of Python."""
    a, b = as_value(left), as_value(right)
    known = [v.type for v in (a, b) if v.type is not None]
    if known and all(type_.is_integer for type_ in known):
        a, b = (cast(fp64, v) for v in (a, b))
    return binary("DIV", a, b)


def floor_divide(left: Any, right: Any) -> Value:
    """`left // right`: the quotient, rounded down. Types as of the language's operations."""
    return _floor("//", left, right)[0]


def remainder(left: Any, right: Any) -> Value:
    """`left % right`: what is left by `left // right`, with the sign of `right`."""
    return _floor("%", left, right)[1]


def shift_left(left: Any, right: Any) -> Value:
    """`left << right` of an integer by a constant."""
    a, bits, by = _shifted("<<", left, right)
    if by >= bits:
        return cast(_type(a), literal(0))
    return binary("MUL", a, _wrapped(_type(a), 1 << by))


def shift_right(left: Any, right: Any) -> Value:
    """`left >> right` of an integer by a constant, rounded down: the sign is shifted in."""
    a, bits, by = _shifted(">>", left, right)
    if _type(a).kind == "int" and by >= bits - 1:
        return where(a < 0, cast(_type(a), literal(-1)), cast(_type(a), literal(0)))
    if by >= bits:
        return cast(_type(a), literal(0))
    return floor_divide(a, 1 << by)


def power(base: Any, exponent: Any) -> Value:
    """`base ** exponent`. Integers to a constant of at least 0, as products, which wrap."""
    x, n = as_value(base), as_value(exponent)
    whole = n.payload if n.op == "CONSTANT" and isinstance(n.payload, int) else None
    if whole is None or isinstance(whole, bool) or whole < 0:
        return binary("POW", x, n)
    if whole == 0:
        return literal(1) if x.type is None else cast(x.type, literal(1))
    if x.type is not None and not x.type.is_integer and whole > 8:
        return binary("POW", x, n)
    return _product(x, whole)


def _product(x: Value, n: int) -> Value:
    """`x` to the power of `n` > 0; up to 8 from left to right, beyond, of integers, by squares."""
    if n <= 8:
        product = x
        for _ in range(n - 1):
            product = product * x
        return product
    square = _product(x * x, n // 2)
    return square * x if n % 2 else square


def truth(value: Any) -> Value:
    """Whether `value` is true for Python: a bool itself, a number that is not 0."""
    x = as_value(value)
    if x.type is bool_:
        return x
    if x.type is None:
        return literal(bool(constant_of(x)))
    return binary("NE", x, 0)


def constant_of(value: Value) -> Any:
    """The number that a value of literals alone is. Errors: ExpressionError if it depends on more."""
    if value.op != "CONSTANT":
        raise wrong("the literals in this have no type; give one, as in fp32(1)")
    return value.payload


def _floor(spelling: str, left: Any, right: Any) -> Tuple[Value, Value]:
    """Quotient and remainder of a division that rounds down."""
    a, b = as_value(left), as_value(right)
    type_ = common_type(spelling, a, b)
    if type_ is None:
        x, y = constant_of(a), constant_of(b)
        if y == 0:
            raise wrong(f"'{spelling}' divides by 0")
        return literal(x // y), literal(x % y)
    a, b = (v if v.type is not None or v.op == "CONSTANT" else cast(type_, v) for v in (a, b))
    if type_.is_integer:
        return _floor_of_integers(type_, a, b)
    if type_ in (fp32, fp64):
        return _floor_of_reals(type_, a, b)
    if type_ is bool_:
        raise wrong(f"'{spelling}' is for numbers, not for {type_}")
    # Halves are computed with in fp32, and rounded once.
    q, r = _floor_of_reals(fp32, *(v if v.type is None else cast(fp32, v) for v in (a, b)))
    return cast(type_, q), cast(type_, r)


def _floor_of_integers(type_: ScalarType, a: Value, b: Value) -> Tuple[Value, Value]:
    q, r = binary("DIV", a, b), binary("REM", a, b)
    if type_.kind == "uint" or (_is_never_negative(a) and _is_never_negative(b)):
        return q, r
    sign = _sign_of_constant(b)
    if sign is None:
        rounds_up = (r != 0) & ((r < 0) ^ (b < 0))
    else:
        rounds_up = r < 0 if sign > 0 else r > 0
    return where(rounds_up, q - 1, q), where(rounds_up, r + b, r)


def _floor_of_reals(type_: ScalarType, a: Value, b: Value) -> Tuple[Value, Value]:
    """As Python's float and numpy compute it: `a / b`, rounded down, may be wrong in the last bit."""
    r, sign = binary("REM", a, b), _sign_of_constant(b)
    if sign is None:
        differs = (r < 0) ^ (b < 0)
        modulus = where(r != 0, where(differs, r + b, r), where(b < 0, -0.0, 0.0))
        differs = differs & (r != 0)
    else:
        differs = r < 0 if sign > 0 else r > 0
        modulus = where(differs, r + b, abs(r) if sign > 0 else -abs(r))
    quotient = (a - r) / b
    quotient = where(differs, quotient - 1, quotient)
    down = unary("FLOOR", quotient)
    down = where(quotient - down > 0.5, down + 1, down)
    # A quotient of 0 has the sign of a / b.
    down = where(quotient != 0, down, cast(type_, literal(0.0)) * (a / b))
    return (down if sign is not None else where(b == 0, a / b, down)), modulus


def _type(value: Value) -> ScalarType:
    assert value.type is not None
    return value.type


def _is_never_negative(value: Value) -> bool:
    return value.bounds is not None and value.bounds[0] >= 0


def _sign_of_constant(value: Value) -> Optional[int]:
    """1 or -1 of a finite number that is known and not 0."""
    while value.op == "CAST" and value.operands[0].type is None:
        value = value.operands[0]
    if value.op != "CONSTANT" or isinstance(value.payload, bool) or not value.payload:
        return None
    if value.payload - value.payload != 0:
        return None
    return 1 if value.payload > 0 else -1


def _shifted(spelling: str, left: Any, right: Any) -> Tuple[Value, int, int]:
    """The value, the bits of its type, and by how many it is shifted."""
    a, b = as_value(left), as_value(right)
    if a.type is None or not a.type.is_integer:
        raise wrong(f"'{spelling}' is for integers, not for {a.type or 'literals'}")
    by = b.payload if b.op == "CONSTANT" else None
    if not isinstance(by, int) or isinstance(by, bool):
        raise wrong(f"'{spelling}' shifts by a constant: multiply or divide by a power of two")
    if by < 0:
        raise wrong(f"'{spelling}' shifts by {by}, a negative number")
    return a, 8 * a.type.size_bytes, by


def _wrapped(type_: ScalarType, number: int) -> int:
    """The number of `type_` with the same bits."""
    bits = 8 * type_.size_bytes
    number %= 1 << bits
    return number - (1 << bits) if type_.kind == "int" and number >> (bits - 1) else number

