"""python3 -m report FILE.json [--merge ROWS.json] [NAME=VALUE...]

Prints the table of FILE.json and writes FILE.svg and FILE.md. --merge first puts the rows of
ROWS.json into FILE.json, which is made if it is not there; NAME=VALUE is put into its description
of the machine.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import List, Tuple

from .pages import write_pages
from .results import Results, ResultsError, read_results, write_results
from .table import text_table


def _fact(word: str) -> Tuple[str, str]:
    name, equals, value = word.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"'{word}' is not NAME=VALUE")
    return name, value


def _report(path: pathlib.Path, rows: pathlib.Path, facts: List[Tuple[str, str]]) -> None:
    """Errors: ResultsError."""
    is_new = rows is not None and not path.exists()
    results = Results() if is_new else read_results(path)
    if rows is not None:
        for row in read_results(rows).rows:
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
    parser.add_argument("facts", type=_fact, nargs="*")
    options = parser.parse_intermixed_args(arguments)
    try:
        _report(options.file, options.merge, options.facts)
    except ResultsError as error:
        print(f"report: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
