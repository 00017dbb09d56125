"""A program in a terminal of its own, and what a person would see there."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

LIMIT_S = 30


class Terminal:
    """Use as a context manager. `columns` 0: a terminal that does not know its size."""

    def __init__(self, command, columns=80, rows=24, term="xterm", environment=None):
        self._pid, self._file = pty.fork()
        if self._pid == 0:
            os.environ.update(environment or {}, TERM=term)
            os.execvp(str(command[0]), [str(word) for word in command])
        self.output = ""
        self._status = None
        self.resize(columns, rows)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._file)

    def resize(self, columns, rows):
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self._file, keys.encode())

    def interrupt(self, number):
        os.kill(self._pid, number)

    def wait_for(self, pattern):
        """Until the output has a match of it, which is given."""
        limit = time.monotonic() + LIMIT_S
        while not (match := re.search(pattern, self.output)):
            assert time.monotonic() < limit, self.output
            assert self._read(0.1), self.output
        return match

    def end(self):
        """Waits for the end; gives the exit code."""
        limit = time.monotonic() + LIMIT_S
        while self._read(0.1):
            assert time.monotonic() < limit, self.output
        self._status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._status

    def _read(self, timeout_s):
        ready, _, _ = select.select([self._file], [], [], timeout_s)
        if not ready:
            return True
        try:
            piece = os.read(self._file, 1 << 16)
        except OSError:  # the program has closed its end
            return False
        self.output += piece.decode(errors="replace")
        return bool(piece)


def lines_on_screen(output):
    """Lines as they were written, without escape sequences; \\r begins a new one, too."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)
    return re.split(r"\r\n|\r|\n", plain)
