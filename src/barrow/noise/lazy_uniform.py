"""Uniform numbers as bit strings that grow on demand, enclosed in balls of arbitrary precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from barrow import heavy
from barrow.noise.source import RandomSource

Ball = Any
"""A real interval with a rigorous radius (``flint.arb``)."""


class LazyUniform:
    """A number uniform on [0, 1], of which only the first bits have been drawn.

    The number is the limit of the whole infinite string. Bits that were drawn never change, so every
    question that is ever asked about the number is answered consistently.

    Args:
        bits: The first ``length`` bits, as an integer.
        length: How many bits are known.
        source: Where further bits come from.
    """

    __slots__ = ("_source", "bits", "length")

    def __init__(self, bits: int, length: int, source: RandomSource) -> None:
        self.bits = bits
        self.length = length
        self._source = source

    @classmethod
    def fresh(cls, source: RandomSource) -> LazyUniform:
        """A number of which nothing has been drawn yet."""
        return cls(0, 0, source)

    @classmethod
    def after_sign(cls, word: int, source: RandomSource) -> tuple[int, LazyUniform]:
        """Reads a word as two's complement: a fair sign, and a number with 63 known bits.

        A word v >= 0 gives (+1, v), a word v < 0 gives (-1, ~v): both parts are uniform and independent,
        and in both cases the magnitude of v, taken as a float, is within one unit of the 63 bits.
        """
        if word < 2**63:
            return 1, cls(word, 63, source)
        return -1, cls(2**64 - 1 - word, 63, source)

    def reach(self, length: int) -> None:
        """Draws bits until at least ``length`` are known."""
        count = -(-(length - self.length) // 64)
        if count > 0:
            for word in self._source.words(count).tolist():
                self.bits = self.bits << 64 | word
            self.length += 64 * count

    def ball(self, precision: int) -> Ball:
        """All numbers that begin with the known bits, at least ``precision`` of them: a closed interval."""
        self.reach(precision)
        middle = heavy.arb((heavy.fmpz(2 * self.bits + 1), heavy.fmpz(-self.length - 1)))
        return heavy.arb(middle, heavy.arb((heavy.fmpz(1), heavy.fmpz(-self.length - 1))))


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Lets ball arithmetic work with ``bits`` bits.

    The setting is global in python-flint, but balls are right at every working precision: another thread that changes
    it costs time, never correctness.

    >>> from flint import ctx
    >>> with working_precision(300):
    ...     ctx.prec
    300
    """
    before = heavy.ctx.prec
    heavy.ctx.prec = bits
    try:
        yield
    finally:
        heavy.ctx.prec = before


def decided(question: Callable[[int], Any]) -> Any:
    """Asks ``question(precision)`` with more and more bits until it answers something else than ``None``.

    There is no cut-off: the loop ends with probability one, because the questions are about numbers with a
    continuous distribution (docs/proofs/exact-noise.md).
    """
    precision = 96
    while True:
        with working_precision(precision + 32):
            answer = question(precision)
        if answer is not None:
            return answer
        precision *= 2
