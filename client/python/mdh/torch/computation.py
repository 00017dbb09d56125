"""Kernels on tensors of PyTorch: what a call of an operator does once its kernel is known. It is short,
since it may take longer than the kernel: the first call checks the tensors, the others look only at what
changes from one call to the next: where tensors are, whether they have memory, and their strides."""

from __future__ import annotations

import functools
from typing import Any, Callable, List, Sequence, Tuple, Union

import torch

from ..kernels.cpu_kernel import CpuKernel
from ..kernels.cuda_kernel import ALIGNMENT_BYTES, CudaKernel

Loaded = Union[CpuKernel, CudaKernel]
# Type of the elements, sizes, and strides if they are not row-major without gaps.
Shape = Tuple[Any, Sequence[int], Sequence[int]]


def computation(kernel: Loaded, outputs: Sequence[Shape], device: torch.device
                ) -> Callable[[Sequence[Any]], Any]:
    """A function of inputs on `device`, always of the same types and sizes, that gives the output, or a
    tuple of several. Thread-safe. Errors of its calls: those of the kernel's."""
    if isinstance(kernel, CudaKernel):
        return _CudaComputation(kernel, outputs, device)
    return _CpuComputation(kernel, outputs, device)


class _CpuComputation:
    """See computation()."""

    def __init__(self, kernel: CpuKernel, outputs: Sequence[Shape], device: torch.device):
        self._kernel = kernel
        self._empty = [_maker(shape, device) for shape in outputs]
        self._layouts = _strides_of_inputs(kernel)
        self._fits = False  # tensors of these types and sizes, as a call has shown

    def __call__(self, tensors: Sequence[Any]) -> Any:
        results = [make() for make in self._empty]
        arguments = _laid_out(tensors, self._layouts)
        arguments += results
        pointers = [tensor.data_ptr() for tensor in arguments]
        if self._fits and 0 not in pointers:
            self._kernel.run(pointers)
        else:
            self._kernel(*map(_lendable, arguments))
            self._fits = True
        return _of_operator(results)


class _CudaComputation:
    """See computation(). In the current stream, with scratch memory of its own: other streams may run
    the same."""

    def __init__(self, kernel: CudaKernel, outputs: Sequence[Shape], device: torch.device):
        self._kernel = kernel
        self._launch = kernel.launcher()
        self._device_index = device.index
        self._empty = [_maker(shape, device) for shape in outputs]
        scratch_bytes = kernel.kernel.scratch_bytes
        self._scratch = _maker((torch.uint8, (scratch_bytes,), ()), device) if scratch_bytes else None
        self._layouts = _strides_of_inputs(kernel)
        self._fits = False  # tensors of these types and sizes, as a call has shown

    def __call__(self, tensors: Sequence[Any]) -> Any:
        results = [make() for make in self._empty]
        arguments = _laid_out(tensors, self._layouts)
        arguments += results
        if self._scratch is not None:
            arguments.append(self._scratch())
        pointers = [tensor.data_ptr() for tensor in arguments]
        for pointer in pointers:
            if pointer % ALIGNMENT_BYTES != 0:  # the middle of another tensor
                arguments = [_aligned(tensor) for tensor in arguments]
                pointers = [tensor.data_ptr() for tensor in arguments]
                break
        if not self._fits or 0 in pointers:
            self._check(arguments)
        self._launch(pointers, raw_stream(self._device_index))
        return _of_operator(results)

    def _check(self, arguments: Sequence[Any]) -> None:
        detached = list(map(_lendable, arguments))
        if self._scratch is None:
            self._kernel.prepare(*detached)
        else:
            self._kernel.prepare(*detached[:-1], scratch=detached[-1])
        self._fits = True


def _maker(shape: Shape, device: torch.device) -> Callable[[], Any]:
    """Makes tensors without values."""
    dtype, sizes, strides = shape
    strides = strides or torch.empty(sizes, device="meta").stride()
    return functools.partial(torch.empty_strided, tuple(sizes), strides, dtype=dtype, device=device)


def _strides_of_inputs(kernel: Loaded) -> Sequence[Sequence[int]]:
    """Of every input, if some are not row-major without gaps; else nothing."""
    strides = [argument.strides for argument in kernel.kernel.arguments if not argument.is_output]
    return strides if any(strides) else ()


def _laid_out(tensors: Sequence[Any], layouts: Sequence[Sequence[int]]) -> List[Any]:
    """The tensors themselves, or copies with the kernel's strides."""
    if not layouts:
        return [tensor.contiguous() for tensor in tensors]
    return [_with_strides(tensor, strides) if strides else tensor.contiguous()
            for tensor, strides in zip(tensors, layouts)]


def _with_strides(tensor: Any, strides: Sequence[int]) -> Any:
    return tensor if tensor.stride() == tuple(strides) else _copied(tensor, strides)


def _copied(tensor: Any, strides: Sequence[int]) -> Any:
    copy = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return copy.copy_(tensor)


def _lendable(tensor: Any) -> Any:
    """Without gradients; of floating-point types of one byte, which DLPack does not have in most
    versions of torch, the bits."""
    is_byte = tensor.dtype.is_floating_point and tensor.element_size() == 1
    return tensor.detach().view(torch.uint8) if is_byte else tensor.detach()


def _aligned(tensor: Any) -> Any:
    return _copied(tensor, tensor.stride()) if tensor.data_ptr() % ALIGNMENT_BYTES != 0 else tensor


def _of_operator(results: List[Any]) -> Any:
    return results[0] if len(results) == 1 else tuple(results)


def _stream_of_object(device_index: int) -> int:
    return int(torch.cuda.current_stream(device_index).cuda_stream)


# The handle of a device's current stream. Making an object of it takes longer than a launch.
raw_stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", _stream_of_object)
