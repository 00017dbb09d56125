"""@mdh over plain sequential loops: an expression is derived from their source."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Set

from .assemble import Parts, assemble, slots
from .elements import Indices, tracing
from .errors import count, wrong
from .expression import Expression
from .loop_body import LoopBody, Write
from .loop_source import LoopSource, Nest
from .operators import CombineOperator, cc
from .types import fields_of
from .views import Buffer, BufferUse


def expression_of_loops(
    function: Callable[..., Any],
    outputs: Dict[str, Buffer],
    inputs: Dict[str, Buffer],
    operators: Optional[List[CombineOperator]],
    accumulate: Dict[str, Any],
) -> Expression:
    """The expression that the loops compute, with the buffers of the decorator.

    Dimensions are the loops, from the outermost. Loops whose variable is not in the indices of the
    outputs are reductions: as `operators` say, or as +=, *=, &=, |=, ^=, min and max do.

    Errors: ExpressionError with file, line and the line itself.
    """
    source = LoopSource(function)
    _check_parameters(source, outputs, inputs)
    nest = Nest(source)
    indices = Indices(nest.names, nest.sizes)
    with tracing(indices):
        body = LoopBody(nest, outputs, inputs, indices)
    uses = list(body.inputs.values()) + list(body.outputs.values())
    for use in uses:
        if not use.accesses:
            verb = "read" if use.name in inputs else "assigned"
            raise wrong(f"'{use.name}' is never {verb}", source.location)
    writes = _writes_in_order(body, source)
    arguments = [a for use in body.inputs.values() for a in body.arguments[use.name]]
    return assemble(Parts(
        source.name, list(zip(nest.names, nest.sizes)), list(body.inputs.values()),
        list(body.outputs.values()), arguments, [w.value for w in writes],
        _operators(nest, body, writes, operators), body.indices.values, accumulate, "f",
        source.location))


def _check_parameters(
    source: LoopSource, outputs: Dict[str, Buffer], inputs: Dict[str, Buffer]
) -> None:
    declared = list(outputs) + list(inputs)
    for name in source.parameters:
        if name not in declared:
            raise wrong(f"parameter '{name}' is not declared: @mdh(out({name}=Buffer[T]), ...)",
                        source.location)
    for name in declared:
        if name not in source.parameters:
            raise wrong(f"'{name}' is declared, but no parameter of '{source.name}'",
                        source.location)
    both = [name for name in outputs if name in inputs]
    if both:
        raise wrong(f"'{both[0]}' is declared as output and as input", source.location)


def _writes_in_order(body: LoopBody, source: LoopSource) -> List[Write]:
    writes = []
    for slot in slots(list(body.outputs.values())):
        for suffix, _ in fields_of(slot.type):
            write = body.writes.get((slot.buffer, slot.number, suffix))
            if write is None:
                raise wrong(f"{slot.label}{suffix} is not assigned", source.location)
            writes.append(write)
    return writes


def _operators(
    nest: Nest, body: LoopBody, writes: List[Write], given: Optional[List[CombineOperator]]
) -> List[CombineOperator]:
    kept = _kept_dimensions(body.outputs)
    reduced = [n for d, n in enumerate(nest.names) if d not in kept]
    for write in writes:
        if write.combining is not None and not reduced:
            raise wrong("this combines values, but no loop is a reduction: all loop variables are "
                        "in the index of the output", write.location)
    if given is not None:
        _check_given(nest, kept, writes, given)
        return given
    for write in writes:
        if write.combining is None and reduced:
            raise wrong(f"the loop over '{reduced[0]}' overwrites this element: say how values are "
                        "combined, as in combine_ops(cc, pw(add)) or with +=", write.location)
    combining = CombineOperator("pw", tuple(w.combining for w in writes))
    return [cc if d in kept else combining for d in range(len(nest.names))]


def _kept_dimensions(outputs: Dict[str, BufferUse]) -> Set[int]:
    return {d for use in outputs.values() for access in use.accesses for index in access
            for d in index.dimensions()}


def _check_given(
    nest: Nest, kept: Set[int], writes: List[Write], given: List[CombineOperator]
) -> None:
    location = nest.source.location
    if len(given) != len(nest.names):
        raise wrong(f"there are {count(len(nest.names), 'loop')} and "
                    f"{count(len(given), 'combine operator')}: there must be one per loop",
                    location)
    for dimension, (name, combine) in enumerate(zip(nest.names, given)):
        if dimension in kept and combine.kind == "pw":
            raise wrong(f"combine_ops reduces '{name}' by {combine}, but the loops use '{name}' in "
                        "the index of an output", writes[0].location)
        if dimension not in kept and combine.kind != "pw":
            raise wrong(f"combine_ops keeps '{name}' by {combine}, but the loops do not use "
                        f"'{name}' in the index of an output", writes[0].location)
        if combine.kind == "pw":
            _check_combining(combine, name, writes)


def _check_combining(combine: CombineOperator, name: str, writes: List[Write]) -> None:
    """An assignment such as += must combine as the annotation says; a plain one says nothing."""
    for number, write in enumerate(writes):
        if write.combining is None:
            continue
        named = combine.named[number % len(combine.named)] if combine.named else None
        if named is not write.combining:
            raise wrong(f"combine_ops reduces '{name}' by {combine}, but this assignment combines "
                        f"by {write.combining}", write.location)
