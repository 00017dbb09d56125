"""Whether arrays can be the arguments of a kernel: type, shape, strides, byte order, alignment, device,
outputs that can be written and share memory with nothing else.

A call on arrays that fit looks at little: what numpy or torch says of each, compared with what is expected.
Everything else takes the long way, which finds out what is wrong.
"""

from __future__ import annotations

import ctypes
import math
import operator
from typing import Any, List, NoReturn, Sequence, Tuple

from .arrays import ArrayView, view_of
from .errors import ArgumentTypeError, ArgumentValueError, MdhError, here
from .kernels.kernel_file import KernelArgument
from .types import TYPE_OF_NAME


# What torch calls the types of kernels.
_TORCH_TYPES = {
    "fp16": "torch.float16", "bf16": "torch.bfloat16", "fp32": "torch.float32", "fp64": "torch.float64",
    "int8": "torch.int8", "uint8": "torch.uint8", "int32": "torch.int32", "int64": "torch.int64"}
# At once: a call may take as long as a kernel.
_LOOK_AT_TENSOR = operator.attrgetter("is_cpu", "requires_grad", "dtype", "shape")
_LOOK_AT_ARRAY = operator.attrgetter("dtype", "shape", "strides")


class Fit:
    """What one argument of a kernel must be."""

    def __init__(self, entry: str, argument: KernelArgument, alignment_bytes: int = 0):
        """`alignment_bytes`: 0: that of the type."""
        self.name = argument.name
        self.type = argument.type
        self.is_output = argument.is_output
        self.size_bytes = argument.size_bytes
        self._entry = entry
        self._elements = argument.elements
        self._record = argument.record
        self.item_bytes = argument.size_bytes // argument.elements if argument.elements else 0
        if argument.type:
            self.item_bytes = TYPE_OF_NAME[argument.type].size_bytes
        fields = [TYPE_OF_NAME[type_].size_bytes for _, type_ in argument.record]
        self.alignment_bytes = alignment_bytes or max(fields, default=self.item_bytes or 1)
        # Without extents: one element, or a kernel of an earlier version, which says no shapes.
        self.shape = argument.extents
        self.is_dense = not argument.strides
        self.strides = tuple(self.item_bytes * stride for stride in (
            argument.strides or _row_major(argument.extents)))
        # As numpy writes the type; empty: what takes the long way.
        typestr = TYPE_OF_NAME[argument.type].typestr if argument.type else ""
        self.typestr = typestr and ("|" if self.item_bytes == 1 else "<") + typestr
        self._torch_type = _TORCH_TYPES.get(self.type, "")
        self.steps = tuple(argument.strides or _row_major(argument.extents))  # strides in elements
        self._has_shape = bool(argument.extents) or argument.elements == 1
        # What those say of themselves that fit: of torch and of numpy.
        self.tensor: Tuple[Any, ...] = ()
        self.array: Tuple[Any, ...] = ()

    def takes_tensor(self, look: Tuple[Any, ...]) -> bool:
        """Whether a tensor fits that says so of itself. Tensors with gradients are none: torch lends
        them to nobody."""
        is_on_cpu, needs_gradient, dtype, shape = look
        fits = (self._has_shape and is_on_cpu and not needs_gradient and shape == self.shape
                and str(dtype) == self._torch_type)
        if fits:
            self.tensor = look
        return bool(fits)

    def takes_array(self, look: Tuple[Any, ...]) -> bool:
        """Whether an array of numpy fits that says so of itself."""
        dtype, shape, strides = look
        fits = (self._has_shape and dtype.str == self.typestr and shape == self.shape
                and strides == self.strides)
        if fits:
            self.array = look
        return bool(fits)

    def wrong_type(self, what: str) -> NoReturn:
        raise ArgumentTypeError(f"{self._entry}: the argument '{self.name}' {what}", here())

    def wrong(self, what: str) -> NoReturn:
        raise ArgumentValueError(f"{self._entry}: the argument '{self.name}' {what}", here())

    def check(self, view: ArrayView) -> None:
        """Errors: ArgumentTypeError, ArgumentValueError; both name the argument."""
        shape, strides = self._check_type(view)
        self.check_shape(shape)
        self._check_strides(shape, strides)
        if self.is_output and view.is_read_only:
            self.wrong("is an output, but the array is read-only")

    def check_type(self, found: str) -> None:
        """Whether elements of that name are the kernel's, or, where numpy does not have the kernel's
        type, the unsigned integers that are its bits."""
        type_ = TYPE_OF_NAME[self.type]
        if found != self.type and (type_.is_in_numpy or found != f"uint{8 * type_.size_bytes}"):
            self.wrong_type(f"has elements of type {found or 'unknown'}, but the kernel expects {self.type}")

    def _check_type(self, view: ArrayView) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
        """Shape and strides in units of the kernel's elements."""
        strides = view.strides
        if strides is None:
            strides = tuple(view.item_bytes * stride for stride in _row_major(view.shape))
        if self.type:
            self.check_type(view.type or view.described)
            return view.shape, strides
        if view.item_bytes == self.item_bytes and view.fields in ((), self._record):
            return view.shape, strides
        # Records in a library without them: their bytes, or fields of one type, in a last dimension.
        types = {type_ for _, type_ in self._record} | {"uint8", "int8"}
        if (view.shape and not view.fields and view.shape[-1] * view.item_bytes == self.item_bytes
                and strides[-1] == view.item_bytes and (not self._record or view.type in types)):
            return view.shape[:-1], strides[:-1]
        expected = f"records of {self.item_bytes} bytes"
        if self._record:
            expected += " with " + ", ".join(f"{name}: {type_}" for name, type_ in self._record)
        found = ", ".join(f"{name}: {type_}" for name, type_ in view.fields)
        self.wrong_type(f"has elements of {view.item_bytes} bytes"
                        f"{' with ' + found if found else ''}, but the kernel expects {expected}")

    def check_shape(self, shape: Tuple[int, ...]) -> None:
        """Whether an array of the kernel's elements has the kernel's shape."""
        if shape == self.shape or (not self.shape and math.prod(shape) == self._elements):
            return
        if not self.shape and self._elements != 1:
            self.wrong(f"has {math.prod(shape) * self.item_bytes} bytes, but the kernel expects "
                       f"{self.size_bytes}")
        remedy = ""
        if self.shape and len(shape) == 1 and shape[0] == math.prod(self.shape) and self.is_dense:
            remedy = f"; reshape({', '.join(map(str, self.shape))}) gives it that shape"
        self.wrong(f"has shape {shape}, but the kernel expects {self.shape}{remedy}")

    def _check_strides(self, shape: Tuple[int, ...], strides: Tuple[int, ...]) -> None:
        expected = self.strides if self.shape else tuple(
            self.item_bytes * stride for stride in _row_major(shape))
        if 0 in shape or all(found == wanted or extent == 1 for extent, found, wanted in
                             zip(shape, strides, expected)):
            return
        if self.is_dense:
            self.wrong(f"is not contiguous: shape {shape}, strides in bytes {strides}, but the kernel "
                       f"expects {expected}")
        self.wrong(f"has strides in bytes {strides}, but the kernel expects {expected}")


class ArgumentCheck:
    """What all arguments of a kernel must be. Thread-safe."""

    def __init__(self, entry: str, arguments: Sequence[KernelArgument], *, is_on_gpu: bool,
                 alignment_bytes: int = 0):
        """`alignment_bytes`: of every pointer; 0: that of its type."""
        self._entry = entry
        self._is_on_gpu = is_on_gpu
        self._fits = [Fit(entry, argument, alignment_bytes) for argument in arguments]
        # Outputs, with what each must not overlap with.
        self._pairs = [
            (n, other, output.size_bytes, fit.size_bytes)
            for n, output in enumerate(self._fits) if output.is_output and output.size_bytes
            for other, fit in enumerate(self._fits)
            if fit.size_bytes and (other < n or not fit.is_output)]

    def pointers(self, arrays: Sequence[Any]) -> Tuple[List[int], List[Any]]:
        """Where the elements are, and what keeps them there (None for pointers).
        Errors: ArgumentTypeError, ArgumentValueError, naming kernel and argument."""
        fits = self._fits
        if len(arrays) != len(fits):
            names = ", ".join(fit.name for fit in fits)
            raise ArgumentTypeError(f"{self._entry} has {len(fits)} arguments ({names}), not "
                                    f"{len(arrays)}", here())
        owners: List[Any] = list(arrays)
        pointers = [0] * len(fits) if self._is_on_gpu else list(map(_at_a_glance, arrays, fits))
        if 0 in pointers:
            for n, pointer in enumerate(pointers):
                if pointer == 0:
                    pointers[n], owners[n] = self._long_way(arrays[n], fits[n])
        for output, other, output_bytes, other_bytes in self._pairs:
            begin, other_begin = pointers[output], pointers[other]
            if begin < other_begin + other_bytes and other_begin < begin + output_bytes:
                self._check_overlap(pointers, output, other)
        return pointers, owners

    def pointer(self, array: Any) -> Tuple[int, Any]:
        """Of scratch memory, the one argument that may be larger, and of any type."""
        (fit,) = self._fits
        pointer, owner = self._memory(array, fit)
        if isinstance(owner, ArrayView):
            if not owner.is_contiguous() or owner.is_read_only:
                fit.wrong("must be contiguous, and not read-only")
            if owner.size_bytes < fit.size_bytes:
                fit.wrong(f"has {owner.size_bytes} bytes, but the kernel expects {fit.size_bytes}")
            owner = owner.owner
        self._check_pointer(pointer, fit)
        return pointer, owner

    def _long_way(self, array: Any, fit: Fit) -> Tuple[int, Any]:
        pointer, owner = self._memory(array, fit)
        if isinstance(owner, ArrayView):
            fit.check(owner)
            owner = owner.owner
        self._check_pointer(pointer, fit)
        return pointer, owner

    def _memory(self, array: Any, fit: Fit) -> Tuple[int, Any]:
        is_number = isinstance(array, int) and not isinstance(array, bool)
        if array is None or isinstance(array, bool) or (is_number and not array and not self._is_on_gpu):
            fit.wrong_type(f"is {array!r}, " + ("not memory of a GPU" if self._is_on_gpu else "no memory"))
        if is_number:
            return array, None
        try:
            view = view_of(array, fit.name)
        except MdhError as error:
            raise ArgumentTypeError(f"{self._entry}: {error.message}", here()) from None
        if self._is_on_gpu and not view.is_on_gpu:
            fit.wrong(f"is a {type(array).__name__} in memory of the CPU, but the kernel runs on a GPU")
        if view.is_on_gpu and not self._is_on_gpu:
            fit.wrong("is memory of a GPU, but the kernel runs on the CPU")
        return view.pointer, view

    def _check_pointer(self, pointer: int, fit: Fit) -> None:
        if fit.size_bytes == 0:
            return
        if pointer == 0 and not self._is_on_gpu:  # torch: of a tensor whose storage was freed
            fit.wrong("is an array without memory")
        if not 0 <= pointer < 1 << 64:
            fit.wrong(f"is {pointer}, which is no address")
        if pointer == 0 or pointer % fit.alignment_bytes != 0:
            memory = "memory of a GPU, " if self._is_on_gpu else ""
            fit.wrong(f"starts at {pointer:#x}: it must be {memory}aligned to "
                      f"{fit.alignment_bytes} bytes")

    def _check_overlap(self, pointers: Sequence[int], output: int, other: int) -> None:
        """Elements between those of the other one, as columns of one matrix, share nothing."""
        a, b = self._fits[output], self._fits[other]
        if not a.is_dense and not b.is_dense:
            step = math.gcd(*(stride for fit in (a, b) for extent, stride in
                              zip(fit.shape, fit.strides) if extent > 1))
            distance = (pointers[other] - pointers[output]) % step if step else 0
            if step and a.item_bytes <= distance <= step - b.item_bytes:
                return
        a.wrong(f"is an output and overlaps with '{b.name}': outputs share memory with nothing else")


def _at_a_glance(array: Any, fit: Fit) -> int:
    """Where the elements are of an array of numpy, or a tensor of torch, that fits; 0: a closer look is
    needed, as it is at what torch lends nobody."""
    try:
        library = type(array).__module__
        if library == "torch":
            look = _LOOK_AT_TENSOR(array)
            if look != fit.tensor and not fit.takes_tensor(look):
                return 0
            fits = array.is_contiguous() if fit.is_dense else array.stride() == fit.steps
            pointer: int = array.data_ptr() if fits and not array.is_neg() else 0
        elif library == "numpy":
            look = _LOOK_AT_ARRAY(array)
            if look != fit.array and not fit.takes_array(look):
                return 0
            pointer = _address_of(array, fit)
        else:
            return 0
    except Exception:  # tensors without memory, what only looks like an array
        return 0
    return 0 if pointer % fit.alignment_bytes else pointer


def _address_of(array: Any, fit: Fit) -> int:
    """Of an array of numpy. 0: it cannot be written, but must, or may be a scalar, whose interface lends
    a copy."""
    is_writable = array.flags.writeable
    if is_writable and fit.is_dense:  # a fifth of the time of the other way
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    if not is_writable and (fit.is_output or not fit.shape):
        return 0
    return int(array.__array_interface__["data"][0])


def argument_of(name: str, type_: str, extents: Sequence[int], strides: Sequence[int] = (), *,
                is_output: bool = False) -> KernelArgument:
    """The argument of a kernel that stands for a buffer of scalars."""
    shape = tuple(extents)
    elements = math.prod(shape)
    if strides and elements:
        elements = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides))
    return KernelArgument(name, type_, elements, elements * TYPE_OF_NAME[type_].size_bytes, is_output, shape,
                          tuple(strides))


def _row_major(shape: Sequence[int]) -> Tuple[int, ...]:
    """Elements from one index to the next."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))
