"""Scalar types and records of them (paper, Section 2 and appendix A.2)."""

from __future__ import annotations

import math
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from .errors import wrong

Number = Union[bool, int, float]


class FloatFormat(NamedTuple):
    """Of binary floating-point numbers: a sign, a biased exponent, a fraction. Without infinities the
    largest exponent is one like others, and only its largest fraction stands for nan."""

    exponent_bits: int
    fraction_bits: int
    has_infinities: bool = True

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def largest(self) -> float:
        exponent = self.bias if self.has_infinities else self.bias + 1
        below_two = 1 if self.has_infinities else 2
        return math.ldexp((2 << self.fraction_bits) - below_two, exponent - self.fraction_bits)

    def _exponent(self, real: float) -> int:
        """Of the leading bit; of subnormal numbers that of the smallest normal one."""
        return max(math.frexp(real)[1] - 1, 1 - self.bias)

    def rounded(self, real: float) -> Optional[float]:
        """To the nearest number of the format, halfway cases to the even one; None if it is too large."""
        if math.isnan(real) or real == 0.0:
            return real
        if math.isinf(real):
            return real if self.has_infinities else None
        step = math.ldexp(1.0, self._exponent(real) - self.fraction_bits)
        result = round(real / step) * step
        return math.copysign(result, real) if abs(result) <= self.largest else None

    def pattern(self, real: float) -> int:
        """The bits of a number of the format; those of the largest one for an infinity that there is
        not. There is one nan."""
        infinity = ((1 << self.exponent_bits) - 1) << self.fraction_bits
        last = (1 << (self.exponent_bits + self.fraction_bits)) - 1
        if math.isnan(real):
            return infinity | 1 << (self.fraction_bits - 1) if self.has_infinities else last
        if math.isinf(real):
            magnitude = infinity if self.has_infinities else last - 1
        elif real == 0.0:
            magnitude = 0
        else:
            exponent = self._exponent(real)
            fraction = int(math.ldexp(abs(real), self.fraction_bits - exponent))
            magnitude = ((exponent + self.bias - 1) << self.fraction_bits) + fraction
        sign = 1 if math.copysign(1.0, real) < 0 else 0
        return sign << (self.exponent_bits + self.fraction_bits) | magnitude


class ScalarType:
    """One of the scalar types, e.g. fp32. Calling it converts a value of a scalar function."""

    def __init__(self, name: str, code: int, kind: str, size_bytes: int,
                 format: Optional[FloatFormat] = None, library_name: str = "", dlpack: int = -1):
        """`code`: mdh.v1.ScalarType; `kind`: "bool", "int", "uint" or "fp"; `format`: of floating-point
        types; `library_name`: what torch, numpy and ml_dtypes call it, unless it is `name`; `dlpack`:
        DLDataTypeCode of types that numpy does not have."""
        self.name = name
        self.code = code
        self.kind = kind
        self.size_bytes = size_bytes
        self.format = format
        self.library_name = library_name or name
        self.is_in_numpy = dlpack < 0
        self.dlpack = {"int": 0, "uint": 1, "fp": 2, "bool": 6}[kind] if dlpack < 0 else dlpack
        # As the interfaces of arrays write it, without the order of bytes.
        letter = {"bool": "b", "int": "i", "uint": "u", "fp": "f"}[kind]
        self.typestr = f"{letter}{size_bytes}" if self.is_in_numpy else ""

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
        elif self.format is not None:
            rounded = self.format.rounded(float(literal)) if _is_real(literal) else None
            if rounded is not None:
                return rounded
        elif isinstance(literal, int):
            bits = 8 * self.size_bytes
            low = -(2 ** (bits - 1)) if self.kind == "int" else 0
            high = low + 2**bits
            if low <= literal < high:
                return literal
        raise wrong(f"'{literal}' is no value of type {self.name}")

    def memory(self, number: Number) -> bytes:
        """A value of the type as it is in memory, little-endian."""
        bits = int(number) if self.format is None else self.format.pattern(float(number))
        return (bits & ((1 << 8 * self.size_bytes) - 1)).to_bytes(self.size_bytes, "little")


def _is_real(literal: Number) -> bool:
    try:
        float(literal)
    except OverflowError:  # an integer beyond all floating-point numbers
        return False
    return True


# The table of types: whoever asks for a property of a type reads it here.
bool_ = ScalarType("bool", 1, "bool", 1)
int8 = ScalarType("int8", 2, "int", 1)
int16 = ScalarType("int16", 3, "int", 2)
int32 = ScalarType("int32", 4, "int", 4)
int64 = ScalarType("int64", 5, "int", 8)
uint8 = ScalarType("uint8", 6, "uint", 1)
uint16 = ScalarType("uint16", 7, "uint", 2)
uint32 = ScalarType("uint32", 8, "uint", 4)
uint64 = ScalarType("uint64", 9, "uint", 8)
fp32 = ScalarType("fp32", 10, "fp", 4, FloatFormat(8, 23), "float32")
fp64 = ScalarType("fp64", 11, "fp", 8, FloatFormat(11, 52), "float64")
fp16 = ScalarType("fp16", 12, "fp", 2, FloatFormat(5, 10), "float16")
bf16 = ScalarType("bf16", 13, "fp", 2, FloatFormat(8, 7), "bfloat16", dlpack=4)
fp8e4m3 = ScalarType("fp8e4m3", 14, "fp", 1, FloatFormat(4, 3, False), "float8_e4m3fn", dlpack=10)
fp8e5m2 = ScalarType("fp8e5m2", 15, "fp", 1, FloatFormat(5, 2), "float8_e5m2", dlpack=12)

SCALAR_TYPES: Tuple[ScalarType, ...] = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, fp32, fp64, fp16, bf16,
    fp8e4m3, fp8e5m2,
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

TYPE_OF_NAME: Dict[str, ScalarType] = {t.name: t for t in SCALAR_TYPES}
TYPE_OF_CODE: Dict[int, ScalarType] = {t.code: t for t in SCALAR_TYPES}
_NAMES = dict(TYPE_OF_NAME)
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
