"""Reductions of rows, columns and what lies between, with several operators; prefix sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Sequence, Tuple

from gpu.operation import Bindings, Buffer, Operation, Peer, compiled

from .contractions import Drawn
from .definition import DTYPES, Definition, header, point, product
from .draws import Draws

Axes = Tuple[int, ...]


def _most(x: Any, axes: Axes) -> Any:
    return x.amax(axes) if hasattr(x, "amax") else x.max(axes)


def _least(x: Any, axes: Axes) -> Any:
    return x.amin(axes) if hasattr(x, "amin") else x.min(axes)


def _place(x: Any, axes: Axes) -> Tuple[Any, Any]:
    """The largest elements and where they are, of one axis."""
    if hasattr(x, "amax"):
        return tuple(x.max(axes[0]))  # type: ignore[return-value]
    return x.max(axes[0]), x.argmax(axes[0])


def _statistics(x: Any, axes: Axes) -> Tuple[Any, Any]:
    shape = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]
    largest = _most(x, axes)
    differences = x - largest.reshape(shape)
    terms = differences.exp() if hasattr(x, "exp") else 2.718281828459045235 ** differences
    return largest, terms.sum(axes)


@dataclass(frozen=True)
class _Operator:
    """`function` and `combine` as in the text; `k` stands for the index that is reduced. `compute`
    is right for both libraries."""

    function: str
    combine: str
    compute: Callable[[Any, Axes], Any]
    helper: str = ""  # the combine function's text
    types: Tuple[str, ...] = ("",)  # of results; "": as the input's
    flops: int = 1  # of every point
    is_exact: bool = False  # results are elements or numbers of them


_LARGER = """,
      larger(v1, p1, v2, p2) -> (v, p) {
        let first_is_nan = v1 != v1 && (v2 == v2 || p1 < p2);
        let takes_first = v1 > v2 || (v1 == v2 && p1 < p2) || first_is_nan;
        v = takes_first ? v1 : v2;
        p = takes_first ? p1 : p2
      }"""
_RESCALED = """,
      rescaled(m1, s1, m2, s2) -> (m, s) identity (-inf, 0) {
        let larger = max(m1, m2);
        m = larger;
        s = s1 * (m1 == larger ? 1 : exp(m1 - larger)) + s2 * (m2 == larger ? 1 : exp(m2 - larger))
      }"""
_OPERATORS: Dict[str, _Operator] = {
    "sum": _Operator("y = x", "+", lambda x, axes: x.sum(axes)),
    "largest": _Operator("y = x", "max", _most, is_exact=True),
    "least": _Operator("y = x", "min", _least, is_exact=True),
    "squares": _Operator("y = x * x", "+", lambda x, axes: (x * x).sum(axes), flops=2),
    "magnitudes": _Operator("y = abs(x)", "+", lambda x, axes: abs(x).sum(axes), flops=2),
    "sum_and_largest": _Operator("y = x; z = x", "(+, max)",
                                 lambda x, axes: (x.sum(axes), _most(x, axes)), types=("", ""),
                                 flops=2),
    "position": _Operator("y = x; z = k", "larger", _place, _LARGER, ("", "int64"), is_exact=True),
    "statistics": _Operator("y = x; z = x == x ? 1 : x", "rescaled", _statistics, _RESCALED,
                            ("", ""), flops=4),
}
OPERATORS = tuple(_OPERATORS)


@dataclass(frozen=True)
class Reduction(Definition):
    """Of the input's indices, in their order in memory, to those that are not `reduced`."""

    operator: str
    input: str
    reduced: str
    type: str = "fp32"

    @property
    def _kept(self) -> str:
        return "".join(i for i in self.input if i not in self.reduced)

    @property
    def _types(self) -> Tuple[str, ...]:
        return tuple(t or self.type for t in _OPERATORS[self.operator].types)

    def text(self, name: str, sizes: Bindings) -> str:
        operator, types = _OPERATORS[self.operator], self._types
        indices = self._kept + self.reduced
        combine = ", ".join("++" if i in self._kept else operator.combine for i in indices)
        results = ("y", "z")[:len(types)]
        outputs = ", ".join(f"{r}: {point(indices)} -> {point(self._kept)}" for r in results)
        written = results[0] if len(results) == 1 else f"({', '.join(results)})"
        function = operator.function.replace("= k", f"= {self.reduced[0]}")
        return (f"{header(name, sizes)}\n"
                f"  out_view<{','.join(types)}>( {outputs} ) o\n"
                f"  md_hom<{','.join(i.upper() for i in indices)}>( f, ({combine}) ) o\n"
                f"  inp_view<{self.type}>( x: {point(indices)} -> {point(self.input)} )\n"
                f"where f(x) -> {written} {{ {function} }}{operator.helper}\n")

    def flops(self, sizes: Bindings) -> int:
        return product(sizes, list(sizes)) * _OPERATORS[self.operator].flops

    def operation(self, sizes: Bindings) -> Operation:
        operator = _OPERATORS[self.operator]
        axes = tuple(n for n, i in enumerate(self.input) if i in self.reduced)

        def compute(x: Any) -> Any:
            return operator.compute(x, axes)

        def reference(x: Any) -> Tuple[Any, ...]:
            result = compute(x)
            return result if isinstance(result, tuple) else (result,)

        kept = tuple(sizes[i.upper()] for i in self._kept)
        return Operation(
            inputs=(Buffer(tuple(sizes[i.upper()] for i in self.input), DTYPES[self.type]),),
            outputs=tuple(Buffer(kept, DTYPES[t]) for t in self._types), reference=reference,
            peers=(Peer("PyTorch", compute), compiled("torch.compile", compute)),
            reduction_length=1 if operator.is_exact else product(
                sizes, [i.upper() for i in self.reduced]),
            compare=_unequal if operator.is_exact else None)


def _unequal(outputs: Sequence[Any], references: Sequence[Any]) -> float:
    """The share of elements that are not equal."""
    unequal = sum(int((a.double() != b.double()).sum()) for a, b in zip(outputs, references))
    return unequal / sum(b.numel() for b in references)


@dataclass(frozen=True)
class Scan(Definition):
    """Prefix sums or maxima of the input's indices `scanned`, of what remains when those `reduced`
    are."""

    input: str
    scanned: str
    reduced: str = ""
    operator: str = "+"

    @property
    def _kept(self) -> str:
        return "".join(i for i in self.input if i not in self.reduced)

    def text(self, name: str, sizes: Bindings) -> str:
        combine = ", ".join(
            f"ps({self.operator})" if i in self.scanned else
            self.operator if i in self.reduced else "++" for i in self.input)
        at = point(self.input)
        return (f"{header(name, sizes)}\n"
                f"  out_view<fp32>( y: {at} -> {point(self._kept)} ) o\n"
                f"  md_hom<{','.join(sizes)}>( f, ({combine}) ) o\n"
                f"  inp_view<fp32>( x: {at} -> {at} )\n"
                f"where f(x) -> y {{ y = x }}\n")

    def flops(self, sizes: Bindings) -> int:
        return product(sizes, list(sizes))

    def operation(self, sizes: Bindings) -> Operation:
        def compute(x: Any) -> Any:
            axes = tuple(n for n, i in enumerate(self.input) if i in self.reduced)
            if axes:
                x = x.sum(axes) if self.operator == "+" else _most(x, axes)
            for index in self.scanned:
                x = _scanned(x, self._kept.index(index), self.operator)
            return x

        return Operation(
            inputs=(Buffer(tuple(sizes[i.upper()] for i in self.input)),),
            outputs=(Buffer(tuple(sizes[i.upper()] for i in self._kept)),),
            reference=lambda x: (compute(x),),
            peers=(Peer("PyTorch", compute), compiled("torch.compile", compute)),
            reduction_length=product(sizes, [i.upper() for i in self.scanned + self.reduced]),
            compare=_unequal if self.operator == "max" else None)


def _scanned(x: Any, axis: int, operator: str) -> Any:
    if operator == "+":
        return x.cumsum(axis)
    if hasattr(x, "cummax"):
        return x.cummax(axis)[0]
    import numpy
    return numpy.maximum.accumulate(x, axis)


def _type(draws: Draws) -> str:
    return draws.choice(("fp32", "fp32", "fp32", "fp32", "fp64"))


def rows(draws: Draws) -> Drawn:
    """The last index in memory is reduced, or the last two, or all."""
    operator, form = draws.choice(OPERATORS), draws.choice(("ik", "ik", "ik", "ijk", "k"))
    sizes = {i.upper(): draws.size(2, {1: 1 << 26, 2: 65536, 3: 1024}[len(form)]) for i in form}
    reduced = "jk" if form == "ijk" and operator != "position" else "k"
    return Reduction(operator, form, reduced, _type(draws)), sizes


def columns(draws: Draws) -> Drawn:
    """The first index is reduced, or one between, or the first and the last."""
    operator = draws.choice(OPERATORS)
    form, reduced = draws.choice((("ki", "k"), ("ki", "k"), ("ikj", "k"), ("kil", "kl")))
    if operator == "position" and len(reduced) > 1:
        reduced = "k"
    sizes = {i.upper(): draws.size(2, 65536 if len(form) == 2 else 1024) for i in form}
    return Reduction(operator, form, reduced, _type(draws)), sizes


def scans(draws: Draws) -> Drawn:
    form, scanned, reduced = draws.choice((
        ("i", "i", ""), ("i", "i", ""), ("ij", "j", ""), ("ij", "i", ""), ("ij", "ij", ""),
        ("ij", "i", "j")))
    least, most = (1024, 1 << 26) if form == "i" else (2, 8192)
    sizes = {i.upper(): draws.size(least, most) for i in form}
    return Scan(form, scanned, reduced, draws.choice(("+", "+", "+", "max"))), sizes
