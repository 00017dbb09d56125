"""What reads windows of its input: convolutions of layers, pooling, stencils. Images are NHWC,
filters KRSC (of depthwise convolutions RSC), results NPQK."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, List, Tuple

from gpu.operation import Bindings, Buffer, Operation, Peer, compiled
from gpu.pytorch import F

from .contractions import Drawn
from .definition import Definition, affine, einsum, header, larger, point, product, zeros
from .draws import Draws

Pair = Tuple[int, int]


def _extents(sizes: Bindings, stride: Pair, dilation: Pair, padding: Pair) -> Pair:
    """Of an image, of which windows at P x Q places are read."""
    rows, columns = (step * (sizes[outer] - 1) + gap * (sizes[inner] - 1) + 1 - 2 * border
                     for step, gap, border, outer, inner
                     in zip(stride, dilation, padding, "PQ", "RS"))
    return rows, columns


def _window(image: Any, sizes: Bindings, stride: Pair, dilation: Pair, at: Pair) -> Any:
    """The elements that all results have at this place of their windows."""
    rows, columns = (slice(gap * place, gap * place + step * (sizes[outer] - 1) + 1, step)
                     for gap, place, step, outer in zip(dilation, at, stride, "PQ"))
    return image[:, rows, columns]


@dataclass(frozen=True)
class Convolution(Definition):
    """`form`: "plain", "grouped" (G groups of C channels in and K out) or "depthwise"."""

    form: str
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: Pair = (0, 0)

    def text(self, name: str, sizes: Bindings) -> str:
        names = [n.lower() for n in sizes]
        at, combine = point(names), ", ".join("+" if n in "rs" or (
            n == "c" and self.form != "depthwise") else "++" for n in names)
        rows, columns = (affine((step, outer), (gap, inner), constant=-border)
                         for step, outer, gap, inner, border in zip(
                             self.stride, "pq", self.dilation, "rs", self.padding))
        in_channel = "C*g + c" if self.form == "grouped" else "c"
        out_channel = {"plain": "k", "grouped": "K*g + k", "depthwise": "c"}[self.form]
        weights = "(r, s, c)" if self.form == "depthwise" else f"({out_channel}, r, s, c)"
        return (f"{header(name, sizes)}\n"
                f"  out_view<fp32>( y: {at} -> (n, p, q, {out_channel}) ) o\n"
                f"  md_hom<{','.join(sizes)}>( f, ({combine}) ) o\n"
                f"  inp_view<fp32,fp32>( image{self._border()}:\n"
                f"                         {at} -> (n, {rows}, {columns}, {in_channel}),\n"
                f"                       weights: {at} -> {weights} )\n"
                f"where f(image, weights) -> y {{ y = image * weights }}\n")

    def _border(self) -> str:
        if self.padding == (0, 0):
            return ""
        rows, columns = (f"{step}*({outer}-1) + {gap}*({inner}-1) + 1 - {2 * border}"
                         for step, outer, gap, inner, border in zip(
                             self.stride, "PQ", self.dilation, "RS", self.padding))
        channels = "G*C" if self.form == "grouped" else "C"
        return f"[N, {rows}, {columns}, {channels}] else 0"

    def flops(self, sizes: Bindings) -> int:
        return 2 * product(sizes, list(sizes))

    def operation(self, sizes: Bindings) -> Operation:
        is_depthwise = self.form == "depthwise"
        groups = sizes.get("G", sizes["C"] if is_depthwise else 1)
        filters = sizes["C"] if is_depthwise else sizes.get("G", 1) * sizes["K"]
        channels = sizes["C"] if is_depthwise else groups * sizes["C"]
        rows, columns = _extents(sizes, self.stride, self.dilation, self.padding)
        window = (sizes["R"], sizes["S"])
        weights = (*window, channels) if is_depthwise else (filters, *window, sizes["C"])

        # Permuted views of contiguous NHWC data are what PyTorch calls channels_last: no copies.
        def convolve(image: Any, kernel: Any) -> Any:
            kernel = (kernel.permute(2, 0, 1)[:, None] if is_depthwise
                      else kernel.permute(0, 3, 1, 2))
            result = F.conv2d(image.permute(0, 3, 1, 2), kernel, stride=self.stride,
                              padding=self.padding, dilation=self.dilation, groups=groups)
            return result.permute(0, 2, 3, 1).contiguous()

        return Operation(
            inputs=(Buffer((sizes["N"], rows, columns, channels)), Buffer(weights)),
            outputs=(Buffer((sizes["N"], sizes["P"], sizes["Q"], filters)),),
            reference=lambda image, kernel: (self._sum(image, kernel, sizes),),
            peers=(Peer("cuDNN", convolve), compiled("torch.compile", convolve)),
            reduction_length=sizes["R"] * sizes["S"] * (1 if is_depthwise else sizes["C"]))

    def _sum(self, image: Any, kernel: Any, sizes: Bindings) -> Any:
        """By definition, one place of the window after the other."""
        n, p, q, groups = sizes["N"], sizes["P"], sizes["Q"], sizes.get("G", 1)
        image = _padded(image, self.padding)
        total: Any = 0
        for r, s in itertools.product(range(sizes["R"]), range(sizes["S"])):
            part = _window(image, sizes, self.stride, self.dilation, (r, s))
            if self.form == "depthwise":
                total = total + part * kernel[r, s]
                continue
            part = part.reshape(n, p, q, groups, sizes["C"])
            weights = kernel[:, r, s].reshape(groups, sizes["K"], sizes["C"])
            total = total + einsum("npqgc,gkc->npqgk", part, weights).reshape(n, p, q, -1)
        return total


def _padded(image: Any, padding: Pair) -> Any:
    if padding == (0, 0):
        return image
    n, rows, columns, channels = image.shape
    above, left = padding
    larger = zeros((n, rows + 2 * above, columns + 2 * left, channels), image)
    larger[:, above:above + rows, left:left + columns] = image
    return larger


@dataclass(frozen=True)
class Pooling(Definition):
    """The sum ("+") or the largest element ("max") of windows of every channel."""

    operator: str
    stride: Pair

    def text(self, name: str, sizes: Bindings) -> str:
        at = point([n.lower() for n in sizes])
        rows, columns = (affine((step, outer), (1, inner))
                         for step, outer, inner in zip(self.stride, "pq", "rs"))
        op = self.operator
        return (f"{header(name, sizes)}\n"
                f"  out_view<fp32>( y: {at} -> (n, p, q, c) ) o\n"
                f"  md_hom<{','.join(sizes)}>( f, (++, ++, ++, ++, {op}, {op}) ) o\n"
                f"  inp_view<fp32>( image: {at} -> (n, {rows}, {columns}, c) )\n"
                f"where f(image) -> y {{ y = image }}\n")

    def flops(self, sizes: Bindings) -> int:
        return product(sizes, list(sizes))

    def operation(self, sizes: Bindings) -> Operation:
        window = (sizes["R"], sizes["S"])
        rows, columns = _extents(sizes, self.stride, (1, 1), (0, 0))

        def pool(image: Any) -> Any:
            view = image.permute(0, 3, 1, 2)
            result = (F.max_pool2d(view, window, self.stride) if self.operator == "max" else
                      F.avg_pool2d(view, window, self.stride, divisor_override=1))
            return result.permute(0, 2, 3, 1).contiguous()

        return Operation(
            inputs=(Buffer((sizes["N"], rows, columns, sizes["C"])),),
            outputs=(Buffer((sizes["N"], sizes["P"], sizes["Q"], sizes["C"])),),
            reference=lambda image: (self._combined(image, sizes),),
            peers=(Peer("cuDNN", pool), compiled("torch.compile", pool)),
            reduction_length=sizes["R"] * sizes["S"])

    def _combined(self, image: Any, sizes: Bindings) -> Any:
        parts = [_window(image, sizes, self.stride, (1, 1), (r, s))
                 for r, s in itertools.product(range(sizes["R"]), range(sizes["S"]))]
        total = parts[0]
        for part in parts[1:]:
            total = total + part if self.operator == "+" else larger(total, part)
        return total


@dataclass(frozen=True)
class Stencil(Definition):
    """A weighted sum of the neighbours of every point, which are within `radius` of it: all ("box")
    or those on the axes ("star"). `weights`: in sixteenths. The input is larger by the radius on
    every side."""

    rank: int
    radius: int
    shape: str
    weights: Tuple[int, ...]

    @property
    def _offsets(self) -> List[Tuple[int, ...]]:
        return offsets(self.rank, self.radius, self.shape)

    def text(self, name: str, sizes: Bindings) -> str:
        names = [n.lower() for n in sizes]
        accesses = [", ".join(affine((1, n), constant=o) for n, o in zip(names, offset))
                    for offset in self._offsets]
        values = [f"x{n}" for n in range(len(accesses))]
        terms = [f"{weight / 16} * {value}" for weight, value in zip(self.weights, values)]
        view = ",\n                     ".join(f"({access})" for access in accesses)
        return (f"{header(name, sizes)}\n"
                f"  out_view<fp32>( y: {point(names)} -> {point(names)} ) o\n"
                f"  md_hom<{','.join(sizes)}>( f, ({', '.join(['++'] * self.rank)}) ) o\n"
                f"  inp_view<fp32>( x: {point(names)} -> {view} )\n"
                f"where f({', '.join(values)}) -> y {{ y = {' + '.join(terms)} }}\n")

    def flops(self, sizes: Bindings) -> int:
        return product(sizes, list(sizes)) * (2 * len(self.weights) - 1)

    def operation(self, sizes: Bindings) -> Operation:
        extents = tuple(sizes.values())
        width = 2 * self.radius + 1
        kept: List[Any] = []

        def by_definition(x: Any) -> Any:
            terms = [x[tuple(slice(o, o + e) for o, e in zip(offset, extents))] * (weight / 16)
                     for offset, weight in zip(self._offsets, self.weights)]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            return total

        def convolve(x: Any) -> Any:
            if not kept:
                filled = x.new_zeros((1, 1, *[width] * self.rank))
                for offset, weight in zip(self._offsets, self.weights):
                    filled[(0, 0, *offset)] = weight / 16
                kept.append(filled)
            call = (F.conv1d, F.conv2d, F.conv3d)[self.rank - 1]
            return call(x[None, None], kept[0])[0, 0]

        return Operation(
            inputs=(Buffer(tuple(e + 2 * self.radius for e in extents)),),
            outputs=(Buffer(extents),), reference=lambda x: (by_definition(x),),
            peers=(Peer("PyTorch", by_definition), Peer("cuDNN", convolve),
                   compiled("torch.compile", by_definition)),
            reduction_length=len(self.weights))


def offsets(rank: int, radius: int, shape: str) -> List[Tuple[int, ...]]:
    """Of the neighbours from the first element of the window on."""
    every = itertools.product(range(2 * radius + 1), repeat=rank)
    return [o for o in every if shape == "box" or sum(x != radius for x in o) <= 1]


_SQUARES = (1, 3, 3, 3, 5, 7)


def _layer(draws: Draws, channels: Bindings, *, is_reduced: bool = True) -> Bindings:
    """Sizes of a layer; `channels` stand before the window, those that are summed behind it."""
    extent = draws.size(4, 224)
    sizes = {"N": draws.choice((1, 1, 2, 4, 8, 16, 32)), "P": extent,
             "Q": extent if draws.below(3) else draws.size(4, 224), **channels}
    window = draws.choice(_SQUARES if is_reduced else _SQUARES[1:])
    sizes.update({"R": window, "S": window if draws.below(4) else draws.choice((1, 3, 5))})
    return sizes


def _convolution(draws: Draws, form: str, sizes: Bindings, dilation: Pair = (1, 1)) -> Drawn:
    is_padded = draws.below(2) == 1
    padding = (dilation[0] * (sizes["R"] // 2), dilation[1] * (sizes["S"] // 2))
    stride = draws.choice(((1, 1), (1, 1), (2, 2), (2, 1)))
    return Convolution(form, stride, dilation, padding if is_padded else (0, 0)), sizes


def convolutions(draws: Draws) -> Drawn:
    sizes = {**_layer(draws, {"K": draws.size(4, 1024)}), "C": draws.size(1, 1024)}
    return _convolution(draws, "plain", sizes)


def dilated(draws: Draws) -> Drawn:
    sizes = {**_layer(draws, {"K": draws.size(4, 512)}, is_reduced=False), "C": draws.size(1, 512)}
    return _convolution(draws, "plain", sizes, draws.choice(((2, 2), (4, 4), (3, 1))))


def grouped(draws: Draws) -> Drawn:
    sizes = {**_layer(draws, {"G": draws.size(2, 64), "K": draws.size(1, 64)}),
             "C": draws.size(1, 64)}
    return _convolution(draws, "grouped", sizes)


def depthwise(draws: Draws) -> Drawn:
    sizes = _layer(draws, {"C": draws.size(4, 1024)}, is_reduced=False)
    return _convolution(draws, "depthwise", sizes, draws.choice(((1, 1), (1, 1), (2, 2))))


def pooling(draws: Draws) -> Drawn:
    sizes = _layer(draws, {"C": draws.size(4, 1024)}, is_reduced=False)
    stride = (1 + draws.below(sizes["R"]), 1 + draws.below(sizes["S"]))
    return Pooling(draws.choice(("+", "max")), stride), sizes


_MOST_EXTENT = {1: 1 << 26, 2: 8192, 3: 512}
_MOST_NEIGHBOURS = 125


def stencils(draws: Draws) -> Drawn:
    rank, count = 1 + draws.below(3), 0
    while not 1 <= count <= _MOST_NEIGHBOURS:
        radius, shape = 1 + draws.below(4), draws.choice(("star", "box"))
        count = len(offsets(rank, radius, shape))
    weights = tuple((1 + draws.below(15)) * draws.choice((1, -1)) for _ in range(count))
    least = 1024 if rank == 1 else 16
    sizes = {name: draws.size(least, _MOST_EXTENT[rank]) for name in "IJK"[:rank]}
    return Stencil(rank, radius, shape, weights), sizes
