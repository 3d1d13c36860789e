"""The exact distribution of a draw, found by following every way in which its random words can go.

A draw reads 64-bit words from a source and returns something; the code that is shipped is run as it is, with words that
are chosen. Each word is two digits of 32 bits. A digit's values fall into runs within which nothing changes: a run is
taken as one if both of its ends (and, where it is wide, its quarters) lead to the same result under each of several
fixed continuations, which is so for thresholds and for few leading bits, all that samplers compare. Runs that behave
alike are followed once, with their share of the values as probability. What is followed is exact; what was not followed
is stated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.noise import RandomSource
from barrow.noise.source import SeededSource, Words

Draw = Callable[[RandomSource], Hashable]

_DIGIT = 2**32
_LENGTH = 512
"""Words of a fixed continuation."""
_MOST_RUNS = 1024
_WIDE = 2**29


class ScriptedSource(RandomSource):
    """Words that somebody chose, and after them those of a fixed continuation; never private.

    Args:
        words: The words, in order.
        repeat: Whether words beyond the script start again from its beginning, instead of being refused.

    >>> ScriptedSource(np.array([7, 8], dtype=np.uint64)).words(2).tolist()
    [7, 8]
    """

    def __init__(self, words: NDArray[np.uint64], *, repeat: bool = True) -> None:
        self._script, self._repeat, self.used = words, repeat, 0

    @property
    def private(self) -> bool:
        """Always false: the words are known."""
        return False

    def words(self, count: int) -> Words:
        """The next words of the script."""
        start, self.used = self.used, self.used + count
        if self.used <= len(self._script):
            return self._script[start : self.used].copy()
        if not self._repeat:
            raise ParameterError("The script has no more words.", allowed="a longer script", fix="repeat=True")
        return self._script[np.arange(start, self.used) % len(self._script)]


@dataclass(frozen=True)
class Distribution:
    """Exact probabilities of results, and how much probability was not followed.

    Attributes:
        chances: From each result to a lower bound on its probability, exact if nothing is left.
        left: The probability of all ways that were not followed.

    >>> from barrow.noise import uniform_below
    >>> outcome = distribution(lambda source: int(uniform_below([4], source=source)[0]))
    >>> {result: str(chance) for result, chance in sorted(outcome.chances.items())}, outcome.left
    ({0: '1/4', 1: '1/4', 2: '1/4', 3: '1/4'}, Fraction(0, 1))
    """

    chances: dict[Any, Fraction]
    left: Fraction

    def differs_from(self, chances: dict[Any, Fraction]) -> bool:
        """Whether the true distribution cannot be ``chances``: some result is surely too likely or too unlikely.

        >>> Distribution({0: Fraction(3, 4)}, Fraction(1, 8)).differs_from({0: Fraction(1)})
        True
        """
        keys = self.chances.keys() | chances.keys()
        none = Fraction(0)
        return any(
            not self.chances.get(k, none) <= chances.get(k, none) <= self.chances.get(k, none) + self.left for k in keys
        )


def distribution(draw: Draw, *, cut: Fraction = Fraction(1, 2**62), continuations: int = 8) -> Distribution:
    """The distribution of ``draw(source)``, exactly but for ways less likely than ``cut``.

    Args:
        draw: Runs the shipped code once with the given source; its result must be hashable.
        cut: Ways with a smaller probability are not followed, and counted as left.
        continuations: How many fixed continuations tell two ways apart.

    >>> from barrow.noise import exact_binomial
    >>> result = distribution(lambda source: int(exact_binomial([2], 1, 4, source=source)[0]))
    >>> [str(result.chances[k]) for k in (0, 1, 2)]
    ['9/16', '3/8', '1/16']
    """
    follower = _Follower(draw, continuations)
    outcome: dict[Any, Fraction] = {}
    left = Fraction(0)
    ways: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while ways:
        digits, chance = ways.pop()
        result, used = follower.run(digits, 2)
        if 2 * used <= len(digits):
            outcome[result] = outcome.get(result, Fraction(0)) + chance
            continue
        for value, number in follower.runs(digits):
            share = chance * Fraction(number, _DIGIT)
            if share < cut:
                left += share
            else:
                ways.append(((*digits, value), share))
    return Distribution(outcome, left)


def _inside(low: int, high: int) -> list[int]:
    """Values at which a wide run is looked at, too: leading bits may lead away and back again."""
    step = (high - low + 1) // 4
    return [low + step, low + 2 * step, low + 3 * step] if step >= _WIDE else []


class _Follower:
    """Runs a draw with chosen leading digits, and finds the runs of values of the next digit."""

    def __init__(self, draw: Draw, continuations: int) -> None:
        self._draw = draw
        # The first two continuations begin with the least and the largest digit: a threshold inside the next digit is
        # between them, however near to its end it is.
        self._tails = [SeededSource(91 + i).words(_LENGTH) for i in range(continuations + 2)]

    def run(self, digits: tuple[int, ...], tail: int) -> tuple[Hashable, int]:
        """The result with these digits and then a continuation, and how many words were read."""
        words = self._tails[tail].copy()
        if tail < 2:
            digits = (*digits, (_DIGIT - 1) * tail)
        known = len(digits) // 2
        if known:
            pairs = np.array(digits[: 2 * known], dtype=np.uint64).reshape(known, 2)
            words[:known] = pairs[:, 0] << np.uint64(32) | pairs[:, 1]
        if len(digits) % 2:
            words[known] = np.uint64(digits[-1] << 32) | (words[known] & np.uint64(_DIGIT - 1))
        source = ScriptedSource(words)
        result = self._draw(source)
        return result, source.used

    def runs(self, digits: tuple[int, ...]) -> list[tuple[int, int]]:
        """One value and the number of values of each behaviour of the next digit."""
        known: dict[int, tuple[Any, ...]] = {}

        def behaviour(value: int) -> tuple[Any, ...]:
            if value not in known:
                known[value] = tuple(self.run((*digits, value), tail) for tail in range(len(self._tails)))
                if len(known) > 4 * _MOST_RUNS:
                    raise ParameterError(
                        "A draw reads its random words in a way that cannot be followed.",
                        allowed="comparisons with thresholds, and leading bits",
                        fix="audit it by sampling",
                    )
            return known[value]

        groups: dict[tuple[Any, ...], tuple[int, int]] = {}
        open_runs = [(0, _DIGIT - 1)]
        while open_runs:
            low, high = open_runs.pop()
            one = behaviour(low)
            if one == behaviour(high) and all(behaviour(value) == one for value in _inside(low, high)):
                value, number = groups.get(one, (low, 0))
                groups[one] = value, number + high - low + 1
                continue
            middle = (low + high) // 2
            open_runs += [(low, middle), (middle + 1, high)]
        return list(groups.values())
