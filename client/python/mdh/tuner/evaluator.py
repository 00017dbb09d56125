"""The process `mdh evaluate-program`, which compiles, runs and checks programs.

Messages go through its standard input and output, each preceded by its length as a varint.
"""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import tempfile
import threading
import time
from typing import Dict, List, Mapping, Optional, Tuple

from ..errors import FailedPreconditionError, MdhError, NotFoundError
from ..v1 import program_pb2, study_pb2
from .cost_function import CostFunctionError

_MAX_LOG = 2000
_GRACE_SECONDS = 30.0
_EXIT_SECONDS = 5.0
# The kind of failure that is not about the configuration.
_NOTHING_RUNS = "cannot run"


def find_mdh() -> str:
    """The program mdh: $MDH, or in $PATH. Errors: NotFoundError."""
    given = os.environ.get("MDH", "")
    if given:
        if os.access(given, os.X_OK) and os.path.isfile(given):
            return given
        raise NotFoundError(f"$MDH is '{given}', which is no program that can be run")
    found = shutil.which("mdh")
    if found is None:
        raise NotFoundError("the program mdh, which runs commands and kernels, is not in $PATH; "
                            "set $MDH to its path")
    return found


class Evaluator:
    """Evaluates configurations of one program, one after another. Not thread-safe."""

    def __init__(self, program: program_pb2.ProgramSpec, folder: str, *,
                 limit_seconds: float, environment: Optional[Mapping[str, str]] = None):
        """`folder`: what files of the program are relative to. `limit_seconds`: of an evaluation,
        which the process keeps by itself; past it and a grace it is ended. `environment`: of the
        process, besides this one's."""
        self._program = program
        self._folder = folder
        self._limit_seconds = limit_seconds + _GRACE_SECONDS
        self._environment = {**os.environ, **(environment or {})}
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._log = tempfile.TemporaryFile()
        self._has_answered = False

    def evaluate(self, configuration: study_pb2.NamedConfiguration) -> float:
        """The cost. Errors: CostFunctionError if the configuration failed; FailedPreconditionError
        if there is no device, or the process ends before its first answer, which is about the
        program."""
        request = program_pb2.EvaluateRequest(configuration=configuration)
        if self._process is None:
            self._start()
            request.program.CopyFrom(self._program)
            request.folder = self._folder
        assert self._process is not None and self._process.stdin is not None
        text = request.SerializeToString()
        try:
            self._process.stdin.write(_varint(len(text)) + text)
            self._process.stdin.flush()
            answer = self._read(time.monotonic() + self._limit_seconds)
        except (BrokenPipeError, EOFError):
            raise self._died() from None
        except TimeoutError:
            self.close()
            raise CostFunctionError("the evaluation does not end", "time-out") from None
        except BaseException:
            self.close()  # an interrupt: half a message may be on its way
            raise
        response = program_pb2.EvaluateResponse.FromString(answer)
        self._has_answered = True
        if response.HasField("cost"):
            return response.cost
        if response.failure.startswith(_NOTHING_RUNS):
            raise FailedPreconditionError(response.failure)
        raise CostFunctionError(response.failure or "no cost")

    def close(self) -> None:
        """Ends the process. A further evaluation starts another one."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        try:
            process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _start(self) -> None:
        command = [find_mdh(), "evaluate-program"]
        self._log.seek(0)
        self._log.truncate()
        try:
            # Not this process's group: an interrupt from the keyboard is for this process only.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                env=self._environment, start_new_session=True)
        except OSError as error:
            raise FailedPreconditionError(f"cannot run {command[0]}: {error.strerror}") from error

    def _died(self) -> Exception:
        assert self._process is not None
        process = self._process
        self.close()
        self._log.seek(0)
        log = self._log.read()[-_MAX_LOG:].decode(errors="replace").strip()
        code = process.returncode
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        if not self._has_answered and code >= 0:
            return FailedPreconditionError(f"mdh evaluate-program ended with {how}: {log}")
        return CostFunctionError(f"mdh evaluate-program ended with {how}: {log}", "crash")

    def _read(self, limit: float) -> bytes:
        """One message. Errors: EOFError, TimeoutError."""
        size = shift = 0
        while True:
            byte = self._read_bytes(1, limit)[0]
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return self._read_bytes(size, limit)

    def _read_bytes(self, size: int, limit: float) -> bytes:
        assert self._process is not None and self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        read = b""
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while len(read) < size:
                if not selector.select(max(0.0, limit - time.monotonic())):
                    raise TimeoutError
                part = os.read(descriptor, size - len(read))
                if not part:
                    raise EOFError
                read += part
        return read


def _varint(number: int) -> bytes:
    text = bytearray()
    while number >= 0x80:
        text.append(number & 0x7F | 0x80)
        number >>= 7
    text.append(number)
    return bytes(text)


class EvaluatorPool:
    """Evaluators of one program, one per thread that evaluates at a time. Thread-safe."""

    def __init__(self, program: program_pb2.ProgramSpec, folder: str, *, limit_seconds: float,
                 environment: Optional[Mapping[str, str]] = None):
        self.program = program
        self._arguments: Tuple[str, float, Dict[str, str]] = (
            folder, limit_seconds, dict(environment or {}))
        self._lock = threading.Lock()
        self._idle: List[Evaluator] = []

    def evaluate(self, configuration: study_pb2.NamedConfiguration) -> float:
        """As Evaluator.evaluate."""
        with self._lock:
            evaluator = self._idle.pop() if self._idle else None
        if evaluator is None:
            folder, limit_seconds, environment = self._arguments
            evaluator = Evaluator(self.program, folder, limit_seconds=limit_seconds,
                                  environment=environment)
        try:
            return evaluator.evaluate(configuration)
        except MdhError:
            evaluator.close()
            raise
        finally:
            with self._lock:
                self._idle.append(evaluator)

    def close(self) -> None:
        """Ends all processes that do not evaluate now."""
        with self._lock:
            idle, self._idle = self._idle, []
        for evaluator in idle:
            evaluator.close()
