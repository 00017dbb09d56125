"""What a search found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Iterator, List, Optional

from ..errors import FailedPreconditionError
from .study import StudyStatus, Trial


class NoConfigurationError(FailedPreconditionError):
    """Every evaluation of a search failed; `result` has what there is of it, and its history."""

    def __init__(self, result: "TuningResult"):
        super().__init__(result.why_none())
        self.result = result


class TuningResult(Mapping):
    """The best configuration, by name of the parameters, and how it was found.

    Without a valid configuration, as in a NoConfigurationError, there is nothing in it.
    """

    def __init__(self, status: StudyStatus, history: List[Trial]):
        self.study = status.name  # "studies/{number}"
        self.status = status
        self.history = history  # every evaluation, in the order of proposals
        self.configuration = {} if status.best is None else status.best.configuration
        self.cost: Optional[float] = None if status.best is None else status.best.cost

    def __getitem__(self, name: str) -> Any:
        if not self.configuration:
            raise FailedPreconditionError(self.why_none())
        return self.configuration[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.configuration)

    def __len__(self) -> int:
        return len(self.configuration)

    def __repr__(self) -> str:
        return (f"<{self.study}: {self.configuration}, cost {self.cost}, "
                f"{self.evaluations} evaluations>")

    @property
    def evaluations(self) -> int:
        """Configurations that were evaluated, failed ones included."""
        return self.status.evaluations

    @property
    def valid_evaluations(self) -> int:
        """Of these, those that have a cost."""
        return self.status.valid_evaluations

    @property
    def space_count(self) -> Optional[int]:
        """Number of valid configurations; None if they are too many to be counted."""
        return self.status.space_count

    def why_none(self) -> str:
        """What to say if there is no configuration."""
        text = f"{self.study} found no valid configuration in {self.evaluations} evaluations"
        failures = [t.failure for t in self.history if t.failure]
        return f"{text}; the first failure: {failures[0]}" if failures else text
