"""Random numbers that a seed decides to the letter: integers, by SHA-256 of a text and a counter."""

from __future__ import annotations

import hashlib
from typing import List, Sequence, TypeVar

Item = TypeVar("Item")
# What sizes are: anything, odd, prime, or a multiple of what vectors and tiles like.
_FORMS = ("any", "any", "any", "odd", "prime", "multiple")
_MULTIPLE = 16


class Draws:
    """Not thread-safe."""

    def __init__(self, key: str):
        self._key = key
        self._count = 0

    def below(self, limit: int) -> int:
        """0 to limit - 1, equally often."""
        self._count += 1
        digest = hashlib.sha256(f"{self._key}/{self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def choice(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def subset(self, items: Sequence[Item], count: int) -> List[Item]:
        """`count` of them in random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def size(self, least: int, most: int) -> int:
        """Every octave equally often, and equally often each of its numbers; some are made odd,
        prime or a multiple of 16 where that stays in the range."""
        octaves = most.bit_length() - least.bit_length() + 1
        size = 0
        while not least <= size <= most:
            begin = 1 << (least.bit_length() - 1 + self.below(octaves))
            size = begin + self.below(begin)
        formed = _formed(size, self.choice(_FORMS))
        return formed if least <= formed <= most else size


def _formed(size: int, form: str) -> int:
    if form == "odd":
        return size | 1
    if form == "multiple":
        return size // _MULTIPLE * _MULTIPLE
    while form == "prime" and size > 2 and not _is_prime(size):
        size -= 1
    return size


def _is_prime(number: int) -> bool:
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 1
    return number > 1
