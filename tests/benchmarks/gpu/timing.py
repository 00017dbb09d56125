"""Times by replaying CUDA graphs, contestants in turns."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any, Callable, List, Optional

from .pytorch import torch

_REPLAY_SECONDS = 0.008
_MOST_NODES = 3000
_MOST_ROUNDS = 15
_SECONDS_OF_ALL_ROUNDS = 1.2  # of one contestant
_WARM_UP_SECONDS = 0.05
_LONGEST_REPLAY_SECONDS = 0.05
_LEAST_SECONDS = 1e-7  # of one execution: what the clocks can tell apart
_SLOW_SECONDS = 0.25  # of one execution: measured once


@dataclass
class Contestant:
    """Something that is timed. `run(n)` starts one execution on set n in the current stream."""

    name: str
    run: Callable[[int], Any]
    times: List[float] = field(default_factory=list)  # seconds per execution, one a round
    is_graph: bool = True
    _replay: Optional[Callable[[], None]] = None
    _executions: int = 0
    _rounds: int = 0

    def prepare(self, sets: int) -> None:
        """Estimates the time and captures a graph of many executions; without one if that is
        refused, because the contestant waits for the device."""
        estimate = self._estimate(sets)
        if estimate > _SLOW_SECONDS:
            self.times.append(estimate)
            return
        replayed = self._prepare_replay(sets, estimate)
        # Calls of Python took longer than what they started: there is room for more executions.
        if self.is_graph and replayed < estimate / 2:
            replayed = self._prepare_replay(sets, replayed)
        self._rounds = max(1, min(_MOST_ROUNDS, int(
            _SECONDS_OF_ALL_ROUNDS / (replayed * self._executions))))

    def _prepare_replay(self, sets: int, estimate: float) -> float:
        """Seconds per execution, of one replay."""
        wanted = round(_REPLAY_SECONDS / estimate)
        # All sets take part, so that each has left the cache when its turn comes again.
        if sets * estimate < _LONGEST_REPLAY_SECONDS:
            wanted = max(wanted, sets)
        self._executions = max(1, min(_MOST_NODES, wanted))
        try:
            self._replay = self._capture(sets)
        except RuntimeError:
            torch.cuda.synchronize()
            self.is_graph = False
            self._replay = lambda: self._run_all(sets)
        self._replay()
        return max(_seconds(self._replay) / self._executions, _LEAST_SECONDS)

    def measure(self, round_number: int) -> None:
        """One round, unless this contestant is too slow for it."""
        if round_number < self._rounds and self._replay is not None:
            self.times.append(_seconds(self._replay) / self._executions)

    def warm_up(self) -> None:
        spent = 0.0
        while spent < _WARM_UP_SECONDS and self._replay is not None:
            spent += _seconds(self._replay)

    def release(self) -> None:
        self._replay = None

    @property
    def time(self) -> float:
        return statistics.median(self.times)

    def _estimate(self, sets: int) -> float:
        executions = 1
        while True:
            spent = _seconds(lambda: [self.run(n % sets) for n in range(executions)])
            if spent > 2e-3 or executions >= 64:
                return max(spent / executions, _LEAST_SECONDS)
            executions *= 4

    def _run_all(self, sets: int) -> None:
        for n in range(self._executions):
            self.run(n % sets)

    def _capture(self, sets: int) -> Callable[[], None]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            self._run_all(sets)
        return graph.replay  # type: ignore[no-any-return]


def _seconds(action: Callable[[], Any]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    action()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3  # type: ignore[no-any-return]


def measure_in_turns(contestants: List[Contestant]) -> None:
    """Rounds, in each of which every prepared contestant is measured once; in every other one in
    the reverse order, for a card that is at work gets slower."""
    for contestant in contestants[:1]:
        contestant.warm_up()
    for round_number in range(_MOST_ROUNDS):
        for contestant in contestants[::-1 if round_number % 2 else 1]:
            contestant.measure(round_number)


def ratio(faster: List[float], slower: List[float]) -> float:
    """Median over the rounds that both took part in of how many times faster `faster` is."""
    return statistics.median(b / a for a, b in zip(faster, slower))
