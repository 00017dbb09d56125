"""Kernels in CUDA C++, compiled and launched from Python: NVRTC and the CUDA driver, nothing else.

    kernel = CudaKernel(client.kernel(tuned))       # or CudaKernel(read_kernel("matmul.json"))
    kernel(a, b, c)                                 # tensors of torch, arrays of cupy or jax, pointers
    kernel(a, b, c, stream=torch.cuda.current_stream())
    launch = kernel.prepare(a, b, c)                # checked once, launched often
    launch(stream)

Launches do not wait, and may be captured into CUDA graphs.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from typing import Any, Callable, List, Optional, Protocol, Sequence, Tuple

from ..arguments import ArgumentCheck
from .cuda_driver import CudaDriver
from ..errors import ArgumentValueError, ExpressionError, here, wrong
from .kernel_file import CUDA_CXX, KernelArgument, KernelLaunch, SourceKernel, TensorMap
from .nvrtc import Nvrtc

ALIGNMENT_BYTES = 16  # what the generated code expects of all pointers
_FIRST_TO_OVERLAP = 90  # compute capability; code for an earlier one cannot wait for other stages


class LaunchedKernel(SourceKernel, Protocol):
    """What is needed of a kernel: `mdh.Kernel` and `KernelFile` have it."""

    @property
    def launches(self) -> Tuple[KernelLaunch, ...]: ...

    @property
    def scratch_bytes(self) -> int: ...


@dataclass(frozen=True)
class FunctionResources:
    """What the compiled function of a stage needs."""

    function: str
    registers: int  # of a thread
    local_bytes: int  # of a thread; larger than 0: registers were spilled, or arrays are indexed
    shared_bytes: int  # of a block, dynamic shared memory included


class CudaKernel:
    """A compiled kernel, loaded into the context that was current when it was made, or else into
    the primary context of `device`. Owns its scratch memory, so that two launches may not run at
    the same time unless each is given its own. Not thread-safe."""

    def __init__(self, kernel: LaunchedKernel, *, device: int = 0,
                 driver: Optional[CudaDriver] = None, nvrtc: Optional[Nvrtc] = None):
        """Compiles and loads. Errors: ExpressionError if the kernel is not one in CUDA C++ or does
        not compile; FailedPreconditionError without driver or NVRTC; CudaError."""
        if kernel.language != CUDA_CXX:
            raise wrong(f"the kernel {kernel.entry} is in {kernel.language}, not in {CUDA_CXX}")
        self.kernel = kernel
        self._scratch = 0
        self._module = 0
        self._check = ArgumentCheck(kernel.entry, kernel.arguments, is_on_gpu=True,
                                    alignment_bytes=ALIGNMENT_BYTES)
        self._driver = CudaDriver() if driver is None else driver
        self._driver.use_context(device)
        self._context = self._driver.current_context()
        self._device = self._driver.current_device()
        capability = self._driver.capability()
        image = (Nvrtc() if nvrtc is None else nvrtc).compile(
            kernel.source, name=kernel.entry + ".cu", capability=capability,
            options=(*kernel.compile_options, *_options_for(kernel.launches)))
        self._module = self._driver.load_module(image)
        self._functions = [self._function(launch) for launch in kernel.launches]
        self._launches = [replace(launch, starts_early=launch.starts_early
                                  and capability >= _FIRST_TO_OVERLAP)
                          for launch in kernel.launches]

    def close(self) -> None:
        """Frees code and scratch memory; no launch may be running."""
        if self._scratch:
            self._driver.free(self._scratch)
            self._scratch = 0
        if self._module:
            self._driver.unload_module(self._module)
            self._module = 0

    def __enter__(self) -> "CudaKernel":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __call__(self, *arguments: Any, stream: Any = None, scratch: Any = None) -> None:
        """Launches all stages on `stream`. `arguments`: inputs, then outputs, each a pointer to
        the device's memory or an object with __cuda_array_interface__ or DLPack: of the type,
        shape and strides that the expression's buffer has, on the kernel's device. `stream`: a
        handle, or an object of torch or cupy; default: CUDA's default stream; what makes the inputs must be in the same stream, or be done.
        `scratch`: memory of `kernel.scratch_bytes` bytes; default: the kernel's own. Errors:
        ArgumentTypeError, a TypeError, and ArgumentValueError, a ValueError, naming the argument, if
        one does not fit; CudaError."""
        try:
            launch = self.prepare(*arguments, scratch=scratch)
        except ExpressionError as error:
            raise error.with_traceback(None) from None  # what was looked at is none of the caller's
        launch(stream)

    def prepare(self, *arguments: Any, scratch: Any = None) -> "PreparedLaunch":
        """The launches with these arguments, which must stay where they are. Errors: as above."""
        try:
            pointers, owners = self._check.pointers(arguments)
            for argument, pointer, owner in zip(self.kernel.arguments, pointers, owners):
                self._check_device(argument.name, pointer, owner)
            self._add_scratch(scratch, pointers, owners)
        except ExpressionError as error:
            raise error.with_traceback(None) from None
        return self._prepared(pointers, owners)

    def _add_scratch(self, scratch: Any, pointers: List[int], owners: List[Any]) -> None:
        if self.kernel.scratch_bytes > 0 and scratch is None:
            pointers.append(self._own_scratch())
        elif self.kernel.scratch_bytes > 0:
            size_bytes = self.kernel.scratch_bytes
            check = ArgumentCheck(
                self.kernel.entry, [KernelArgument("scratch", "", size_bytes, size_bytes, True)],
                is_on_gpu=True, alignment_bytes=ALIGNMENT_BYTES)
            pointer, owner = check.pointer(scratch)
            self._check_device("scratch", pointer, owner)
            pointers.append(pointer)
            owners.append(owner)

    def launcher(self) -> "PointerLauncher":
        """Launches with arguments that change from call to call, and are not checked."""
        count = len(self.kernel.arguments) + (self.kernel.scratch_bytes > 0)
        return PointerLauncher(self._driver, self._context,
                               lambda: self._prepared([0] * count, ()))

    def _prepared(self, pointers: Sequence[int], owners: Sequence[Any]) -> "PreparedLaunch":
        return PreparedLaunch(self._driver, list(zip(self._functions, self._launches)),
                              pointers, owners)

    def _check_device(self, name: str, pointer: int, owner: Any) -> None:
        if owner is not None and self._driver.device_of(pointer) != self._device:
            raise ArgumentValueError(
                f"{self.kernel.entry}: the argument '{name}' is on GPU "
                f"{self._driver.device_of(pointer)}, but the kernel runs on GPU {self._device}", here())

    def resources(self) -> List[FunctionResources]:
        """Of every stage."""
        found = []
        for function, launch in zip(self._functions, self.kernel.launches):
            registers, local_bytes, shared_bytes = self._driver.resources(function)
            found.append(FunctionResources(launch.function, registers, local_bytes,
                                           shared_bytes + launch.dynamic_shared_bytes))
        return found

    def _function(self, launch: KernelLaunch) -> int:
        function = self._driver.function(self._module, launch.function)
        if launch.dynamic_shared_bytes > 0:
            self._driver.allow_dynamic_shared(function, launch.dynamic_shared_bytes)
        return function

    def _own_scratch(self) -> int:
        if not self._scratch:
            self._scratch = self._driver.allocate(self.kernel.scratch_bytes)
        return self._scratch


def _options_for(launches: Sequence[KernelLaunch]) -> Sequence[str]:
    """Source whose launches pass tensor maps does not compile for those who pass none."""
    return ["-DMDH_TENSOR_MAPS"] if any(launch.tensor_maps for launch in launches) else []


class _TensorMaps:
    """The maps of a launch, encoded for its pointers."""

    _BYTES, _ALIGNMENT = 128, 64

    def __init__(self, driver: CudaDriver, maps: Sequence[TensorMap]):
        self._driver = driver
        self._maps = maps
        self._room = ctypes.create_string_buffer(self._BYTES * len(maps) + self._ALIGNMENT)
        first = -ctypes.addressof(self._room) % self._ALIGNMENT
        self._encoded = [(ctypes.c_uint64 * 16).from_buffer(self._room, first + self._BYTES * number)
                         for number in range(len(maps))]
        self._known = [-1] * len(maps)  # pointers that they are encoded for
        self.addresses = [ctypes.addressof(encoded) for encoded in self._encoded]

    def move(self, pointers: Sequence[int]) -> None:
        for number, tensor in enumerate(self._maps):
            pointer = pointers[tensor.argument]
            if pointer != self._known[number]:
                self._driver.encode_tensor_map(tensor, pointer, self._encoded[number])
                self._known[number] = pointer


class PreparedLaunch:
    """Launches with fixed arguments. Made by CudaKernel.prepare; lives no longer than it."""

    def __init__(self, driver: CudaDriver, stages: Sequence[Tuple[int, KernelLaunch]],
                 pointers: Sequence[int], owners: Sequence[Any]):
        self._driver = driver
        self._owners = owners  # keeps the memory that arrays lend
        self._pointers = (ctypes.c_uint64 * len(pointers))(*pointers)
        first, each = ctypes.addressof(self._pointers), ctypes.sizeof(ctypes.c_uint64)
        values = [first + each * number for number in range(len(pointers))]
        self._maps: List[_TensorMaps] = []
        self._stages = [(function, _three(launch.grid), _three(launch.block),
                         launch.dynamic_shared_bytes, launch.starts_early,
                         self._values_of(driver, launch, values))
                        for function, launch in stages]
        if any(pointers):  # else they are still to come
            self.move(pointers)

    def _values_of(self, driver: CudaDriver, launch: KernelLaunch, values: List[int]) -> Any:
        """Addresses of the launch's arguments."""
        if launch.tensor_maps:
            self._maps.append(_TensorMaps(driver, launch.tensor_maps))
            values = values + self._maps[-1].addresses
        return (ctypes.c_void_p * len(values))(*values)

    def __call__(self, stream: Any = None) -> None:
        """Launches all stages, without waiting for their end."""
        handle = _stream_handle(stream)
        for function, grid, block, shared_bytes, starts_early, values in self._stages:
            self._driver.launch(function, grid, block, shared_bytes, handle, values,
                                starts_early=starts_early)

    def move(self, pointers: Sequence[int]) -> None:
        """The next launches are on other memory, which is not checked: as many pointers as before.
        Errors: CudaError of a tensor map's pointer that is not aligned."""
        self._pointers[:] = pointers
        for maps in self._maps:
            maps.move(pointers)


class PointerLauncher:
    """Launches on memory that changes from call to call, in whatever context is current. Thread-safe.
    Made by CudaKernel.launcher; lives no longer than it."""

    def __init__(self, driver: CudaDriver, context: int, prepare: Callable[[], PreparedLaunch]):
        """`context`: the kernel's."""
        self._driver = driver
        self._context = context
        self._prepare = prepare
        self._idle: List[PreparedLaunch] = []  # each is of one thread at a time

    def __call__(self, pointers: Sequence[int], stream: int) -> None:
        """Launches all stages, without waiting for their end. `pointers`: to inputs, outputs and, if
        the kernel needs it, scratch memory that no other launch uses: aligned to ALIGNMENT_BYTES, large
        enough, on the kernel's device. `stream`: a handle. Errors: CudaError."""
        try:
            launch = self._idle.pop()
        except IndexError:
            launch = self._prepare()
        launch.move(pointers)
        # A thread's first call may come before its context, and its device may be another.
        if self._driver.current_context() == self._context:
            launch(stream)
        else:
            with self._driver.context(self._context):
                launch(stream)
        self._idle.append(launch)


def _three(extents: Sequence[int]) -> Tuple[int, int, int]:
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def _stream_handle(stream: Any) -> int:
    """Of an integer, None, or a stream of torch, cupy or the protocol of cuda.core."""
    if stream is None or isinstance(stream, int):
        return stream or 0
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    raise wrong(f"{stream!r} is no stream: it has none of cuda_stream, ptr, __cuda_stream__")
