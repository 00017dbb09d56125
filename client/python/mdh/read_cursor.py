"""Up to which change of records a client has heard of: what it reads afterwards is at least as new, also
from another daemon on the same database."""

from __future__ import annotations

import threading
from typing import Any, Iterator, Tuple

from .v1 import kernel_pb2, tuning_pb2

_READS = (kernel_pb2.LookupKernelRequest, kernel_pb2.GetKernelRequest)
_JOBS = (tuning_pb2.GetTuningJobResponse, tuning_pb2.CreateTuningJobResponse)
_WRITES = (kernel_pb2.PutKernelResponse, kernel_pb2.InvalidateKernelResponse,
           kernel_pb2.PinKernelResponse, kernel_pb2.UnpinKernelResponse)
_REASONS = (b"REPLICA_BEHIND", b"CURSOR_EXPIRED")


class ReadCursor:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cursor = ""

    def note(self, response: Any) -> None:
        """What a daemon said with its answer. Of one database the latest counts."""
        for cursor in _cursors(response):
            incarnation, number = _read(cursor)
            with self._lock:
                known = _read(self._cursor)
                if incarnation and (incarnation != known[0] or number > known[1]):
                    self._cursor = cursor

    def asked_of(self, request: Any) -> Any:
        """The request as it is to be sent: the same one if nothing is asked of its answer."""
        cursor = self._cursor
        if not cursor or not isinstance(request, _READS) or request.min_cursor:
            return request
        asked = type(request)()
        asked.CopyFrom(request)
        asked.min_cursor = cursor
        return asked

    def is_given_up(self, error: Any, asked: Any, request: Any) -> bool:
        """Whether the daemon can answer `request` but not `asked`. Then nothing is asked of answers until
        the next cursor: one that may be older is better than none."""
        if asked is request:
            return False
        details = b"".join(
            value for key, value in error.trailing_metadata() or ()
            if key == "grpc-status-details-bin")
        if not any(reason in details for reason in _REASONS):
            return False
        with self._lock:
            if self._cursor == asked.min_cursor:
                self._cursor = ""
        return True


def _cursors(response: Any) -> Iterator[str]:
    if isinstance(response, _WRITES):
        yield response.min_cursor
    if isinstance(response, _JOBS):
        yield response.job.min_cursor
    if isinstance(response, tuning_pb2.CreateTuningJobResponse):
        yield response.whole_job.job.min_cursor
        yield from (step.job.min_cursor for step in response.step_jobs)


def _read(cursor: str) -> Tuple[str, int]:
    incarnation, _, number = cursor.rpartition(".")
    return incarnation, int(number) if number.isdecimal() else 0
