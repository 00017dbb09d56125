"""From symbolic values to the straight-line program of mdh.v1.ScalarFunction."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from .errors import SourceLocation, reading, wrong
from .trace import Value, check_operation
from .types import Number, ScalarType, bool_
from .v1 import expression_pb2 as pb

# A named value, and the type that it takes if it consists of literals only.
Result = Tuple[str, Value, ScalarType]


def result_type(result: Result) -> ScalarType:
    """The type of a result: that of its value, or of what it is assigned to."""
    return result[1].type if result[1].type is not None else result[2]


def parameters_used(values: Sequence[Value]) -> Set[int]:
    """The ids of the parameters that `values` depend on."""
    seen: Set[int] = set()
    used: Set[int] = set()
    open_ = list(values)
    while open_:
        value = open_.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value.op == "PARAMETER":
            used.add(id(value))
        open_.extend(value.operands)
    return used


def scalar_value(type_: ScalarType, number: Number) -> pb.ScalarValue:
    """A number as a value of `type_`. Errors: ExpressionError if it is none."""
    converted = type_.value(number)
    field = {"bool": "bool_value", "int": "int_value", "uint": "uint_value", "fp": "real_value"}
    return pb.ScalarValue(type=type_.code, **{field[type_.kind]: converted})


class _Writer:
    """Writes instructions in order of evaluation; every value once per type it is used in."""

    def __init__(
        self, name: str, parameters: Sequence[Tuple[str, Value]],
        location: Optional[SourceLocation],
    ):
        self.name = name
        self.location = location
        self.function = pb.ScalarFunction()
        self.numbers: Dict[Tuple[int, str], int] = {}
        self.parameters = {id(value): n for n, (_, value) in enumerate(parameters)}

    def write(self, root: Value, type_: ScalarType) -> int:
        """The number of the instruction that computes `root` in `type_`."""
        stack: List[Tuple[Value, ScalarType, bool]] = [(root, type_, False)]
        while stack:
            value, wanted, are_operands_done = stack.pop()
            wanted = value.type if value.type is not None else wanted
            if (id(value), wanted.name) in self.numbers:
                continue
            operands = list(zip(value.operands, _operand_types(value, wanted)))
            if not are_operands_done and operands:
                stack.append((value, wanted, True))
                stack.extend((o, t, False) for o, t in reversed(operands))
                continue
            self._append(value, wanted, operands)
        return self.numbers[(id(root), (root.type or type_).name)]

    def _append(
        self, value: Value, type_: ScalarType, operands: List[Tuple[Value, ScalarType]]
    ) -> None:
        instruction = self.function.instructions.add()
        instruction.op = pb.ScalarOp.Value("SCALAR_OP_" + value.op)
        instruction.type = type_.code
        for operand, operand_type in operands:
            instruction.operands.append(self.numbers[(id(operand), operand_type.name)])
        if value.op == "PARAMETER":
            if id(value) not in self.parameters:
                raise wrong(f"'{self.name}' uses '{value.payload}', a value of another function",
                            self.location)
            instruction.parameter = self.parameters[id(value)]
        elif value.op in ("CONSTANT", "TABLE"):
            self._append_constants(instruction, value, type_)
        elif value.type is None and value.op != "SELECT":
            check_operation(value.op, type_, value.location)
            if value.op == "DIV" and type_.is_integer:
                raise wrong(f"'/' of literals divides in their context's type, which is {type_} here: "
                            "use // to round down", value.location)
        self.numbers[(id(value), type_.name)] = len(self.function.instructions) - 1

    @staticmethod
    def _append_constants(instruction: Any, value: Value, type_: ScalarType) -> None:
        with reading(value.location):
            if value.op == "CONSTANT":
                instruction.constant.CopyFrom(scalar_value(type_, value.payload))
            else:
                instruction.table.extend(scalar_value(type_, v) for v in value.payload)


def _operand_types(value: Value, type_: ScalarType) -> List[ScalarType]:
    """The types in which the operands of `value` are computed if it is computed in `type_`."""

    def type_of(operand: Value, wanted: ScalarType) -> ScalarType:
        return operand.type if operand.type is not None else wanted

    if value.op in ("EQ", "NE", "LT", "LE", "GT", "GE"):
        type_ = value.payload
    wanted = [type_] * len(value.operands)
    if value.op == "SELECT":
        wanted[0] = bool_
    return [type_of(operand, t) for operand, t in zip(value.operands, wanted)]


def to_function(
    name: str,
    parameters: Sequence[Tuple[str, Value]],
    results: Sequence[Result],
    location: Optional[SourceLocation] = None,
) -> pb.ScalarFunction:
    """The program that computes `results` from `parameters`, which are all listed, used or not.

    `location`: where the function is defined.

    Errors: ExpressionError, at the line of the operation, for literals that their type lacks.
    """
    writer = _Writer(name, parameters, location)
    function = writer.function
    function.name = name
    for parameter_name, value in parameters:
        function.parameters.add(name=parameter_name, type=value.type.code)
    for result in results:
        type_ = result_type(result)
        function.results.add(name=result[0], type=type_.code)
        function.result_instructions.append(writer.write(result[1], type_))
    return function


def named_kind(function: pb.ScalarFunction, result: int) -> Optional[str]:
    """The kind of named operation that `function` is on its result of that number, if it is one.

    Of a function of 2R parameters, R left ones and R right ones, and R results.
    """
    count = len(function.results)
    instruction = function.instructions[function.result_instructions[result]]
    kind = pb.ScalarOp.Name(instruction.op)[len("SCALAR_OP_"):]
    if kind not in ("ADD", "MUL", "MIN", "MAX", "AND", "OR", "BIT_AND", "BIT_OR", "BIT_XOR",
                    "FMIN", "FMAX"):
        return None
    operands = [function.instructions[o] for o in instruction.operands]
    if any(o.op != pb.SCALAR_OP_PARAMETER for o in operands):
        return None
    sides = [o.parameter for o in operands]
    return kind if sorted(sides) == [result, count + result] else None
