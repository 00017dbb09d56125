"""When a search ends. Conditions are joined by & and |; the daemon decides whether they hold."""

from __future__ import annotations

import datetime
import math
import operator
from typing import Any, Union

from ..errors import wrong

Seconds = Union[int, float, datetime.timedelta]


class AbortCondition:
    """A condition in the daemon's spelling, `text`."""

    def __init__(self, text: str):
        self.text = text
        self._is_or = False

    def __and__(self, other: "AbortCondition") -> "AbortCondition":
        return AbortCondition(f"{self._operand_of_and()} and {_checked(other)._operand_of_and()}")

    def __or__(self, other: "AbortCondition") -> "AbortCondition":
        either = AbortCondition(f"{self.text} or {_checked(other).text}")
        either._is_or = True
        return either

    def __bool__(self) -> bool:
        raise wrong("abort conditions are joined by & and |, not by 'and' and 'or'")

    def __repr__(self) -> str:
        return f"<abort condition {self.text}>"

    def _operand_of_and(self) -> str:
        return f"({self.text})" if self._is_or else self.text


def _checked(condition: Any) -> AbortCondition:
    if not isinstance(condition, AbortCondition):
        raise wrong(f"{condition!r} is no abort condition, as Evaluations(50) is one")
    return condition


def abort_text(condition: Any) -> str:
    """The daemon's spelling of a condition, of its text, or of None. Errors: ExpressionError."""
    if condition is None:
        return ""
    return condition if isinstance(condition, str) else _checked(condition).text


class Duration(AbortCondition):
    """So many seconds, or a timedelta, of working on the study."""

    def __init__(self, seconds: Seconds):
        super().__init__(f"duration({_seconds(seconds)})")


class Evaluations(AbortCondition):
    """So many configurations were evaluated, failed ones included."""

    def __init__(self, number: int):
        super().__init__(f"evaluations({_positive(number)})")


class ValidEvaluations(AbortCondition):
    """So many configurations were evaluated and have a cost."""

    def __init__(self, number: int):
        super().__init__(f"valid_evaluations({_positive(number)})")


class Fraction(AbortCondition):
    """So much of the space was evaluated, 0..1."""

    def __init__(self, fraction: float):
        if not 0 <= float(fraction) <= 1:
            raise wrong(f"a fraction is between 0 and 1, not {fraction!r}")
        super().__init__(f"fraction({float(fraction)!r})")


class Cost(AbortCondition):
    """The best cost is at most this."""

    def __init__(self, cost: float):
        if not math.isfinite(cost):
            raise wrong(f"the cost {cost!r} is not finite")
        super().__init__(f"cost({float(cost)!r})")


class Speedup(AbortCondition):
    """The best cost did not become smaller by the factor (> 1) over so many evaluations, or over a
    time: Speedup(1.05, 200), Speedup(1.05, seconds=30) or Speedup(1.05, timedelta(minutes=1))."""

    def __init__(self, factor: float, evaluations: Union[int, datetime.timedelta, None] = None, *,
                 seconds: Union[Seconds, None] = None):
        if not float(factor) > 1 or not math.isfinite(factor):
            raise wrong(f"a speed-up is larger than 1, not {factor!r}")
        if isinstance(evaluations, datetime.timedelta) and seconds is None:
            evaluations, seconds = None, evaluations
        if (evaluations is None) == (seconds is None):
            raise wrong("a speed-up is over a number of evaluations or over a time")
        over = str(_positive(evaluations)) if seconds is None else _seconds(seconds)
        super().__init__(f"speedup({float(factor)!r}, {over})")


def _positive(number: Any) -> int:
    try:
        if operator.index(number) > 0:
            return operator.index(number)
    except TypeError:
        pass
    raise wrong(f"a number of evaluations is a positive whole number, not {number!r}")


def _seconds(seconds: Seconds) -> str:
    value = seconds.total_seconds() if isinstance(seconds, datetime.timedelta) else seconds
    if isinstance(value, bool) or not math.isfinite(value) or not 0 < value < 1e9:
        raise wrong(f"a duration is a positive number of seconds, not {seconds!r}")
    return f"{int(value)}s" if value == int(value) else f"{round(value * 1e9)}ns"
