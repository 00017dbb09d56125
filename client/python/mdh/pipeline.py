"""Pipelines: a function of buffers, traced once, whose calls of expressions are the steps of one computation."""

from __future__ import annotations

import inspect
import sys
import threading
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple, Union

from . import canonical
from .errors import SourceLocation, count, here, start_of, wrong
from .expression import Expression
from .types import TYPE_OF_CODE
from .v1 import expression_pb2 as pb

_MAX_STEPS = 64


class Pipeline:
    """Several expressions over buffers as one computation for the daemon; immutable. `location`: where
    it is defined in Python. Called within another pipeline it gives that one its steps."""

    def __init__(self, proto: pb.Pipeline, location: Optional[SourceLocation] = None):
        self._proto = proto
        self.location = location

    @property
    def name(self) -> str:
        return self._proto.name

    def to_proto(self) -> pb.Pipeline:
        """A copy of the message mdh.v1.Pipeline."""
        copy = pb.Pipeline()
        copy.CopyFrom(self._proto)
        return copy

    def source(self) -> pb.ExpressionSource:
        """The message that requests contain."""
        return pb.ExpressionSource(pipeline=self._proto)

    @property
    def digest(self) -> str:
        """SHA-256 of the meaning, 64 hexadecimal digits, as a daemon's check gives it."""
        return canonical.pipeline_digest(self._proto)

    @property
    def canonical_form(self) -> str:
        """What the digest is of: equal for equal meanings."""
        return canonical.pipeline_form(self._proto)

    def passed(self) -> Tuple[List[canonical.Passed], List[canonical.Passed]]:
        """The buffers that a caller passes, inputs and outputs, in the order of the kernel's arguments."""
        found: Dict[int, canonical.Passed] = {}
        for step in self._proto.steps:
            sizes = [dimension.size for dimension in step.expression.dimensions]
            views = [*canonical.passed_inputs(step.expression), *step.expression.outputs]
            for number, view in zip([*step.inputs, *step.outputs], views):
                found.setdefault(number, canonical.Passed(view, sizes, self._proto.buffers[number].name))
        inputs, outputs = (
            [found[number] for number in sorted(found) if self._proto.buffers[number].role == role]
            for role in (pb.PIPELINE_ROLE_INPUT, pb.PIPELINE_ROLE_OUTPUT))
        return inputs, outputs

    def serialize(self) -> bytes:
        """The message's bytes, the same for every call."""
        return self._proto.SerializeToString(deterministic=True)

    def __call__(self, *buffers: Any, **named: Any) -> Any:
        """Its steps, as steps of the pipeline that is traced; gives its outputs. Errors: ExpressionError."""
        trace = _running(self.name)
        names = [b.name for b in self._proto.buffers if b.role == pb.PIPELINE_ROLE_INPUT]
        given = iter(trace.bound(self.name, names, buffers, named))
        known: Dict[int, TracedBuffer] = {
            number: next(given) for number, buffer in enumerate(self._proto.buffers)
            if buffer.role == pb.PIPELINE_ROLE_INPUT}
        for step in self._proto.steps:
            results = trace.call(step.expression, [known[number] for number in step.inputs])
            known.update(zip(step.outputs, results))
        return _one_or_all([known[number] for number, buffer in enumerate(self._proto.buffers)
                            if buffer.role == pb.PIPELINE_ROLE_OUTPUT])

    def __repr__(self) -> str:
        return f"<mdh.Pipeline {self.name}: {count(len(self._proto.steps), 'step')}>"


class TracedBuffer:
    """A buffer of the pipeline that is traced: an input, or what a step gives. It has no values."""

    def __init__(self, trace: "_Trace", name: str, location: Optional[SourceLocation],
                 writer: Optional[str] = None):
        """`name`: of a result what the expression calls it. `writer`: the expression that gives it."""
        self._trace = trace
        self._name = name
        self._location = location
        self._writer = writer
        self._declared: Optional[_Declaration] = None
        self._is_read = False

    def __repr__(self) -> str:
        return f"<'{self._name}', a buffer of a pipeline>"

    __hash__ = object.__hash__

    def _decides(self, *_: Any) -> NoReturn:
        raise wrong(f"'{self._name}' is a buffer of a pipeline, which has no values yet: Python cannot "
                    "decide by them; where(...) in an expression can")

    def _assigned(self, *_: Any) -> NoReturn:
        raise wrong(f"'{self._name}' is written by one step: what comes next has a name of its own, as in "
                    "h = expression(x)")

    def _computed(self, *_: Any) -> NoReturn:
        raise wrong(f"'{self._name}' is a buffer of a pipeline, with which expressions compute: write what "
                    "is done to its elements as a function under @mdh, and call that")

    __bool__ = __len__ = __int__ = __float__ = __index__ = _decides
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _decides  # type: ignore
    __setitem__ = __delitem__ = _assigned
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __imatmul__ = _assigned
    __getitem__ = __iter__ = __call__ = __neg__ = __pos__ = __abs__ = __invert__ = _computed
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _computed
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _computed
    __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _computed


class _Declaration:
    """What lies in a buffer, as the first step that uses it says, or one that gives its extents."""

    def __init__(self, view: pb.Buffer, extents: Sequence[int], step: str, writes: bool):
        self.type = _type_text(view)
        self.extents = list(extents)
        self.is_given = writes or bool(view.extents)
        self.said = f"{step} {'gives' if writes else 'reads'} it"


class _Step:
    def __init__(self, expression: pb.Expression, inputs: List[TracedBuffer],
                 outputs: List[TracedBuffer]):
        self.expression = expression
        self.inputs = inputs
        self.outputs = outputs


class _Trace:
    """The steps so far."""

    def __init__(self, name: str, location: Optional[SourceLocation], inputs: Sequence[str]):
        self.name = name
        self.location = location
        self.inputs = [TracedBuffer(self, input_, location) for input_ in inputs]
        self.steps: List[_Step] = []

    def bound(self, callee: str, names: Sequence[str], buffers: Sequence[Any],
              named: Dict[str, Any]) -> List[TracedBuffer]:
        """The arguments of a call in the order of the names. Errors: ExpressionError."""
        given = dict(zip(names, buffers))
        takes = f"'{callee}' takes {count(len(names), 'buffer')} ({', '.join(names)})"
        if len(buffers) > len(names):
            raise wrong(f"{takes}, not {len(buffers)}")
        for name, buffer in named.items():
            if name not in names:
                raise wrong(f"{takes}, none called '{name}'")
            if name in given:
                raise wrong(f"'{callee}' is given '{name}' twice")
            given[name] = buffer
        missing = [name for name in names if name not in given]
        if missing:
            raise wrong(f"{takes}; there is none for {', '.join(missing)}")
        for name in names:
            self._check_is_own(given[name], f"'{name}' of '{callee}'")
        return [given[name] for name in names]

    def _check_is_own(self, buffer: Any, what: str) -> None:
        if not isinstance(buffer, TracedBuffer):
            raise wrong(f"{what} is {_kind(buffer)}, but steps of a pipeline read and give buffers: its "
                        "parameters, and what its steps give")
        if buffer._trace is not self:
            raise wrong(f"{what} is a buffer of the pipeline '{buffer._trace.name}'")

    def call(self, expression: pb.Expression, inputs: List[TracedBuffer]) -> List[TracedBuffer]:
        """One more step, of buffers of this trace, and its results. Errors: ExpressionError."""
        if len(self.steps) == _MAX_STEPS:
            raise wrong(f"the pipeline '{self.name}' has more than {_MAX_STEPS} steps")
        step = f"'{expression.name}'"
        sizes = [dimension.size for dimension in expression.dimensions]
        for buffer, view in zip(inputs, canonical.passed_inputs(expression)):
            _read(buffer, view, canonical.extents_of(view, sizes), step)
            buffer._is_read = True
        outputs = []
        for view in expression.outputs:
            buffer = TracedBuffer(self, view.name, here(), step)
            buffer._declared = _Declaration(view, canonical.extents_of(view, sizes), step, True)
            outputs.append(buffer)
        self.steps.append(_Step(expression, inputs, outputs))
        return outputs

    def finish(self, returned: Any) -> pb.Pipeline:
        """What it all is, if the function returned this. Errors: ExpressionError."""
        outputs = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        for number, output in enumerate(outputs):
            self._check_output(output, outputs[:number])
        for buffer in self.inputs:
            if not buffer._is_read:
                raise wrong(f"no step of '{self.name}' reads '{buffer._name}'; leave it out", self.location)
        results = [buffer for step in self.steps for buffer in step.outputs]
        temporaries = [b for b in results if not any(b is output for output in outputs)]
        for buffer in temporaries:
            if not buffer._is_read:
                raise wrong(f"'{self.name}' does not use '{buffer._name}', which {buffer._writer} gives; "
                            "return it, or leave it out", buffer._location)
        proto = pb.Pipeline(name=self.name)
        numbers: Dict[TracedBuffer, int] = {}
        taken: Dict[str, int] = {}
        for role, buffers in ((pb.PIPELINE_ROLE_INPUT, self.inputs), (pb.PIPELINE_ROLE_OUTPUT, outputs),
                              (pb.PIPELINE_ROLE_TEMPORARY, temporaries)):
            for buffer in buffers:
                numbers[buffer] = len(numbers)
                proto.buffers.add(name=_free_name(buffer._name, taken), role=role)
        for step in self.steps:
            proto.steps.add(expression=_with_extents(step),
                            inputs=[numbers[buffer] for buffer in step.inputs],
                            outputs=[numbers[buffer] for buffer in step.outputs])
        return proto

    def _check_output(self, output: Any, before: Sequence[Any]) -> None:
        if output is None and not before:
            raise wrong(f"'{self.name}' must return what it gives: a result of a step, or several",
                        self.location)
        at = self.location
        if not isinstance(output, TracedBuffer) or output._trace is not self:
            raise wrong(f"'{self.name}' returns {_kind(output)}, but a pipeline gives what its steps give", at)
        if output._writer is None:
            raise wrong(f"'{self.name}' returns its input '{output._name}', which no step writes", at)
        if any(output is other for other in before):
            raise wrong(f"'{self.name}' returns '{output._name}' twice", at)


class _Traces(threading.local):
    def __init__(self) -> None:
        self.open: List[_Trace] = []


_traces = _Traces()


def _running(callee: str) -> _Trace:
    if not _traces.open:
        raise wrong(f"'{callee}' is called outside of a pipeline: the steps of a function under "
                    "@mdh.pipeline call it; client.tune and client.best_kernel give a kernel of it, which "
                    "CpuKernel runs")
    return _traces.open[-1]


def call_expression(expression: Expression, buffers: Sequence[Any], named: Dict[str, Any]) -> Any:
    """A step of the pipeline that is traced; the buffer that it gives, or a tuple of them. Errors:
    ExpressionError."""
    trace = _running(expression.name)
    proto = expression.to_proto()
    names = [view.name for view in canonical.passed_inputs(proto)]
    inputs = trace.bound(expression.name, names, buffers, named)
    _name_locals(inputs)
    return _one_or_all(trace.call(proto, inputs))


def pipeline(function: Callable[..., Any]) -> Pipeline:
    """Decorator that makes a pipeline of a function of buffers: the expressions that it calls are the
    steps, what it returns are the outputs.

    The function is run once, with buffers that have no values. Parameters with a default keep it.
    Errors: ExpressionError with Python file and line.
    """
    location = start_of(function)
    if not inspect.isfunction(function):
        raise wrong("@mdh.pipeline is for a function, whose parameters are the inputs")
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise wrong(f"'{function.__name__}' must name its buffers: '{parameter}' does not", location)
        if parameter.default is parameter.empty:
            names.append(parameter.name)
    trace = _Trace(function.__name__, location, names)
    _traces.open.append(trace)
    try:
        returned = function(**dict(zip(names, trace.inputs)))
    finally:
        _traces.open.pop()
    return Pipeline(trace.finish(returned), location)


def _one_or_all(buffers: List[TracedBuffer]) -> Union[TracedBuffer, Tuple[TracedBuffer, ...]]:
    return buffers[0] if len(buffers) == 1 else tuple(buffers)


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"of type {type(value).__name__}"


def _name_locals(buffers: Sequence[TracedBuffer]) -> None:
    """Results are called as the variables of the function that has them."""
    frame: Any = sys._getframe(3)  # of the user, whose call of Expression.__call__ came here
    for buffer in buffers:
        for name, value in frame.f_locals.items():
            if value is buffer and buffer._writer is not None:
                buffer._name = name
                break


def _free_name(name: str, taken: Dict[str, int]) -> str:
    number = taken[name] = taken.get(name, 0) + 1
    return name if number == 1 else _free_name(f"{name}_{number}", taken)


def _type_text(view: pb.Buffer) -> str:
    if not view.record:
        return TYPE_OF_CODE[view.type].name
    return "{" + ", ".join(f"{f.name}: {TYPE_OF_CODE[f.type].name}" for f in view.record) + "}"


def _shape_text(extents: Sequence[int]) -> str:
    return f"({', '.join(map(str, extents))})"


def _read(buffer: TracedBuffer, view: pb.Buffer, extents: Sequence[int], step: str) -> None:
    """Whether what a step reads is what there is: as core/pipeline/pipeline.h has it."""
    known = buffer._declared
    if known is None:
        buffer._declared = _Declaration(view, extents, step, False)
        return

    def differs(found: str, expected: str) -> NoReturn:
        raise wrong(f"{step} reads '{buffer._name}' {found}, but {known.said} {expected}")

    if _type_text(view) != known.type:
        differs(f"as {_type_text(view)}", f"as {known.type}")
    if len(extents) != len(known.extents):
        differs(f"with {count(len(extents), 'dimension')}", f"with {len(known.extents)}")
    shapes = (f"with the extents {_shape_text(extents)}", f"with {_shape_text(known.extents)}")
    if known.is_given:
        is_part = all(found <= expected for found, expected in zip(extents, known.extents))
        if list(extents) != known.extents if view.extents else not is_part:
            differs(*shapes)
    elif view.extents:
        if any(found < expected for found, expected in zip(extents, known.extents)):
            differs(*shapes)
        buffer._declared = _Declaration(view, extents, step, False)
    else:
        known.extents = [max(pair) for pair in zip(extents, known.extents)]


def _with_extents(step: _Step) -> pb.Expression:
    """The expression, in which views have the extents of the buffers that they stand for."""
    expression = pb.Expression()
    expression.CopyFrom(step.expression)
    sizes = [dimension.size for dimension in expression.dimensions]
    wanted = {view.name: buffer._declared.extents for view, buffer in
              zip(canonical.passed_inputs(expression), step.inputs)}
    for view in [*expression.inputs, *expression.store.inputs]:
        if canonical.extents_of(view, sizes) != wanted[view.name]:
            del view.extents[:]
            view.extents.extend(wanted[view.name])
    return expression
