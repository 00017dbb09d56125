"""Keys of expressions, without a daemon: the canonical form that core/expression/canonical.h defines, and its
digest. One meaning, one text: names are not in it."""

from __future__ import annotations

import hashlib
import math
from typing import Any, Dict, List, Sequence, Tuple

from .types import TYPE_OF_CODE
from .v1 import expression_pb2 as pb

# Operations whose operands may change places.
_COMMUTATIVE = {pb.SCALAR_OP_ADD, pb.SCALAR_OP_MUL, pb.SCALAR_OP_BIT_AND, pb.SCALAR_OP_BIT_OR,
                pb.SCALAR_OP_BIT_XOR, pb.SCALAR_OP_AND, pb.SCALAR_OP_OR, pb.SCALAR_OP_EQ,
                pb.SCALAR_OP_NE, pb.SCALAR_OP_MIN, pb.SCALAR_OP_MAX, pb.SCALAR_OP_FMIN,
                pb.SCALAR_OP_FMAX}

_OPERATION_OF_KIND = {
    pb.POINT_WISE_KIND_ADD: pb.SCALAR_OP_ADD, pb.POINT_WISE_KIND_MUL: pb.SCALAR_OP_MUL,
    pb.POINT_WISE_KIND_MIN: pb.SCALAR_OP_MIN, pb.POINT_WISE_KIND_MAX: pb.SCALAR_OP_MAX,
    pb.POINT_WISE_KIND_AND: pb.SCALAR_OP_AND, pb.POINT_WISE_KIND_OR: pb.SCALAR_OP_OR,
    pb.POINT_WISE_KIND_BIT_AND: pb.SCALAR_OP_BIT_AND,
    pb.POINT_WISE_KIND_BIT_OR: pb.SCALAR_OP_BIT_OR,
    pb.POINT_WISE_KIND_BIT_XOR: pb.SCALAR_OP_BIT_XOR,
    pb.POINT_WISE_KIND_FMIN: pb.SCALAR_OP_FMIN, pb.POINT_WISE_KIND_FMAX: pb.SCALAR_OP_FMAX,
}


def canonical_form(expression: pb.Expression) -> str:
    """Of a valid expression; of one that a daemon would refuse it is of no use."""
    sizes = [dimension.size for dimension in expression.dimensions]
    lines = ["mdh-canonical 1"]
    lines += [f"dimension {size}" for size in sizes]
    result_types = [result.type for result in expression.function.results]
    lines += [f"combine {_combine(combine, result_types)}"
              for combine in expression.combine_operators]
    inputs, read, passed = _joined_inputs(expression, sizes)
    lines += [f"input {_buffer(buffer, sizes)}" for buffer in inputs]
    results = math.prod(
        size for size, combine in zip(sizes, expression.combine_operators)
        if not combine.HasField("point_wise"))
    lines += [f"output {_buffer(buffer, sizes, results)}" for buffer in expression.outputs]
    if expression.index_dimensions:
        lines.append(f"indices {_join(expression.index_dimensions)}")
    lines.append(f"function {_function(expression.function)}")
    if expression.HasField("store"):
        lines += [f"store_input {passed[buffer.name]} {_buffer(buffer, sizes)}" for buffer in read]
        if expression.store.index_dimensions:
            lines.append(f"store_indices {_join(expression.store.index_dimensions)}")
        lines.append(f"store {_function(expression.store.function)}")
    return "\n".join(lines) + "\n"


def digest(expression: pb.Expression) -> str:
    """SHA-256 of the canonical form, 64 hexadecimal digits."""
    return hashlib.sha256(canonical_form(expression).encode()).hexdigest()


def pipeline_form(pipeline: pb.Pipeline) -> str:
    """As canonical_form; core/pipeline/pipeline_canonical.h defines it. Of a valid pipeline in which views
    have the extents of their buffers."""
    return _Steps(pipeline).form()


def pipeline_digest(pipeline: pb.Pipeline) -> str:
    """As digest, of such a pipeline."""
    return hashlib.sha256(pipeline_form(pipeline).encode()).hexdigest()


def passed_inputs(expression: pb.Expression) -> List[pb.Buffer]:
    """What a caller passes: the inputs, then those that only the store function reads."""
    sizes = [dimension.size for dimension in expression.dimensions]
    inputs, read, passed = _joined_inputs(expression, sizes)
    return inputs + [buffer for buffer in read if passed[buffer.name] >= len(inputs)]


class Passed:
    """A buffer that a caller passes, as the view of one who uses it says."""

    def __init__(self, view: pb.Buffer, sizes: Sequence[int], name: str = ""):
        """`sizes`: of the dimensions of who uses it; `name`: default: the view's."""
        self.view = view
        self.name = name or view.name
        self.extents = extents_of(view, sizes)
        self.strides = tuple(view.strides)


class _Steps:
    """The steps of a pipeline in the order of a depth-first walk from the outputs; equal ones are one."""

    def __init__(self, pipeline: pb.Pipeline):
        self._pipeline = pipeline
        self._writer = {output: step for step in pipeline.steps for output in step.outputs}
        inputs = [number for number, buffer in enumerate(pipeline.buffers)
                  if buffer.role == pb.PIPELINE_ROLE_INPUT]
        self._inputs = [f"i{number}" for number in range(len(inputs))]
        self._source = dict(zip(inputs, self._inputs))
        # Canonical forms and what they read, with their numbers.
        self._steps: Dict[Tuple[str, Tuple[str, ...]], int] = {}
        self._outputs = [self._source_of(number) for number, buffer in enumerate(pipeline.buffers)
                         if buffer.role == pb.PIPELINE_ROLE_OUTPUT]

    def _source_of(self, buffer: int) -> str:
        if buffer not in self._source:
            step = self._writer[buffer]
            read = tuple([self._source_of(input_) for input_ in step.inputs])
            number = self._steps.setdefault((canonical_form(step.expression), read), len(self._steps))
            self._source.update({output: f"s{number}.{n}" for n, output in enumerate(step.outputs)})
        return self._source[buffer]

    def form(self) -> str:
        (first, read), *others = self._steps
        results = [f"s0.{n}" for n in range(len(self._pipeline.steps[0].outputs))]
        if not others and list(read) == self._inputs and self._outputs == results:
            return first
        steps = "".join(f"step {','.join(sources)}\n{form}" for form, sources in self._steps)
        return f"mdh-pipeline-canonical 1\n{steps}outputs {','.join(self._outputs)}\n"


def _joined_inputs(expression: pb.Expression, sizes: Sequence[int]
                   ) -> Tuple[List[pb.Buffer], List[pb.Buffer], Dict[str, int]]:
    """Inputs, what the store function reads, and the place of all of them in a call. One that is
    called as an input is that input, of which it takes what it does not say itself."""
    inputs, read = list(expression.inputs), list(expression.store.inputs)
    passed = {buffer.name: number for number, buffer in enumerate(inputs)}
    for number, buffer in enumerate(read):
        place = passed.setdefault(buffer.name, len(passed))
        if place < len(inputs):
            inputs[place], read[number] = _joined(inputs[place], buffer, sizes)
    return inputs, read, passed


def _joined(input_: pb.Buffer, read: pb.Buffer, sizes: Sequence[int]) -> Tuple[pb.Buffer, pb.Buffer]:
    as_input, as_read = pb.Buffer(), pb.Buffer()
    as_input.CopyFrom(input_)
    as_read.CopyFrom(read)
    if not read.extents and not read.strides:
        as_read.extents.extend(input_.extents)
        as_read.strides.extend(input_.strides)
        if input_.HasField("boundary"):
            as_read.boundary.CopyFrom(input_.boundary)
    covering = [max(pair) for pair in zip(extents_of(as_input, sizes), extents_of(as_read, sizes))]
    for buffer in (as_input, as_read):
        if not buffer.extents:
            buffer.extents.extend(covering)
    return as_input, as_read


def _join(values: Any) -> str:
    return ",".join(str(value) for value in values)


def _bytes(value: pb.ScalarValue) -> str:
    """The value in memory, filled up to eight bytes, in hexadecimal digits."""
    alternative = value.WhichOneof("value")
    number = getattr(value, alternative) if alternative else 0
    return _padded(value.type, number)


def _name(type_: int) -> str:
    return TYPE_OF_CODE[type_].name


def _padded(type_: int, number: Any) -> str:
    return TYPE_OF_CODE[type_].memory(number).ljust(8, b"\0").hex()


def _buffer(buffer: pb.Buffer, sizes: Sequence[int], results: int = 0) -> str:
    """`results`: of outputs, what every access writes."""
    fields = [field.type for field in buffer.record] or [buffer.type]
    types = ",".join(_name(field) for field in fields)
    extents = extents_of(buffer, sizes)
    text = ("{" + types + "}" if buffer.record else types) + f"[{_join(extents)}]"
    if buffer.strides and list(buffer.strides) != _row_major(extents):
        text += f"strides[{_join(buffer.strides)}]"
    # A boundary that nothing reaches is none.
    if buffer.HasField("boundary") and _leaves(buffer, extents, sizes):
        if buffer.boundary.HasField("clamp"):
            text += "clamp"
        else:
            text += "constant[" + ",".join(map(_bytes, buffer.boundary.constant.values)) + "]"
    # Where everything is reached, nothing is kept.
    if buffer.keeps_unreached and math.prod(extents) > results * len(buffer.accesses):
        text += "keep"
    for access in buffer.accesses:
        text += "(" + "|".join(
            f"{_join(index.coefficients)}+{index.constant}" for index in access.indices) + ")"
    return text


def _bounds(index: pb.AffineIndex, sizes: Sequence[int]) -> Any:
    """The smallest and the largest value; 0 and -1 where a dimension is empty."""
    if any(c != 0 and size == 0 for c, size in zip(index.coefficients, sizes)):
        return 0, -1
    low = high = index.constant
    for coefficient, size in zip(index.coefficients, sizes):
        span = coefficient * max(size - 1, 0)
        low, high = low + min(span, 0), high + max(span, 0)
    return low, high


def extents_of(buffer: pb.Buffer, sizes: Sequence[int]) -> List[int]:
    """Those that are given, or else the smallest; `sizes`: of the expression's dimensions."""
    if buffer.extents:
        return list(buffer.extents)
    extents = [0] * len(buffer.accesses[0].indices)
    for access in buffer.accesses:
        for number, index in enumerate(access.indices):
            extents[number] = max(extents[number], _bounds(index, sizes)[1] + 1)
    return extents


def _leaves(buffer: pb.Buffer, extents: Sequence[int], sizes: Sequence[int]) -> bool:
    for access in buffer.accesses:
        for extent, index in zip(extents, access.indices):
            low, high = _bounds(index, sizes)
            if low < 0 or high >= extent:
                return True
    return False


def _row_major(extents: Sequence[int]) -> List[int]:
    return [math.prod(extents[number + 1:]) for number in range(len(extents))]


def _combine(combine: pb.CombineOperator, result_types: Sequence[int]) -> str:
    kind = combine.WhichOneof("kind")
    if kind == "concat":
        return "cc"
    operator = getattr(combine, kind)
    if operator.kind == pb.POINT_WISE_KIND_CUSTOM:
        function, identity = operator.function, [_bytes(value) for value in operator.identity]
    else:
        kinds = list(operator.kinds) or [operator.kind] * len(result_types)
        function = _component_wise(kinds, result_types)
        identity = [_padded(t, _identity(k, t)) for k, t in zip(kinds, result_types)]
    text = ("ps " if kind == "prefix_sum" else "pw ") + _function(function)
    return text + (" identity " + ",".join(identity) if identity else "")


def _component_wise(kinds: Sequence[int], types: Sequence[int]) -> pb.ScalarFunction:
    """(a1..aR, b1..bR) -> (c1..cR), each by its operation."""
    function = pb.ScalarFunction()
    count = len(types)
    for number, type_ in enumerate([*types, *types]):
        function.parameters.add(type=type_)
        function.instructions.add(op=pb.SCALAR_OP_PARAMETER, type=type_, parameter=number)
    for number, (kind, type_) in enumerate(zip(kinds, types)):
        function.results.add(type=type_)
        function.instructions.add(op=_OPERATION_OF_KIND[kind], type=type_,
                                  operands=[number, count + number])
        function.result_instructions.append(2 * count + number)
    return function


def _identity(kind: int, type_: int) -> Any:
    type = TYPE_OF_CODE[type_]
    bits, is_signed = 8 * type.size_bytes, type.kind == "int"
    if kind == pb.POINT_WISE_KIND_MUL:
        return 1
    if kind == pb.POINT_WISE_KIND_MIN:
        return math.inf if type.is_floating_point else (1 << (bits - is_signed)) - 1
    if kind == pb.POINT_WISE_KIND_MAX:
        return -math.inf if type.is_floating_point else -(1 << (bits - 1)) if is_signed else 0
    if kind in (pb.POINT_WISE_KIND_FMIN, pb.POINT_WISE_KIND_FMAX):
        return math.nan
    if kind == pb.POINT_WISE_KIND_AND:
        return 1
    return -1 if kind == pb.POINT_WISE_KIND_BIT_AND else 0


class _Numbering:
    """The instructions that results need, in the order of a depth-first walk, with the operands of
    commutative operations ordered by what they compute. Those that compute the same are one."""

    def __init__(self, function: pb.ScalarFunction):
        self._instructions = function.instructions
        self.heads = [_head(instruction) for instruction in function.instructions]
        self._digests: List[str] = []
        first: Dict[str, int] = {}
        self.same_as: List[int] = []  # the first instruction that computes the same
        for number, head in enumerate(self.heads):
            if self._is_idle(number):
                operand = self.same_as[function.instructions[number].operands[0]]
                self._digests.append(self._digests[operand])
                self.same_as.append(operand)
                continue
            text = "".join([head] + ["," + self._digests[o] for o in self.operands(number)])
            self._digests.append(hashlib.sha256(text.encode()).hexdigest())
            self.same_as.append(first.setdefault(self._digests[-1], number))
        self.numbers = [-1] * len(self.heads)
        self.order: List[int] = []
        for result in function.result_instructions:
            self._visit(self.same_as[result])

    def operands(self, number: int) -> List[int]:
        instruction = self._instructions[number]
        operands = [self.same_as[operand] for operand in instruction.operands]
        if instruction.op in _COMMUTATIVE:
            operands.sort(key=lambda operand: self._digests[operand])
        return operands

    def _is_idle(self, number: int) -> bool:
        """A conversion to the type that the value has."""
        instruction = self._instructions[number]
        return instruction.op == pb.SCALAR_OP_CAST and (
            self._instructions[self.operands(number)[0]].type == instruction.type)

    def _visit(self, root: int) -> None:
        stack = [(root, False)]
        while stack:
            number, has_operands = stack.pop()
            if self.numbers[number] >= 0:
                continue
            if has_operands:
                self.numbers[number] = len(self.order)
                self.order.append(number)
                continue
            stack.append((number, True))
            stack += [(operand, False) for operand in reversed(self.operands(number))]


def _head(instruction: pb.ScalarInstruction) -> str:
    head = f"{instruction.op}:{_name(instruction.type)}"
    if instruction.op == pb.SCALAR_OP_PARAMETER:
        head += f":{instruction.parameter}"
    if instruction.op == pb.SCALAR_OP_CONSTANT:
        head += ":" + _bytes(instruction.constant)
    return head + "".join(":" + _bytes(value) for value in instruction.table)


def _function(function: pb.ScalarFunction) -> str:
    numbering = _Numbering(function)
    parameters = ",".join(_name(parameter.type) for parameter in function.parameters)
    results = ",".join(_name(result.type) for result in function.results)
    steps = "".join(
        f"{numbering.heads[number]}("
        f"{_join(numbering.numbers[operand] for operand in numbering.operands(number))});"
        for number in numbering.order)
    numbers = _join(numbering.numbers[numbering.same_as[result]]
                    for result in function.result_instructions)
    return f"({parameters})->({results}){{{steps}=>{numbers}}}"
