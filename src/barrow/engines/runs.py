"""Uniform draws from rows (first of its user?, size of the user, records in the row) that come user by user.

The user's size comes with each row, so a user may go on in the next piece: given how many draws are open, those that
fall into a piece are an exact binomial, and uniform within it (docs/proofs/projection.md, Section 6).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from barrow.engines.base import refuse_changed
from barrow.engines.sampling import batches, check_samples
from barrow.noise import Source, exact_binomial, uniform_places
from barrow.noise.source import checked_source

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class RunSampler:
    """Draws ``samples`` of each user's records with replacement; of a user it sees only where the rows begin.

    Args:
        samples: s, how many are drawn from each user.
        source: Where random words come from.

    >>> sampler = RunSampler(3)
    >>> weights = sampler.draw(np.array([True, False, True]), np.array([5, 5, 1]), np.array([2, 3, 1]))
    >>> int(weights[0] + weights[1]), int(weights[2]), sampler.users
    (3, 3, 2)
    >>> sampler.finish()
    """

    def __init__(self, samples: int, source: Source | None = None) -> None:
        self._samples = check_samples(samples)
        self._source = checked_source(source)
        self._rest = self._open = 0  # of the user at the end of the last piece
        self._drawn = 0
        self.users = 0

    @property
    def private(self) -> bool:
        """Whether the randomness was the system's."""
        return self._source.private

    def draw(self, new: Flags, sizes: Integers, counts: Integers) -> Integers:
        """How often records of each row of the next piece are drawn.

        Args:
            new: Whether a row is the first of its user.
            sizes: How many records the row's user holds in all.
            counts: How many records the row stands for.
        """
        weights = np.zeros(len(counts), dtype=np.int64)
        if not len(counts):
            return weights
        starts = np.flatnonzero(new)
        if len(starts) == 0 or starts[0] != 0:
            starts = np.append(0, starts)
        ends = np.append(starts[1:], len(counts))
        held = np.cumsum(counts)
        firsts = np.append(0, held[ends[:-1] - 1])
        here = held[ends - 1] - firsts
        rest = sizes[starts].astype(np.int64)
        open_draws = np.full(len(starts), self._samples, dtype=np.int64)
        if not new[0]:
            rest[0], open_draws[0] = self._rest, self._open
        elif self._rest or self._open:
            raise refuse_changed()
        if (here > rest).any() or (rest[:-1] != here[:-1]).any() or (counts <= 0).any():
            raise refuse_changed()
        drawn = open_draws.copy()
        if here[-1] < rest[-1]:  # only the last user can go on in the next piece
            drawn[-1:] = exact_binomial(open_draws[-1:], here[-1:], rest[-1:], source=self._source)
        self._rest, self._open = int(rest[-1] - here[-1]), int(open_draws[-1] - drawn[-1])
        self.users += int(np.count_nonzero(new))
        self._drawn += int(drawn.sum())
        for low, high in batches(drawn):
            times = drawn[low:high]
            places = np.repeat(firsts[low:high], times)
            places += uniform_places(np.repeat(here[low:high], times), source=self._source)
            np.add.at(weights, np.searchsorted(held, places, side="right"), 1)
        return weights

    def finish(self) -> None:
        """Refuse rows that were fewer than their users' sizes say."""
        if self._rest or self._open or self._drawn != self._samples * self.users:
            raise refuse_changed()
