"""The exponential mechanism where a matrix of all pairs would be too large: its rows are made as they are needed.

Only the sums of rows are computed for all items, a strip of distances at a time, for a ladder of betas at once; alpha0
follows from them, with everything that rounding may do counted (docs/proofs/randomisers.md, Section 3). A row that is
drawn from is then made of whole weights, as those of a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.noise import RandomSource, exact_multinomials
from barrow.noise.source import checked_source
from barrow.numerics import Exact, float_down
from barrow.randomisers.claim import Weights, neighbour_pairs
from barrow.randomisers.matrix import whole_rows
from barrow.randomisers.randomiser import DEEPEST, TOTAL, Integers, Randomiser, item_counts, wanted_alpha0
from barrow.spaces import Space
from barrow.spaces.space import Floats, Ids, strips

MOST_ITEMS = 12_000
"""The most items: every pair of them is looked at, at some tens of nanoseconds each."""
_STRIP = 2**19
_RUNGS, _RUNG = 4, 1.0 / 256.0
"""The betas that are tried: the one that a sample of items suggests, and such shares of it less."""
_PASSES = 3
_SAMPLE, _HALVINGS = 64, 30
_ELEMENTARY = 2.0**-46
"""More than the relative error of exp, of its argument's product and of the ladder's products, together."""


class RowExponential(Randomiser):
    """Reports y on item x with probability proportional to exp(-beta min(d, c)), of which only rows are ever made.

    Args:
        space: The public space.
        alpha0: The largest alpha0 that reports may have.
        kind: What it is called in plain data.
        description: In plain words.
    """

    def __init__(self, space: Space, alpha0: Exact, *, kind: str, description: str) -> None:
        self.space, self.kind, self._words = space, kind, description
        target = float_down(wanted_alpha0(alpha0))
        self._far = DEEPEST / target
        found = _found(space, target, self._far)
        self.beta, self.alpha0_upper, self._moved = found.beta, Fraction(found.alpha0_upper), found.moved

    @property
    def description(self) -> str:
        """In plain words."""
        return self._words

    def _rows(self, items: Ids) -> Iterator[tuple[slice, Weights]]:
        """The whole weights of the rows of some items, a few at a time."""
        step = max(1, _STRIP // self.space.items)
        for start in range(0, len(items), step):
            some = slice(start, start + step)
            raw = np.exp(-self.beta * np.minimum(self.space.block(items[some]), self._far))
            yield some, whole_rows(raw / raw.sum(axis=1, keepdims=True))

    def from_items(self, ids: ArrayLike, *, source: RandomSource | None = None) -> Ids:
        """One report for each item: 62 random bits against the cumulative weights of its row."""
        items = self.space._ids(ids).ravel()
        sample = (checked_source(source).words(len(items)) >> np.uint64(2)).astype(np.int64)
        result = np.zeros(len(items), dtype=np.int64)
        held, places = np.unique(items, return_inverse=True)
        for some, weights in self._rows(held):
            for x, row in enumerate(np.cumsum(weights, axis=1), start=some.start):
                here = places == x
                result[here] = np.searchsorted(row, sample[here], side="right")
        return result

    def from_counts(self, counts: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """A tree of exact binomials for each item that occurs, a few rows at a time."""
        held = item_counts(counts, self.space.items)
        rows = np.flatnonzero(held)
        result = np.zeros(self.reports, dtype=np.int64)
        for some, weights in self._rows(rows):
            result += exact_multinomials(held[rows[some]], weights, source=source).sum(axis=0)
        return result

    def distortions(self) -> Floats:
        """The expected distance from each item to its report."""
        return self._moved

    def to_spec(self) -> dict[str, Any]:
        """Plain data; the rows follow from the space and alpha0."""
        return {"kind": self.kind}


@dataclass(frozen=True, eq=False)
class _RowSums:
    """Of some betas and all items: ln of the sum of exp(-beta min(d, c)) over all reports, and the mean distance."""

    betas: Floats
    logs: Floats
    moved: Floats


@dataclass(frozen=True, eq=False)
class _Found:
    beta: float
    alpha0_upper: float
    moved: Floats


@dataclass(frozen=True, eq=False)
class _Edges:
    """Pairs of items that decide about all pairs, in both orders, and how far apart they are."""

    tails: Ids
    heads: Ids
    apart: Floats


def _edges(space: Space) -> _Edges | None:
    """The edges of which distances are shortest paths; None where all pairs have to be looked at.

    An edge that is longer than another way between its ends decides nothing, and what is asked of it does no harm.
    """
    pairs = neighbour_pairs(space)
    if pairs is None or space.geometry.paths is None:
        return None
    return _Edges(*pairs, np.tile(np.asarray(space.geometry.paths[2], dtype=np.float64), 2))


def _found(space: Space, target: float, far: float) -> _Found:
    """The largest beta of the ladder whose alpha0 is at most ``target``."""
    pairs = _edges(space)
    high = _suggested(space, target, far, pairs)
    for attempt in range(_PASSES):
        betas = [high * (1.0 - _RUNG * i) for i in range(_RUNGS)]
        sums = _sums(space, np.array(betas), far)
        uppers = _uppers(space, sums, far, pairs).tolist()
        for beta, upper, moved in zip(betas, uppers, sums.moved, strict=True):
            if upper <= target:
                return _Found(beta, upper, moved)
        # The sample missed the pair that decides; alpha0 grows about as beta does.
        # Half of it keeps the target on every space, but for whole weights.
        high = betas[-1] * min(target / uppers[-1], 1.0) if attempt < _PASSES - 2 else target / 2.0
    raise ParameterError(
        f"alpha0 is {target:.6g}, for which whole weights cannot express how unlikely the farthest reports are.",
        allowed="a smaller alpha0",
        fix=f"alpha0={target / 2:.3g}",
    )


def _suggested(space: Space, target: float, far: float, pairs: _Edges | None) -> float:
    """The largest beta that a sample of pairs allows: those with the fewest neighbours, and some everywhere."""
    if pairs is None:
        some = np.linspace(0, space.items - 1, _SAMPLE // 2).astype(np.int64)
        items = np.unique(np.argpartition(space.block(some), 4, axis=1)[:, :5])  # with their neighbours
        tails, heads = (each.ravel() for each in np.meshgrid(np.arange(len(items)), np.arange(len(items))))
        apart = np.asarray(space.distance(items[tails], items[heads]))
    else:
        few = np.bincount(pairs.tails, minlength=space.items)[pairs.tails]
        chosen = np.concatenate(
            [np.argsort(few, kind="stable")[:_SAMPLE], np.linspace(0, len(few) - 1, _SAMPLE).astype(np.int64)]
        )
        items, places = np.unique(np.concatenate([pairs.tails[chosen], pairs.heads[chosen]]), return_inverse=True)
        tails, heads = np.split(places, 2)
        apart = pairs.apart[chosen]
    near = np.minimum(space.block(items), far)
    tails, heads, apart = tails[apart > 0.0], heads[apart > 0.0], apart[apart > 0.0]

    def tight(beta: float) -> float:
        logs = np.log(np.exp(-beta * near).sum(axis=1))
        return float(((beta * np.minimum(apart, far) + logs[heads] - logs[tails]) / apart).max(initial=0.0))

    low, high = target / 2.0, target
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if tight(middle) <= target * (1.0 - 2.0**-20) else (low, middle)
    return low


def _sums(space: Space, betas: Floats, far: float) -> _RowSums:
    """One pass over all distances. Betas are evenly spaced: the powers of each follow from those of the one before."""
    logs, moved = np.empty((2, len(betas), space.items))
    step = max(1, _STRIP // space.items)
    for start in range(0, space.items, step):
        rows = slice(start, min(start + step, space.items))
        block = space.block(np.arange(rows.start, rows.stop))
        near = np.minimum(block, far)
        power = np.exp(-betas[0] * near)
        less = np.exp((betas[0] - betas[1]) * near) if len(betas) > 1 else power
        for i in range(len(betas)):
            if i:
                power *= less
            total = power.sum(axis=1)
            logs[i, rows] = np.log(total)
            moved[i, rows] = np.einsum("xy,xy->x", power, block) / total
    return _RowSums(betas, logs, moved)


def _uppers(space: Space, sums: _RowSums, far: float, pairs: _Edges | None) -> Floats:
    """An upper bound on the alpha0 of the whole weights, for each beta: over neighbours, or over all pairs."""
    result = np.zeros(len(sums.betas))
    margins = _margins(space, sums, far)
    error = 1.0 - space.distance_error
    if pairs is not None:
        for i, beta in enumerate(sums.betas):
            change = sums.logs[i][pairs.heads] - sums.logs[i][pairs.tails] + margins[i]
            gain = beta * np.minimum(pairs.apart, far) + change
            result[i] = (gain / np.maximum(pairs.apart * error, 1e-300)).max(initial=0.0)
    else:
        for rows, block in strips(space):
            own = np.arange(rows.start, rows.stop)
            near = np.minimum(block, far)
            block[own - rows.start, own] = np.inf
            rate = 1.0 / np.maximum(block * error, 1e-300)
            for i, beta in enumerate(sums.betas):
                gain = beta * near + sums.logs[i][None, :] - sums.logs[i][own, None] + margins[i]
                result[i] = max(result[i], float((gain * rate).max(initial=0.0)))
    return np.nextafter(result * (1.0 + 2.0**-45), np.inf)


def _margins(space: Space, sums: _RowSums, far: float) -> Floats:
    """By how much ln W[x, y] - ln W[x', y] of whole weights may exceed what real numbers give, for each beta."""
    reach = min(far, 1.0 + 2.0**-20)
    # The distances behind a power, exp and products; a sum of so many terms; the logarithm of a sum.
    term = sums.betas * reach * (space.distance_error + 2.0**-50) + _ELEMENTARY
    total = term + space.items * 2.0**-52
    log = total + np.abs(sums.logs).max(axis=1) * 2.0**-50 + 2.0**-50
    # The least weight is rounded down by less than 1; the largest, at least 2^62/items, takes up all differences.
    least = np.exp(-sums.betas * reach - sums.logs.max(axis=1)) * float(TOTAL) * (1.0 - 2.0**-20)
    down = np.where(least > 2.0, 1.0 / np.maximum(least - 1.0, 1.0), 1e300)
    largest = 2.0 * space.items * (space.items * 2.0**-52 + space.items / float(TOTAL))
    return np.asarray(2.0 * (term + total + log) + down + 2.0 * largest)


def row_exponential(space: Space, alpha0: Exact, *, kind: str, description: str) -> RowExponential:
    """The exponential mechanism on a large space, made row by row.

    >>> from barrow.spaces import Line
    >>> line = row_exponential(Line(0, 4000, step=1), 4, kind="exponential", description="by rows")
    >>> 3.95 < float(line.alpha0_upper) <= 4.0, line.beta > 1.95, len(line.from_items([7, 7]))
    (True, True, 2)
    """
    if space.items > MOST_ITEMS:
        raise too_many_rows(space)
    return RowExponential(space, alpha0, kind=kind, description=description)


def too_many_rows(space: Space) -> ParameterError:
    """The refusal of a space that is too large for all its pairs to be looked at."""
    return ParameterError(
        f"The {space.kind} space has {space.items:,} items, too many to look at all pairs of them.",
        allowed=f"at most {MOST_ITEMS:,} items; or a clustered or tree space, or noise in coordinates",
        fix="a coarser grid, or randomiser 'laplace' on a Euclidean or embedding space",
    )
