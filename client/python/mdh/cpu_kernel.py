"""Kernels in C, compiled by the system's compiler and run in this process:

    kernel = CpuKernel(client.kernel(tuned))     # or of a bundle's entry
    kernel(a, b, c)                              # arrays of numpy, tensors of torch, ...

Compiled kernels are kept in a folder of this user, so that each is compiled once.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import pathlib
import platform
import shutil
import stat
import subprocess
import tempfile
from typing import Any, List, Optional, Protocol, Sequence, Tuple, Union

from .arrays import check, view_of
from .errors import FailedPreconditionError, ResourceExhaustedError, wrong
from .kernel_file import KernelArgument

_LANGUAGE = "OpenMP C"
_LOG_BYTES = 2000


class CompiledKernel(Protocol):
    """What is needed of a kernel: `mdh.Kernel` has it."""

    entry: str
    language: str
    source: str
    arguments: Tuple[KernelArgument, ...]
    compiler: str
    compile_options: Tuple[str, ...]


def default_cache_directory() -> pathlib.Path:
    """"mdh" in $XDG_CACHE_HOME, or else in ~/.cache."""
    caches = os.environ.get("XDG_CACHE_HOME", "")
    return (pathlib.Path(caches) if caches.startswith("/") else pathlib.Path.home() / ".cache") / "mdh"


class CpuKernel:
    """A compiled kernel, loaded into this process. Thread-safe; calls do not hold Python's lock."""

    def __init__(self, kernel: CompiledKernel, *,
                 cache_directory: Optional[Union[str, "os.PathLike[str]"]] = None,
                 compiler: str = ""):
        """Compiles, unless that was done before, which takes about a second, and loads.

        `cache_directory`: one of this user alone, made if it is not there; default:
        default_cache_directory(). `compiler`: one that understands gcc's options; default: the one
        that the kernel was measured with, or gcc if this process has GNU's OpenMP already, as with
        PyTorch, or cc if that is missing.

        Errors: ExpressionError if the kernel is not in C; FailedPreconditionError if it does not
        compile, with what the compiler wrote, or others could write to the folder.
        """
        if kernel.language != _LANGUAGE:
            raise wrong(f"the kernel {kernel.entry} is in {kernel.language}, not in {_LANGUAGE}")
        self.kernel = kernel
        directory = pathlib.Path(cache_directory or default_cache_directory())
        _make_private(directory)
        path = _shared_object(kernel, directory, compiler)
        try:
            library = ctypes.CDLL(str(path))
        except OSError:  # damaged by a crash of the machine, or made for another C library
            path.unlink(missing_ok=True)
            library = ctypes.CDLL(str(_shared_object(kernel, directory, compiler)))
        self._function = getattr(library, kernel.entry)
        self._function.restype = ctypes.c_int
        self._function.argtypes = [ctypes.c_void_p] * (len(kernel.arguments) + 1)

    def __call__(self, *arguments: Any) -> None:
        """Runs the kernel. `arguments`: inputs, then outputs: arrays of numpy, tensors of torch or
        anything with __array_interface__ or DLPack, contiguous, of the kernel's types; or pointers.
        Errors: ExpressionError, naming the argument, if one does not fit; ResourceExhaustedError if
        there is no scratch memory."""
        expected = self.kernel.arguments
        if len(arguments) != len(expected):
            names = ", ".join(argument.name for argument in expected)
            raise wrong(f"{self.kernel.entry} has {len(expected)} arguments ({names}), not "
                        f"{len(arguments)}")
        pointers: List[int] = []
        owners: List[Any] = []
        for array, argument in zip(arguments, expected):
            pointer, owner = _pointer(array, argument)
            pointers.append(pointer)
            owners.append(owner)
        self.run(pointers)

    def run(self, pointers: Sequence[int]) -> None:
        """As a call, on memory that the caller knows to fit: nothing is checked.
        Errors: ResourceExhaustedError."""
        if self._function(*pointers, None) != 0:
            raise ResourceExhaustedError("there is no memory for the kernel's scratch buffer")


def _pointer(array: Any, argument: KernelArgument) -> Tuple[int, Any]:
    """Where the argument's elements are, and what keeps them there."""
    name = argument.name
    if array is None or isinstance(array, int):
        if not array or isinstance(array, bool):
            raise wrong(f"the argument '{name}' is {array!r}, no memory")
        return array, None
    view = view_of(array, name)
    if view.is_on_gpu:
        raise wrong(f"the argument '{name}' is memory of a GPU, but the kernel runs on the CPU")
    check(view, name, argument.type, argument.size_bytes)
    if view.pointer == 0 and argument.size_bytes > 0:  # torch: of a tensor whose storage was freed
        raise wrong(f"the argument '{name}' is an array without memory")
    if argument.is_output and view.is_read_only:
        raise wrong(f"the argument '{name}' is an output, but the array is read-only")
    return view.pointer, view.owner


def _make_private(directory: pathlib.Path) -> None:
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise FailedPreconditionError(f"cannot make the folder {directory}: {error}") from error
    state = directory.stat()
    if state.st_uid != os.geteuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise FailedPreconditionError(
            f"others may write to {directory}, or own it: code from there is not run")


def _native_cpu() -> str:
    """What code for "the native machine" depends on: a home folder may be shared by several."""
    with contextlib.suppress(OSError):
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return "\n".join([line for line in lines if line.startswith(("model name", "flags"))][:2])
    return platform.processor()


def _compilers(kernel: CompiledKernel) -> List[str]:
    """Those to try, the best first. Threads of two OpenMP runtimes would take each other's cores: both
    go on to look for work for a while (clang's for 200 ms), which costs more than another compiler."""
    if kernel.compiler == "clang" and _has_gnu_openmp() and shutil.which("gcc"):
        return ["gcc"]
    return [kernel.compiler, "cc"]


def _has_gnu_openmp() -> bool:
    """Whether this process has loaded it, under whichever name."""
    with contextlib.suppress(OSError):
        return "/libgomp" in pathlib.Path("/proc/self/maps").read_text(errors="replace")
    return False


def _shared_object(kernel: CompiledKernel, directory: pathlib.Path, compiler: str) -> pathlib.Path:
    """Compiles unless it is there. A file appears when it is complete: processes may compile at the
    same time."""
    compilers = [compiler] if compiler else _compilers(kernel)
    parts = [kernel.source, compilers[0], _native_cpu(), *kernel.compile_options]
    name = hashlib.sha256("".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()
    path = directory / f"python-{name}.so"
    if path.exists() and path.stat().st_size > 0:
        return path
    program = next(filter(None, map(shutil.which, compilers)), None)
    if program is None:
        raise FailedPreconditionError(f"there is no compiler: {compilers[0]} cannot be run")
    with tempfile.TemporaryDirectory(dir=directory, prefix="new-") as work:
        source, made = pathlib.Path(work, "kernel.c"), pathlib.Path(work, "kernel.so")
        source.write_text(kernel.source, encoding="utf-8")
        done = subprocess.run(
            [program, "-shared", "-fPIC", "-o", str(made), str(source), *kernel.compile_options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            log = done.stdout.decode(errors="replace")[:_LOG_BYTES]
            raise FailedPreconditionError(f"{program} does not compile {kernel.entry}:\n{log}")
        os.replace(made, path)
    return path
