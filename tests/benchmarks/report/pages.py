"""Writes chart and page beside a file of results."""

from __future__ import annotations

import pathlib
from typing import List

from .bar_chart import bar_chart
from .results import Results, write_text
from .table import markdown


def write_pages(results: Results, path: pathlib.Path) -> List[pathlib.Path]:
    """FILE.svg and FILE.md for FILE.json. Errors: ResultsError."""
    machine = str(results.machine.get("gpu") or results.machine.get("cpu") or "")
    where = f" on {machine}" if machine else ""
    chart, page = path.with_suffix(".svg"), path.with_suffix(".md")
    write_text(chart, bar_chart(results, f"Times faster than the best peer{where}"))
    write_text(page, markdown(results, f"Benchmark{where}", chart.name))
    return [chart, page]
