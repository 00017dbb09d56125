"""Symbols: tuning parameters, and what is computed of them, as text of formulas.

Functions over parameters are run with symbols (tracing.py). The text is the daemon's syntax of
formulas (tuner/space/formula/formula_text.h), which is that of Python.
"""

from __future__ import annotations

import math
import threading
from typing import Any, List, NoReturn, Optional, Sequence, Tuple

# How tightly operations bind; operands that bind less stand in parentheses.
_IF, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(10)
_MAX_TEXT = 1 << 15
_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Untraceable(Exception):
    """A function does with a symbol what formulas cannot express; the text says what."""


class Trail(threading.local):
    """What conditions are taken to be while a function runs, in the order of its decisions."""

    MAX_DECISIONS = 256

    def __init__(self) -> None:
        self.planned: Optional[Sequence[bool]] = None  # None: no function is being traced
        self.conditions: List["Symbol"] = []
        self.decisions: List[bool] = []
        self.has_inverted = False

    def start(self, planned: Sequence[bool]) -> None:
        """The first decisions are `planned`, those after them true."""
        self.planned, self.conditions, self.decisions = planned, [], []

    def value_of(self, condition: "Symbol") -> Optional[bool]:
        """What was decided about the condition; None if nothing was."""
        for known, decision in zip(self.conditions, self.decisions):
            if known.text == condition.text:
                return decision
        return None

    def decide(self, condition: "Symbol") -> bool:
        if self.planned is None:
            raise Untraceable("a condition is needed while nothing is traced")
        known = self.value_of(condition)
        if known is not None:
            return known
        position = len(self.decisions)
        if position >= self.MAX_DECISIONS:
            raise Untraceable(f"it needs more than {self.MAX_DECISIONS} decisions")
        self.conditions.append(condition)
        self.decisions.append(self.planned[position] if position < len(self.planned) else True)
        return self.decisions[-1]


TRAIL = Trail()


class Symbol:
    """A parameter or a formula. Immutable."""

    __slots__ = ("text", "kind", "level", "comparison", "quotient", "parts")
    __array_ufunc__ = None  # numpy leaves operators to this class

    def __init__(self, text: str, kind: str, level: int = _ATOM,
                 comparison: Optional[Tuple[str, str, str]] = None,
                 quotient: Optional[Tuple["Symbol", "Symbol"]] = None,
                 parts: Tuple["Symbol", ...] = ()):
        """`kind`: "bool", "integer", "real", "string" or "permutation". `comparison`: operator and
        texts of the operands as they stand there. `quotient`: dividend and divisor of a
        division of integers. `parts`: what `and` or `or` joins."""
        if len(text) > _MAX_TEXT:
            raise Untraceable("its formula is too long")
        self.text = text
        self.kind = kind
        self.level = level
        self.comparison = comparison
        self.quotient = quotient
        self.parts = parts

    def __repr__(self) -> str:
        return f"<{self.kind} {self.text}>"

    def is_number(self) -> bool:
        return self.kind in ("integer", "real")

    def inside(self, level: int) -> str:
        """The text as an operand that must bind at least like `level`."""
        return self.text if self.level >= level else f"({self.text})"

    def parts_at(self, level: int) -> Tuple["Symbol", ...]:
        """What `and` or `or`, as `level` says, joins; else the symbol itself."""
        return self.parts if self.level == level and self.parts else (self,)

    def __add__(self, other: Any) -> "Symbol":
        return _arithmetic("+", _SUM, self, other)

    def __radd__(self, other: Any) -> "Symbol":
        return _arithmetic("+", _SUM, other, self)

    def __sub__(self, other: Any) -> "Symbol":
        return _arithmetic("-", _SUM, self, other)

    def __rsub__(self, other: Any) -> "Symbol":
        return _arithmetic("-", _SUM, other, self)

    def __mul__(self, other: Any) -> "Symbol":
        return _arithmetic("*", _PRODUCT, self, other)

    def __rmul__(self, other: Any) -> "Symbol":
        return _arithmetic("*", _PRODUCT, other, self)

    def __truediv__(self, other: Any) -> "Symbol":
        return _divide(self, other)

    def __rtruediv__(self, other: Any) -> "Symbol":
        return _divide(other, self)

    def __floordiv__(self, other: Any) -> "Symbol":
        return _arithmetic("//", _PRODUCT, self, other)

    def __rfloordiv__(self, other: Any) -> "Symbol":
        return _arithmetic("//", _PRODUCT, other, self)

    def __mod__(self, other: Any) -> "Symbol":
        return _arithmetic("%", _PRODUCT, self, other)

    def __rmod__(self, other: Any) -> "Symbol":
        return _arithmetic("%", _PRODUCT, other, self)

    def __divmod__(self, other: Any) -> Tuple["Symbol", "Symbol"]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Tuple["Symbol", "Symbol"]:
        return other // self, other % self

    def __pow__(self, other: Any) -> "Symbol":
        return _power(self, other)

    def __rpow__(self, other: Any) -> "Symbol":
        return _power(other, self)

    def __neg__(self) -> "Symbol":
        return Symbol("-" + _number(self).inside(_SIGN), self.kind, _SIGN)

    def __pos__(self) -> "Symbol":
        return _number(self)

    def __abs__(self) -> "Symbol":
        return Symbol(f"abs({_number(self).text})", self.kind)

    def __floor__(self) -> "Symbol":
        if self.kind == "integer":
            return self
        if self.quotient is None:
            raise Untraceable("floor of anything but a division of integers; // rounds down")
        return self.quotient[0] // self.quotient[1]

    def __ceil__(self) -> "Symbol":
        if self.kind == "integer":
            return self
        if self.quotient is None:
            raise Untraceable("ceil of anything but a division of integers")
        return ceil_divide(*self.quotient)

    def __lt__(self, other: Any) -> "Symbol":
        return _compare("<", self, other)

    def __le__(self, other: Any) -> "Symbol":
        return _compare("<=", self, other)

    def __gt__(self, other: Any) -> "Symbol":
        return _compare(">", self, other)

    def __ge__(self, other: Any) -> "Symbol":
        return _compare(">=", self, other)

    def __eq__(self, other: Any) -> "Symbol":  # type: ignore[override]
        return _compare("==", self, other)

    def __ne__(self, other: Any) -> "Symbol":  # type: ignore[override]
        return _compare("!=", self, other)

    def __and__(self, other: Any) -> "Symbol":
        return _connect("and", _AND, self, other)

    def __rand__(self, other: Any) -> "Symbol":
        return _connect("and", _AND, other, self)

    def __or__(self, other: Any) -> "Symbol":
        return _connect("or", _OR, self, other)

    def __ror__(self, other: Any) -> "Symbol":
        return _connect("or", _OR, other, self)

    def __xor__(self, other: Any) -> "Symbol":
        return _compare("!=", _condition("^", self), _condition("^", as_symbol(other)))

    __rxor__ = __xor__

    def __invert__(self) -> "Symbol":
        TRAIL.has_inverted = True
        return negate(_condition("~", self))

    def __bool__(self) -> bool:
        if self.kind == "bool":
            return TRAIL.decide(self)
        if self.is_number():
            return TRAIL.decide(self != 0)
        if self.kind == "string":
            return TRAIL.decide(self != "")
        return True

    def index(self, item: str) -> "Symbol":
        """Place of an item in a permutation, from zero."""
        return position(self, item)

    def _untraceable(self, *_: Any) -> NoReturn:
        raise Untraceable(f"the value of {self.text} is needed as a number or text of Python")

    __int__ = __float__ = __complex__ = __index__ = __trunc__ = __round__ = _untraceable
    __str__ = __format__ = __hash__ = __len__ = __iter__ = __getitem__ = _untraceable
    __contains__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _untraceable


def as_symbol(value: Any) -> Symbol:
    """A symbol, or a constant of Python or numpy. Errors: Untraceable for anything else."""
    if isinstance(value, Symbol):
        return value
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, bool):
        return Symbol(str(value), "bool")
    if isinstance(value, int) and -(2**63) < value < 2**63:
        return Symbol(str(int(value)), "integer", _ATOM if value >= 0 else _SIGN)
    if isinstance(value, float) and math.isfinite(value):
        return Symbol(repr(float(value)), "real", _ATOM if value >= 0 else _SIGN)
    if isinstance(value, str) and value.isprintable():
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return Symbol(f'"{escaped}"', "string")
    raise Untraceable(f"formulas have no constant {value!r}")


def _number(value: Any) -> Symbol:
    symbol = as_symbol(value)
    if not symbol.is_number():
        raise Untraceable(f"formulas do not compute with {symbol.text}, which is no number")
    return symbol


def _arithmetic(operator: str, level: int, left: Any, right: Any) -> Symbol:
    a, b = _number(left), _number(right)
    kind = "integer" if a.kind == b.kind == "integer" else "real"
    return Symbol(f"{a.inside(level)} {operator} {b.inside(level + 1)}", kind, level)


def _divide(left: Any, right: Any) -> Symbol:
    a, b = _number(left), _number(right)
    are_integers = a.kind == b.kind == "integer"
    return Symbol(f"{a.inside(_PRODUCT)} / {b.inside(_PRODUCT + 1)}", "real", _PRODUCT,
                  quotient=(a, b) if are_integers else None)


def _power(left: Any, right: Any) -> Symbol:
    a, b = _number(left), _number(right)
    is_integer = a.kind == b.kind == "integer" and b.text.isdigit()
    return Symbol(f"{a.inside(_ATOM)} ** {b.inside(_SIGN)}", "integer" if is_integer else "real",
                  _POWER)


def _compare(operator: str, left: Any, right: Any) -> Symbol:
    a, b = as_symbol(left), as_symbol(right)
    if a.kind != b.kind and not (a.is_number() and b.is_number()):
        raise Untraceable(f"formulas do not compare {a.text} with {b.text}")
    if a.kind == "permutation" or (a.kind == "bool" and operator not in ("==", "!=")):
        raise Untraceable(f"formulas do not compare {a.text} by {operator}")
    left_text, right_text = a.inside(_SUM), b.inside(_SUM)
    return Symbol(f"{left_text} {operator} {right_text}", "bool", _COMPARISON,
                  comparison=(operator, left_text, right_text))


def _condition(operator: str, symbol: Symbol) -> Symbol:
    if symbol.kind != "bool":
        raise Untraceable(f"formulas have no {operator} on {symbol.text}, which is no bool")
    return symbol


def _connect(operator: str, level: int, left: Any, right: Any) -> Symbol:
    spelling = "&" if operator == "and" else "|"
    a, b = _condition(spelling, as_symbol(left)), _condition(spelling, as_symbol(right))
    return Symbol(f"{a.inside(level)} {operator} {b.inside(level)}", "bool", level,
                  parts=a.parts_at(level) + b.parts_at(level))


def negate(condition: Symbol) -> Symbol:
    """`not condition`."""
    if condition.text in ("True", "False"):
        return as_symbol(condition.text == "False")
    if condition.comparison is not None:
        operator, left, right = condition.comparison
        opposite = _OPPOSITES[operator]
        return Symbol(f"{left} {opposite} {right}", "bool", _COMPARISON, (opposite, left, right))
    return Symbol(f"not {condition.inside(_NOT)}", "bool", _NOT)


def choose(condition: Symbol, then: Symbol, otherwise: Symbol) -> Symbol:
    """`then if condition else otherwise`, in the shortest spelling."""
    if then.kind != otherwise.kind and not (then.is_number() and otherwise.is_number()):
        raise Untraceable(f"it gives {then.text} or {otherwise.text}, which have different types")
    if then.text == otherwise.text:
        return then
    if then.kind == "bool":
        shorter = _choose_bool(condition, then, otherwise)
        if shorter is not None:
            return shorter
    kind = "integer" if then.kind == otherwise.kind == "integer" else "real"
    for operator, function in (("<", "min"), (">", "max")):
        if condition.comparison == (operator, then.inside(_SUM), otherwise.inside(_SUM)):
            return Symbol(f"{function}({otherwise.text}, {then.text})", kind)
    return Symbol(
        f"{then.inside(_OR)} if {condition.inside(_OR)} else {otherwise.inside(_IF)}",
        then.kind if then.kind == otherwise.kind else kind, _IF)


def _choose_bool(condition: Symbol, then: Symbol, otherwise: Symbol) -> Optional[Symbol]:
    """`choose` in terms of and, or and not; None if that is not shorter."""
    if then.text == "True":
        return condition if otherwise.text == "False" else condition | otherwise
    if then.text == "False":
        inverse = negate(condition)
        return inverse if otherwise.text == "True" else inverse & otherwise
    if otherwise.text == "False":
        return condition & then
    if otherwise.text == "True":
        return negate(condition) | then
    # What both sides end with stands once, so that (a or b) and c stays that.
    for level, neutral in ((_AND, True), (_OR, False)):
        parts = [side.parts_at(level) for side in (then, otherwise)]
        common = 0
        while common < min(map(len, parts)) and _same(*(p[-1 - common] for p in parts)):
            common += 1
        if common:
            heads = [_join(level, p[: len(p) - common], neutral) for p in parts]
            ending = _join(level, parts[0][len(parts[0]) - common:], neutral)
            chosen = choose(condition, heads[0], heads[1])
            return chosen & ending if level == _AND else chosen | ending
    return None


def _same(a: Symbol, b: Symbol) -> bool:
    return a.text == b.text


def _join(level: int, parts: Sequence[Symbol], neutral: bool) -> Symbol:
    joined = parts[0] if parts else as_symbol(neutral)
    for part in parts[1:]:
        joined = joined & part if level == _AND else joined | part
    return joined


def smallest(name: str, values: Sequence[Any]) -> Symbol:
    """min(values) or max(values), as `name` says."""
    numbers = [_number(value) for value in values]
    kind = "integer" if all(n.kind == "integer" for n in numbers) else "real"
    return Symbol(f"{name}({', '.join(n.text for n in numbers)})", kind)


def ceil_divide(dividend: Any, divisor: Any) -> Symbol:
    """The quotient of two integers, rounded up."""
    a, b = _number(dividend), _number(divisor)
    if not a.kind == b.kind == "integer":
        raise Untraceable("ceil_div is for integers")
    return Symbol(f"ceil_div({a.text}, {b.text})", "integer")


def divides_evenly(divisor: Any, dividend: Any) -> Symbol:
    """Whether the remainder of two integers is 0."""
    a, b = _number(divisor), _number(dividend)
    if not a.kind == b.kind == "integer":
        raise Untraceable("divides is for integers")
    return Symbol(f"divides({a.text}, {b.text})", "bool")


def position(permutation: Symbol, item: Any) -> Symbol:
    """Place of an item in a permutation, from zero."""
    if permutation.kind != "permutation" or not isinstance(item, str):
        raise Untraceable("index is for permutations and their items")
    return Symbol(f"position({permutation.text}, {as_symbol(item).text})", "integer")
