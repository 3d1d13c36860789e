"""Histograms under user-level DP without a curator: each user reports one item by subset selection, at one level.

The item and the level are drawn independently of the data's other users, so a report is one (epsilon, 0)-private one,
whatever the level; the levels' estimates are joined by least squares along the tree (docs/proofs/user-level.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.mechanisms.decoding.tree import decode, edge_values
from barrow.mechanisms.decoding.tree_estimates import best_below, consistent, firsts, spread
from barrow.mechanisms.frequency import whole_counts
from barrow.mechanisms.user_level.levels import PARTS, Integers, LevelGroups, cells_of, levelled_tree, parts
from barrow.mechanisms.user_level.subsets import SubsetSelection
from barrow.noise import RandomSource, exact_multinomials, uniform_below
from barrow.noise.source import SeededSource, checked_source
from barrow.numerics import Exact
from barrow.promises import Model, UserLevelRelease
from barrow.randomisers.randomiser import item_counts
from barrow.spaces import EdgeTree, Space, edge_tree
from barrow.spaces.space import Floats

_POOL = 10**6
"""Items of the simulated pool: users draw theirs from it."""
_MISSING = 1e6
"""The variance of a level that nobody reported at."""


@dataclass(frozen=True)
class SubsetReport:
    """What one user sends: a level, and the set of groups of this level."""

    level: int
    members: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LocalSubsets:
    """A histogram by subset selection in the local model, or shuffled; everything in it is public.

    Attributes:
        space: The public space.
        users: n.
        channels: A channel on the groups of each level; one level of single items where the histogram is flat.
        weights: Whole weights of drawing each level; their sum is 1,000.
        event: What one user's report is priced by.

    >>> from barrow.spaces import Clustered
    >>> built = local_subsets(Clustered.grid(10, 10, r=0.05), "1.25", users=10**4, levels=True)
    >>> built.name, built.weights
    ('subset selection by levels', (598, 402))
    """

    space: Space
    users: int
    channels: tuple[SubsetSelection, ...]
    weights: tuple[int, ...]
    event: UserLevelRelease

    @property
    def name(self) -> str:
        """What it is called."""
        return "subset selection" + (" by levels" if len(self.channels) > 1 else "")

    @cached_property
    def cells(self) -> list[LevelGroups]:
        """The groups of each level."""
        if len(self.channels) > 1:
            return cells_of(levelled_tree(self.space))
        each = np.arange(self.space.items)
        return [LevelGroups(each, each)]

    def report(self, ids: ArrayLike, *, source: RandomSource | None = None) -> SubsetReport:
        """One user's report: one of the items, drawn uniformly, at one level, drawn by the public weights.

        >>> from barrow.spaces import Discrete
        >>> built = local_subsets(Discrete(["a", "b", "c"]), 30, users=10)
        >>> built.report([2, 2]).members
        (2,)
        """
        origin = checked_source(source)
        held = np.atleast_1d(self.space._ids(ids))
        held = held if held.size else np.array([self.space.default_item])
        item = int(held[int(uniform_below(np.array([held.size]), source=origin)[0])])
        sample = int(uniform_below(np.array([PARTS]), source=origin)[0])
        level = int(np.searchsorted(np.cumsum(self.weights), sample, side="right"))
        group = int(self.cells[level].of_item[item])
        return SubsetReport(level, tuple(np.flatnonzero(self.channels[level].sets([group], source=origin)[0]).tolist()))

    def estimate(self, tallies: Sequence[tuple[Integers | Floats, int]]) -> Floats:
        """The unbiased estimate of the histogram, of sum 1; entries may be negative."""
        if len(self.channels) == 1:
            return self.channels[0].decode(tallies[0][0], max(tallies[0][1], 1))
        tree = levelled_tree(self.space)
        precision, sums = np.zeros(tree.edges), np.zeros(tree.edges)
        uniform = np.full(self.space.items, 1.0 / self.space.items)
        for cells, channel, (counts, reports) in zip(self.cells, self.channels, tallies, strict=True):
            if reports:
                weight = reports / _variances(cells, channel, uniform)
                precision[cells.edges] += weight
                sums[cells.edges] += weight * channel.decode(counts, reports)
        known = precision > 0.0
        targets = sums / np.where(known, precision, 1.0)
        masses = consistent(tree, targets, 1.0 / np.where(known, precision, 1.0 / _MISSING))
        return np.asarray(masses[tree.owners])

    def simulate(self, held: ArrayLike, source: RandomSource) -> Floats:
        """The estimate from reports on items drawn from a pool in which each item occurs so often."""
        pool = item_counts(held, self.space.items)
        chosen = exact_multinomials([self.users], [pool], source=source)[0]
        split = exact_multinomials(chosen, [list(self.weights)], source=source)
        tallies: list[tuple[Integers | Floats, int]] = []
        for cells, channel, here in zip(self.cells, self.channels, split.T, strict=True):
            groups = np.bincount(cells.of_item, weights=here, minlength=channel.items).astype(np.int64)
            tallies.append((channel.simulated_tally(groups, source), int(here.sum())))
        return self.estimate(tallies)

    def simulated(self, reference: Floats, source: SeededSource) -> Floats:
        """One decoded histogram if everybody's items followed ``reference``."""
        return self.decode(self.simulate(whole_counts(reference, _POOL), source))

    def edge_variances(self, reference: Floats) -> Floats:
        """The variance of the estimate's mass below each edge of the tree, at a public reference."""
        tree = edge_tree(self.space)
        if len(self.channels) == 1:
            masses = tree.masses(reference)
            noise = self.channels[0].variances(tree.ends - tree.starts, masses) + masses * (1.0 - masses)
            return np.asarray(noise / self.users)
        precision = np.zeros(tree.edges)
        for cells, channel, weight in zip(self.cells, self.channels, self.weights, strict=True):
            precision[cells.edges] += self.users * weight / PARTS / _variances(cells, channel, reference)
        return consistent_variances(tree, 1.0 / precision)

    def deviations(self, shares: Floats) -> Floats:
        """About the standard deviation of each entry of the estimate, if the items were drawn from these shares.

        People's own items vary less than drawn ones, so these are rather too large.

        >>> from barrow.spaces import Discrete
        >>> built = local_subsets(Discrete(["a", "b"]), 2, users=100)
        >>> built.deviations(np.array([0.5, 0.5])).round(3).tolist()
        [0.066, 0.066]
        """
        if len(self.channels) == 1:
            noise = self.channels[0].variances(np.ones(len(shares)), shares) + shares * (1.0 - shares)
            return np.asarray(np.sqrt(noise / self.users))
        return np.asarray(np.sqrt(self.edge_variances(shares)[edge_tree(self.space).owners]))

    def decode(self, estimate: Floats) -> Floats:
        """A histogram: along the tree by the decoder of EMD-DP's edge values where there is one, else the nearest."""
        if not self.space.geometry.has_tree or self.space.items < 2:
            return nearest_in_simplex(estimate)
        tree = edge_tree(self.space)
        spread_of = self._uniform_variances * tree.lengths**2
        return decode(tree, edge_values(tree, estimate), variances=spread_of, distribution="gaussian")

    @cached_property
    def _uniform_variances(self) -> Floats:
        uniform = np.full(self.space.items, 1.0 / self.space.items)
        return np.maximum(self.edge_variances(uniform), 1e-300)


def local_subsets(
    space: Space,
    epsilon: Exact,
    *,
    users: int,
    levels: bool = False,
    event: UserLevelRelease | None = None,
) -> LocalSubsets:
    """One report of one item for each user, flat or by levels of the space's tree.

    Args:
        space: The public space.
        epsilon: The privacy parameter of a report.
        users: n, public.
        levels: Whether users report at a level of the tree drawn at random; the shares of users make the sum of length
            times deviation least, for uniformly spread items.
        event: What it is priced by; by default a local release at ``epsilon``. Shuffled reports have another one.
    """
    priced = UserLevelRelease(epsilon, model=Model.LOCAL) if event is None else event
    if not levels:
        return LocalSubsets(space, users, (SubsetSelection(space.items, epsilon),), (PARTS,), priced)
    tree = levelled_tree(space)
    groups = cells_of(tree)
    built = tuple(SubsetSelection(len(cells.edges), epsilon) for cells in groups)
    uniform = np.full(space.items, 1.0 / space.items)
    costs = [
        float((tree.lengths[cells.edges] * np.sqrt(_variances(cells, each, uniform))).sum())
        for cells, each in zip(groups, built, strict=True)
    ]
    # Least sum of B/sqrt(share).
    return LocalSubsets(space, users, built, parts(np.array(costs) ** (2.0 / 3.0)), priced)


def consistent_variances(tree: EdgeTree, variances: Floats) -> Floats:
    """The variances of the least squares estimates below each edge, for independent values with these variances."""
    _, noise = best_below(tree, np.zeros(tree.edges), variances)
    part, result = parts_of_groups(tree, noise), np.zeros(tree.edges)
    for here in tree.levels:
        above = tree.parents[here]
        total = np.where(above >= 0, result[above], 0.0)
        # What is missing to the total, whose error is independent, is dealt out in proportion to the variances.
        result[here] = noise[here] * (1.0 - part[here]) + part[here] ** 2 * total
    return result


def parts_of_groups(tree: EdgeTree, values: Floats) -> Floats:
    """Each value as a part of the sum over the edges below the same edge."""
    result = np.zeros(tree.edges)
    for here in tree.levels:
        begins = firsts(tree.parents[here])
        result[here] = values[here] / np.add.reduceat(values[here], begins)[spread(begins, len(here))]
    return result


def _variances(cells: LevelGroups, channel: SubsetSelection, reference: Floats) -> Floats:
    """Of one report: as if groups were independent before their sum was fixed to 1, which takes 1/c of it away."""
    count = len(cells.edges)
    masses = np.bincount(cells.of_item, weights=reference, minlength=count).astype(np.float64)
    result = channel.variances(np.ones(count), masses) + masses * (1.0 - masses)
    return np.asarray(result * (count / (count - 1.0)))
