"""How kernels in C are called: on the threads of whichever OpenMP runtime this process has, so that
the kernel's code need not be compiled for one of them by the compiler that goes with it."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import pathlib
import re
from typing import Any, List, Tuple

from ..errors import FailedPreconditionError

_PLAIN = """
int mdh_call(void* const* a) { return $0($1$2); }
"""

# $0 entry, $1 arguments, $2 scratch memory, $3 stages. The C++ client has the same file as a raw string.
_ON_THREADS = pathlib.Path(__file__).with_name("call_on_threads.inc").read_text(
    encoding="utf-8").removeprefix('R"(').removesuffix(')"\n')

# Copies that come with other software have a number behind the name.
_RUNTIMES = tuple(re.compile(rf"/{name}[-.][^/]*$") for name in ("libgomp", "libiomp5", "libomp"))
_FILES = ("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so")
_FUNCTIONS = ("GOMP_parallel", "GOMP_barrier", "omp_get_max_threads", "omp_get_num_threads",
              "omp_get_thread_num")


def source_of(entry: str, arguments: int, stages: int) -> str:
    """C source to append to a kernel's: `int mdh_call(void* const* a)` runs it. `stages`: 0: the
    entry function runs them."""
    text = _ON_THREADS if stages > 0 else _PLAIN
    values = (entry, "".join(f"a[{n}], " for n in range(arguments)), "0", str(stages))
    for number, value in enumerate(values):
        text = text.replace(f"${number}", value)
    return text


def options_of(options: Tuple[str, ...], stages: int) -> List[str]:
    """Those for compiling a kernel together with source_of."""
    return [option for option in options if stages == 0 or option != "-fopenmp"]


def connect(library: ctypes.CDLL) -> bool:
    """Gives a loaded kernel the threads of this process, if it runs on several: whether it does.
    Errors: FailedPreconditionError if there is no OpenMP runtime."""
    with contextlib.suppress(ValueError):
        functions = (ctypes.c_void_p * len(_FUNCTIONS)).in_dll(library, "mdh_call_openmp")
        if not functions[-1]:  # the same library may be loaded again while its kernel runs
            functions[:] = _runtime()
        return True
    return False


def threads_here() -> int:
    """How many threads on cores of their own the runtime of `connect` gives a kernel: fewer than there
    are cores where OMP_NUM_THREADS, OMP_THREAD_LIMIT, OMP_PLACES, GOMP_CPU_AFFINITY or the like say so.
    Errors: FailedPreconditionError if there is none."""
    _runtime()  # says what is missing
    library = _library()
    threads = [library.omp_get_max_threads()]
    with contextlib.suppress(AttributeError):
        threads.append(library.omp_get_thread_limit())
    with contextlib.suppress(AttributeError):
        places = range(library.omp_get_num_places())
        threads += [sum(map(library.omp_get_place_num_procs, places))] if places else []
    return int(min(threads))


@functools.lru_cache(maxsize=None)
def _runtime() -> Tuple[int, ...]:
    """Entry points of the runtime that this process has loaded already, so that there are no
    threads of another one that take each other's cores: both go on to look for work for a while
    (LLVM's for 200 ms). If there is none, GNU's or else LLVM's is loaded, and stays."""
    library = _library()
    try:
        return tuple(_address(library, name) for name in _FUNCTIONS)
    except AttributeError:
        raise FailedPreconditionError(
            f"there is no OpenMP runtime to run kernels on: neither {_FILES[0]} nor {_FILES[1]} can "
            f"be loaded") from None


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    for file in (*_loaded(), *_FILES):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(file)
    return None


def _address(library: Any, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


def _loaded() -> List[str]:
    """Files of the runtimes that this process has loaded, the one to be taken first."""
    maps = ""
    with contextlib.suppress(OSError):
        maps = pathlib.Path("/proc/self/maps").read_text(errors="replace")
    paths = dict.fromkeys(line.split(None, 5)[5] for line in maps.splitlines()
                          if len(line.split(None, 5)) == 6)
    return [path for name in _RUNTIMES for path in paths if name.search(path)]
