"""Cost functions of programs that `mdh evaluate-program` runs."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Mapping, Optional, TypeVar, Union

from ..errors import SourceLocation, start_of, wrong
from ..v1 import program_pb2, study_pb2
from .constraints import argument_names
from .cost_function import CostFunctionError
from .evaluator import EvaluatorPool, find_mdh
from .ranges import Interval, Permutation, Range, Set
from .specification import named_configuration

# A whole number, the text of a formula over parameters and definitions, or a function whose
# arguments are named like parameters.
Number = Union[int, str, Callable[..., Any]]
Self = TypeVar("Self", bound="ProgramCostFunction")
_LARGEST = 2**32 - 2


class Computed:
    """A number that a function of Python computes for every configuration; the program knows it as
    a further parameter."""

    def __init__(self, name: str, what: str, function: Callable[..., Any]):
        self.name = name
        self.what = what  # for messages
        self.function = function
        self.location: Optional[SourceLocation] = start_of(function)

    def value(self, configuration: Mapping[str, Any]) -> int:
        """Errors: CostFunctionError if the function fails, or gives no whole number >= 0."""
        names = argument_names(self.function, configuration, self.location)
        try:
            value = self.function(**{name: configuration[name] for name in names})
            number = int(value)
        except Exception as error:
            raise CostFunctionError(
                f"the function of the {self.what} fails: {type(error).__name__}: {error}",
                "launch error") from error
        if number != value or not 0 <= number <= _LARGEST:
            raise CostFunctionError(f"the {self.what} is {value}, which is no whole number of "
                                    f"0..{_LARGEST}", "launch error")
        return number


class ProgramCostFunction:
    """Base of cost functions that run programs. Calls give the cost of a configuration, or raise
    CostFunctionError; methods set what is run, and give the cost function back."""

    def __init__(self) -> None:
        self._computed: List[Computed] = []
        self._folder = os.getcwd()
        self._time_limit_seconds = 60.0
        self._repetitions = 0
        self._study: Optional[study_pb2.StudySpec] = None
        self._pool: Optional[EvaluatorPool] = None

    def time_limit(self: Self, seconds: float) -> Self:
        """Of one evaluation, compilation included; default: 60 seconds."""
        if not 0 < seconds <= 86400:
            raise wrong(f"a time limit is more than 0 and at most 86400 seconds, not {seconds!r}")
        self._time_limit_seconds = float(seconds)
        return self

    def repetitions(self: Self, number: int) -> Self:
        """How often a configuration is run and timed."""
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 1000:
            raise wrong(f"the number of repetitions is 1 to 1000, not {number!r}")
        self._repetitions = number
        return self

    def folder(self: Self, folder: Union[str, "os.PathLike[str]"]) -> Self:
        """Where files of the program are; default: the working directory of this process."""
        self._folder = os.path.abspath(folder)
        return self

    def prepare(self, study: study_pb2.StudySpec, threads: int) -> None:
        """For configurations of this study from now on. Errors: ExpressionError for a function of
        a parameter that the study lacks; NotFoundError if there is no mdh."""
        self.close()
        find_mdh()
        names = [parameter.name for parameter in study.parameters]
        for computed in self._computed:
            argument_names(computed.function, names, computed.location)
        self._study = self._with_computed(study)
        self._pool = self._new_pool(self._study)

    def close(self) -> None:
        """Ends the processes that run programs; a further call starts new ones."""
        pool, self._pool, self._study = self._pool, None, None
        if pool is not None:
            pool.close()

    def __call__(self, configuration: Mapping[str, Any]) -> float:
        """The cost of a configuration. Errors: CostFunctionError if it failed; MdhError if nothing
        can be run."""
        values = {**configuration, **{c.name: c.value(configuration) for c in self._computed}}
        if self._pool is not None and self._study is not None:
            return self._pool.evaluate(named_configuration(values, self._study.parameters))
        study = self._with_computed(_study_of(configuration))
        pool = self._new_pool(study)
        try:
            return pool.evaluate(named_configuration(values, study.parameters))
        finally:
            pool.close()

    def program(self) -> program_pb2.ProgramSpec:
        """What is run; the study is left out. Errors: ExpressionError if something is missing."""
        raise NotImplementedError

    def environment(self) -> Dict[str, str]:
        """Variables of the process that runs it."""
        return {}

    def _number(self, value: Number, what: str, name: str) -> str:
        """A number as a formula."""
        if callable(value):
            self._computed = [c for c in self._computed if c.name != name]
            self._computed.append(Computed(name, what, value))
            return name
        if isinstance(value, str):
            return value
        number = value.item() if type(value).__module__ == "numpy" else value
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise wrong(f"the {what} is a whole number, a formula or a function of parameters, not "
                        f"{value!r}")
        return str(number)

    def _with_computed(self, study: study_pb2.StudySpec) -> study_pb2.StudySpec:
        # Constraints hold, and need not be checked again.
        wanted = study_pb2.StudySpec(parameters=study.parameters, definitions=study.definitions)
        for computed in self._computed:
            parameter = wanted.parameters.add(name=computed.name)
            Interval(0, _LARGEST).write(parameter)
        return wanted

    def _new_pool(self, study: study_pb2.StudySpec) -> EvaluatorPool:
        program = self.program()
        program.study.CopyFrom(study)
        return EvaluatorPool(program, self._folder, limit_seconds=self._limit_seconds(),
                             environment=self.environment())

    def _limit_seconds(self) -> float:
        return self._time_limit_seconds


def _study_of(configuration: Mapping[str, Any]) -> study_pb2.StudySpec:
    """A study in which this is the only configuration."""
    study = study_pb2.StudySpec()
    for name, value in configuration.items():
        value = value.item() if type(value).__module__ == "numpy" else value
        range_: Range
        if isinstance(value, (list, tuple)):
            range_ = Permutation(*value)
        elif isinstance(value, int) and not isinstance(value, bool):
            range_ = Interval(value, value)
        else:
            range_ = Set(value)
        range_.write(study.parameters.add(name=name))
    return study
