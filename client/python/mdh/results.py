"""What the daemon answers, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Tuple, Union

from .errors import MdhError, SourceLocation, from_code, wrong
from .kernels.kernel_file import KernelArgument, KernelLaunch, TensorMap
from .schedule import Schedule
from .shown import Facts, Shown, scaled, time_text
from .v1 import expression_pb2, kernel_pb2, record_pb2, tuning_pb2

_MATCH = "MATCH_KIND_"
_POLICY = "NUMERICS_POLICY_"
_PROVENANCE = "KERNEL_PROVENANCE_"


@dataclass(frozen=True, repr=False)
class CheckedExpression(Shown):
    """What the daemon understood of an expression."""

    digest: str  # SHA-256 of canonical_form, 64 hexadecimal digits
    text: str  # in the text form, without parameters
    canonical_form: str  # equal for equal meanings
    flops: int  # floating-point operations of one execution
    compulsory_bytes: int  # of the elements of inputs and outputs that are touched, at most
    expression: expression_pb2.Expression  # with all extents; empty if it is a pipeline
    pipeline: Optional[expression_pb2.Pipeline] = None  # with all extents, if it is one
    temporary_bytes: int = 0  # of a pipeline

    def _title(self) -> str:
        return self.expression.name if self.pipeline is None else self.pipeline.name

    def _facts(self) -> Facts:
        return [("operations", scaled(self.flops, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"))),
                ("bytes", scaled(self.compulsory_bytes, ("bytes", "KiB", "MiB", "GiB"), 1024)),
                ("digest", self.digest[:12] + "..."), ("text", self.text)]

    @staticmethod
    def from_proto(proto: expression_pb2.CheckExpressionResponse) -> "CheckedExpression":
        return CheckedExpression(proto.digest, proto.text, proto.canonical_form, proto.flops,
                                 proto.compulsory_bytes, proto.expression,
                                 proto.pipeline if proto.HasField("pipeline") else None,
                                 proto.temporary_bytes)


@dataclass(frozen=True)
class Progress:
    """How far a tuning job is. Times are in nanoseconds."""

    state: str  # "QUEUED", "RUNNING", "SUCCEEDED", "FAILED" or "CANCELLED"
    trials: int  # failed ones included
    failed_trials: int
    best_time_ns: int  # 0 before the first valid trial
    elapsed_ns: int
    remaining_ns: int  # estimated
    queue_position: int  # jobs ahead of a queued one
    latest_outcome: str
    latest_reason: str
    phase: str = ""  # of a running job: "INPUTS", "REFERENCE", "LOOP_NEST", "COMPILING", "MEASURING", "FINALS"

    @staticmethod
    def from_proto(proto: tuning_pb2.TuningProgress) -> "Progress":
        state = tuning_pb2.TuningJobState.Name(proto.state)[len("TUNING_JOB_STATE_"):]
        return Progress(state, proto.trials, proto.failed_trials, proto.best_time_ns,
                        proto.elapsed_ns, proto.remaining_ns, proto.queue_position,
                        proto.latest_outcome, proto.latest_reason,
                        tuning_pb2.TuningPhase.Name(proto.phase)[len("TUNING_PHASE_"):]
                        if proto.phase else "")


@dataclass(frozen=True, repr=False)
class Bound(Shown):
    """What no kernel of a computation can be faster than on a device."""

    time_ns: float  # no kernel takes less
    binding_floor: str  # what binds, beside the record's time: "memory: 30.1 of 32.4 us"
    floors: Tuple[Tuple[str, float, str], ...]  # resource, least time in ns, why; the largest first
    assumptions: Tuple[str, ...]  # of what binds; none: it is proven from the specification

    @property
    def is_proven(self) -> bool:
        return not self.assumptions

    def _title(self) -> str:
        return self.binding_floor

    def _facts(self) -> Facts:
        return [("least time", time_text(round(self.time_ns))),
                ("proof", "proven" if self.is_proven else "assumed: " + "; ".join(self.assumptions)),
                *((resource, f"{time_text(round(time))}, {why}") for resource, time, why in self.floors)]


@dataclass(frozen=True, repr=False)
class TunedKernel(Shown):
    """The best that was found for an expression on a device. Times are in nanoseconds."""

    name: str  # of the record, "records/{id}"
    expression_name: str
    digest: str
    device: str  # fingerprint
    time_ns: int  # median of one execution
    loop_nest_time_ns: int  # of the untuned loop nest on one thread; 0 if it was not measured
    trials: int
    failed_trials: int
    search_time_ns: int
    flops: int
    compulsory_bytes: int
    parameters: str  # tuning parameters as text
    low_level_table: str
    proto: record_pb2.TuningRecord  # everything
    total_search_time_ns: int = 0  # of all searches that stand behind it
    is_checked: bool = True  # whole; else as `proto.result_check` says

    def bound(self) -> Optional[Bound]:
        """What no kernel can be faster than. None where nothing is known, and of records from before there
        were bounds."""
        one = self.proto.certificate
        if not one.problem_bound_ns > 0:
            return None
        return Bound(one.problem_bound_ns, one.binding_floor,
                     tuple((f.resource, f.time_ns, f.reason) for f in one.floors), tuple(one.assumptions))

    def schedule(self) -> Schedule:
        """The decomposition as a schedule that allows nothing else: change or delete lines, and tune with
        it. Empty of records from before there were schedules."""
        return Schedule(self.proto.schedule)

    def _title(self) -> str:
        return self.expression_name

    def _facts(self) -> Facts:
        speed = self.flops / self.time_ns * 1e9 if self.time_ns > 0 else 0
        return [("time", time_text(self.time_ns) or "not measured"),
                ("speed", scaled(speed, ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s")) if speed else ""),
                ("record", self.name), ("device", self.proto.device.model or self.device),
                ("loop nest", time_text(self.loop_nest_time_ns)),
                ("trials", f"{self.trials}, {self.failed_trials} of them failed"),
                ("bound", self.proto.certificate.binding_floor),
                ("parameters", self.parameters)]

    @staticmethod
    def from_proto(proto: record_pb2.TuningRecord) -> "TunedKernel":
        return TunedKernel(
            proto.name, proto.expression_name, proto.key.expression_digest,
            proto.key.device_fingerprint, proto.time_ns, proto.loop_nest_time_ns, proto.trials,
            proto.failed_trials, proto.search_time_ns, proto.flops, proto.compulsory_bytes,
            proto.parameters, proto.low_level_table, proto,
            proto.total_search_time_ns or proto.search_time_ns,
            proto.result_check == record_pb2.RESULT_CHECK_UNSPECIFIED)


@dataclass(frozen=True, repr=False)
class Lookup(Shown):
    """A record that was looked up, and how well it fits."""

    is_exact: bool  # else, without tune_seconds: compiler or generator version differ
    tuned: TunedKernel  # without times if it was not measured
    match: str = "EXACT"  # as that of BestKernel
    provenance: str = ""  # as that of BestKernel
    made_from: str = ""  # as that of BestKernel
    kernel: Optional[Kernel] = None  # of parameters that were not measured, and of pipelines
    tuning_job: str = ""  # that was begun, or joined, in the background
    tuning_error: Optional[MdhError] = None  # why none was
    pipeline: Optional[kernel_pb2.PipelineKernel] = None  # of a pipeline: what `kernel` is made of

    def _title(self) -> str:
        return f"{self.match.lower()} {self.tuned.expression_name}"

    def _facts(self) -> Facts:
        return _facts_of(self)

    @staticmethod
    def from_proto(proto: kernel_pb2.LookupKernelResponse) -> "Lookup":
        has_error = proto.HasField("tuning_error")
        return Lookup(
            proto.match == kernel_pb2.MATCH_KIND_EXACT, TunedKernel.from_proto(proto.record),
            kernel_pb2.MatchKind.Name(proto.match)[len(_MATCH):],
            kernel_pb2.KernelProvenance.Name(proto.provenance)[len(_PROVENANCE):],
            proto.made_from,
            Kernel.from_proto(proto.kernel) if proto.HasField("kernel") else None,
            proto.tuning_job,
            from_code(proto.tuning_error.code, proto.tuning_error.message) if has_error else None,
            proto.pipeline if proto.HasField("pipeline") else None)


@dataclass(frozen=True, repr=False)
class Job(Shown):
    """A tuning job."""

    name: str  # "tuningJobs/{number}"
    state: str  # as that of Progress, or "PAUSED"
    progress: Progress
    tuned: Optional[TunedKernel]  # of an ended job that has a record
    error: Optional[MdhError]  # what it failed with
    note: str = ""  # of a job that was just asked for: what search there was, whether it was joined
    devices: Tuple[str, ...] = ()  # that it may run on
    steps: "Tuple[Job, ...]" = ()  # of a pipeline: a job for each distinct step; it is none itself
    whole: "Optional[Job]" = None  # of a pipeline: the job that measures whole kernels after these

    def _title(self) -> str:
        return self.name

    def _facts(self) -> Facts:
        best = time_text(self.progress.best_time_ns)
        return [("state", self.state.lower()), ("trials", f"{self.progress.trials} trials"),
                ("best", f"best {best}" if best else ""), ("note", self.note),
                ("error", str(self.error) if self.error is not None else "")]

    @property
    def names(self) -> Tuple[str, ...]:
        """Its own; of a pipeline those of the jobs of the steps, then that of the whole."""
        whole = (self.whole.name,) if self.whole is not None else ()
        return (tuple(step.name for step in self.steps) + whole) or (self.name,)

    @property
    def has_ended(self) -> bool:
        return self.state in ("SUCCEEDED", "FAILED", "CANCELLED")

    def result(self, location: Optional[SourceLocation] = None) -> TunedKernel:
        """What an ended job has found. Errors: CancelledError; what it failed with; errors in the
        expression are about `location`."""
        if self.state == "CANCELLED":
            raise from_code(1, f"{self.name} was cancelled")
        if self.error is not None:
            self.error.location = location
            raise self.error
        if self.tuned is None:
            raise from_code(13, f"{self.name} has no record")
        return self.tuned

    @staticmethod
    def from_proto(proto: Any) -> "Job":
        """Of the response of GetTuningJob or CreateTuningJob."""
        job = proto.job
        has_record = "record" in proto.DESCRIPTOR.fields_by_name and proto.HasField("record")
        has_whole = "whole_job" in proto.DESCRIPTOR.fields_by_name and proto.HasField("whole_job")
        return Job(
            job.name, tuning_pb2.TuningJobState.Name(job.state)[len("TUNING_JOB_STATE_"):],
            Progress.from_proto(job.progress),
            TunedKernel.from_proto(proto.record) if has_record else None,
            from_code(job.error.code, job.error.message) if job.HasField("error") else None,
            getattr(proto, "note", ""), tuple(job.devices),
            tuple(Job.from_proto(step) for step in getattr(proto, "step_jobs", ())),
            Job.from_proto(proto.whole_job) if has_whole else None)


@dataclass(frozen=True, repr=False)
class Kernel(Shown):
    """A kernel's source, and what is needed to compile and call it."""

    name: str  # "kernels/{id}"; empty: it was not measured
    entry: str  # C identifier of the function
    language: str  # "OpenMP C", "OpenCL C", "CUDA C++", ...
    source: str
    header: str
    arguments: Tuple[KernelArgument, ...]  # inputs, then outputs
    compiler: str
    compile_options: Tuple[str, ...]
    threads: int
    launches: Tuple[KernelLaunch, ...]  # one after the other; none in OpenMP C
    scratch_bytes: int  # of these launches' last argument; 0: there is none
    proto: kernel_pb2.Kernel  # everything
    stages: int = 0  # of the body of a kernel in C, with a barrier between two of them

    def _title(self) -> str:
        return self.entry

    def _facts(self) -> Facts:
        lines = self.source.count("\n")
        return [("language", self.language), ("source", f"{lines} lines"), ("name", self.name),
                ("arguments", ", ".join(
                    f"{'out ' if a.is_output else ''}{a.name}: {a.type or 'record'}{list(a.extents)}"
                    for a in self.arguments)),
                ("compiler", " ".join([self.compiler, *self.compile_options]))]

    @staticmethod
    def from_proto(proto: kernel_pb2.Kernel) -> "Kernel":
        arguments = tuple(
            KernelArgument(a.name, _type_name(a.type), a.elements, a.size_bytes, a.is_output,
                           tuple(a.extents), tuple(a.strides),
                           tuple((f.name, _type_name(f.type)) for f in a.record))
            for a in proto.arguments)
        launches = tuple(
            KernelLaunch(launch.function, tuple(launch.grid), tuple(launch.block),
                         launch.dynamic_shared_bytes, launch.starts_early,
                         tuple(TensorMap(m.argument, m.offset_bytes, m.element_bytes,
                                         tuple(m.extents), tuple(m.strides_bytes), tuple(m.box),
                                         m.swizzle_bytes)
                               for m in launch.tensor_maps))
            for launch in proto.launches)
        return Kernel(proto.name, proto.entry, proto.language, proto.source, proto.header,
                      arguments, proto.compiler, tuple(proto.compile_options), proto.threads,
                      launches, proto.scratch_bytes, proto, proto.stages)


@dataclass(frozen=True, repr=False)
class BestKernel(Shown):
    """The best kernel that is known for a device, and how well it fits."""

    # "EXACT", "COMPATIBLE", "NEAREST": other sizes, or "PREDICTED": not measured on that device
    match: str
    kernel: Kernel
    tuned: TunedKernel  # without times if it is predicted
    made_from: str  # of a nearest or predicted one: "records/{id}"; empty: from rules
    provenance: str = ""  # "MEASURED", "REPAIRED": from `made_from`, or "RULES"
    tuning_job: str = ""  # that was begun, or joined, in the background
    pipeline: Optional[kernel_pb2.PipelineKernel] = None  # of a pipeline: what it is made of

    def _title(self) -> str:
        return f"{self.match.lower()} {self.kernel.entry}"

    def _facts(self) -> Facts:
        return _facts_of(self)

    @staticmethod
    def from_proto(proto: kernel_pb2.GetKernelResponse) -> "BestKernel":
        match = kernel_pb2.MatchKind.Name(proto.match)[len(_MATCH):]
        provenance = kernel_pb2.KernelProvenance.Name(proto.provenance)[len(_PROVENANCE):]
        return BestKernel(match, Kernel.from_proto(proto.kernel),
                          TunedKernel.from_proto(proto.record), proto.made_from, provenance,
                          proto.tuning_job,
                          proto.pipeline if proto.HasField("pipeline") else None)


def _facts_of(found: Union[Lookup, BestKernel]) -> Facts:
    facts = found.tuned._facts() + [
        ("provenance", found.provenance.lower()), ("made from", found.made_from),
        ("tuning", found.tuning_job)]
    if found.pipeline is None:
        return facts
    steps = ", ".join(f"{step.expression_name} {time_text(step.time_ns) or 'not measured'}"
                      for step in found.pipeline.steps)
    return facts + [("partition", found.pipeline.partition.text), ("steps", steps),
                    ("unfused", time_text(found.pipeline.unfused_time_ns)),
                    ("tuning", ", ".join(found.pipeline.tuning_jobs))]


def match_kind(name: str) -> int:
    """Errors: ExpressionError for what is none."""
    if _MATCH + name.upper() not in kernel_pb2.MatchKind.keys()[1:]:
        known = [kind[len(_MATCH):].lower() for kind in kernel_pb2.MatchKind.keys()[1:]]
        raise wrong(f"there is no match '{name}', but {', '.join(known)}")
    return kernel_pb2.MatchKind.Value(_MATCH + name.upper())


def policy(numerics: str) -> int:
    """Of the names that the command line has; those of the API, "exact_order", "fixed_tree", are taken, too.
    0 for none. Errors: ExpressionError."""
    if not numerics:
        return 0
    name = _POLICY + {"exact": "exact_order", "tree": "fixed_tree"}.get(numerics, numerics).upper()
    if name not in record_pb2.NumericsPolicy.keys()[1:]:
        raise wrong(f"there is no numerics policy '{numerics}', but reassociate, exact, tree, "
                    "tf32, bf16x3, bf16x6 and fp8")
    return record_pb2.NumericsPolicy.Value(name)


def _type_name(code: int) -> str:
    from .types import TYPE_OF_CODE

    return TYPE_OF_CODE[code].name if code in TYPE_OF_CODE else ""
