"""@mdh over plain sequential loops: an expression is derived from their source."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from .assemble import Parts, StoreParts, assemble, slots
from .elements import Indices, scalars, tracing
from .errors import count, wrong
from .expression import Expression
from .loop_body import LoopBody, StoreBody, Write
from .loop_source import LoopSource, Nest
from .operators import CombineOperator, cc
from .trace import Value
from .types import ScalarType, fields_of
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
    uses = {name: BufferUse(name, buffer.type, [], location=source.location).declared(buffer)
            for name, buffer in outputs.items()}
    with tracing(indices):
        body = LoopBody(nest, uses, inputs, indices)
    parts = Parts(
        source.name, list(zip(nest.names, nest.sizes)), body.used_inputs(), list(uses.values()),
        body.used_arguments(), [], [], body.indices.values, accumulate, "f", source.location)
    read = list(parts.inputs)
    if nest.after:
        writes, read_behind = _add_store(parts, body, inputs)
        read += read_behind
    for name in [*inputs, *outputs]:
        if not any(use.accesses for use in [*read, *uses.values()] if use.name == name):
            raise wrong(f"'{name}' is never {'read' if name in inputs else 'assigned'}", source.location)
    if not nest.after:
        writes = _writes_in_order(uses, body, source)
    parts.results = [write.value for write in writes]
    parts.operators = _operators(nest, uses, writes, operators)
    return assemble(parts)


def _add_store(
    parts: Parts, body: LoopBody, inputs: Dict[str, Buffer]
) -> Tuple[List[Write], List[BufferUse]]:
    """Makes the store function of the statements behind the loops; gives the results that it takes,
    and what it reads. Without one, results are stored as they are, which means the same."""
    nest, outputs = body.nest, {use.name: use for use in parts.outputs}
    parts.finished, writes = body.results(parts.accumulate)
    if not parts.finished:
        raise wrong(f"nothing behind the loop over '{nest.names[nest.outer]}' reads what it computes",
                    nest.source.locate(nest.after[0]))
    indices = Indices(nest.names, nest.sizes)
    with tracing(indices):
        store = StoreBody(nest, outputs, inputs, indices, body, list(parts.finished))
    _check_every_loop_is_kept(nest, parts.outputs)
    stored, types = [], []
    for slot in slots(parts.outputs):
        for suffix, type_ in fields_of(slot.type):
            value = store.stored((slot.buffer, slot.number, suffix))
            if value is None:
                raise wrong(f"{slot.label}{suffix} is not assigned", nest.source.location)
            stored.append(value)
            types.append(type_)
    results = [value for element in store.results for _, value in scalars(element)]
    if not _are_same(stored, types, results):
        parts.store = StoreParts(store.results, store.used_inputs(), store.used_arguments(), stored,
                                 indices.values, "s", nest.source.location)
    return writes, store.used_inputs()


def _are_same(stored: List[Value], types: List[ScalarType], results: List[Value]) -> bool:
    """Whether the results are stored as they are, but for the conversion to the outputs' types."""
    plain = [value.operands[0] if value.op == "CAST" and value.type is type_ else value
             for value, type_ in zip(stored, types)]
    return len(plain) == len(results) and all(a is b for a, b in zip(plain, results))


def _check_every_loop_is_kept(nest: Nest, outputs: List[BufferUse]) -> None:
    """Statements behind loops make one element for every iteration around them."""
    kept = {d for use in outputs for d in _dimensions(use)}
    for use in outputs:
        for d in _dimensions(use):
            if d >= nest.outer:
                raise wrong(f"'{nest.names[d]}' is in the index of '{use.name}', but the statements behind "
                            f"its loop take it for reduced: they must stand in the loop over "
                            f"'{nest.names[d]}'", nest.source.location)
    for d in range(nest.outer):
        if d not in kept:
            raise wrong(f"every iteration of the loop over '{nest.names[d]}' overwrites the same elements: "
                        f"'{nest.names[d]}' is in the index of no output",
                        nest.source.locate(nest.after[0]))


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


def _writes_in_order(
    outputs: Dict[str, BufferUse], body: LoopBody, source: LoopSource
) -> List[Write]:
    writes = []
    for slot in slots(list(outputs.values())):
        for suffix, _ in fields_of(slot.type):
            write = body.writes.get((slot.buffer, slot.number, suffix))
            if write is None:
                raise wrong(f"{slot.label}{suffix} is not assigned", source.location)
            writes.append(write)
    return writes


def _operators(
    nest: Nest, outputs: Dict[str, BufferUse], writes: List[Write],
    given: Optional[List[CombineOperator]],
) -> List[CombineOperator]:
    kept = {d for use in outputs.values() for d in _dimensions(use)}
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


def _dimensions(use: BufferUse) -> List[int]:
    return [d for access in use.accesses for index in access for d in index.dimensions()]


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
