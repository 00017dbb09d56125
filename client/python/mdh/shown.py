"""How answers of the daemon are shown: one line, and a table where notebooks show one."""

from __future__ import annotations

import html
from typing import List, Tuple

Facts = List[Tuple[str, str]]


class Shown:
    """What a class with these two methods is shown as. Nothing that it holds is left out of its
    attributes: a source, a table or a message are only not printed."""

    def _title(self) -> str:
        """What it is, in a few words."""
        raise NotImplementedError

    def _facts(self) -> Facts:
        """What else is to be known: names and texts, the most important first."""
        raise NotImplementedError

    def __repr__(self) -> str:
        facts = ", ".join(text for _, text in self._facts()[:3] if text)
        return f"<{type(self).__name__} {self._title()}{': ' if facts else ''}{facts}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self._facts() if text)
        title = html.escape(f"{type(self).__name__} {self._title()}")
        return f"<table><caption style='text-align:left'>{title}</caption>{rows}</table>"


def scaled(value: float, units: Tuple[str, ...], step: float = 1000) -> str:
    """Three digits in the largest unit that leaves at least 1, as the command line writes them."""
    unit = 0
    while value >= step * 0.9995 and unit + 1 < len(units):
        value /= step
        unit += 1
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {units[unit]}"


def time_text(nanoseconds: int) -> str:
    """"1.23 ms"; empty for a time that is not known."""
    if nanoseconds <= 0:
        return ""
    if nanoseconds < 1000:
        return f"{nanoseconds} ns"
    return scaled(nanoseconds, ("ns", "us", "ms", "s"))
