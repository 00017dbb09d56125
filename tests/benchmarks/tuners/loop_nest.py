"""Expressions as other tuners can say them: one tensor that is a reduction over a box, and an element-wise function
of it. What they cannot say, or what means something else to them, is an error with its reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Tuple

# Types by the names of numpy, and what reductions begin with.
_TYPES = {"FLOAT32": "float32", "FLOAT64": "float64", "INT32": "int32", "INT64": "int64"}
_OPERATORS = {"ADD": "add", "MUL": "mul", "MIN": "min", "MAX": "max"}
_IDENTITIES = {"add": 0.0, "mul": 1.0, "min": math.inf, "max": -math.inf}


class NestError(Exception):
    """Why an expression cannot be said to a tuner."""


@dataclass(frozen=True)
class Affine:
    """coefficients[d] * i_d + ... + constant."""

    coefficients: Tuple[int, ...]
    constant: int

    def at(self, indices: Sequence[Any]) -> Any:
        """With the objects of a tuner in place of the indices; dimensions of one point are left out."""
        terms = [index if c == 1 else index * c for c, index in zip(self.coefficients, indices) if c != 0]
        value: Any = None
        for term in terms:
            value = term if value is None else value + term
        if value is None:
            return self.constant
        return value + self.constant if self.constant else value


@dataclass(frozen=True)
class Access:
    buffer: int  # number of the input
    indices: Tuple[Affine, ...]


@dataclass(frozen=True)
class Input:
    name: str
    dtype: str
    shape: Tuple[int, ...]
    boundary: str = ""  # "constant" or "clamp": what accesses outside of it read; empty: there are none
    constant: float = 0


@dataclass(frozen=True)
class Function:
    """A straight-line program with one result. `parameters`: an Access, the number of a dimension whose index it is,
    or None for the result of the reduction."""

    parameters: Tuple[Any, ...]
    instructions: Tuple[Dict[str, Any], ...]
    result: int

    def value(self, read: Callable[[Access], Any], indices: Sequence[Any], reduced: Any,
              operations: "Operations") -> Any:
        """The result as an expression of a tuner."""
        values: List[Any] = []
        for one in self.instructions:
            op = one["op"].removeprefix("SCALAR_OP_")
            dtype = dtype_of(one["type"])
            operands = [values[n] for n in one.get("operands", [])]
            if op == "PARAMETER":
                parameter = self.parameters[one.get("parameter", 0)]
                if parameter is None:
                    values.append(reduced)
                elif isinstance(parameter, Access):
                    values.append(read(parameter))
                else:
                    values.append(operations.cast(indices[parameter], dtype))
            elif op == "CONSTANT":
                values.append(operations.constant(_constant(one["constant"]), dtype))
            elif op == "CAST":
                values.append(operations.cast(operands[0], dtype))
            else:
                values.append(operations.apply(op, operands))
        return values[self.result]


class Operations:
    """What a tuner calls operations; `functions`: by the names of scalar operations, of operands."""

    functions: Dict[str, Callable[..., Any]] = {}

    def constant(self, value: Any, dtype: str) -> Any:
        raise NotImplementedError

    def cast(self, value: Any, dtype: str) -> Any:
        raise NotImplementedError

    def apply(self, op: str, operands: Sequence[Any]) -> Any:
        if op not in self.functions:
            raise NestError(f"it has no operation {op.lower()}")
        return self.functions[op](*operands)


ARITHMETIC: Dict[str, Callable[..., Any]] = {
    "ADD": lambda a, b: a + b, "SUB": lambda a, b: a - b, "MUL": lambda a, b: a * b, "DIV": lambda a, b: a / b,
    "NEG": lambda a: -a, "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class LoopNest:
    """`kept`: dimensions of the result, in its order; `operator`: of the reduction over `reduced`, empty if there is
    none."""

    name: str
    sizes: Tuple[int, ...]
    kept: Tuple[int, ...]
    reduced: Tuple[int, ...]
    operator: str
    inputs: Tuple[Input, ...]  # in the order of a call
    function: Function
    function_dtype: str
    store: Any  # a Function, or None
    output_dtype: str

    @property
    def shape(self) -> Tuple[int, ...]:
        return tuple(self.sizes[d] for d in self.kept)

    @property
    def identity(self) -> float:
        return _IDENTITIES[self.operator]

    @property
    def reduction_length(self) -> int:
        return math.prod(self.sizes[d] for d in self.reduced)


def dtype_of(name: str) -> str:
    """Errors: NestError."""
    short = name.removeprefix("SCALAR_TYPE_")
    if short == "BOOL":
        return "bool"
    if short not in _TYPES:
        raise NestError(f"type {short.lower()} is not compared")
    return _TYPES[short]


def _constant(value: Dict[str, Any]) -> Any:
    for key in ("real_value", "int_value", "uint_value", "bool_value"):
        if key in value:
            return float(value[key]) if key == "real_value" else (
                value[key] if key == "bool_value" else int(value[key]))
    return 0


def _affine(index: Dict[str, Any]) -> Affine:
    return Affine(tuple(int(c) for c in index.get("coefficients", [])), int(index.get("constant", 0)))


def _input(buffer: Dict[str, Any]) -> Input:
    if buffer.get("record") or buffer.get("strides"):
        raise NestError("buffers of records and with strides are not compared")
    boundary = buffer.get("boundary", {})
    kind = next(iter(boundary), "")
    values = boundary.get("constant", {}).get("values", [{}])
    return Input(buffer["name"], dtype_of(buffer["type"]), tuple(int(e) for e in buffer.get("extents", [])), kind,
                 float(_constant(values[0])))


def _function(function: Dict[str, Any], parameters: List[Any]) -> Function:
    if len(function["result_instructions"]) != 1:
        raise NestError("it has several results")
    return Function(tuple(parameters), tuple(function["instructions"]), function["result_instructions"][0])


def _accesses(buffers: List[Dict[str, Any]], numbers: List[int]) -> List[Access]:
    return [Access(number, tuple(_affine(index) for index in access.get("indices", [])))
            for number, buffer in zip(numbers, buffers) for access in buffer["accesses"]]


def _reduction(operators: List[Dict[str, Any]]) -> Tuple[Tuple[int, ...], str]:
    """The reduced dimensions, and by what."""
    if any("prefix_sum" in operator for operator in operators):
        raise NestError("prefix sums are not compared")
    reduced = tuple(d for d, operator in enumerate(operators) if "point_wise" in operator)
    kinds = {operators[d]["point_wise"].get("kind", "").removeprefix("POINT_WISE_KIND_") for d in reduced}
    if not kinds:
        return (), ""
    if len(kinds) > 1 or not kinds <= set(_OPERATORS):
        raise NestError("its combine operator is not compared: " + ", ".join(sorted(kinds)).lower())
    return reduced, _OPERATORS[kinds.pop()]


def _kept(output: Dict[str, Any], sizes: Tuple[int, ...], reduced: Tuple[int, ...]) -> Tuple[int, ...]:
    """The dimensions that the indices of the output are, one each."""
    if output.get("record") or output.get("strides") or len(output["accesses"]) != 1:
        raise NestError("its output is not a plain tensor")
    kept: List[int] = []
    for index, extent in zip(output["accesses"][0].get("indices", []), output.get("extents", [])):
        affine = _affine(index)
        used = [d for d, c in enumerate(affine.coefficients) if c != 0]
        if len(used) != 1 or affine.coefficients[used[0]] != 1 or affine.constant or sizes[used[0]] != int(extent):
            raise NestError("its output is not written element by element")
        kept.append(used[0])
    if sorted((*kept, *reduced)) != list(range(len(sizes))):
        raise NestError("its output is not written element by element")
    return tuple(kept)


def nest_of(expression: Dict[str, Any]) -> LoopNest:
    """Of what `mdh print --format json` prints. Errors: NestError."""
    if "steps" in expression:
        raise NestError("pipelines are not compared")
    if len(expression["outputs"]) != 1:
        raise NestError("it has several outputs")
    sizes = tuple(int(d.get("size", 0)) for d in expression["dimensions"])
    reduced, operator = _reduction(expression["combine_operators"])
    buffers = list(expression.get("inputs", []))
    parameters: List[Any] = [*_accesses(buffers, list(range(len(buffers)))),
                             *expression.get("index_dimensions", [])]
    store = expression.get("store")
    store_function = None
    if store:
        numbers = []
        for buffer in store.get("inputs", []):
            known = [n for n, other in enumerate(buffers) if other["name"] == buffer["name"]]
            if not known:
                buffers.append(buffer)
            numbers.append(known[0] if known else len(buffers) - 1)
        store_function = _function(store["function"], [
            None, *_accesses(store.get("inputs", []), numbers), *store.get("index_dimensions", [])])
    output = expression["outputs"][0]
    function = expression["function"]
    return LoopNest(
        name=expression["name"], sizes=sizes, kept=_kept(output, sizes, reduced), reduced=reduced, operator=operator,
        inputs=tuple(_input(buffer) for buffer in buffers), function=_function(function, parameters),
        function_dtype=dtype_of(function["results"][0]["type"]), store=store_function,
        output_dtype=dtype_of(output["type"]))
