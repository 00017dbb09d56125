"""Sums of products: matrices of any aspect ratio, Gram matrices, long sums, tensors of up to eight
dimensions, three operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from gpu.operation import Bindings, Buffer, Operation, Peer, compiled
from gpu.pytorch import torch

from .definition import DTYPES, NARROW, Definition, einsum, header, point
from .draws import Draws

_TYPES = ("fp32", "fp32", "fp32", "fp32", "fp32", "fp16", "bf16", "fp64")
_OPERANDS = "abc"
Drawn = Tuple[Definition, Bindings]


@dataclass(frozen=True)
class Contraction(Definition):
    """By the letters of the indices of operands and result. `is_gram`: both operands are one
    buffer, and i and j are as large."""

    inputs: Tuple[str, ...]
    output: str
    type: str = "fp32"
    is_gram: bool = False

    @property
    def _indices(self) -> str:
        summed = dict.fromkeys(i for operand in self.inputs for i in operand)
        return self.output + "".join(i for i in summed if i not in self.output)

    def _size_name(self, index: str) -> str:
        return "I" if self.is_gram and index == "j" else index.upper()

    def _shape(self, sizes: Bindings, indices: str) -> Tuple[int, ...]:
        return tuple(sizes[self._size_name(i)] for i in indices)

    def text(self, name: str, sizes: Bindings) -> str:
        indices, operands = self._indices, _OPERANDS[:len(self.inputs)]
        combine = ", ".join("++" if i in self.output else "+" for i in indices)
        at = point(indices)
        if self.is_gram:
            view = f"a: {at} -> {', '.join(point(i) for i in self.inputs)}"
        else:
            view = ", ".join(f"{name}: {at} -> {point(i)}"
                             for name, i in zip(operands, self.inputs))
        is_narrow = self.type in NARROW
        factors = " * ".join(f"fp32({o})" if is_narrow else o for o in operands)
        result = "(y: fp32)" if is_narrow else "y"
        types = ",".join([self.type] * (1 if self.is_gram else len(operands)))
        return (f"{header(name, sizes)}\n"
                f"  out_view<{self.type}>( y: {at} -> {point(self.output)} ) o\n"
                f"  md_hom<{','.join(map(self._size_name, indices))}>( f, ({combine}) ) o\n"
                f"  inp_view<{types}>( {view} )\n"
                f"where f({', '.join(operands)}) -> {result} {{ y = {factors} }}\n")

    def flops(self, sizes: Bindings) -> int:
        points = 1
        for extent in self._shape(sizes, self._indices):
            points *= extent
        return points * len(self.inputs)

    def operation(self, sizes: Bindings) -> Operation:
        equation = f"{','.join(self.inputs)}->{self.output}"

        def contract(*operands: Any) -> Any:
            given = operands * 2 if self.is_gram else operands
            result = einsum(equation, *given)
            return result.contiguous() if hasattr(result, "contiguous") else result

        dtype = DTYPES[self.type]
        inputs = self.inputs[:1] if self.is_gram else self.inputs
        length = 1
        for index in self._indices[len(self.output):]:
            length *= sizes[self._size_name(index)]
        matrices = self._matrix_peer()
        return Operation(
            inputs=tuple(Buffer(self._shape(sizes, i), dtype) for i in inputs),
            outputs=(Buffer(self._shape(sizes, self.output), dtype),),
            reference=lambda *operands: (contract(*operands),),
            peers=(*([matrices] if matrices else []), Peer("einsum", contract),
                   compiled("torch.compile", contract)),
            reduction_length=length)

    def _matrix_peer(self) -> Optional[Peer]:
        """The call of cuBLAS that a user would write, with transposed views; None where there are
        several indices of a kind."""
        if len(self.inputs) != 2:
            return None
        left, right = self.inputs
        batch = "".join(i for i in self.output if i in left and i in right)
        kept = [i for i in self.output if i not in batch]
        summed = [i for i in left if i not in self.output]
        if (len(batch) > 1 or not self.output.startswith(batch) or len(summed) != 1
                or set(summed) != set(right) - set(self.output)
                or sum(i in left for i in kept) > 1 or sum(i in right for i in kept) > 1):
            return None
        row = kept[0] if kept else ""
        is_swapped = bool(row) and row in right
        first, second = (right, left) if is_swapped else (left, right)
        column = next((i for i in kept if i in second), "")
        row = next((i for i in kept if i in first), "")

        def multiply(*arguments: Any) -> None:
            given = (arguments[0], *arguments) if self.is_gram else arguments
            a, b = (given[1], given[0]) if is_swapped else given[:2]
            a = _arranged(a, first, (batch, row, summed[0]))
            b = _arranged(b, second, (batch, summed[0], column))
            y = _arranged(given[2], self.output, (batch, row, column))
            if batch:
                torch.bmm(a, b, out=y)
            else:
                torch.mm(a[0], b[0], out=y[0])

        return Peer("cuBLAS", multiply, takes_outputs=True)


def _arranged(array: Any, indices: str, wanted: Tuple[str, ...]) -> Any:
    """A view with these dimensions; those that are empty have one element."""
    view = array.permute(*(indices.index(i) for i in wanted if i)) if indices else array
    for place, index in enumerate(wanted):
        view = view if index else view.unsqueeze(place)
    return view


def _order(draws: Draws, indices: str) -> str:
    return "".join(draws.subset(indices, len(indices)))


def products(draws: Draws) -> Drawn:
    inputs = (_order(draws, "ik"), _order(draws, "kj"))
    sizes = {name: draws.size(1, 8192) for name in "IJK"}
    return Contraction(inputs, draws.choice(("ij", "ij", "ij", "ji")), draws.choice(_TYPES)), sizes


def batched(draws: Draws) -> Drawn:
    inputs = ("b" + _order(draws, "ik"), "b" + _order(draws, "kj"))
    sizes = {"B": draws.size(2, 1024), **{name: draws.size(1, 2048) for name in "IJK"}}
    return Contraction(inputs, "bij", draws.choice(_TYPES)), sizes


def gram(draws: Draws) -> Drawn:
    inputs = draws.choice((("ki", "kj"), ("ik", "jk")))
    sizes = {"I": draws.size(1, 1024), "K": draws.size(1024, 1 << 20)}
    type_ = draws.choice(_TYPES)
    # The diagonal is a sum of K squares, of which fp16 holds 65504 at most.
    if type_ == "fp16" and sizes["K"] > 1 << 15:
        type_ = "bf16"
    return Contraction(inputs, "ij", type_, True), sizes


def long_reductions(draws: Draws) -> Drawn:
    inputs = (_order(draws, "ik"), _order(draws, "kj"))
    sizes = {"I": draws.size(1, 256), "J": draws.size(1, 256), "K": draws.size(4096, 1 << 22)}
    return Contraction(inputs, "ij", draws.choice(_TYPES)), sizes


def contractions(draws: Draws) -> Drawn:
    """Of two tensors, each index in one of them and kept, in both and summed, or rarely in both and
    kept."""
    count = 3 + draws.below(6)
    kinds = ["left", "right", "summed"]
    kinds += [draws.choice(("left", "right", "summed", "left", "right", "summed", "batch"))
              for _ in range(count - 3)]
    letters: Dict[str, List[str]] = {"left": [], "right": [], "summed": [], "batch": []}
    for letter, kind in zip("abcdefgh", kinds):
        letters[kind].append(letter)
    shared = letters["summed"] + letters["batch"]
    left = _order(draws, "".join(letters["left"] + shared))
    right = _order(draws, "".join(letters["right"] + shared))
    output = _order(draws, "".join(letters["left"] + letters["right"] + letters["batch"]))
    most = {3: 2048, 4: 512, 5: 128, 6: 64, 7: 32, 8: 24}[count]
    sizes = {letter.upper(): draws.size(2, most) for letter in "abcdefgh"[:count]}
    return Contraction((left, right), output, draws.choice(_TYPES)), sizes


# Matricised tensor times Khatri-Rao product, chain, weighted product, bilinear form, tensor times
# two matrices.
_THREE = ((("ikl", "kj", "lj"), "ij"), (("ik", "kl", "lj"), "ij"), (("ik", "k", "kj"), "ij"),
          (("bi", "ij", "bj"), "b"), (("ijk", "jl", "km"), "ilm"), (("bik", "kj", "bj"), "bi"))


def three_operands(draws: Draws) -> Drawn:
    inputs, output = draws.choice(_THREE)
    letters = dict.fromkeys("".join(inputs))
    most = 512 if len(letters) > 3 else 4096
    sizes = {letter.upper(): draws.size(4, most) for letter in letters}
    return Contraction(inputs, output, draws.choice(("fp32", "fp32", "fp32", "fp64"))), sizes
