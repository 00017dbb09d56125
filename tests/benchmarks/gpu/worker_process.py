"""The measuring process from outside: started when it is needed, killed when it does not answer."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import Any, Dict, List, Optional, Sequence

from .cases import ROOT, Case

_START_SECONDS = 120
_CLOSE_SECONDS = 20


class WorkerError(Exception):
    """The process did not start, ended, or took too long; the next request starts a new one."""


class WorkerProcess:
    """Not thread-safe. `command`: the program; default: worker.py with `python`."""

    def __init__(self, python: str = sys.executable, command: Sequence[str] = (),
                 start_seconds: float = _START_SECONDS):
        self._command = list(command) or [python, "-m", "gpu.worker"]
        self._start_seconds = start_seconds
        self._process: Optional["subprocess.Popen[str]"] = None
        self._answers: "queue.Queue[Optional[str]]" = queue.Queue()
        # PyTorch's compiler keeps files; these must not outlive the benchmark.
        self._caches = tempfile.mkdtemp(prefix="mdh-bench-")
        self._log = open(os.path.join(self._caches, "log"), "w+", encoding="utf-8",
                         errors="replace")

    def start(self) -> Dict[str, Any]:
        """Starts the process unless it runs; what it says of its machine. Errors: WorkerError."""
        if self._process is not None:
            return {}
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            text=True, env=self._environment(), start_new_session=True)
        self._answers = queue.Queue()
        threading.Thread(target=_read_lines, args=(self._process.stdout, self._answers),
                         daemon=True).start()
        return self._answer(self._start_seconds)["machine"]  # type: ignore[no-any-return]

    def measure(self, case: Case, kernels: Dict[str, str], l2_bytes: int, compile_peers: bool,
                seconds: float) -> Dict[str, Any]:
        """The answer of Measurement.run. Errors: WorkerError, after `seconds` at the latest."""
        self.start()
        assert self._process is not None and self._process.stdin is not None
        request = {"case": case.to_json(), "kernels": kernels, "l2_bytes": l2_bytes,
                   "compile_peers": compile_peers}
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._failed("the measuring process ended before it was asked") from error
        return self._answer(seconds)

    def close(self) -> None:
        """Ends the process and removes its files."""
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.close()
                self._process.wait(_CLOSE_SECONDS)
            except (OSError, subprocess.TimeoutExpired):
                pass
        self._kill()
        self._log.close()
        shutil.rmtree(self._caches, ignore_errors=True)

    def _answer(self, seconds: float) -> Dict[str, Any]:
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise self._failed(f"measuring took longer than {seconds:.0f} s") from None
        if line is None:
            raise self._failed("the measuring process ended")
        answer: Dict[str, Any] = json.loads(line)
        if answer.get("ends"):
            self._kill()
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def _failed(self, what: str) -> WorkerError:
        """Kills the process; the error has the end of what it printed."""
        self._kill()
        self._log.flush()
        self._log.seek(0)
        lines = [line for line in self._log.read().splitlines() if line.strip()]
        self._log.seek(0)
        self._log.truncate()
        return WorkerError(f"{what}: {lines[-1][:300]}" if lines else what)

    def _kill(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            os.killpg(process.pid, 9)  # the workers of PyTorch's compiler, too
        except ProcessLookupError:
            pass
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass

    def _environment(self) -> Dict[str, str]:
        environment = dict(os.environ)
        paths: List[str] = [str(ROOT / "tests" / "benchmarks")]
        paths += [path for path in [environment.get("PYTHONPATH")] if path]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(self._caches, "inductor")
        environment["TRITON_CACHE_DIR"] = os.path.join(self._caches, "triton")
        return environment


def _read_lines(stream: Any, answers: "queue.Queue[Optional[str]]") -> None:
    try:
        for line in stream:
            answers.put(line)
    except ValueError:  # closed while it was read
        pass
    answers.put(None)
