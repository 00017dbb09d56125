"""python3 -m tuners: see --help. Exit status: 0, all is right; 1, a case is wrong or an error; 2, wrong usage."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, List, Sequence

from gpu.cases import ROOT, Case, CaseError, load_cases
from gpu.cpu_kernels import read_cpu_kernel
from gpu.service import Service, ServiceError
from report.results import ResultsError, Row
from sample.cpu_contests import empty_row, measure_cases, take_times, times_in_turns
from sample.options import add_sample_options, check_sample_options

from . import halide_tuner, tvm_tuner
from .loop_nest import LoopNest, NestError, nest_of

_TUNED = "tuned"
_TOLERANCE = 2e-5
_AFTER_BUDGET_SECONDS = 60  # a schedule that is being measured when the time is over
# Twenty computations of the papers, of every kind.
_PAPERS = ",".join((
    "dot_16777216,matvec_4096,matmul_10_500_64,matmul_1024,matmul_t_10_500_64,bmatmul_16_10_500_64",
    "matmul_resnet50_training,matmul_resnet50_inference,matmul_vgg16_inference,ccsdt_gdab-efgc,ccsdt_gebc-dfga",
    "jacobi3d_256,conv2d_224,conv2d_4096,mcc_1_512_7_7_512_3_3,mcc_resnet50_inference,mcc_vgg16_inference",
    "mcc_mobilenet_inference,mcc_mobilenet_training,dense_gelu_1024"))


class Contest:
    """A case with its data and everything that computes it."""

    def __init__(self, nest: LoopNest, threads: int):
        from . import data
        import numpy
        self._data = data
        self.nest, self.threads = nest, threads
        self.inputs = data.arrays_of(nest)
        self._new_output = lambda: numpy.full(nest.shape, 85, nest.output_dtype)
        self._reference: Any = None
        self.contestants: Dict[str, Callable[[], Any]] = {}
        self.errors: Dict[str, str] = {}

    def add(self, name: str, make: Callable[[List[Any], Any], Callable[[], Any]]) -> None:
        """`make`: of inputs and output what computes it. The first one's result, whose kernel the daemon has compared
        with its interpreter, is what those of the others are compared with."""
        output = self._new_output()
        try:
            run = make(self.inputs, output)
            run()
            getattr(run, "read_back", lambda: None)()
        except Exception as failure:  # whatever is wrong with it is the answer
            self.errors[name] = f"{type(failure).__name__}: {failure}"[:300]
            return
        if self._reference is None:
            self._reference = output.copy()
        error = self._data.error_of(self.nest, output, self._reference)
        if not error <= _TOLERANCE:
            self.errors[name] = f"wrong result: error {error:.2g}"
            return
        self.contestants[name] = run


def _search(module: str, words: Sequence[str], seconds: float) -> str:
    """Runs a tuner as a program until the time is over, and gives what it has printed."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "tests" / "benchmarks"), PYTHONDONTWRITEBYTECODE="1")
    process = subprocess.Popen([sys.executable, "-m", module, *words], stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
                               start_new_session=True)
    try:
        return process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return process.communicate()[0]


def _tune_by_halide(contest: Contest, row: Row, file: pathlib.Path, seconds: float) -> None:
    printed = _search("tuners.halide_tuner", [str(file), f"{seconds:g}", str(contest.threads)],
                      seconds + _AFTER_BUDGET_SECONDS)
    found = [json.loads(line) for line in printed.splitlines()]
    if not found:
        contest.errors[halide_tuner.NAME] = "its autoschedulers have found nothing"
        return
    row["schedulers"] = found[-1]["recipe"]
    contest.add(halide_tuner.NAME, lambda inputs, output: halide_tuner.kernel(
        contest.nest, found[-1]["recipe"], inputs, output))


def _tune_by_tvm(contest: Contest, row: Row, file: pathlib.Path, seconds: float) -> None:
    with tempfile.TemporaryDirectory(prefix="mdh-tvm-") as folder:
        _search("tuners.tvm_tuner", [str(file), str(contest.threads), folder], seconds)
        records = pathlib.Path(folder) / "database_tuning_record.json"
        row["tvm_trials"] = len(records.read_text().splitlines()) if records.exists() else 0
        contest.add(tvm_tuner.NAME, lambda inputs, output: tvm_tuner.kernel(
            contest.nest, pathlib.Path(folder), contest.threads, inputs, output))


_TUNERS = {tvm_tuner.NAME: (tvm_tuner, _tune_by_tvm), halide_tuner.NAME: (halide_tuner, _tune_by_halide)}


def _kernel_of(path: pathlib.Path, folder: pathlib.Path) -> Callable[[List[Any], Any], Callable[[], Any]]:
    cpu_kernel = importlib.import_module("mdh.kernels.cpu_kernel")
    kernel = cpu_kernel.CpuKernel(read_cpu_kernel(path), cache_directory=folder)
    return lambda inputs, output: lambda: kernel(*inputs, output)


def _row_of(case: Case, options: argparse.Namespace, service: Service, folder: pathlib.Path) -> Row:
    row = empty_row(case, options.budget)
    try:
        structure = service.print_expression(case)
        contest = Contest(nest_of(json.loads(structure)), options.threads)
        file = folder / "expression.json"
        file.write_text(structure, encoding="utf-8")
        record = service.tune(case, "cpu", options.budget, force=True)
        row["parameters"], row["trials"] = record["parameters"], int(record.get("trials", 0))
        contest.add(_TUNED, _kernel_of(service.kernel(case, "cpu", measured=True), folder))
        for name in options.tuners:
            _TUNERS[name][1](contest, row, file, options.budget)
        times = times_in_turns(contest.contestants)
    except (NestError, ServiceError) as error:
        row["errors"][_TUNED] = str(error)
        return row
    row["errors"] = contest.errors
    take_times(row, times, _TUNED)
    return row


def _machine(device: Dict[str, Any], options: argparse.Namespace) -> Dict[str, Any]:
    description = device["description"]
    return {"cpu": description["model"], "threads": options.threads,
            "compiler of our kernels": description["compiler"],
            "host": f"{platform.system()} {platform.machine()}",
            **{name: _TUNERS[name][0].version() for name in options.tuners}}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench tuners", description="Gives the same time to mdhd, TVM's MetaSchedule and Halide's autoschedulers, "
        "those that this Python has, and measures the best kernel of each in turns, with as many threads, on the same "
        "data; results are compared with that of our kernel, which the daemon has checked. Cases that a tuner cannot "
        "say are named and not counted. To install them: pip install -r tests/benchmarks/tuners/requirements.txt in a "
        "virtual environment, and PYTHON=.../bin/python deploy/bench tuners.")
    parser.add_argument("--cases", default=_PAPERS, metavar="PATTERN",
                        help="only cases that match, e.g. 'matmul_*,jacobi*' [those of the papers]")
    add_sample_options(parser)
    parser.add_argument("--budget", type=float, default=30.0, metavar="SECONDS",
                        help="of each tuner per case [30]")
    parser.add_argument("--tuners", default=",".join(_TUNERS), metavar="NAMES", help="[%(default)s]")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="file of results; rows of the same cases are replaced")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/benchmarks/bin",
                        metavar="FOLDER", help="where mdhd and mdh are")
    # For deploy/bench, which builds programs only for those who need them.
    parser.add_argument("--needs-programs", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    check_sample_options(parser, options)
    if not options.budget > 0:
        parser.error("--budget must be positive")
    options.tuners = options.tuners.split(",")
    for name in options.tuners:
        if name not in _TUNERS:
            parser.error(f"there is no tuner {name}; there are {', '.join(_TUNERS)}")
    options.threads = len(os.sched_getaffinity(0))
    return options


def _run(options: argparse.Namespace) -> bool:
    """Whether all is right."""
    absent = [name for name in options.tuners if not _TUNERS[name][0].version()]
    if absent:
        raise ServiceError(f"this Python does not have {', '.join(absent)}: see --help")
    if not options.sample:
        load_cases(options.cases)  # an error before anything is built
    if options.needs_programs:
        print("yes")
        return True
    os.environ["HL_NUM_THREADS"] = os.environ["TVM_NUM_THREADS"] = str(options.threads)
    return measure_cases(options, lambda device: _machine(device, options),
                         lambda case, service, folder: _row_of(case, options, service, folder))


def main() -> int:
    try:
        return 0 if _run(_parse()) else 1
    except (CaseError, ResultsError, ServiceError) as error:
        print(f"bench tuners: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
