"""Candidates: sets of configurations of an expression on a device, made smaller decision by decision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, FrozenSet, List, Optional, Set, Tuple, Union

from .errors import wrong
from .results import Kernel
from .schedule import Schedule
from .shown import Facts, Shown
from .v1 import candidate_pb2, device_pb2, restriction_pb2

# A value of a parameter, or several.
Values = Union[int, str, List[Any], Tuple[Any, ...], Set[Any], FrozenSet[Any], range]

_RULES = {"rules": candidate_pb2.FINISH_RULE_RULES, "record": candidate_pb2.FINISH_RULE_NEAREST_RECORD,
          "sample": candidate_pb2.FINISH_RULE_SAMPLE}


def value_texts(values: Values) -> List[str]:
    """As restrictions have them."""
    several = values if isinstance(values, (list, tuple, set, frozenset, range)) else [values]
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in several]
    if not texts:
        raise wrong("a decision names no value: give one at least")
    return texts


@dataclass(frozen=True)
class Candidate:
    """Those configurations of a search space that keep to all decisions, whose order means nothing;
    methods give a new candidate. `Client.describe` says what remains, `Client.finish` takes one of the
    configurations, and `Client.tune(candidate=...)` searches among them.

        candidate = Candidate(matmul, device="cuda0").decide(parts_THR_i=[16, 32]).forbid(copy_A="none")
    """

    expression: Any
    device: Union[str, device_pb2.DeviceDescription] = ""
    numerics: str = ""
    schedule: Union[str, Schedule] = ""  # what the space itself keeps to
    restrictions: Tuple[Tuple[str, Tuple[str, ...], bool], ...] = ()  # parameter, values, is_forbidden

    def decide(self, **values: Values) -> "Candidate":
        """Only these values of the parameters remain."""
        return self._with(values, False)

    def forbid(self, **values: Values) -> "Candidate":
        """These values of the parameters do not."""
        return self._with(values, True)

    def undo(self, *parameters: str) -> "Candidate":
        """Without what was decided of these parameters, or without the last decision."""
        if not parameters:
            return replace(self, restrictions=self.restrictions[:-1])
        left = tuple(one for one in self.restrictions if one[0] not in parameters)
        return replace(self, restrictions=left)

    def _with(self, values: Dict[str, Values], is_forbidden: bool) -> "Candidate":
        more = tuple((name, tuple(value_texts(value)), is_forbidden) for name, value in values.items())
        return replace(self, restrictions=self.restrictions + more)

    def restriction_messages(self) -> List[restriction_pb2.Restriction]:
        """As the API has them."""
        return [restriction_pb2.Restriction(parameter=name, values=values, is_forbidden=is_forbidden)
                for name, values, is_forbidden in self.restrictions]


@dataclass(frozen=True)
class CandidateDecision:
    """A parameter of a search space, and what remains of it."""

    parameter: str
    meaning: str
    layer: str
    dimension: str
    buffer: str
    schedule: str  # how lines of schedules about it begin: "THR: parts i"
    is_restricted: bool
    remaining: Dict[str, Optional[int]]  # configurations by value; None: it is possible, but not counted
    remaining_values: int  # all, of which `remaining` has the first 1,000
    bounds_ns: Dict[str, float]  # by value: what no configuration with it takes less than; 0: nothing is known


@dataclass(frozen=True)
class ComparedBounds:
    """What the bounds of a candidate's configurations are compared with."""

    time_ns: float = 0  # 0: the time of the record of the expression on the device
    most_configurations: int = 0  # so many are looked at, or all if there are no more; 0: 10,000
    seed: int = 0

    def to_proto(self) -> candidate_pb2.BoundComparison:
        return candidate_pb2.BoundComparison(time_ns=self.time_ns, seed=self.seed,
                                             most_configurations=self.most_configurations)


@dataclass(frozen=True)
class BoundHistogram:
    """How many configurations are shown to take longer than a time."""

    time_ns: float
    configurations: int  # that were looked at
    is_exact: bool  # these are all; else they were drawn
    left: int  # of them, those that may be faster
    left_share: Tuple[float, float]  # of the candidate: limits, with 95 % confidence unless exact
    counts: Tuple[int, ...]  # by bound / time: below 1/16, 1/8, 1/4, 1/2, below 1, from 1 on

    @staticmethod
    def from_proto(proto: candidate_pb2.BoundHistogram) -> "BoundHistogram":
        return BoundHistogram(proto.time_ns, proto.configurations, proto.is_exact, proto.left,
                              (proto.left_share_low, proto.left_share_high), tuple(proto.counts))


@dataclass(frozen=True, repr=False)
class DescribedCandidate(Shown):
    """What remains of a candidate."""

    count: Optional[int]  # configurations; None: the space is too large to be counted
    space_count: Optional[int]  # before restrictions
    decisions: Dict[str, CandidateDecision]  # by parameter
    schedule: str  # what is decided, as a schedule
    is_exact: bool  # whether all configurations keep to the candidate's schedule
    bound_ns: float = 0  # no configuration takes less; 0: nothing is known
    binding_floor: str = ""  # why
    bound_assumption: str = ""  # of the device; empty: none
    bounds: Optional[BoundHistogram] = None  # if they were compared

    def _title(self) -> str:
        return "not counted" if self.count is None else f"{self.count} configurations"

    def _facts(self) -> Facts:
        open_ = [name for name, one in self.decisions.items() if one.remaining_values > 1]
        bound = f"{self.bound_ns / 1e3:.4g} us ({self.binding_floor})" if self.bound_ns else ""
        return [("open", ", ".join(open_)), ("at least", bound), ("schedule", self.schedule)]

    @staticmethod
    def from_proto(proto: candidate_pb2.DescribeCandidateResponse) -> "DescribedCandidate":
        decisions = {
            one.parameter: CandidateDecision(
                one.parameter, one.meaning, one.layer, one.dimension, one.buffer, one.schedule,
                one.is_restricted,
                {value.value: int(value.count) if value.count else None for value in one.remaining},
                one.remaining_values, {value.value: value.bound_ns for value in one.remaining})
            for one in proto.decisions}
        return DescribedCandidate(int(proto.count) if proto.count else None,
                                  int(proto.space_count) if proto.space_count else None,
                                  decisions, proto.schedule, proto.is_exact, proto.bound_ns,
                                  proto.binding_floor, proto.bound_assumption,
                                  BoundHistogram.from_proto(proto.bounds) if proto.HasField("bounds") else None)


@dataclass(frozen=True, repr=False)
class FinishedCandidate(Shown):
    """A configuration of a candidate, and its kernel, which was not measured."""

    parameters: str
    schedule: str  # says the configuration completely
    configuration: Dict[str, str]  # value of each parameter
    kernel: Kernel
    made_from: str  # the record that it is near to
    changed_parameters: int  # that differ from those of the rules or the record

    def _title(self) -> str:
        return self.parameters

    def _facts(self) -> Facts:
        return [("made from", self.made_from), ("schedule", self.schedule)]

    @staticmethod
    def from_proto(proto: candidate_pb2.FinishCandidateResponse) -> "FinishedCandidate":
        return FinishedCandidate(
            proto.parameters, proto.schedule,
            {one.parameter: one.values[0] for one in proto.configuration},
            Kernel.from_proto(proto.kernel), proto.made_from, proto.changed_parameters)


def finish_rule(by: str) -> int:
    if by not in _RULES:
        raise wrong(f"'{by}' is no way to finish a candidate, but {', '.join(_RULES)}")
    return _RULES[by]
