"""Kernels in C, compiled by the system's compiler and run in this process:

    kernel = CpuKernel(client.kernel(tuned))     # or of a bundle's entry
    kernel(a, b, c)                              # arrays of numpy, tensors of torch, ...

Compiled kernels are kept in a folder of this user, so that each is compiled once.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Optional, Protocol, Sequence, Tuple, Union

from . import kernel_cache, kernel_call
from ..arguments import ArgumentCheck
from ..errors import ExpressionError, ResourceExhaustedError, wrong
from .kernel_cache import default_cache_directory
from .kernel_file import OPENMP_C, SourceKernel

__all__ = ["CompiledKernel", "CpuKernel", "default_cache_directory"]


class CompiledKernel(SourceKernel, Protocol):
    """What is needed of a kernel: `mdh.Kernel` has it."""

    @property
    def compiler(self) -> str: ...

    # stages: int; of the body, and 0 or not there if only the entry function can be called
    # threads: int; of the measurement, where it is known


class _Forking:
    """GNU's OpenMP runtime keeps its threads with the thread that calls. In a forked process the thread
    that forked still believes in those of the parent, and would wait for them for ever: from then on
    its calls are made by another thread, which has its own."""

    def __init__(self) -> None:
        self.has_kernels = False
        self.forked = 0  # the thread that did
        self._caller: Optional[ThreadPoolExecutor] = None

    def note(self) -> None:
        """In the child, by the thread that forked."""
        if self.has_kernels:
            self.forked, self._caller = threading.get_ident(), ThreadPoolExecutor(1, "mdh-kernels")

    def call(self, function: Any, arguments: Any) -> int:
        """In a child."""
        if threading.get_ident() != self.forked or self._caller is None:
            return int(function(arguments))
        return int(self._caller.submit(function, arguments).result())


def _warn_of_threads(kernel: CompiledKernel) -> None:
    threads, here = getattr(kernel, "threads", 0), kernel_call.threads_here()
    most = re.search(r"#define MDH_MOST_THREADS (\d+)", kernel.source)
    if most is not None:
        threads = min(threads, int(most[1]))
    if here < threads:
        warnings.warn(f"the kernel {kernel.entry} is for {threads} threads, of which OpenMP gives it "
                      f"{here} here (OMP_NUM_THREADS, OMP_THREAD_LIMIT, OMP_PLACES, or the machine): "
                      f"it may take longer", RuntimeWarning, stacklevel=3)


_forking = _Forking()
os.register_at_fork(after_in_child=_forking.note)


class CpuKernel:
    """A compiled kernel, loaded into this process. Thread-safe; calls do not hold Python's lock. A
    process that is forked may call it, too."""

    def __init__(self, kernel: CompiledKernel, *,
                 cache_directory: Optional[Union[str, "os.PathLike[str]"]] = None,
                 compiler: str = ""):
        """Compiles, unless that was done before, which takes about a second, and loads.

        `cache_directory`: one of this user alone, made if it is not there; default:
        default_cache_directory(); where it cannot be made or written to, the kernel is compiled in a
        temporary folder and not kept, with a RuntimeWarning. `compiler`: one that understands gcc's
        options; default: the one that the kernel was measured with, or cc if that is missing, with a
        RuntimeWarning.

        A kernel of several threads runs on those of the OpenMP runtime that this process has, as
        with PyTorch, or else of GNU's or LLVM's, which is loaded; its code is the same on each. If
        that gives fewer than the kernel is for, there is a RuntimeWarning.

        Errors: ExpressionError if the kernel is not in C; FailedPreconditionError if it does not
        compile, with what the compiler wrote, or there is no OpenMP runtime; PermissionDeniedError if
        others could write to the folder; ResourceExhaustedError if the disk is full everywhere.
        """
        if kernel.language != OPENMP_C:
            raise wrong(f"the kernel {kernel.entry} is in {kernel.language}, not in {OPENMP_C}")
        self.kernel = kernel
        library = kernel_cache.load(kernel, cache_directory, compiler)
        _forking.has_kernels = True
        if kernel_call.connect(library):
            _warn_of_threads(kernel)
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
        values = self._arguments(*pointers)
        code = _forking.call(self._function, values) if _forking.forked else self._function(values)
        if code != 0:
            raise ResourceExhaustedError("there is no memory for the kernel's scratch buffer")
