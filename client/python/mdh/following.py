"""Following a job through restarts of the daemon: what Client and AsyncClient share."""

from __future__ import annotations

import time

from .errors import CancelledError, DeadlineExceededError, MdhError, UnavailableError

# One stream of progress; it is then begun anew, after a look whether the daemon still answers.
STREAM_SECONDS = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 1.0


class Following:
    """How far one has heard of a job, and how long ago."""

    def __init__(self, max_silence_seconds: float):
        self.sequence = 0
        self._max_silence = max_silence_seconds
        self._last_heard = time.monotonic()
        self._pause = _FIRST_PAUSE

    def heard(self, sequence: int) -> None:
        self.sequence = sequence
        self._last_heard = time.monotonic()
        self._pause = _FIRST_PAUSE

    def failed(self, error: MdhError, *, is_last: bool = False) -> None:
        """Raises the error if asking again cannot help, or, with `is_last`, after too long a silence.
        A daemon that stops cancels its streams."""
        is_of_connection = isinstance(
            error, (UnavailableError, DeadlineExceededError, CancelledError))
        is_too_long = time.monotonic() - self._last_heard > self._max_silence
        if not is_of_connection or (is_last and is_too_long):
            raise error

    def pause(self) -> float:
        """Seconds until one asks again."""
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return self._pause
