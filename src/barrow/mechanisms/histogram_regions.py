"""Intervals for regions of any released histogram with additive noise, from its unbiased shares alone.

Along edges only the boundary of a region is noisy. Along a tree its share is a signed sum of the shares below the edges
where it begins and ends; nodes in between belong to whichever side is cheaper. Shares of cells are added up, inside or
outside the region, whichever are fewer (docs/proofs/edge-decoding.md, Sections 7 to 10).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.mechanisms.additive import NoiseDistribution
from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_intervals import (
    LEAST_LEVEL,
    Mask,
    RegionInterval,
    any_region_level,
    chosen_region_interval,
    region_interval,
)
from barrow.mechanisms.edge_noise import EdgeNoise
from barrow.mechanisms.edge_sums import EdgeSum
from barrow.mechanisms.histograms import HistogramNoise
from barrow.numerics import float_up
from barrow.queries.quantised import default_step
from barrow.spaces import EdgeTree, Space, edge_tree
from barrow.spaces.base import Floats


@dataclass(frozen=True, eq=False)
class ReleasedShares:
    """The unbiased shares of a released histogram, and how noisy they are: all public.

    Attributes:
        space: The space.
        kind: ``"edges"``, ``"tree"`` or ``"cells"``.
        shares: Of each node, of what is below each edge, or of each item.
        scale: Of the noise of one value, rounded up: Laplace, or the standard deviation of Gaussian noise.
        grid: What values were rounded to, rounded up.
        gaussian: Whether the noise is Gaussian.
        reports: How many reports each share is the mean of.
        plan: Along edges: how the values were made.

    >>> from barrow.spaces import Discrete
    >>> found = ReleasedShares(Discrete(["a", "b", "c"]), "cells", np.array([0.5, 0.3, 0.2]), scale=0.01, grid=1e-9)
    >>> found.region([True, True, False]).estimate, found.region([True, True, False]).boundary
    (0.8, 1)
    """

    space: Space
    kind: str
    shares: Floats
    scale: float
    grid: float
    gaussian: bool = False
    reports: int = 1
    plan: EdgeHistogram | None = None

    @classmethod
    def of(cls, space: Space, made: HistogramNoise, raw: ArrayLike) -> ReleasedShares | None:
        """From the noisy values of a mechanism; None where nothing is known about sums of them."""
        noise = made.noise
        plan = noise.plan if isinstance(noise, EdgeNoise) else None
        if plan is None and (made.kind not in ("tree", "cells") or noise.p not in (None, "1")):
            return None
        shares = np.asarray(raw, dtype=np.float64) * made.factors
        scale, grid = float_up(noise.scale), float_up(noise.grid)
        return cls(space, made.kind, shares, scale, grid, noise.p is None, made.reports, plan)

    def region(
        self, inside: Any, level: float = 0.05, *, outer: ArrayLike | None = None, looked: bool = False
    ) -> RegionInterval:
        """An interval for the share of people's items in a region.

        Args:
            inside: One truth value for each item, or labels of items.
            level: How often the interval may miss.
            outer: Where a region cuts cells: those that it meets at all, while ``inside`` are those wholly in it.
            looked: Whether the region was chosen after looking at the release: then all regions hold at once.
        """
        inner = self.marked(inside)
        found = self._one(inner, level, looked)
        if outer is None:
            return found
        most = self.marked(outer)
        if (inner & ~most).any():
            raise ParameterError(
                "The outer region does not hold the inner one.", allowed="a larger outer region", fix="outer=None"
            )
        # Each end misses with half of the level.
        upper = self._one(most, level, looked)
        return RegionInterval(found.low, upper.high, (found.estimate + upper.estimate) / 2.0, upper.boundary)

    def regions(self, regions: Sequence[Any], level: float = 0.05) -> list[RegionInterval]:
        """Intervals for a public list of regions that hold all at once."""
        if not len(regions):
            raise ParameterError("The list of regions is empty.", allowed="at least one region", fix="[region]")
        return [self.region(region, level / len(regions)) for region in regions]

    def marked(self, region: Any) -> Mask:
        """One truth value for each item, from truth values or from labels.

        >>> from barrow.spaces import Discrete
        >>> ReleasedShares(Discrete(["a", "b", "c"]), "cells", np.zeros(3), 1.0, 1.0).marked(["c"]).tolist()
        [False, False, True]
        """
        given = np.asarray(region)
        if given.dtype == bool and given.shape == (self.space.held.items,):  # without people who hold no records
            given = np.append(given, np.zeros(self.space.items - given.size, dtype=bool))
        if given.dtype == bool and given.shape == (self.space.items,):
            return given
        if given.dtype == bool:
            raise ParameterError(
                f"The region has {given.size:,} truth values.",
                allowed=f"one for each of the {self.space.items:,} items",
                fix="labels of items",
            )
        index = {label: i for i, label in enumerate(self.space.labels)}
        names = [str(label) for label in given.ravel()]
        unknown = [name for name in names if name not in index]
        if unknown or not names:
            raise ParameterError(
                f"The space has no item {unknown[0]!r}." if unknown else "The region has no items.",
                allowed=f"labels of the space, such as {' or '.join(self.space.labels[:3])}",
                fix=f'--items "{(";" if "," in self.space.labels[0] else ",").join(self.space.labels[:2])}"',
            )
        inside = np.zeros(self.space.items, dtype=bool)
        inside[[index[name] for name in names]] = True
        return inside

    def _one(self, inside: Mask, level: float, looked: bool) -> RegionInterval:
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level is {level!r}.", allowed="a number in (0, 1)", fix="level=0.05")
        if self.plan is not None:
            found = chosen_region_interval if looked else region_interval
            return found(self.plan, self.shares, inside, level)
        estimate, factors = self._along_tree(inside) if self.kind == "tree" else self._cells(inside)
        cut = int(np.count_nonzero(factors))
        if looked:
            level = any_region_level(len(factors), cut, level)
        wide = self._half_width(np.abs(factors[factors != 0.0]), level) if level > LEAST_LEVEL else 1.0
        low, high = min(max(estimate - wide, 0.0), 1.0), max(min(estimate + wide, 1.0), 0.0)
        return RegionInterval(low, high, estimate, cut)

    def _half_width(self, factors: Floats, level: float) -> float:
        """Of a sum of values times factors, each value rounded to the grid."""
        if not len(factors):
            return 0.0
        if self.gaussian:
            sigma = self.scale * math.sqrt(float((factors**2).sum()) / self.reports)
            wide = NoiseDistribution(None, 1).quantile(level) * sigma
        else:
            wide = EdgeSum(self.scale * factors, reports=self.reports).half_width(level)
        slack = 0.0 if self.kind == "cells" else 2.0 * float(default_step(float(edge_tree(self.space).lengths.max())))
        return (wide + (self.grid / 2.0 + slack) * float(factors.sum())) * (1.0 + 1e-9)

    def _cells(self, inside: Mask) -> tuple[float, Floats]:
        """All shares add up to 1, so that either side may be added up."""
        few = inside if int(inside.sum()) <= inside.size / 2 else ~inside
        total = float(self.shares[few].sum())
        return total if few is inside else 1.0 - total, few.astype(np.float64)

    def _along_tree(self, inside: Mask) -> tuple[float, Floats]:
        """q(R) = [the root is inside] + sum over edges of ([below inside] - [above inside]) times the mass below."""
        tree = edge_tree(self.space)
        below, root = tree_sides(tree, inside)
        above = np.where(tree.parents >= 0, below[tree.parents], root)
        change = below.astype(np.float64) - above
        return float(root) + float(change @ self.shares), change / tree.lengths


def tree_sides(tree: EdgeTree, inside: Mask) -> tuple[Mask, bool]:
    """Whether the node below each edge, and the root, count as inside: the choice of least variance.

    Items are where they are; every other node costs 1/length^2 for each edge to the other side.
    """
    owners, edges = tree.owners, tree.edges
    fixed = np.full(edges, -1)
    owned = owners >= 0
    fixed[owners[owned]] = inside[owned]
    weights = 1.0 / tree.lengths**2
    if tree.path:
        return fixed == 1, bool(inside[-1])
    # Column s: the least cost of what is below the node if it is on side s.
    costs = np.zeros((edges + 1, 2))
    for side in (0, 1):
        costs[np.append(fixed == 1 - side, False), side] = np.inf
    at_root = inside[~owned]
    if at_root.size:
        costs[edges, 1 - int(at_root[0])] = np.inf
    up = np.where(tree.parents >= 0, tree.parents, edges)
    for here in reversed(tree.levels):
        for side in (0, 1):
            best = np.minimum(costs[here, side], costs[here, 1 - side] + weights[here])
            np.add.at(costs[:, side], up[here], best)
    sides = np.zeros(edges + 1, dtype=np.int64)
    sides[edges] = int(costs[edges, 1] < costs[edges, 0])
    for here in tree.levels:
        same = sides[up[here]]
        stay = costs[here, same] <= costs[here, 1 - same] + weights[here]
        sides[here] = np.where(stay, same, 1 - same)
    return sides[:edges] == 1, bool(sides[edges])
