"""python3 -m sample: lists a sample, or writes it for the programs that read files of cases."""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import sys
from typing import Any, Dict, List

from gpu.cases import Case, CaseError

from .families import CPU_LIMITS, GPU_LIMITS, cases_of
from .options import add_sample_options, chosen_sample

# A convolution as the shipped expression says it, for which there are peers on CPUs.
_SHIPPED = "mcc.mdh"


def _entry(case: Case) -> Dict[str, Any]:
    """Of the file that the benchmark of CPUs reads."""
    entry = {"id": case.id, "expression": f"{case.id}.mdh", "bindings": dict(case.bindings),
             "flops": case.flops, "compulsory_bytes": case.compulsory_bytes,
             "family": case.family, "class": case.size_class}
    form = case.definition
    if form["kind"] == "convolution" and form["form"] == "plain" and (
            form["dilation"] == (1, 1) and form["padding"] == (0, 0)):
        entry["expression"] = _SHIPPED
        entry["bindings"].update(zip(("SH", "SW"), form["stride"]))
    return entry


def _write(cases: List[Case], folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    entries = [_entry(case) for case in cases]
    for case, entry in zip(cases, entries):
        target = folder / entry["expression"]
        if entry["expression"] == _SHIPPED:
            shutil.copy(Case("", _SHIPPED, {}, 0, 0).path, target)
        else:
            target.write_text(case.text, encoding="utf-8")
    (folder / "cases.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="sample", description="Cases drawn from a seed: prints them.")
    add_sample_options(parser)
    parser.add_argument("--cpu", action="store_true",
                        help="limits of CPUs, and only single precision with one output")
    parser.add_argument("--texts", action="store_true", help="also their expressions")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER",
                        help="write cases.json and the expressions there, and print the seed")
    options = parser.parse_args()
    options.sample = options.sample or 20
    try:
        sample = chosen_sample(options, CPU_LIMITS if options.cpu else GPU_LIMITS,
                               only_floats=options.cpu)
        cases = cases_of(sample)
    except CaseError as error:
        print(f"sample: error: {error}", file=sys.stderr)
        return 2
    if options.write:
        _write(cases, options.write)
        print(sample)
        return 0
    print(f"sample {sample}")
    for case in cases:
        print(f"{case.id}: {case.size_class}, {case.flops} operations, "
              f"{case.compulsory_bytes} bytes")
        if options.texts:
            print(case.text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
