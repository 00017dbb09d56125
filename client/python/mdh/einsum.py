"""Contractions in the notation of Einstein's sum convention: einsum("ik,kj->ij", i=4, j=5, k=6)."""

from __future__ import annotations

import string
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .assemble import Parts, assemble, slots
from .elements import parameter
from .epilogue import epilogue_of
from .errors import count, here, wrong
from .expression import Expression
from .operators import add, and_, cc, mul, or_, pw
from .trace import cast
from .types import ScalarType, as_scalar_type, bool_, fp32
from .views import Affine, BufferUse, as_integer

_ELLIPSIS = "..."
Word = List[str]  # letters, and "...", or what that stands for: "e1", "e2", ...


def einsum(
    subscripts: str, *shapes: Any, dtype: Any = fp32, out_dtype: Any = None, accumulate: Any = None,
    epilogue: Optional[str] = None, name: str = "einsum", **sizes: int,
) -> Expression:
    """The sum of products over all letters that are not in the output.

    Without "->" the output has the dimensions of "...", then the letters that occur once, in
    alphabetical order. Inputs are called A, B, ..., the output `out`. Dimensions are those of the
    output, then the others in order of first occurrence.

    `shapes`: one per operand, as a sequence of extents or anything with a `shape`, such as an array; a
    dimension of one element fits any size. "..." stands for the dimensions of an operand that have
    no letter, aligned at the last one, and needs shapes. `sizes`: one per letter that no shape gives.
    `dtype`: of the operands. `out_dtype`: of the output, if it is another one. `accumulate`: the type
    in which products are computed and added, by default the one of both that holds more.

    `epilogue`: what is made of the sums, `out`, before they are stored, as an expression of Python:
    "max(out + bias[j], 0) + skip[i, j]". Buffers that it names have the type of the operands, are read
    in that of the sums, and follow the operands in a call, unless they are called A, B, ... as these are.

    Errors: ExpressionError.
    """
    operands, output, extents = _operands(subscripts, shapes)
    letters = list(dict.fromkeys(output + [c for operand in operands for c in operand]))
    known = _sizes(subscripts, operands, letters, extents, sizes)
    if not letters:
        raise wrong(f"'{subscripts}' has no dimension")
    type_ = as_scalar_type(dtype, "the operands")
    out_type = type_ if out_dtype is None else as_scalar_type(out_dtype, "the output")
    combined = _wider(type_, out_type)
    if accumulate is not None:
        combined = as_scalar_type(accumulate, "accumulate")

    def use(buffer: str, type_: ScalarType, indices: Word, shape: Optional[Sequence[int]]) -> BufferUse:
        access = tuple(
            Affine([int(c == letter and (shape is None or shape[x] == known[c])) for c in letters])
            for x, letter in enumerate(indices))
        return BufferUse(buffer, type_, [access], location=here())

    inputs = [use(_operand_name(n), type_, operand, extents[n] if extents else None)
              for n, operand in enumerate(operands)]
    arguments = [parameter(slot) for slot in slots(inputs)]
    factors: List[Any] = list(arguments)
    if combined is not type_:
        factors = [cast(combined, argument) for argument in arguments]
    times, plus = (and_, or_) if combined is bool_ else (mul, add)
    product = factors[0] if len(factors) == 1 else times(*factors)
    parts = Parts(
        name, [(c, known[c]) for c in letters], inputs, [use("out", out_type, output, None)], arguments,
        [product], [cc if c in output else pw(plus) for c in letters], location=here())
    if epilogue is not None:
        parts.store, parts.finished = epilogue_of(
            epilogue, letters, [known[c] for c in letters], len(output), type_, combined)
    return assemble(parts)


def without_ellipsis(subscripts: str, shapes: Sequence[Sequence[int]]) -> Tuple[str, List[List[int]]]:
    """The same for operands of these shapes in letters alone, with the output; and of each operand the
    dimensions of one element whose letter has more elsewhere: they have no letter any more.
    Errors: ExpressionError."""
    operands, output, extents = _operands(subscripts, shapes)
    names = list(dict.fromkeys(output + [c for operand in operands for c in operand]))
    known = _sizes(subscripts, operands, names, extents, {})
    free = iter(letter for letter in string.ascii_letters if letter not in names)
    letter_of = {name: name if len(name) == 1 else next(free, "") for name in names}
    if not all(letter_of.values()):
        raise wrong(f"'{subscripts}' has more dimensions than there are letters")
    dropped = [[x for x, name in enumerate(word) if shape[x] == 1 and known[name] > 1]
               for word, shape in zip(operands, extents)]
    words = ["".join(letter_of[name] for x, name in enumerate(word) if x not in axes)
             for word, axes in zip(operands, dropped)]
    return f"{','.join(words)}->{''.join(letter_of[name] for name in output)}", dropped


def _operand_name(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"A{number}"


def _wider(a: ScalarType, b: ScalarType) -> ScalarType:
    """Of two types the one that holds more."""
    if a is not b and a.is_floating_point and b.is_floating_point and a.size_bytes == b.size_bytes:
        return fp32

    def rank(type_: ScalarType) -> Tuple[int, int]:
        return (2 if type_.is_floating_point else 1 if type_.is_integer else 0, type_.size_bytes)

    return a if rank(a) > rank(b) else b


def _shape(given: Any) -> List[int]:
    extents = [as_integer(extent, "an extent") for extent in getattr(given, "shape", given)]
    for extent in extents:
        if extent < 0:
            raise wrong(f"an extent is {extent}, which is negative")
    return extents


def _parse(subscripts: str) -> Tuple[List[Word], Optional[Word]]:
    """Letters of every operand and of the output; None: it is not given."""
    text = "".join(subscripts.split())
    left, arrow, output = text.partition("->")

    def word(part: str) -> Word:
        if part.count(_ELLIPSIS) > 1:
            raise wrong(f"'...' is twice in '{part}' of '{subscripts}'")
        before, dots, behind = part.partition(_ELLIPSIS)
        for character in before + behind:
            if not ("a" <= character <= "z" or "A" <= character <= "Z"):
                raise wrong(f"'{character}' in '{subscripts}' is no letter")
        return list(before) + ([_ELLIPSIS] if dots else []) + list(behind)

    return [word(part) for part in left.split(",")], word(output) if arrow else None


def _expand(subscripts: str, operands: List[Word], output: Optional[Word],
            shapes: List[List[int]]) -> Tuple[List[Word], Optional[Word]]:
    """The same with names in the place of "...": the last ones of e1, e2, ..."""
    if not shapes:
        if any(_ELLIPSIS in word for word in [*operands, output or []]):
            raise wrong(f"what '...' in '{subscripts}' stands for follows from the shapes of the "
                        "operands: give them, as in einsum('...i,i->...', (8, 16), (16,))")
        return operands, output
    if len(shapes) != len(operands):
        raise wrong(f"'{subscripts}' has {count(len(operands), 'operand')}, but there "
                    f"{'is' if len(shapes) == 1 else 'are'} {count(len(shapes), 'shape')}")
    ranks = []
    for number, (word, shape) in enumerate(zip(operands, shapes)):
        letters = len(word) - word.count(_ELLIPSIS)
        if len(shape) < letters or (_ELLIPSIS not in word and len(shape) > letters):
            raise wrong(f"operand {number + 1} of '{subscripts}' has {count(letters, 'letter')}, but its "
                        f"shape {tuple(shape)} has {count(len(shape), 'dimension')}")
        ranks.append(len(shape) - letters)
    most = max(ranks)
    if output is not None and _ELLIPSIS not in output and most > 0:
        raise wrong(f"the output of '{subscripts}' lacks '...'")

    def expanded(word: Word, rank: int) -> Word:
        if _ELLIPSIS not in word:
            return word
        at = word.index(_ELLIPSIS)
        return word[:at] + [f"e{n + 1}" for n in range(most - rank, most)] + word[at + 1:]

    return ([expanded(word, rank) for word, rank in zip(operands, ranks)],
            None if output is None else expanded(output, most))


def _operands(subscripts: str,
              shapes: Sequence[Any]) -> Tuple[List[Word], Word, List[List[int]]]:
    """The names of the dimensions of every operand and of the output, and the operands' extents."""
    operands, output = _parse(subscripts)
    extents = [_shape(shape) for shape in shapes]
    operands, output = _expand(subscripts, operands, output, extents)
    if output is None:
        output = _implicit_output(operands)
    _check_output(subscripts, operands, output)
    return operands, output, extents


def _implicit_output(operands: List[Word]) -> Word:
    names = [name for operand in operands for name in operand]
    of_ellipsis = sorted({name for name in names if len(name) > 1}, key=lambda name: int(name[1:]))
    return of_ellipsis + sorted(name for name in names if len(name) == 1 and names.count(name) == 1)


def _check_output(subscripts: str, operands: List[Word], output: Word) -> None:
    for letter in output:
        if output.count(letter) > 1:
            raise wrong(f"'{letter}' occurs twice in the output of '{subscripts}'")
        if not any(letter in operand for operand in operands):
            raise wrong(f"'{letter}' is in the output of '{subscripts}', but in no operand")


def _sizes(subscripts: str, operands: List[Word], letters: Word, shapes: List[List[int]],
           given: Dict[str, int]) -> Dict[str, int]:
    """The size of every letter."""
    known: Dict[str, int] = {}
    for word, shape in zip(operands, shapes):
        own: Dict[str, int] = {}
        for letter, extent in zip(word, shape):
            if known.setdefault(letter, extent) == 1:
                known[letter] = extent
            before = own.setdefault(letter, extent)
            if before != extent or extent not in (1, known[letter]):
                raise wrong(f"'{letter}' of '{subscripts}' has {count(extent, 'element')} in one place, "
                            f"but {before if before != extent else known[letter]} in another")
    for letter, size in given.items():
        if letter not in letters:
            raise wrong(f"'{letter}' has a size, but is not in '{subscripts}'")
        size = as_integer(size, f"the size of '{letter}'")
        if size < 0:
            raise wrong(f"the size of '{letter}' is {size}, which is negative")
        if known.get(letter, 1) not in (1, size):
            raise wrong(f"the size of '{letter}' is {size}, but its operands have "
                        f"{count(known[letter], 'element')}")
        known[letter] = size
    for letter in letters:
        if letter not in known:
            raise wrong(f"'{letter}' of '{subscripts}' has no size")
    return known
