"""The client of mdhd."""

from __future__ import annotations

import os
import pathlib
import time
import uuid
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Union

import grpc

from . import calls
from .calls import Device, Source
from .candidate import Candidate, ComparedBounds, DescribedCandidate, FinishedCandidate
from .connection import Connection
from .errors import MdhError, SourceLocation
from .following import STREAM_SECONDS, Following
from .read_cursor import ReadCursor
from .results import (
    BestKernel, CheckedExpression, Job, Kernel, Lookup, Progress, TunedKernel,
)
from .schedule import CheckedSchedule, Schedule
from .security import Security
from .trust import SYSTEM_SOCKET, TrustedUsers, check_endpoint
from .v1 import device_pb2, study_pb2, tuning_pb2

if TYPE_CHECKING:
    from .tuner.specification import Specification
    from .tuner.study import Study, StudyStatus

_SYSTEM_SOCKET = SYSTEM_SOCKET
# Building the space of a study.
_CREATE_STUDY_SECONDS = 300.0


def default_address() -> str:
    """Where a daemon listens: $MDH_SERVER, or the socket in $XDG_RUNTIME_DIR, or in the folder of
    this user in /tmp; if there is none, or it is not this user's, that of the system service, if there
    is that."""
    address = os.environ.get("MDH_SERVER", "")
    if address:
        return address
    directory = os.environ.get("XDG_RUNTIME_DIR", "")
    own = f"{directory}/mdhd.sock" if directory else f"/tmp/mdhd-{os.getuid()}/mdhd.sock"
    is_systems = not _is_usable(own) and _is_socket(_SYSTEM_SOCKET)
    return f"unix:{_SYSTEM_SOCKET if is_systems else own}"


def _is_usable(path: str) -> bool:
    try:
        check_endpoint(f"unix:{path}", TrustedUsers(""))
    except MdhError:
        return False
    return _is_socket(path)


def _is_socket(path: str) -> bool:
    try:
        return pathlib.Path(path).is_socket()
    except OSError:  # in a folder that one may not look into
        return False


class Client:
    """A connection to a daemon; also a context manager. Thread-safe. A process that is forked may use
    it, too: it gets a connection of its own.

    Errors of every call: the subclass of MdhError for the daemon's code, with its message;
    UnavailableError if it cannot be reached; DeadlineExceededError. Errors about an expression
    that was built in Python name the file and line of its definition.

    Where several daemons share a database, lookups and kernels know of what ended jobs told this client
    before, whichever daemon answers: it waits up to a second for that. One that cannot know it, because
    the database is away, answers with what it has.
    """

    def __init__(self, address: Optional[str] = None, *, call_seconds: float = 30.0,
                 security: Optional[Security] = None):
        """`address`: "unix:/path" or "HOST:PORT"; default: default_address().

        `call_seconds`: limit of one call, but for those that last as long as a job.
        `security`: TLS and token; default: Security.from_environment().
        """
        self.address = address or default_address()
        self._call_seconds = call_seconds
        security = security or Security.from_environment()
        self._metadata = security.metadata(self.address)
        self._connection = Connection(self.address, security)
        self._cursor = ReadCursor()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def check(self, expression: Source) -> CheckedExpression:
        """What the daemon understands of an expression. Errors: ExpressionError, ..."""
        return self._run(calls.check(expression))

    def lookup(self, expression: Source, *, exact: bool = True, numerics: str = "",
               device: Device = "", tune_seconds: Optional[float] = None,
               schedule: Union[str, Schedule] = "") -> Lookup:
        """The record of an expression. Errors: NotFoundError.

        `exact`: whether compiler and generator version must agree. `numerics`: as that of tune.
        `device`, `tune_seconds`: as those of best_kernel; with the latter nothing is missed, and
        parameters that were not measured come with their kernel. `schedule`: the record of a search
        that kept to it.
        """
        return self._run(
            calls.lookup(expression, exact, numerics, device, tune_seconds, schedule))

    def check_schedule(self, expression: Source, schedule: Union[str, Schedule] = "", *,
                       device: Device = "", numerics: str = "", vary: str = "") -> CheckedSchedule:
        """What a schedule leaves open, without a search. `vary`: a decision whose values are counted,
        "tile.L2.k", "parts.COR.i" or an option. Errors: ExpressionError, with the position in the
        schedule."""
        return self._run(calls.check_schedule(expression, schedule, device, numerics, vary))

    def describe(self, candidate: Candidate, *,
                 compared: Optional[ComparedBounds] = None) -> DescribedCandidate:
        """What remains of a candidate: how many configurations, and with which values. `compared`: also
        how many of them are shown to take longer than a time. Errors: ExpressionError for names and
        values that there are not, with those that there are; FailedPreconditionError if nothing
        remains, with the decision that emptied it; NotFoundError if there is no record to compare with."""
        return self._run(calls.describe(candidate, compared))

    def finish(self, candidate: Candidate, by: str = "rules", *, seed: int = 1) -> FinishedCandidate:
        """Takes one of the configurations of a candidate: the one nearest to the "rules" or to a
        "record", or a random "sample". Errors: as describe; NotFoundError if there is no record."""
        return self._run(calls.finish(candidate, by, seed))

    def tune(
        self,
        expression: Source,
        *,
        budget_seconds: float = 0,
        max_trials: int = 0,
        seed: int = 0,
        technique: str = "",
        numerics: str = "",
        tolerance: float = 0,
        caches: str = "",
        schedule: Union[str, Schedule] = "",
        candidate: Optional[Candidate] = None,
        gap: float = 0,
        without_cut: bool = False,
        force: bool = False,
        request_id: str = "",
        devices: Sequence[str] = (),
        source: str = "",
        on_progress: Optional[Callable[[Progress], None]] = None,
        on_note: Optional[Callable[[str], None]] = None,
    ) -> TunedKernel:
        """Creates a job, waits for its end and gives the best that it found. Of a pipeline: a job for
        each of its steps, alone and as they can be fused, and one that measures whole kernels in turns;
        gives the fastest of these, whose code best_kernel has.

        Zero and empty stand for the daemon's defaults. `budget_seconds`: time of the search, that which
        stands behind the record that there is included: a request for more goes on from there, one for
        less gives the record at once. Zero: any record will do, and if there is none the search takes
        60 seconds. `numerics`: what a kernel may change in
        results: "reassociate", "exact", "tree"; "tf32", "bf16x3" or "bf16x6" for fp32 on matrix
        units, "fp8" for fp8 on those. `tolerance`: largest relative error
        when candidates are checked. `caches`: in which state of the caches they are timed, "warm"
        or "cold"; default: warm, and a record of any state will do. `schedule`: what the kernel must keep
        to, which gives a record of its own. `candidate`: whose decisions hold: only what
        they leave is searched, anew, and replaces a record only if it is faster. `gap`: the search ends once
        its best is proven to be within this share of the best possible (0.05: 5 %). `without_cut`: try also what a
        bound shows to be slower than the best so far. `force`: search even if there is
        a record. `devices`: names of equal devices, e.g. "cuda0", or "cuda" for all of a kind, as the
        command line has them; default: the daemon's CPU. `source`: who asks, to take turns with others. `on_progress` and
        `on_note` are called from this thread; the latter once, if there was something before: with a
        sentence that says what search stands behind the record, from what the search goes on, or which
        job was joined. A daemon that is restarted meanwhile is waited for. An interrupt from the
        keyboard cancels the job; the best found until then is stored.

        Errors: CancelledError if the job was cancelled; what the job failed with.
        """
        options = tuning_pb2.TuningOptions(
            budget_ns=calls.nanoseconds(budget_seconds, "budget_seconds"), max_trials=max_trials,
            seed=seed, technique=technique, numerics_policy=calls.policy(numerics), tolerance=tolerance,
            cache_state=calls.cache_state(caches), schedule=str(schedule), gap=gap, without_cut=without_cut,
            restrictions=candidate.restriction_messages() if candidate is not None else ())
        job = self._run(calls.create_job(
            expression, options=options, force=force, request_id=request_id or uuid.uuid4().hex,
            devices=devices, source_name=source))
        if on_note is not None and job.note:
            on_note(job.note)
        try:
            ended = [self.wait(name, on_progress=on_progress) for name in job.names]
        except KeyboardInterrupt:
            for name in job.names:
                self.cancel(name)
            raise
        found = [one.result(expression.location) for one in ended]
        if not job.steps:
            return found[0]
        return self.best_kernel(expression, device=ended[0].devices[0], numerics=numerics,
                                schedule=schedule).tuned

    def wait(self, job: str, *, on_progress: Optional[Callable[[Progress], None]] = None,
             max_silence_seconds: float = 30.0) -> Job:
        """Waits for the end of a job, "tuningJobs/{number}". A daemon that is restarted meanwhile is
        waited for, `max_silence_seconds` long. Errors: NotFoundError; UnavailableError."""
        following = Following(max_silence_seconds)
        while True:
            try:
                for progress in self._follow(job, following.sequence):
                    following.heard(progress.sequence)
                    if on_progress is not None:
                        on_progress(Progress.from_proto(progress))
            except MdhError as error:
                following.failed(error)
            try:
                ended = self._run(calls.job(job))
                following.heard(following.sequence)
                if ended.has_ended:
                    return ended
            except MdhError as error:
                following.failed(error, is_last=True)
            time.sleep(following.pause())

    def _follow(self, job: str, after: int) -> Iterator[tuning_pb2.TuningProgress]:
        watch = self._connection.channel().unary_stream(
            "/mdh.v1.TuningService/WatchTuningJob",
            request_serializer=tuning_pb2.WatchTuningJobRequest.SerializeToString,
            response_deserializer=tuning_pb2.WatchTuningJobResponse.FromString)
        request = tuning_pb2.WatchTuningJobRequest(name=job, after_sequence=after)
        stream = watch(request, metadata=self._metadata, timeout=STREAM_SECONDS)
        try:
            for response in stream:
                yield response.progress
        except grpc.RpcError as error:
            raise self._error(error, None) from error
        finally:
            stream.cancel()

    def cancel(self, job: str) -> None:
        """Cancels a job, "tuningJobs/{number}". Errors: NotFoundError."""
        self._run(calls.cancel(job))

    def kernel(self, tuned: Union[str, TunedKernel, Lookup]) -> Kernel:
        """The kernel of a record (or its name, or that of a kernel). Errors: NotFoundError."""
        known = calls.known_kernel(tuned)
        return known if known is not None else self._run(calls.kernel(tuned))

    def best_kernel(self, expression: Source, *, device: Device = "", measured: bool = True,
                    exact: bool = True, weakest: str = "", numerics: str = "",
                    tune_seconds: Optional[float] = None,
                    schedule: Union[str, Schedule] = "") -> BestKernel:
        """The best kernel that is known for an expression on a device. Errors: NotFoundError.

        `device`: the name of an attached device as "cuda0", of a known one as "h100" (in full:
        "devices/cuda0", "knownDevices/h100"), or the description of any other; default: the daemon's CPU.
        `measured`: whether it must have been measured there; else there is one for every device,
        made from the record of a similar one or from rules. `exact`: as that of lookup. `weakest`:
        instead of these two: "exact", "compatible", "nearest" (measured there in other sizes) or
        "predicted". `numerics`: as that of tune. `tune_seconds`: unless it was measured for exactly
        this, the daemon tunes so long in the background, and what is known comes at once; 0: the
        daemon's default. `schedule`: what the kernel keeps to, as that of tune; then it was measured.
        """
        if not weakest:
            weakest = "predicted" if not measured else "exact" if exact else "compatible"
        return self._run(
            calls.best_kernel(expression, device, weakest, numerics, tune_seconds, schedule))

    def known_devices(self) -> Dict[str, device_pb2.DeviceDescription]:
        """Devices that kernels can be made for without having them, by name."""
        return self._run(calls.known_devices())

    def devices(self) -> device_pb2.ListDevicesResponse:
        """The daemon's devices and its version; the first call may take seconds."""
        return self._run(calls.devices())

    def create_study(self, specification: "Specification", *, request_id: str = "") -> "Study":
        """A new study of any program: ask it for configurations and tell it what they cost.

        `request_id`: the same one gives the same study. Errors: ExpressionError for what is wrong
        in the specification and FailedPreconditionError if no configuration is valid, with file and
        line of the constraint; ResourceExhaustedError.
        """
        from .tuner.study import Study

        request = study_pb2.CreateStudyRequest(
            spec=specification.proto, request_id=request_id or uuid.uuid4().hex)
        return Study(self, self._create_study(specification, request))

    def check_study(self, specification: "Specification") -> "StudyStatus":
        """As create_study, but nothing is stored: for the number of configurations and notices."""
        from .tuner.study import StudyStatus

        request = study_pb2.CreateStudyRequest(spec=specification.proto, validate_only=True)
        return StudyStatus.from_proto(self._create_study(specification, request))

    def _create_study(self, specification: "Specification", request: Any) -> study_pb2.Study:
        try:
            response = self.call("StudyService/CreateStudy", request, study_pb2.CreateStudyResponse,
                                 seconds=_CREATE_STUDY_SECONDS)
        except MdhError as error:
            raise specification.locate(error) from error
        created: study_pb2.Study = response.study
        return created

    def study(self, name: str) -> "Study":
        """A study, "studies/{number}". Errors: NotFoundError."""
        from .tuner.study import Study

        response = self.call("StudyService/GetStudy", study_pb2.GetStudyRequest(name=name),
                             study_pb2.GetStudyResponse)
        return Study(self, response.study)

    def studies(self, count: int = 50) -> "List[StudyStatus]":
        """The newest studies, at most `count`."""
        from .tuner.study import StudyStatus

        found: "List[StudyStatus]" = []
        token = ""
        while len(found) < count:
            request = study_pb2.ListStudiesRequest(
                page_size=min(count - len(found), 1000), page_token=token)
            response = self.call("StudyService/ListStudies", request,
                                 study_pb2.ListStudiesResponse)
            found += [StudyStatus.from_proto(study) for study in response.studies]
            token = response.next_page_token
            if not token:
                break
        return found

    def call(
        self, method: str, request: Any, response: Any,
        location: Optional[SourceLocation] = None, seconds: Optional[float] = None,
    ) -> Any:
        """One call of a method such as "StudyService/GetStudy", for messages of its own: `response`
        is the type. Errors about the request are about `location`."""
        call = self._connection.channel().unary_unary(
            f"/mdh.v1.{method}", request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString)
        asked = self._cursor.asked_of(request)
        while True:
            try:
                answer = call(asked, timeout=seconds or self._call_seconds, metadata=self._metadata)
                self._cursor.note(answer)
                return answer
            except grpc.RpcError as error:
                if not self._cursor.is_given_up(error, asked, request):
                    raise self._error(error, location) from error
                asked = request

    def _run(self, call: calls.Call[calls.Result]) -> calls.Result:
        return call.convert(self.call(call.method, call.request, call.response, call.location,
                                      call.seconds))

    def _error(self, error: Any, location: Optional[SourceLocation]) -> MdhError:
        return calls.error_of(error, self.address, location)
