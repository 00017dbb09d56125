"""Contractions in the notation of Einstein's sum convention: einsum("ik,kj->ij", i=4, j=5, k=6)."""

from __future__ import annotations

from typing import Any, List, Tuple

from .assemble import Parts, assemble, slots
from .elements import parameter
from .errors import here, wrong
from .expression import Expression
from .operators import add, cc, mul, pw
from .trace import cast
from .types import as_scalar_type, fp32
from .views import Affine, BufferUse, as_integer


def einsum(
    subscripts: str, *, dtype: Any = fp32, accumulate: Any = None, name: str = "einsum",
    **sizes: int,
) -> Expression:
    """The sum of products over all letters that are not in the output.

    Without "->" the output has the letters that occur once, in alphabetical order. Inputs are
    called A, B, ..., the output `out`. Dimensions are the letters of the output, then the others in
    order of first occurrence. `sizes`: one per letter. `accumulate`: the type in which products are
    computed and added, if it is not `dtype`.

    Errors: ExpressionError.
    """
    operands, output = _parse(subscripts)
    letters = output + "".join(
        dict.fromkeys(c for operand in operands for c in operand if c not in output))
    for letter in sizes:
        if letter not in letters:
            raise wrong(f"'{letter}' has a size, but is not in '{subscripts}'")
    for letter in letters:
        if letter not in sizes:
            raise wrong(f"'{letter}' of '{subscripts}' has no size")
        if as_integer(sizes[letter], f"the size of '{letter}'") < 0:
            raise wrong(f"the size of '{letter}' is {sizes[letter]}, which is negative")
    if not letters:
        raise wrong(f"'{subscripts}' has no dimension")
    type_ = as_scalar_type(dtype, "the operands")

    def use(buffer: str, indices: str) -> BufferUse:
        access = tuple(Affine([int(c == letter) for c in letters]) for letter in indices)
        return BufferUse(buffer, type_, [access], location=here())

    inputs = [use(_operand_name(n), operand) for n, operand in enumerate(operands)]
    arguments = [parameter(slot) for slot in slots(inputs)]
    factors: List[Any] = list(arguments)
    if accumulate is not None and accumulate is not type_:
        wanted = as_scalar_type(accumulate, "accumulate")
        factors = [cast(wanted, argument) for argument in arguments]
    product = factors[0] if len(factors) == 1 else mul(*factors)
    dimensions: List[Tuple[str, int]] = [(c, as_integer(sizes[c], "a size")) for c in letters]
    operators = [cc if c in output else pw(add) for c in letters]
    return assemble(Parts(name, dimensions, inputs, [use("out", output)], arguments, [product],
                          operators, location=here()))


def _operand_name(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"A{number}"


def _parse(subscripts: str) -> Tuple[List[str], str]:
    """Letters of every operand and of the output."""
    text = "".join(subscripts.split())
    left, arrow, output = text.partition("->")
    operands = left.split(",")
    for part in operands + [output]:
        for character in part:
            if not ("a" <= character <= "z" or "A" <= character <= "Z"):
                raise wrong(f"'{character}' in '{subscripts}' is no letter")
    if not arrow:
        output = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    for letter in output:
        if output.count(letter) > 1:
            raise wrong(f"'{letter}' occurs twice in the output of '{subscripts}'")
        if letter not in left:
            raise wrong(f"'{letter}' is in the output of '{subscripts}', but in no operand")
    return operands, output
