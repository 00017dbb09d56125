"""An expression as built by any of the front ends."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from . import canonical
from .errors import SourceLocation
from .v1 import expression_pb2 as pb


class Expression:
    """A computation for the daemon; immutable. `location`: where it is defined in Python."""

    def __init__(self, proto: pb.Expression, location: Optional[SourceLocation] = None):
        self._proto = proto
        self.location = location

    @property
    def name(self) -> str:
        return self._proto.name

    def to_proto(self) -> pb.Expression:
        """A copy of the message mdh.v1.Expression."""
        copy = pb.Expression()
        copy.CopyFrom(self._proto)
        return copy

    def source(self) -> pb.ExpressionSource:
        """The message that requests contain."""
        return pb.ExpressionSource(structured=self._proto)

    @property
    def digest(self) -> str:
        """SHA-256 of the meaning, 64 hexadecimal digits, as a daemon's check gives it for an
        expression that it accepts."""
        return canonical.digest(self._proto)

    @property
    def canonical_form(self) -> str:
        """What the digest is of: equal for equal meanings."""
        return canonical.canonical_form(self._proto)

    def passed(self) -> Tuple[List[canonical.Passed], List[canonical.Passed]]:
        """The buffers that a caller passes, inputs and outputs, in the order of the kernel's arguments."""
        sizes = [dimension.size for dimension in self._proto.dimensions]
        return ([canonical.Passed(view, sizes) for view in canonical.passed_inputs(self._proto)],
                [canonical.Passed(view, sizes) for view in self._proto.outputs])

    def serialize(self) -> bytes:
        """The message's bytes, the same for every call."""
        return self._proto.SerializeToString(deterministic=True)

    def __call__(self, *buffers: Any, **named: Any) -> Any:
        """Within a function under @mdh.pipeline: a step of it. Takes the inputs, in their order or by
        name; gives the output, or a tuple of several. Errors: ExpressionError."""
        from .pipeline import call_expression

        return call_expression(self, buffers, named)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{d.name}={d.size}" for d in self._proto.dimensions)
        return f"<mdh.Expression {self.name}<{sizes}>>"


class TextExpression:
    """An expression, or a pipeline, in the text form, which the daemon parses."""

    def __init__(self, text: str, **bindings: object):
        """`bindings`: values of the definition's parameters, e.g. T="fp32", I=1024."""
        self.text = text
        self.bindings = {name: str(value) for name, value in bindings.items()}
        self.location: Optional[SourceLocation] = None

    def source(self) -> pb.ExpressionSource:
        """The message that requests contain."""
        return pb.ExpressionSource(
            text=pb.TextExpression(text=self.text, bindings=self.bindings))


def parse(text: str, **bindings: object) -> TextExpression:
    """An expression, or a pipeline with the definitions that it calls, of the text form (.mdh); errors in it are found when the daemon gets it."""
    return TextExpression(text, **bindings)
