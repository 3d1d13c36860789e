"""What the unbiased shares of a released histogram say, with intervals: of regions, of items, of blocks that stand out.

Everything is worked out from released values and public numbers, never from what was decoded, so that no decoder's bias
is in it. Along edges only the boundary of a region is noisy. Along a tree its share is a signed sum of the shares below
the edges where it begins and ends. Shares of cells are added up, inside or outside the region, whichever are fewer
(docs/proofs/edge-decoding.md, docs/proofs/item-intervals.md, docs/proofs/blocks.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.mechanisms.additive import NoiseDistribution
from barrow.mechanisms.blocks import (
    Merged,
    NestedBlocks,
    all_at_once,
    dyadic_levels,
    edge_blocks,
    halved_levels,
    node_levels,
    sized_blocks,
)
from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_intervals import (
    LEAST_MISS,
    Mask,
    RegionInterval,
    any_region_miss,
    chosen_region_interval,
    node_weights,
)
from barrow.mechanisms.edge_noise import EdgeNoise, node_half_widths
from barrow.mechanisms.edge_sums import EdgeSum, laplace_half_widths
from barrow.mechanisms.histograms import HistogramNoise
from barrow.mechanisms.region_weights import region_interval
from barrow.mechanisms.tree_shares import TreeShares
from barrow.numerics import float_up
from barrow.numerics.search import distinct
from barrow.queries.quantised import default_step
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.nearness import coordinates
from barrow.spaces.space import Floats, Ids

_FEW = 64
"""Sums of as many values or fewer are looked at all at once."""


def checked_confidence(confidence: float, fix: str = "confidence=0.95") -> float:
    """How often an interval may miss, from how often it holds.

    >>> round(checked_confidence(0.95), 12)
    0.05
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.5 <= confidence < 1.0:
        raise ParameterError(
            f"confidence is {confidence!r}, which is how often an interval holds.",
            allowed="a number from 0.5 up to, but not including, 1",
            fix=fix,
        )
    return 1.0 - float(confidence)


@dataclass(frozen=True, eq=False)
class ReleasedShares:
    """The unbiased shares of a released histogram, and how noisy they are: all public.

    Attributes:
        space: The space.
        kind: ``"edges"``, ``"tree"``, ``"levels"`` or ``"cells"``.
        shares: Of each node, of what is below each edge, or of each item.
        scale: Of the noise of one value, rounded up: Laplace, or the standard deviation of Gaussian noise.
        grid: What values were rounded to, rounded up.
        gaussian: Whether the noise is Gaussian.
        reports: How many reports each share is the mean of.
        plan: Along edges: how the values were made.
        along: Along a tree: what the outputs are about.
        decoded: The decoded histogram, where it is known: the middle of regions that nodes do not determine.
        cache: What follows from the noise alone, by confidence: a plan keeps it.

    >>> from barrow.spaces import Discrete
    >>> shares = ReleasedShares(Discrete(["a", "b", "c"]), "cells", np.array([0.5, 0.3, 0.2]), scale=0.01, grid=1e-9)
    >>> shares.region([True, True, False]).estimate, shares.region([True, True, False]).boundary
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
    along: TreeShares | None = None
    decoded: Floats | None = None
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.kind == "tree" and self.along is None:
            object.__setattr__(self, "along", TreeShares.of(self.space))

    @classmethod
    def of(cls, space: Space, built: HistogramNoise, raw: ArrayLike) -> ReleasedShares | None:
        """From the noisy values of a mechanism; None where nothing is known about sums of them."""
        noise = built.noise
        plan = noise.plan if isinstance(noise, EdgeNoise) else None
        if plan is None and (built.kind not in ("tree", "levels", "cells") or noise.p not in (None, "1")):
            return None
        shares = np.asarray(raw, dtype=np.float64) * built.factors
        scale, grid = float_up(noise.scale), float_up(noise.grid)
        along = TreeShares.from_query(space, built.query.to_spec()) if built.kind in ("tree", "levels") else None
        return cls(space, built.kind, shares, scale, grid, noise.p is None, built.reports, plan, along)

    def region(
        self, inside: Any, confidence: float = 0.95, *, outer: ArrayLike | None = None, looked: bool = False
    ) -> RegionInterval:
        """An interval for the share of people's items in a region.

        Args:
            inside: One truth value for each item, or labels of items.
            confidence: How often the interval holds, 0.5 or more.
            outer: Where a region cuts cells: those that it meets at all, while ``inside`` are those wholly in it.
            looked: Whether the region was chosen after looking at the release: then all regions hold at once.
        """
        return self._region(inside, checked_confidence(confidence), outer, looked)

    def regions(self, regions: Sequence[Any], confidence: float = 0.95) -> list[RegionInterval]:
        """Intervals for a public list of regions that hold all at once."""
        if not len(regions):
            raise ParameterError("The list of regions is empty.", allowed="at least one region", fix="[region]")
        miss = checked_confidence(confidence) / len(regions)
        return [self._region(region, miss, None, looked=False) for region in regions]

    def _region(self, inside: Any, miss: float, outer: ArrayLike | None, looked: bool) -> RegionInterval:
        inner = self.marked(inside)
        most = inner if outer is None else self.marked(outer)
        if (inner & ~most).any():
            raise ParameterError(
                "The outer region does not hold the inner one.", allowed="a larger outer region", fix="outer=None"
            )
        if self.plan is not None:
            result = self._along_edges(inner, None if outer is None else most, miss, looked)
        else:
            result = self._one(inner, miss, looked)
            if outer is not None:  # each end misses with half of the rate
                upper = self._one(most, miss, looked)
                middle = (result.estimate + upper.estimate) / 2.0
                result = RegionInterval(result.low, upper.high, middle, upper.boundary, max(result.noise, upper.noise))
        if self.decoded is None or (outer is None and self.determined):
            return result
        return result.around(float(self.decoded[inner].sum()))

    @property
    def outputs(self) -> int:
        """How many shares there must be."""
        if self.plan is not None:
            return self.plan.graph.nodes
        return self.space.items if self.along is None else len(self.along.factors)

    @property
    def determined(self) -> bool:
        """Whether cells are no finer than nodes: else nothing determines the share of a single one."""
        return self.plan is None or self.plan.graph.weights is None

    def marked(self, region: Any) -> Mask:
        """One truth value for each item, from truth values or from labels.

        >>> from barrow.spaces import Discrete
        >>> ReleasedShares(Discrete(["a", "b", "c"]), "cells", np.zeros(3), 1.0, 1.0).marked(["c"]).tolist()
        [False, False, True]
        """
        given = np.asarray(region)
        if given.dtype == bool and given.shape == (self.space.records_space.items,):  # of people with records alone
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

    def _along_edges(self, inner: Mask, outer: Mask | None, miss: float, looked: bool) -> RegionInterval:
        plan = self.plan
        assert plan is not None  # noqa: S101  (whoever asks has looked)
        if not looked:
            return region_interval(plan, self.shares, inner, miss, outer=outer)
        # Two families of intervals, each of which holds at once with half of the miss rate.
        result = chosen_region_interval(plan, self.shares, inner, miss / 2.0, outer=outer)
        blocks = self._blocks(miss / 2.0)
        least = blocks.lower(self.shares, node_weights(plan, inner)[0] == 1.0)
        beyond = blocks.lower(self.shares, node_weights(plan, inner if outer is None else outer)[1] == 0.0)
        low, high = max(result.low, least), min(result.high, 1.0 - beyond)
        return replace(result, low=min(low, high), high=max(low, high))

    def _one(self, inside: Mask, miss: float, looked: bool) -> RegionInterval:
        constant, signs = self._cells(inside) if self.along is None else self.along.region(inside)
        estimate, counted = constant + float(signs @ self.shares), signs != 0.0
        cut = int(np.count_nonzero(counted))
        if looked:
            miss = any_region_miss(len(signs), cut, miss)
        wide = self._half_width(np.abs(signs * self._factors)[counted], miss) if miss > LEAST_MISS else 1.0
        low, high = min(max(estimate - wide, 0.0), 1.0), max(min(estimate + wide, 1.0), 0.0)
        return RegionInterval(low, high, estimate, cut, wide)

    @property
    def _factors(self) -> Floats:
        return np.ones(len(self.shares)) if self.along is None else self.along.factors

    def _cells(self, inside: Mask) -> tuple[float, Floats]:
        """All shares add up to 1, so that either side may be added up."""
        if int(inside.sum()) <= inside.size / 2:
            return 0.0, inside.astype(np.float64)
        return 1.0, -(~inside).astype(np.float64)

    def _half_width(self, factors: Floats, miss: float) -> float:
        """Of a sum of values times factors, each value rounded to the grid."""
        return 0.0 if not len(factors) else float(self._half_widths(factors[None, :], miss)[0])

    def _half_widths(self, factors: Floats, miss: float) -> Floats:
        """The same of many sums, one row of factors each; a factor may be 0."""
        if self.gaussian:
            wide = NoiseDistribution(None, 1).quantile(miss) * np.sqrt((factors**2).sum(axis=1) / self.reports)
        else:
            wide = np.zeros(len(factors))
            counts = (factors > 0.0).sum(axis=1)
            for count in distinct(counts[counts > 0]).tolist():
                rows = -np.sort(-factors[counts == count], axis=1)[:, :count]
                if len(rows) == 1 or count > _FEW:
                    results = [EdgeSum(row, reports=self.reports).half_width(miss) for row in rows]
                else:
                    known, kind = np.unique(rows, axis=0, return_inverse=True)
                    results = laplace_half_widths(known, miss, self.reports)[kind.ravel()]  # type: ignore[assignment]
                wide[counts == count] = results
        slack = 2.0 * float(default_step(float(self._tree.lengths.max()))) if self.kind == "tree" else 0.0
        return np.asarray((self.scale * wide + (self.grid / 2.0 + slack) * factors.sum(axis=1)) * (1.0 + 1e-9))

    @property
    def _tree(self) -> Any:
        assert self.along is not None  # noqa: S101  (whoever asks has looked)
        return self.along.tree

    # Items.

    def item_shares(self) -> Floats:
        """The unbiased share of each item, where cells are no finer than nodes."""
        if self.along is not None:
            constant, rows = self._cached("items", self.along.items)
            return np.asarray(constant + rows @ self.shares)
        return self.shares[: self.space.items]

    def item_widths(self, miss: float) -> Floats:
        """What each item's unbiased share, or each coarse node's, is off by with probability at most ``miss``."""
        return np.asarray(self._cached(("widths", miss), lambda: self._item_widths(miss)))

    def _item_widths(self, miss: float) -> Floats:
        if self.plan is not None:
            result = node_half_widths(self.plan, miss)
            return result[: self.space.items] if self.determined else result
        if self.along is None:
            return np.full(self.space.items, self._half_width(np.ones(1), miss))
        rows = self._cached("items", self.along.items)[1]
        most = int(np.diff(rows.indptr).max())
        factors = np.zeros((rows.shape[0], most))
        place = np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
        each = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        factors[each, place] = np.abs(rows.data) * self.along.factors[rows.indices]
        return self._half_widths(factors, miss)

    # Blocks.

    def merged(self, confidence: float = 0.95) -> Merged:
        """Regions that stand out from the noise, made of neighbouring items: all of them hold at once.

        ``of_unit`` of what is returned is the region of each item, that of the node which carries most of it.
        """
        result = self._blocks(checked_confidence(confidence)).merged(self._units(checked_confidence(confidence)))
        return result if self.plan is None else replace(result, of_unit=result.of_unit[main_nodes(self.plan)])

    def family(self, confidence: float = 0.95) -> list[tuple[Floats, Floats]]:
        """Level by level the unbiased share of every block, shown or not, and its half width: all hold at once.

        >>> from barrow.spaces import Line
        >>> line = Line(0, 4, step=1, cells=True)
        >>> result = ReleasedShares(line, "cells", np.array([0.5, 0.3, 0.1, 0.1]), scale=0.01, grid=1e-9).family()
        >>> [shares.round(3).tolist() for shares, _ in result]
        [[0.5, 0.3, 0.1, 0.1], [0.8, 0.2]]
        """
        miss = checked_confidence(confidence)
        blocks = self._blocks(miss)
        return list(zip(blocks.shares(self._units(miss)), blocks.widths, strict=True))

    def _units(self, miss: float) -> Floats:
        """What blocks are added up from: the shares of nodes or outputs, or of items."""
        direct = self.plan is not None or self._blocks(miss).outputs is not None
        return self.shares if direct else self.item_shares()

    def _blocks(self, miss: float) -> NestedBlocks:
        result: NestedBlocks = self._cached(("blocks", miss), lambda: self._build_blocks(miss))
        return result

    def _build_blocks(self, miss: float) -> NestedBlocks:
        inner = base_space(self.space)
        if self.plan is not None:
            return edge_blocks(self.plan, node_levels(self.plan), miss)
        if self.along is not None and not self.along.tree.path:
            levels, outputs = self.along.groups()
            shared = all_at_once(levels, miss)
            widths = [
                self._half_widths(self.along.factors[outs][:, None], own)
                for (_, _, own), outs in zip(shared, outputs, strict=True)
            ]
            return NestedBlocks(levels, tuple(widths), outputs)
        grid = inner.geometry.lattice
        if inner.geometry.gaps is not None or (grid is not None and grid.full):
            shape = (inner.items,) if inner.geometry.gaps is not None or grid is None else grid.shape
            levels = dyadic_levels(shape, self.space.items)
        else:
            added = np.full(self.space.items - inner.items, -1, dtype=np.int64)
            levels = tuple(np.append(of, added) for of in halved_levels(coordinates(inner)))
        if self.along is None:
            return sized_blocks(levels, miss, lambda size, own: self._half_width(np.ones(size), own))
        return NestedBlocks(levels, tuple(self._path_widths(*level) for level in all_at_once(levels, miss)))

    def _path_widths(self, of: Ids, count: int, miss: float) -> Floats:
        """On a line a block has two ends, each with the noise of one running share, but at the ends of the line."""
        ends = np.searchsorted(of, np.arange(count + 1))
        scales = np.concatenate([[0.0], self._factors, [0.0]])
        return self._half_widths(np.stack([scales[ends[:-1]], scales[ends[1:]]], axis=1), miss)

    def _cached(self, key: Any, make: Any) -> Any:
        if key not in self.cache:
            self.cache[key] = make()
        return self.cache[key]


def main_nodes(plan: EdgeHistogram) -> Ids:
    """The node that carries most of each item; of equal ones the first."""
    if plan.graph.weights is None:
        return np.arange(plan.space.items)
    rows = plan.graph.weights
    each = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -rows.data, each))
    return np.asarray(rows.indices[order[rows.indptr[:-1]]], dtype=np.int64)
