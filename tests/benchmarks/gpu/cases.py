"""The cases: those of the paper's evaluation, a few of this benchmark alone, and those that the
package `sample` draws."""

from __future__ import annotations

import fnmatch
import json
import pathlib
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List

# In a source tree its root, in the unpacked package the folder data.
ROOT = pathlib.Path(__file__).resolve().parents[3]
_FILES = (ROOT / "tests" / "cases" / "cases.json",
          ROOT / "tests" / "benchmarks" / "gpu" / "cases.json",
          ROOT / "tests" / "benchmarks" / "sample" / "cases.json")
_GOALS = ROOT / "tests" / "benchmarks" / "gpu" / "goals.json"
_OPTIONAL = ("type", "text", "definition", "family", "size_class")
_EXPRESSIONS = ROOT / "client" / "expressions"


class CaseError(Exception):
    """There is no such case, or a file of cases is wrong."""


@dataclass(frozen=True)
class Case:
    """A computation with all sizes."""

    id: str
    expression: str  # file in client/expressions
    bindings: Dict[str, int]
    flops: int  # 0: not counted
    compulsory_bytes: int  # 0: as the kernel's arguments say
    type: str = ""  # of the expression's parameter T; empty: as it says
    # Of cases that were drawn: the expression, which is in no file, and what `sample` knows of it.
    text: str = ""
    definition: Dict[str, Any] = field(default_factory=dict)
    family: str = ""
    size_class: str = ""  # "large" or "small"

    @property
    def computation(self) -> str:
        """What operations.OPERATIONS is indexed by."""
        return self.expression[:-len(".mdh")]

    @property
    def path(self) -> pathlib.Path:
        return _EXPRESSIONS / self.expression

    def to_json(self) -> Dict[str, Any]:
        return {"id": self.id, "expression": self.expression, "bindings": self.bindings,
                "flops": self.flops, "compulsory_bytes": self.compulsory_bytes,
                **{name: getattr(self, name) for name in _OPTIONAL if getattr(self, name)}}

    @staticmethod
    def from_json(entry: Dict[str, Any]) -> "Case":
        return Case(entry["id"], entry["expression"], dict(entry["bindings"]), entry["flops"],
                    entry["compulsory_bytes"],
                    **{name: entry[name] for name in _OPTIONAL if name in entry})


def load_cases(pattern: str = "*") -> List[Case]:
    """The cases whose id matches one of the patterns, which have commas between them, in the files'
    order. Errors: CaseError if there is none, or a file cannot be read."""
    found: List[Case] = []
    for file in _FILES:
        try:
            entries = json.loads(file.read_text(encoding="utf-8"))
            found += [_defined(e) if "definition" in e else Case.from_json(e) for e in entries]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CaseError(f"cannot read cases from {file}: {error}") from error
    return matching(found, pattern)


def matching(cases: List[Case], pattern: str) -> List[Case]:
    """Those whose id matches one of the patterns. Errors: CaseError if there is none."""
    found = [c for c in cases if any(fnmatch.fnmatchcase(c.id, p) for p in pattern.split(","))]
    if not found:
        raise CaseError(f"no case matches '{pattern}'; there are {', '.join(c.id for c in cases)}")
    return found


def _defined(entry: Dict[str, Any]) -> Case:
    """A case without a file: its expression is written as those that are drawn."""
    from sample.families import case_of, definition_of  # which needs this module
    drawn = case_of("known", 0, definition_of(entry["definition"]), entry["bindings"])
    return replace(drawn, id=entry["id"])


def goal_of(case: str) -> float:
    """The ratio to the best peer that a case should reach: that of the first pattern that matches.
    Errors: CaseError if the file cannot be read."""
    try:
        goals = json.loads(_GOALS.read_text(encoding="utf-8"))
        return next(float(goal) for p, goal in goals.items() if fnmatch.fnmatchcase(case, p))
    except (OSError, ValueError, StopIteration) as error:
        raise CaseError(f"{_GOALS} has no goal for {case}: {error}") from error
