"""Errors, and the place in a user's Python file that they are about."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import threading
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Iterator, List, Optional, Tuple

_CALLERS = ("numpy", "torch")  # through which a user's call may come
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True)
class SourceLocation:
    """A place in a Python file. Lines count from 1; columns too, and 0 means that none is known."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def excerpt(self) -> str:
        """The source line, with a caret under the column; empty if the file cannot be read."""
        line = linecache.getline(self.file, self.line).rstrip("\n")
        if not line.strip():
            return ""
        # Columns count bytes of UTF-8, as Python's own positions do.
        before = line.encode()[: max(self.column - 1, 0)].decode(errors="ignore")
        text = line.lstrip()
        if self.column == 0:
            return "    " + text
        indent = max(len(before) - (len(line) - len(text)), 0)
        return f"    {text}\n    {' ' * indent}^"


class MdhError(Exception):
    """Base of all errors of this package; `code` is the name of a canonical code."""

    code = "UNKNOWN"

    def __init__(self, message: str, location: Optional[SourceLocation] = None):
        self.message = message
        self.location = location
        super().__init__(message)

    def __str__(self) -> str:
        if self.location is None:
            return self.message
        excerpt = self.location.excerpt()
        return f"{self.location}: {self.message}" + (f"\n{excerpt}" if excerpt else "")


class ExpressionError(MdhError):
    """An expression or a search that is wrong, with the place in the Python file where it is
    written."""

    code = "INVALID_ARGUMENT"


class ArgumentTypeError(ExpressionError, TypeError):
    """An argument of a kernel that is no array, or has elements of another type."""


class ArgumentValueError(ExpressionError, ValueError):
    """An array that a kernel cannot have: of another shape, layout or device, read-only, overlapping."""


# Places that the reader of loops is at; they take precedence over the stack of calls.
class _Reading(threading.local):
    def __init__(self) -> None:
        self.places: List[SourceLocation] = []


_reading = _Reading()


@contextlib.contextmanager
def reading(location: SourceLocation) -> Iterator[None]:
    """Errors raised inside are about `location`."""
    _reading.places.append(location)
    try:
        yield
    finally:
        _reading.places.pop()


def _column(frame: FrameType) -> int:
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None:  # before Python 3.11
        return 0
    for number, position in enumerate(positions()):
        if number == frame.f_lasti // 2:
            return 0 if position[2] is None else position[2] + 1
    return 0


def here() -> Optional[SourceLocation]:
    """The place in the user's code that led to this call: outside of this package."""
    if _reading.places:
        return _reading.places[-1]
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        file, module = frame.f_code.co_filename, frame.f_globals.get("__name__") or ""
        is_between = file.startswith("<frozen") or module.partition(".")[0] in _CALLERS
        if not os.path.abspath(file).startswith(_PACKAGE) and not is_between:
            return SourceLocation(file, frame.f_lineno, _column(frame))
        frame = frame.f_back
    return None


def start_of(function: Any) -> Optional[SourceLocation]:
    """Where a function is defined; None for what is not written in Python."""
    code: Optional[CodeType] = getattr(function, "__code__", None)
    return None if code is None else SourceLocation(code.co_filename, code.co_firstlineno)


def wrong(message: str, location: Optional[SourceLocation] = None) -> ExpressionError:
    """An ExpressionError at `location`, or at the user's code that is running."""
    return ExpressionError(message, location or here())


def count(number: int, noun: str) -> str:
    """As in "1 result" and "2 results"."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _subclass(name: str, code: str, doc: str) -> type:
    return type(name, (MdhError,), {"code": code, "__doc__": doc, "__module__": __name__})


CancelledError = _subclass("CancelledError", "CANCELLED", "The job or call was cancelled.")
DeadlineExceededError = _subclass("DeadlineExceededError", "DEADLINE_EXCEEDED", "It took too long.")
NotFoundError = _subclass("NotFoundError", "NOT_FOUND", "There is no such record, kernel or job.")
AlreadyExistsError = _subclass("AlreadyExistsError", "ALREADY_EXISTS", "It is there already.")
PermissionDeniedError = _subclass("PermissionDeniedError", "PERMISSION_DENIED", "Not allowed.")
ResourceExhaustedError = _subclass(
    "ResourceExhaustedError", "RESOURCE_EXHAUSTED", "A limit of the daemon is reached."
)
FailedPreconditionError = _subclass(
    "FailedPreconditionError", "FAILED_PRECONDITION", "The daemon cannot do this in its state."
)
AbortedError = _subclass("AbortedError", "ABORTED", "The call was given up.")
OutOfRangeError = _subclass("OutOfRangeError", "OUT_OF_RANGE", "A size or value is too large.")
UnimplementedError = _subclass("UnimplementedError", "UNIMPLEMENTED", "The daemon lacks this.")
InternalError = _subclass("InternalError", "INTERNAL", "A defect of the daemon.")
UnavailableError = _subclass("UnavailableError", "UNAVAILABLE", "The daemon cannot be reached.")
UnauthenticatedError = _subclass("UnauthenticatedError", "UNAUTHENTICATED", "Who are you?")

_CODES: Tuple[Tuple[int, type], ...] = (
    (1, CancelledError), (3, ExpressionError), (4, DeadlineExceededError), (5, NotFoundError),
    (6, AlreadyExistsError), (7, PermissionDeniedError), (8, ResourceExhaustedError),
    (9, FailedPreconditionError), (10, AbortedError), (11, OutOfRangeError),
    (12, UnimplementedError), (13, InternalError), (14, UnavailableError),
    (16, UnauthenticatedError),
)


def from_code(code: int, message: str, location: Optional[SourceLocation] = None) -> MdhError:
    """The error of a canonical code (google.rpc.Code)."""
    return dict(_CODES).get(code, MdhError)(message, location)
