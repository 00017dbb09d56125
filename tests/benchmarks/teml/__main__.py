"""python3 -m teml: see --help. Exit status: 0, all goals are met; 1, one is not, or an error; 2, wrong
usage."""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import pathlib
import platform
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Dict, List

from gpu.cases import ROOT
from gpu.revision import commit
from gpu.service import Service, ServiceError
from report.results import Results, ResultsError, Row, read_results, write_results
from teml import pluto

_PROGRAMS = ROOT / "client" / "expressions" / "teml"
_PATH = "path of Table 2"
_LOOPS = "loops as written"
_MEAN_GOAL = 1.5
_AFTER_BUDGET_SECONDS = 120  # references of large kernels, peaks, whole kernels


@dataclass(frozen=True)
class Kernel:
    """What is tuned, and whose loops are replayed."""

    name: str
    baseline: str  # a program below _PROGRAMS
    loops: str = ""  # statements behind it, of kernels that Table 2 has no path of
    goal: float = 1.0

    @property
    def peer(self) -> str:
        return _LOOPS if self.loops else _PATH


_PARALLEL = "{0} = build({1})\n{0} = parallelize({0}, 1)\n"
KERNELS = (
    Kernel("mm", "mm", _PARALLEL.format("l", "C") + "codegen(l)\n"),
    Kernel("tmm", "tmm", _PARALLEL.format("l1", "Bt") + _PARALLEL.format("l2", "C")
           + "codegen(l1, l2)\n"),
    Kernel("bmm", "table2/bmm"),
    Kernel("gconv", "table2/gconv"),
    Kernel("mttkrp", "table2/mttkrp"),
    # One kernel for the transposition and the product, beside the path without a transposition.
    Kernel("mttkrp_transposed", "table2/mttkrp", goal=1.74),
    Kernel("sddmm", "table2/sddmm"),
    Kernel("interp", "table2/interp"),
    Kernel("helm", "table2/helm"),
    Kernel("blur", "blur", _PARALLEL.format("l1", "rows") + _PARALLEL.format("l2", "out")
           + "codegen(l1, l2)\n"),
    Kernel("coars", "table2/coars"),
)


class TemlService(Service):
    def __init__(self, programs: pathlib.Path, device: str):
        super().__init__(programs, device)
        self._device = device.replace(":", "")

    def tune_file(self, path: pathlib.Path, words: List[str], budget: float) -> Dict[str, Any]:
        """What `mdh tune --json` prints. Errors: ServiceError."""
        command = ["tune", str(path), "--device", self._device, "--budget", f"{budget:g}s", *words]
        ended: Dict[str, Any] = json.loads(self._mdh(command, budget + _AFTER_BUDGET_SECONDS))
        return ended


def seconds_of(ended: Dict[str, Any]) -> float:
    """Of one execution: of the whole kernel, or else of all steps one after the other. Errors:
    ServiceError."""
    whole = (ended.get("whole") or ended).get("record")
    records = [whole] if whole else [step.get("record") for step in ended.get("steps", [])]
    if not records or not all(record and int(record.get("time_ns", 0)) > 0 for record in records):
        raise ServiceError("tuning found no kernel")
    return sum(int(record["time_ns"]) for record in records) / 1e9


def row_of(kernel: Kernel, options: argparse.Namespace, service: TemlService,
           folder: pathlib.Path) -> Row:
    row: Row = {"case": f"teml_{kernel.name}", "metric": "time", "value": None, "unit": "s",
                "peers": {}, "other_peers": {}, "best_peer": kernel.peer, "ratio_to_best_peer": None, "correct": False,
                "goal": kernel.goal, "floor": None, "ratio_to_floor": None,
                "budget_s": options.budget, "errors": {},
                "date": time.strftime("%Y-%m-%d", time.gmtime()), "commit": commit()}
    baseline = _PROGRAMS / f"{kernel.baseline}.teml"
    if kernel.loops:
        text = baseline.read_text(encoding="utf-8") + kernel.loops
        baseline = folder / baseline.name
        baseline.write_text(text, encoding="utf-8")
    try:
        # Both are checked by the daemon before their times count.
        replayed = service.tune_file(baseline, ["--replay"], options.replay_budget)
        row["peers"][kernel.peer] = seconds_of(replayed)
        tuned = service.tune_file(_PROGRAMS / f"{kernel.name}.teml", ["--no-schedule"],
                                  options.budget)
        row["value"] = seconds_of(tuned)
    except ServiceError as error:
        row["errors"]["tuned" if row["peers"] else kernel.peer] = str(error)
        return row
    row["correct"] = True
    row["ratio_to_best_peer"] = row["peers"][kernel.peer] / row["value"]
    if options.device == "cpu":
        add_pluto(kernel, row, folder)
    return row


def add_pluto(kernel: Kernel, row: Row, folder: pathlib.Path) -> None:
    """Where it is installed. What it cannot do is said beside the figures."""
    teml = (_PROGRAMS / f"{kernel.name}.teml").read_text(encoding="utf-8")
    try:
        seconds = pluto.seconds_of(kernel.name, teml, folder)
    except pluto.PlutoError as error:
        row["errors"][pluto.PLUTO] = str(error)
        return
    if seconds is not None:
        row["other_peers"][pluto.PLUTO] = seconds


def is_met(row: Row) -> bool:
    """Its goal, and nothing that is shown beside is faster."""
    return (row["correct"] and row["ratio_to_best_peer"] >= row["goal"]
            and all(seconds >= row["value"] for seconds in row["other_peers"].values()))


def mean_ratio(rows: List[Row]) -> float:
    """Geometric, of the ten kernels: the transposed one is another way to write mttkrp."""
    ratios = [row["ratio_to_best_peer"] for row in rows
              if row["ratio_to_best_peer"] and row["case"] != "teml_mttkrp_transposed"]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0.0


def table(rows: List[Row]) -> str:
    lines = [f"{'kernel':20} {'tuned':>12} {'replayed':>12} {'ratio':>7} {'Pluto':>12}  replayed is"]
    for row in rows:
        if not row["correct"]:
            lines.append(f"{row['case']:20} {'; '.join(row['errors'].values())}")
            continue
        peer = row["best_peer"]
        lines.append(f"{row['case']:20} {row['value'] * 1e3:9.3f} ms {row['peers'][peer] * 1e3:9.3f} ms"
                     f" {row['ratio_to_best_peer']:7.2f} {_of_pluto(row):>12}  {peer}")
    lines.append(f"geometric mean of ratios: {mean_ratio(rows):.2f}")
    return "\n".join(lines)


def _of_pluto(row: Row) -> str:
    seconds = row["other_peers"].get(pluto.PLUTO)
    if seconds is not None:
        return f"{seconds * 1e3:.3f} ms"
    return "fails" if pluto.PLUTO in row["errors"] else "absent"


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench teml", description="Tunes the kernels of TeML's evaluation, and "
        "beside them replays their loops: the paths of the paper's Table 2, or, where it has none, the "
        "loops as written with the outermost one parallel. On CPUs also beside what Pluto makes of the "
        "sequential loops in C, if its polycc is on PATH; then no kernel may be slower than that.")
    parser.add_argument("--cases", default="*", metavar="PATTERN",
                        help="only kernels that match, e.g. 'mm,interp' [all]")
    parser.add_argument("--budget", type=float, default=60.0, metavar="SECONDS",
                        help="of tuning per kernel [60]")
    parser.add_argument("--device", default="cpu",
                        help="cpu, opencl:N or cuda:N, where outermost loops that are parallel are shared "
                        "among the layer of cores [cpu]")
    parser.add_argument("--replay-budget", type=float, default=30.0, metavar="SECONDS",
                        help="of replaying, in which widths of vectors are tried [30]")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="file of results; rows of the same kernels are replaced")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/benchmarks/bin",
                        metavar="FOLDER", help="where mdhd and mdh are")
    # For deploy/bench, which builds programs only for those who need them.
    parser.add_argument("--needs-programs", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.budget > 0 and options.replay_budget > 0):
        parser.error("budgets must be positive")
    patterns = options.cases.split(",")
    options.kernels = [kernel for kernel in KERNELS
                       if any(fnmatch.fnmatch(kernel.name, pattern) for pattern in patterns)]
    if not options.kernels:
        parser.error(f"no kernel is called {options.cases}; there are "
                     + ", ".join(kernel.name for kernel in KERNELS))
    return options


def _run(options: argparse.Namespace) -> bool:
    """Whether all goals are met."""
    if options.needs_programs:
        print("yes")
        return True
    has_file = options.json is not None and options.json.exists()
    results = read_results(options.json) if has_file else Results()
    service = TemlService(options.programs, options.device)
    ran: List[Row] = []
    try:
        device = service.devices()[0]["description"]
        kind = "cpu" if options.device == "cpu" else "gpu"
        results.machine = {kind: device["model"], "threads": device.get("cores", 0),
                           "compiler of our kernels": device["compiler"],
                           "host": f"{platform.system()} {platform.machine()}"}
        for kernel in options.kernels:
            ran.append(row_of(kernel, options, service, options.folder))
            results.put(ran[-1])
            if options.json is not None:
                write_results(results, options.json)
            print(table(ran), flush=True)
    finally:
        service.close()
    met = all(is_met(row) for row in ran)
    return met and (len(ran) < len(KERNELS) or mean_ratio(ran) >= _MEAN_GOAL)


def main() -> int:
    options = _parse()
    try:
        with tempfile.TemporaryDirectory(prefix="mdh-teml-") as folder:
            options.folder = pathlib.Path(folder)
            return 0 if _run(options) else 1
    except (ResultsError, ServiceError) as error:
        print(f"bench teml: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
