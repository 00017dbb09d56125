"""Kernels as operators of PyTorch, which work under torch.compile:

    import mdh.torch

    matmul = mdh.torch.einsum("ik,kj->ij", client=client)       # or bundle=Bundle("kernels.mdhb")
    c = matmul(a, b)                                            # gradients, too
    fast = torch.compile(model_that_calls_matmul)

    norm = mdh.torch.operator("my::norm", expression, client=client)   # any expression, any types

Tensors on the CPU are computed by kernels in C, tensors on a GPU by kernels in CUDA C++, in the current
stream. A kernel is fetched for every combination of sizes, type and device when it is first needed, and
kept.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch

from ..arguments import Fit, argument_of
from ..bundle import Bundle
from ..canonical import extents_of, passed_inputs
from ..client import Client
from ..kernels.cpu_kernel import CpuKernel
from ..kernels.cuda_kernel import CudaKernel
from ..einsum import einsum as _einsum_expression
from ..einsum import without_ellipsis
from ..errors import ExpressionError, NotFoundError, wrong
from ..expression import Expression
from ..pipeline import Pipeline
from ..results import Kernel
from .computation import Loaded
from .epilogue import gradients as _epilogue_gradients
from .operator import TensorOperator
from ..types import (
    SCALAR_TYPES, TYPE_OF_CODE, ScalarType, as_scalar_type, bf16, fp16, fp32, fp64, int32, int64,
)

# Types of elements by those of torch, and back; older versions of torch lack some.
_TYPE_OF = {getattr(torch, type_.library_name): type_
            for type_ in SCALAR_TYPES if hasattr(torch, type_.library_name)}
_DTYPE_OF = {type_.code: dtype for dtype, type_ in _TYPE_OF.items()}

_numbers = itertools.count()

Computed = Union[Expression, Pipeline]


class KernelSource:
    """Where kernels come from: a daemon, which can make one for every expression, or a bundle, which
    needs none. Thread-safe."""

    def __init__(self, *, client: Optional[Client] = None, bundle: Optional[Bundle] = None,
                 bundle_device: str = "", tune_seconds: Optional[float] = None,
                 numerics: str = ""):
        """One of `client` and `bundle`; with both, what the bundle lacks comes from the daemon.
        `bundle_device`: a fingerprint; default: the bundle's only one. `tune_seconds`: the daemon
        tunes so long in the background for what it has not measured; None: it does not.
        `numerics`: as that of Client.tune. Errors: ExpressionError if there is neither."""
        if client is None and bundle is None:
            raise wrong("kernels come from a client or from a bundle: give one of them")
        self._client = client
        self._bundle = bundle
        self._bundle_device = bundle_device
        self._tune_seconds = tune_seconds
        self._numerics = numerics
        self._lock = threading.Lock()
        self._loaded: Dict[Tuple[str, str], Loaded] = {}

    def load(self, expression: Computed, device: torch.device) -> Loaded:
        """The compiled kernel for tensors on `device`. Errors: NotFoundError; those of Client,
        CpuKernel and CudaKernel."""
        key = (expression.digest, str(device))
        with self._lock:
            if key not in self._loaded:
                kernel = self._find(expression, device)
                if device.type == "cuda":
                    with torch.cuda.device(device):  # its context is the current one inside
                        self._loaded[key] = CudaKernel(kernel, device=device.index or 0)
                else:
                    self._loaded[key] = CpuKernel(kernel)
            return self._loaded[key]

    def _find(self, expression: Computed, device: torch.device) -> Kernel:
        if self._bundle is not None:
            query = self._bundle.query(expression, device=self._bundle_device,
                                       numerics=self._numerics)
            try:
                return self._bundle.find(query).kernel()
            except NotFoundError:
                if self._client is None:
                    raise
        assert self._client is not None
        name = f"devices/cuda{device.index or 0}" if device.type == "cuda" else ""
        return self._client.best_kernel(
            expression, device=name, weakest="predicted", numerics=self._numerics,
            tune_seconds=self._tune_seconds).kernel


def operator(name: str, expression: Computed, *, source: Optional[KernelSource] = None,
             **options: Any) -> Callable[..., Any]:
    """Registers an expression, or a pipeline, as the operator `name`, "namespace::name", and gives it: a
    function of the inputs, in the order of the expression's, then those that only its store function reads, that
    gives the output, or a tuple of several.

    The inputs must have exactly the types and shapes of the expression's buffers, also where tensors
    have no values yet (fake ones); those of other strides are copied. Errors of a call:
    ArgumentTypeError, ArgumentValueError.
    `options`: of KernelSource, instead of `source`. No gradients: torch.library.register_autograd
    adds them. Errors: ExpressionError for records, which tensors do not have, without inputs, and for
    outputs that keep what is there: the operator's are new.
    """
    source = source or KernelSource(**options)
    inputs, results = expression.passed()
    if not inputs:
        raise wrong(f"{expression.name} has no input: an operator needs one, which says the device")
    for buffer in results:
        if buffer.view.keeps_unreached:
            raise wrong(f"the output '{buffer.name}' of {expression.name} keeps what is there, but an "
                        "operator makes its outputs: call a CpuKernel or CudaKernel with yours")
    outputs = [(_dtype(buffer.view), buffer.extents, buffer.strides) for buffer in results]
    fits = [Fit(expression.name, argument_of(buffer.name, _TYPE_OF[_dtype(buffer.view)].name,
                                             buffer.extents, buffer.strides))
            for buffer in inputs]

    def shapes(*tensors: Any) -> List[Any]:
        for fit, tensor in zip(fits, tensors):
            fit.check_type(str(_TYPE_OF.get(tensor.dtype, tensor.dtype)))
            fit.check_shape(tuple(tensor.shape))
        return outputs

    def load(*tensors: Any) -> Loaded:
        shapes(*tensors)
        return source.load(expression, tensors[0].device)

    return TensorOperator(name, len(fits), len(outputs), shapes, load).call


def einsum(subscripts: str, *, source: Optional[KernelSource] = None, out_dtype: Any = None,
           accumulate: Any = None, epilogue: str = "", name: str = "", **options: Any
           ) -> Callable[..., Any]:
    """A contraction as a function of tensors of one floating-point or integer type, as torch.einsum
    takes it: letters, "...", "," and "->". Sizes are those of the tensors; for each combination there
    is a kernel. Differentiable as often as one wants: the gradient of a contraction is a sum of
    contractions.

    Dimensions of "..." are aligned at the last one, and those of one element fit any size. What it
    stands for says the first call with tensors of so many dimensions, which makes an operator of it:
    under torch.compile there has been one before.

    `out_dtype`: of the output, a type of torch or of expressions, by default that of the tensors;
    gradients are computed in that of the tensors. `accumulate`: the type in which products are added,
    e.g. fp32 for tensors of fp16; by default that of both which holds more. `epilogue`: what is made of
    the sums, as that of mdh.einsum: "max(out + bias[j], 0)"; tensors that it names follow the operands in
    a call, in the order in which it names them. `name`: of the operator,
    with a number for each further one; default: one in the namespace "mdh". `options`: of
    KernelSource, instead of `source`. Errors: ExpressionError.
    """
    out_type = None
    if out_dtype is not None:
        out_type = as_scalar_type(_TYPE_OF.get(out_dtype, out_dtype), "the output")
    how = _How(source or KernelSource(**options), accumulate, out_type)
    if epilogue:
        if "..." in subscripts:
            raise wrong("an epilogue names dimensions by their letters: '...' has none")
        return _Finished(subscripts, how, epilogue, name).call
    if "..." in subscripts:
        return _Elliptic(subscripts, how, name).call
    return _Contraction(subscripts, how, name).call


@dataclass(frozen=True)
class _How:
    """What contractions and those of their gradients have in common."""

    source: KernelSource
    accumulate: Any
    out_type: Optional[ScalarType]


class _Elliptic:
    """A contraction with "...", which has another meaning for tensors of other dimensions."""

    def __init__(self, subscripts: str, how: _How, name: str):
        self._subscripts = subscripts
        self._how = how
        self._name = name
        self._lock = threading.Lock()
        self._contractions: Dict[str, Callable[..., Any]] = {}
        # As of a contraction, errors in the subscripts are found before a tensor comes.
        operands = "".join(subscripts.split()).partition("->")[0].replace("...", "").split(",")
        without_ellipsis(subscripts, [[1] * len(letters) for letters in operands])

    def call(self, *tensors: Any) -> Any:
        shapes = [[int(extent) for extent in tensor.shape] for tensor in tensors]
        plain, dropped = without_ellipsis(self._subscripts, shapes)
        if plain not in self._contractions:
            with self._lock:
                self._make(plain)
        return self._contractions[plain](*map(_without, tensors, dropped))

    def _make(self, plain: str) -> None:
        number = len(self._contractions)
        name = f"{self._name}_{number + 1}" if self._name and number > 0 else self._name
        if plain not in self._contractions:
            self._contractions[plain] = _Contraction(plain, self._how, name).call


def _without(tensor: Any, axes: Sequence[int]) -> Any:
    """A tensor without these dimensions, which have one element."""
    for axis in reversed(axes):
        tensor = tensor.select(axis, 0)
    return tensor


class _Contraction:
    """One einsum for tensors of all sizes, and the contractions of its gradient."""

    def __init__(self, subscripts: str, how: _How, name: str, epilogue: Optional[str] = None):
        left, arrow, output = "".join(subscripts.split()).partition("->")
        self.operands = left.split(",")
        letters = "".join(self.operands)
        self.output = output if arrow else "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1))
        self._subscripts = f"{left}->{self.output}"
        self._how = how
        self._epilogue = epilogue
        # Before a tensor comes, with sizes of one: errors in the subscripts are found here.
        made = self._of_some_type({letter: 1 for letter in letters})
        # Operands, and what else the epilogue reads.
        self._at_sizes_of_one = made.to_proto()
        self.names = [buffer.name for buffer in passed_inputs(self._at_sizes_of_one)]
        operator_ = TensorOperator(
            name or f"mdh::einsum_{next(_numbers)}", len(self.names), 1,
            lambda *t: [(self._output_dtype(t), self._output_sizes(t), ())],
            lambda *t: how.source.load(self._expression(*t), t[0].device))
        operator_.add_gradient(self._backward)
        self.call = operator_.call
        self._gradients: Dict[int, Callable[..., Any]] = {}

    def _of_some_type(self, sizes: Dict[str, int]) -> Expression:
        """For the first type that there is a contraction of: an epilogue may convert to one of them.
        Errors: the ExpressionError of the first type."""
        errors: List[ExpressionError] = []
        for type_ in (fp32, fp64, fp16, bf16, int32, int64):
            try:
                return _einsum_expression(
                    self._subscripts, dtype=type_, out_dtype=self._how.out_type,
                    accumulate=self._how.accumulate, epilogue=self._epilogue, **sizes)
            except ExpressionError as error:
                errors.append(error)
        raise errors[0]

    def _sizes(self, tensors: Sequence[Any]) -> Dict[str, int]:
        sizes: Dict[str, int] = {}
        for letters, tensor in zip(self.operands, tensors):
            if tensor.dim() != len(letters):
                raise wrong(f"the operand '{letters}' of '{self._subscripts}' has "
                            f"{tensor.dim()} dimensions")
            for letter, size in zip(letters, tensor.shape):
                if sizes.setdefault(letter, size) != size:
                    raise wrong(f"'{letter}' of '{self._subscripts}' is {sizes[letter]} in one "
                                f"operand and {size} in another")
        return sizes

    def _output_dtype(self, tensors: Sequence[Any]) -> Any:
        return tensors[0].dtype if self._how.out_type is None else _DTYPE_OF[self._how.out_type.code]

    def _output_sizes(self, tensors: Sequence[Any]) -> List[int]:
        sizes = self._sizes(tensors)
        return [sizes[letter] for letter in self.output]

    def _expression(self, *tensors: Any) -> Expression:
        types = {tensor.dtype for tensor in tensors}
        if len(types) != 1 or tensors[0].dtype not in _TYPE_OF:
            raise wrong(f"the operands of '{self._subscripts}' have the types "
                        f"{', '.join(sorted(map(str, types)))}: they must be of one, which kernels "
                        "have")
        return _einsum_expression(self._subscripts, dtype=_TYPE_OF[tensors[0].dtype],
                                  out_dtype=self._how.out_type, accumulate=self._how.accumulate,
                                  epilogue=self._epilogue, **self._sizes(tensors))

    def _backward(self, tensors: Sequence[Any], gradient: Any, needed: Sequence[bool]) -> List[Any]:
        return [self._gradient(number, tensors, gradient) if wanted else None
                for number, wanted in enumerate(needed)]

    def _gradient(self, number: int, tensors: Sequence[Any], gradient: Any) -> Any:
        """That of the output, contracted with all other operands. Letters that nobody else has were
        summed up: the gradient is the same for all their values."""
        wanted = self.operands[number]
        others = [o for n, o in enumerate(self.operands) if n != number]
        if len(set(wanted)) != len(wanted):
            raise wrong(f"there are no gradients of '{self._subscripts}': an operand has a letter "
                        "twice")
        known = set(self.output).union(*others)
        kept = "".join(letter for letter in wanted if letter in known)
        if number not in self._gradients:
            self._gradients[number] = _Contraction(
                ",".join([self.output, *others]) + "->" + kept,
                replace(self._how, out_type=None), "").call
        rest = [t for n, t in enumerate(tensors) if n != number]
        of_one_type = gradient.to(tensors[number].dtype).contiguous()
        result = self._gradients[number](of_one_type, *rest)
        shape = [size if letter in known else 1 for letter, size in zip(wanted, tensors[number].shape)]
        return result.reshape(shape).expand(tensors[number].shape)


class _Finished(_Contraction):
    """A contraction of which an epilogue makes something: its gradient needs the sums again."""

    def __init__(self, subscripts: str, how: _How, epilogue: str, name: str):
        super().__init__(subscripts, how, name, epilogue)
        self._of_sums: Dict[int, _Contraction] = {}  # by the type in which they are combined

    def _output_sizes(self, tensors: Sequence[Any]) -> List[int]:
        """Errors: ExpressionError if what the epilogue reads does not have its shape."""
        sizes = self._sizes(tensors)
        proto = self._at_sizes_of_one
        extents = [sizes[dimension.name] for dimension in proto.dimensions]
        for buffer, tensor in list(zip(passed_inputs(proto), tensors))[len(self.operands):]:
            expected = extents_of(buffer, extents)
            if list(tensor.shape) != expected:
                raise wrong(f"'{buffer.name}' of '{self._epilogue}' has the shape {tuple(tensor.shape)}, but "
                            f"what is read of it is {tuple(expected)}")
        return super()._output_sizes(tensors)

    def _sums(self, type_: int) -> _Contraction:
        if type_ not in self._of_sums:
            self._of_sums[type_] = _Contraction(
                self._subscripts, replace(self._how, out_type=TYPE_OF_CODE[type_]), "")
        return self._of_sums[type_]

    def _backward(self, tensors: Sequence[Any], gradient: Any, needed: Sequence[bool]) -> List[Any]:
        proto = self._expression(*tensors).to_proto()
        operands = tensors[:len(self.operands)]
        contraction = self._sums(proto.store.function.parameters[0].type)
        by_name = dict(zip(self.names, tensors))
        read = {buffer.name: by_name[buffer.name] for buffer in proto.store.inputs}
        of_sums, of_read = _epilogue_gradients(proto, contraction.call(*operands), read, gradient)
        found: List[Any] = [None] * len(operands)
        if of_sums is not None:
            found = contraction._backward(operands, of_sums, needed[:len(operands)])
        found += [None] * (len(tensors) - len(operands))
        return [_sum(one, of_read.get(name)) if wanted else None
                for one, name, wanted in zip(found, self.names, needed)]


def _sum(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def _dtype(buffer: Any) -> Any:
    if buffer.record or buffer.type not in _DTYPE_OF:
        raise wrong(f"the buffer '{buffer.name}' has elements that tensors do not have")
    return _DTYPE_OF[buffer.type]
