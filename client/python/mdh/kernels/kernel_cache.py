"""Compiled kernels on the disk, so that a kernel is compiled once for a user and a machine.

A file appears when it is complete and on the disk, with the SHA-256 of all before it behind the object,
where loaders do not look: processes may compile at the same time, and one that was damaged since, by a
crash of the machine or a full disk, is compiled again instead of ending the process that maps it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import warnings
from typing import Any, List, Optional, Sequence, Set, Union

from . import kernel_call
from ..errors import FailedPreconditionError, PermissionDeniedError, ResourceExhaustedError
from ..trust import TrustedUsers, check_trusted

_OTHER_COMPILER = "cc"  # where the kernel's own is missing
_LOG_BYTES = 2000
_SUM_PREFIX = b"\nmdh-sha256 "
_SUM_BYTES = len(_SUM_PREFIX) + 64
_LEAST_ROOM_BYTES = 1 << 20  # with less, what failed failed for that
_said: Set[str] = set()


def default_cache_directory() -> pathlib.Path:
    """"mdh" in $XDG_CACHE_HOME, or else in ~/.cache. Errors: FailedPreconditionError if nothing says
    where the home is."""
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if caches.startswith("/"):
        return pathlib.Path(caches) / "mdh"
    try:
        return pathlib.Path.home() / ".cache" / "mdh"
    except RuntimeError:  # without $HOME, and without an entry in the list of users
        raise FailedPreconditionError("neither $XDG_CACHE_HOME nor $HOME says where compiled kernels can "
                                      "be kept") from None


def load(kernel: Any, directory: Optional[Union[str, "os.PathLike[str]"]], compiler: str) -> Any:
    """The shared object of a kernel in C, found or compiled, and loaded. Where it cannot be kept, it is
    compiled in a temporary folder, which is said once, as a RuntimeWarning. Errors: those of CpuKernel."""
    folder = pathlib.Path(directory or "")
    try:
        if not directory:
            folder = default_cache_directory()
        _make_private(folder)
        return _load_from(folder, kernel, compiler)
    except PermissionDeniedError:
        raise
    except _CompilerError as error:
        raise FailedPreconditionError(str(error)) from None
    except FailedPreconditionError as error:
        reason = error.message
    except OSError as error:
        reason = f"{folder}: {error.strerror or error}"
    try:
        with tempfile.TemporaryDirectory(prefix="mdh-") as temporary:
            library = _load_from(pathlib.Path(temporary), kernel, compiler)
    except _CompilerError as error:
        raise FailedPreconditionError(str(error)) from None
    except OSError as error:
        kind = ResourceExhaustedError if _is_full(error) else FailedPreconditionError
        raise kind(f"{reason}; {error}") from error
    if reason not in _said:
        _said.add(reason)
        warnings.warn(f"compiled kernels are not kept: {reason}", RuntimeWarning, stacklevel=3)
    return library


def _load_from(folder: pathlib.Path, kernel: Any, compiler: str) -> Any:
    path = _shared_object(kernel, folder, compiler)
    try:
        return ctypes.CDLL(str(path))
    except OSError:  # made for another C library
        path.unlink(missing_ok=True)
    return ctypes.CDLL(str(_shared_object(kernel, folder, compiler)))


class _CompilerError(Exception):
    """What another folder would not help against."""


def _is_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def _make_private(directory: pathlib.Path) -> None:
    """Errors: PermissionDeniedError if others could write there; OSError if it cannot be made."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(mode=0o700, exist_ok=True)
    try:
        check_trusted(str(directory), TrustedUsers())
    except PermissionDeniedError as error:
        raise PermissionDeniedError(f"code from the cache is not run: {error.message}") from None


def _native_cpu() -> str:
    """What code for "the native machine" depends on: a home folder may be shared by several."""
    with contextlib.suppress(OSError):
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return "\n".join([line for line in lines if line.startswith(("model name", "flags"))][:2])
    return platform.processor()


def _sum_line(content: bytes) -> bytes:
    return _SUM_PREFIX + hashlib.sha256(content).hexdigest().encode()


def _is_whole(path: pathlib.Path) -> bool:
    """Whether it is there as it was written."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    size = len(content) - _SUM_BYTES
    return size > 0 and content[size:] == _sum_line(content[:size])


def _shared_object(kernel: Any, directory: pathlib.Path, compiler: str) -> pathlib.Path:
    """Compiles unless it is there. Errors: OSError if the folder cannot be used; _CompilerError."""
    stages = getattr(kernel, "stages", 0)
    options = kernel_call.options_of(kernel.compile_options, stages)
    source = kernel.source + kernel_call.source_of(kernel.entry, len(kernel.arguments), stages)
    compilers = [compiler] if compiler else [kernel.compiler, _OTHER_COMPILER]
    for name in compilers:
        parts = [source, name, _native_cpu(), *options]
        digest = hashlib.sha256("".join(f"{len(part)}:{part}" for part in parts).encode()).hexdigest()
        path = directory / f"python-{digest}.so"
        is_there = _is_whole(path)
        program = None if is_there else shutil.which(name)
        if not is_there and program is None:
            continue
        if name != compilers[0]:
            warnings.warn(f"the kernel {kernel.entry} was measured with {kernel.compiler}, which "
                          f"cannot be run here: it is compiled with {name}, and may take longer",
                          RuntimeWarning, stacklevel=5)
        if program is not None:
            _compile(program, kernel.entry, source, options, path)
        return path
    raise _CompilerError(f"there is no compiler: {compilers[0]} cannot be run")


def _compile(program: str, entry: str, text: str, options: Sequence[str],
             path: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="new-") as work:
        source, made = pathlib.Path(work, "kernel.c"), pathlib.Path(work, "kernel.so")
        source.write_text(text, encoding="utf-8")
        command: List[str] = [program, "-shared", "-fPIC", "-o", str(made), str(source), *options]
        with tempfile.TemporaryFile(dir=work) as log:
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=subprocess.STDOUT, check=False).returncode
            log.seek(0)
            said = log.read(_LOG_BYTES).decode(errors="replace")
        if code != 0:
            room = os.statvfs(work)
            if room.f_bavail * room.f_frsize < _LEAST_ROOM_BYTES:
                raise OSError(errno.ENOSPC, f"cannot write to {path.parent}")
            raise _CompilerError(f"{program} does not compile {entry}:\n{said}")
        with open(made, "ab+") as file:
            file.seek(0)
            file.write(_sum_line(file.read()))
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
