"""The source of a function with sequential loops: its syntax tree, its places, its constants."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from .errors import ExpressionError, SourceLocation, reading, start_of, wrong
from .views import Affine, as_integer


class LoopSource:
    """A function that is read and never run."""

    def __init__(self, function: Callable[..., Any]):
        """Errors: ExpressionError if the source is not at hand, as in an interactive session."""
        self.name = function.__name__
        self.location = start_of(function)
        self.file = function.__code__.co_filename
        try:
            lines, first_line = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            raise wrong(f"the source of '{self.name}' cannot be read, and @mdh over loops needs "
                        f"it: {error}", self.location) from error
        text = "".join(lines)
        self._indent = len(lines[0]) - len(lines[0].lstrip())
        self._line_offset = first_line - 1
        try:
            tree = ast.parse(textwrap.dedent(text)).body[0]
        except SyntaxError:  # a part of a statement, or a text of several lines out of line
            tree = None
        if not isinstance(tree, ast.FunctionDef):
            raise wrong(f"'{self.name}' must be written as a def of its own", self.location)
        self.definition = tree
        self.constants = _constants(function)
        self.parameters = list(inspect.signature(function).parameters)

    def locate(self, node: ast.AST) -> SourceLocation:
        """Where `node` is in the user's file."""
        line = getattr(node, "lineno", 1) + self._line_offset
        return SourceLocation(self.file, line, getattr(node, "col_offset", 0) + self._indent + 1)

    def error(self, node: ast.AST, message: str) -> ExpressionError:
        """An error at `node`."""
        return wrong(message, self.locate(node))

    def constant(self, node: ast.expr) -> Any:
        """The value of an expression of the names around the function."""
        code = compile(ast.Expression(node), self.file, "eval")
        try:
            return eval(code, dict(self.constants))  # as Python would on running the function
        except ExpressionError:
            raise
        except Exception as error:
            raise self.error(node, f"'{ast.unparse(node)}' has no value here: {error}") from error


def _constants(function: Callable[..., Any]) -> Dict[str, Any]:
    """What the names in the function's body mean: its closure, then its module, then built-ins."""
    names = {**vars(builtins), **function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # assigned only later
            names.pop(name, None)
    return names


class Nest:
    """Nested loops, one dimension per loop, from the outermost: statements stand in the innermost one,
    and behind some inner ones, which are then reduced; before loops there may be local variables."""

    def __init__(self, source: LoopSource):
        self.source = source
        self.names: List[str] = []
        self.sizes: List[int] = []
        self._ranges: List[Tuple[int, int]] = []  # start and step
        self._before: List[Tuple[int, ast.stmt]] = []  # with the number of loops around each
        self.after: List[ast.stmt] = []  # behind inner loops
        self.outer = -1  # number of loops around `after`; -1: there is nothing
        body = source.definition.body
        if _is_docstring(body[0]):
            body = body[1:]
        if not any(isinstance(statement, ast.For) for statement in body):
            at = body[0] if body else source.definition
            raise source.error(at, "the function must consist of nested for loops")
        while any(isinstance(statement, ast.For) for statement in body):
            body = self._enter(body)
        self.body: List[ast.stmt] = body
        self.accumulators = self._accumulators()

    def _enter(self, body: List[ast.stmt]) -> List[ast.stmt]:
        """Takes the statements around the next loop, and gives those in it."""
        at = next(n for n, statement in enumerate(body) if isinstance(statement, ast.For))
        for statement in body[:at]:
            target = _target(statement)
            if not isinstance(target, ast.Name) or target.id in self.source.parameters:
                raise self.source.error(statement, "before a loop only single local variables are set; "
                                        "former contents of outputs play no role")
            self._before.append((len(self.names), statement))
        if len(body) > at + 1:
            if self.after:
                raise self.source.error(body[at + 1], "statements stand behind the loop over "
                                        f"'{self.names[self.outer]}' already: only those behind one loop "
                                        "can make outputs of its results")
            self.outer = len(self.names)
            self.after = body[at + 1:]
        self._add(body[at])
        if self.after and isinstance(self.after[0], ast.For):
            raise self.source.error(self.after[0], "the loops are not perfectly nested: this statement is "
                                    f"outside of the loop over '{self.names[self.outer]}'")
        return body[at].body

    def _accumulators(self) -> Set[str]:
        """Local variables that the innermost loop assigns and statements behind it read."""
        read: Set[str] = set()
        assigned: Set[str] = set()
        for statement in self.after:
            read |= set(_names_read(statement)) - assigned
            assigned |= _locals_assigned(statement)
        inside: Set[str] = set()
        for statement in self.body:
            inside |= _locals_assigned(statement)
        accumulators = (read & inside) - set(self.names) - set(self.source.parameters)
        for loops, statement in self._before:
            self._check_start(loops, statement, read, accumulators)
        self._check_nothing_goes_on(accumulators)
        return accumulators

    def _check_nothing_goes_on(self, accumulators: Set[str]) -> None:
        """Of other variables than accumulators no iteration sees the value of the one before."""
        placed = self._before + [(len(self.names), s) for s in self.body]
        placed += [(self.outer, statement) for statement in self.after]
        for loops in {loops for loops, _ in placed}:
            outside = {name for n, s in placed if n < loops for name in _locals_assigned(s)}
            outside -= accumulators | set(self.source.parameters)
            inside = [statement for n, statement in placed if n >= loops]
            carried = outside & {name for statement in inside for name in _locals_assigned(statement)}
            for statement in inside:
                for name in carried & set(_names_read(statement)):
                    raise self.source.error(
                        statement, f"'{name}' goes on from one iteration of the loop over "
                        f"'{self.names[loops - 1]}' to the next, which only what the innermost loop "
                        "combines can do")
                carried -= _locals_assigned(statement)

    def _check_start(
        self, loops: int, statement: ast.stmt, read: Set[str], accumulators: Set[str]
    ) -> None:
        """`read`: behind the loops. Accumulators start directly before the loops that are reduced."""
        for name in _locals_assigned(statement):
            if loops > self.outer and name in read:
                raise self.source.error(statement, f"'{name}' is set anew by every iteration of the loop "
                                        f"over '{self.names[self.outer]}', behind which it is read: set it "
                                        "before that loop")
            if loops < self.outer and name in accumulators:
                raise self.source.error(statement, f"'{name}' goes on from one iteration of the loop over "
                                        f"'{self.names[self.outer - 1]}' to the next: set it directly "
                                        f"before the loop over '{self.names[self.outer]}'")

    def before_body(self) -> List[ast.stmt]:
        """What the innermost statements need of those before loops."""
        return self._needed(self.body, self.accumulators)

    def before_store(self) -> List[ast.stmt]:
        """What the statements behind loops need of those before, starts of accumulators among it."""
        return self._needed(self.after, set())

    def _needed(self, statements: List[ast.stmt], without: Set[str]) -> List[ast.stmt]:
        names = {name for statement in statements for name in names_in(statement)}
        needed = []
        for _, statement in reversed(self._before):
            assigned = _locals_assigned(statement)
            if assigned & names and not assigned & without:
                needed.append(statement)
                names |= set(names_in(statement))
        return needed[::-1]

    def start_of(self, name: str) -> SourceLocation:
        """Where a local variable is set last before the loops."""
        statement = next(s for _, s in reversed(self._before) if name in _locals_assigned(s))
        return self.source.locate(statement)

    def _add(self, loop: ast.For) -> None:
        source = self.source
        if loop.orelse:
            raise source.error(loop.orelse[0], "loops with an else are not supported")
        if not isinstance(loop.target, ast.Name):
            raise source.error(loop.target, "a loop has one variable")
        name = loop.target.id
        if name in self.names or name in source.parameters:
            raise source.error(loop.target, f"'{name}' is the name of something else already")
        call = loop.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
                and call.func.id == "range" and not call.keywords and 1 <= len(call.args) <= 3):
            raise source.error(call, "loops run over range(...)")
        numbers = [self._bound(argument) for argument in call.args]
        start, stop = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
        step = numbers[2] if len(numbers) == 3 else 1
        if step == 0:
            raise source.error(call, "the step of a range is 0")
        size = len(range(start, stop, step))
        self.names.append(name)
        self.sizes.append(size)
        self._ranges.append((start, step))

    def _bound(self, node: ast.expr) -> int:
        for name in names_in(node):
            if name in self.names:
                raise self.source.error(node, f"the bounds of a loop are constants: '{name}' "
                                        "is the variable of a loop around it")
        with reading(self.source.locate(node)):
            return as_integer(self.source.constant(node), "the bound of a loop")

    def range_of(self, name: str) -> Tuple[int, int, int]:
        """Dimension, start and step of the loop over `name`."""
        dimension = self.names.index(name)
        return (dimension, *self._ranges[dimension])

    def affine(self, name: str) -> Affine:
        """The variable of a loop as an index."""
        dimension, start, step = self.range_of(name)
        return Affine([step * (d == dimension) for d in range(len(self.names))], start)


def names_in(node: ast.AST) -> List[str]:
    """All names that are used in `node`."""
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]


def _target(statement: ast.stmt) -> Optional[ast.expr]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return statement.targets[0]
    return statement.target if isinstance(statement, ast.AugAssign) else None


def _locals_assigned(statement: ast.stmt) -> Set[str]:
    target = _target(statement)
    return {target.id} if isinstance(target, ast.Name) else set()


def _names_read(statement: ast.stmt) -> List[str]:
    names = [n.id for n in ast.walk(statement)
             if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return names + (list(_locals_assigned(statement)) if isinstance(statement, ast.AugAssign) else [])


def _is_docstring(statement: ast.stmt) -> bool:
    return (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str))
