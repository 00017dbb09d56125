"""python3 -m report FILE.json [--merge ROWS.json [--cases CASES.json]] [NAME=VALUE...]

Prints the table of FILE.json and writes FILE.svg and FILE.md. --merge first puts the rows of
ROWS.json into FILE.json, which is made if it is not there, with family and class of the cases in
CASES.json; NAME=VALUE is put into its description of the machine.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import List, Tuple

from .pages import write_pages
from .results import Results, ResultsError, Row, read_results, write_results
from .table import text_table


def _fact(word: str) -> Tuple[str, str]:
    name, equals, value = word.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"'{word}' is not NAME=VALUE")
    return name, value


def _with_classes(rows: List[Row], cases: pathlib.Path) -> List[Row]:
    """Errors: ResultsError."""
    try:
        known = {case["id"]: case for case in json.loads(cases.read_text(encoding="utf-8"))}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"cannot read {cases}: {error}") from error
    return [{**row, **{name: known[row["case"]][name] for name in ("family", "class")
                       if name in known.get(row["case"], {})}} for row in rows]


def _report(path: pathlib.Path, rows: pathlib.Path, cases: pathlib.Path,
            facts: List[Tuple[str, str]]) -> None:
    """Errors: ResultsError."""
    is_new = rows is not None and not path.exists()
    results = Results() if is_new else read_results(path)
    if rows is not None:
        read = read_results(rows).rows
        for row in _with_classes(read, cases) if cases is not None else read:
            results.put(row)
    results.machine.update(facts)
    if rows is not None or facts:
        write_results(results, path)
    print(text_table(results), end="")
    for written in write_pages(results, path):
        print(f"written: {written}")


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="report", usage=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--merge", type=pathlib.Path)
    parser.add_argument("--cases", type=pathlib.Path)
    parser.add_argument("facts", type=_fact, nargs="*")
    options = parser.parse_intermixed_args(arguments)
    try:
        _report(options.file, options.merge, options.cases, options.facts)
    except ResultsError as error:
        print(f"report: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
