"""Tuning as in ATF: parameters, a search technique, a cost function and an abort condition."""

from __future__ import annotations

import logging
import warnings
from typing import Any, Dict, List, Mapping, Optional

from ..candidate import Values
from ..client import Client
from ..errors import wrong
from ..v1 import study_pb2
from .abort_conditions import AbortCondition
from .constraints import Condition, Constraint
from .cost_function import CostFunction
from .parameters import TP
from .program_cost_function import ProgramCostFunction
from .result import NoConfigurationError, TuningResult
from .search_techniques import Technique, technique_name
from .specification import Specification
from .study import Study, StudyStatus
from .worker import ProgressCallback, Worker

_LOG = logging.getLogger("mdh.tuner")
_DEFAULT_LOOKAHEAD = 4


class SpaceWarning(UserWarning):
    """What the daemon says about a search space, e.g. that a constraint divides by zero, or that a cost
    was less than its lower bound."""


class Tuner:
    """A search; its methods set what it does, and give it back.

        config = Tuner().tuning_parameters(WPT, LS).tune(cost_function, Evaluations(50))
    """

    def __init__(self) -> None:
        self._parameters: List[TP] = []
        self._constraints: List[Constraint] = []
        self._definitions: Dict[str, Any] = {}
        self._start: List[Mapping[str, Any]] = []
        self._decide: Dict[str, Values] = {}
        self._forbid: Dict[str, Values] = {}
        self._technique: Technique = ""
        self._seed = 0
        self._lookahead = 0
        self._lower_bound: Any = ""
        self._gap = 0.0
        self._name = ""
        self._threads = 1
        self._lease_seconds = 60.0
        self._reconnect_seconds = 60.0
        self._on_progress: Optional[ProgressCallback] = None
        self._client: Optional[Client] = None
        self._address: Optional[str] = None
        self._study = ""

    def tuning_parameters(self, *parameters: TP) -> "Tuner":
        """Adds parameters, in any order."""
        self._parameters += parameters
        return self

    def constraints(self, *constraints: Condition) -> "Tuner":
        """Adds constraints besides those of the parameters: functions or texts of formulas."""
        self._constraints += [Constraint(c) for c in constraints]
        return self

    def definitions(self, **definitions: Any) -> "Tuner":
        """Names for numbers or formulas, which formulas given as text may use."""
        self._definitions.update(definitions)
        return self

    def start(self, *configurations: Mapping[str, Any]) -> "Tuner":
        """Configurations to evaluate first; they are repaired to the nearest valid ones."""
        self._start += configurations
        return self

    def decide(self, **values: Values) -> "Tuner":
        """Only these values of parameters are searched: a value, or several."""
        self._decide.update(values)
        return self

    def forbid(self, **values: Values) -> "Tuner":
        """These values of parameters are not searched."""
        self._forbid.update(values)
        return self

    def search_technique(self, technique: Technique) -> "Tuner":
        """How to search; default: AUCBandit()."""
        technique_name(technique)
        self._technique = technique
        return self

    def seed(self, seed: int) -> "Tuner":
        """The same seed and the same costs give the same search; default: 1."""
        self._seed = seed
        return self

    def lookahead(self, lookahead: int) -> "Tuner":
        """How many configurations may be evaluated at once, by any number of threads and clients;
        changes which are proposed. Default: 4, and at least the number of threads."""
        self._lookahead = lookahead
        return self

    def lower_bound(self, formula: Any, gap: float = 0.0) -> "Tuner":
        """A number or the text of a formula over parameters and definitions: no configuration costs
        less. What it shows to be no better than the best, or better by less than the share `gap`, is
        not evaluated. If a cost is less, it counts no more (StudyStatus.lower_bound_violation)."""
        self._lower_bound, self._gap = formula, gap
        return self

    def parallel(self, threads: int) -> "Tuner":
        """How many threads call the cost function; default: 1, the thread of tune."""
        if not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= 1024:
            raise wrong(f"the number of threads is 1 to 1024, not {threads!r}")
        self._threads = threads
        return self

    def name(self, name: str) -> "Tuner":
        """What the study is called in lists."""
        self._name = name
        return self

    def client(self, client: Client) -> "Tuner":
        """The connection to use."""
        self._client = client
        return self

    def address(self, address: str) -> "Tuner":
        """Where the daemon is, "unix:/path" or "HOST:PORT"; default: mdh.default_address()."""
        self._address = address
        return self

    def lease(self, seconds: float) -> "Tuner":
        """How long an evaluation may take before another client is given the configuration, too;
        default: 60 seconds."""
        self._lease_seconds = seconds
        return self

    def reconnect(self, seconds: float) -> "Tuner":
        """How long to wait for a daemon that was restarted; default: 60 seconds."""
        self._reconnect_seconds = seconds
        return self

    def on_progress(self, callback: ProgressCallback) -> "Tuner":
        """Is called with the study's status and the trial after each evaluation."""
        self._on_progress = callback
        return self

    def resume(self, study: str) -> "Tuner":
        """Goes on with a study of the daemon, "studies/{number}". Parameters and the abort
        condition are those that it was created with, and need not be given."""
        self._study = study
        return self

    def check(self, abort: Optional[AbortCondition] = None) -> StudyStatus:
        """What the daemon says about the search: size of the space, notices. Nothing is stored.
        Errors: as tune."""
        client = self._connection()
        try:
            return client.check_study(self._specification(abort))
        finally:
            self._end(client)

    def tune(self, cost_function: CostFunction,
             abort: Optional[AbortCondition] = None) -> TuningResult:
        """Searches until the abort condition holds; without one, until the space is used up.

        The cost function takes a configuration, a dict, and gives a number; smaller is better. If
        it raises an exception or its result is not finite, the configuration has failed. An
        interrupt leaves the study as it is: resume() goes on with it.

        Errors: ExpressionError for what is wrong in parameters and constraints, with file and line;
        FailedPreconditionError for an empty space; NoConfigurationError, which has the result, if
        every evaluation failed; UnavailableError if there is no daemon.
        """
        if not callable(cost_function):
            raise wrong(f"{cost_function!r} is no cost function: it cannot be called")
        client = self._connection()
        try:
            study = self._open(client, cost_function, abort)
            _LOG.info("%s: %s", study.name, study.spec.display_name or "tuning")
            Worker(study, cost_function, threads=self._threads, lease_seconds=self._lease_seconds,
                   reconnect_seconds=self._reconnect_seconds, on_progress=self._on_progress).run()
            status = study.status()
            if status.lower_bound_violation:
                warnings.warn(status.lower_bound_violation, SpaceWarning, stacklevel=2)
            result = TuningResult(status, study.trials())
            if result.evaluations > 0 and not result:
                raise NoConfigurationError(result)
            return result
        finally:
            if isinstance(cost_function, ProgramCostFunction):
                cost_function.close()
            self._end(client)

    def _connection(self) -> Client:
        return self._client or Client(self._address)

    def _end(self, client: Client) -> None:
        if self._client is None:
            client.close()

    def _open(self, client: Client, cost_function: CostFunction,
              abort: Optional[AbortCondition]) -> Study:
        if self._study:
            study = client.study(self._study)
            if self._parameters or abort is not None:
                self._check_same(study, self._specification(abort))
            self._prepare(cost_function, study.spec)
            return study
        specification = self._specification(abort)
        self._prepare(cost_function, specification.proto)  # its errors leave no study behind
        study = client.create_study(specification)
        for notice in study.status().notices:
            warnings.warn(notice, SpaceWarning, stacklevel=3)
        return study

    def _prepare(self, cost_function: CostFunction, spec: study_pb2.StudySpec) -> None:
        if isinstance(cost_function, ProgramCostFunction):
            cost_function.prepare(spec, self._threads)

    def _specification(self, abort: Optional[AbortCondition]) -> Specification:
        lookahead = self._lookahead
        if not lookahead and self._threads > _DEFAULT_LOOKAHEAD:
            lookahead = self._threads
        return Specification(
            self._parameters, self._constraints, definitions=self._definitions,
            technique=self._technique, seed=self._seed, lookahead=lookahead, abort=abort,
            start=self._start, decide=self._decide, forbid=self._forbid,
            display_name=self._name, lower_bound=self._lower_bound, gap=self._gap)

    @staticmethod
    def _check_same(study: Study, specification: Specification) -> None:
        wanted = study_pb2.StudySpec()
        wanted.CopyFrom(specification.proto)
        for known, given in zip(study.spec.tables, wanted.tables):
            given.text = known.text  # lines of Python change
        for field, what in (("parameters", "tuning parameters"), ("constraints", "constraints"),
                            ("tables", "constraints"), ("abort", "an abort condition"),
                            ("lower_bound", "bounds"), ("gap", "a gap")):
            if getattr(study.spec, field) != getattr(wanted, field):
                raise wrong(f"{study.name} was created with other {what}".replace(
                    "other an", "another").replace("other a ", "another "))
