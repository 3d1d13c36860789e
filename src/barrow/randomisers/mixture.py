"""Randomised response along a tree: GKRR on clusters, its generalisation to any tree, and the flat one.

From the root, an item goes down towards itself; at each node it may stop, with a probability that depends on the node
alone, and then reports an item below that node, all equally likely. Pooled counts are enough to draw it, and its tight
alpha0 has a closed form (docs/proofs/randomisers.md).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.noise import RandomSource, uniform_below
from barrow.noise.source import checked_source
from barrow.numerics import Exact, float_down
from barrow.randomisers.claim import LOG_ERROR, log_rate_upper
from barrow.randomisers.family import even_clusters
from barrow.randomisers.pooled import PooledStops
from barrow.randomisers.randomiser import DEEPEST, TOTAL, Integers, Randomiser, item_counts, wanted_alpha0
from barrow.randomisers.shape import Shape, star_shape, tree_shape
from barrow.spaces import Space
from barrow.spaces.space import Floats, Ids, strips

_HALVINGS = 30
_BACK = (2.0**-50, 2.0**-46, 2.0**-40, 2.0**-30)
"""By how much less than asked a channel is built, relatively, so that rounding does not carry it above."""
_DESCRIPTIONS = {
    "gkrr": "clustered randomised response (GKRR)",
    "response": "randomised response",
    "tree": "randomised response along the tree",
}


class MixtureRandomiser(Randomiser):
    """The channel "stop on the way down, then anywhere below", with whole stopping weights.

    Args:
        space: The public space.
        shape: The tree over its items.
        stops: For each node, the whole weight of stopping there; along each way from the root to an item they sum to
            2^62.
        kind: ``"gkrr"`` (stay, go anywhere in the cluster, or anywhere), ``"response"`` (stay, or go anywhere) or
            ``"tree"`` (stay, or go anywhere below one of the nodes above).

    >>> from barrow.spaces import Clustered
    >>> paper = gkrr(Clustered.grid(2, 2, r=0.25), 2)
    >>> float(paper.alpha0_upper) <= 2.0, paper.from_counts([5, 0, 0, 1]).sum().item()
    (True, 6)
    """

    def __init__(self, space: Space, shape: Shape, stops: list[int], kind: str = "tree") -> None:
        self.space, self.shape, self.stops, self.kind = space, shape, tuple(stops), kind
        self._paths = shape.paths()
        self._leaves = shape.leaves
        through = [0] * len(stops)  # the weight of stopping at a node or above it
        self._levels: list[Fraction] = [Fraction(0)] * len(stops)
        known: dict[tuple[int, int, int], Fraction] = {}  # sisters are mostly alike, and fractions are slow
        for v, (weight, above, width) in enumerate(
            zip(stops, shape.parents.tolist(), shape.widths.tolist(), strict=True)
        ):
            through[v] = weight + (through[above] if above >= 0 else 0)
            level = known.get((above, weight, width))
            if level is None:
                level = Fraction(weight, width) + (self._levels[above] if above >= 0 else 0)
                known[above, weight, width] = level
            self._levels[v] = level
        if any(w < 0 for w in stops) or any(through[v] != TOTAL for v in self._leaves.tolist()) or stops[0] <= 0:
            raise ParameterError(
                "The stopping weights do not sum to 2^62 on the way to every item.",
                allowed="whole weights of 0 or more, above 0 at the root",
                fix="tree_response(space, alpha0) makes them",
            )
        self._through = np.array(through, dtype=np.int64)
        self.alpha0_upper = self._tight()

    def _tight(self) -> Fraction:
        """The largest over items x and nodes u above x of ln(S_x/S_u) / (least distance from x to leaves parting at u).

        S_v, the sum of stop/width from the root to v, is the probability (times 2^62) of reporting y on x when they
        part at v. Floats leave out what cannot be the largest; balls decide among the rest, rounding up.
        """
        logs = np.array([math.log(level.numerator / level.denominator) for level in self._levels])
        results: list[tuple[Floats, Floats, Ids, Ids, list[Fraction]]] = []
        for depth in range(len(self._paths) - 1):
            nodes, below = self._paths[depth], self._paths[depth + 1]
            inner = np.flatnonzero(below >= 0)
            leaves, nodes = self._leaves[inner], nodes[inner]
            away = self._all_apart(leaves, nodes, below[inner])
            rounded = {id(d): float_down(d) for d in away}
            floats = np.array([rounded[id(d)] for d in away])
            gain, error = logs[leaves] - logs[nodes], 4.0 * LOG_ERROR
            upper = (gain + error) / floats * (1.0 + 2.0**-45)
            results.append((upper, (gain - error) / floats * (1.0 - 2.0**-45), leaves, nodes, away))
        if not results:
            return Fraction(math.nextafter(0.0, math.inf))
        reached = max(float(lower.max()) for _, lower, *_ in results)
        # The same fractions are mostly the same objects, which are far quicker to tell apart.
        alike = {
            (id(self._levels[leaves[i]]), id(self._levels[nodes[i]]), id(away[i])): (leaves[i], nodes[i], away[i])
            for upper, _, leaves, nodes, away in results
            for i in np.flatnonzero(upper >= reached).tolist()
        }
        pairs = {(self._levels[x] / self._levels[u], distance) for x, u, distance in alike.values()}
        claim = max(log_rate_upper(ratio, distance) for ratio, distance in pairs)
        if claim > max(float(upper.max()) for upper, *_ in results) or claim < reached:
            raise ParameterError(
                "The logarithms of this machine are less accurate than the claim's proof assumes.",
                allowed="logarithms within 4 units in the last place",
                fix="use another build of Python",
            )
        return Fraction(max(claim, math.nextafter(0.0, math.inf)))

    def _all_apart(self, leaves: Ids, nodes: Ids, children: Ids) -> list[Fraction]:
        """For each leaf, node above it and child of the node above the leaf: a lower bound on the way to the others."""
        depths, (_, outside) = self.shape.depths, self.shape.partings
        known: dict[tuple[int, int, Fraction], Fraction] = {}
        results = []
        for x, u, c in zip(leaves.tolist(), nodes.tolist(), children.tolist(), strict=True):
            key = (u, c, depths[x])
            if key not in known:
                known[key] = self._apart(x, u, outside[u, c])
            results.append(known[key])
        return results

    def _apart(self, leaf: int, node: int, other: Fraction) -> Fraction:
        """A lower bound on the distance from a leaf to the leaves that part from it at ``node``."""
        exact = min(Fraction(1), self.shape.depths[leaf] - self.shape.depths[node] + other)
        # Clustered and discrete distances are the very numbers r and 1; others were computed.
        known = self.shape.true_metric and self.space.geometry.exact
        return exact if known else exact * (1 - Fraction(self.space.distance_error))

    @property
    def description(self) -> str:
        """In plain words."""
        return _DESCRIPTIONS[self.kind]

    @cached_property
    def family(self) -> str | None:
        """``krr:K`` or ``gkrr:SxT:R`` where the probabilities are those to a relative 1e-12 at alpha0, else None.

        >>> from barrow.spaces import Clustered
        >>> gkrr(Clustered.grid(3, 4, r=0.25), 2).family, tree_response(Clustered.grid(3, 4, r=0.25), 2).family
        ('gkrr:3x4:0.25', 'gkrr:3x4:0.25')
        >>> gkrr(Clustered({"a": ["1"], "b": ["2", "3"]}, r=0.25), 2).family is None
        True
        """
        even = even_clusters(self.space) if self.shape.true_metric else None
        if even is None:
            return None
        inner = self.shape.starts[self.shape.widths == even.members]
        if sorted(inner.tolist()) != list(range(0, self.space.items, even.members)):
            return None  # some other grouping of the items
        weights: dict[int, Fraction] = {}
        for width, level in zip(self.shape.widths.tolist(), self._levels, strict=True):
            if weights.setdefault(width, level) != level:
                return None
        return even.name if even.keeps(weights, self.alpha0_upper) else None

    def probability(self, item: int, report: int) -> Fraction:
        """The exact probability of ``report`` on ``item``.

        >>> from barrow.spaces import Discrete
        >>> channel = randomised_response(Discrete(["a", "b"]), 1)
        >>> channel.probability(0, 0) + channel.probability(0, 1)
        Fraction(1, 1)
        """
        together = self._paths[:, item] == self._paths[:, report]
        together &= self._paths[:, item] >= 0
        return self._levels[int(self._paths[np.flatnonzero(together)[-1], item])] / TOTAL

    def weight_rows(self) -> list[list[int]] | None:
        """2^62 times the probabilities, times what makes all of them whole."""
        k = range(self.space.items)
        rows = [[self.probability(x, y) * TOTAL for y in k] for x in k]
        times = math.lcm(*{p.denominator for row in rows for p in row})
        return [[int(p * times) for p in row] for row in rows]

    def from_items(self, ids: ArrayLike, *, source: RandomSource | None = None) -> Ids:
        """One report for each item: 62 random bits say where it stops, and then one item below is drawn evenly."""
        items = self.space._ids(ids).ravel()
        origin = checked_source(source)
        sample = (origin.words(len(items)) >> np.uint64(2)).astype(np.int64)
        node = self._leaves[items].copy()
        for level in reversed(self._paths[:, items]):
            stops = (level >= 0) & (sample < self._through[level])
            node = np.where(stops, level, node)
        starts = self.shape.starts[node]
        return starts + uniform_below(self.shape.ends[node] - starts, source=origin)

    def from_counts(self, counts: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """Exact binomials for how many items stop at each node, then an even spread of each node's total."""
        held = item_counts(counts, self.space.items)
        origin = checked_source(source)
        if len(held) == 1:
            return held
        return self._pooled.draw(held, origin)

    @cached_property
    def _pooled(self) -> PooledStops:
        return PooledStops.of(self.shape, self.stops, self._through)

    def distortions(self) -> Floats:
        """The expected distance from each item to its report."""
        shape, k = self.shape, self.space.items
        result = np.zeros(k)
        if not shape.true_metric:
            moved = self.stops[0] / TOTAL
            for rows, block in strips(self.space):
                result[rows] = moved * block.mean(axis=1)
            return result
        depths = np.array([float(d) for d in shape.depths])
        height = depths[self._leaves]
        sums = np.concatenate([[0.0], np.cumsum(height)])
        far = np.zeros(k)  # the sum of distances from each item to all items below the node reached so far
        inside, width = self._leaves.copy(), np.ones(k)
        for level in reversed(self._paths[:-1]):
            some = np.flatnonzero((level >= 0) & (level != inside))
            u, c = level[some], inside[some]
            a, b = shape.starts[u], shape.ends[u]
            others = (sums[b] - sums[a]) - (sums[shape.ends[c]] - sums[shape.starts[c]])
            number = shape.widths[u] - width[some]
            far[some] += number * (height[some] - 2.0 * depths[u]) + others
            inside[some], width[some] = u, shape.widths[u]
            stop = np.array(self.stops, dtype=np.float64)[u] / TOTAL
            result[some] += stop * far[some] / shape.widths[u]
        return np.minimum(result, 1.0)


def gkrr(space: Space, alpha0: Exact) -> MixtureRandomiser:
    """The paper's generalised k-ary randomised response on a clustered space, its clusters of any sizes (Section 6.2).

    >>> import math
    >>> from barrow.spaces import Clustered
    >>> channel = gkrr(Clustered.grid(3, 4, r=0.25), 2)
    >>> stay, across = channel.probability(0, 0), channel.probability(0, 11)
    >>> round(math.log(stay / across), 6)
    2.0
    """
    if "gkrr" not in space.geometry.randomisers:
        raise ParameterError(
            f"GKRR needs clusters, and the space is {space.kind!r}.",
            allowed="a clustered space",
            fix="tree_response on a tree, exponential on any finite space",
        )
    return _fitted("gkrr", space, tree_shape(space), alpha0)


def tree_response(space: Space, alpha0: Exact) -> MixtureRandomiser:
    """GKRR on a tree, clustered or discrete space: the same law as the paper's on two levels, and its pattern on more.

    >>> from barrow.spaces import Tree
    >>> places = Tree.nested(["US/NY", "US/LA", "FR/Paris"], distances=[1, 0.25])
    >>> float(tree_response(places, 3).alpha0_upper) <= 3.0
    True
    """
    return _fitted("tree", space, tree_shape(space), alpha0)


def randomised_response(space: Space, alpha0: Exact) -> MixtureRandomiser:
    """Randomised response on any finite space: it uses only that two items are at least the least distance apart.

    >>> from barrow.spaces import Discrete
    >>> round(float(randomised_response(Discrete(["a", "b", "c"]), "0.5").probability(0, 0)), 4)
    0.4519
    """
    least = Fraction(space.least_distance_lower)
    shape = star_shape(space.items, least / 2, true_metric=space.geometry.equidistant)
    return _fitted("response", space, shape, alpha0)


def _fitted(kind: str, space: Space, shape: Shape, request: Exact) -> MixtureRandomiser:
    """The channel with the largest slope whose tight alpha0 is at most ``alpha0``."""
    if space.items == 1:
        return MixtureRandomiser(space, shape, [TOTAL], kind)
    alpha0 = wanted_alpha0(request)
    target = high = float_down(alpha0)
    for back in _BACK:
        slope = target * (1.0 - back)
        built = MixtureRandomiser(space, shape, _stops(space, shape, slope), kind)
        if built.alpha0_upper <= alpha0:
            return built
        high = slope
        if built.alpha0_upper > alpha0 * (1 + Fraction(_BACK[-1])):  # not a matter of rounding
            break
    low, best = 0.0, None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        built = MixtureRandomiser(space, shape, _stops(space, shape, middle), kind)
        if built.alpha0_upper <= alpha0:
            low, best = middle, built
        else:
            high = middle
    if best is None:
        raise ParameterError(
            f"alpha0 is {target:.6g}, too small for whole weights on this space: the reports would be noise.",
            allowed="a larger alpha0",
            fix=f"alpha0={target * 1000:.3g}",
        )
    return best


def _stops(space: Space, shape: Shape, slope: float) -> list[int]:
    """Whole stopping weights at ``slope``: by the formula where all clusters are alike, else level by level."""
    even = even_clusters(space) if shape.true_metric else None
    known = None if even is None else even.stops(slope)
    if known is None:
        return _uneven_stops(shape, slope)
    of_width = {1: known[2], space.items: known[0]}
    return [of_width.get(width, known[1]) for width in shape.widths.tolist()]


def _uneven_stops(shape: Shape, slope: float) -> list[int]:
    """Whole stopping weights: S grows by exp(slope * distance) towards the leaf, averaged where the tree is uneven."""
    least, _ = shape.partings
    count, widths = len(shape.parents), shape.widths
    reach: list[float] = [0.0] * count  # E: the least parting distance at the node or above; 0 at leaves
    for v in range(count):
        above = int(shape.parents[v])
        if widths[v] > 1:
            # Farther than e^28 is not told apart: a smaller reach is private for every larger distance.
            own = min(float(least[v]), 1.0, DEEPEST / slope)
            reach[v] = own if above < 0 else min(own, reach[above])
    raw = np.zeros(count)
    for v in range(count):
        above = int(shape.parents[v])
        grown = 1.0 if above < 0 else -math.expm1(-slope * (reach[above] - reach[v]))
        raw[v] = float(widths[v]) * math.exp(-slope * reach[v]) * grown
    paths = shape.paths()
    on = paths >= 0
    below = np.cumsum(np.where(on, raw[paths], 0.0)[::-1], axis=0)[::-1]
    chance = np.where(on, raw[paths] / np.where(on, below, 1.0), 0.0)
    stop, seen = np.zeros(count), np.zeros(count)
    np.add.at(stop, paths[on], chance[on])
    np.add.at(seen, paths[on], 1.0)
    stop /= seen
    weights, remaining = [0] * count, [TOTAL] * count
    for v in range(count):
        above = int(shape.parents[v])
        remaining[v] = TOTAL if above < 0 else remaining[above] - weights[above]
        weights[v] = remaining[v] if widths[v] == 1 else min(int(stop[v] * remaining[v]), remaining[v])
        if v == 0:
            weights[v] = max(1, weights[v])
    return weights
