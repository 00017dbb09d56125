"""Constraints of Python functions: as formulas, else as tables of their values."""

from __future__ import annotations

import difflib
import inspect
import itertools
import math
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ..errors import SourceLocation, here, start_of, wrong
from ..v1 import study_pb2
from .ranges import Range
from .symbols import Symbol, Untraceable
from .tracing import trace_condition

_MAX_TUPLES = 1 << 24
_IS_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)

Condition = Union[str, Callable[..., Any]]


class Constraint:
    """A condition and where it is written: a formula as text, or a function whose arguments are
    named like tuning parameters."""

    def __init__(self, condition: Condition, location: Optional[SourceLocation] = None):
        if not isinstance(condition, str) and not callable(condition):
            raise wrong(f"{condition!r} is no constraint: give a function of parameters or the "
                        "text of a formula")
        self.condition = condition
        self.location = start_of(condition) or location or here()

    def write(self, ranges: Dict[str, Range], spec: study_pb2.StudySpec) -> str:
        """Adds it to the specification, and gives the text that messages call it by. Errors:
        ExpressionError, with file and line of the function."""
        if isinstance(self.condition, str):
            spec.constraints.append(self.condition)
            return self.condition
        names = argument_names(self.condition, ranges, self.location)
        try:
            formula = trace_condition(
                self.condition, {name: Symbol(name, ranges[name].kind) for name in names},
                {name: ranges[name] for name in names})
        except Untraceable as reason:
            table = self._table(names, ranges, str(reason))
            spec.tables.append(table)
            return table.text
        if formula.kind != "bool":
            raise wrong(f"a constraint is true or false, but this one is a {formula.kind}, "
                        f"{formula.text}", self.location)
        if not names:
            raise wrong("a constraint needs a tuning parameter as its argument", self.location)
        spec.constraints.append(formula.text)
        return formula.text

    def _table(self, names: Sequence[str], ranges: Dict[str, Range],
               reason: str) -> study_pb2.TableConstraint:
        tuples = math.prod(ranges[name].size for name in names)
        if tuples > _MAX_TUPLES:
            raise wrong(
                f"this constraint cannot be written as a formula ({reason}), and its parameters "
                f"{', '.join(names)} have {tuples} combinations, more than the {_MAX_TUPLES} that "
                "can be tabulated", self.location)
        values = [[ranges[name].at(i) for i in range(ranges[name].size)] for name in names]
        text = f"function at {self.location}" if self.location else "function"
        return study_pb2.TableConstraint(
            text=text, parameters=names, satisfied=self._bits(names, values, tuples))

    def _bits(self, names: Sequence[str], values: Sequence[Sequence[Any]], tuples: int) -> bytes:
        call = _positional(self.condition, names)
        bits = bytearray((tuples + 7) // 8)
        for number, arguments in enumerate(itertools.product(*values)):
            try:
                result = call(*arguments)
            except ZeroDivisionError:
                continue  # as in formulas: undefined is not satisfied
            except Exception as error:
                raise wrong(f"this constraint fails for {_text(names, arguments)}: "
                            f"{type(error).__name__}: {error}", self.location) from error
            if result is True:
                bits[number >> 3] |= 1 << (number & 7)
            elif result is not False:
                self._check_truth(result, names, arguments)
                bits[number >> 3] |= bool(result) << (number & 7)
        return bytes(bits)

    def _check_truth(self, result: Any, names: Sequence[str], arguments: Sequence[Any]) -> None:
        """Numbers are true unless 0; but ~ makes such of bools that are always true."""
        is_number = isinstance(result, (int, float)) and result not in (-1, -2)
        if is_number or type(result).__module__ == "numpy":
            return
        hint = "; use 'not' instead of '~'" if isinstance(result, int) else ""
        raise wrong(f"a constraint is true or false, but this one is {result!r} for "
                    f"{_text(names, arguments)}{hint}", self.location)


def _positional(function: Any, names: Sequence[str]) -> Callable[..., Any]:
    """The function with its arguments in the order of `names`, which is their own."""
    parameters = list(inspect.signature(function).parameters.values())[: len(names)]
    is_direct = all(p.name == name and p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
                    for p, name in zip(parameters, names))
    return function if is_direct else lambda *values: function(**dict(zip(names, values)))


def _text(names: Sequence[str], arguments: Sequence[Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in zip(names, arguments))


def argument_names(function: Callable[..., Any], known: Any,
                   location: Optional[SourceLocation]) -> List[str]:
    """Names of the function's arguments that have no default. Errors: ExpressionError if one is
    none of `known`, or if the arguments are not named."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise wrong(f"{function!r} does not say what its arguments are", location) from None
    names = []
    for parameter in parameters:
        if parameter.kind in _IS_POSITIONAL or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise wrong("a function of tuning parameters names each of them as an argument, but "
                        f"'{parameter}' is no such name", location)
        if parameter.default is not inspect.Parameter.empty and parameter.name not in known:
            continue
        if parameter.name not in known:
            raise wrong(f"there is no tuning parameter '{parameter.name}'"
                        + nearest(parameter.name, list(known)), location)
        names.append(parameter.name)
    return names


def nearest(name: str, known: Sequence[str]) -> str:
    """", but 'WPT'": the most similar known names; all if none is similar."""
    similar: Sequence[str] = difflib.get_close_matches(name, known, 1) or tuple(known)
    return f", but {', '.join(repr(n) for n in similar[:8])}" if similar else ""


def places(constraints: Sequence[Tuple[Constraint, str]]) -> List[Tuple[str, SourceLocation]]:
    """Texts of constraints and where they are written."""
    return [(text, c.location) for c, text in constraints if c.location is not None]
