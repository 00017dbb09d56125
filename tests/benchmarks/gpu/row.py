"""One row of the results, in the form of all benchmarks (tests/benchmarks/figure.h), and more."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional

from .cases import Case, goal_of

TUNED = "tuned"  # names of our kernels among what is measured
DEFAULT = "default"
_SHARES = (90, 95)  # per cent of the final speed
# Of a multiprocessor's matrix units in a cycle, by compute capability and type.
_UNIT_OPERATIONS = {("sm_90", "fp16"): 4096, ("sm_90", "bf16"): 4096, ("sm_90", "fp64"): 256}


def empty_row(case: Case, budget_seconds: float) -> Dict[str, Any]:
    """What every row has, before anything is known."""
    return {"case": case.id, "metric": "time", "value": None, "unit": "s", "peers": {},
            "ratio_to_best_peer": None, "best_peer": None, "goal": goal_of(case.id),
            "floor": None, "ratio_to_floor": None, "correct": False, "budget_s": budget_seconds,
            "errors": {}, "notes": [],
            **({"family": case.family, "class": case.size_class} if case.family else {})}


def add_record(row: Dict[str, Any], record: Dict[str, Any]) -> None:
    """What the tuning job says. Times in a record are of the daemon's own measurements."""
    row["trials"] = int(record["trials"])
    row["failed_trials"] = int(record["failed_trials"])
    row["tuning_s"] = int(record["search_time_ns"]) / 1e9
    row["runner_time"] = int(record["time_ns"]) / 1e9
    row["parameters"] = record["parameters"]
    journal = record.get("journal", [])
    row["first_parameters"] = journal[0]["parameters"] if journal else ""
    for share in _SHARES:
        row[f"time_to_{share}_s"] = time_to(journal, share / 100)
    if any(f"early={word}" in row["parameters"] for word in ("calls", "prefetches")):
        row["notes"].append("our calls with `early=calls` or `early=prefetches` among their "
                            "parameters begin before what is in front of them has ended")


def time_to(journal: List[Dict[str, Any]], share: float) -> Optional[float]:
    """Seconds of the search until it had measured a kernel of that share of the speed of its fastest
    one; None if no trial was right."""
    right = [(int(trial["elapsed_ns"]), int(trial["time_ns"])) for trial in journal
             if trial.get("outcome") == "ok" and int(trial["time_ns"]) > 0]
    if not right:
        return None
    best = min(time_ns for _, time_ns in right)
    return min(elapsed for elapsed, time_ns in right if time_ns * share <= best) / 1e9


def unit_peak(case_type: str, description: Dict[str, Any]) -> float:
    """Operations per second that the matrix units of a GPU do at most on operands of that type: by
    their rate, at the clock that its driver names; infinite where that is not known."""
    rate = _UNIT_OPERATIONS.get((description.get("isa", ""), case_type), 0)
    multiprocessors = int(description.get("blocks", {}).get("multiprocessors", 0))
    return rate * multiprocessors * float(description.get("clock_hz", 0)) or math.inf


def add_floor(row: Dict[str, Any], case: Case, record: Optional[Dict[str, Any]],
              gpu: Dict[str, Any]) -> None:
    """max(operations / peak, bytes / bandwidth): no implementation is faster. Of cases that were drawn
    the bound that their records have."""
    if case.definition:
        bound_ns = ((record or {}).get("certificate") or {}).get("problem_bound_ns", 0)
        row["floor"] = float(bound_ns) / 1e9 or None
        if row["floor"] and row["value"]:
            row["ratio_to_floor"] = row["floor"] / row["value"]
        return
    peaks = gpu["peaks"]
    size_bytes = case.compulsory_bytes or int((record or {}).get("compulsory_bytes", 0))
    bandwidth = max(float(peaks["memory_bytes_per_s"]), float(peaks.get("copy_bytes_per_s", 0)))
    operations_per_s = (unit_peak(case.type, gpu["description"]) if case.type
                        else float(peaks["fp32_flops_per_s"]))
    floor = max(case.flops / operations_per_s, size_bytes / bandwidth)
    row["floor"] = floor if floor > 0 else None
    if row["floor"] and row["value"]:
        row["ratio_to_floor"] = row["floor"] / row["value"]


def add_measurement(row: Dict[str, Any], answer: Dict[str, Any]) -> None:
    """What the worker measured."""
    times = dict(answer["times"])
    row["value"] = times.pop(TUNED, None)
    row["correct"] = row["value"] is not None
    default = times.pop(DEFAULT, None)
    if default is not None:
        row["default_time"] = default
        row["default_ratio"] = row["value"] / default if row["value"] else None
    others = set(answer["others"])
    row["peers"] = {name: time for name, time in times.items() if name not in others}
    row["other_peers"] = {name: time for name, time in times.items() if name in others}
    for name in ("ratio_to_best_peer", "best_peer", "sets", "largest_error"):
        row[name] = answer[name]
    row["errors"].update(answer["errors"])
    row["resources"] = answer["resources"].get(TUNED, [])
    row["notes"] += answer["notes"] if row["other_peers"] or row["peers"] else []
    row["notes"] += [f"{name} cannot be in a graph: launched one by one"
                     for name in answer["without_graph"]]
    row["notes"] += _spills(row["resources"])


def add_opencl(row: Dict[str, Any], record: Dict[str, Any]) -> None:
    """Both times are from the daemon's own measurements, by events of OpenCL and of CUDA."""
    row["opencl_time"] = int(record["time_ns"]) / 1e9
    row["opencl_trials"] = int(record["trials"])
    if row.get("runner_time"):
        row["opencl_ratio"] = row["runner_time"] / row["opencl_time"]


def _spills(resources: List[Dict[str, Any]]) -> List[str]:
    return [f"{r['function']} has {r['local_bytes']} bytes of local memory a thread"
            for r in resources if r["local_bytes"] > 0]
