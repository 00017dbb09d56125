"""python3 -m gpu: see options.py. Exit status: 0, all is right; 1, a case is wrong or an error; 2,
wrong usage; 3, cases are left for want of time."""

from __future__ import annotations

import os
import pathlib
import platform
import signal
import sys
import time
from contextlib import ExitStack
from typing import Any, Dict, List, Optional

from report.pages import write_pages
from report.results import Results, ResultsError, read_results, write_results
from report.table import text_table

from sample.families import GPU_LIMITS, cases_of
from sample.options import chosen_sample

from .benchmark import Benchmark, Machine, Settings
from .cases import Case, CaseError, load_cases, matching
from .revision import commit
from .operations import operation_of
from .options import parse
from .self_test import self_test
from .service import Service, ServiceError, gpu_of, short_name, write_description
from .worker_process import WorkerError, WorkerProcess

_OK, _WRONG, _LEFT = 0, 1, 3


def _cases(options: Any) -> List[Case]:
    """What was asked for; a sample says how it is drawn again. Errors: CaseError."""
    if not options.sample:
        return load_cases(options.cases)
    sample = chosen_sample(options, GPU_LIMITS)
    options.seed = sample.seed
    print(f"sample: {sample}", flush=True)
    return matching(cases_of(sample), options.cases)


def _selected(cases: List[Case], options: Any, results: Results) -> List[Case]:
    if options.missing:
        cases = [c for c in cases if not (results.row(c.id) or {}).get("correct")]
    return cases


def _dry_run(cases: List[Case], options: Any) -> int:
    width = max([28, *(len(case.id) for case in cases)])
    for case in cases:
        operation = operation_of(case)
        peers = ", ".join(p.name if p.is_counted else f"({p.name})" for p in operation.peers
                          if options.compile_peers or not p.is_compiled)
        print(f"{case.id:<{width}} {options.budget:g} s  {operation.size_bytes / 1e6:>8.1f} MB  {peers}")
    total = len(cases) * options.budget
    print(f"{len(cases)} cases, {total:.0f} s of tuning")
    return _OK


def _note_sample(results: Results, options: Any) -> None:
    sample = chosen_sample(options, GPU_LIMITS)
    results.machine["sample"] = f"deploy/bench gpu {sample} --budget {options.budget:g}"


def _description(gpu: Dict[str, Any], worker: Dict[str, Any]) -> Dict[str, Any]:
    """Of the machine, for the file of results."""
    peaks, description = gpu["peaks"], gpu["description"]
    return {**worker, "compute capability": description["isa"], "driver": gpu["driver"],
            "compiler of our kernels": description["compiler"],
            "peak fp32": f"{float(peaks['fp32_flops_per_s']) / 1e12:.1f} TFLOP/s",
            "reads": f"{float(peaks['memory_bytes_per_s']) / 1e12:.2f} TB/s",
            "copies": f"{float(peaks['copy_bytes_per_s']) / 1e12:.2f} TB/s",
            "L2": f"{int(description['l2_bytes']) / 2**20:.0f} MiB",
            "host": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"}


def _machine(options: Any, stack: ExitStack, results: Results) -> Machine:
    """Starts daemons and the measuring process. Errors: ServiceError, WorkerError."""
    devices = f"cuda:{options.device}"
    devices += f",opencl:{options.opencl}" if options.opencl is not None else ""
    service = Service(options.programs, devices, options.database)
    stack.callback(service.close)
    rules = Service(options.programs, "cpu")
    stack.callback(rules.close)
    worker = WorkerProcess(options.python or sys.executable)
    stack.callback(worker.close)
    gpu = gpu_of(service.devices(), "cuda")
    opencl = None
    if options.opencl is not None:
        # Figures beside each other are of one GPU; that number may be another device's.
        opencl = gpu_of(service.devices(), "opencl", gpu["description"]["model"])
    description = write_description(gpu)
    stack.callback(pathlib.Path(description).unlink)
    results.machine = _description(gpu, worker.start())
    return Machine(service, rules, worker, gpu, short_name(gpu), description,
                   short_name(opencl) if opencl else "")


def _run(options: Any) -> int:
    begin = time.monotonic()
    has_file = options.json is not None and options.json.exists()
    results = read_results(options.json) if has_file else Results()
    all_cases = _cases(options)
    cases = _selected(all_cases, options, results)
    if options.dry_run:
        return _dry_run(cases, options)
    settings = Settings(
        options.budget, options.opencl_budget or options.budget, options.compile_peers,
        not options.no_tune, options.force,
        begin + options.time_limit if options.time_limit else None, commit())
    with ExitStack() as stack:
        machine = _machine(options, stack, results)
        if options.sample:
            _note_sample(results, options)
        order = [case.id for case in (all_cases if options.sample else load_cases())]
        benchmark = Benchmark(machine, settings, results, options.json, order,
                              lambda s: print(s, flush=True))
        left = benchmark.run(cases)
    ran = {case.id for case in cases} - {case.id for case in left}
    _show(results, options.json)
    if not all((results.row(case) or {}).get("correct") for case in ran):
        return _WRONG
    return _LEFT if left else _OK


def _show(results: Results, path: Optional[pathlib.Path]) -> None:
    print(text_table(results), end="", flush=True)
    if path is not None:
        write_results(results, path)
        write_pages(results, path)


def _stop(*unused: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    options = parse()
    if options.needs_programs:
        print("no" if options.report or options.dry_run else "yes")
        return _OK
    signal.signal(signal.SIGTERM, _stop)  # so that daemons end with this program
    try:
        if options.report is not None:
            _show(read_results(options.report), options.report)
            return _OK
        if options.self_test:
            return self_test(_cases(options), options.programs)
        return _run(options)
    except (CaseError, ResultsError, ServiceError, WorkerError) as error:
        print(f"bench gpu: error: {error}", file=sys.stderr)
        return _WRONG
    except KeyboardInterrupt:
        print("bench gpu: stopped", file=sys.stderr)
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
