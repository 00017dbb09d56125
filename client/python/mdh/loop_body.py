"""The statements of sequential loops: what the innermost one gives, and what is made of its results."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from . import operators, trace
from .assemble import accumulated_type
from .elements import Indices, Slot, parameter, scalars
from .errors import ExpressionError, SourceLocation, reading, wrong
from .loop_source import Nest
from .loop_values import LoopValues, Place, same_access
from .program import parameters_used
from .trace import Value
from .types import Record, ScalarType, fields_of
from .views import Buffer, BufferUse

# Operations that `w[i] = w[i] op value`, `w[i] op= value` and `w[i] = max(w[i], value)` combine by.
_COMBINING = {ast.Add: operators.add, ast.Mult: operators.mul, ast.BitAnd: operators.bit_and,
              ast.BitOr: operators.bit_or, ast.BitXor: operators.bit_xor}


@dataclass
class Write:
    """An assignment to a scalar of an output or of an accumulator."""

    value: Value
    combining: Optional[operators.NamedOperation]  # None: plain assignment
    location: SourceLocation


class LoopBody(LoopValues):
    """The statements of the innermost loop. They write outputs, and accumulators: local variables that
    statements behind the loop read."""

    def __init__(
        self, nest: Nest, outputs: Dict[str, BufferUse], inputs: Dict[str, Buffer], indices: Indices
    ):
        super().__init__(nest, len(nest.names), outputs, inputs, indices)
        self.writes: Dict[Place, Write] = {}
        self.run(nest.before_body())
        self.run(nest.body)

    def results(self, accumulate: Dict[str, Any]) -> Tuple[List[Slot], List[Write]]:
        """What statements behind the loop can read, in order of the first assignments; the types are
        those in which it is combined."""
        found: List[Slot] = []
        writes: List[Write] = []
        for name, number in dict.fromkeys(place[:2] for place in self.writes):
            suffixes = [suffix for other, n, suffix in self.writes if (other, n) == (name, number)]
            types: Dict[str, ScalarType] = {}
            if name in self.outputs:
                types = dict(fields_of(self.outputs[name].type))
                suffixes = list(types)
            count = len(self.outputs[name].accesses) if name in self.outputs else 1
            for suffix in suffixes:
                write = self.writes.get((name, number, suffix))
                if write is None:
                    label = Slot(name, number, count, self.outputs[name].type).label
                    raise wrong(f"{label}{suffix} is not assigned", self.source.location)
                type_ = accumulated_type(accumulate, name, suffix) or write.value.type
                if type_ is None and name not in self.outputs:
                    raise wrong(f"'{name}' is a number without a type: give it one, as in fp32(1)",
                                write.location)
                types[suffix] = type_ or types[suffix]
                writes.append(write)
            type_of_all = types[""] if "" in types else Record(
                **{suffix[1:]: type_ for suffix, type_ in types.items()})
            found.append(Slot(name, number, count, type_of_all))
        return found, writes

    def _is_accumulator(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.nest.accumulators

    def _is_local(self, target: ast.expr) -> bool:
        return super()._is_local(target) and not self._is_accumulator(target)

    def _varies(self, node: ast.expr) -> bool:
        return super()._varies(node) or any(map(self._is_accumulator, ast.walk(node)))

    def _value_of_Name(self, node: ast.Name) -> Any:
        if self._is_accumulator(node):
            raise self.source.error(node, f"'{node.id}' is read behind this loop, where it is one result "
                                    f"for all iterations: here it can only be combined, as in "
                                    f"'{node.id} += x' or '{node.id} = max({node.id}, x)'")
        return super()._value_of_Name(node)

    def _place(self, target: ast.expr) -> Place:
        return (target.id, 0, "") if self._is_accumulator(target) else self.output_place(target)

    def _assign_output(self, target: ast.expr, value: ast.expr) -> None:
        place = self._place(target)
        combining, operand = self._split_combination(place, value)
        self._write(place, self.value(operand), combining, target)

    def _augment_output(self, statement: ast.AugAssign) -> None:
        place = self._place(statement.target)
        combining = _COMBINING.get(type(statement.op))
        if combining is None:
            raise self.source.error(statement, "this is no associative operation: loops can be "
                                    "reduced by +=, *=, &=, |=, ^=, min and max")
        self._write(place, self.value(statement.value), combining, statement.target)

    def _split_combination(
        self, place: Place, value: ast.expr
    ) -> Tuple[Optional[operators.NamedOperation], ast.expr]:
        """Of w[i] = w[i] + x, or w[i] = max(w[i], x), the operation and x; else None and all."""
        operands: List[ast.expr] = []
        operation = None
        if isinstance(value, ast.BinOp) and type(value.op) in _COMBINING:
            operation, operands = _COMBINING[type(value.op)], [value.left, value.right]
        elif isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)):
            called = self.callable_of(value.func)
            if isinstance(called, operators.NamedOperation) and len(value.args) == 2:
                operation, operands = called, list(value.args)
        for operand, other in (operands, operands[::-1]) if operands else ():
            if self._is_place(operand, place):
                return operation, other
        return None, value

    def _is_place(self, node: ast.expr, place: Place) -> bool:
        try:
            base, suffix = (node.value, "." + node.attr) if isinstance(
                node, ast.Attribute) else (node, "")
            if self._is_accumulator(base):
                return (base.id, suffix) == (place[0], place[2])
            named = self._subscripted(base)
            if named is None or (named[0], suffix) != (place[0], place[2]):
                return False
            access = self.outputs[place[0]].accesses[place[1]]
            return same_access(self._access(named[1]), access)
        except ExpressionError:
            return False

    def _write(
        self, place: Place, value: Any,
        combining: Optional[operators.NamedOperation], target: ast.expr,
    ) -> None:
        for key, scalar in self.scalars_at(place, value, target):
            if key in self.writes:
                raise self.source.error(target, f"this element of '{place[0]}' is assigned twice; "
                                        "use a local variable")
            is_bool = combining in (operators.bit_and, operators.bit_or) and (
                trace.as_value(scalar).type is trace.bool_)
            if is_bool:
                combining = (operators.and_ if combining is operators.bit_and else operators.or_)
            self.writes[key] = Write(trace.as_value(scalar), combining, self.source.locate(target))


class StoreBody(LoopValues):
    """The statements behind the loops that are reduced: they make outputs of the results."""

    def __init__(
        self, nest: Nest, outputs: Dict[str, BufferUse], inputs: Dict[str, Buffer], indices: Indices,
        body: LoopBody, finished: List[Slot],
    ):
        super().__init__(nest, nest.outer, outputs, inputs, indices)
        self.results = [parameter(slot) for slot in finished]
        self._written: Dict[Place, Value] = {}
        self._places: Dict[Place, SourceLocation] = {}  # of the assignments
        self.run(nest.before_store())
        for slot, element in zip(finished, self.results):
            write = next(write for place, write in body.writes.items()
                         if place[:2] == (slot.buffer, slot.number))
            if slot.buffer not in outputs:
                self._locals[slot.buffer] = self._from_start(slot, element, write)
                self._affine_locals.pop(slot.buffer, None)
                continue
            for suffix, value in scalars(element):
                self._written[(slot.buffer, slot.number, suffix)] = value
        self.run(nest.after)
        self._check_nothing_is_lost(finished)

    def stored(self, place: Place) -> Optional[Value]:
        """What is stored there in the end."""
        return self._written.get(place)

    def _check_nothing_is_lost(self, finished: List[Slot]) -> None:
        used = parameters_used(list(self._written.values()))
        for slot, element in zip(finished, self.results):
            if slot.buffer in self.outputs and not any(id(v) in used for _, v in scalars(element)):
                place = next(p for p in self._places if p[:2] == (slot.buffer, slot.number))
                raise wrong(f"this overwrites what the loop over '{self.nest.names[self.nest.outer]}' has "
                            f"made of {slot.label}, and nothing reads that", self._places[place])

    def _from_start(self, slot: Slot, result: Any, write: Write) -> Any:
        """The value of an accumulator behind the loop. One that does not start at the neutral element
        is combined with its start."""
        start = self._locals.get(slot.buffer)
        operation = write.combining
        if operation is None and start is not None:
            raise wrong(f"'{slot.buffer}' is overwritten in the loops: leave out where it is set before "
                        "them, or combine values with it, as by +=", write.location)
        if operation is None:
            return result
        if start is None:
            raise wrong(f"'{slot.buffer}' has no value before the first iteration: set it before the loop "
                        f"over '{self.nest.names[self.nest.outer]}', as in {slot.buffer} = "
                        f"{_written(_neutral(operation, slot.type))}", write.location)
        with reading(self.nest.start_of(slot.buffer)):
            started = trace.binary(operation.operation, start, result)
            return result if _is_neutral(operation, start, slot.type) else started

    def _assign_output(self, target: ast.expr, value: ast.expr) -> None:
        place = self.output_place(target)
        for key, scalar in self.scalars_at(place, self.value(value), target):
            self._written[key] = scalar
            self._places[key] = self.source.locate(target)

    def _read_output(self, name: str, indices: Any, node: ast.expr) -> Any:
        """An element that was assigned before, as its type holds it."""
        use, access = self.outputs[name], self._access(indices)
        number = next((n for n, known in enumerate(use.accesses) if same_access(known, access)), -1)
        values = {}
        for suffix, type_ in fields_of(use.type):
            value = self._written.get((name, number, suffix))
            if value is None:
                raise self.source.error(node, f"this element of '{name}' has not been assigned: former "
                                        "contents of outputs play no role")
            values[suffix[1:]] = value if value.type is type_ else trace.cast(type_, value)
        return trace.RecordValue(use.type, values) if isinstance(use.type, Record) else values[""]


def _constant(value: Value) -> Any:
    if value.op == "CAST" and value.type is not None:
        number = _constant(value.operands[0])
        return None if number is None else value.type.value(number)
    return value.payload if value.op == "CONSTANT" else None


def _neutral(operation: operators.NamedOperation, type_: ScalarType) -> Any:
    bits = 8 * type_.size_bytes
    lowest, highest = {"int": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1), "uint": (0, 2 ** bits - 1)}.get(
        type_.kind, (float("-inf"), float("inf")))
    return {"MUL": 1, "MAX": lowest, "MIN": highest, "AND": True, "OR": False, "FMAX": float("nan"),
            "FMIN": float("nan"), "BIT_AND": -1 if type_.kind == "int" else highest}.get(operation.kind, 0)


def _written(number: Any) -> str:
    return f"float('{number}')" if isinstance(number, float) else str(number)


def _is_neutral(operation: operators.NamedOperation, start: Value, type_: ScalarType) -> bool:
    number, neutral = _constant(start), _neutral(operation, type_)
    if number is None:
        return False
    number = type_.value(number)
    return number == neutral or (number != number and neutral != neutral)
