"""Results as text for terminals and as Markdown."""

from __future__ import annotations

import statistics
from typing import Callable, List, Optional, Tuple

from .results import Results, Row, error_of, geometric_mean

# Title, text of a row, and what it means; of all columns but the last,
# those that no row has are left out.
_COLUMNS: Tuple[Tuple[str, Callable[[Row], str], str], ...] = (
    ("time", lambda row: seconds(row.get("value")), "of our tuned kernel"),
    ("of peer", lambda row: number(row.get("ratio_to_best_peer")),
     "the best peer's time divided by ours"),
    ("goal", lambda row: number(row.get("goal")), "what `of peer` should reach"),
    ("of floor", lambda row: number(row.get("ratio_to_floor")),
     "the time that the machine's measured peak and bandwidth allow, divided by ours"),
    ("default", lambda row: number(row.get("default_ratio")),
     "our tuned time divided by that of the kernel from rules, before any tuning"),
    ("OpenCL", lambda row: number(row.get("opencl_ratio")),
     "time of our tuned CUDA kernel divided by that of our tuned OpenCL kernel, both as the daemon "
     "measured them, by events"),
    ("trials", lambda row: "" if row.get("trials") is None else f"{row['trials']:.0f}",
     "configurations that were tried"),
    ("tuning", lambda row: seconds(row.get("tuning_s")), "duration of the search"),
    ("to 90 %", lambda row: seconds(row.get("time_to_90_s")),
     "of the search, until it had a kernel of 90 % of its final speed"),
    ("to 95 %", lambda row: seconds(row.get("time_to_95_s")), "of 95 %"),
    ("peers", lambda row: error_of(row) or peers_of(row),
     "their times; those in brackets are shown and do not count"),
)
_GOOD_DEFAULT = 0.5
_OURS = ("tuned", "default", "OpenCL")  # names of errors that are not of peers


def seconds(value: Optional[float]) -> str:
    """"12.3 us": three digits and a unit; empty for None."""
    if value is None:
        return ""
    for factor, unit in ((1e6, "us"), (1e3, "ms"), (1, "s")):
        if value * factor < 999.5 or unit == "s":
            return f"{value * factor:.3g} {unit}"
    raise AssertionError("the last unit takes every value")


def number(value: Optional[float]) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def peers_of(row: Row) -> str:
    """"cuBLAS 58.4 us, torch.compile 60 us"; those that do not count in brackets; "einsum: wrong" and
    "einsum: cannot", which do not count, either."""
    peers = [f"{name} {seconds(time)}" for name, time in row.get("peers", {}).items()]
    peers += [f"({name} {seconds(time)})" for name, time in row.get("other_peers", {}).items()]
    for name, error in (row.get("errors") or {}).items():
        if name not in _OURS:
            peers.append(f"{name}: {'wrong' if str(error).startswith('wrong result') else 'cannot'}")
    return ", ".join(peers)


def _cells(results: Results) -> Tuple[List[str], List[List[str]], List[str]]:
    """Titles, rows, and what the titles mean."""
    titles, columns, meanings = ["case"], [[str(row["case"]) for row in results.rows]], []
    for title, text, meaning in _COLUMNS:
        cells = [text(row) for row in results.rows]
        if any(cells) or title == "peers":
            titles.append(title)
            columns.append(cells)
            meanings.append(f"`{title}`: {meaning}")
    return titles, [list(row) for row in zip(*columns)], meanings


def summary(results: Results) -> List[str]:
    """The geometric means, and what is wrong or worst; of cases that were drawn by classes."""
    classes = sorted({str(row.get("class") or "") for row in results.rows}) or [""]
    return [line for name in classes
            for line in _summary([r for r in results.rows if (r.get("class") or "") == name],
                                 f"{name} cases".strip())]


def _summary(rows: List[Row], what: str) -> List[str]:
    right = [row for row in rows if row.get("correct")]
    lines = [f"{len(right)} of {len(rows)} {what}"]
    for title, name in (("ratio to the best peer", "ratio_to_best_peer"),
                        ("ratio to the floor", "ratio_to_floor"),
                        ("default kernel, of the tuned one", "default_ratio"),
                        ("OpenCL, of CUDA", "opencl_ratio")):
        known = [(row[name], row["case"]) for row in right if row.get(name) is not None]
        if known:
            worst, case = min(known)
            lines.append(f"{title}: geometric mean {number(geometric_mean(v for v, _ in known))}, "
                         f"least {number(worst)} ({case}), {len(known)} cases")
    lines += _goals(right) + _times_to(right)
    defaults = [row["default_ratio"] for row in right if row.get("default_ratio") is not None]
    if defaults:
        enough = sum(ratio >= _GOOD_DEFAULT for ratio in defaults)
        lines.append(f"default kernels of at least {_GOOD_DEFAULT:g} of the tuned speed: {enough} "
                     f"of {len(defaults)}")
    return lines


def _times_to(rows: List[Row]) -> List[str]:
    """How long searches took to come near to what they found."""
    lines = []
    for share in (90, 95):
        times = sorted(row[f"time_to_{share}_s"] for row in rows
                       if row.get(f"time_to_{share}_s") is not None)
        if times:
            lines.append(f"time to {share} % of the final speed: median "
                         f"{seconds(statistics.median(times))}, longest {seconds(times[-1])}")
    return lines


def _goals(rows: List[Row]) -> List[str]:
    """Which cases miss the ratio that they should reach."""
    known = [row for row in rows if row.get("goal") and row.get("ratio_to_best_peer")]
    missed = [f"{row['case']} {number(row['ratio_to_best_peer'] / row['goal'])}" for row in known
              if row["ratio_to_best_peer"] < row["goal"]]
    if not known:
        return []
    text = f"goals: {len(known) - len(missed)} of {len(known)} reached"
    return [text + (f"; of the goal: {', '.join(missed)}" if missed else "")]


def text_table(results: Results) -> str:
    """For terminals."""
    titles, rows, _ = _cells(results)
    widths = [max(len(row[n]) for row in [titles, *rows]) for n in range(len(titles) - 1)]
    lines = []
    for row in [titles, *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:])]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join([*lines, "", *summary(results)]) + "\n"


def markdown(results: Results, title: str, chart: str) -> str:
    """A page with machine, chart (a file's name), means and table."""
    titles, rows, meanings = _cells(results)
    lines = [f"# {title}", ""]
    lines += [f"- {name}: {value}" for name, value in results.machine.items()]
    lines += ["", f"![Ratio to the best peer]({chart})", ""]
    lines += [f"- {line}" for line in summary(results)] + [""]
    lines += ["; ".join(meanings) + ".", ""]
    lines.append("| " + " | ".join(titles) + " |")
    lines.append("|" + "|".join(["---"] + ["--:"] * (len(titles) - 2) + ["---"]) + "|")
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    notes = _notes(results)
    return "\n".join(lines + ([""] + [f"- {note}" for note in notes] if notes else [])) + "\n"


def _notes(results: Results) -> List[str]:
    """Those of all rows, and what went wrong beside our kernel."""
    notes = {str(note) for row in results.rows for note in row.get("notes", [])}
    errors = {f"{row['case']}: {name}: {error}" for row in results.rows if row.get("correct")
              for name, error in (row.get("errors") or {}).items()}
    return sorted(notes) + sorted(errors)
