"""Tuning parameters."""

from __future__ import annotations

import keyword
from typing import Optional

from ..errors import here, wrong
from ..v1 import study_pb2
from .constraints import Condition, Constraint
from .ranges import Range


class TP:
    """A tuning parameter: name, range, and what its values must satisfy.

    The constraint is a function whose arguments are named like this parameter and others, in any
    order of declaration, or the text of a formula.
    """

    def __init__(self, name: str, range: Range, constraint: Optional[Condition] = None):
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
            raise wrong(f"{name!r} is no name of a tuning parameter: use letters, digits and _")
        if keyword.iskeyword(name):
            raise wrong(f"'{name}' is a word of Python, and no name of a tuning parameter")
        if not isinstance(range, Range):
            raise wrong(f"the range of '{name}' is an Interval, a Set, Bool() or a Permutation, "
                        f"not {range!r}")
        self.name = name
        self.range = range
        self.location = here()
        self.constraint = None if constraint is None else Constraint(constraint, self.location)

    def __repr__(self) -> str:
        return f"TP({self.name!r}, {self.range!r})"

    def to_proto(self) -> study_pb2.StudyParameter:
        """The parameter without its constraint."""
        parameter = study_pb2.StudyParameter(name=self.name)
        self.range.write(parameter)
        return parameter
