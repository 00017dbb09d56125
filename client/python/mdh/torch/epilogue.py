"""What an epilogue makes of the sums of a contraction, computed by PyTorch: its autograd knows the gradient."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

import torch

from ..errors import wrong
from ..types import TYPE_OF_CODE
from ..v1 import expression_pb2 as pb

_OPERATIONS: Dict[int, Callable[..., Any]] = {
    pb.SCALAR_OP_SELECT: torch.where, pb.SCALAR_OP_NEG: torch.neg, pb.SCALAR_OP_NOT: torch.logical_not,
    pb.SCALAR_OP_ABS: torch.abs, pb.SCALAR_OP_SQRT: torch.sqrt, pb.SCALAR_OP_RSQRT: torch.rsqrt,
    pb.SCALAR_OP_EXP: torch.exp, pb.SCALAR_OP_LOG: torch.log, pb.SCALAR_OP_LOG2: torch.log2,
    pb.SCALAR_OP_TANH: torch.tanh, pb.SCALAR_OP_FLOOR: torch.floor, pb.SCALAR_OP_CEIL: torch.ceil,
    pb.SCALAR_OP_SIN: torch.sin, pb.SCALAR_OP_COS: torch.cos, pb.SCALAR_OP_ROUND: torch.round,
    pb.SCALAR_OP_TRUNC: torch.trunc, pb.SCALAR_OP_ERF: torch.erf, pb.SCALAR_OP_EXP2: torch.exp2,
    pb.SCALAR_OP_LOG1P: torch.log1p, pb.SCALAR_OP_EXPM1: torch.expm1,
    pb.SCALAR_OP_CBRT: lambda x: torch.sign(x) * torch.abs(x).pow(1 / 3),
    pb.SCALAR_OP_ADD: torch.add, pb.SCALAR_OP_SUB: torch.sub, pb.SCALAR_OP_MUL: torch.mul,
    pb.SCALAR_OP_DIV: lambda a, b: torch.div(a, b, rounding_mode=None if a.is_floating_point() else "trunc"),
    pb.SCALAR_OP_REM: torch.fmod, pb.SCALAR_OP_MIN: torch.minimum, pb.SCALAR_OP_MAX: torch.maximum,
    pb.SCALAR_OP_POW: torch.pow, pb.SCALAR_OP_BIT_AND: torch.bitwise_and,
    pb.SCALAR_OP_BIT_OR: torch.bitwise_or, pb.SCALAR_OP_BIT_XOR: torch.bitwise_xor,
    pb.SCALAR_OP_FMIN: torch.fmin, pb.SCALAR_OP_FMAX: torch.fmax, pb.SCALAR_OP_ATAN2: torch.atan2,
    pb.SCALAR_OP_COPYSIGN: torch.copysign, pb.SCALAR_OP_AND: torch.logical_and,
    pb.SCALAR_OP_OR: torch.logical_or, pb.SCALAR_OP_EQ: torch.eq, pb.SCALAR_OP_NE: torch.ne,
    pb.SCALAR_OP_LT: torch.lt, pb.SCALAR_OP_LE: torch.le, pb.SCALAR_OP_GT: torch.gt, pb.SCALAR_OP_GE: torch.ge,
}


def finished(expression: pb.Expression, sums: Any, tensors: Mapping[str, Any]) -> Any:
    """What the store function makes of the sums of a contraction, for all points at once. `tensors`: what
    it reads, by name. Differentiable where the operations are. Errors: ExpressionError for operations that
    PyTorch lacks."""
    indices = _Indices(expression, sums.device)
    store = expression.store
    parameters = [sums]
    for buffer in store.inputs:
        for access in buffer.accesses:
            parameters.append(tensors[buffer.name][tuple(map(indices.affine, access.indices))])
    parameters += [indices.of(dimension) for dimension in store.index_dimensions]
    result = _computed(store.function, parameters, sums.device)[0]
    return result.expand(sums.shape)


class _Indices:
    """Indices of the dimensions of the output as tensors that fit its shape."""

    def __init__(self, expression: pb.Expression, device: Any):
        self._sizes = [dimension.size for dimension in expression.dimensions]
        self._device = device
        places = [list(index.coefficients) for index in expression.outputs[0].accesses[0].indices]
        self._axis = {coefficients.index(1): axis for axis, coefficients in enumerate(places)}

    def of(self, dimension: int) -> Any:
        shape = [1] * len(self._axis)
        shape[self._axis[dimension]] = -1
        return torch.arange(self._sizes[dimension], device=self._device).reshape(shape)

    def affine(self, index: pb.AffineIndex) -> Any:
        value = torch.tensor(index.constant, device=self._device)
        for dimension, coefficient in enumerate(index.coefficients):
            if coefficient:
                value = value + coefficient * self.of(dimension)
        return value


def _computed(function: pb.ScalarFunction, parameters: Sequence[Any], device: Any) -> List[Any]:
    values: List[Any] = []
    for instruction in function.instructions:
        operands = [values[operand] for operand in instruction.operands]
        dtype = getattr(torch, TYPE_OF_CODE[instruction.type].library_name)
        if instruction.op == pb.SCALAR_OP_PARAMETER:
            values.append(parameters[instruction.parameter].to(dtype))
        elif instruction.op == pb.SCALAR_OP_CONSTANT:
            values.append(torch.tensor(_number(instruction.constant), dtype=dtype, device=device))
        elif instruction.op == pb.SCALAR_OP_CAST:
            values.append(operands[0].to(dtype))
        elif instruction.op == pb.SCALAR_OP_TABLE:
            table = torch.tensor([_number(value) for value in instruction.table], dtype=dtype, device=device)
            values.append(table[operands[0].to(torch.int64).clamp(0, len(table) - 1)])
        elif instruction.op in _OPERATIONS:
            values.append(_OPERATIONS[instruction.op](*operands))
        else:
            raise wrong(f"PyTorch has no operation {pb.ScalarOp.Name(instruction.op)} for gradients")
    return [values[number] for number in function.result_instructions]


def _number(value: pb.ScalarValue) -> Any:
    return getattr(value, value.WhichOneof("value"))


def gradients(expression: pb.Expression, sums: Any, tensors: Mapping[str, Any], gradient: Any
              ) -> Tuple[Any, Dict[str, Any]]:
    """Those of the sums and of the tensors that the store function reads, given that of what it makes of
    them; None for what it does not depend on. Differentiable where gradients are wanted at this time."""
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        sums = _tracked(sums, again)
        read = {name: _tracked(tensor, again) for name, tensor in tensors.items()}
        result = finished(expression, sums, read)
        wanted = [sums, *read.values()]
        if not result.requires_grad:
            return None, dict.fromkeys(read)
        found = torch.autograd.grad(result, wanted, gradient.to(result.dtype), create_graph=again,
                                    allow_unused=True)
    return found[0], dict(zip(read, found[1:]))


def _tracked(tensor: Any, keeps_history: bool) -> Any:
    return tensor if keeps_history and tensor.requires_grad else tensor.detach().requires_grad_()
