"""python3 -m pytorch_cpu: see --help. Exit status: 0, all is right; 1, a case is wrong or an error;
2, wrong usage. The computations, what they mean and what PyTorch has for them are those of gpu."""

from __future__ import annotations

import argparse
import ctypes
import importlib
import math
import platform
import pathlib
import sys
from typing import Any, Callable, Dict, Sequence

from gpu.buffers import Sets
from gpu.cases import ROOT, Case, CaseError, load_cases
from gpu.cpu_kernels import read_cpu_kernel
from gpu.measure import error_of
from gpu.operation import Operation, Peer
from gpu.operations import operation_of
from gpu.pytorch import torch
from gpu.row import TUNED
from gpu.service import Service, ServiceError
from report.results import ResultsError, Row
from sample.cpu_contests import empty_row, measure_cases, take_times, times_in_turns
from sample.options import add_sample_options, check_sample_options

cpu_kernel = importlib.import_module("mdh.kernels.cpu_kernel")

_TOLERANCE = 2e-5


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
        kernel = cpu_kernel.CpuKernel(read_cpu_kernel(path), cache_directory=self._folder)
        arguments = (*self._sets.inputs[0], *self._sets.outputs[0])
        self._add(name, lambda: kernel(*arguments), lambda _: self._sets.outputs[0])

    def add_peer(self, peer: Peer) -> None:
        inputs, outputs = self._sets.inputs[0], self._sets.outputs[0]
        run = ((lambda: peer.function(*inputs, *outputs)) if peer.takes_outputs
               else (lambda: peer.function(*inputs)))
        self._add(peer.name, run, lambda result: outputs if peer.takes_outputs else
                  result if isinstance(result, tuple) else (result,))

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
    row = empty_row(case, options.budget)
    try:
        measured = Contest(operation_of(case), folder)
        record = service.tune(case, "cpu", options.budget, force=False)
        row["parameters"], row["trials"] = record["parameters"], int(record.get("trials", 0))
        measured.add_kernel(TUNED, service.kernel(case, "cpu", measured=True))
        # What cases before this one compiled counts against the limit of a function's versions.
        torch.compiler.reset()
        with torch.no_grad():
            for peer in operation_of(case).peers:
                if peer.name != "max-autotune":
                    measured.add_peer(peer)
            times = times_in_turns(measured.contestants)
    except (ServiceError, RuntimeError) as error:
        row["errors"][TUNED] = str(error)
        return row
    row["errors"], row["largest_error"] = measured.errors, measured.largest_error
    take_times(row, times, TUNED)
    return row


def _keep_freed_memory() -> None:
    """PyTorch allocates every result anew: by glibc's own rules large ones would be mapped, and
    their pages cleared, in every call, which can take ten times as long as computing them."""
    trim_threshold, most_mapped, large = -1, -4, (1 << 31) - 1
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(most_mapped, 0)
        libc.mallopt(trim_threshold, large)


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
    if not options.sample:
        load_cases(options.cases)  # an error before anything is built
    if options.needs_programs:
        print("yes")
        return True
    _keep_freed_memory()
    return measure_cases(options, _machine,
                         lambda case, service, folder: _row_of(case, options, service, folder))


def main() -> int:
    try:
        return 0 if _run(_parse()) else 1
    except (CaseError, ResultsError, ServiceError) as error:
        print(f"bench pytorch: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
