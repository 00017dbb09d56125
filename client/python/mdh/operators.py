"""Combine operators cc, pw and ps (paper, Examples 1, 2 and 15), and operations with a name."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any, Callable, NoReturn, Optional, Tuple

from .errors import wrong
from .trace import Value, RecordValue, binary


class NamedOperation:
    """A binary operation: scalar function for md_hom, operator for pw, and function of values."""

    def __init__(self, name: str, operation: str, kind: str):
        """`operation`: of a mdh.v1.ScalarOp; `kind`: of a mdh.v1.PointWiseKind."""
        self.name = name
        self.operation = operation
        self.kind = kind

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *operands: Any) -> Any:
        """The operands combined from left to right."""
        if not any(isinstance(o, (Value, RecordValue)) for o in operands):
            if self.name in ("min", "max"):  # which may hide Python's own
                return getattr(builtins, self.name)(*operands)
        if len(operands) < 2:
            raise wrong(f"{self.name} needs at least two operands")
        value = operands[0]
        for operand in operands[1:]:
            value = binary(self.operation, value, operand)
        return value


add = NamedOperation("add", "ADD", "ADD")
mul = NamedOperation("mul", "MUL", "MUL")
min = NamedOperation("min", "MIN", "MIN")
max = NamedOperation("max", "MAX", "MAX")
and_ = NamedOperation("and_", "AND", "AND")
or_ = NamedOperation("or_", "OR", "OR")
bit_and = NamedOperation("bit_and", "BIT_AND", "BIT_AND")
bit_or = NamedOperation("bit_or", "BIT_OR", "BIT_OR")
bit_xor = NamedOperation("bit_xor", "BIT_XOR", "BIT_XOR")
fmin = NamedOperation("fmin", "FMIN", "FMIN")
fmax = NamedOperation("fmax", "FMAX", "FMAX")
scalar_plus = add
scalar_mul = scalar_times = mul
scalar_min = min
scalar_max = max

NAMED: Tuple[NamedOperation, ...] = (
    add, mul, min, max, and_, or_, bit_and, bit_or, bit_xor, fmin, fmax)

# What Python's own functions mean here.
_OF_PYTHON = {builtins.min: min, builtins.max: max}
# What functions of numpy, and those of two values of PyTorch, mean here.
_OF_LIBRARIES = {"minimum": min, "maximum": max, "fmin": fmin, "fmax": fmax}


def of_library(function: Any) -> Any:
    """The operation that a function of Python, numpy or PyTorch is; else the function itself."""
    for own, operation in _OF_PYTHON.items():
        if function is own:
            return operation
    is_of_numpy = type(function).__module__.split(".")[0] == "numpy"
    is_of_torch = getattr(function, "__qualname__", "").startswith("_VariableFunctionsClass.")
    if not (is_of_numpy or is_of_torch):
        return function
    return _OF_LIBRARIES.get(getattr(function, "__name__", ""), function)


class CustomFunction:
    """A function marked as a scalar function or a pointwise operator, with its neutral element."""

    def __init__(self, function: Callable[..., Any], identity: Any = None):
        self.function = function
        self.identity = identity
        self.__name__ = function.__name__

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def _marker(function: Optional[Callable[..., Any]], identity: Any = None) -> Any:
    if function is not None:
        return CustomFunction(function, identity)
    return lambda marked: CustomFunction(marked, identity)


def scalar_function(function: Optional[Callable[..., Any]] = None) -> Any:
    """Marks f of md_hom: def f(out, inp) or f(out, inp, index). Optional."""
    return _marker(function)


def pw_custom_func(
    function: Optional[Callable[..., Any]] = None, *, identity: Any = None
) -> Any:
    """Marks a function of pw or ps: def f(res, lhs, rhs). Optional but for a neutral element."""
    return _marker(function, identity)


def combine_operator(*arguments: Any, **options: Any) -> NoReturn:
    """Combine operators over index sets are not supported. Errors: ExpressionError, always."""
    raise wrong("combine operators written with index sets are not supported: use cc, pw(f) or "
                "ps(f), where f says how two values combine")


@dataclass(frozen=True)
class CombineOperator:
    """How results are combined in one dimension."""

    kind: str  # "cc", "pw" or "ps"
    named: Tuple[NamedOperation, ...] = ()  # one for all results, or one per result
    custom: Optional[Callable[..., Any]] = None  # instead
    identity: Any = None  # of `custom`

    def __repr__(self) -> str:
        if self.kind == "cc":
            return "cc"
        names = [n.name for n in self.named] or [getattr(self.custom, "__name__", "?")]
        return f"{self.kind}({', '.join(names)})"


cc = CombineOperator("cc")


def _with_function(kind: str, functions: Tuple[Any, ...], identity: Any) -> CombineOperator:
    functions = tuple(of_library(f) for f in functions)
    if functions and all(isinstance(f, NamedOperation) for f in functions):
        if identity is not None:
            raise wrong(f"{functions[0]} has a neutral element of its own")
        return CombineOperator(kind, functions)
    if len(functions) != 1 or not callable(functions[0]):
        raise wrong(f"{kind} takes one function f(res, lhs, rhs), or named operations: one for all "
                    "results or one per result")
    if isinstance(functions[0], CustomFunction) and identity is None:
        identity = functions[0].identity
    return CombineOperator(kind, (), functions[0], identity)


def pw(*functions: Any, identity: Any = None) -> CombineOperator:
    """Reduces a dimension with f(res, lhs, rhs), or with named operations: pw(add), pw(add, max).

    `identity`: the neutral element of f, as a number, a tuple (one per result) or a dict by the
    names of the outputs. f is associative and commutative; the daemon tries that on values.
    """
    return _with_function("pw", functions, identity)


def ps(*functions: Any, identity: Any = None) -> CombineOperator:
    """The prefix sum with f: the result at a point combines all points up to and including it."""
    return _with_function("ps", functions, identity)


def as_combine_operator(value: Any, what: str) -> CombineOperator:
    """`value` itself. Errors: ExpressionError, naming `what`, if it is no combine operator."""
    if isinstance(value, CombineOperator):
        return value
    if isinstance(value, (NamedOperation, CustomFunction)) or callable(value):
        name = getattr(value, "name", getattr(value, "__name__", "f"))
        raise wrong(f"{what} is a function: write pw({name}) or ps({name})")
    raise wrong(f"{what} is {value!r}, not one of cc, pw(f) and ps(f)")


CC, PW, PS = cc, pw, ps
