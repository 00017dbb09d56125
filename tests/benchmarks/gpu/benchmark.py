"""Goes through the cases: default kernel, tuning, measuring, one row each; a case that fails is a
row that says why."""

from __future__ import annotations

import pathlib
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Protocol, Sequence

from report.results import Results, Row, error_of, write_results
from report.table import number, seconds

from .cases import Case
from .row import (
    DEFAULT, TUNED, add_floor, add_measurement, add_opencl, add_record, empty_row,
)
from .service import ServiceError
from .worker_process import WorkerError

# What a case takes beside its tuning: data, references, compilers of peers, rounds.
_SECONDS_BESIDE_TUNING = 45
_MEASURE_SECONDS = 240
_REDUCED_MEASURE_SECONDS = 120
_UNKNOWN_L2_BYTES = 64 << 20


class Tuner(Protocol):
    """service.Service, as far as it is needed here."""

    def tune(self, case: Case, device: str, budget_seconds: float, force: bool) -> Dict[str, Any]:
        ...

    def kernel(self, case: Case, device: str, *, measured: bool) -> pathlib.Path: ...


class Worker(Protocol):
    """worker_process.WorkerProcess, as far as it is needed here."""

    def measure(self, case: Case, kernels: Dict[str, str], l2_bytes: int, compile_peers: bool,
                seconds: float) -> Dict[str, Any]: ...


@dataclass(frozen=True)
class Settings:
    budget_seconds: float
    opencl_budget_seconds: float
    compile_peers: bool
    tune: bool  # False: measures what the database has
    force: bool  # searches again what the database has
    limit: Optional[float]  # of time.monotonic(): no case starts that would end later
    commit: str


@dataclass(frozen=True)
class Machine:
    """`rules`: a daemon with an empty database, which knows no kernel but those from rules."""

    tuner: Tuner
    rules: Tuner
    worker: Worker
    gpu: Dict[str, Any]  # as mdh devices describes it
    gpu_name: str  # "cuda0"
    description: str  # file that describes the GPU to `rules`
    opencl_name: str = ""  # "opencl0"; empty: without OpenCL


class Benchmark:
    """Runs cases, and keeps the file of results complete after each."""

    def __init__(self, machine: Machine, settings: Settings, results: Results,
                 path: Optional[pathlib.Path], order: Sequence[str],
                 say: Callable[[str], None] = print):
        """`order`: of rows in the results. `say`: shows a line of progress."""
        self._machine = machine
        self._settings = settings
        self._results = results
        self._path = path
        self._order = order
        self._say = say

    def run(self, cases: Sequence[Case]) -> List[Case]:
        """The cases that were left for want of time. Errors: ResultsError."""
        for n, case in enumerate(cases):
            if not self._has_time():
                self._say(f"no time for {len(cases) - n} cases, from {case.id} on")
                return list(cases[n:])
            row = self._row_of(case)
            self._results.put(row)
            self._results.sort(self._order)
            if self._path is not None:
                write_results(self._results, self._path)
            self._say(f"[{n + 1}/{len(cases)}] {_progress(row)}")
        return []

    def _has_time(self) -> bool:
        settings = self._settings
        if settings.limit is None:
            return True
        needed = float(_SECONDS_BESIDE_TUNING)
        if settings.tune:
            needed += settings.budget_seconds
            needed += settings.opencl_budget_seconds if self._machine.opencl_name else 0
        return time.monotonic() + needed < settings.limit

    def _row_of(self, case: Case) -> Row:
        row = empty_row(case, self._settings.budget_seconds)
        row["commit"] = self._settings.commit
        row["date"] = time.strftime("%Y-%m-%d", time.gmtime())
        kernels: Dict[str, str] = {}
        try:
            self._add_default(case, row, kernels)
            record = self._add_tuned(case, row, kernels)
            self._add_opencl(case, row)
            self._measure(case, row, kernels)
            add_floor(row, case, record, self._machine.gpu)
        except Exception as error:  # of a row, whatever it is
            row["errors"].setdefault(TUNED, f"{type(error).__name__}: {error}")
        return row

    def _add_default(self, case: Case, row: Row, kernels: Dict[str, str]) -> None:
        try:
            path = self._machine.rules.kernel(case, self._machine.description, measured=False)
            kernels[DEFAULT] = str(path)
        except ServiceError as error:
            row["errors"][DEFAULT] = str(error)

    def _add_tuned(self, case: Case, row: Row, kernels: Dict[str, str]
                   ) -> Optional[Dict[str, Any]]:
        name, settings = self._machine.gpu_name, self._settings
        record: Optional[Dict[str, Any]] = None
        try:
            if settings.tune:
                record = self._machine.tuner.tune(case, name, settings.budget_seconds,
                                                  settings.force)
                add_record(row, record)
            kernels[TUNED] = str(self._machine.tuner.kernel(case, name, measured=True))
        except ServiceError as error:
            row["errors"][TUNED] = str(error)
        return record

    def _add_opencl(self, case: Case, row: Row) -> None:
        if not self._machine.opencl_name or not self._settings.tune:
            return
        try:
            add_opencl(row, self._machine.tuner.tune(
                case, self._machine.opencl_name, self._settings.opencl_budget_seconds,
                self._settings.force))
        except ServiceError as error:
            row["errors"]["OpenCL"] = str(error)

    def _measure(self, case: Case, row: Row, kernels: Dict[str, str]) -> None:
        """If the process dies or hangs, once more with what is least likely to be the cause."""
        try:
            answer = self._ask(case, kernels, self._settings.compile_peers, _MEASURE_SECONDS)
        except WorkerError as error:
            row["notes"].append(f"measured without default kernel and torch.compile: {error}")
            row["errors"].setdefault(DEFAULT, str(error))
            kernels.pop(DEFAULT, None)
            try:
                answer = self._ask(case, kernels, False, _REDUCED_MEASURE_SECONDS)
            except WorkerError as again:
                row["errors"].setdefault(TUNED, str(again))
                return
        add_measurement(row, answer)

    def _ask(self, case: Case, kernels: Dict[str, str], compile_peers: bool, seconds: float
             ) -> Dict[str, Any]:
        """The worker's answer, before the time is up. Errors: WorkerError."""
        if self._settings.limit is not None:
            seconds = min(seconds, self._settings.limit - time.monotonic())
        if seconds < 1:
            raise WorkerError("there was no time to measure")
        l2_bytes = int(self._machine.gpu["description"].get("l2_bytes", 0)) or _UNKNOWN_L2_BYTES
        return self._machine.worker.measure(case, kernels, l2_bytes, compile_peers, seconds)


def _progress(row: Row) -> str:
    if not row["correct"]:
        return f"{row['case']}: {error_of(row)}"
    text = f"{row['case']}: {seconds(row['value'])}"
    if row["best_peer"]:
        text += f", {number(row['ratio_to_best_peer'])} of {row['best_peer']}"
    if row["ratio_to_floor"]:
        text += f", {number(row['ratio_to_floor'])} of the floor"
    return f"{text}, {row.get('trials', 'no')} trials"
