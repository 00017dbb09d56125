"""python3 -m report.portability [--page FILE] [RESULTS.json...]

Prints how portable the performance of each approach is over the devices that results exist for; of
all files in tests/benchmarks/results unless some are named. --page FILE also writes it as Markdown.

The measure is that of Pennycook, Sewell and Lee, "A metric for performance portability", as the MDH
paper uses it: the harmonic mean over a set of devices of an approach's efficiency for a problem, and
0 if a device of the set has no result of it. The efficiency on a device is the time of the fastest
approach there divided by that of the approach; or, against the floor, the time that the device's peak
and bandwidth allow divided by it, at most 1.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence, Tuple

from .results import ResultsError, read_results, write_text
from .table import number

OURS = "mdhd"
LIBRARIES = "fastest library"  # on each device another one: what a hand-picked set would reach

# What results call a peer, and the approach that it is. Those that are not here are approaches of
# their own name.
_APPROACHES: Tuple[Tuple[str, str], ...] = (
    (r"onednn_\w+", "oneDNN"),
    (r"openblas_\w+|transposing_openblas", "OpenBLAS"),
    (r"blis_\w+", "BLIS"),
    (r"cuBLAS|cuDNN", "cuBLAS and cuDNN"),
    (r"torch\.compile|max-autotune", "torch.compile"),
    (r"einsum|cumsum|histc|scatter_add|max", "PyTorch"),
)


@dataclass(frozen=True)
class Device:
    """`kind`: CPU or GPU. `floor`: what its floors leave out, if anything."""

    name: str
    kind: str
    floor: str = field(default="", compare=False)


@dataclass
class Problem:
    """Seconds of each approach on each device; the floors of those devices that have one."""

    name: str
    times: Dict[Device, Dict[str, float]] = field(default_factory=dict)
    floors: Dict[Device, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DeviceSet:
    title: str
    holds: Callable[[Device], bool]


_SETS = (
    DeviceSet("all devices", lambda device: True),
    DeviceSet("CPUs", lambda device: device.kind == "CPU"),
    DeviceSet("GPUs", lambda device: device.kind == "GPU"),
)


def approach_of(peer: str) -> str:
    for pattern, approach in _APPROACHES:
        if re.fullmatch(pattern, peer):
            return approach
    return peer


def device_of(machine: Mapping[str, Any]) -> Device:
    """Errors: ResultsError if it says neither gpu nor cpu."""
    floor = str(machine.get("floor") or "")
    if machine.get("gpu"):
        return Device(str(machine["gpu"]), "GPU", floor)
    if not machine.get("cpu"):
        raise ResultsError("the results do not say of which machine they are ('gpu' or 'cpu')")
    instructions = str(machine.get("instructions") or "").split()
    widest = [name for name in ("avx512f", "avx2") if name in instructions]
    return Device(" ".join([str(machine["cpu"]), *widest[:1]]), "CPU", floor)


def read_problems(paths: Iterable[pathlib.Path]) -> List[Problem]:
    """Of files of results with times; a problem and device that several have: the fastest of each
    approach. Errors: ResultsError."""
    problems: Dict[str, Problem] = {}
    for path in paths:
        results = read_results(path)
        try:
            device = device_of(results.machine)
        except ResultsError as error:
            raise ResultsError(f"{path}: {error}") from error
        for row in results.rows:
            if row.get("metric") != "time":
                continue
            problem = problems.setdefault(str(row["case"]), Problem(str(row["case"])))
            times = problem.times.setdefault(device, {})
            for approach, time in _times_of(row):
                times[approach] = min(time, times.get(approach, time))
            if row.get("floor"):
                problem.floors[device] = float(row["floor"])
    return list(problems.values())


def _times_of(row: Mapping[str, Any]) -> List[Tuple[str, float]]:
    """Of peers that count, and ours if it was right."""
    times = [(approach_of(name), float(time)) for name, time in row.get("peers", {}).items()]
    if row.get("correct") and row.get("value"):
        times.append((OURS, float(row["value"])))
    return times


def portability(efficiencies: Sequence[float]) -> float:
    """The harmonic mean; 0 if one of them is 0, or there are none."""
    if not efficiencies or min(efficiencies) <= 0:
        return 0.0
    return len(efficiencies) / sum(1 / efficiency for efficiency in efficiencies)


def _time(times: Mapping[str, float], approach: str) -> float:
    """Infinite where the approach has no result."""
    if approach == LIBRARIES:
        return min((time for name, time in times.items() if name != OURS), default=float("inf"))
    return times.get(approach, float("inf"))


def of_best(problem: Problem, devices: Sequence[Device], approach: str) -> float:
    """Portability where efficiency compares with the fastest approach of each device."""
    return portability([min(problem.times[device].values()) / _time(problem.times[device], approach)
                        for device in devices])


def of_floor(problem: Problem, devices: Sequence[Device], approach: str) -> float:
    """The same against the floors of the devices."""
    return portability([
        min(1.0, problem.floors[device] / _time(problem.times[device], approach))
        for device in devices])


@dataclass(frozen=True)
class Table:
    """Of one set of devices: a row for each problem, with a portability for each approach."""

    title: str
    approaches: Tuple[str, ...]
    rows: Tuple[Tuple[str, Tuple[Device, ...], Tuple[float, ...]], ...]

    def column(self, approach: str) -> List[float]:
        n = self.approaches.index(approach)
        return [values[n] for _, _, values in self.rows]


def tables(problems: Sequence[Problem]) -> List[Table]:
    """For every set, problems with results on two of its devices at least: against the fastest
    approach, and against the floor."""
    made = []
    for devices in _SETS:
        for title, measure, needs_floor in (("of the fastest approach", of_best, False),
                                            ("of the floor", of_floor, True)):
            chosen = []
            for problem in problems:
                on = tuple(device for device in problem.times
                           if devices.holds(device) and problem.times[device]
                           and (not needs_floor or device in problem.floors))
                if len(on) > 1:
                    chosen.append((problem, on))
            if chosen:
                made.append(_table(f"{devices.title}, {title}", chosen, measure))
    return made


def _table(title: str, chosen: Sequence[Tuple[Problem, Tuple[Device, ...]]],
           measure: Callable[[Problem, Sequence[Device], str], float]) -> Table:
    names = {name for problem, on in chosen for device in on for name in problem.times[device]}
    approaches = (OURS, LIBRARIES, *sorted(names - {OURS}, key=str.lower))
    rows = tuple((problem.name, on, tuple(measure(problem, on, name) for name in approaches))
                 for problem, on in sorted(chosen, key=lambda pair: pair[0].name))
    return Table(title, approaches, rows)


def _summary(table: Table) -> List[str]:
    lines = []
    for approach in table.approaches:
        values = table.column(approach)
        there = sum(value > 0 for value in values)
        lines.append(f"{approach}: on all devices of {there} of {len(values)} problems, mean "
                     f"{number(sum(values) / len(values))}, least {number(min(values))}")
    return lines


def _letters(problems: Sequence[Problem]) -> Dict[Device, str]:
    devices = sorted({device for problem in problems for device in problem.times},
                     key=lambda device: (device.kind, device.name))
    return {device: chr(ord("A") + n) for n, device in enumerate(devices)}


def markdown(problems: Sequence[Problem]) -> str:
    """A page: what is measured, the devices, and the tables."""
    letters = _letters(problems)
    made = tables(problems)
    used = {device for table in made for _, on, _ in table.rows for device in on}
    lines = ["# Portability of performance", "",
             "Pennycook's measure: the harmonic mean of an approach's efficiencies on a set of "
             "devices, 0 if one of them has no result of it. Efficiency: the fastest approach's time "
             "divided by the approach's, or the floor (what peak and bandwidth of the device allow, "
             "where more than it counts as 1) divided by it. A problem counts where two devices of the "
             f"set have results. `{LIBRARIES}`: on each device another one, the fastest beside "
             f"{OURS}. Approaches that are 0 for all problems of a table have no column. Results are "
             "those kept beside this page, of several versions; `deploy/bench portability` computes "
             "it again.", ""]
    lines += [f"- {letter}: {device.name} ({device.kind})"
              + (f"; its floor {device.floor}" if device.floor else "")
              for device, letter in letters.items() if device in used]
    for table in made:
        lines += ["", f"## {table.title[0].upper()}{table.title[1:]}", ""]
        lines += [f"- {line}" for line in _summary(table)] + [""]
        shown = [n for n, name in enumerate(table.approaches) if any(table.column(name))]
        titles = ["problem", "devices", *(table.approaches[n] for n in shown)]
        lines.append("| " + " | ".join(titles) + " |")
        lines.append("|---|---|" + "--:|" * len(shown))
        for name, on, values in table.rows:
            where = "".join(sorted(letters[device] for device in on))
            cells = [name, where, *(number(values[n]) for n in shown)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench portability", description=__doc__.split("\n\n")[1])
    parser.add_argument("--page", type=pathlib.Path, help="also writes it to this file")
    parser.add_argument("results", type=pathlib.Path, nargs="*",
                        help="files of results; unless told, those of tests/benchmarks/results")
    options = parser.parse_args(arguments)
    try:
        page = markdown(read_problems(options.results or kept_results()))
        if options.page is not None:
            write_text(options.page, page)
    except ResultsError as error:
        print(f"bench portability: error: {error}", file=sys.stderr)
        return 1
    print(page, end="")
    return 0


def kept_results() -> List[pathlib.Path]:
    """Those of tests/benchmarks/results that hold times of cases beside other approaches: not those of
    TeML's kernels, whose peers are kernels of this project on a given path."""
    folder = pathlib.Path(__file__).resolve().parent.parent / "results"
    return sorted(path for pattern in ("cpu_*.json", "gpu_*.json") for path in folder.glob(pattern)
                  if not path.stem.endswith("_teml"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
