"""Kernels in CUDA C++, compiled and launched from Python: NVRTC and the CUDA driver, nothing else.

    kernel = CudaKernel(client.kernel(tuned))       # or CudaKernel(read_kernel("matmul.json"))
    kernel(a, b, c)                                 # tensors of torch, arrays of cupy, pointers
    kernel(a, b, c, stream=torch.cuda.current_stream())
    launch = kernel.prepare(a, b, c)                # checked once, launched often
    launch(stream)

Launches do not wait, and may be captured into CUDA graphs.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, List, Optional, Protocol, Sequence, Tuple

from .cuda_driver import CudaDriver
from .errors import wrong
from .kernel_file import KernelArgument, KernelLaunch
from .nvrtc import Nvrtc

_ALIGNMENT_BYTES = 16  # what the generated code expects of all pointers


class LaunchedKernel(Protocol):
    """What is needed of a kernel: `mdh.Kernel` and `KernelFile` have it."""

    entry: str
    language: str
    source: str
    arguments: Tuple[KernelArgument, ...]
    compile_options: Tuple[str, ...]
    launches: Tuple[KernelLaunch, ...]
    scratch_bytes: int


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
        if kernel.language != "CUDA C++":
            raise wrong(f"the kernel {kernel.entry} is in {kernel.language}, not in CUDA C++")
        self.kernel = kernel
        self._scratch = 0
        self._module = 0
        self._driver = CudaDriver() if driver is None else driver
        self._driver.use_context(device)
        image = (Nvrtc() if nvrtc is None else nvrtc).compile(
            kernel.source, name=kernel.entry + ".cu", capability=self._driver.capability(),
            options=kernel.compile_options)
        self._module = self._driver.load_module(image)
        self._functions = [self._function(launch) for launch in kernel.launches]

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
        the device's memory or an object with __cuda_array_interface__. `stream`: a handle, or an
        object of torch or cupy; default: CUDA's default stream. `scratch`: memory of
        `kernel.scratch_bytes` bytes; default: the kernel's own. Errors: ExpressionError, naming the
        argument, if one does not fit; CudaError."""
        self.prepare(*arguments, scratch=scratch)(stream)

    def prepare(self, *arguments: Any, scratch: Any = None) -> "PreparedLaunch":
        """The launches with these arguments, which must stay where they are. Errors: as above."""
        expected = self.kernel.arguments
        if len(arguments) != len(expected):
            names = ", ".join(argument.name for argument in expected)
            raise wrong(f"{self.kernel.entry} has {len(expected)} arguments ({names}), not "
                        f"{len(arguments)}")
        pointers = [_pointer(a, e.name, e.size_bytes) for a, e in zip(arguments, expected)]
        if self.kernel.scratch_bytes > 0:
            pointers.append(self._own_scratch() if scratch is None else
                            _pointer(scratch, "scratch", self.kernel.scratch_bytes))
        return PreparedLaunch(self._driver, list(zip(self._functions, self.kernel.launches)),
                              pointers)

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


class PreparedLaunch:
    """Launches with fixed arguments. Made by CudaKernel.prepare; lives no longer than it."""

    def __init__(self, driver: CudaDriver, stages: Sequence[Tuple[int, KernelLaunch]],
                 pointers: Sequence[int]):
        self._driver = driver
        self._stages = [(function, _three(launch.grid), _three(launch.block),
                         launch.dynamic_shared_bytes) for function, launch in stages]
        self._pointers = [ctypes.c_uint64(pointer) for pointer in pointers]
        addresses = [ctypes.addressof(pointer) for pointer in self._pointers]
        self._values = (ctypes.c_void_p * len(addresses))(*addresses)

    def __call__(self, stream: Any = None) -> None:
        """Launches all stages, without waiting for their end."""
        handle = _stream_handle(stream)
        for function, grid, block, shared_bytes in self._stages:
            self._driver.launch(function, grid, block, shared_bytes, handle, self._values)


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


def _pointer(argument: Any, name: str, size_bytes: int) -> int:
    """Where the argument's data are on the device, after checks of what can be checked."""
    if isinstance(argument, bool) or argument is None:
        raise wrong(f"the argument '{name}' is {argument!r}, not memory of a GPU")
    if isinstance(argument, int):
        pointer = argument
    else:
        pointer = _pointer_of_array(argument, name, size_bytes)
    if pointer == 0 or pointer % _ALIGNMENT_BYTES != 0:
        raise wrong(f"the argument '{name}' starts at {pointer:#x}: it must be memory of a GPU, "
                    f"aligned to {_ALIGNMENT_BYTES} bytes")
    return pointer


def _pointer_of_array(array: Any, name: str, size_bytes: int) -> int:
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        raise wrong(f"the argument '{name}' is a {type(array).__name__} without "
                    f"__cuda_array_interface__: it is not memory of a GPU")
    item_bytes = int(interface["typestr"][2:])
    shape = tuple(interface["shape"])
    elements = 1
    for extent in shape:
        elements *= extent
    strides = interface.get("strides")
    if strides is not None and elements > 0 and not _is_contiguous(shape, strides, item_bytes):
        raise wrong(f"the argument '{name}' is not contiguous: shape {shape}, strides in bytes "
                    f"{tuple(strides)}")
    if elements * item_bytes < size_bytes:
        raise wrong(f"the argument '{name}' has {elements * item_bytes} bytes, but the kernel "
                    f"expects {size_bytes}")
    return int(interface["data"][0])


def _is_contiguous(shape: Sequence[int], strides: Sequence[int], item_bytes: int) -> bool:
    expected = item_bytes
    for extent, stride in zip(reversed(tuple(shape)), reversed(tuple(strides))):
        if extent > 1 and stride != expected:
            return False
        expected *= extent
    return True
