"""Measures kernels and peers of one case on the same data, and checks all of them."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .buffers import Sets
from .cases import Case
from .client_modules import cuda_kernel, kernel_file
from .operation import Buffer, Operation, Peer
from .operations import operation_of
from .pytorch import torch
from .row import TUNED
from .timing import Contestant, measure_in_turns, ratio

# Largest error of a result, relative to the size that results have; TF32 exceeds it by far. What
# results are rounded to comes on top of it: one unit in the last place, as peers may round twice.
_TOLERANCE = 2e-5
_TOLERANCE_OF_LONG_SUMS = 1e-4
_LONG_SUM = 1 << 20


class Measurement:
    """One case. What fails is in the answer; the others are measured all the same."""

    def __init__(self, case: Case, l2_bytes: int):
        self._operation = operation_of(case)
        self._sets = Sets(self._operation, l2_bytes)
        self._references = [_compact(r) for r in self._sets.references()]
        self._errors: Dict[str, str] = {}
        self._wrong: Dict[str, float] = {}
        self._resources: Dict[str, List[Dict[str, Any]]] = {}
        self._kernels: List[Any] = []

    def run(self, kernels: Dict[str, str], compile_peers: bool) -> Dict[str, Any]:
        """`kernels`: names and files of mdh kernel. The answer's times are in seconds."""
        ours = [c for c in (self._kernel(name, path) for name, path in kernels.items()) if c]
        peers = [c for c in (self._peer(peer) for peer in self._operation.peers
                             if compile_peers or not peer.is_compiled) if c]
        ready = [c for c in (*ours, *peers) if self._is_ready(c)]
        self._sets.poison()
        measure_in_turns(ready)
        self._check_after(next((c for c in ready if c.name == TUNED), None))
        for contestant in ready:
            contestant.release()
        for kernel in self._kernels:
            kernel.close()
        return self._answer(ready)

    def _kernel(self, name: str, path: str) -> Optional[Contestant]:
        try:
            kernel = cuda_kernel.CudaKernel(kernel_file.read_kernel(path))
            self._kernels.append(kernel)
            launches = [kernel.prepare(*self._sets.inputs[n], *self._sets.outputs[n])
                        for n in range(self._sets.count)]
            self._resources[name] = [vars(r) for r in kernel.resources()]
        except Exception as error:  # whatever is wrong with it is the answer
            self._errors[name] = _text(error)
            return None

        def run(n: int) -> None:
            launches[n](torch.cuda.current_stream().cuda_stream)

        return self._checked(Contestant(name, run), lambda: self._sets.outputs[0])

    def _peer(self, peer: Peer) -> Optional[Contestant]:
        sets = self._sets
        kept: Dict[int, Any] = {}

        def run(n: int) -> Any:
            if peer.takes_outputs:
                return peer.function(*sets.inputs[n], *sets.outputs[n])
            # Its result has memory of its own for each set, as ours has, until the next one: else
            # the allocator gives all of them the same, which stays in the cache.
            kept[n] = peer.function(*sets.inputs[n])
            return kept[n]

        def result() -> Sequence[Any]:
            if peer.takes_outputs:
                return sets.outputs[0]
            got = run(0)
            return got if isinstance(got, tuple) else (got,)

        return self._checked(Contestant(peer.name, run), result, peer.is_counted)

    def _checked(self, contestant: Contestant, result: Any, check: bool = True
                 ) -> Optional[Contestant]:
        """The contestant if a first execution ends and is right. `check`: not of other layouts."""
        try:
            self._sets.poison()
            contestant.run(0)
            torch.cuda.synchronize()
            if check:
                self._wrong[contestant.name] = self._error_of(result())
        except Exception as failure:
            _stop_if_poisoned(failure)
            self._errors[contestant.name] = _text(failure)
            return None
        if check and not self._is_right(contestant.name):
            error = self._wrong[contestant.name]
            self._errors[contestant.name] = f"wrong result: error {error:.2g}"
            return None
        return contestant

    def _is_ready(self, contestant: Contestant) -> bool:
        try:
            contestant.prepare(self._sets.count)
            return True
        except Exception as error:
            _stop_if_poisoned(error)
            self._errors[contestant.name] = _text(error)
            return False

    def _check_after(self, tuned: Optional[Contestant]) -> None:
        """The results of the timed executions, first and last set."""
        if tuned is None:
            return
        for n in {0, self._sets.count - 1}:
            self._sets.poison()
            tuned.run(n)
            torch.cuda.synchronize()
            error = self._error_of(self._sets.outputs[n])
            if not self._is_right_error(error):
                self._wrong[TUNED] = error
                self._errors[TUNED] = f"wrong result in set {n}: error {error:.2g}"

    def _error_of(self, outputs: Sequence[Any]) -> float:
        return error_of(self._operation, outputs, self._references)

    def _is_right(self, name: str) -> bool:
        return self._is_right_error(self._wrong[name])

    def _is_right_error(self, error: float) -> bool:
        if self._operation.compare is not None:
            return error == 0
        is_long = self._operation.reduction_length >= _LONG_SUM
        rounding = max(map(_rounding, self._operation.outputs))
        return error <= (_TOLERANCE_OF_LONG_SUMS if is_long else _TOLERANCE) + rounding

    def _answer(self, ready: List[Contestant]) -> Dict[str, Any]:
        times = {c.name: c.time for c in ready if c.name not in self._errors}
        answer: Dict[str, Any] = {
            "times": times, "errors": self._errors, "largest_error": self._wrong,
            "resources": self._resources, "sets": self._sets.count,
            "without_graph": [c.name for c in ready if not c.is_graph],
            "others": [p.name for p in self._operation.peers if not p.is_counted],
            "notes": self._operation.notes, "ratio_to_best_peer": None, "best_peer": None}
        rounds = {c.name: c.times for c in ready}
        best = _best_peer(self._operation, times)
        if best is not None and TUNED in times:
            answer["best_peer"] = best
            answer["ratio_to_best_peer"] = ratio(rounds[TUNED], rounds[best])
        return answer


def _rounding(buffer: Buffer) -> float:
    """A unit in the last place of what has fewer bits than single precision."""
    dtype = getattr(torch, buffer.dtype)
    is_narrow = dtype.is_floating_point and dtype.itemsize < 4
    return float(torch.finfo(dtype).eps) if is_narrow else 0.0


def error_of(operation: Operation, outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """How far outputs are from what they should be; 0: equal; NaN where one is NaN."""
    if operation.compare is not None:
        return operation.compare(outputs, references)
    errors = [_relative_error(o, r, operation) for o, r in zip(outputs, references)]
    return math.nan if any(math.isnan(error) for error in errors) else max(errors)


def _best_peer(operation: Operation, times: Dict[str, float]) -> Optional[str]:
    counted = [p.name for p in operation.peers if p.is_counted and p.name in times]
    return min(counted, key=lambda name: times[name]) if counted else None


def _relative_error(output: Any, reference: Any, operation: Operation) -> float:
    """Relative to the largest result, or to what sums of that length have. What the type of results
    has no room for is as right as any other value beyond it."""
    most = torch.finfo(output.dtype).max if output.dtype.is_floating_point else math.inf
    scale = max(min(float(reference.abs().max()), most), math.sqrt(operation.reduction_length))
    worst = 0.0
    for got, expected in _pieces(output.reshape(reference.shape), reference):
        error = float((_within(got, most) - _within(expected, most)).abs().max())
        worst = error if math.isnan(error) else max(worst, error)
        if math.isnan(worst):
            return worst
    return worst / scale


def _within(values: Any, most: float) -> Any:
    return values.double().clamp(-most, most)


def _pieces(output: Any, reference: Any) -> List[Tuple[Any, Any]]:
    """Parts of large results, for their copies in double precision are larger still."""
    if reference.dim() == 0:
        return [(output, reference)]
    parts = max(1, reference.numel() >> 27)
    return list(zip(output.chunk(parts), reference.chunk(parts)))


def _compact(reference: Any) -> Any:
    """In single precision where that is exact enough and doubles would fill the memory."""
    return reference.float() if reference.numel() > 1 << 28 else reference


def _text(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {' | '.join(lines[:3])}"[:400]


class DeviceLostError(Exception):
    """The GPU's context cannot be used any more: this process must end."""


def _stop_if_poisoned(error: BaseException) -> None:
    try:
        torch.cuda.synchronize()
    except Exception as poisoned:
        raise DeviceLostError(_text(error)) from poisoned
