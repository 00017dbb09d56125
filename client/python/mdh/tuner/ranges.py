"""Ranges of tuning parameters: intervals, sets, bools and permutations."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, List, Optional, Sequence, Tuple

from google.protobuf import struct_pb2

from ..errors import count as counted
from ..errors import wrong
from ..v1 import study_pb2
from .tracing import trace_generator

_MAX_SIZE = 2**32 - 1
_MAX_LISTED = 1 << 20
_MAX_PERMUTATION_ITEMS = 12
_MAX_EXACT = 1 << 53  # whole numbers of messages


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    return value


class Range:
    """A finite, ordered set of distinct values of one kind. Values are addressed by position."""

    kind: str  # "bool", "integer", "real", "string" or "permutation"
    size: int

    def at(self, position: int) -> Any:
        """The value at a position < size."""
        raise NotImplementedError

    def write(self, parameter: study_pb2.StudyParameter) -> None:
        """Sets the range of a parameter, whose name is there."""
        raise NotImplementedError


class Set(Range):
    """The values in the order given: bools, integers, reals or strings; none twice."""

    def __init__(self, *values: Any):
        """Set(1, 2, 4) or Set([1, 2, 4]). Integers among reals are reals."""
        if len(values) == 1 and not isinstance(values[0], (bool, int, float, str)):
            values = _elements(values[0])
        self._values = [_plain(value) for value in values]
        if not self._values:
            raise wrong("a set needs at least one value")
        self.kind = _kind_of_all(self._values)
        if self.kind == "real":
            self._values = [float(value) for value in self._values]
        self.size = len(self._values)
        _check_values(self._values)

    def __repr__(self) -> str:
        return f"Set({', '.join(map(repr, self._values))})"

    def at(self, position: int) -> Any:
        return self._values[position]

    def write(self, parameter: study_pb2.StudyParameter) -> None:
        parameter.set.real = self.kind == "real"
        for value in self._values:
            parameter.set.values.append(
                struct_pb2.Value(string_value=value) if self.kind == "string"
                else struct_pb2.Value(bool_value=value) if self.kind == "bool"
                else struct_pb2.Value(number_value=value))


def _elements(values: Any) -> Tuple[Any, ...]:
    value = _plain(values)
    if isinstance(value, (bool, int, float, str)):
        return (value,)
    try:
        return tuple(values)
    except TypeError:
        raise wrong(f"{values!r} is no value of a tuning parameter, but bools, numbers and "
                    "strings are") from None


def _kind_of_all(values: Sequence[Any]) -> str:
    kinds = {bool: "bool", int: "integer", float: "real", str: "string"}
    found = []
    for value in values:
        if type(value) not in kinds:
            raise wrong(f"{value!r} is no value of a tuning parameter, but bools, numbers and "
                        "strings are")
        found.append(kinds[type(value)])
    if set(found) == {"integer", "real"}:
        return "real"
    for kind, value in zip(found, values):
        if kind != found[0]:
            raise wrong(f"the values {values[0]!r} ({found[0]}) and {value!r} ({kind}) are of "
                        "different types")
    return found[0]


def _check_values(values: Sequence[Any]) -> None:
    if len(values) > _MAX_LISTED:
        raise wrong(f"a set has at most {_MAX_LISTED} values, but {len(values)} are given; use an "
                    "Interval")
    seen = set()
    for value in values:
        if isinstance(value, float) and not math.isfinite(value):
            raise wrong(f"the value {value} is not finite")
        if isinstance(value, int) and abs(value) > _MAX_EXACT:
            raise wrong(f"the value {value} of a set is beyond 2^53; use an Interval")
        if value in seen:
            raise wrong(f"the value {value!r} is given twice")
        seen.add(value)


class Bool(Set):
    """False and True."""

    def __init__(self) -> None:
        super().__init__(False, True)

    def __repr__(self) -> str:
        return "Bool()"


class Interval(Range):
    """first, first + step, ... up to and including `last`."""

    def __init__(self, first: Any, last: Any, step: Any = 1,
                 generator: Optional[Callable[[Any], Any]] = None):
        """Reals if one of the three is real. With a generator the values are those that it gives
        for the elements, e.g. Interval(0, 10, generator=lambda i: 2**i)."""
        self.first, self.last, self.step = (_bound(n) for n in (first, last, step))
        if self.step <= 0:
            raise wrong(f"the step is {self.step}, but must be positive")
        if self.first > self.last:
            raise wrong(f"the interval {self.first}..{self.last} is empty")
        self._is_real = any(isinstance(n, float) for n in (self.first, self.last, self.step))
        if self._is_real:
            # Steps like 0.1 are not exact: a last step that is short by rounding counts.
            self.size = math.floor((self.last - self.first) / self.step * (1 + 1e-12)) + 1
        else:
            self.size = (self.last - self.first) // self.step + 1
        if self.size > _MAX_SIZE:
            raise wrong(f"the interval {self.first}..{self.last} has more than {_MAX_SIZE} values")
        self.generator = generator
        self._listed: Optional[Set] = None
        if generator is not None or self._is_real:
            self._listed = self._list()
        self.kind = "integer" if self._listed is None else self._listed.kind

    def __repr__(self) -> str:
        step = "" if self.step == 1 else f", {self.step}"
        return f"Interval({self.first}, {self.last}{step})"

    def at(self, position: int) -> Any:
        return self._element(position) if self._listed is None else self._listed.at(position)

    def write(self, parameter: study_pb2.StudyParameter) -> None:
        formula = None
        if self.generator is not None and self.kind == "integer" and not self._is_real:
            formula = trace_generator(self.generator, parameter.name, self._element, self.size)
        if self._listed is not None and formula is None:
            self._listed.write(parameter)
            return
        interval = parameter.interval
        interval.first, interval.last, interval.step = self.first, self.last, self.step
        interval.generator = formula or ""

    def _element(self, position: int) -> Any:
        return self.first + position * self.step

    def _list(self) -> Set:
        if self.size > _MAX_LISTED:
            what = "a generator" if self.generator is not None else "real values"
            raise wrong(f"an interval with {what} has at most {_MAX_LISTED} values, but this one "
                        f"has {self.size}")
        elements: List[Any] = [self._element(i) for i in range(self.size)]
        if self.generator is None:
            return Set(elements)
        return Set([_generated(self.generator, element) for element in elements])


def _generated(generator: Callable[[Any], Any], element: Any) -> Any:
    try:
        return generator(element)
    except Exception as error:
        raise wrong(f"the generator fails for {element}: {type(error).__name__}: "
                    f"{error}") from error


def _bound(value: Any) -> Any:
    number = _plain(value)
    if isinstance(number, float) and math.isfinite(number):
        return number
    if isinstance(number, (bool, float)):
        raise wrong(f"{value!r} is no bound of an interval")
    try:
        number = operator.index(number)
    except TypeError:
        raise wrong(f"{value!r} is no bound of an interval, which are numbers") from None
    if not -(2**63) <= number < 2**63:
        raise wrong(f"the bound {number} of an interval has more than 64 bits")
    return number


class Permutation(Range):
    """All orders of distinct items, at most 12; values are tuples of items."""

    kind = "permutation"

    def __init__(self, *items: str):
        """Permutation("i", "j", "k") or Permutation(["i", "j", "k"])."""
        if len(items) == 1 and not isinstance(items[0], str):
            items = _elements(items[0])
        for item in items:
            if not isinstance(item, str):
                raise wrong(f"items of permutations are strings, but {item!r} is none")
            if items.count(item) > 1:
                raise wrong(f"the item {item!r} is given twice")
        if not 1 <= len(items) <= _MAX_PERMUTATION_ITEMS:
            raise wrong(f"a permutation has 1 to {_MAX_PERMUTATION_ITEMS} items, but "
                        f"{counted(len(items), 'item')} are given")
        self.items = items
        self.size = math.factorial(len(items))

    def __repr__(self) -> str:
        return f"Permutation({', '.join(map(repr, self.items))})"

    def at(self, position: int) -> Tuple[str, ...]:
        left, chosen = list(self.items), []
        while left:
            place, position = divmod(position, math.factorial(len(left) - 1))
            chosen.append(left.pop(place))
        return tuple(chosen)

    def write(self, parameter: study_pb2.StudyParameter) -> None:
        parameter.permutation.items.extend(self.items)
