"""The DSL of the paper's Listing 5: @mdh over out_view, md_hom and inp_view."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Optional, Tuple, Union, overload

from .assemble import (
    Parts, StoreParts, accumulated_type, assemble, call_scalar_function, slots,
)
from .elements import (
    Arguments, Indices, NamedResults, Results, identity, parameter, tracing,
)
from .errors import SourceLocation, count, here, reading, start_of, wrong
from .expression import Expression
from .loops import expression_of_loops
from .operators import CombineOperator, NamedOperation, as_combine_operator, of_library
from .trace import Value, cast
from .types import each
from .views import Buffer, BufferUse, View, as_integer, trace_index_function


class Store:
    """store[T](s, bias=[lambda i, k: (i)]): the store function of md_hom and what it reads."""

    def __init__(self, function: Any, types: Optional[Tuple[Any, ...]], buffers: Dict[str, Any]):
        self.location = here()
        if not callable(function):
            raise wrong(f"the store function is {function!r}, which is no function")
        self.function = function
        self.inputs = View("store", types, buffers)


class StoreMaker:
    """store and store[T]."""

    def __init__(self, types: Optional[Tuple[Any, ...]] = None):
        self._types = types

    def __getitem__(self, types: Any) -> "StoreMaker":
        return StoreMaker(tuple(each(types)))

    def __call__(self, function: Any, /, **buffers: Any) -> Store:
        """`function`: def s(out, res, inp) or def s(out, res, inp, index), which makes the outputs of
        the results of f, once they are combined, and of what `buffers` hold."""
        return Store(function, self._types, buffers)


store = StoreMaker()


class MdHom:
    """md_hom[I, K](f, (cc, pw(add))): sizes, scalar function and one operator per dimension."""

    def __init__(self, sizes: Tuple[Any, ...], function: Any, operators: Any, store: Any,
                 accumulate: Optional[Dict[str, Any]]):
        self.location = here()
        self.sizes = [as_integer(size, "a size") for size in sizes]
        for size in self.sizes:
            if size < 0:
                raise wrong(f"a size is {size}, but no dimension has fewer than 0 points")
        self.function = of_library(function)
        if not callable(function):
            raise wrong(f"the scalar function is {function!r}, which is no function")
        operators = operators if isinstance(operators, (tuple, list)) else (operators,)
        self.operators: List[CombineOperator] = [
            as_combine_operator(o, f"combine operator {n + 1}") for n, o in enumerate(operators)]
        if len(self.operators) != len(self.sizes):
            raise wrong(f"md_hom has {count(len(self.sizes), 'size')} and "
                        f"{count(len(self.operators), 'combine operator')}: there must be one per "
                        "dimension")
        self.store = store if store is None or isinstance(store, Store) else Store(store, None, {})
        self.accumulate = dict(accumulate or {})


class MdHomMaker:
    """md_hom[I, K]."""

    def __init__(self, sizes: Optional[Tuple[Any, ...]] = None):
        self._sizes = sizes

    def __getitem__(self, sizes: Any) -> "MdHomMaker":
        return MdHomMaker(tuple(each(sizes)))

    def __call__(
        self, function: Any, operators: Any, store: Any = None, *,
        accumulate: Optional[Dict[str, Any]] = None
    ) -> MdHom:
        """`store`: store(s, ...), or s if it reads nothing; f may then have any results.
        `accumulate`: by output, with a store function by result of f, the type in which its results
        are combined; a named function is computed in that type, too, the results of others are
        converted to it."""
        if self._sizes is None:
            raise wrong("md_hom needs its sizes, as in md_hom[I, K](f, (cc, pw(add)))")
        return MdHom(self._sizes, function, operators, store, accumulate)


md_hom = MdHomMaker()


class Declarations:
    """out(...), inp(...) or combine_ops(...) of the decorator."""

    def __init__(self, kind: str, buffers: Dict[str, Buffer], operators: List[CombineOperator]):
        self.kind = kind
        self.buffers = buffers
        self.operators = operators


def _declared(kind: str, buffers: Dict[str, Any]) -> Declarations:
    for name, buffer in buffers.items():
        if not isinstance(buffer, Buffer):
            raise wrong(f"'{name}' must be declared as Buffer[T] or Buffer[T, [I, K]]")
    return Declarations(kind, buffers, [])


def out(**buffers: Any) -> Declarations:
    """Declares outputs: out(w=Buffer[T, [I]])."""
    return _declared("out", buffers)


def inp(**buffers: Any) -> Declarations:
    """Declares inputs: inp(M=Buffer[T, [I, K]], v=Buffer[T, [K]])."""
    return _declared("inp", buffers)


def combine_ops(*operators: Any) -> Declarations:
    """Combine operators of sequential loops, from the outermost loop to the innermost."""
    return Declarations("combine_ops", {}, [
        as_combine_operator(o, f"combine operator {n + 1}") for n, o in enumerate(operators)])


@overload
def mdh(function: Callable[..., Any], /) -> Expression: ...


@overload
def mdh(
    *declarations: Declarations, accumulate: Optional[Dict[str, Any]] = None
) -> Callable[[Callable[..., Any]], Expression]: ...


def mdh(*declarations: Any, accumulate: Optional[Dict[str, Any]] = None) -> Any:
    """Decorator that turns a function into an Expression.

    A function without parameters returns (out_view, md_hom, inp_view) and is run. A function with
    parameters is read as sequential loops over the buffers that its parameters name, and not run;
    `accumulate` is as that of md_hom.

    Errors: ExpressionError with Python file and line.
    """
    if len(declarations) == 1 and inspect.isfunction(declarations[0]):
        return _expression(declarations[0], {}, accumulate)
    by_kind: Dict[str, Declarations] = {}
    for declaration in declarations:
        if not isinstance(declaration, Declarations) or declaration.kind in by_kind:
            raise wrong("@mdh takes one each of out(...), inp(...) and combine_ops(...)")
        by_kind[declaration.kind] = declaration
    return lambda function: _expression(function, by_kind, accumulate)


def _expression(
    function: Callable[..., Any], declarations: Dict[str, Declarations],
    accumulate: Optional[Dict[str, Any]],
) -> Expression:
    outputs = declarations["out"].buffers if "out" in declarations else {}
    inputs = declarations["inp"].buffers if "inp" in declarations else {}
    operators = declarations["combine_ops"].operators if "combine_ops" in declarations else None
    if inspect.signature(function).parameters:
        return expression_of_loops(function, outputs, inputs, operators, dict(accumulate or {}))
    location = start_of(function)
    if operators is not None or accumulate is not None:
        raise wrong("combine_ops and accumulate are for loops: md_hom has its own", location)
    parts = function()
    if not (isinstance(parts, tuple) and len(parts) == 3):
        raise wrong(f"'{function.__name__}' must return (out_view, md_hom, inp_view)", location)
    out_part, hom, inp_part = parts
    if (not isinstance(hom, MdHom) or not isinstance(out_part, View)
            or not isinstance(inp_part, View) or out_part.name != "out_view"
            or inp_part.name != "inp_view"):
        raise wrong(f"'{function.__name__}' must return (out_view, md_hom, inp_view)", location)
    return _build(function.__name__, location, out_part, hom, inp_part, outputs, inputs)


def _build(
    name: str, location: Optional[SourceLocation], out_part: View, hom: MdHom, inp_part: View,
    declared_outputs: Dict[str, Buffer], declared_inputs: Dict[str, Buffer],
) -> Expression:
    names = out_part.dimension_names() or inp_part.dimension_names()
    if len(names) != len(hom.sizes):
        raise wrong(f"the index functions have {count(len(names), 'dimension')} "
                    f"({', '.join(names)}), md_hom has {count(len(hom.sizes), 'size')}",
                    hom.location)
    outputs = _buffers(out_part, names, declared_outputs)
    for_store = hom.store.inputs.functions if hom.store is not None else {}
    inputs = _buffers(inp_part, names, {buffer: declaration for buffer, declaration in
                                        declared_inputs.items() if buffer not in for_store
                                        or buffer in inp_part.functions})
    indices = Indices(names, hom.sizes)
    results, arguments = _call_function(hom, inputs, outputs, indices)
    function_name, at = _name_and_place(hom.function, "f", hom.location)
    parts = Parts(
        name, list(zip(names, hom.sizes)), inputs, outputs, arguments, [], hom.operators,
        indices.values, hom.accumulate, function_name, location, hom.location)
    if isinstance(results, Results):
        parts.results = results.collect(function_name, at)
    else:
        parts.finished, parts.results = results.collect(function_name, hom.accumulate, at)
        parts.store = _call_store(hom, parts, names, declared_inputs)
    for result in hom.accumulate:
        if result not in [slot.buffer for slot in parts.result_slots]:
            raise wrong(f"accumulate names '{result}', which is no "
                        f"{'output' if hom.store is None else 'result'}", hom.location)
    return assemble(parts)


def _call_function(
    hom: MdHom, inputs: List[BufferUse], outputs: List[BufferUse], indices: Indices
) -> Tuple[Union[Results, NamedResults], List[Any]]:
    """What f assigns, and its arguments. Results of a named function are called as the output, those
    of the identity for a store function as what they are."""
    input_slots = slots(inputs)
    arguments = [parameter(slot) for slot in input_slots]
    results = Results(slots(outputs)) if hom.store is None else NamedResults()
    function = getattr(hom.function, "function", hom.function)
    with tracing(indices):
        if isinstance(function, NamedOperation):
            _apply_named(function, arguments, results, hom, outputs)
        elif function is identity and isinstance(results, NamedResults):
            for slot, argument in zip(input_slots, arguments):
                results[slot.identifier] = argument
        elif function is identity:
            with reading(hom.location):
                results.assign_in_order(arguments)
        else:
            group = Arguments(input_slots, arguments)
            call_scalar_function(hom.function, (results, group, indices), "out, inp")
    return results, arguments


def _call_store(
    hom: MdHom, parts: Parts, names: Tuple[str, ...], declared: Dict[str, Buffer]
) -> StoreParts:
    """Runs the store function on the results of f."""
    view, known = hom.store.inputs, {use.name: use for use in parts.inputs}
    inputs = _buffers(view, names, {b: d for b, d in declared.items() if b in view.functions}, known)
    finished = [parameter(slot) for slot in parts.finished]
    read_slots, indices = slots(inputs), Indices(names, hom.sizes)
    arguments = [parameter(slot) for slot in read_slots]
    stored = Results(slots(parts.outputs))
    with tracing(indices):
        call_scalar_function(
            hom.store.function,
            (stored, Arguments(parts.finished, finished, "result"),
             Arguments(read_slots, arguments, "input of the store function"), indices),
            "out, res, inp")
    name, location = _name_and_place(hom.store.function, "s", hom.store.location)
    return StoreParts(finished, inputs, arguments, stored.collect(name, location), indices.values,
                      name, location)


def _name_and_place(
    function: Any, name: str, location: Optional[SourceLocation]
) -> Tuple[str, Optional[SourceLocation]]:
    """Of a scalar function; `name` and `location` are of one that is not written in Python."""
    plain = getattr(function, "function", function)
    return getattr(plain, "__name__", name), start_of(plain) or location


def _buffers(
    view: View, names: Tuple[str, ...], declarations: Dict[str, Buffer],
    known: Optional[Dict[str, BufferUse]] = None,
) -> List[BufferUse]:
    """`known`: buffers of another view, whose types need not be repeated."""
    for name in declarations:
        if name not in view.functions:
            raise wrong(f"'{name}' is declared, but {view.name} does not use it",
                        declarations[name].location)
    buffers = []
    for number, (name, functions) in enumerate(view.functions.items()):
        accesses = [trace_index_function(f, names, name) for f in functions]
        places = [start_of(f) for f in functions]
        declaration = declarations.get(name)
        type_ = view.types[number] if view.types is not None else None
        if type_ is None and declaration is None and name in (known or {}):
            type_ = known[name].type
        if declaration is None:
            if type_ is None:
                raise wrong(f"'{name}' has no type: write {view.name}[T](...)", view.location)
            buffers.append(BufferUse(name, type_, accesses, location=view.location, places=places))
            continue
        if type_ is not None and type_ != declaration.type:
            raise wrong(f"'{name}' is declared with type {declaration.type}, but {view.name} has "
                        f"{type_}", view.location)
        use = BufferUse(name, declaration.type, accesses, location=view.location, places=places)
        buffers.append(use.declared(declaration))
    return buffers


def _apply_named(
    function: NamedOperation, arguments: List[Any], results: Union[Results, NamedResults],
    hom: MdHom, outputs: List[BufferUse],
) -> None:
    """A named function combines all arguments from left to right; of one, it is the identity."""
    output_slots = slots(outputs)
    if len(output_slots) != 1 or not arguments or not all(isinstance(a, Value) for a in arguments):
        raise wrong(f"{function} as the scalar function needs scalar inputs and one output",
                    hom.location)
    wanted = accumulated_type(hom.accumulate, output_slots[0].buffer)
    values = [a if wanted in (None, a.type) else cast(wanted, a) for a in arguments]
    value = values[0] if len(values) == 1 else function(*values)
    results[output_slots[0].buffer] = value
