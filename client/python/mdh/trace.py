"""Symbolic values: scalar functions are run once with them, and leave a straight-line program.

Types are those of the text form (core/text/grammar.md): there are no implicit conversions, and a
literal takes the type of its context. Python's operators that the language lacks are made of those
that it has (arithmetic.py). What is known when an operation is written is checked then,
so that an error is about its line; literals get their types when the program is complete.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, NoReturn, Optional, Sequence, Tuple

from .errors import SourceLocation, here, wrong
from .types import Number, Record, ScalarType, bool_, int64

# Spelling in messages, and the operands that the operation takes.
OPERATIONS: Dict[str, Tuple[str, str]] = {
    "NEG": ("-", "number"), "NOT": ("~", "bool"), "ABS": ("abs", "number"),
    "SQRT": ("sqrt", "fp"), "RSQRT": ("rsqrt", "fp"), "EXP": ("exp", "fp"),
    "LOG": ("log", "fp"), "LOG2": ("log2", "fp"), "TANH": ("tanh", "fp"),
    "FLOOR": ("floor", "fp"), "CEIL": ("ceil", "fp"), "SIN": ("sin", "fp"),
    "COS": ("cos", "fp"), "ROUND": ("round", "fp"), "TRUNC": ("trunc", "fp"),
    "ERF": ("erf", "fp"), "EXP2": ("exp2", "fp"), "LOG1P": ("log1p", "fp"),
    "EXPM1": ("expm1", "fp"), "CBRT": ("cbrt", "fp"), "ATAN2": ("atan2", "fp"),
    "COPYSIGN": ("copysign", "fp"),
    "ADD": ("+", "number"), "SUB": ("-", "number"), "MUL": ("*", "number"),
    "DIV": ("/", "number"), "REM": ("%", "number"), "MIN": ("min", "number"),
    "MAX": ("max", "number"), "POW": ("pow", "fp"), "BIT_AND": ("&", "integer"),
    "BIT_OR": ("|", "integer"), "BIT_XOR": ("^", "integer"), "AND": ("&", "bool"),
    "FMIN": ("fmin", "fp"), "FMAX": ("fmax", "fp"), "OR": ("|", "bool"), "EQ": ("==", "any"),
    "NE": ("!=", "any"), "LT": ("<", "any"), "LE": ("<=", "any"), "GT": (">", "any"), "GE": (">=", "any"),
}
_COMPARISONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
# What an integer is already.
_TO_WHOLE = ("FLOOR", "CEIL", "ROUND", "TRUNC")
# Operations of which the bounds follow from those of the operands.
_BOUNDED = ("CAST", "NEG", "ADD", "SUB", "MUL", "DIV", "REM")
Bounds = Tuple[int, int]


def _takes(operation: str, type_: ScalarType) -> bool:
    wanted = OPERATIONS[operation][1]
    return {
        "any": True,
        "bool": type_ is bool_,
        "number": type_.is_number,
        "integer": type_.is_integer,
        "fp": type_.is_floating_point,
    }[wanted]


def check_operation(
    operation: str, type_: ScalarType, location: Optional[SourceLocation] = None,
    prefix: str = "",
) -> None:
    """Errors: ExpressionError if there is no such operation on that type."""
    if _takes(operation, type_):
        return
    spelling, wanted = OPERATIONS[operation]
    names = {"number": "numbers", "integer": "integers", "fp": "floating-point values"}
    raise wrong(f"{prefix}'{spelling}' is for {names.get(wanted, wanted)}, not for {type_}",
                location)


class Value:
    """A value of a scalar function: an operation on values; type None: that of its context."""

    __slots__ = ("op", "operands", "type", "payload", "location", "bounds")

    def __init__(
        self,
        op: str,
        operands: Tuple["Value", ...] = (),
        type_: Optional[ScalarType] = None,
        payload: Any = None,
        bounds: Optional[Bounds] = None,
    ):
        """`payload`: what a parameter stands for, a constant's number, the values of a table.
        `bounds`: the smallest and the largest number that it can be, if it is an integer and the
        operands' do not say it."""
        self.op = op
        self.operands = operands
        self.type = type_
        self.payload = payload
        self.location = here()
        self.bounds = bounds if bounds is not None else _bounds(op, operands, type_, payload)

    def __repr__(self) -> str:
        if self.op == "PARAMETER":
            return f"<{self.payload}: {self.type}>"
        return f"<{self.op.lower()}: {self.type or 'literal'}>"

    def __add__(self, other: Any) -> "Value":
        return binary("ADD", self, other)

    def __radd__(self, other: Any) -> "Value":
        return binary("ADD", other, self)

    def __sub__(self, other: Any) -> "Value":
        return binary("SUB", self, other)

    def __rsub__(self, other: Any) -> "Value":
        return binary("SUB", other, self)

    def __mul__(self, other: Any) -> "Value":
        return binary("MUL", self, other)

    def __rmul__(self, other: Any) -> "Value":
        return binary("MUL", other, self)

    def __truediv__(self, other: Any) -> "Value":
        return _arithmetic().true_divide(self, other)

    def __rtruediv__(self, other: Any) -> "Value":
        return _arithmetic().true_divide(other, self)

    def __floordiv__(self, other: Any) -> "Value":
        return _arithmetic().floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> "Value":
        return _arithmetic().floor_divide(other, self)

    def __mod__(self, other: Any) -> "Value":
        return _arithmetic().remainder(self, other)

    def __rmod__(self, other: Any) -> "Value":
        return _arithmetic().remainder(other, self)

    def __pow__(self, other: Any) -> "Value":
        return _arithmetic().power(self, other)

    def __rpow__(self, other: Any) -> "Value":
        return _arithmetic().power(other, self)

    def __lshift__(self, other: Any) -> "Value":
        return _arithmetic().shift_left(self, other)

    def __rlshift__(self, other: Any) -> "Value":
        return _arithmetic().shift_left(other, self)

    def __rshift__(self, other: Any) -> "Value":
        return _arithmetic().shift_right(self, other)

    def __rrshift__(self, other: Any) -> "Value":
        return _arithmetic().shift_right(other, self)

    def __and__(self, other: Any) -> "Value":
        return _bitwise("BIT_AND", "AND", self, other)

    def __rand__(self, other: Any) -> "Value":
        return _bitwise("BIT_AND", "AND", other, self)

    def __or__(self, other: Any) -> "Value":
        return _bitwise("BIT_OR", "OR", self, other)

    def __ror__(self, other: Any) -> "Value":
        return _bitwise("BIT_OR", "OR", other, self)

    def __xor__(self, other: Any) -> "Value":
        return _bitwise("BIT_XOR", "NE", self, other)

    def __rxor__(self, other: Any) -> "Value":
        return _bitwise("BIT_XOR", "NE", other, self)

    def __invert__(self) -> "Value":
        if self.type is not None and self.type.is_integer:
            return binary("BIT_XOR", self, -1 if self.type.kind == "int" else self.type.value(
                2 ** (8 * self.type.size_bytes) - 1))
        return unary("NOT", self)

    def __neg__(self) -> "Value":
        if self.op == "CONSTANT" and self.type is None:
            return literal(-self.payload)
        return unary("NEG", self)

    def __pos__(self) -> "Value":
        return self

    def __abs__(self) -> "Value":
        return unary("ABS", self)

    def __round__(self, digits: Any = None) -> "Value":
        if digits is not None:
            raise wrong("round takes a value of a scalar function without a number of digits")
        return unary("ROUND", self)

    def __floor__(self) -> "Value":
        return unary("FLOOR", self)

    def __ceil__(self) -> "Value":
        return unary("CEIL", self)

    def __trunc__(self) -> "Value":
        return unary("TRUNC", self)

    def __lt__(self, other: Any) -> "Value":
        return binary("LT", self, other)

    def __le__(self, other: Any) -> "Value":
        return binary("LE", self, other)

    def __gt__(self, other: Any) -> "Value":
        return binary("GT", self, other)

    def __ge__(self, other: Any) -> "Value":
        return binary("GE", self, other)

    def __eq__(self, other: Any) -> "Value":  # type: ignore[override]
        return binary("EQ", self, other)

    def __ne__(self, other: Any) -> "Value":  # type: ignore[override]
        return binary("NE", self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise wrong(
            "a value of a scalar function has no truth yet: instead of 'if' use where(c, a, b), "
            "instead of 'and', 'or', 'not' use &, |, ~ with parentheses around comparisons, and "
            "instead of Python's min and max use mdh.min and mdh.max"
        )

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **named: Any) -> Any:
        """What numpy calls for np.exp(value), np.float32(2) * value and so on."""
        from .ufuncs import apply_ufunc

        return apply_ufunc(function.__name__ if method == "__call__" else method, operands, named)

    def __array_function__(self, function: Any, types: Any, operands: Any, named: Any) -> Any:
        from .ufuncs import apply_function

        return apply_function(function.__name__, operands, named)

    def __index__(self) -> int:
        raise wrong("a value of a scalar function is not known yet; use table(...)[i] for tables")

    def __float__(self) -> float:
        raise wrong(
            "a value of a scalar function is not known yet: use the functions of mdh (mdh.sqrt), "
            "not those of math, and fp64(x), not float(x)"
        )

    def __int__(self) -> int:
        raise wrong("a value of a scalar function is not known yet: use int64(x), not int(x)")

    def __getitem__(self, key: Any) -> NoReturn:
        raise wrong("this is one value, not several: its buffer has a single access, so leave out "
                    "the [...]")

    def __iter__(self) -> NoReturn:
        raise wrong("this is one value, which cannot be iterated over")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise wrong(f"this is a scalar of type {self.type}, which has no field '{name}'")


class RecordValue:
    """A value of a record type; fields are attributes."""

    def __init__(self, record: Record, fields: Dict[str, Any]):
        self.__dict__["record"] = record
        self.__dict__["fields"] = {
            name: as_value(fields[name]) for name in record.fields
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self.fields:
            raise wrong(f"a {self.record} has no field '{name}'")
        return self.fields[name]

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise wrong("the fields of a value cannot be changed: make a new one")


def literal(number: Number) -> Value:
    """A number as a value, so that literal(1) / 3 is computed in the type of its context."""
    if isinstance(number, bool):
        return Value("CONSTANT", (), bool_, number)
    return Value("CONSTANT", (), None, number)


def as_value(value: Any) -> Value:
    """A Value from a Value or a Python number. Errors: ExpressionError for anything else."""
    if isinstance(value, Value):
        return value
    if isinstance(value, (bool, int, float)):
        return literal(value)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return literal(value.item())
    if isinstance(value, RecordValue):
        raise wrong("a record is used where a scalar is needed: name one of its fields")
    raise wrong(f"{value!r} is no value of a scalar function")


def _arithmetic() -> Any:
    """Operators of more than one operation, which are written in those of one."""
    from . import arithmetic

    return arithmetic


def _bounds(op: str, operands: Tuple[Value, ...], type_: Optional[ScalarType],
            payload: Any) -> Optional[Bounds]:
    """The smallest and the largest number that an integer operation gives; None: any."""
    if op == "CONSTANT" and isinstance(payload, int) and not isinstance(payload, bool):
        return payload, payload
    if op not in _BOUNDED or type_ is None or not type_.is_integer:
        return None
    known = [operand.bounds for operand in operands]
    if not known or None in known:
        return None
    (a, b), (c, d) = known[0], known[-1]
    if op in ("DIV", "REM") and (a < 0 or c <= 0):
        return None
    low, high = {
        "CAST": (a, b), "NEG": (-b, -a), "ADD": (a + c, b + d), "SUB": (a - d, b - c),
        "MUL": (min(a * c, a * d, b * c, b * d), max(a * c, a * d, b * c, b * d)),
        "DIV": (a // max(d, 1), b // max(c, 1)), "REM": (0, min(b, d - 1)),
    }[op]
    smallest = -(2 ** (8 * type_.size_bytes - 1)) if type_.kind == "int" else 0
    fits = smallest <= low and high < smallest + 2 ** (8 * type_.size_bytes)
    return (low, high) if fits else None  # else it wraps


def common_type(spelling: str, a: Value, b: Value) -> Optional[ScalarType]:
    if a.type is not None and b.type is not None and a.type is not b.type:
        raise wrong(f"the operands of '{spelling}' have the types {a.type} and {b.type}; "
                    f"convert one, as in {a.type}(...)")
    return a.type if a.type is not None else b.type


def binary(operation: str, left: Any, right: Any) -> Value:
    """`operation` on two values of one type."""
    a, b = as_value(left), as_value(right)
    spelling = OPERATIONS[operation][0]
    type_ = common_type(spelling, a, b)
    if operation in ("AND", "OR"):
        type_ = type_ or bool_
    if type_ is not None:
        check_operation(operation, type_)
    if operation in _COMPARISONS:
        if type_ is None:
            raise wrong(f"the literals around '{spelling}' have no type; give one, as in fp32(1)")
        return Value(operation, (a, b), bool_, type_)
    return Value(operation, (a, b), type_)


def _bitwise(on_integers: str, on_bools: str, left: Any, right: Any) -> Value:
    a, b = as_value(left), as_value(right)
    return binary(on_bools if bool_ in (a.type, b.type) else on_integers, a, b)


def unary(operation: str, operand: Any) -> Value:
    """`operation` on one value."""
    value = as_value(operand)
    type_ = value.type
    if type_ is None and operation == "NOT":
        raise wrong("'~' is for bool and typed integers")
    if operation in _TO_WHOLE and type_ is not None and type_.is_integer:
        return value
    if type_ is not None:
        check_operation(operation, type_)
    return Value(operation, (value,), type_)


def cast(type_: ScalarType, operand: Any) -> Value:
    """`operand` converted to `type_`."""
    return Value("CAST", (as_value(operand),), type_)


def where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """`if_true` where `condition` holds, else `if_false`: two values, or two records, of a type."""
    test = as_value(condition)
    if test.type is not bool_:
        raise wrong(f"the condition of where has type {test.type or 'number'}, not bool")
    if isinstance(if_true, RecordValue) and isinstance(if_false, RecordValue):
        if if_true.record != if_false.record:
            raise wrong("the two sides of where are records of different types")
        names = if_true.record.fields
        return RecordValue(
            if_true.record,
            {n: where(test, if_true.fields[n], if_false.fields[n]) for n in names},
        )
    a, b = as_value(if_true), as_value(if_false)
    return Value("SELECT", (test, a, b), common_type("where", a, b))


class Table:
    """A table of constants: table([1, 2, 3], fp32)[i]. Numbers outside of it are clamped."""

    def __init__(self, values: Sequence[Number], type_: Optional[ScalarType] = None):
        """Without `type_` the table has the type of its context."""
        self.values = list(values)
        self.type = type_
        if not self.values:
            raise wrong("a table needs at least one value")
        for value in self.values:
            if not isinstance(value, (bool, int, float)):
                raise wrong(f"a table consists of numbers, not of {value!r}")
        if type_ is None and isinstance(self.values[0], bool):
            self.type = bool_

    def __getitem__(self, index: Any) -> Value:
        number = as_value(index)
        if number.type is None:
            number = cast(int64, number)
        if not number.type.is_integer:
            raise wrong(f"a table is read at an integer, not at a value of type {number.type}")
        return Value("TABLE", (number,), self.type, self.values)


table: Callable[..., Table] = Table
select = where
