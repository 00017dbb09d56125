"""The CUDA driver, through ctypes: contexts, modules, functions, launches."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Iterator, Optional, Sequence, Tuple

from ..errors import FailedPreconditionError, MdhError
from .kernel_file import TensorMap

_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76  # CUdevice_attribute
_SHARED_BYTES, _LOCAL_BYTES, _REGISTERS, _DYNAMIC_SHARED_BYTES = 1, 3, 4, 8  # CUfunction_attribute
_DEVICE_ORDINAL = 9  # CUpointer_attribute
_PROGRAMMATIC_STREAM_SERIALIZATION = 6  # CUlaunchAttributeID
# CUtensorMapDataType of elements by their bytes, CUtensorMapSwizzle, CUtensorMapL2promotion
_UNSIGNED = {1: 0, 2: 1, 4: 2, 8: 4}
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_PROMOTED_TO_128_BYTES = 2
# The first version of the driver that can also capture such launches into graphs.
_FIRST_WITH_EARLY_LAUNCHES = 12030


class _AttributeValue(ctypes.Union):
    _fields_ = [("pad", ctypes.c_uint64 * 8),
                ("programmatic_stream_serialization_allowed", ctypes.c_int)]


class _LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", _AttributeValue)]


class _LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("dynamic_shared_bytes", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(_LaunchAttribute)),
                ("attribute_count", ctypes.c_uint)]


_EARLY = _LaunchAttribute(_PROGRAMMATIC_STREAM_SERIALIZATION, b"",
                          _AttributeValue(programmatic_stream_serialization_allowed=1))


class CudaError(MdhError):
    """A call of the CUDA driver failed; `number` is its CUresult."""

    code = "INTERNAL"

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.number = number


class CudaDriver:
    """The functions that kernels need. Handles are integers. Thread-safe, but the current context
    is one of the calling thread, as always in CUDA. Errors of all: CudaError, naming the call."""

    def __init__(self, library: Optional[Any] = None):
        """`library`: one that is loaded already. Errors: FailedPreconditionError if there is no
        driver."""
        if library is None:
            try:
                library = ctypes.CDLL("libcuda.so.1")
            except OSError as error:
                raise FailedPreconditionError(f"there is no CUDA driver: {error}") from error
        self._library = library
        self._call("cuInit", 0)
        version = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(version))
        self._launches_early = (version.value >= _FIRST_WITH_EARLY_LAUNCHES
                                and hasattr(library, "cuLaunchKernelEx"))

    def use_context(self, device: int = 0) -> None:
        """Leaves this thread's current context as it is; makes the primary one of `device` current
        if there is none."""
        context = ctypes.c_void_p()
        self._call("cuCtxGetCurrent", ctypes.byref(context))
        if context.value:
            return
        handle = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(handle), device)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self._call("cuCtxSetCurrent", context)

    def current_context(self) -> int:
        """This thread's; 0: it has none."""
        context = ctypes.c_void_p()
        self._call("cuCtxGetCurrent", ctypes.byref(context))
        return context.value or 0

    @contextlib.contextmanager
    def context(self, context: int) -> Iterator[None]:
        """Another one is this thread's current one meanwhile."""
        self._call("cuCtxPushCurrent_v2", ctypes.c_void_p(context))
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def capability(self) -> int:
        """Compute capability of the current context's device: 90 for 9.0."""
        device = ctypes.c_int()
        self._call("cuCtxGetDevice", ctypes.byref(device))
        parts = []
        for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
            value = ctypes.c_int()
            self._call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
            parts.append(value.value)
        return 10 * parts[0] + parts[1]

    def current_device(self) -> int:
        """The number of the current context's device."""
        device = ctypes.c_int()
        self._call("cuCtxGetDevice", ctypes.byref(device))
        return device.value

    def device_of(self, pointer: int) -> int:
        """The number of the device that has the memory at `pointer`."""
        device = ctypes.c_int()
        self._call("cuPointerGetAttribute", ctypes.byref(device), _DEVICE_ORDINAL,
                   ctypes.c_uint64(pointer))
        return device.value

    def load_module(self, image: bytes) -> int:
        """Loads machine code into the current context."""
        module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), image)
        return module.value or 0

    def unload_module(self, module: int) -> None:
        self._call("cuModuleUnload", ctypes.c_void_p(module))

    def function(self, module: int, name: str) -> int:
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), ctypes.c_void_p(module),
                   name.encode())
        return function.value or 0

    def allow_dynamic_shared(self, function: int, size_bytes: int) -> None:
        """Raises the function's limit; beyond 48 KiB a launch fails without."""
        self._call("cuFuncSetAttribute", ctypes.c_void_p(function), _DYNAMIC_SHARED_BYTES,
                   size_bytes)

    def resources(self, function: int) -> Tuple[int, int, int]:
        """Of a thread: registers, bytes of local memory (larger than 0: registers were spilled, or
        arrays are indexed); of a block: bytes of static shared memory."""
        values = []
        for attribute in (_REGISTERS, _LOCAL_BYTES, _SHARED_BYTES):
            value = ctypes.c_int()
            self._call("cuFuncGetAttribute", ctypes.byref(value), attribute,
                       ctypes.c_void_p(function))
            values.append(value.value)
        return values[0], values[1], values[2]

    def allocate(self, size_bytes: int) -> int:
        pointer = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size_bytes))
        return pointer.value

    def free(self, pointer: int) -> None:
        self._call("cuMemFree_v2", ctypes.c_uint64(pointer))

    def encode_tensor_map(self, tensor: TensorMap, pointer: int, encoded: Any) -> None:
        """Writes what the driver makes of it to `encoded`, 128 bytes at a multiple of 64: of the array
        behind `pointer`, which its argument points to, at a multiple of ALIGNMENT_BYTES."""
        if not hasattr(self._library, "cuTensorMapEncodeTiled"):
            raise FailedPreconditionError(
                "the kernel needs tensor maps, which drivers of CUDA 12 and later encode")
        rank = len(tensor.extents)
        self._call("cuTensorMapEncodeTiled", ctypes.byref(encoded), _UNSIGNED[tensor.element_bytes],
                   rank, ctypes.c_uint64(pointer + tensor.offset_bytes),
                   (ctypes.c_uint64 * rank)(*tensor.extents),
                   (ctypes.c_uint64 * rank)(*tensor.strides_bytes),
                   (ctypes.c_uint32 * rank)(*tensor.box), (ctypes.c_uint32 * rank)(*[1] * rank),
                   0, _SWIZZLES[tensor.swizzle_bytes], _PROMOTED_TO_128_BYTES, 0)

    def launch(self, function: int, grid: Sequence[int], block: Sequence[int],
               dynamic_shared_bytes: int, stream: int, values: Any, *,
               starts_early: bool = False) -> None:
        """`values`: an array of pointers to the arguments, as cuLaunchKernel takes it.
        `starts_early`: where the driver can (12.3 and later), while what is before it in the stream
        still runs; for functions that wait for that themselves, on devices of compute capability
        9.0 and later."""
        if starts_early and self._launches_early:
            config = _LaunchConfig(tuple(grid), tuple(block), dynamic_shared_bytes, stream,
                                   ctypes.pointer(_EARLY), 1)
            self._call("cuLaunchKernelEx", ctypes.byref(config), ctypes.c_void_p(function), values,
                       None)
            return
        self._call("cuLaunchKernel", ctypes.c_void_p(function), *grid, *block,
                   dynamic_shared_bytes, ctypes.c_void_p(stream), values, None)

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise CudaError(f"{name}: {self._error_text(code)}", code)

    def _error_text(self, code: int) -> str:
        texts = []
        for function in (self._library.cuGetErrorName, self._library.cuGetErrorString):
            text = ctypes.c_char_p()
            if function(code, ctypes.byref(text)) == 0 and text.value:
                texts.append(text.value.decode())
        return ", ".join(texts) or f"error {code}"
