"""Pairs of items along which answers change most for their distance: those that constrain the noise on a large space.

Near pairs come first, because most workloads change most between neighbours. Whoever found noise for these asks which
others it does not hold, as often as there are any; nothing of this is part of a guarantee, which rests on the constant
that is certified over all pairs (docs/proofs/strategies.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from barrow.queries.lipschitz import cross_norms, pair_work
from barrow.spaces import Space
from barrow.spaces.nearness import near_pairs
from barrow.spaces.space import Floats, Ids

_SCAN_WORK = 2e9
"""All pairs are looked at up to this many units of work; beyond, near ones alone."""
_BLOCK = 2**20
_MOST_ENTRIES = 2**24
_NEAREST, _MOST_MEASURED = 8, 20_000
"""So many neighbours of each item, if there are no more items than that."""
_MOST_NEW = 4000
"""The steepest pairs of one look that are added."""
_DIGITS = 1e-9
"""Changes that agree to this, relative to the largest, are one constraint."""


@dataclass(frozen=True, eq=False)
class SteepPairs:
    """Items in pairs, with their distances, on a space of any size.

    Attributes:
        space: The space.
        tails: One item of each near pair.
        heads: The other.
        far: Their distances.

    >>> from barrow.spaces import Line
    >>> SteepPairs.of(Line(0, 4, step=1, cells=True)).far.tolist()
    [0.25, 0.25, 0.25]
    """

    space: Space
    tails: Ids
    heads: Ids
    far: Floats

    @classmethod
    def of(cls, space: Space) -> SteepPairs:
        """The near pairs of a space; where nothing is known of it, each item and those nearest to it."""
        near = near_pairs(space)
        tails, heads = (near.tails, near.heads) if near.nodes <= space.items else _nearest(space)
        return cls(space, tails, heads, np.asarray(space.distance(tails, heads), dtype=np.float64))

    def changes(self, rows: Floats) -> Floats:
        """How much rows change per distance along near pairs, each change once."""
        most = max(1, _MOST_ENTRIES // rows.shape[1])
        parts = [
            distinct((rows[self.tails[i : i + most]] - rows[self.heads[i : i + most]]) / self.far[i : i + most, None])
            for i in range(0, len(self.far), most)
        ]
        return _steepest(distinct(np.concatenate(parts)), most, 2.0)

    def violating(self, rows: Floats, p: float, above: float) -> Floats:
        """The changes per distance, of any two items, whose p-norm is above ``above``: the largest, each once."""
        held = [np.zeros((0, rows.shape[1]))]
        for x, y in self._looked_at(rows, p, above):
            far = np.asarray(self.space.distance(x, y), dtype=np.float64)
            held.append(distinct((rows[x] - rows[y]) / far[:, None]))
        return _steepest(distinct(np.concatenate(held)), _MOST_NEW, p)

    def _looked_at(self, rows: Floats, p: float, above: float) -> Iterator[tuple[Ids, Ids]]:
        items = self.space.items
        if self.space.geometry.gaps is not None or pair_work(items, rows.shape[1]) > _SCAN_WORK:
            return  # near pairs are all that matter, or all that can be looked at
        width = max(1, _BLOCK // items)
        for start in range(0, items, width):
            stop = min(start + width, items)
            far = self.space.block(np.arange(start, stop), np.arange(start, items))
            use = cross_norms(rows[start:stop], rows[start:], p)
            over = np.divide(use, far, out=np.zeros_like(use), where=far > 0.0)
            high = over.ravel()
            found = np.flatnonzero(high > above)
            if len(found) > _MOST_NEW:
                found = found[np.argpartition(-high[found], _MOST_NEW)[:_MOST_NEW]]
            if len(found):
                yield start + found // over.shape[1], start + found % over.shape[1]


def _nearest(space: Space) -> tuple[Ids, Ids]:
    """Each item with the nearest others, and all with the first one."""
    every = np.arange(space.items)
    tails, heads = [every[1:]], [np.zeros(space.items - 1, dtype=np.int64)]
    if space.items <= _MOST_MEASURED:
        width = max(1, _BLOCK // space.items)
        for start in range(0, space.items, width):
            here = every[start : start + width]
            far = np.asarray(space.block(here, every))
            far[far <= 0.0] = np.inf
            near = np.argpartition(far, min(_NEAREST, space.items - 1) - 1, axis=1)[:, :_NEAREST]
            apart = np.isfinite(np.take_along_axis(far, near, axis=1))
            tails.append(np.repeat(here, near.shape[1])[apart.ravel()])
            heads.append(near[apart])
    return np.concatenate(tails), np.concatenate(heads)


def distinct(changes: Floats) -> Floats:
    """Rows that differ by more than a sign, and are not 0; rows that agree to nine digits count as one.

    >>> distinct(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])).tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    size = float(np.abs(changes).max(initial=0.0))
    if not size > 0.0:
        return changes[:0]
    # Two projections tell rows apart; the first also says which of a row and its opposite is meant.
    ways = np.cos(np.outer(np.arange(1.0, changes.shape[1] + 1.0), [1.0, 2.0**0.5]) ** 2)
    marks = changes @ ways
    marks *= np.where(marks[:, :1] < 0.0, -1.0, 1.0)
    lengths = np.sqrt(np.einsum("ij,ij->i", changes, changes))
    keys = np.rint(np.column_stack([lengths, marks]) / (size * _DIGITS))
    holds = np.flatnonzero(lengths > size * _DIGITS)
    _, first = np.unique(keys[holds], axis=0, return_index=True)
    return changes[holds[first]][::-1]


def _steepest(changes: Floats, most: int, p: float) -> Floats:
    if len(changes) <= most:
        return changes
    sizes = np.abs(changes).sum(axis=1) if p == 1.0 else np.sqrt(np.einsum("ij,ij->i", changes, changes))
    return changes[np.argpartition(-sizes, most)[:most]]
