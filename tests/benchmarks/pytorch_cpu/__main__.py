"""python3 -m pytorch_cpu: see --help. Exit status: 0, all is right; 1, a case is wrong or an error;
2, wrong usage. The computations, what they mean and what PyTorch has for them are those of gpu."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import platform
import subprocess
import pathlib
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Tuple

from gpu.buffers import Sets
from gpu.cases import ROOT, Case, CaseError, load_cases
from gpu.client_modules import kernel_file
from gpu.measure import error_of
from gpu.operation import Operation, Peer
from gpu.operations import operation_of
from gpu.pytorch import torch
from gpu.row import TUNED
from gpu.service import Service, ServiceError
from gpu.timing import ratio
from report.results import Results, ResultsError, Row, read_results, write_results
from report.table import text_table
from sample.families import CPU_LIMITS, cases_of
from sample.options import add_sample_options, check_sample_options, chosen_sample

cpu_kernel = importlib.import_module("mdh.kernels.cpu_kernel")

_ROUNDS = 11
_SECONDS_OF_A_ROUND = 0.05
_TOLERANCE = 2e-5
_GOAL = 1.0


@dataclass(frozen=True)
class CpuKernelFile:
    """What mdh kernel has written for a CPU."""

    entry: str
    language: str
    source: str
    arguments: Tuple[Any, ...]
    compile_options: Tuple[str, ...]
    compiler: str
    stages: int
    threads: int


def _read(path: pathlib.Path) -> CpuKernelFile:
    information = json.loads(path.read_text(encoding="utf-8"))
    arguments = tuple(
        kernel_file.KernelArgument(a["name"], a["type"], a["elements"], a["size_bytes"],
                                   a["is_output"], tuple(a.get("extents", ())),
                                   tuple(a.get("strides", ())))
        for a in information["arguments"])
    return CpuKernelFile(
        information["entry"], information["language"],
        (path.parent / information["source"]).read_text(encoding="utf-8"), arguments,
        tuple(information["compile_options"]), information.get("compiler", ""),
        information.get("stages", 0), information.get("threads", 0))


class Contest:
    """A case with its data and everything that computes it."""

    def __init__(self, operation: Operation, folder: pathlib.Path):
        # One set: what fits a cache stays there, for all of them.
        self._sets = Sets(operation, 1, "cpu")
        self._operation = operation
        self._folder = folder
        self._references = self._sets.references()
        self.contestants: Dict[str, Callable[[], Any]] = {}
        self.errors: Dict[str, str] = {}
        self.largest_error: Dict[str, float] = {}

    def add_kernel(self, name: str, path: pathlib.Path) -> None:
        kernel = cpu_kernel.CpuKernel(_read(path), cache_directory=self._folder)
        arguments = (*self._sets.inputs[0], *self._sets.outputs[0])
        self._add(name, lambda: kernel(*arguments), lambda _: self._sets.outputs[0])

    def add_peer(self, peer: Peer) -> None:
        inputs, outputs = self._sets.inputs[0], self._sets.outputs[0]
        run = ((lambda: peer.function(*inputs, *outputs)) if peer.takes_outputs
               else (lambda: peer.function(*inputs)))
        self._add(peer.name, run, lambda result: outputs if peer.takes_outputs else
                  result if isinstance(result, tuple) else (result,))

    def times(self) -> Dict[str, List[float]]:
        """Seconds of a call, one a round."""
        times: Dict[str, List[float]] = {name: [] for name in self.contestants}
        for _ in range(_ROUNDS):
            for name, run in self.contestants.items():
                calls, begin = 0, time.perf_counter()
                while calls == 0 or time.perf_counter() - begin < _SECONDS_OF_A_ROUND:
                    run()
                    calls += 1
                times[name].append((time.perf_counter() - begin) / calls)
        return times

    def _add(self, name: str, run: Callable[[], Any],
             outputs_of: Callable[[Any], Sequence[Any]]) -> None:
        """Unless its result is wrong."""
        try:
            self._sets.poison()
            error = error_of(self._operation, outputs_of(run()), self._references)
        except Exception as failure:  # whatever is wrong with it is the answer
            self.errors[name] = f"{type(failure).__name__}: {failure}"[:300]
            return
        self.largest_error[name] = error
        if math.isnan(error) or error > (0 if self._operation.compare else _TOLERANCE):
            self.errors[name] = f"wrong result: error {error:.2g}"
            return
        self.contestants[name] = run


def _row_of(case: Case, options: argparse.Namespace, service: Service, folder: pathlib.Path
            ) -> Row:
    row: Row = {"case": case.id, "metric": "time", "value": None, "unit": "s", "peers": {},
                "ratio_to_best_peer": None, "best_peer": None, "correct": False, "goal": _GOAL,
                "floor": None, "ratio_to_floor": None, "budget_s": options.budget, "errors": {},
                "commit": _commit(), "date": time.strftime("%Y-%m-%d", time.gmtime())}
    try:
        measured = Contest(operation_of(case), folder)
        record = service.tune(case, "cpu", options.budget, force=False)
        row["parameters"], row["trials"] = record["parameters"], int(record.get("trials", 0))
        measured.add_kernel(TUNED, service.kernel(case, "cpu", measured=True))
        with torch.no_grad():
            for peer in operation_of(case).peers:
                if peer.name != "max-autotune":
                    measured.add_peer(peer)
            times = measured.times()
    except (ServiceError, RuntimeError) as error:
        row["errors"][TUNED] = str(error)
        return row
    row["errors"], row["largest_error"] = measured.errors, measured.largest_error
    medians = {name: sorted(of)[len(of) // 2] for name, of in times.items()}
    row["value"] = medians.pop(TUNED, None)
    row["correct"] = row["value"] is not None
    row["peers"] = medians
    if medians and row["correct"]:
        row["best_peer"] = min(medians, key=lambda name: medians[name])
        row["ratio_to_best_peer"] = ratio(times[TUNED], times[row["best_peer"]])
    return row


def _commit() -> str:
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or "unknown"


def _machine(device: Dict[str, Any]) -> Dict[str, Any]:
    description = device["description"]
    return {"cpu": description["model"], "threads": torch.get_num_threads(),
            "pytorch": torch.__version__, "compiler of our kernels": description["compiler"],
            "host": f"{platform.system()} {platform.machine()}"}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench pytorch", description="Tunes cases on the CPU and measures our kernels beside "
        "PyTorch and torch.compile in turns, with as many threads, on the same data; everything is "
        "checked against double precision.")
    parser.add_argument("--cases", default="*", metavar="PATTERN",
                        help="only cases that match, e.g. 'softmax_*,dense_*' [all]")
    add_sample_options(parser)
    parser.add_argument("--budget", type=float, default=30.0, metavar="SECONDS",
                        help="of tuning per case [30]")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="file of results; rows of the same cases are replaced")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/benchmarks/bin",
                        metavar="FOLDER", help="where mdhd and mdh are")
    # For deploy/bench, which builds programs only for those who need them.
    parser.add_argument("--needs-programs", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    check_sample_options(parser, options)
    if options.sample and options.cases != "*":
        parser.error("--cases is not for --sample")
    if not options.budget > 0:
        parser.error("--budget must be positive")
    return options


def _run(options: argparse.Namespace) -> bool:
    """Whether all is right."""
    if torch is None:
        raise ServiceError("PyTorch is not installed for this Python")
    cases = [] if options.sample else load_cases(options.cases)
    if options.needs_programs:
        print("yes")
        return True
    if options.sample:
        sample = chosen_sample(options, CPU_LIMITS, only_floats=True)
        print(f"sample: {sample}", flush=True)
        cases = cases_of(sample)
    has_file = options.json is not None and options.json.exists()
    results = read_results(options.json) if has_file else Results()
    service = Service(options.programs, "cpu")
    try:
        results.machine = _machine(service.devices()[0])
        with tempfile.TemporaryDirectory(prefix="mdh-kernels-") as folder:
            for case in cases:
                row = _row_of(case, options, service, pathlib.Path(folder))
                results.put(row)
                if options.json is not None:
                    write_results(results, options.json)
                print(text_table(Results({}, [row])), flush=True)
    finally:
        service.close()
    ran = {case.id for case in cases}
    return all(row["correct"] for row in results.rows if row["case"] in ran)


def main() -> int:
    try:
        return 0 if _run(_parse()) else 1
    except (CaseError, ResultsError, ServiceError) as error:
        print(f"bench pytorch: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
