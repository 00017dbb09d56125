"""Buffers, views and affine index functions (paper, Definitions 5 and 6)."""

from __future__ import annotations

import inspect
import operator
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

from .errors import SourceLocation, count, here, reading, start_of, wrong
from .types import ElementType, Number, as_element_type, each


class Affine:
    """A sum of multiples of the dimensions and a constant: what an index function may give."""

    __slots__ = ("coefficients", "constant")

    def __init__(self, coefficients: Sequence[int], constant: int = 0):
        self.coefficients = tuple(coefficients)
        self.constant = constant

    def __repr__(self) -> str:
        return f"<index {self.coefficients} + {self.constant}>"

    def same_as(self, other: "Affine") -> bool:
        return (self.coefficients, self.constant) == (other.coefficients, other.constant)

    def dimensions(self) -> List[int]:
        """The zero-based numbers of the dimensions that it depends on."""
        return [d for d, c in enumerate(self.coefficients) if c != 0]

    def _plus(self, other: Any, sign: int) -> "Affine":
        if isinstance(other, Affine):
            pairs = zip(self.coefficients, other.coefficients)
            return Affine([a + sign * b for a, b in pairs], self.constant + sign * other.constant)
        return Affine(self.coefficients, self.constant + sign * as_integer(other, "an index"))

    def __add__(self, other: Any) -> "Affine":
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Affine":
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> "Affine":
        return (self * -1)._plus(other, 1)

    def __mul__(self, other: Any) -> "Affine":
        if isinstance(other, Affine):
            raise wrong("an index is no product of two dimensions: index functions are affine")
        factor = as_integer(other, "an index")
        return Affine([c * factor for c in self.coefficients], self.constant * factor)

    __rmul__ = __mul__

    def __neg__(self) -> "Affine":
        return self * -1

    def __pos__(self) -> "Affine":
        return self

    def _not_affine(self, *_: Any) -> NoReturn:
        raise wrong("this index is not affine: only +, - and products with whole numbers are")

    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _not_affine
    __pow__ = __rpow__ = __lshift__ = __rshift__ = __and__ = __or__ = __xor__ = _not_affine
    __abs__ = __invert__ = __index__ = __float__ = __int__ = _not_affine  # type: ignore
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _not_affine  # type: ignore
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise wrong("an index cannot depend on a condition: index functions are affine")


def as_integer(value: Any, what: str) -> int:
    """A whole number that fits in 63 bits. Errors: ExpressionError, naming `what`."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise wrong(f"{what} is {value!r}, not a whole number") from None
    if not -(2**63) < number < 2**63:
        raise wrong(f"{what} is {number}, which does not fit in 63 bits")
    return number


@dataclass(frozen=True)
class Boundary:
    """What accesses outside of a buffer read: `values` (one per field), or the nearest element."""

    values: Optional[Tuple[Number, ...]] = None


clamp = Boundary()


def constant(*values: Number) -> Boundary:
    """The boundary that reads as this value; of records, one value per field."""
    if not values:
        raise wrong("constant(...) needs a value")
    return Boundary(values)


class Buffer:
    """Declares a buffer: Buffer[T, [I, K]], or Buffer(T, [I, K], boundary=clamp, layout=[1, 0])."""

    def __init__(
        self,
        type_: Any,
        shape: Optional[Sequence[int]] = None,
        *,
        boundary: Optional[Boundary] = None,
        strides: Optional[Sequence[int]] = None,
        layout: Optional[Sequence[int]] = None,
        keep: bool = False,
    ):
        """`shape`: extents in elements, inferred if left out. `strides`: elements from one index of
        each dimension to the next. `layout`, instead: the dimensions from slowest to fastest.
        `keep`: elements of an output that no index function reaches keep what is there; otherwise they
        become zero.

        Errors: ExpressionError.
        """
        self.location = here()
        self.type: ElementType = as_element_type(type_, "a buffer")
        self.shape = None if shape is None else [
            as_integer(e, "an extent") for e in _sequence(shape, "the shape")]
        self.boundary = boundary
        self.keep = bool(keep)
        self.strides = self._strides(strides, layout)
        if boundary is not None and not isinstance(boundary, Boundary):
            raise wrong(f"the boundary is {boundary!r}, neither clamp nor constant(...)")
        if boundary is not None and self.shape is None:
            raise wrong("a buffer with a boundary needs a shape: what is outside of it?")

    def __class_getitem__(cls, items: Any) -> "Buffer":
        parts = list(each(items))
        boundary = parts.pop() if len(parts) == 3 and isinstance(parts[2], Boundary) else None
        if len(parts) > 2:
            raise wrong("write Buffer[T], Buffer[T, [I, K]] or Buffer[T, [I, K], clamp]")
        return cls(parts[0], parts[1] if len(parts) == 2 else None, boundary=boundary)

    def _strides(self, strides: Any, layout: Any) -> Optional[List[int]]:
        if strides is not None and layout is not None:
            raise wrong("give either strides or a layout")
        if strides is not None:
            numbers = [as_integer(s, "a stride") for s in _sequence(strides, "strides")]
            if self.shape is not None and len(numbers) != len(self.shape):
                raise wrong(f"there are {count(len(numbers), 'stride')} for "
                            f"{count(len(self.shape), 'dimension')}")
            return numbers
        if layout is None:
            return None
        if self.shape is None:
            raise wrong("a layout needs a shape")
        order = list(_sequence(layout, "the layout"))
        if sorted(order) != list(range(len(self.shape))):
            raise wrong(f"the layout {order} is no permutation of "
                        f"{count(len(self.shape), 'dimension')}")
        result, step = [0] * len(order), 1
        for dimension in reversed(order):
            result[dimension] = step
            step *= max(self.shape[dimension], 1)
        return None if order == sorted(order) else result


def _sequence(value: Any, what: str) -> Sequence[Any]:
    if isinstance(value, (list, tuple)):
        return value
    raise wrong(f"{what} is {value!r}, not a list")


@dataclass
class BufferUse:
    """A buffer of an expression, with the index functions of all accesses to it."""

    name: str
    type: ElementType
    accesses: List[Tuple[Affine, ...]] = field(default_factory=list)
    shape: Optional[List[int]] = None
    strides: Optional[List[int]] = None
    boundary: Optional[Boundary] = None
    location: Optional[SourceLocation] = None
    keep: bool = False
    places: List[Optional[SourceLocation]] = field(default_factory=list)  # of the accesses, if known

    def location_of(self, access: int) -> Optional[SourceLocation]:
        """Where that access is written, or else the buffer."""
        return self.places[access] if access < len(self.places) else self.location

    def declared(self, declaration: Buffer) -> "BufferUse":
        """The same with what a declaration says."""
        return BufferUse(self.name, declaration.type, self.accesses, declaration.shape,
                         declaration.strides, declaration.boundary,
                         declaration.location or self.location, declaration.keep, self.places)

    def check_rank(self) -> None:
        """Errors: ExpressionError if accesses or shape differ in their number of dimensions."""
        ranks = {len(access) for access in self.accesses}
        if self.shape is not None:
            ranks.add(len(self.shape))
        if len(ranks) > 1:
            few, many = min(ranks), max(ranks)
            raise wrong(f"buffer '{self.name}' is used with {few} and with {many} dimensions",
                        self.location)


class View:
    """The buffers of out_view or inp_view, with types if they are given."""

    def __init__(self, name: str, types: Optional[Tuple[Any, ...]], buffers: Dict[str, Any]):
        self.name = name
        self.location = here()
        if not buffers and name == "out_view":
            raise wrong("out_view needs at least one buffer")
        if types is not None and len(types) != len(buffers):
            raise wrong(f"{name} has {count(len(types), 'type')} for "
                        f"{count(len(buffers), 'buffer')}")
        self.types = None if types is None else [
            as_element_type(t, f"buffer '{b}'") for t, b in zip(types, buffers)]
        self.functions: Dict[str, List[Callable[..., Any]]] = {}
        for buffer, accesses in buffers.items():
            functions = list(accesses) if isinstance(accesses, (list, tuple)) else [accesses]
            if not functions or not all(callable(f) for f in functions):
                raise wrong(f"buffer '{buffer}' needs index functions: [lambda i, k: (i, k)]")
            self.functions[buffer] = functions

    def dimension_names(self) -> Tuple[str, ...]:
        """Parameter names of the first index function; none if there is no index function."""
        for functions in self.functions.values():
            return _parameter_names(functions[0])
        return ()


class ViewMaker:
    """out_view and inp_view: out_view[T](w=[lambda i, k: (i)])."""

    def __init__(self, name: str, types: Optional[Tuple[Any, ...]] = None):
        self._name = name
        self._types = types

    def __getitem__(self, types: Any) -> "ViewMaker":
        return ViewMaker(self._name, tuple(each(types)))

    def __call__(self, **buffers: Any) -> View:
        return View(self._name, self._types, buffers)


out_view = ViewMaker("out_view")
inp_view = ViewMaker("inp_view")


def _parameter_names(function: Callable[..., Any]) -> Tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise wrong("an index function has one parameter per dimension, like lambda i, k: (i)",
                        start_of(function))
    return tuple(p.name for p in parameters if p.default is p.empty)


def trace_index_function(
    function: Callable[..., Any], names: Tuple[str, ...], buffer: str
) -> Tuple[Affine, ...]:
    """The indices that `function` gives for dimensions called `names`.

    Errors: ExpressionError at the line of the function, for other names or what is not affine.
    """
    location = start_of(function)
    own = _parameter_names(function)
    if own != names:
        raise wrong(f"this index function of '{buffer}' has the dimensions ({', '.join(own)}), "
                    f"others have ({', '.join(names)})", location)
    variables = [Affine([int(d == n) for d in range(len(names))]) for n in range(len(names))]
    try:
        result = function(*variables)
    except (TypeError, ValueError, NameError, ZeroDivisionError) as error:
        raise wrong(f"this index function of '{buffer}' fails: {error}", location) from error
    indices = result if isinstance(result, (tuple, list)) else (result,)
    zero = Affine([0] * len(names))
    if location is None:
        return tuple(i if isinstance(i, Affine) else zero + i for i in indices)
    with reading(location):
        return tuple(i if isinstance(i, Affine) else zero + i for i in indices)
