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
import warnings
from typing import Any, List, Optional, Protocol, Sequence, Tuple, Union

from . import kernel_call
from .arguments import ArgumentCheck
from .errors import ExpressionError, FailedPreconditionError, ResourceExhaustedError, wrong
from .kernel_file import KernelArgument

_LANGUAGE = "OpenMP C"
_OTHER_COMPILER = "cc"  # where the kernel's own is missing
_LOG_BYTES = 2000


class CompiledKernel(Protocol):
    """What is needed of a kernel: `mdh.Kernel` has it."""

    entry: str
    language: str
    source: str
    arguments: Tuple[KernelArgument, ...]
    compiler: str
    compile_options: Tuple[str, ...]
    # stages: int; of the body, and 0 or not there if only the entry function can be called


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
        that the kernel was measured with, or cc if that is missing, with a RuntimeWarning.

        A kernel of several threads runs on those of the OpenMP runtime that this process has, as
        with PyTorch, or else of GNU's or LLVM's, which is loaded; its code is the same on each.

        Errors: ExpressionError if the kernel is not in C; FailedPreconditionError if it does not
        compile, with what the compiler wrote, others could write to the folder, or there is no
        OpenMP runtime.
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
        kernel_call.connect(library)
        self._arguments = ctypes.c_void_p * len(kernel.arguments)
        self._function = library.mdh_call
        self._function.restype = ctypes.c_int
        self._check = ArgumentCheck(kernel.entry, kernel.arguments, is_on_gpu=False)

    def __call__(self, *arguments: Any) -> None:
        """Runs the kernel. `arguments`: inputs, then outputs: arrays of numpy, tensors of torch or
        anything with __array_interface__ or DLPack, of the types, shapes and strides that the
        expression's buffers have; outputs overlap with nothing. Or pointers. Errors:
        ArgumentTypeError, a TypeError, and ArgumentValueError, a ValueError, naming the argument, if
        one does not fit; ResourceExhaustedError if there is no scratch memory."""
        try:
            pointers, _owners = self._check.pointers(arguments)
        except ExpressionError as error:
            raise error.with_traceback(None) from None  # what was looked at is none of the caller's
        self.run(pointers)

    def run(self, pointers: Sequence[int]) -> None:
        """As a call, on memory that the caller knows to fit: nothing is checked.
        Errors: ResourceExhaustedError."""
        if self._function(self._arguments(*pointers)) != 0:
            raise ResourceExhaustedError("there is no memory for the kernel's scratch buffer")


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


def _shared_object(kernel: CompiledKernel, directory: pathlib.Path, compiler: str) -> pathlib.Path:
    """Compiles unless it is there. A file appears when it is complete: processes may compile at the
    same time."""
    stages = getattr(kernel, "stages", 0)
    options = kernel_call.options_of(kernel.compile_options, stages)
    source = kernel.source + kernel_call.source_of(kernel.entry, len(kernel.arguments), stages)
    compilers = [compiler] if compiler else [kernel.compiler, _OTHER_COMPILER]
    for name in compilers:
        parts = [source, name, _native_cpu(), *options]
        digest = hashlib.sha256("".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()
        path = directory / f"python-{digest}.so"
        is_there = path.exists() and path.stat().st_size > 0
        program = None if is_there else shutil.which(name)
        if not is_there and program is None:
            continue
        if name != compilers[0]:
            warnings.warn(f"the kernel {kernel.entry} was measured with {kernel.compiler}, which "
                          f"cannot be run here: it is compiled with {name}, and may take longer",
                          RuntimeWarning, stacklevel=3)
        if program is not None:
            _compile(program, kernel.entry, source, options, path)
        return path
    raise FailedPreconditionError(f"there is no compiler: {compilers[0]} cannot be run")


def _compile(program: str, entry: str, text: str, options: Sequence[str],
             path: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="new-") as work:
        source, made = pathlib.Path(work, "kernel.c"), pathlib.Path(work, "kernel.so")
        source.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [program, "-shared", "-fPIC", "-o", str(made), str(source), *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            log = done.stdout.decode(errors="replace")[:_LOG_BYTES]
            raise FailedPreconditionError(f"{program} does not compile {entry}:\n{log}")
        os.replace(made, path)
