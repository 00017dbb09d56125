"""The client of mdhd."""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Union

import grpc

from .errors import MdhError, SourceLocation, UnavailableError, from_code, wrong
from .expression import Expression, TextExpression
from .results import BestKernel, CheckedExpression, Kernel, Lookup, Progress, TunedKernel
from .security import Security
from .v1 import device_pb2, expression_pb2, kernel_pb2, record_pb2, study_pb2, tuning_pb2

if TYPE_CHECKING:
    from .tuner.specification import Specification
    from .tuner.study import Study, StudyStatus

Source = Union[Expression, TextExpression]
# A name, or the description of a device that has none.
Device = Union[str, device_pb2.DeviceDescription]

# Listing devices may have to measure them first, which takes seconds.
_LIST_DEVICES_SECONDS = 180.0
# Building the space of a study.
_CREATE_STUDY_SECONDS = 300.0
_POLICY = "NUMERICS_POLICY_"


def default_address() -> str:
    """Where a daemon listens: $MDH_SERVER, or the socket in $XDG_RUNTIME_DIR, or that in /tmp."""
    address = os.environ.get("MDH_SERVER", "")
    if address:
        return address
    directory = os.environ.get("XDG_RUNTIME_DIR", "")
    return f"unix:{directory}/mdhd.sock" if directory else f"unix:/tmp/mdhd-{os.getuid()}.sock"


class Client:
    """A connection to a daemon; also a context manager. Thread-safe.

    Errors of every call: the subclass of MdhError for the daemon's code, with its message;
    UnavailableError if it cannot be reached; DeadlineExceededError. Errors about an expression
    that was built in Python name the file and line of its definition.
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
        self._channel = security.open_channel(
            self.address, options=[
                ("grpc.max_receive_message_length", -1),
                # A daemon that was restarted is found again soon.
                ("grpc.min_reconnect_backoff_ms", 200), ("grpc.max_reconnect_backoff_ms", 2000)])

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def check(self, expression: Source) -> CheckedExpression:
        """What the daemon understands of an expression. Errors: ExpressionError, ..."""
        request = expression_pb2.CheckExpressionRequest(expression=_source(expression))
        return CheckedExpression.from_proto(self.call(
            "ExpressionService/CheckExpression", request, expression_pb2.CheckExpressionResponse,
            expression.location))

    def lookup(self, expression: Source, *, exact: bool = True, numerics: str = "",
               device: Device = "") -> Lookup:
        """The record of an expression, without tuning. Errors: NotFoundError.

        `exact`: whether compiler and generator version must agree. `numerics`: as that of tune.
        `device`: as that of best_kernel.
        """
        kind = kernel_pb2.MATCH_KIND_EXACT if exact else kernel_pb2.MATCH_KIND_COMPATIBLE
        request = kernel_pb2.LookupKernelRequest(
            expression=_source(expression), weakest_match=kind, numerics_policy=_policy(numerics),
            device=_selection(device))
        response = self.call("KernelService/LookupKernel", request,
                              kernel_pb2.LookupKernelResponse, expression.location)
        return Lookup(response.match == kernel_pb2.MATCH_KIND_EXACT,
                      TunedKernel.from_proto(response.record))

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
        force: bool = False,
        request_id: str = "",
        devices: Sequence[str] = (),
        source: str = "",
        on_progress: Optional[Callable[[Progress], None]] = None,
    ) -> TunedKernel:
        """Creates a job, waits for its end and gives the best that it found.

        Zero and empty stand for the daemon's defaults. `numerics`: what a kernel may change in
        results: "reassociate", "exact_order" or "fixed_tree". `tolerance`: largest relative error
        when candidates are checked. `force`: search even if there is a record. `devices`: names of
        equal devices, e.g. "devices/cuda0", or "devices/cuda" for all of a kind; default: the
        daemon's CPU. `source`: who asks, to take turns with others. `on_progress` is called from
        this thread. An interrupt from the keyboard cancels the job; the best found
        until then is stored.

        Errors: CancelledError if the job was cancelled; what the job failed with.
        """
        options = tuning_pb2.TuningOptions(
            budget_ns=int(budget_seconds * 1e9), max_trials=max_trials, seed=seed,
            technique=technique, numerics_policy=_policy(numerics), tolerance=tolerance)
        request = tuning_pb2.CreateTuningJobRequest(
            expression=_source(expression), options=options, force=force, request_id=request_id,
            devices=devices, source=source)
        created = self.call("TuningService/CreateTuningJob", request,
                             tuning_pb2.CreateTuningJobResponse, expression.location)
        try:
            self._watch(created.job.name, on_progress)
        except KeyboardInterrupt:
            self.cancel(created.job.name)
            raise
        ended = self.call(
            "TuningService/GetTuningJob", tuning_pb2.GetTuningJobRequest(name=created.job.name),
            tuning_pb2.GetTuningJobResponse)
        if ended.job.state == tuning_pb2.TUNING_JOB_STATE_CANCELLED:
            raise from_code(1, f"{ended.job.name} was cancelled")
        if ended.job.HasField("error"):
            raise from_code(ended.job.error.code, ended.job.error.message, expression.location)
        return TunedKernel.from_proto(ended.record)

    def _watch(self, job: str, on_progress: Optional[Callable[[Progress], None]]) -> None:
        watch = self._channel.unary_stream(
            "/mdh.v1.TuningService/WatchTuningJob",
            request_serializer=tuning_pb2.WatchTuningJobRequest.SerializeToString,
            response_deserializer=tuning_pb2.WatchTuningJobResponse.FromString)
        try:
            for response in watch(
                    tuning_pb2.WatchTuningJobRequest(name=job), metadata=self._metadata):
                if on_progress is not None:
                    on_progress(Progress.from_proto(response.progress))
        except grpc.RpcError as error:
            raise self._error(error, None) from error

    def cancel(self, job: str) -> None:
        """Cancels a job, "tuningJobs/{number}". Errors: NotFoundError."""
        self.call("TuningService/CancelTuningJob", tuning_pb2.CancelTuningJobRequest(name=job),
                   tuning_pb2.CancelTuningJobResponse)

    def kernel(self, tuned: Union[str, TunedKernel, Lookup]) -> Kernel:
        """The kernel of a record (or its name, or that of a kernel). Errors: NotFoundError."""
        if isinstance(tuned, Lookup):
            tuned = tuned.tuned
        name = tuned.name if isinstance(tuned, TunedKernel) else tuned
        if name.startswith("records/"):
            name = "kernels/" + name[len("records/"):]
        response = self.call("KernelService/GetKernel", kernel_pb2.GetKernelRequest(name=name),
                              kernel_pb2.GetKernelResponse)
        return Kernel.from_proto(response.kernel)

    def best_kernel(self, expression: Source, *, device: Device = "", measured: bool = True,
                    exact: bool = True, numerics: str = "") -> BestKernel:
        """The best kernel that is known for an expression on a device. Errors: NotFoundError.

        `device`: the name of an attached device as "devices/cuda0", of a known one as
        "knownDevices/h100", or the description of any other; default: the daemon's CPU.
        `measured`: whether it must have been measured there; else there is one for every device,
        made from the record of a similar one or from rules. `exact`: as that of lookup.
        `numerics`: as that of tune.
        """
        kind = kernel_pb2.MATCH_KIND_EXACT if exact else kernel_pb2.MATCH_KIND_COMPATIBLE
        if not measured:
            kind = kernel_pb2.MATCH_KIND_PREDICTED
        request = kernel_pb2.GetKernelRequest(
            expression=_source(expression), device=_selection(device), weakest_match=kind,
            numerics_policy=_policy(numerics))
        response = self.call("KernelService/GetKernel", request, kernel_pb2.GetKernelResponse,
                             expression.location)
        return BestKernel.from_proto(response)

    def known_devices(self) -> Dict[str, device_pb2.DeviceDescription]:
        """Devices that kernels can be made for without having them, by name."""
        response = self.call("DeviceService/ListKnownDevices", device_pb2.ListKnownDevicesRequest(),
                             device_pb2.ListKnownDevicesResponse)
        return {device.name: device.description for device in response.known_devices}

    def devices(self) -> device_pb2.ListDevicesResponse:
        """The daemon's devices and its version; the first call may take seconds."""
        return self.call("DeviceService/ListDevices", device_pb2.ListDevicesRequest(),
                          device_pb2.ListDevicesResponse, seconds=_LIST_DEVICES_SECONDS)

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
        call = self._channel.unary_unary(
            f"/mdh.v1.{method}", request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString)
        try:
            return call(
                request, timeout=seconds or self._call_seconds, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._error(error, location) from error

    def _error(self, error: Any, location: Optional[SourceLocation]) -> MdhError:
        code, message = error.code(), error.details() or ""
        if code == grpc.StatusCode.UNAVAILABLE and "failed to connect" in message:
            return UnavailableError(
                f"cannot connect to {self.address}; is mdhd running there?")
        is_about_expression = code in (
            grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE)
        return from_code(code.value[0], message, location if is_about_expression else None)


def _source(expression: Any) -> expression_pb2.ExpressionSource:
    if not isinstance(expression, (Expression, TextExpression)):
        raise wrong(f"{expression!r} is no expression: decorate a function with @mdh, or use "
                    "einsum(...) or parse(...)")
    return expression.source()


def _selection(device: Device) -> Optional[device_pb2.DeviceSelection]:
    if isinstance(device, device_pb2.DeviceDescription):
        return device_pb2.DeviceSelection(description=device)
    return device_pb2.DeviceSelection(name=device) if device else None


def _policy(numerics: str) -> int:
    if not numerics:
        return 0
    name = _POLICY + numerics.upper()
    if name not in record_pb2.NumericsPolicy.keys():
        known = [n[len(_POLICY):].lower() for n in record_pb2.NumericsPolicy.keys()[1:]]
        raise wrong(f"there is no numerics policy '{numerics}', but {', '.join(known)}")
    return record_pb2.NumericsPolicy.Value(name)
