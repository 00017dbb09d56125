"""What can be tested without a GPU: kernels from rules for an H200, compiled by NVRTC where it is,
loaded and launched on a driver that only checks, with the buffers that PyTorch would be given."""

from __future__ import annotations

import pathlib
from types import SimpleNamespace
from typing import Any, Dict, List, Sequence, Tuple

from .cases import Case
from .client_modules import cuda_kernel, errors, kernel_file, nvrtc
from .operations import operation_of
from .service import Service, ServiceError, write_description

_DEVICE = "h200"
_CAPABILITY = 90
_MOST_SHARED_BYTES = 232448  # of a block
_MOST_THREADS = 1024
_TYPES = {"float16": "<f2", "bfloat16": "<V2", "float32": "<f4", "float64": "<f8", "int32": "<i4",
          "int64": "<i8", "uint8": "|u1"}


class CheckingDriver:
    """Takes the place of cuda_kernel's driver: knows no memory, remembers launches."""

    def __init__(self) -> None:
        self.launches: List[Tuple[Sequence[int], Sequence[int], int]] = []
        self._allowed: Dict[int, int] = {}

    def use_context(self, device: int = 0) -> None:
        pass

    def current_context(self) -> int:
        return 1

    def capability(self) -> int:
        return _CAPABILITY

    def current_device(self) -> int:
        return 0

    def device_of(self, pointer: int) -> int:
        return 0

    def load_module(self, image: bytes) -> int:
        return 1

    def unload_module(self, module: int) -> None:
        pass

    def function(self, module: int, name: str) -> int:
        return hash(name) or 1

    def allow_dynamic_shared(self, function: int, size_bytes: int) -> None:
        if size_bytes > _MOST_SHARED_BYTES:
            raise ValueError(f"{size_bytes} bytes of shared memory are too many")
        self._allowed[function] = size_bytes

    def allocate(self, size_bytes: int) -> int:
        return 1 << 20

    def free(self, pointer: int) -> None:
        pass

    def encode_tensor_map(self, tensor: Any, pointer: int, encoded: Any) -> None:
        if (pointer + tensor.offset_bytes) % 16 != 0:
            raise ValueError(f"a tensor map of what is at {pointer}")

    def launch(self, function: int, grid: Sequence[int], block: Sequence[int],
               dynamic_shared_bytes: int, stream: int, values: Any, *,
               starts_early: bool = False) -> None:
        threads = block[0] * block[1] * block[2]
        if not 1 <= threads <= _MOST_THREADS or min(grid) < 1:
            raise ValueError(f"a grid of {tuple(grid)} blocks of {tuple(block)} threads")
        if dynamic_shared_bytes > max(48 << 10, self._allowed.get(function, 0)):
            raise ValueError(f"{dynamic_shared_bytes} bytes of shared memory are not allowed")
        self.launches.append((grid, block, dynamic_shared_bytes))


class _NoCompiler:
    """Takes the place of NVRTC where there is none."""

    def compile(self, source: str, *, name: str, capability: int,
                options: Sequence[str] = ()) -> bytes:
        return b""


class _Memory:
    """An object like a tensor on a GPU, each at a place of its own."""

    def __init__(self, number: int, buffer: Any):
        self.dtype = SimpleNamespace(name=buffer.dtype)  # where the interface has no name for it
        self.__cuda_array_interface__ = {"shape": buffer.shape, "typestr": _TYPES[buffer.dtype],
                                         "data": ((number + 1) << 40, False), "version": 3}


def check_case(case: Case, kernel: Any, compiler: Any) -> str:
    """What is wrong with the case's buffers or its kernel; empty if nothing is."""
    operation = operation_of(case)
    buffers = (*operation.inputs, *operation.outputs)
    expected = [(a.name, a.size_bytes, a.is_output) for a in kernel.arguments]
    given = [(name, b.size_bytes, n >= len(operation.inputs))
             for n, ((name, _, _), b) in enumerate(zip(expected, buffers))]
    if len(buffers) != len(expected) or given != expected:
        return f"the kernel's buffers are {expected}, those of PyTorch {given}"
    driver = CheckingDriver()
    try:
        with cuda_kernel.CudaKernel(kernel, driver=driver, nvrtc=compiler) as loaded:
            loaded(*(_Memory(number, buffer) for number, buffer in enumerate(buffers)))
    except (errors.MdhError, ValueError) as error:
        return str(error)
    if len(driver.launches) != len(kernel.launches):
        return f"{len(driver.launches)} of {len(kernel.launches)} stages were launched"
    return ""


def self_test(cases: Sequence[Case], programs: pathlib.Path) -> int:
    """Prints a line a case; 1 if one is wrong. Errors: ServiceError without a daemon."""
    try:
        compiler: Any = nvrtc.Nvrtc()
        print(f"NVRTC {compiler.version()}")
    except errors.MdhError as error:
        compiler = _NoCompiler()
        print(f"nothing is compiled: {error}")
    wrong = 0
    service = Service(programs, "cpu")
    try:
        device = write_description(service.known_device(_DEVICE))
    except ServiceError:
        service.close()
        raise
    try:
        for case in cases:
            problem = _problem_of(case, service, device, compiler)
            wrong += bool(problem)
            print(f"{case.id:<28} {problem or 'right'}", flush=True)
    finally:
        service.close()
        pathlib.Path(device).unlink()
    print(f"{len(cases) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


def _problem_of(case: Case, service: Service, device: str, compiler: Any) -> str:
    try:
        path = service.kernel(case, device, measured=False)
        return check_case(case, kernel_file.read_kernel(path), compiler)
    except (ServiceError, errors.MdhError) as error:
        return str(error)
