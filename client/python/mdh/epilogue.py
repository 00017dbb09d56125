"""What is made of the sums of a contraction: einsum("ik,kj->ij", ..., epilogue="max(out + bias[j], 0)")."""

from __future__ import annotations

import ast
import builtins
import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import functions, operators, trace, types
from .assemble import StoreParts
from .elements import Indices, Slot, parameter, tracing
from .errors import ExpressionError, SourceLocation, here, wrong
from .loop_values import LoopValues
from .types import ScalarType
from .views import Affine, Buffer

_SUM = "out"
_NAMES: Dict[str, Any] = {
    **vars(builtins), "math": math, "where": trace.where, "literal": trace.literal, "inf": math.inf,
    "nan": math.nan, **{name: value for name, value in vars(functions).items() if not name.startswith("_")},
    **{operation.name: operation for operation in operators.NAMED},
    **{name: value for name, value in vars(types).items() if isinstance(value, ScalarType)}}


class _Text:
    """In the place of the source of a function of loops (LoopSource)."""

    def __init__(self, text: str, letters: Sequence[str]):
        self.text = text
        self.location = here()
        try:
            self.value = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise wrong(f"the epilogue '{text}' is no expression of Python") from error
        names = {node.id for node in ast.walk(self.value) if isinstance(node, ast.Name)}
        indexed = {node.value.id for node in ast.walk(self.value)
                   if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)}
        for name in sorted(indexed & {_SUM, *letters}):
            raise wrong(f"'{name}' is {'the sum' if name == _SUM else 'an index'}, which has no indices "
                        f"of its own, in the epilogue '{text}'")
        buffers = indexed | {name for name in names - {_SUM, *letters} if name not in _NAMES}
        # In the order of their appearance.
        self.parameters = list(dict.fromkeys(
            node.id for node in _in_order(self.value) if isinstance(node, ast.Name) and node.id in buffers))

    def locate(self, node: ast.AST) -> Optional[SourceLocation]:
        return self.location

    def error(self, node: ast.AST, message: str) -> ExpressionError:
        return wrong(f"{message}, in the epilogue '{self.text}'", self.location)

    def constant(self, node: ast.expr) -> Any:
        try:
            return eval(compile(ast.Expression(node), "<epilogue>", "eval"), dict(_NAMES))
        except ExpressionError:
            raise
        except Exception as error:
            raise self.error(node, f"'{ast.unparse(node)}' has no value here: {error}") from error


class _Letters:
    """In the place of the loops (Nest)."""

    def __init__(self, source: _Text, letters: Sequence[str]):
        self.source = source
        self.names = list(letters)

    def range_of(self, name: str) -> Tuple[int, int, int]:
        return self.names.index(name), 0, 1

    def affine(self, name: str) -> Affine:
        return Affine([int(name == letter) for letter in self.names])


class _Epilogue(LoopValues):
    """Elements are read in the type of the sums."""

    def __init__(self, letters: _Letters, kept: int, type_: ScalarType, indices: Indices, result: Any):
        inputs = {name: Buffer(type_) for name in letters.source.parameters}
        super().__init__(letters, kept, {}, inputs, indices)  # type: ignore[arg-type]
        self._locals[_SUM] = result

    def _read(self, name: str, indices: Sequence[ast.expr], node: ast.expr) -> Any:
        value = super()._read(name, indices, node)
        wanted = self._locals[_SUM].type
        return value if value.type is wanted else trace.cast(wanted, value)

    def _check_loop(self, node: ast.Name) -> None:
        if node.id not in self._loops:
            raise self.source.error(node, f"'{node.id}' is summed over: there is one sum for all "
                                    f"'{node.id}', and what depends on '{node.id}' belongs among the operands")


def epilogue_of(text: str, letters: Sequence[str], sizes: Sequence[int], kept: int, type_: ScalarType,
                combined: ScalarType) -> Tuple[StoreParts, List[Slot]]:
    """The store function that `text` is, and what it takes: the sum, of type `combined`. Buffers are of
    `type_`; `kept`: how many of the letters are in the output. Errors: ExpressionError."""
    source = _Text(text, letters)
    slot = Slot(_SUM, 0, 1, combined)
    result, indices = parameter(slot), Indices(letters, sizes)
    with tracing(indices):
        values = _Epilogue(_Letters(source, letters), kept, type_, indices, result)
        value = trace.as_value(values.value(source.value))
    inputs = values.used_inputs()
    for use in inputs:
        use.check_rank()
    if value.type not in (None, combined):
        raise wrong(f"the epilogue '{text}' gives a value of type {value.type}, but sums are of type "
                    f"{combined}: convert it, as in {combined}(...)")
    stored = trace.cast(combined, value) if value.type is None else value
    return StoreParts([result], inputs, values.used_arguments(), [stored], indices.values, "epilogue",
                      source.location), [slot]


def _in_order(node: ast.AST) -> List[ast.AST]:
    found = [node]
    for child in ast.iter_child_nodes(node):
        found += _in_order(child)
    return found
