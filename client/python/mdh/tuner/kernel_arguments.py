"""Arguments of kernels: scalars and buffers of numpy, ctypes, array: whatever has memory."""

from __future__ import annotations

import math
import struct
from typing import Any, Callable, Union

from ..errors import wrong

# Kinds of elements, by their letters in struct and memoryview.
_KINDS = {**dict.fromkeys("bhilqn", "int"), **dict.fromkeys("BHILQN", "uint"),
          **dict.fromkeys("fd", "float")}
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32",
         "float64")


class Filled:
    """A buffer of elements that are not given: how many may depend on the configuration."""

    content = ""

    def __init__(self, type: str, count: Union[int, str, Callable[..., Any]]):
        """`type`: "float32", "int32", ... or such a type of numpy. `count`: a number, the text of
        a formula, or a function of parameters."""
        name = getattr(type, "__name__", str(type))
        if name not in TYPES:
            raise wrong(f"there is no element type {name!r}, but {', '.join(TYPES)}")
        self.type = name
        self.count = count


class Zeros(Filled):
    """Zeros before every run."""

    content = "zeros"


class Random(Filled):
    """Numbers at random, the same for every configuration: in [0, 1), integers in -100..100."""

    content = "random"


def element_type(view: memoryview, value: Any) -> str:
    """The type of a buffer's elements. Errors: ExpressionError if kernels have none such."""
    letter = view.format.lstrip("@=<")
    name = f"{_KINDS[letter]}{8 * view.itemsize}" if letter in _KINDS else ""
    if name not in TYPES:
        raise wrong(f"{type(value).__name__} with elements of format '{view.format}' is no "
                    f"argument of a kernel; elements are {', '.join(TYPES)}")
    return name


def buffer_of(value: Any) -> memoryview:
    """The memory of a scalar or array. Errors: ExpressionError for a value of Python itself, which
    has no type that kernels know."""
    try:
        return memoryview(value)
    except TypeError:
        pass
    hint = ("; say of which type it is, as in numpy.int32(...) or ctypes.c_int32(...)"
            if isinstance(value, (bool, int, float)) else "")
    raise wrong(f"{value!r} is no argument of a kernel{hint}")


def write_argument(message: Any, value: Any) -> None:
    """Sets type and content of an argument of a message, whose name is there."""
    view = buffer_of(value)
    message.type = element_type(view, value)
    if view.ndim > 0:
        message.data = view.tobytes()
        if not message.data:
            raise wrong(f"the argument '{message.name}' is empty")
        return
    number = struct.unpack(view.format.lstrip("@=<"), view.tobytes())[0]
    if not math.isfinite(number):
        raise wrong(f"the argument '{message.name}' is {number}, which is not finite")
    message.value = repr(number)
