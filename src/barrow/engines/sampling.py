"""How often each record is drawn: s uniform draws with replacement from each user, a piece of records at a time.

Engines give anonymous numbers of users in the order of the records and get back a weight for each record; users and
items stay where they are. Any order of the records will do, and the pieces may be cut anywhere: given how many of a
user's draws are still open, those that fall into a piece are an exact binomial, and uniform within it
(docs/proofs/projection.md, Section 6).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow import heavy, noise
from barrow.engines.counts import Integers, Sampled, known_items, refuse_changed, refuse_states, refuse_too_many
from barrow.noise.source import RandomSource, checked_source
from barrow.numerics import MOST_RECORDS, whole
from barrow.numerics.limits import total
from barrow.queries.profiles import Profiles
from barrow.spaces.space import Unknown

MOST_SAMPLES = 10**7
_DRAWS_AT_ONCE = 2**22
"""Draws held at once, whatever the number of samples."""
_LONG_RUNS = 4
"""Records are taken in runs of one user where runs have at least this length on average."""


def check_samples(samples: int) -> int:
    """Refuse a number of samples that is not a whole number from 1 to 10^7."""
    return whole(samples, "samples", most=MOST_SAMPLES, fix="samples=200")


class Sampler:
    """Draws ``samples`` of each user's records with replacement, seeing only numbers of users.

    User number g holds ``sizes[g]`` records.
    """

    def __init__(self, sizes: NDArray[Any], samples: int, source: RandomSource | None = None) -> None:
        self._source = checked_source(source)
        self._rest = np.array(sizes, dtype=np.int64)
        samples = check_samples(samples)
        self._open = np.full(len(self._rest), samples, dtype=np.int64)
        self._kind: Any = np.uint8 if samples < 2**8 else np.uint16 if samples < 2**16 else np.uint32

    @property
    def private(self) -> bool:
        """Whether the randomness was the system's."""
        return self._source.private

    def draw(self, who: NDArray[Any]) -> NDArray[Any]:
        """How often each record of the next piece is drawn; ``who[i]`` is the number of its user."""
        weights = np.zeros(len(who), dtype=self._kind)
        if not len(who):
            return weights
        starts = _run_starts(who)
        owner = who if starts is None else who[starts]
        order, ends, users = _by_user(owner, len(self._rest))
        held = None
        if starts is not None:
            lengths = np.diff(np.append(starts, len(who)))[order]
            held = np.cumsum(lengths)  # records up to the end of each run, in the order of users
            begins = starts[order] + lengths - held  # what turns a place in that order into a record
            ends = held[ends - 1]
        firsts = np.append(0, ends[:-1])
        here = ends - firsts
        if (here > self._rest[users]).any():
            raise refuse_changed()
        sample = noise.exact_binomial(self._open[users], here, self._rest[users], source=self._source)
        self._rest[users] -= here
        self._open[users] -= sample
        for low, high in batches(sample):
            times = sample[low:high]
            places = np.repeat(firsts[low:high], times)
            places += noise.uniform_places(np.repeat(here[low:high], times), source=self._source)
            if held is None:
                places = order[places]
            elif len(held) == len(users):
                places += np.repeat(begins[low:high], times)
            else:
                places += begins[np.searchsorted(held, places, side="right")]
            np.add.at(weights, places, self._kind(1))
        return weights

    def finish(self) -> None:
        """Refuse records that were fewer than their users' sizes say."""
        if self._rest.any() or self._open.any():
            raise refuse_changed()


class RunSampler:
    """The same from rows (first of its user?, size of the user, records in the row) that come user by user.

    The user's size comes with each row, so a user may go on in the next piece.
    """

    def __init__(self, samples: int, source: RandomSource | None = None) -> None:
        self._samples = check_samples(samples)
        self._source = checked_source(source)
        self._rest = self._open = 0  # of the user at the end of the last piece
        self._draws = 0
        self.users = 0

    @property
    def private(self) -> bool:
        """Whether the randomness was the system's."""
        return self._source.private

    def draw(self, new: NDArray[np.bool_], sizes: Integers, counts: Integers) -> Integers:
        """How often records of each row of the next piece are drawn.

        ``new`` says whether a row is the first of its user, ``sizes`` how many records that user holds in all,
        ``counts`` how many the row stands for.
        """
        weights = np.zeros(len(counts), dtype=np.int64)
        if not len(counts):
            return weights
        starts = np.flatnonzero(new)
        if len(starts) == 0 or starts[0] != 0:
            starts = np.append(0, starts)
        ends = np.append(starts[1:], len(counts))
        if (counts <= 0).any():
            raise refuse_changed()
        if total(counts) > MOST_RECORDS:
            raise refuse_too_many()
        held = np.cumsum(counts)
        firsts = np.append(0, held[ends[:-1] - 1])
        here = held[ends - 1] - firsts
        rest = sizes[starts].astype(np.int64)
        open_draws = np.full(len(starts), self._samples, dtype=np.int64)
        if not new[0]:
            rest[0], open_draws[0] = self._rest, self._open
        elif self._rest or self._open:
            raise refuse_changed()
        if (here > rest).any() or (rest[:-1] != here[:-1]).any():
            raise refuse_changed()
        sample = open_draws.copy()
        if here[-1] < rest[-1]:  # only the last user can go on in the next piece
            sample[-1:] = noise.exact_binomial(open_draws[-1:], here[-1:], rest[-1:], source=self._source)
        self._rest, self._open = int(rest[-1] - here[-1]), int(open_draws[-1] - sample[-1])
        self.users += int(np.count_nonzero(new))
        self._draws += int(sample.sum())
        for low, high in batches(sample):
            times = sample[low:high]
            places = np.repeat(firsts[low:high], times)
            places += noise.uniform_places(np.repeat(here[low:high], times), source=self._source)
            np.add.at(weights, np.searchsorted(held, places, side="right"), 1)
        return weights

    def finish(self) -> None:
        """Refuse rows that were fewer than their users' sizes say."""
        if self._rest or self._open or self._draws != self._samples * self.users:
            raise refuse_changed()


class SamplePool:
    """Draws by item, added up over pieces."""

    def __init__(self) -> None:
        self._items = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, items: Integers, sample: Integers) -> None:
        """Add the draws of one piece; items that are there but were not drawn stay, with 0."""
        keys, where = np.unique(np.concatenate([self._items, items]), return_inverse=True)
        sums = np.zeros(len(keys), dtype=np.int64)
        np.add.at(sums, where, np.concatenate([self._counts, sample]))
        self._items, self._counts = keys, sums

    @property
    def all(self) -> tuple[Integers, ...]:
        """Items that are there and how often each was drawn, 0 included."""
        return self._items, self._counts

    def check(self) -> None:
        """Refuse records without a user or with a weight that is no count."""
        refuse_states(self._items)

    def totals(self, unknown: Unknown, default: int) -> tuple[Integers, ...]:
        """Items that were drawn and how often; lost ones are refused whether they were drawn or not."""
        some = self._counts > 0
        return known_items(self._items, default, unknown)[some], self._counts[some]


def sampled(people: Profiles, samples: int) -> Sampled:
    """``samples`` items drawn from each person with replacement, exactly uniformly (private integers).

    >>> drawn = sampled(Profiles.of_users([[0, 0, 1], [1]]), 5)
    >>> drawn.users, int(drawn.counts.sum()), drawn.private
    (2, 10, True)
    """
    pool, sampler = SamplePool(), RunSampler(samples)
    new = np.zeros(len(people.items), dtype=bool)
    new[people.starts] = True
    rows = np.diff(np.append(people.starts, len(people.items)))
    pool.add(people.items, sampler.draw(new, np.repeat(people.sizes, rows), people.counts))
    sampler.finish()
    items, counts = pool.all
    some = counts > 0
    return Sampled(items[some], counts[some], samples=samples, users=len(people), private=sampler.private)


def _run_starts(who: NDArray[Any]) -> Integers | None:
    """Where runs of one user's records begin; None if runs are too short to be worth it."""
    ahead = np.flatnonzero(who[1:] != who[:-1])
    return None if _LONG_RUNS * (len(ahead) + 1) > len(who) else np.append(0, ahead + 1)


def _by_user(owner: NDArray[Any], users: int) -> tuple[NDArray[Any], Integers, Integers]:
    """Numbers of runs in the order of users, where each user's end, and the users that have some."""
    # From rows to columns is a counting sort: one pass, where numpy's sorts would take most of the time.
    numbers = np.arange(len(owner), dtype=np.int32)
    row = heavy.sparse.csr_array(
        (numbers, owner.astype(np.int32, copy=False), [0, len(owner)]), shape=(1, users)
    ).tocsc()
    ends = row.indptr[1:].astype(np.int64)
    some = np.flatnonzero(np.diff(row.indptr))
    return row.data, ends[some], some


def batches(numbers: Integers) -> list[tuple[int, int]]:
    """Ranges of users whose draws are held at once."""
    total = np.cumsum(numbers)
    if not len(total):
        return []
    cuts = np.searchsorted(total, np.arange(_DRAWS_AT_ONCE, int(total[-1]), _DRAWS_AT_ONCE), side="left") + 1
    edges = np.unique(np.concatenate([[0], cuts, [len(numbers)]]))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
