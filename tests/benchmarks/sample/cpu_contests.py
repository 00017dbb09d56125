"""What benchmarks of this machine's CPU have in common that compare kernels in one process."""

from __future__ import annotations

import argparse
import pathlib
import tempfile
import time
from typing import Any, Callable, Dict, List

from gpu.cases import Case, load_cases
from gpu.revision import commit
from gpu.service import Service
from gpu.timing import ratio
from report.results import Results, Row, read_results, write_results
from report.table import text_table

from .families import CPU_LIMITS, cases_of
from .options import chosen_sample

_ROUNDS = 11
_SECONDS_OF_A_ROUND = 0.05


def times_in_turns(contestants: Dict[str, Callable[[], Any]]) -> Dict[str, List[float]]:
    """Seconds of a call of each, one a round; in turns, every other round from the last one on."""
    times: Dict[str, List[float]] = {name: [] for name in contestants}
    for number in range(_ROUNDS):
        names = list(contestants)
        for name in names if number % 2 == 0 else reversed(names):
            run, calls, begin = contestants[name], 0, time.perf_counter()
            while calls == 0 or time.perf_counter() - begin < _SECONDS_OF_A_ROUND:
                run()
                calls += 1
            times[name].append((time.perf_counter() - begin) / calls)
    return times


def empty_row(case: Case, budget: float) -> Row:
    """Of a case that nothing is known of yet."""
    return {"case": case.id, "metric": "time", "value": None, "unit": "s", "peers": {},
            "ratio_to_best_peer": None, "best_peer": None, "correct": False, "goal": 1.0,
            "floor": None, "ratio_to_floor": None, "budget_s": budget, "errors": {},
            "commit": commit(), "date": time.strftime("%Y-%m-%d", time.gmtime())}


def take_times(row: Row, times: Dict[str, List[float]], ours: str) -> None:
    """The medians of all, and of our kernel the ratio to the best of the others."""
    medians = {name: sorted(of)[len(of) // 2] for name, of in times.items()}
    row["value"] = medians.pop(ours, None)
    row["correct"] = row["value"] is not None
    row["peers"] = medians
    if medians and row["correct"]:
        row["best_peer"] = min(medians, key=lambda name: medians[name])
        row["ratio_to_best_peer"] = ratio(times[ours], times[row["best_peer"]])


def measure_cases(options: argparse.Namespace, machine: Callable[[Dict[str, Any]], Dict[str, Any]],
                  row_of: Callable[[Case, Service, pathlib.Path], Row]) -> bool:
    """The cases of the command line, one after the other, to the terminal and the file of results.
    `machine`: what that says of a device of the daemon. Gives whether all are right."""
    if options.sample:
        sample = chosen_sample(options, CPU_LIMITS, only_floats=True)
        print(f"sample: {sample}", flush=True)
    cases = cases_of(sample) if options.sample else load_cases(options.cases)
    has_file = options.json is not None and options.json.exists()
    results = read_results(options.json) if has_file else Results()
    service = Service(options.programs, "cpu")
    try:
        results.machine = machine(service.devices()[0])
        with tempfile.TemporaryDirectory(prefix="mdh-kernels-") as folder:
            for case in cases:
                row = row_of(case, service, pathlib.Path(folder))
                results.put(row)
                if options.json is not None:
                    write_results(results, options.json)
                print(text_table(Results({}, [row])), flush=True)
    finally:
        service.close()
    ran = {case.id for case in cases}
    return all(row["correct"] for row in results.rows if row["case"] in ran)
