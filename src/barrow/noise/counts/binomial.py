"""Exact binomial and multinomial counts from fair bits: no floating-point number decides what it cannot.

An item succeeds with probability p if a uniform number U, read bit by bit, is below p. All undecided items read their
next bit together: those whose bit equals the bit of p stay undecided, so c items need about 2c fair bits in all. How
many of u items stay is a Bin(u, 1/2). Larger counts are drawn at once, by rejection or inversion, with comparisons
that are certified. The distribution is exactly the claimed one (docs/proofs/exact-counts.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.noise.counts import binomial_inversion, binomial_rejection
from barrow.noise.counts.binomial_rejection import LEAST
from barrow.noise.counts.cascade import poisson
from barrow.noise.counts.chances import Chances, Numbers
from barrow.noise.counts.uniform_int import checked_counts
from barrow.noise.source import RandomSource, checked_source

Integers = NDArray[np.int64]

FEW = 64
"""Where no count is larger than this, exact binomials read single bits: at most a word for each count and step."""


def _halves(counts: Integers, source: RandomSource) -> Integers:
    """Independent Bin(c, 1/2), 1 <= c <= 64: as many as there are ones among the first c bits of a word each."""
    words = source.words(len(counts)) >> (64 - counts).astype(np.uint64)
    return np.asarray(np.bitwise_count(words), dtype=np.int64)


def exact_binomial(
    counts: ArrayLike, numerator: ArrayLike | int, denominator: ArrayLike | int, *, source: RandomSource | None = None
) -> Integers:
    """Independent Bin(c, numerator/denominator), exactly, one for each count.

    Args:
        counts: The numbers of items, 0 or more; an array.
        numerator: Whole numbers from 0 to the denominator; an array of the same shape, or one for all.
        denominator: Whole numbers of 1 or more, of any size; fastest up to 2^63.
        source: Where random words come from.

    >>> exact_binomial([5, 0, 7], [1, 1, 0], 1).tolist()
    [5, 0, 0]
    >>> bool(0 <= exact_binomial([1000], 1, 3)[0] <= 1000)
    True
    """
    array = checked_counts(counts)
    above, below = _checked_fractions(numerator, denominator, array.shape)
    chances = Chances.of(above.ravel(), below.ravel())
    return binomials(array.ravel(), chances, checked_source(source)).reshape(array.shape)


def binomials(counts: Integers, chances: Chances, source: RandomSource) -> Integers:
    """Independent Bin(c, p): :func:`exact_binomial` for parameters that are checked and prepared."""
    return binomials_and_poisson(counts, chances, np.zeros(0, dtype=np.int64), source)[0]


def binomials_and_poisson(
    counts: Integers, chances: Chances, means: Integers, source: RandomSource
) -> tuple[Integers, Integers]:
    """Independent Bin(c, p), and Poisson counts of whole means that are 0 or at least 17, drawn together."""
    if counts.size == 0 or int(counts.max()) <= FEW:
        result = _by_bits(counts, chances.above, chances.below, source)
        sample = poisson(means, source)
    else:
        variance = counts * chances.p
        variance *= chances.q
        wide = variance >= LEAST
        if wide.all():
            result, sample = _large(counts, chances, means, source)
        else:
            result = np.zeros(len(counts), dtype=np.int64)
            some = wide.nonzero()[0]
            result[some], sample = _large(counts.take(some), chances.take(some), means, source)
            rest = (~wide).nonzero()[0]
            rest = rest[counts.take(rest) > 0]
            result[rest] = binomial_inversion.draw(counts.take(rest), chances.take(rest), source)
    if chances.flipped is not None:
        result = np.where(chances.flipped, counts - result, result)
    return result, sample


def _large(counts: Integers, chances: Chances, means: Integers, source: RandomSource) -> tuple[Integers, Integers]:
    if int(means.min(initial=1)) > 0:
        both = binomial_rejection.draw(counts, chances, means, source)
        return both[: len(counts)], both[len(counts) :]
    busy = means.nonzero()[0]
    both = binomial_rejection.draw(counts, chances, means.take(busy), source)
    sample = np.zeros(len(means), dtype=np.int64)
    sample[busy] = both[len(counts) :]
    return both[: len(counts)], sample


def _by_bits(counts: Integers, above: Numbers, below: Numbers, source: RandomSource) -> Integers:
    wins = np.zeros(len(counts), dtype=np.int64)
    sure = above == below
    wins[sure] = counts[sure]
    live = np.flatnonzero((counts > 0) & (above != 0) & ~sure)
    undecided, rest, base = counts[live], above[live], below[live]
    while live.size:
        # Long division: the next bit of p, and what is left of p after it.
        rest = rest + rest
        one = rest >= base
        rest = np.where(one, rest - base, rest)
        stay = _halves(undecided, source)
        # Where p has a 1, the items that read a 0 are below p; where it has a 0, those that read a 1 are above.
        wins[live] += np.where(one, undecided - stay, 0)
        # With no further 1 in p, nobody who agrees with p so far can be below it.
        keep = np.flatnonzero((stay > 0) & (rest != 0))
        live, undecided, rest, base = live[keep], stay[keep], rest[keep], base[keep]
    return wins


def exact_multinomials(counts: ArrayLike, weights: ArrayLike, *, source: RandomSource | None = None) -> Integers:
    """One exact multinomial for each count: rows of whole weights, of any sum, by a binary tree of exact binomials.

    Args:
        counts: R numbers of items.
        weights: R x K whole numbers of 0 or more, with a positive sum in each row (or one row for all).
        source: Where random words come from.

    >>> exact_multinomials([10, 3], [[1, 0, 0], [0, 0, 5]]).tolist()
    [[10, 0, 0], [0, 0, 3]]
    >>> exact_multinomials([100], [[1, 2, 3]]).sum().item()
    100
    """
    totals = checked_counts(counts)
    table = _checked_weights(weights)
    if totals.ndim != 1 or len(table) not in (1, len(totals)):
        raise ParameterError(
            f"There are counts of shape {totals.shape} for weights of shape {table.shape}.",
            allowed="one row of weights for each count, or one row",
            fix="counts=[100], weights=[[1, 2, 3]]",
        )
    cells = table.shape[1]
    levels = [np.broadcast_to(table, (len(totals), cells))]
    while levels[-1].shape[1] > 1:
        last = levels[-1]
        if last.shape[1] % 2:
            last = np.concatenate([last, np.zeros((len(totals), 1), dtype=last.dtype)], axis=1)
            levels[-1] = last
        levels.append(last[:, 0::2] + last[:, 1::2])
    if (levels[-1] == 0).any():
        raise ParameterError("A row of weights sums to 0.", allowed="a positive sum", fix="drop the row")
    origin = checked_source(source)
    held = totals[:, None]
    for level in reversed(levels[:-1]):
        here = held[:, : level.shape[1] // 2].ravel()
        # Only nodes that hold items are asked; those have a positive weight.
        busy = here.nonzero()[0]
        left = level[:, 0::2].ravel().take(busy)
        both = left + level[:, 1::2].ravel().take(busy)
        first = np.zeros_like(here)
        first[busy] = binomials(here.take(busy), Chances.of(left, both), origin)
        held = np.stack([first, here - first], axis=-1).reshape(len(totals), -1)
    return held[:, :cells].copy()


def _whole(values: ArrayLike | int, name: str) -> Numbers:
    array = np.asarray(values)
    if array.dtype.kind == "O":
        good = all(isinstance(v, int) and not isinstance(v, bool) for v in array.ravel().tolist())
    else:
        good = array.dtype.kind in "iu"
    if not good or any(v < 0 for v in (array.min(initial=0),)):
        raise ParameterError(
            f"{name} holds something that is no whole number of 0 or more.",
            allowed="whole numbers: an exact distribution has no floats",
            fix=f"give {name} as integers",
        )
    return array


def _checked_fractions(
    numerator: ArrayLike | int, denominator: ArrayLike | int, shape: tuple[int, ...]
) -> tuple[Numbers, Numbers]:
    above, below = _whole(numerator, "numerator"), _whole(denominator, "denominator")
    kind: Any = np.uint64 if below.size == 0 or int(below.max()) <= 2**63 else object
    above, below = np.broadcast_to(above, shape), np.broadcast_to(below, shape)
    if (below < 1).any() or (above > below).any():
        raise ParameterError(
            "Some probabilities are not between 0 and 1.",
            allowed="0 <= numerator <= denominator, and a denominator of 1 or more",
            fix="numerator=1, denominator=3",
        )
    return above.astype(kind), below.astype(kind)


def _checked_weights(weights: ArrayLike) -> Numbers:
    array = _whole(weights, "weights")
    if array.ndim != 2 or array.shape[1] == 0:
        raise ParameterError(
            f"weights have the shape {array.shape}.", allowed="rows of weights", fix="weights=[[1, 2, 3]]"
        )
    # The float sums are off by far less than the factor of 1.5 between the two limits.
    largest = float(array.astype(np.float64).sum(axis=1).max(initial=0.0))
    return array.astype(np.uint64 if largest < 1.5 * 2**62 else object)
