"""Exact coins, and shares of discrete Laplace noise that several parties draw apart (docs/proofs/summed.md, Section 3).

A geometric variable is its binary digits, which are independent coins; a negative binomial one is what a Pólya urn
keeps of a geometric one. Every coin compares a uniform number, read word by word, with an exact chance: no float
decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.noise.counts.uniform_int import Integers, uniform_below
from barrow.noise.source import RandomSource, checked_source
from barrow.numerics import whole

_BITS = 64
_LEAST = Fraction(1, 2**48)
"""1 - p is at least this: a draw then stays far below 2^62."""


@dataclass(frozen=True)
class Chance:
    """The number r or r/(1 + r), for r = ratio^(2^place): the chance of a coin, enclosed as narrowly as is asked.

    >>> Chance(Fraction(1, 3)).enclosed(4), Chance(Fraction(1, 3), place=1, digit=True).enclosed(8)
    ((5, 6), (25, 26))
    """

    ratio: Fraction
    place: int = 0
    digit: bool = False

    def enclosed(self, bits: int) -> tuple[int, int]:
        """Whole numbers with low <= 2^bits chance <= high; high - low is at most 2."""
        if self.place == 0:
            value = self.ratio / (1 + self.ratio) if self.digit else self.ratio
            scaled = value.numerator << bits
            return scaled // value.denominator, -(-scaled // value.denominator)
        inner = bits + 2 * self.place + 16
        scaled = self.ratio.numerator << inner
        low, high = scaled // self.ratio.denominator, -(-scaled // self.ratio.denominator)
        for _ in range(self.place):
            low, high = low * low >> inner, -(-high * high >> inner)
        if self.digit:
            one = 1 << inner
            low, high = (low << inner) // (one + low), -(-(high << inner) // (one + high))
        return low >> inner - bits, -(-high >> inner - bits)

    @cached_property
    def words(self) -> tuple[int, int]:
        """Below the first word a coin comes up, from the second one on it does not; between them more are read."""
        return self.enclosed(_BITS)

    def decides(self, word: int, source: RandomSource) -> bool:
        """Whether a uniform number that begins with ``word`` is below the chance; it reads on while that is open."""
        bits, known = _BITS, word
        low, high = self.words
        while known < high and known >= low:
            known = known << _BITS | int(source.words(1)[0])
            bits += _BITS
            low, high = self.enclosed(bits)
        return known < low


def flip(chances: Sequence[Chance], source: RandomSource) -> NDArray[np.bool_]:
    """One independent coin for each chance; a word each, and more only where that leaves it open.

    >>> from barrow.noise.source import SeededSource
    >>> flip([Chance(Fraction(1)), Chance(Fraction(0))], SeededSource(1)).tolist()
    [True, False]
    """
    words = source.words(len(chances)).tolist()
    result = np.empty(len(chances), dtype=np.bool_)
    for i, (word, chance) in enumerate(zip(words, chances, strict=True)):
        low, high = chance.words
        result[i] = word < low if word < low or word >= high else chance.decides(word, source)
    return result


def rounded_at_random(values: Sequence[Fraction], *, source: RandomSource | None = None) -> list[int]:
    """Each value v as floor(v + U), with U uniform and independent: up by a coin on the exact fraction.

    >>> rounded_at_random([Fraction(3), Fraction(-2)]), rounded_at_random([Fraction(5, 2)])[0] in (2, 3)
    ([3, -2], True)
    """
    floors = [value.numerator // value.denominator for value in values]
    parts = [Chance(value - floor) for value, floor in zip(values, floors, strict=True)]
    up = flip(parts, checked_source(source))
    return [floor + int(more) for floor, more in zip(floors, up.tolist(), strict=True)]


@lru_cache(maxsize=4096)
def _digits(p: Fraction) -> tuple[tuple[Chance, ...], Chance]:
    """The coins of the low binary digits of a geometric variable, and the chance of one more of the next power."""
    place = 0
    while Chance(p, place).words[0] >= 2 ** (_BITS - 1):
        place += 1
    return tuple(Chance(p, i, digit=True) for i in range(place)), Chance(p, place)


def geometric(ratios: Sequence[Fraction], *, source: RandomSource | None = None) -> Integers:
    """For each p an independent K with P[K = k] = (1 - p) p^k, exactly.

    The digits of K are independent, that of 2^i being 1 with chance p^(2^i)/(1 + p^(2^i)); what is left above 2^I is
    geometric again, with p^(2^I), and is counted one by one.

    >>> bool((geometric([Fraction(1, 2)] * 5) >= 0).all())
    True
    """
    origin, coins = checked_source(source), [_digits(_checked(p)) for p in ratios]
    result = np.zeros(len(ratios), dtype=np.int64)
    for place in range(max((len(low) for low, _ in coins), default=0)):
        here = np.array([i for i, (low, _) in enumerate(coins) if len(low) > place], dtype=np.int64)
        ones = flip([coins[i][0][place] for i in here.tolist()], origin)
        result[here[ones]] += 1 << place
    left = np.arange(len(ratios))
    while left.size:
        left = left[flip([coins[i][1] for i in left.tolist()], origin)]
        result[left] += np.array([1 << len(coins[i][0]) for i in left.tolist()], dtype=np.int64)
    return result


def kept_by_urn(balls: Integers, parts: int, *, source: RandomSource | None = None) -> Integers:
    """What a Pólya urn keeps of so many balls: the next with chance (1/parts + kept)/(1 + seen).

    Of a geometric number of balls it keeps a negative binomial one, NB(1/parts, p).

    >>> kept_by_urn(np.array([7, 0]), 1).tolist()
    [7, 0]
    """
    origin, share = checked_source(source), whole(parts, "parts")
    if share == 1:
        return balls.copy()
    kept = np.zeros(len(balls), dtype=np.int64)
    left, seen = np.flatnonzero(balls > 0), 0
    while left.size:
        places = uniform_below(np.full(left.size, share * (1 + seen), dtype=np.int64), source=origin)
        kept[left] += places < 1 + share * kept[left]
        seen += 1
        left = left[balls[left] > seen]
    return kept


def noise_shares(ratios: Sequence[Fraction], parts: int, *, source: RandomSource | None = None) -> Integers:
    """X - X' for each p, with X and X' independent NB(1/parts, p): ``parts`` such shares add up to discrete Laplace.

    The sum of ``parts`` independent shares has P[k] = (1 - p)/(1 + p) p^|k|.

    Args:
        ratios: p, one for each number that gets noise.
        parts: How many honest parties there are at least.
        source: Where random words come from.

    >>> noise_shares([Fraction(1, 2), Fraction(128, 129)], 2).shape
    (2,)
    """
    origin = checked_source(source)
    both = geometric([*ratios, *ratios], source=origin)
    kept = kept_by_urn(both, parts, source=origin)
    return np.asarray(kept[: len(ratios)] - kept[len(ratios) :])


def _checked(p: Fraction) -> Fraction:
    if not isinstance(p, Fraction) or not 0 < p <= 1 - _LEAST:
        raise ParameterError(
            f"p is {p!s:.60}.", allowed="an exact fraction above 0 and below 1", fix="p=Fraction(128, 129)"
        )
    return p
