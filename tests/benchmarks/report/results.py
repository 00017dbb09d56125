"""Files of results: JSON with the machine and one row a case."""

from __future__ import annotations

import json
import math
import os
import pathlib
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Optional

Row = Dict[str, Any]


class ResultsError(Exception):
    """A file cannot be read or written, or is no file of results."""


@dataclass
class Results:
    """`rows`: as tests/benchmarks/figure.h describes them: case, value, unit, peers,
    ratio_to_best_peer, floor, ratio_to_floor, correct; and what a benchmark adds."""

    machine: Dict[str, Any] = field(default_factory=dict)
    rows: List[Row] = field(default_factory=list)

    def put(self, row: Row) -> None:
        """Replaces the row of the same case, or adds one."""
        for n, old in enumerate(self.rows):
            if old["case"] == row["case"]:
                self.rows[n] = row
                return
        self.rows.append(row)

    def row(self, case: str) -> Optional[Row]:
        return next((row for row in self.rows if row["case"] == case), None)

    def sort(self, order: Iterable[str]) -> None:
        """Rows in this order of cases; others behind them."""
        places = {case: n for n, case in enumerate(order)}
        self.rows.sort(key=lambda row: places.get(row["case"], len(places)))


def read_results(path: pathlib.Path) -> Results:
    """Of a file with machine and rows, or with rows alone. Errors: ResultsError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultsError(f"cannot read {path}: {error}") from error
    rows = content.get("figures") if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(r, dict) and "case" in r for r in rows):
        raise ResultsError(f"{path} has no results: expected a list of objects with 'case'")
    return Results(content.get("machine", {}) if isinstance(content, dict) else {}, rows)


def write_results(results: Results, path: pathlib.Path) -> None:
    """Replaces the file at once, so that there is always a complete one. Errors: ResultsError."""
    content = {"machine": results.machine, "figures": results.rows}
    write_text(path, json.dumps(_with_finite_numbers(content), indent=1, allow_nan=False) + "\n")


def _with_finite_numbers(value: Any) -> Any:
    """JSON has no others, as errors of wrong results may be: null."""
    if isinstance(value, dict):
        return {key: _with_finite_numbers(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_finite_numbers(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_text(path: pathlib.Path, text: str) -> None:
    """Errors: ResultsError."""
    new = path.with_name(path.name + ".new")
    try:
        new.write_text(text, encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error}") from error


def geometric_mean(values: Iterable[Optional[float]]) -> Optional[float]:
    """Of the values that are there; None if there are none."""
    logs = [math.log(value) for value in values if value is not None and value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


def error_of(row: Row) -> str:
    """Why a row has no figure; empty if it has one."""
    if row.get("correct"):
        return ""
    errors = row.get("errors") or {}
    return str(errors.get("tuned") or next(iter(errors.values()), "") or "wrong result")
