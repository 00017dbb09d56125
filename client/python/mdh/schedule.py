"""Expert schedules: what a kernel must keep to, line by line (core/schedule/grammar.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Set, Tuple, Union

from .errors import wrong
from .shown import Facts, Shown
from .v1 import tuning_pb2

# A number, a word, "I/2", "!4", a range, several of them, or None for what is searched.
Choice = Union[None, int, str, range, List[Any], Tuple[Any, ...], Set[Any], FrozenSet[Any]]


def _one(value: Any) -> str:
    if value is None:
        return "?"
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise wrong(f"{value!r} is no value of a schedule: give an integer or a text")
    return str(value)


def _choice(value: Choice) -> str:
    """{8, 16}, 8..64 step 8, whole."""
    if isinstance(value, range):
        if len(value) == 0:
            raise wrong(f"{value!r} is empty: a choice has a value at least")
        low, high = min(value), max(value)
        return f"{low}..{high}" + (f" step {abs(value.step)}" if abs(value.step) > 1 else "")
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=lambda one: (isinstance(one, str), one))
    if isinstance(value, (list, tuple)):
        if not value:
            raise wrong("a choice of nothing: give a value at least")
        return "{" + ", ".join(_one(one) for one in value) + "}"
    return _one(value)


def _items(items: Tuple[Any, ...]) -> str:
    return ", ".join(".." if item is ... else _one(item) for item in items)


@dataclass(frozen=True)
class Schedule:
    """What a kernel must keep to; what it does not say is searched. A schedule is a set of lines, whose
    order means nothing; methods give a new one with one more line.

        Schedule().tile("L2", k={128, 256}).order("L2", "k", ..., "j").copy("A", at="L2")
    """

    text: str = ""

    def line(self, line: str) -> "Schedule":
        """With a line as it is written in files."""
        return Schedule(self.text + line.rstrip("\n") + "\n")

    def for_models(self, *models: str) -> "Schedule":
        """What follows is for these system models only; without any, for all again."""
        return self.line(f"for {', '.join(models) or 'all'}:")

    def tile(self, layer: str, **dimensions: Choice) -> "Schedule":
        """Extents of a part on a layer: an integer, "whole", "^" (as outside), a set, a range, ..."""
        return self._pins(layer, "tile", dimensions)

    def parts(self, layer: str, **dimensions: Choice) -> "Schedule":
        """Numbers of parts on a layer."""
        return self._pins(layer, "parts", dimensions)

    def order(self, *items: Any) -> "Schedule":
        """Of loops, outermost first; `...` stands for any others. With the name of a layer in front,
        of its dimensions: order("L2", "k", ..., "j"); else across layers: order("BLK.i", ..., "DEV.k").
        """
        if items and isinstance(items[0], str) and "." not in items[0]:
            return self.line(f"{items[0]}: order {_items(items[1:])}")
        return self.line(f"order {_items(items)}")

    def on(self, layer: str, **axes: str) -> "Schedule":
        """Axes of blocks or threads: on("THR", i="y", j="x")."""
        return self._pins(layer, "on", axes)

    def along(self, dimension: Choice, layer: str = "lanes") -> "Schedule":
        """The dimension of vectors; "none": none."""
        return self.line(f"{layer}: along {_choice(dimension)}")

    def copy(self, input: str, at: Choice = "never") -> "Schedule":  # noqa: A002
        """Where an input is copied to: "never", "whole", or the layer each part of which has a copy."""
        how = at if at in ("never", "whole") else f"at {_choice(at)}"
        return self.line(f"input {input}: copy {how}")

    def input(self, name: str, place: str) -> "Schedule":
        """Anything else of an input: "in SM from SHR.k", "layout (j, k)", "strips i", "stages=2"."""
        return self.line(f"input {name}: {place}")

    def output(self, name: str, place: str) -> "Schedule":
        """As `input`, of an output."""
        return self.line(f"output {name}: {place}")

    def fuse(self, *dimensions: str) -> "Schedule":
        """Dimensions that are run through as one."""
        return self.line(f"fuse({', '.join(dimensions)})")

    def separate(self, *dimensions: str) -> "Schedule":
        """Dimensions that are not run through with others as one."""
        return self.line(f"separate({', '.join(dimensions)})")

    def option(self, **options: Choice) -> "Schedule":
        """Choices of code: option(remainder="!overlap", unroll=64)."""
        return self.line("; ".join(f"{name}={_choice(value)}" for name, value in options.items()))

    def require(self, formula: str) -> "Schedule":
        """A joint limit: require("bytes(A, L2) + bytes(B, L2) <= 524288")."""
        return self.line(f"require {formula}")

    def edge(self, producer: str, consumer: str, how: Choice) -> "Schedule":
        """Of a pipeline: how what one step reads of another one gets there: "stage", "inline",
        "epilogue", "contraction". A step is called by its name, by a buffer that it writes, or by its
        number."""
        return self.line(f"edge {producer} -> {consumer} = {_choice(how)}")

    def siblings(self, *groups: Tuple[str, ...], others: bool = False) -> "Schedule":
        """Of a pipeline: steps that are computed as one, side by side; and no others, unless `others`."""
        items = [f"({', '.join(steps)})" for steps in groups] + ([".."] if others else [])
        return self.line(f"siblings {', '.join(items) or 'none'}")

    def split(self, *steps: str, others: bool = False) -> "Schedule":
        """Of a pipeline: products of many factors that are made of two at a time; and no others, unless
        `others`."""
        return self.line(f"split {', '.join((*steps, *(['..'] if others else []))) or 'none'}")

    def together(self, *steps: str, **clauses: Any) -> "Schedule":
        """Of a pipeline: steps that run together, part after part: together("a", "b", part={"i": 8},
        chunk=64, rows=2). `by` and `streamed` are written as in files: by="(i, j)"."""
        texts = []
        for name, value in clauses.items():
            if name == "part":
                pins = ", ".join(f"{d}={_choice(choice)}" for d, choice in value.items())
                texts.append(f"part {pins}")
            elif name in ("by", "streamed"):
                texts.append(f"{name} {value}")
            else:
                texts.append(f"{name}={_choice(value)}")
        return self.line(f"together({', '.join(steps)})" + (": " if texts else "") + "; ".join(texts))

    def alone(self, *steps: str) -> "Schedule":
        """Of a pipeline: steps that run by themselves."""
        return self.line(f"alone({', '.join(steps)})")

    def step(self, name: str, schedule: "Schedule") -> "Schedule":
        """Of a pipeline: what a step of it keeps to."""
        return Schedule(f"{self.text}step {name}:\n{schedule.text}")

    def _pins(self, layer: str, what: str, dimensions: Dict[str, Any]) -> "Schedule":
        if not dimensions:
            raise wrong(f"{what} of {layer} names no dimension")
        pins = ", ".join(f"{name}={_choice(value)}" for name, value in dimensions.items())
        return self.line(f"{layer}: {what} {pins}")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class CheckedSchedule(Shown):
    """What a schedule leaves open for an expression on a device."""

    canonical: str  # equal for equal schedules; empty: it is free
    count: int  # configurations that are left; 0: lines contradict each other, or, if not exact, it is not known
    is_exact: bool  # else some of them are not in the schedule, and searches leave them out
    example: str  # tuning parameters of one of them
    conflicts: Tuple[str, ...]  # lines that contradict each other
    alternatives: Dict[str, int]  # of the decision that is varied: configurations by value

    def _title(self) -> str:
        if self.count == 0 and not self.is_exact:
            return "an unknown number of configurations"
        return f"{self.count} configurations"

    def _facts(self) -> Facts:
        return [("schedule", self.canonical), ("example", self.example),
                ("conflicts", "; ".join(self.conflicts))]

    @staticmethod
    def from_proto(proto: tuning_pb2.CheckScheduleResponse) -> "CheckedSchedule":
        return CheckedSchedule(
            proto.canonical, int(proto.count or 0), proto.is_exact, proto.example, tuple(proto.conflicts),
            {one.value: int(one.count) for one in proto.alternatives})
