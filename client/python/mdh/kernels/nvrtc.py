"""NVRTC, the compiler of CUDA C++ at run time, found when it is first needed."""

from __future__ import annotations

import ctypes
import glob
import os
from typing import Any, List, Optional, Sequence

from ..errors import FailedPreconditionError, InternalError, MdhError, wrong

_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so")
_COMPILATION_FAILED = 6  # NVRTC_ERROR_COMPILATION


class Nvrtc:
    """Compiles for GPUs; needs none itself. Thread-safe."""

    def __init__(self, library: Optional[Any] = None):
        """`library`: one that is loaded already. Errors: FailedPreconditionError, listing where it
        was looked for."""
        self._library = library if library is not None else _load()
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def version(self) -> str:
        """For example "13.0"."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check("nvrtcVersion", self._library.nvrtcVersion(
            ctypes.byref(major), ctypes.byref(minor)))
        return f"{major.value}.{minor.value}"

    def compile(self, source: str, *, name: str, capability: int,
                options: Sequence[str] = ()) -> bytes:
        """Machine code (cubin) for GPUs of compute capability `capability`, e.g. 90 for 9.0.
        Errors: ExpressionError with the compiler's log; InternalError."""
        words = [option.encode() for option in options]
        if not any(word.startswith(b"--gpu-architecture=") for word in words):
            words.insert(0, f"--gpu-architecture=sm_{capability}".encode())
        program = ctypes.c_void_p()
        self._check("nvrtcCreateProgram", self._library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), name.encode(), 0, None, None))
        try:
            code = self._library.nvrtcCompileProgram(
                program, len(words), (ctypes.c_char_p * len(words))(*words))
            if code != 0:
                raise self._compile_error(program, code, name)
            return self._read("CUBIN", program)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _compile_error(self, program: ctypes.c_void_p, code: int, name: str) -> MdhError:
        log = self._read("ProgramLog", program).rstrip(b"\0").decode(errors="replace").strip()
        if code == _COMPILATION_FAILED:
            return wrong(f"{name} does not compile:\n{log}")
        return self._error("nvrtcCompileProgram", code, log)

    def _read(self, what: str, program: ctypes.c_void_p) -> bytes:
        size = ctypes.c_size_t()
        self._check(f"nvrtcGet{what}Size",
                    getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        text = ctypes.create_string_buffer(size.value)
        self._check(f"nvrtcGet{what}", getattr(self._library, f"nvrtcGet{what}")(program, text))
        return text.raw

    def _check(self, call: str, code: int) -> None:
        if code != 0:
            raise self._error(call, code)

    def _error(self, call: str, code: int, log: str = "") -> MdhError:
        text = self._library.nvrtcGetErrorString(code).decode()
        error: MdhError = InternalError(f"{call}: {text}" + (f"\n{log}" if log else ""))
        return error


def _folders() -> List[str]:
    """Where toolkits are, the newest first, and NVRTC of packages of Python."""
    roots = [os.environ[n] for n in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(n)]
    roots += sorted(glob.glob("/usr/local/cuda*"), reverse=True)
    folders = [os.path.join(root, below) for root in roots for below in ("lib64", "lib")]
    for base in (os.path.dirname(os.path.dirname(m)) for m in _installed_modules()):
        folders += sorted(glob.glob(os.path.join(base, "nvidia", "*", "lib")), reverse=True)
    return folders


def _installed_modules() -> List[str]:
    import importlib.util

    spec = importlib.util.find_spec("nvidia")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return [os.path.join(place, "__init__.py") for place in places]


def _load() -> Any:
    tried = list(_NAMES)
    for name in _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    for folder in _folders():
        for path in sorted(glob.glob(os.path.join(folder, "libnvrtc.so*")), reverse=True):
            tried.append(path)
            try:
                return ctypes.CDLL(path)
            except OSError:
                pass
    raise FailedPreconditionError(f"NVRTC was not found; tried {', '.join(tried)}. It is part of "
                                  f"the CUDA toolkit; $CUDA_HOME says where that is")
