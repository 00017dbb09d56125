"""Expressions in the statements of sequential loops: their symbolic values, and the accesses that they make."""

from __future__ import annotations

import ast
import builtins
import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import arithmetic, functions, operators, trace
from .elements import Indices, Slot, parameter, scalars
from .errors import ExpressionError, reading
from .loop_source import LoopSource, Nest, names_in
from .trace import RecordValue, Table, Value
from .types import Record, int64
from .views import Affine, Buffer, BufferUse, as_integer

_BINARY = {
    ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__",
    ast.Mod: "__mod__", ast.Pow: "__pow__", ast.BitAnd: "__and__", ast.BitOr: "__or__",
    ast.BitXor: "__xor__", ast.FloorDiv: "__floordiv__", ast.LShift: "__lshift__",
    ast.RShift: "__rshift__",
}
_COMPARE = {ast.Lt: "LT", ast.LtE: "LE", ast.Gt: "GT", ast.GtE: "GE", ast.Eq: "EQ", ast.NotEq: "NE"}
_PYTHON_FUNCTIONS: Dict[Any, Any] = {
    builtins.min: operators.min, builtins.max: operators.max, builtins.abs: functions.abs,
    builtins.round: functions.round, builtins.pow: arithmetic.power, math.fabs: functions.abs,
    **{getattr(math, name): getattr(functions, name) for name in (
        "sqrt", "exp", "log", "log2", "tanh", "floor", "ceil", "sin", "cos", "trunc", "erf",
        "pow", "fmod", "log1p", "expm1", "atan2", "copysign")},
    **({math.cbrt: functions.cbrt} if hasattr(math, "cbrt") else {}),  # from Python 3.11 on
}

# A scalar of an output: its buffer, the number of the access, and the suffix of a field.
Place = Tuple[str, int, str]
# Without names of the loops Python computes these, with its own numbers.
_COMPUTED = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Call)


class LoopValues:
    """Runs statements on symbolic values; what they do to outputs is for its subclasses to say.

    Accesses to one buffer with equal index functions are one access.
    """

    def __init__(self, nest: Nest, loops: int, outputs: Dict[str, BufferUse],
                 inputs: Dict[str, Buffer], indices: Indices):
        """`loops`: how many stand around the statements, from the outermost. `outputs` are given
        the accesses that the statements assign."""
        self.nest = nest
        self.source: LoopSource = nest.source
        self.outputs = outputs
        self.inputs = {n: self._use(n, b) for n, b in inputs.items()}
        self.arguments: Dict[str, List[Any]] = {name: [] for name in inputs}
        self.indices = indices
        self._loops = nest.names[:loops]
        self._locals: Dict[str, Any] = {}
        self._affine_locals: Dict[str, Affine] = {}

    def used_inputs(self) -> List[BufferUse]:
        """Those that the statements read, as declared."""
        return [use for use in self.inputs.values() if use.accesses]

    def used_arguments(self) -> List[Any]:
        """One element for each access of used_inputs()."""
        return [argument for name in self.inputs for argument in self.arguments[name]]

    def _use(self, name: str, buffer: Buffer) -> BufferUse:
        return BufferUse(name, buffer.type, [], location=self.source.location).declared(buffer)

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Errors: ExpressionError for all but assignments."""
        for statement in statements:
            with reading(self.source.locate(statement)):
                self._run(statement)

    def _run(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._assign(statement.targets[0], statement.value)
        elif isinstance(statement, ast.AugAssign):
            self._augment(statement)
        elif isinstance(statement, ast.If):
            raise self.source.error(statement, "'if' is not supported: use a conditional "
                                    "expression, as in 'a if c else b'")
        else:
            name = type(statement).__name__.lower()
            raise self.source.error(statement, f"'{name}' is not supported inside of the loops: "
                                    "only assignments are")

    def _is_local(self, target: ast.expr) -> bool:
        return isinstance(target, ast.Name) and target.id not in self.source.parameters

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if not self._is_local(target):
            self._assign_output(target, value)
            return
        if target.id in self.nest.names:
            raise self.source.error(target, f"the loop variable '{target.id}' is assigned")
        self._assign_local(target.id, value)

    def _assign_local(self, name: str, value: ast.expr) -> None:
        self._affine_locals.pop(name, None)
        try:
            self._affine_locals[name] = self.affine(value)
        except ExpressionError:
            pass  # a value, but no index
        self._locals[name] = self.value(value)

    def _augment(self, statement: ast.AugAssign) -> None:
        if self._is_local(statement.target):
            self._assign_local(statement.target.id, as_assignment(statement))
        else:
            self._augment_output(statement)

    def _assign_output(self, target: ast.expr, value: ast.expr) -> None:
        raise NotImplementedError

    def _augment_output(self, statement: ast.AugAssign) -> None:
        self._assign_output(statement.target, as_assignment(statement))

    def _read_output(self, name: str, indices: Sequence[ast.expr], node: ast.expr) -> Any:
        raise self.source.error(node, f"'{name}' is an output: it can only be read in the form "
                                "of a reduction, like 'w[i] += x' or 'w[i] = max(w[i], x)'")

    def output_place(self, target: ast.expr) -> Place:
        """Buffer, access and field suffix of an assignment's target; adds a new access."""
        base, suffix = target, ""
        if isinstance(target, ast.Attribute):
            base, suffix = target.value, "." + target.attr
        named = self._subscripted(base)
        if named is None:
            raise self.source.error(target, "only variables and elements of outputs are assigned")
        name, indices = named
        if name not in self.outputs:
            what = "an input" if name in self.inputs else "no output"
            raise self.source.error(target, f"'{name}' is assigned, but it is {what}")
        use = self.outputs[name]
        if suffix and not (isinstance(use.type, Record) and suffix[1:] in use.type.fields):
            raise self.source.error(target, f"elements of '{name}' have no field '{suffix[1:]}'")
        return name, number_of_access(use, self._access(indices)), suffix

    def scalars_at(self, place: Place, value: Any, target: ast.expr) -> List[Tuple[Place, Value]]:
        """What an assignment of `value` stores at `place`. Errors: ExpressionError, for a record of
        another type."""
        type_ = self.outputs[place[0]].type if place[0] in self.outputs else None
        if isinstance(type_, Record) and not place[2]:
            if not isinstance(value, RecordValue) or list(value.fields) != list(type_.fields):
                raise self.source.error(target, f"'{place[0]}' takes a {type_}")
        elif type_ is not None:
            value = trace.as_value(value)
        return [((place[0], place[1], place[2] + suffix), trace.as_value(scalar))
                for suffix, scalar in scalars(value)]

    def _subscripted(self, node: ast.expr) -> Optional[Tuple[str, List[ast.expr]]]:
        """Name of a buffer and indices in M[i, k], M[i][k], or a bare s; None for anything else."""
        indices: List[ast.expr] = []
        while isinstance(node, ast.Subscript):
            at = node.slice
            indices = (list(at.elts) if isinstance(at, ast.Tuple) else [at]) + indices
            node = node.value
        if isinstance(node, ast.Name) and node.id in self.source.parameters:
            return node.id, indices
        return None

    def _access(self, indices: Sequence[ast.expr]) -> Tuple[Affine, ...]:
        return tuple(self.affine(index) for index in indices)

    def _check_loop(self, node: ast.Name) -> None:
        if node.id not in self._loops:
            raise self.source.error(node, f"the loop over '{node.id}' ends before this statement: "
                                    f"there is one result for all '{node.id}', and what depends on "
                                    f"'{node.id}' belongs in that loop")

    def affine(self, node: ast.expr) -> Affine:
        """An index. Errors: ExpressionError at the part that is not affine."""
        with reading(self.source.locate(node)):
            if isinstance(node, ast.Name) and node.id in self.nest.names:
                self._check_loop(node)
                return self.nest.affine(node.id)
            if isinstance(node, ast.Name) and node.id in self._affine_locals:
                return self._affine_locals[node.id]
            if not self._varies(node):
                value = as_integer(self.source.constant(node), "an index")
                return Affine([0] * len(self.nest.names), value)
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
                operand = self.affine(node.operand)
                return -operand if isinstance(node.op, ast.USub) else operand
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
                left, right = self.affine(node.left), self.affine(node.right)
                return left + right if isinstance(node.op, ast.Add) else left - right
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                left, right = self.affine(node.left), self.affine(node.right)
                if left.dimensions() and right.dimensions():
                    return left * right  # says why not
                return left * right.constant if left.dimensions() else right * left.constant
            raise self.source.error(node, f"the index '{ast.unparse(node)}' is not affine: only "
                                    "+, - and products of loop variables with whole numbers are")

    def _varies(self, node: ast.expr) -> bool:
        """Whether it has a name of the loops: else it is Python's to compute."""
        return any(n in self.nest.names or n in self._locals or n in self.source.parameters
                   for n in names_in(node))

    def value(self, node: ast.expr) -> Any:
        """The symbolic value of an expression; what is no value (a function, a table) as it is."""
        with reading(self.source.locate(node)):
            if isinstance(node, _COMPUTED) and not self._varies(node):
                return self._computed(node)
            method = getattr(self, "_value_of_" + type(node).__name__, None)
            if method is None:
                raise self.source.error(node, f"'{ast.unparse(node)}' is not supported in a scalar "
                                        "function")
            return method(node)

    def _computed(self, node: ast.expr) -> Any:
        """What Python computes. A quotient of small whole numbers stays one, with the digest that the
        text form's has: rounded to fp64 first, it is the same in every type."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            sides = [self.source.constant(side) for side in (node.left, node.right)]
            if all(isinstance(s, (int, float)) and s in range(-256, 257) for s in sides) and sides[1]:
                return trace.binary("DIV", *sides)
        return self._from_python(self.source.constant(node), node)

    def _value_of_Constant(self, node: ast.Constant) -> Any:
        return self._from_python(node.value, node)

    def _from_python(self, value: Any, node: ast.expr) -> Any:
        if isinstance(value, (Value, RecordValue, Table, list, tuple)) or callable(value):
            return value
        with reading(self.source.locate(node)):
            return trace.as_value(value)

    def _value_of_Name(self, node: ast.Name) -> Any:
        if node.id in self._locals:
            return self._locals[node.id]
        if node.id in self.nest.names:
            self._check_loop(node)
            dimension, start, step = self.nest.range_of(node.id)
            value = self.indices[dimension]
            value = value if step == 1 else value * step
            return value if start == 0 else value + start
        if node.id in self.source.parameters:
            return self._read(node.id, [], node)
        return self._from_python(self.source.constant(node), node)

    def _read(self, name: str, indices: Sequence[ast.expr], node: ast.expr) -> Any:
        if name not in self.inputs:
            return self._read_output(name, indices, node)
        use, access = self.inputs[name], self._access(indices)
        count = len(use.accesses)
        number = number_of_access(use, access)
        if number == count:
            self.arguments[name].append(parameter(Slot(name, number, number + 1, use.type)))
        return self.arguments[name][number]

    def _value_of_Subscript(self, node: ast.Subscript) -> Any:
        named = self._subscripted(node)
        if named is not None:
            return self._read(named[0], named[1], node)
        base, index = self.value(node.value), self.value(node.slice)
        if isinstance(base, (list, tuple)):
            base, index = Table(base), _from_the_end(trace.as_value(index), len(base))
        if not isinstance(base, Table):
            raise self.source.error(node, "only buffers and tables are indexed")
        return base[index]

    def _value_of_Attribute(self, node: ast.Attribute) -> Any:
        if not self._varies(node):
            return self._from_python(self.source.constant(node), node)
        base = self.value(node.value)
        with reading(self.source.locate(node)):
            return getattr(base, node.attr)

    def _value_of_BinOp(self, node: ast.BinOp) -> Any:
        left, right = (trace.as_value(self.value(side)) for side in (node.left, node.right))
        method = _BINARY.get(type(node.op))
        if method is None:
            raise self.source.error(node, "scalar functions lack this operator")
        return getattr(left, method)(right)

    def _value_of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return trace.unary("NOT", self._condition(node.operand))
        value = trace.as_value(self.value(node.operand))
        if isinstance(node.op, ast.Invert):
            return ~value
        return -value if isinstance(node.op, ast.USub) else value

    def _value_of_BoolOp(self, node: ast.BoolOp) -> Any:
        """The operand that decides, as in Python; of bools that is the operation itself."""
        values = [trace.as_value(self.value(operand)) for operand in node.values]
        is_and, result = isinstance(node.op, ast.And), values[-1]
        if all(value.type is trace.bool_ for value in values):
            return _joined(is_and, values)
        for value in reversed(values[:-1]):
            sides = (result, value) if is_and else (value, result)
            trace.common_type("and" if is_and else "or", *sides)
            result = trace.where(arithmetic.truth(value), *sides)
        return result

    def _condition(self, node: ast.expr) -> Value:
        """Whether the value of `node` is true for Python."""
        if isinstance(node, ast.BoolOp):
            return _joined(isinstance(node.op, ast.And), [self._condition(v) for v in node.values])
        return arithmetic.truth(self.value(node))

    def _value_of_Compare(self, node: ast.Compare) -> Any:
        result, left = None, self.value(node.left)
        for op, comparator in zip(node.ops, node.comparators):
            if type(op) not in _COMPARE:
                raise self.source.error(node, "scalar functions lack this comparison")
            right = self.value(comparator)
            test = trace.binary(_COMPARE[type(op)], left, right)
            result = test if result is None else trace.binary("AND", result, test)
            left = right
        return result

    def _value_of_IfExp(self, node: ast.IfExp) -> Any:
        condition = self._condition(node.test)
        return trace.where(condition, self.value(node.body), self.value(node.orelse))

    def callable_of(self, node: ast.expr) -> Any:
        if any(n in self._locals or n in self.source.parameters for n in names_in(node)):
            return None
        called = self.source.constant(node)
        try:
            return _PYTHON_FUNCTIONS.get(called, operators.of_library(called))
        except TypeError:  # not hashable
            return called

    def _value_of_Call(self, node: ast.Call) -> Any:
        called = self.callable_of(node.func)
        if called in (int, float, bool):
            raise self.source.error(node, "name the type to convert to, as in fp32(x) or int64(x)")
        if not callable(called) or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.source.error(node, f"'{ast.unparse(node.func)}' is not supported here")
        arguments = [self.value(argument) for argument in node.args]
        named = {keyword.arg: self.value(keyword.value) for keyword in node.keywords}
        if None in named:
            raise self.source.error(node, "'**' is not supported here")
        try:
            return called(*arguments, **named)
        except TypeError as error:
            raise self.source.error(node, str(error)) from error


def _joined(is_and: bool, bools: Sequence[Value]) -> Value:
    result = bools[0]
    for value in bools[1:]:
        result = trace.binary("AND" if is_and else "OR", result, value)
    return result


def _from_the_end(index: Value, length: int) -> Value:
    """An index of a list of Python, where negative ones count from the end."""
    is_negative = index.type is not None and index.type.kind == "int" and (
        index.bounds is None or index.bounds[0] < 0)
    if not is_negative:
        return index
    wide = trace.cast(int64, index)
    return trace.where(wide < 0, wide + length, wide)


def same_access(a: Sequence[Affine], b: Sequence[Affine]) -> bool:
    return len(a) == len(b) and all(x.same_as(y) for x, y in zip(a, b))


def number_of_access(use: BufferUse, access: Tuple[Affine, ...]) -> int:
    """The number of this access of the buffer, which is added if it is new."""
    for number, known in enumerate(use.accesses):
        if same_access(known, access):
            return number
    use.accesses.append(access)
    return len(use.accesses) - 1


def as_assignment(statement: ast.AugAssign) -> ast.expr:
    """a + b of a += b."""
    load = ast.copy_location(ast.parse(ast.unparse(statement.target), mode="eval").body, statement.target)
    for node in ast.walk(load):
        ast.copy_location(node, statement.target)
    return ast.copy_location(ast.BinOp(load, statement.op, statement.value), statement)
