"""What scalar functions see: inp['M'], inp['x'][1], out['M'].weight = ..., index.i."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, NoReturn, Optional, Sequence, Tuple

from .errors import SourceLocation, count, wrong
from .trace import RecordValue, Value, as_value
from .types import ElementType, Record, as_element_type, fields_of, int64


@dataclass(frozen=True)
class Slot:
    """One access to a buffer: an argument or a result of a scalar function."""

    buffer: str
    number: int  # zero-based number of the access
    count: int  # accesses of the buffer
    type: ElementType

    @property
    def label(self) -> str:
        """As the user writes it: 'w', or 'y'[1]."""
        return f"'{self.buffer}'" + (f"[{self.number}]" if self.count > 1 else "")

    @property
    def identifier(self) -> str:
        """For the wire: w, or y_1."""
        return self.buffer + (f"_{self.number}" if self.count > 1 else "")


def parameter(slot: Slot) -> Any:
    """A symbolic argument: a Value, or a RecordValue of one Value per field."""
    if isinstance(slot.type, Record):
        fields = {name: Value("PARAMETER", (), type_, f"{slot.identifier}.{name}")
                  for name, type_ in slot.type.fields.items()}
        return RecordValue(slot.type, fields)
    return Value("PARAMETER", (), slot.type, slot.identifier)


def scalars(element: Any) -> List[Tuple[str, Value]]:
    """Name suffix (".x", or "") and value of every scalar of an element."""
    if isinstance(element, RecordValue):
        return [("." + name, value) for name, value in element.fields.items()]
    return [("", element)]


class Arguments:
    """Values by buffer: one, or a list if there are several accesses."""

    def __init__(self, slots: Sequence[Slot], values: Sequence[Any], what: str = "buffer"):
        """`what`: a word for them in messages."""
        self._what = what
        self._by_buffer: Dict[str, List[Any]] = {}
        for slot, value in zip(slots, values):
            self._by_buffer.setdefault(slot.buffer, []).append(value)

    def __getitem__(self, buffer: Any) -> Any:
        if buffer not in self._by_buffer:
            raise wrong(f"there is no {self._what} {buffer!r} here, but {_listed(self._by_buffer)}")
        values = self._by_buffer[buffer]
        return values[0] if len(values) == 1 else _Accesses(buffer, values)

    def in_order(self) -> List[Any]:
        """All values, in order of buffer and access."""
        return [value for values in self._by_buffer.values() for value in values]

    def __setitem__(self, buffer: Any, value: Any) -> NoReturn:
        raise wrong(f"{buffer!r} is an argument of this function and cannot be assigned")


def _listed(names: Any) -> str:
    return ", ".join(f"'{n}'" for n in names) or "none"


class _Accesses:
    """The values of a buffer with several accesses, by number."""

    def __init__(self, buffer: str, values: List[Any]):
        self._buffer = buffer
        self._values = values

    def __getitem__(self, number: Any) -> Any:
        if not isinstance(number, int) or not 0 <= number < len(self._values):
            raise wrong(f"'{self._buffer}' has accesses 0 to {len(self._values) - 1}, "
                        f"there is no [{number!r}]")
        return self._values[number]

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise wrong(f"'{self._buffer}' has several accesses: choose one, as in "
                    f"['{self._buffer}'][0]")

    def _not_one(self, *_: Any) -> NoReturn:
        raise wrong(f"'{self._buffer}' has several accesses: choose one, as in "
                    f"['{self._buffer}'][0]")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _not_one
    __rtruediv__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _not_one  # type: ignore


class Results:
    """Takes what a scalar function assigns: out['w'] = ..., out['y'][1] = ..., out['M'].x = ..."""

    def __init__(self, slots: Sequence[Slot]):
        self._slots = list(slots)
        self._values: Dict[Tuple[str, int, str], Value] = {}

    def _slot(self, buffer: Any, number: int) -> Slot:
        for slot in self._slots:
            if slot.buffer == buffer and slot.number == number:
                return slot
        if not any(slot.buffer == buffer for slot in self._slots):
            names = dict.fromkeys(slot.buffer for slot in self._slots)
            raise wrong(f"there is no output {buffer!r}, but {_listed(names)}")
        raise wrong(f"output '{buffer}' has no access number {number!r}")

    def __setitem__(self, buffer: Any, value: Any) -> None:
        slot = self._slot(buffer, 0)
        if slot.count > 1:
            raise wrong(f"'{buffer}' has {slot.count} accesses: assign ['{buffer}'][0] and so on")
        self.assign(slot, value)

    def __getitem__(self, buffer: Any) -> Any:
        slot = self._slot(buffer, 0)
        return _Numbered(self, buffer) if slot.count > 1 else _Assignable(self, slot).read()

    def assign(self, slot: Slot, value: Any) -> None:
        """Takes the whole element."""
        if not isinstance(slot.type, Record):
            self._values[(slot.buffer, slot.number, "")] = as_value(value)
            return
        if not isinstance(value, RecordValue):
            raise wrong(f"{slot.label} takes a {slot.type}")
        if list(value.fields) != list(slot.type.fields):
            raise wrong(f"{slot.label} takes a {slot.type}, not a {value.record}")
        for name, field in value.fields.items():
            self._values[(slot.buffer, slot.number, "." + name)] = field

    def assign_in_order(self, values: Sequence[Any]) -> None:
        """Takes one element per result, or one for all."""
        if len(values) not in (1, len(self._slots)):
            raise wrong(f"there are {count(len(values), 'value')} for "
                        f"{count(len(self._slots), 'result')}")
        for number, slot in enumerate(self._slots):
            self.assign(slot, values[number % len(values)])

    def assign_field(self, slot: Slot, name: str, value: Any) -> None:
        """Takes one field."""
        if name not in slot.type.fields:
            raise wrong(f"{slot.label} has no field '{name}'; it is a {slot.type}")
        self._values[(slot.buffer, slot.number, "." + name)] = as_value(value)

    def assigned(self, slot: Slot, suffix: str) -> Optional[Value]:
        """What has been assigned so far."""
        return self._values.get((slot.buffer, slot.number, suffix))

    def collect(self, function: str, location: Optional[SourceLocation]) -> List[Value]:
        """All results in order. Errors: ExpressionError if one has not been assigned."""
        values = []
        for slot in self._slots:
            for suffix, _ in fields_of(slot.type):
                value = self.assigned(slot, suffix)
                if value is None:
                    raise wrong(f"'{function}' does not assign {slot.label}{suffix}", location)
                values.append(value)
        return values


class NamedResults:
    """Takes what a scalar function gives to a store function, under any names: out['c'] = ..."""

    def __init__(self) -> None:
        self._elements: Dict[str, Any] = {}

    def __setitem__(self, name: Any, value: Any) -> None:
        if not isinstance(name, str):
            raise wrong(f"a result for the store function has a name, as in out['c'], not {name!r}")
        self._elements[name] = value if isinstance(value, RecordValue) else as_value(value)

    def __getitem__(self, name: Any) -> Any:
        if name not in self._elements:
            raise wrong(f"{name!r} is read before it is assigned; a record for the store function is "
                        "assigned as a whole")
        return self._elements[name]

    def collect(self, function: str, accumulate: Dict[str, Any], location: Optional[SourceLocation]
                ) -> Tuple[List[Slot], List[Value]]:
        """All results in the order of assignment, and the types in which they are combined: their own,
        or those of `accumulate`. Errors: ExpressionError if there are none, or one has no type."""
        if not self._elements:
            raise wrong(f"'{function}' gives the store function no result", location)
        slots, values = [], []
        for name, element in self._elements.items():
            type_ = accumulate.get(name)
            if type_ is None:
                type_ = element.record if isinstance(element, RecordValue) else element.type
            if type_ is None:
                raise wrong(f"the result '{name}' of '{function}' is a number without a type: give it "
                            "one, as in fp32(1)", element.location)
            slots.append(Slot(name, 0, 1, as_element_type(type_, f"accumulate's '{name}'")))
            values += [value for _, value in scalars(element)]
        return slots, values


class _Numbered:
    def __init__(self, results: Results, buffer: str):
        self._results = results
        self._buffer = buffer

    def __setitem__(self, number: Any, value: Any) -> None:
        self._results.assign(self._results._slot(self._buffer, number), value)

    def __getitem__(self, number: Any) -> Any:
        return _Assignable(self._results, self._results._slot(self._buffer, number)).read()


class _Assignable:
    """An element of a record type, whose fields are assigned one by one."""

    def __init__(self, results: Results, slot: Slot):
        self.__dict__.update(_results=results, _slot=slot)

    def read(self) -> Any:
        if isinstance(self._slot.type, Record):
            return self
        return self._read("")

    def _read(self, suffix: str) -> Value:
        value = self._results.assigned(self._slot, suffix)
        if value is None:
            raise wrong(f"{self._slot.label}{suffix} is read before it is assigned")
        return value

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._read("." + name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._results.assign_field(self._slot, name, value)


class Indices:
    """Index variables of md_hom as int64 values: index.i, index['i'] or index[0]."""

    def __init__(self, names: Sequence[str], sizes: Sequence[int]):
        self.__dict__["_names"] = list(names)
        self.__dict__["_sizes"] = list(sizes)
        self.__dict__["values"] = {}

    def __getitem__(self, name: Any) -> Value:
        names = self._names
        if isinstance(name, int) and 0 <= name < len(names):
            number = name
        elif name in names:
            number = names.index(name)
        else:
            raise wrong(f"there is no dimension {name!r}, but {_listed(names)}")
        if number not in self.values:
            self.values[number] = Value("PARAMETER", (), int64, names[number],
                                        (0, max(self._sizes[number], 1) - 1))
        return self.values[number]

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]


def identity(out: Results, inp: Arguments) -> None:
    """The scalar function id: its results are its arguments; a single one is all results."""
    out.assign_in_order(inp.in_order())


# Of the functions that are being traced, the innermost last.
class _Traced(threading.local):
    def __init__(self) -> None:
        self.indices: List[Indices] = []


_traced = _Traced()


class tracing:
    """While it is entered, index('i') means a dimension of `indices`."""

    def __init__(self, indices: Indices):
        self._mine = indices

    def __enter__(self) -> None:
        _traced.indices.append(self._mine)

    def __exit__(self, *_: Any) -> None:
        _traced.indices.pop()


def index(name: Any) -> Value:
    """The index variable of the dimension called `name`, an int64, in a scalar function."""
    if not _traced.indices:
        raise wrong("index(...) means something in the scalar function of md_hom only")
    return _traced.indices[-1][name]
