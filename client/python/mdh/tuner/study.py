"""A study of the daemon: ask for configurations, tell what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Tuple, Union

from ..errors import wrong
from ..v1 import study_pb2
from .specification import Configuration, plain_configuration

if TYPE_CHECKING:
    from ..client import Client

_STATE = "STUDY_STATE_"
_PAGE = 5000


@dataclass(frozen=True)
class Trial:
    """A configuration to evaluate, or one that was."""

    number: int  # 1, 2, ... in the order of proposals
    configuration: Configuration
    cost: Optional[float] = None  # smaller is better; None if it failed or was not told yet
    failure: str = ""  # why it failed


@dataclass(frozen=True)
class Outcome:
    """What an evaluation gave: a cost, or why there is none."""

    number: int
    cost: Optional[float] = None
    failure: str = ""


@dataclass(frozen=True)
class StudyStatus:
    """How far a study is."""

    name: str  # "studies/{number}"; empty for a specification that was only checked
    state: str  # "ACTIVE", "FINISHED" or "CANCELLED"
    state_reason: str  # why it is finished
    space_count: Optional[int]  # valid configurations; None if they are too many to be counted
    notices: Tuple[str, ...]  # what the user should know about the space
    evaluations: int  # failed ones included
    valid_evaluations: int
    outstanding: int  # given out and not told
    best: Optional[Trial]
    active_seconds: float
    left_out: int  # proposals, as the lower bound shows that they are no better than the best
    lower_bound_violation: str  # how a trial contradicted it; empty if none did
    proto: study_pb2.Study  # everything

    @staticmethod
    def from_proto(proto: study_pb2.Study,
                   spec: Optional[study_pb2.StudySpec] = None) -> "StudyStatus":
        """`spec`: the specification, for messages that leave it out."""
        best = trial(proto.best, spec or proto.spec) if proto.HasField("best") else None
        return StudyStatus(
            proto.name, state_name(proto.state), proto.state_reason,
            int(proto.space_count) if proto.space_count else None, tuple(proto.notices),
            proto.evaluations, proto.valid_evaluations, proto.outstanding, best,
            proto.active_ns / 1e9, proto.left_out, proto.lower_bound_violation, proto)


def state_name(state: int) -> str:
    """ "ACTIVE", "FINISHED" or "CANCELLED"."""
    return study_pb2.StudyState.Name(state)[len(_STATE):]


def trial(proto: study_pb2.StudyTrial, spec: study_pb2.StudySpec) -> Trial:
    """A trial of a message."""
    return Trial(proto.number, plain_configuration(proto.configuration, spec.parameters),
                 proto.cost if proto.HasField("cost") else None, proto.failure)


def _finite(cost: Any) -> float:
    try:
        number = float(cost)
    except OverflowError:
        raise wrong("the cost is too large a number: tell a failure") from None
    except (TypeError, ValueError):
        raise wrong(f"the cost {cost!r} is no number: tell a failure") from None
    if not math.isfinite(number):
        raise wrong(f"the cost {number} is not finite: tell a failure")
    return number


class Study:
    """A study; made by Client.create_study and Client.study. Thread-safe, and several clients may
    work on one. Errors of every call: NotFoundError if it was deleted, and those of Client."""

    def __init__(self, client: "Client", proto: study_pb2.Study):
        self._client = client
        self.name: str = proto.name
        self.spec: study_pb2.StudySpec = proto.spec  # defaults filled in
        # As of the last call: "ACTIVE", "FINISHED" or "CANCELLED".
        self.state = state_name(proto.state)

    def __repr__(self) -> str:
        return f"<study {self.name}, {self.state.lower()}>"

    def ask(self, count: int = 1, *, lease_seconds: float = 0) -> List[Trial]:
        """At most `count` configurations to evaluate next: fewer, or none, while results of others
        are needed first, and none once the study has ended (`state`). Whose cost is not told within
        the lease (default: 10 minutes) is given to whoever asks next."""
        request = study_pb2.AskTrialsRequest(name=self.name, count=count)
        if lease_seconds:
            request.lease.FromNanoseconds(int(lease_seconds * 1e9))
        response = self._call("AskTrials", request, study_pb2.AskTrialsResponse)
        self.state = state_name(response.state)
        return [trial(t, self.spec) for t in response.trials]

    def tell(self, trial: Union[Trial, int], cost: Optional[float] = None, *,
             failure: str = "") -> StudyStatus:
        """What a configuration cost, or why it failed. Errors: NotFoundError for a trial that was
        not asked for; AlreadyExistsError if another outcome was told before; ExpressionError for a
        cost that is not finite."""
        number = trial.number if isinstance(trial, Trial) else trial
        return self.tell_all([Outcome(number, cost, failure)])

    def tell_all(self, outcomes: Iterable[Outcome]) -> StudyStatus:
        """Several at once, in any order; if one is wrong, none is taken."""
        request = study_pb2.TellTrialsRequest(name=self.name)
        for outcome in outcomes:
            told = request.trials.add(number=outcome.number, failure=outcome.failure)
            if outcome.cost is not None:
                told.cost = _finite(outcome.cost)
            elif not outcome.failure:
                raise wrong(f"trial {outcome.number} has neither a cost nor a failure")
        return self._status("TellTrials", request, study_pb2.TellTrialsResponse)

    def status(self) -> StudyStatus:
        """How far it is."""
        return self._status("GetStudy", study_pb2.GetStudyRequest(name=self.name),
                            study_pb2.GetStudyResponse)

    def best(self) -> Optional[Trial]:
        """The trial with the smallest cost; None before the first cost."""
        return self.status().best

    def trials(self) -> List[Trial]:
        """All that were told, in the order of their numbers."""
        found: List[Trial] = []
        token = ""
        while True:
            request = study_pb2.ListTrialsRequest(name=self.name, page_size=_PAGE, page_token=token)
            response = self._call("ListTrials", request, study_pb2.ListTrialsResponse)
            found += [trial(t, self.spec) for t in response.trials]
            token = response.next_page_token
            if not token:
                return found

    def cancel(self) -> None:
        """Ends it; what was found stays."""
        self._status("CancelStudy", study_pb2.CancelStudyRequest(name=self.name),
                     study_pb2.CancelStudyResponse)

    def delete(self) -> None:
        """Removes it and its trials."""
        self._call("DeleteStudy", study_pb2.DeleteStudyRequest(name=self.name),
                   study_pb2.DeleteStudyResponse)

    def _call(self, method: str, request: Any, response: Any) -> Any:
        return self._client.call(f"StudyService/{method}", request, response)

    def _status(self, method: str, request: Any, response: Any) -> StudyStatus:
        status = StudyStatus.from_proto(self._call(method, request, response).study, self.spec)
        self.state = status.state
        return status
