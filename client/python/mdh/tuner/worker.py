"""Works on a study: asks, evaluates and tells until it has ended."""

from __future__ import annotations

import concurrent.futures
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ..errors import AlreadyExistsError, UnavailableError
from .cost_function import CostFunction, evaluate
from .study import Outcome, Study, StudyStatus, Trial

ProgressCallback = Callable[[StudyStatus, Trial], None]
_RETRY_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 2.0


class Worker:
    """Evaluates configurations of a study in this thread, or in several threads."""

    def __init__(self, study: Study, cost_function: CostFunction, *, threads: int = 1,
                 lease_seconds: float = 0, reconnect_seconds: float = 0,
                 on_progress: Optional[ProgressCallback] = None):
        """`reconnect_seconds`: how long it waits for a daemon that does not answer.
        `on_progress` is called in this thread, with every trial that was told."""
        self._study = study
        self._cost_function = cost_function
        self._threads = threads
        self._lease_seconds = lease_seconds
        self._reconnect_seconds = reconnect_seconds
        self._on_progress = on_progress
        self._wait_seconds = _RETRY_SECONDS

    def run(self) -> None:
        """Returns once the study has ended. Errors: those of Study, and what prevents all
        evaluations."""
        if self._threads == 1:
            self._run_here()
        else:
            self._run_in_threads()

    def _run_here(self) -> None:
        while self._study.state == "ACTIVE":
            trials = self._ask(1)
            for trial in trials:
                self._tell([(trial, evaluate(self._cost_function, dict(trial.configuration)))])
            self._wait_if_idle(bool(trials))

    def _run_in_threads(self) -> None:
        running: Dict[concurrent.futures.Future[Tuple[Optional[float], str]], Trial] = {}
        pool = concurrent.futures.ThreadPoolExecutor(self._threads)
        try:
            while running or self._study.state == "ACTIVE":
                if self._study.state == "ACTIVE" and len(running) < self._threads:
                    # Those whose lease is over may come again while they are still evaluated.
                    known = {trial.number for trial in running.values()}
                    for trial in self._ask(self._threads - len(running)):
                        if trial.number not in known:
                            running[pool.submit(evaluate, self._cost_function,
                                                dict(trial.configuration))] = trial
                done = concurrent.futures.wait(
                    running, timeout=_LONGEST_WAIT_SECONDS,
                    return_when=concurrent.futures.FIRST_COMPLETED).done if running else set()
                self._tell([(running.pop(future), future.result()) for future in done])
                self._wait_if_idle(bool(running or done))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _wait_if_idle(self, is_busy: bool) -> None:
        """Other clients have all that can be evaluated now."""
        if is_busy:
            self._wait_seconds = _RETRY_SECONDS
        elif self._study.state == "ACTIVE":
            time.sleep(self._wait_seconds)
            self._wait_seconds = min(2 * self._wait_seconds, _LONGEST_WAIT_SECONDS)

    def _ask(self, count: int) -> List[Trial]:
        trials: List[Trial] = self._patiently(
            lambda: self._study.ask(count, lease_seconds=self._lease_seconds))
        return trials

    def _tell(self, results: Sequence[Tuple[Trial, Tuple[Optional[float], str]]]) -> None:
        for trial, (cost, failure) in results:
            outcome = Outcome(trial.number, cost, failure)
            try:
                status = self._patiently(lambda: self._study.tell_all([outcome]))  # noqa: B023
            except AlreadyExistsError:
                continue  # its lease was over, and somebody else was faster
            if self._on_progress is not None:
                self._on_progress(status, Trial(trial.number, trial.configuration, cost, failure))

    def _patiently(self, call: Callable[[], Any]) -> Any:
        """The call's result; it is repeated while the daemon does not answer."""
        limit = time.monotonic() + self._reconnect_seconds
        while True:
            try:
                return call()
            except UnavailableError:
                if time.monotonic() >= limit:
                    raise
                time.sleep(_RETRY_SECONDS)
