"""The calls of the daemon that Client and AsyncClient share: what is sent, and what the answer means."""

from __future__ import annotations

import numbers
import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, Generic, Optional, Sequence, TypeVar, Union

import grpc

from .candidate import Candidate, ComparedBounds, DescribedCandidate, FinishedCandidate, finish_rule
from .errors import MdhError, SourceLocation, UnavailableError, from_code, wrong
from .expression import Expression, TextExpression
from .pipeline import Pipeline
from .results import (
    BestKernel, CheckedExpression, Job, Kernel, Lookup, TunedKernel, match_kind, policy,
)
from .schedule import CheckedSchedule, Schedule
from .v1 import candidate_pb2, device_pb2, expression_pb2, kernel_pb2, record_pb2, tuning_pb2

Source = Union[Expression, Pipeline, TextExpression]
# A name, or the description of a device that has none.
Device = Union[str, device_pb2.DeviceDescription]
Result = TypeVar("Result")

# Listing devices may have to measure them first, which takes seconds.
_LIST_DEVICES_SECONDS = 180.0
_CACHES = "CACHE_STATE_"


def nanoseconds(seconds: float, name: str) -> int:
    """Errors: ExpressionError if the daemon cannot be told that; what is negative it refuses itself."""
    if not isinstance(seconds, numbers.Real) or not abs(seconds) < 2.0 ** 63 / 1e9:
        raise wrong(f"{name}: {seconds!r} is no number of seconds up to 9e9")
    return int(float(seconds) * 1e9)


@dataclass(frozen=True)
class Call(Generic[Result]):
    """One call of a method such as "KernelService/GetKernel"."""

    method: str
    request: Any
    response: Any  # its type
    convert: Callable[[Any], Result]
    location: Optional[SourceLocation] = None  # what errors about the request are about
    seconds: Optional[float] = None  # limit; None: the client's


def check(expression: Source) -> Call[CheckedExpression]:
    return Call("ExpressionService/CheckExpression",
                expression_pb2.CheckExpressionRequest(expression=source(expression)),
                expression_pb2.CheckExpressionResponse, CheckedExpression.from_proto,
                expression.location)


def lookup(expression: Source, exact: bool, numerics: str, device: Device,
           tune_seconds: Optional[float], schedule: Union[str, Schedule]) -> Call[Lookup]:
    kind = kernel_pb2.MATCH_KIND_EXACT if exact else kernel_pb2.MATCH_KIND_COMPATIBLE
    request = kernel_pb2.LookupKernelRequest(
        expression=source(expression), weakest_match=kind, numerics_policy=policy(numerics),
        device=selection(device), schedule=str(schedule))
    if tune_seconds is not None:
        request.tune_in_background.options.budget_ns = nanoseconds(tune_seconds, "tune_seconds")
    return Call("KernelService/LookupKernel", request, kernel_pb2.LookupKernelResponse,
                Lookup.from_proto, expression.location)


def check_schedule(expression: Source, schedule: Union[str, Schedule], device: Device,
                   numerics: str, vary: str) -> Call[CheckedSchedule]:
    return Call("TuningService/CheckSchedule",
                tuning_pb2.CheckScheduleRequest(
                    expression=source(expression), schedule=str(schedule), device=selection(device),
                    numerics_policy=policy(numerics), vary=vary),
                tuning_pb2.CheckScheduleResponse, CheckedSchedule.from_proto)


def _candidate(candidate: Candidate) -> candidate_pb2.Candidate:
    return candidate_pb2.Candidate(
        expression=source(candidate.expression), device=selection(candidate.device),
        numerics_policy=policy(candidate.numerics), schedule=str(candidate.schedule),
        restrictions=candidate.restriction_messages())


def describe(candidate: Candidate, compared: Optional[ComparedBounds]) -> Call[DescribedCandidate]:
    request = candidate_pb2.DescribeCandidateRequest(candidate=_candidate(candidate))
    if compared is not None:
        request.comparison.CopyFrom(compared.to_proto())
    return Call("CandidateService/DescribeCandidate", request,
                candidate_pb2.DescribeCandidateResponse, DescribedCandidate.from_proto)


def finish(candidate: Candidate, by: str, seed: int) -> Call[FinishedCandidate]:
    request = candidate_pb2.FinishCandidateRequest(
        candidate=_candidate(candidate), by=finish_rule(by), seed=seed)
    return Call("CandidateService/FinishCandidate", request,
                candidate_pb2.FinishCandidateResponse, FinishedCandidate.from_proto)


def create_job(expression: Source, *, options: tuning_pb2.TuningOptions, force: bool,
               request_id: str, devices: Sequence[str], source_name: str) -> Call[Job]:
    request = tuning_pb2.CreateTuningJobRequest(
        expression=source(expression), options=options, force=force, request_id=request_id,
        devices=[device_name(device) for device in devices], source=source_name)
    return Call("TuningService/CreateTuningJob", request, tuning_pb2.CreateTuningJobResponse,
                Job.from_proto, expression.location)


def job(name: str) -> Call[Job]:
    return Call("TuningService/GetTuningJob", tuning_pb2.GetTuningJobRequest(name=name),
                tuning_pb2.GetTuningJobResponse, Job.from_proto)


def cancel(name: str) -> Call[None]:
    return Call("TuningService/CancelTuningJob", tuning_pb2.CancelTuningJobRequest(name=name),
                tuning_pb2.CancelTuningJobResponse, lambda response: None)


def known_kernel(tuned: Union[str, TunedKernel, Lookup]) -> Optional[Kernel]:
    """That of a lookup which came with it and has no name to get it by."""
    is_here = isinstance(tuned, Lookup) and tuned.kernel is not None and not tuned.tuned.name
    return tuned.kernel if isinstance(tuned, Lookup) and is_here else None


def kernel(tuned: Union[str, TunedKernel, Lookup]) -> Call[Kernel]:
    if isinstance(tuned, Lookup):
        tuned = tuned.tuned
    name = tuned.name if isinstance(tuned, TunedKernel) else tuned
    if name.startswith("records/"):
        name = "kernels/" + name[len("records/"):]
    return Call("KernelService/GetKernel", kernel_pb2.GetKernelRequest(name=name),
                kernel_pb2.GetKernelResponse,
                lambda response: Kernel.from_proto(response.kernel))


def best_kernel(expression: Source, device: Device, weakest: str, numerics: str,
                tune_seconds: Optional[float],
                schedule: Union[str, Schedule]) -> Call[BestKernel]:
    request = kernel_pb2.GetKernelRequest(
        expression=source(expression), device=selection(device), weakest_match=match_kind(weakest),
        numerics_policy=policy(numerics), schedule=str(schedule))
    if tune_seconds is not None:
        request.tune_in_background.options.budget_ns = nanoseconds(tune_seconds, "tune_seconds")
    return Call("KernelService/GetKernel", request, kernel_pb2.GetKernelResponse,
                BestKernel.from_proto, expression.location)


def known_devices() -> Call[Dict[str, device_pb2.DeviceDescription]]:
    return Call("DeviceService/ListKnownDevices", device_pb2.ListKnownDevicesRequest(),
                device_pb2.ListKnownDevicesResponse,
                lambda response: {d.name: d.description for d in response.known_devices})


def devices() -> Call[device_pb2.ListDevicesResponse]:
    return Call("DeviceService/ListDevices", device_pb2.ListDevicesRequest(),
                device_pb2.ListDevicesResponse, lambda response: response,
                seconds=_LIST_DEVICES_SECONDS)


def error_of(error: Any, address: str, location: Optional[SourceLocation]) -> MdhError:
    """What a grpc.RpcError says."""
    code, message = error.code(), error.details() or ""
    if code == grpc.StatusCode.UNAVAILABLE and "failed to connect" in message:
        return UnavailableError(f"cannot connect to {address}; is mdhd running there?")
    is_about_expression = code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE)
    return from_code(code.value[0], message, location if is_about_expression else None)


def source(expression: Any) -> expression_pb2.ExpressionSource:
    if not isinstance(expression, (Expression, Pipeline, TextExpression)):
        raise wrong(f"{expression!r} is no expression: decorate a function with @mdh or "
                    "@mdh.pipeline, or use einsum(...) or parse(...)")
    return expression.source()


def selection(device: Device) -> Optional[device_pb2.DeviceSelection]:
    if isinstance(device, device_pb2.DeviceDescription):
        return device_pb2.DeviceSelection(description=device)
    return device_pb2.DeviceSelection(name=device_name(device)) if device else None


def device_name(device: str) -> str:
    """As the command line's names of devices: "cuda0" is attached, "h100" a known one; names with a
    "/" ("nodes/w1/devices/cuda0") and fingerprints stay as they are."""
    if "/" in device or re.match(r"(cpu|opencl|cuda|hip) '", device):
        return device
    is_attached = re.fullmatch(r"cpu(@.*)?|(opencl|cuda)([0-9]+(@.*)?)?", device)
    return ("devices/" if is_attached else "knownDevices/") + device


def cache_state(caches: str) -> int:
    if not caches:
        return 0
    name = _CACHES + caches.upper()
    if name not in record_pb2.CacheState.keys()[1:]:
        known = [n[len(_CACHES):].lower() for n in record_pb2.CacheState.keys()[1:]]
        raise wrong(f"there is no state of the caches '{caches}', but {', '.join(known)}")
    return record_pb2.CacheState.Value(name)
