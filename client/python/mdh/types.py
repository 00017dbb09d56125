"""Scalar types and records of them (paper, Section 2 and appendix A.2)."""

from __future__ import annotations

import math
import struct
from typing import Any, Dict, Iterator, List, Tuple, Union

from .errors import wrong

Number = Union[bool, int, float]


class ScalarType:
    """One of the scalar types, e.g. fp32. Calling it converts a value of a scalar function."""

    def __init__(self, name: str, code: int, kind: str, size_bytes: int):
        """`code`: mdh.v1.ScalarType; `kind`: "bool", "int", "uint" or "fp"."""
        self.name = name
        self.code = code
        self.kind = kind
        self.size_bytes = size_bytes

    def __repr__(self) -> str:
        return self.name

    def __call__(self, value: Any) -> Any:
        """`value` converted to this type: floating point to integers truncates and saturates."""
        from .trace import cast

        return cast(self, value)

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_floating_point(self) -> bool:
        return self.kind == "fp"

    @property
    def is_number(self) -> bool:
        return self.kind != "bool"

    def value(self, literal: Number) -> Number:
        """The value of this type that a Python number stands for, rounded to this type.

        Errors: ExpressionError if there is none: 2.5 or 300 as an int8, 1 as a bool.
        """
        if isinstance(literal, bool) or self.kind == "bool":
            if isinstance(literal, bool) and self.kind == "bool":
                return literal
        elif self.is_floating_point:
            rounded = _round(self, literal)
            if rounded is not None:
                return rounded
        elif isinstance(literal, int):
            bits = 8 * self.size_bytes
            low = -(2 ** (bits - 1)) if self.kind == "int" else 0
            high = low + 2**bits
            if low <= literal < high:
                return literal
        raise wrong(f"'{literal}' is no value of type {self.name}")


def _round(to: ScalarType, literal: Number) -> Union[float, None]:
    """`literal` rounded to a floating-point type; None if it is finite and too large."""
    try:
        real = float(literal)
        if math.isnan(real) or math.isinf(real):
            return real
        if to.name == "bf16":
            return _round_to_bfloat16(real)
        layout = {"fp16": "<e", "fp32": "<f", "fp64": "<d"}[to.name]
        return struct.unpack(layout, struct.pack(layout, real))[0]
    except OverflowError:
        return None


def _round_to_bfloat16(real: float) -> float:
    """To the nearest of 8 significant bits, halfway cases to even; not by way of fp32."""
    if real == 0.0:
        return real
    exponent = max(math.frexp(real)[1], -125)
    step = math.ldexp(1.0, exponent - 8)
    rounded = round(real / step) * step
    if abs(rounded) >= 2.0**128:
        raise OverflowError
    return math.copysign(rounded, real)


bool_ = ScalarType("bool", 1, "bool", 1)
int8 = ScalarType("int8", 2, "int", 1)
int16 = ScalarType("int16", 3, "int", 2)
int32 = ScalarType("int32", 4, "int", 4)
int64 = ScalarType("int64", 5, "int", 8)
uint8 = ScalarType("uint8", 6, "uint", 1)
uint16 = ScalarType("uint16", 7, "uint", 2)
uint32 = ScalarType("uint32", 8, "uint", 4)
uint64 = ScalarType("uint64", 9, "uint", 8)
fp32 = ScalarType("fp32", 10, "fp", 4)
fp64 = ScalarType("fp64", 11, "fp", 8)
fp16 = ScalarType("fp16", 12, "fp", 2)
bf16 = ScalarType("bf16", 13, "fp", 2)

SCALAR_TYPES: Tuple[ScalarType, ...] = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, fp32, fp64, fp16, bf16,
)


class Record:
    """A type of elements with named fields, laid out as a C struct: Record(x=fp32, y=fp32).

    Calling it makes a value: Point(x=a, y=b) or Point(a, b).
    """

    def __init__(self, **fields: Any):
        if not fields:
            raise wrong("a record needs at least one field")
        self.fields: Dict[str, ScalarType] = {}
        for name, type_ in fields.items():
            self.fields[name] = as_scalar_type(type_, f"field '{name}'")

    def __repr__(self) -> str:
        return "Record(" + ", ".join(f"{n}={t}" for n, t in self.fields.items()) + ")"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and list(self.fields.items()) == list(other.fields.items())

    def __hash__(self) -> int:
        return hash(tuple(self.fields))

    def __call__(self, *values: Any, **named: Any) -> Any:
        from .trace import RecordValue

        names = list(self.fields)
        if len(values) > len(names):
            raise wrong(f"{self} has {len(names)} fields, not {len(values)}")
        given = dict(zip(names, values))
        for name, value in named.items():
            if name not in self.fields or name in given:
                raise wrong(f"{self} has no field '{name}', or it is given twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise wrong(f"a value of {self} needs its field '{missing[0]}'")
        return RecordValue(self, {name: given[name] for name in names})


ElementType = Union[ScalarType, Record]

_NAMES: Dict[str, ScalarType] = {t.name: t for t in SCALAR_TYPES}
_NAMES.update(half=fp16, float=fp32, double=fp64, int=int32)


def as_element_type(value: Any, of: str) -> ElementType:
    """A type from a type, its name ("fp32") or bool. Errors: ExpressionError, naming `of`."""
    if isinstance(value, (ScalarType, Record)):
        return value
    if isinstance(value, str) and value in _NAMES:
        return _NAMES[value]
    if value is bool:
        return bool_
    names = ", ".join(t.name for t in SCALAR_TYPES)
    raise wrong(f"the type of {of} is {value!r}, not one of {names} or a Record")


def as_scalar_type(value: Any, of: str) -> ScalarType:
    """As as_element_type, without records."""
    element = as_element_type(value, of)
    if isinstance(element, Record):
        raise wrong(f"the type of {of} must be a scalar type, not a record")
    return element


def fields_of(element: ElementType) -> List[Tuple[str, ScalarType]]:
    """Name suffix (".x", or "" for a scalar) and type of every scalar of an element."""
    if isinstance(element, Record):
        return [("." + name, type_) for name, type_ in element.fields.items()]
    return [("", element)]


class Scalar:
    """Annotation of scalar functions: Scalar[T], or Scalar[T1, T2] for several buffers."""

    def __class_getitem__(cls, types: Any) -> Tuple[Any, ...]:
        return types if isinstance(types, tuple) else (types,)


BasicType = ScalarType


def each(types: Any) -> Iterator[Any]:
    """The elements of a tuple, or the one value that is no tuple."""
    yield from types if isinstance(types, tuple) else (types,)
