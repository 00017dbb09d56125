"""Puts the parts of an expression together: all front ends end here."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .elements import Arguments, Results, Slot, parameter, scalars
from .errors import SourceLocation, count, start_of, wrong
from .expression import Expression
from .operators import CombineOperator, CustomFunction
from .program import Result, named_kind, parameters_used, result_type, scalar_value, to_function
from .trace import RecordValue, Value, cast, check_operation
from .types import Record, ScalarType, as_scalar_type, fields_of
from .v1 import expression_pb2 as pb
from .views import BufferUse

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_RESERVED = ("true", "false", "inf", "nan", "let")


@dataclass
class StoreParts:
    """The store function before it is put together."""

    results: List[Any]  # one element per result of f: what `parameter` gave
    inputs: List[BufferUse]
    arguments: List[Any]  # one element per access of them
    stored: List[Value]  # one per output access and field
    indices: Dict[int, Value] = field(default_factory=dict)  # by dimension
    function_name: str = "s"
    location: Optional[SourceLocation] = None


@dataclass
class Parts:
    """An expression before it is put together."""

    name: str
    dimensions: List[Tuple[str, int]]
    inputs: List[BufferUse]
    outputs: List[BufferUse]
    arguments: List[Any]  # one element per input access: what `parameter` gave
    results: List[Value]  # one per field of result_slots
    operators: List[CombineOperator]
    indices: Dict[int, Value] = field(default_factory=dict)  # of f, by dimension
    accumulate: Dict[str, Any] = field(default_factory=dict)
    function_name: str = "f"
    location: Optional[SourceLocation] = None  # of the whole
    operators_location: Optional[SourceLocation] = None
    store: Optional[StoreParts] = None
    finished: Sequence[Slot] = ()  # results with names and types of their own, for a store function

    @property
    def result_slots(self) -> Sequence[Slot]:
        """What f gives: one per output access without a store function."""
        return self.finished or slots(self.outputs)


def slots(buffers: Sequence[BufferUse]) -> List[Slot]:
    """One per access of every buffer, in order."""
    return [Slot(b.name, n, len(b.accesses), b.type)
            for b in buffers for n in range(len(b.accesses))]


def call_scalar_function(function: Callable[..., Any], arguments: Sequence[Any], what: str) -> None:
    """Runs `function` on as many of the arguments as it takes. Errors: ExpressionError."""
    plain = function.function if isinstance(function, CustomFunction) else function
    try:
        taken = len(inspect.signature(plain).parameters)
    except (TypeError, ValueError):
        taken = 0
    required = 3 if what.startswith("res") else 2
    if not required <= taken <= len(arguments):
        raise wrong(f"'{getattr(plain, '__name__', plain)}' takes {count(taken, 'argument')}, not "
                    f"({what})", start_of(plain))
    plain(*arguments[:taken])


def assemble(parts: Parts) -> Expression:
    """The expression. Errors: ExpressionError at the user's line."""
    _check_names(parts)
    proto = pb.Expression(name=parts.name if parts.name != "<lambda>" else "expression")
    for name, size in parts.dimensions:
        proto.dimensions.add(name=name, size=size)
    for buffer in parts.inputs:
        if buffer.keep:
            raise wrong(f"input '{buffer.name}' keeps what is not written, which is for outputs",
                        buffer.location)
        proto.inputs.append(_buffer(buffer))
    for buffer in parts.outputs:
        if buffer.boundary is not None:
            raise wrong(f"output '{buffer.name}' has a boundary, which is for inputs",
                        buffer.location)
        proto.outputs.append(_buffer(buffer))
    results = _results(parts)
    proto.index_dimensions.extend(_indices_used(parts.indices, results))
    elements = list(zip(slots(parts.inputs), parts.arguments))
    parameters = _parameters(parts, parts.result_slots, elements, parts.indices, results)
    function_name = _name_of_function(parts.function_name)
    proto.function.CopyFrom(to_function(function_name, parameters, results, parts.location))
    for combine in parts.operators:
        proto.combine_operators.append(_combine_operator(combine, results, parts))
    if parts.store is not None:
        _write_store(proto.store, parts, parts.store)
    return Expression(proto, parts.location)


def _write_store(proto: pb.StoreFunction, parts: Parts, store: StoreParts) -> None:
    for buffer in store.inputs:
        _check_not_reduced(parts, buffer)
        proto.inputs.append(_buffer(buffer))
    stored = [(slot.identifier + suffix, value, declared) for (slot, suffix, declared), value in zip(
        ((s, *f) for s in slots(parts.outputs) for f in fields_of(s.type)), store.stored)]
    for dimension in _indices_used(store.indices, stored):
        if parts.operators[dimension].kind == "pw":
            raise wrong(_used_once(f"takes '{parts.dimensions[dimension][0]}'",
                                   parts.dimensions[dimension][0]),
                        store.indices[dimension].location)
        proto.index_dimensions.append(dimension)
    elements = list(zip(parts.finished, store.results))
    elements += zip(slots(store.inputs), store.arguments)
    parameters = _parameters(parts, slots(parts.outputs), elements, store.indices, stored)
    name = _name_of_function(store.function_name, "s")
    proto.function.CopyFrom(to_function(name, parameters, stored, store.location))


def _check_not_reduced(parts: Parts, buffer: BufferUse) -> None:
    for number, access in enumerate(buffer.accesses):
        for index in access:
            for dimension in index.dimensions():
                if parts.operators[dimension].kind == "pw":
                    name = parts.dimensions[dimension][0]
                    raise wrong(_used_once(f"reads '{buffer.name}' at '{name}'", name),
                                buffer.location_of(number))


def _used_once(what: str, dimension: str) -> str:
    return (f"the store function {what}, along which results are reduced: there is one result for all "
            f"'{dimension}', and what depends on '{dimension}' belongs in the scalar function")


def _check_names(parts: Parts) -> None:
    named = [(n, "a dimension", parts.location) for n, _ in parts.dimensions]
    if parts.name != "<lambda>":
        named.append((parts.name, "an expression", parts.location))
    buffers = set()
    read = {buffer.name for buffer in parts.inputs}
    only_stored = [b for b in parts.store.inputs if b.name not in read] if parts.store else []
    for buffer in parts.inputs + parts.outputs + only_stored:
        named.append((buffer.name, "a buffer", buffer.location))
        if isinstance(buffer.type, Record):
            named += [(name, "a field", buffer.location) for name in buffer.type.fields]
        if buffer.name in buffers:
            raise wrong(f"there are two buffers called '{buffer.name}'", buffer.location)
        buffers.add(buffer.name)
    for name, what, location in named:
        if not _IDENTIFIER.match(name) or name in _RESERVED:
            raise wrong(f"'{name}' cannot be the name of {what}", location)
    if not parts.dimensions:
        raise wrong("an expression needs at least one dimension", parts.location)


def _name_of_function(name: str, instead: str = "f") -> str:
    return name if _IDENTIFIER.match(name) and name not in _RESERVED else instead


def _indices_used(indices: Dict[int, Value], results: Sequence[Result]) -> List[int]:
    used = parameters_used([value for _, value, _ in results])
    return sorted(d for d, value in indices.items() if id(value) in used)


def _buffer(use: BufferUse) -> pb.Buffer:
    use.check_rank()
    proto = pb.Buffer(name=use.name)
    if isinstance(use.type, Record):
        for name, type_ in use.type.fields.items():
            proto.record.add(name=name, type=type_.code)
    else:
        proto.type = use.type.code
    proto.extents.extend(use.shape or [])
    proto.strides.extend(use.strides or [])
    proto.keeps_unreached = use.keep
    for access in use.accesses:
        function = proto.accesses.add()
        for index in access:
            function.indices.add(coefficients=index.coefficients, constant=index.constant)
    if use.boundary is not None:
        _add_boundary(proto, use)
    return proto


def _add_boundary(proto: pb.Buffer, use: BufferUse) -> None:
    if use.boundary.values is None:
        proto.boundary.clamp.SetInParent()
        return
    fields = fields_of(use.type)
    if len(fields) != len(use.boundary.values):
        given = count(len(use.boundary.values), "value")
        raise wrong(f"the boundary of '{use.name}' has {given}, its elements have {len(fields)}",
                    use.location)
    for (_, type_), number in zip(fields, use.boundary.values):
        proto.boundary.constant.values.append(scalar_value(type_, number))


def _results(parts: Parts) -> List[Result]:
    """Name, value and declared type of every result of f, converted as `accumulate` says."""
    results = []
    values = iter(parts.results)
    for slot in parts.result_slots:
        for suffix, declared in fields_of(slot.type):
            value = next(values)
            wanted = accumulated_type(parts.accumulate, slot.buffer, suffix)
            if wanted is not None and value.type is not wanted:
                value = cast(wanted, value)
            results.append((slot.identifier + suffix, value, declared))
    return results


def accumulated_type(
    accumulate: Dict[str, Any], buffer: str, suffix: str = ""
) -> Optional[ScalarType]:
    """The type in which results for a buffer (or its field ".x") are combined, if it is given."""
    type_ = accumulate.get(buffer)
    if type_ is None:
        return None
    if isinstance(type_, Record):
        return type_.fields.get(suffix[1:])
    return as_scalar_type(type_, f"accumulate's '{buffer}'")


def _parameters(
    parts: Parts, targets: Sequence[Slot], elements: Sequence[Tuple[Slot, Any]],
    indices: Dict[int, Value], results: Sequence[Result],
) -> List[Tuple[str, Value]]:
    """Of a function of `elements` and of the indices that `results` use, under names of their own.
    `targets`: what it assigns."""
    taken = {slot.identifier for slot in targets}
    parameters = []

    def distinct(name: str) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    for slot, element in elements:
        name = distinct(slot.identifier)
        parameters += [(name + suffix, value) for suffix, value in scalars(element)]
    for dimension in _indices_used(indices, results):
        name = distinct(parts.dimensions[dimension][0])
        parameters.append((name, indices[dimension]))
    return parameters


def _combine_operator(
    combine: CombineOperator, results: Sequence[Result], parts: Parts
) -> pb.CombineOperator:
    proto = pb.CombineOperator()
    if combine.kind == "cc":
        proto.concat.SetInParent()
        return proto
    target = proto.point_wise if combine.kind == "pw" else proto.prefix_sum
    if combine.custom is not None:
        _write_custom(target, combine, results, parts)
        return proto
    location = parts.operators_location or parts.location
    if len(combine.named) not in (1, len(results)):
        raise wrong(f"{combine} has {count(len(combine.named), 'operation')} for "
                    f"{count(len(results), 'result')}", location)
    operations = combine.named * (len(results) if len(combine.named) == 1 else 1)
    for operation, result in zip(operations, results):
        check_operation(operation.operation, result_type(result), location,
                        f"{combine} on '{result[0]}': ")
    _write_kinds(target, [operation.kind for operation in operations])
    return proto


def _write_kinds(target: pb.PointWise, kinds: Sequence[str]) -> None:
    numbers = [pb.PointWiseKind.Value("POINT_WISE_KIND_" + kind) for kind in kinds]
    if len(set(numbers)) == 1:
        target.kind = numbers[0]
    else:
        target.kinds.extend(numbers)


def _write_custom(
    target: pb.PointWise, combine: CombineOperator, results: Sequence[Result], parts: Parts
) -> None:
    """A user's function; if it is one of the named operations on every result, it is that one."""
    function = _trace_operator(combine.custom, results, parts)
    kinds = [named_kind(function, r) for r in range(len(results))]
    if combine.identity is None and None not in kinds:
        _write_kinds(target, kinds)
        return
    target.kind = pb.POINT_WISE_KIND_CUSTOM
    target.function.CopyFrom(function)
    if combine.identity is not None:
        location = start_of(getattr(combine.custom, "function", combine.custom))
        for number, result in zip(_identity(combine.identity, parts, location), results):
            target.identity.append(scalar_value(result_type(result), number))


def _trace_operator(
    custom: Callable[..., Any], results: Sequence[Result], parts: Parts
) -> pb.ScalarFunction:
    plain = getattr(custom, "function", custom)
    name, location = getattr(plain, "__name__", "combine"), start_of(plain)
    types = iter(results)
    operand_slots = []
    for slot in parts.result_slots:
        scalar_types = {suffix[1:]: result_type(next(types)) for suffix, _ in fields_of(slot.type)}
        type_ = Record(**scalar_types) if isinstance(slot.type, Record) else scalar_types[""]
        operand_slots.append(Slot(slot.buffer, slot.number, slot.count, type_))
    sides, parameters = [], []
    for side in ("lhs", "rhs"):
        values = [parameter(slot) for slot in operand_slots]
        sides.append(Arguments(operand_slots, values))
        for slot, value in zip(operand_slots, values):
            parameters += [(f"{slot.identifier}_{side}{s}", v) for s, v in scalars(value)]
    combined = Results(operand_slots)
    call_scalar_function(plain, (combined, *sides), "res, lhs, rhs")
    traced: List[Result] = []
    for value, result in zip(combined.collect(name, location), results):
        type_ = result_type(result)
        if value.type is not None and value.type is not type_:
            raise wrong(f"'{name}' gives '{result[0]}' the type {value.type}, but it combines "
                        f"values of type {type_}; convert it, as in {type_}(...)", value.location)
        traced.append((result[0], value, type_))
    return to_function(_name_of_function(name), parameters, traced, location)


def _identity(identity: Any, parts: Parts, location: Optional[SourceLocation]) -> List[Any]:
    """One number per result from a number, a tuple, or a dict by output (and field)."""
    outputs = parts.result_slots
    if isinstance(identity, dict):
        elements: List[Any] = []
        for slot in outputs:
            if slot.buffer not in identity:
                raise wrong(f"identity has no value for '{slot.buffer}'", location)
            value = identity[slot.buffer]
            elements.append(value[slot.number] if slot.count > 1 else value)
    elif isinstance(identity, (tuple, list)):
        elements = list(identity)
    else:
        elements = [identity]
    numbers: List[Any] = []
    for element in elements:
        if isinstance(element, RecordValue):
            element = {name: value.payload for name, value in element.fields.items()}
        numbers += list(element.values()) if isinstance(element, dict) else [element]
    results = sum(len(fields_of(slot.type)) for slot in outputs)
    if len(numbers) != results:
        raise wrong(f"identity has {count(len(numbers), 'value')} for {count(results, 'result')}",
                    location)
    for number in numbers:
        if not isinstance(number, (bool, int, float)):
            raise wrong(f"identity has {number!r}, which is no number", location)
    return numbers
