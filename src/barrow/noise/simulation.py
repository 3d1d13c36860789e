"""Noise that can be replayed, for tests and simulations: never private, and marked so.

Nothing else in barrow takes a seed. Whatever is drawn with a :class:`SeededSource` carries ``private =
False``, and a release refuses it.
"""

from __future__ import annotations

import hashlib

import numpy as np

from barrow.errors import ParameterError
from barrow.noise.source import KeyStream, Source, Words, as_words, checked_count


class SeededSource(Source):
    """A stream that depends on ``seed`` alone: whoever knows the seed can take the noise off again."""

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise ParameterError(f"seed is {seed!r}.", allowed="an integer", fix="SeededSource(1)")
        self._stream = KeyStream(hashlib.sha256(f"barrow simulation {int(seed)}".encode()).digest())

    @property
    def private(self) -> bool:
        """Always false: the stream can be replayed."""
        return False

    def words(self, count: int) -> Words:
        """The next ``count`` words of the stream."""
        return as_words(self._stream.read(8 * checked_count(count)))
