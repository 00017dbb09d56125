"""Ratios as horizontal bars on a logarithmic scale, in SVG that is readable on light and dark."""

from __future__ import annotations

import math
from typing import List, Optional, Sequence
from xml.sax.saxutils import escape

from .results import Results, error_of, geometric_mean
from .table import number

_WIDTH, _LABELS, _VALUES = 860, 230, 60
_ROW, _BAR, _TOP, _BOTTOM = 20, 13, 64, 30
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-size: 15px; font-weight: 600; }
  .note { fill: #6e7781; }
  .faster { fill: #1a7f64; }
  .slower { fill: #c4542d; }
  .mean { stroke: #8250df; stroke-width: 1.5; stroke-dasharray: 5 3; }
  .meantext { fill: #8250df; }
  .grid { stroke: #d0d7de; stroke-width: 1; }
  .one { stroke: #57606a; stroke-width: 1.5; }
  .back { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .note { fill: #8b949e; }
    .faster { fill: #3fb68b; }
    .slower { fill: #f0883e; }
    .mean { stroke: #bc8cff; }
    .meantext { fill: #bc8cff; }
    .grid { stroke: #30363d; }
    .one { stroke: #8b949e; }
    .back { fill: #0d1117; }
  }
"""


class _Scale:
    """Positions of ratios, on a logarithmic axis that has 1 and all of them on it."""

    def __init__(self, values: Sequence[float]):
        low, high = min([*values, 0.9]), max([*values, 1.5])
        self.low = max((t for t in _TICKS if t <= low), default=_TICKS[0])
        self.high = min((t for t in _TICKS if t >= high), default=_TICKS[-1])
        self._length = _WIDTH - _LABELS - _VALUES

    def at(self, value: float) -> float:
        value = min(max(value, self.low), self.high)
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(_LABELS + share * self._length, 1)

    def ticks(self) -> List[float]:
        return [t for t in _TICKS if self.low <= t <= self.high]


def bar_chart(results: Results, title: str) -> str:
    """SVG. One bar a row: its ratio to the best peer; a row without one has its reason instead."""
    bars = [(row["case"], row.get("ratio_to_best_peer") if row.get("correct") else None,
             error_of(row)) for row in results.rows]
    ratios = [ratio for _, ratio, _ in bars if ratio is not None]
    scale = _Scale(ratios)
    mean = geometric_mean(ratios)
    bottom = _TOP + _ROW * len(bars)
    height = bottom + _BOTTOM
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
             f'viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">',
             f"<style>{_STYLE}</style>",
             f'<rect class="back" width="{_WIDTH}" height="{height}"/>',
             f'<text class="title" x="12" y="24">{escape(title)}</text>']
    lines += _axis(scale, bottom)
    lines += _mean(scale, mean, bottom)
    for n, bar in enumerate(bars):
        lines += _bar(scale, _TOP + n * _ROW, *bar)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _axis(scale: _Scale, bottom: int) -> List[str]:
    lines = []
    for tick in scale.ticks():
        at, kind = scale.at(tick), "one" if tick == 1 else "grid"
        lines.append(f'<line class="{kind}" x1="{at}" y1="{_TOP - 4}" x2="{at}" y2="{bottom}"/>')
        lines.append(f'<text class="note" x="{at}" y="{bottom + 18}" text-anchor="middle">'
                     f"{tick:g}</text>")
    return lines


def _bar(scale: _Scale, y: int, case: str, ratio: Optional[float], error: str) -> List[str]:
    middle = y + _BAR - 2
    lines = [f'<text x="{_LABELS - 8}" y="{middle}" text-anchor="end">{escape(case)}</text>']
    if ratio is None:
        text = error or "no peer"
        text = text if len(text) <= 80 else text[:79] + "…"
        lines.append(f'<text class="note" x="{scale.at(1) + 6}" y="{middle}">{escape(text)}</text>')
        return lines
    left, right = sorted((scale.at(1), scale.at(ratio)))
    kind = "faster" if ratio >= 1 else "slower"
    lines.append(f'<rect class="{kind}" x="{left}" y="{y}" width="{max(right - left, 1):.1f}" '
                 f'height="{_BAR}" rx="2"/>')
    lines.append(f'<text x="{right + 5}" y="{middle}">{number(ratio)}</text>')
    return lines


def _mean(scale: _Scale, mean: Optional[float], bottom: int) -> List[str]:
    if mean is None:
        return []
    at = scale.at(mean)
    return [f'<line class="mean" x1="{at}" y1="{_TOP - 8}" x2="{at}" y2="{bottom}"/>',
            f'<text class="meantext" x="{at}" y="{_TOP - 14}" text-anchor="middle">'
            f"geometric mean {number(mean)}</text>"]
