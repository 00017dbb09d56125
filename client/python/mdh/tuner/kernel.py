"""Cost functions of OpenCL and CUDA kernels."""

from __future__ import annotations

import os
import re
from typing import Any, List, Sequence, Tuple, TypeVar, Union

from ..errors import wrong
from ..v1 import program_pb2
from .kernel_arguments import Filled, buffer_of, element_type, write_argument
from .program_cost_function import Number, ProgramCostFunction

Self = TypeVar("Self", bound="KernelCostFunction")
_ENTRY = re.compile(r"(?:__kernel|\bkernel|__global__)\s+(?:__attribute__\s*\(\(.*?\)\)\s*|"
                    r"__launch_bounds__\s*\(.*?\)\s*)*void\s+(?:__launch_bounds__\s*\(.*?\)\s*)*"
                    r"(\w+)\s*\(([^)]*)\)", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Kernel:
    """Source of a kernel and the name of its function. Tuning parameters are macros in it."""

    def __init__(self, source: str, name: str = ""):
        """`name`: may be left out if the source has a single kernel."""
        entries = dict(_ENTRY.findall(_COMMENT.sub(" ", source)))
        if not name:
            if len(entries) != 1:
                found = ", ".join(entries) or "none"
                raise wrong(f"which kernel of the source is meant? It has {found}; give its name")
            name = next(iter(entries))
        self.source = source
        self.name = name
        words = [re.findall(r"\w+", p) for p in entries.get(name, "").split(",")]
        self.argument_names = [w[-1] for w in words if w]

    @staticmethod
    def from_file(path: Union[str, "os.PathLike[str]"], name: str = "") -> "Kernel":
        """The kernel in a file."""
        with open(path, encoding="utf-8") as file:
            return Kernel(file.read(), name)


class KernelCostFunction(ProgramCostFunction):
    """Base of opencl.CostFunction and cuda.CostFunction. The cost is the time of the kernel in
    nanoseconds, the median of repetitions()."""

    language = program_pb2.KERNEL_LANGUAGE_UNSPECIFIED

    def __init__(self, kernel: Union[Kernel, str, Tuple[str, str]]):
        """`kernel`: a Kernel, its source, or source and name."""
        super().__init__()
        if isinstance(kernel, str):
            kernel = Kernel(kernel)
        elif isinstance(kernel, tuple):
            kernel = Kernel(*kernel)
        if not isinstance(kernel, Kernel):
            raise wrong(f"{kernel!r} is no kernel")
        self._kernel = kernel
        self._values: List[Any] = []
        self._spec = program_pb2.KernelProgram(
            language=self.language, source=kernel.source, function=kernel.name)

    def kernel_args(self: Self, *values: Any, **named: Any) -> Self:
        """All arguments in the order of the kernel: scalars and arrays of numpy (or ctypes and
        array), Zeros and Random. Every run starts with these contents; arrays stay as they are."""
        names = self._kernel.argument_names
        if len(names) != len(values) + len(named) or len(set(names)) != len(names):
            names = [f"argument_{i}" for i in range(len(values))] + list(named)
        names = names[: len(values)] + list(named)
        self._values = [*values, *named.values()]
        del self._spec.arguments[:]
        for i, (name, value) in enumerate(zip(names, self._values)):
            message = self._spec.arguments.add(name=name)
            if isinstance(value, Filled):
                message.type = value.type
                setattr(message, value.content, self._number(
                    value.count, f"size of the argument '{name}'", f"mdh_size_{i}"))
            else:
                write_argument(message, value)
        return self

    inputs = kernel_args

    def check_result(self: Self, which: Union[int, str], expected: Any,
                     tolerance: float = 0) -> Self:
        """What an argument (its position or name) must hold after a run: an array; a function that
        gets all arguments and gives the array; or the text of a formula for each element, e.g.
        "a * x + y", where names of arguments stand for their elements before the run. `tolerance`:
        largest relative error; default: 1e-5 for float32, 1e-12 for float64."""
        at = self._position_of(which)
        message = self._spec.arguments[at]
        if message.WhichOneof("content") == "value":
            raise wrong(f"the argument '{message.name}' is a scalar, which kernels cannot change")
        check = program_pb2.ExpectedBuffer(argument=message.name, tolerance=tolerance)
        if isinstance(expected, str):
            check.elements = expected
        else:
            array = expected(*self._values) if callable(expected) else expected
            view = buffer_of(array)
            given = element_type(view, array)
            if given != message.type:
                raise wrong(f"the argument '{message.name}' is of type {message.type}, but what is "
                            f"expected of {given}")
            check.data = view.tobytes()
            if message.WhichOneof("content") == "data" and len(message.data) != len(check.data):
                raise wrong(f"the argument '{message.name}' has {len(message.data)} bytes, but "
                            f"{len(check.data)} are expected")
        self._spec.expected.append(check)
        return self

    def compiler_options(self: Self, *options: str) -> Self:
        """Options of the compiler; {name} is replaced by the value of that parameter."""
        self._spec.options.extend(options)
        return self

    def device(self: Self, name: str) -> Self:
        """Part of the device's name; default: the first device."""
        self._spec.device = name
        return self

    def program(self) -> program_pb2.ProgramSpec:
        if not self._spec.global_size:
            raise wrong(f"the kernel '{self._kernel.name}' has no {self.SIZES[0]}")
        self._spec.repetitions = self._repetitions
        self._spec.time_limit_seconds = self._time_limit_seconds
        return program_pb2.ProgramSpec(kernel=self._spec)

    # What global and local size are called.
    SIZES: Tuple[str, str] = ("global size", "local size")

    def prepare(self, study: Any, threads: int) -> None:
        if threads > 1:
            raise wrong("kernels are timed one after another: leave out parallel(...)")
        super().prepare(study, threads)

    def _set_sizes(self, which: int, sizes: Sequence[Number]) -> None:
        what = self.SIZES[which]
        if not 1 <= len(sizes) <= 3:
            raise wrong(f"the {what} has 1 to 3 dimensions, not {len(sizes)}")
        formulas = [self._number(size, f"{what} {i}", f"mdh_{'local' if which else 'global'}_{i}")
                    for i, size in enumerate(sizes)]
        target = self._spec.local_size if which else self._spec.global_size
        del target[:]
        target.extend(formulas)

    def _position_of(self, which: Union[int, str]) -> int:
        names = [message.name for message in self._spec.arguments]
        if isinstance(which, str) and which in names:
            return names.index(which)
        if isinstance(which, int) and not isinstance(which, bool) and 0 <= which < len(names):
            return which
        raise wrong(f"there is no argument {which!r}; kernel_args(...) gives "
                    f"{', '.join(names) or 'none yet'}")
