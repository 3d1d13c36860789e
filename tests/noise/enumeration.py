"""Every string of fair bits, one after the other: the exact distribution of whatever is drawn from a source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction

import numpy as np

from barrow.noise.source import RandomSource, Words


class _NeedMoreError(Exception):
    def __init__(self, count: int) -> None:
        self.count = count


class ScriptedSource(RandomSource):
    """Hands out words that were fixed beforehand, and asks for more when they are used up."""

    def __init__(self, script: tuple[int, ...], bits: int) -> None:
        self._script, self._bits, self._next = script, bits, 0

    @property
    def private(self) -> bool:
        return False

    def words(self, count: int) -> Words:
        taken = self._script[self._next : self._next + count]
        if len(taken) < count:
            raise _NeedMoreError(count - len(taken))
        self._next += count
        return np.array([v << (64 - self._bits) for v in taken], dtype=np.uint64)


def exact_distribution(
    draw: Callable[[RandomSource], Hashable], *, bits: int, words: int
) -> tuple[dict[Hashable, Fraction], Fraction]:
    """The probability of each outcome decided within ``words`` words, and the probability of the rest.

    Only the first ``bits`` bits of each word may matter, which is the caller's claim: the others are 0.
    """
    distribution: dict[Hashable, Fraction] = defaultdict(Fraction)
    rest = Fraction(0)
    stack: list[tuple[int, ...]] = [()]
    while stack:
        script = stack.pop()
        try:
            distribution[draw(ScriptedSource(script, bits))] += Fraction(1, 2 ** (bits * len(script)))
        except _NeedMoreError:
            if len(script) == words:
                rest += Fraction(1, 2 ** (bits * len(script)))
            else:
                stack.extend((*script, v) for v in range(2**bits))
    return dict(distribution), rest
