"""Spaces with one item more than another: what everything outside holds, or people without records.

The item "no records" is at one public distance from every other: at least half the diameter, which is what triangle
inequalities need (a way through it is then never shorter than the largest distance), and the whole of it by default.
So nobody without records is counted as being at some corner of a map (docs/proofs/no-records.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from heapq import heappop, heappush, heapreplace
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, exact_text, float_down
from barrow.spaces.checks import build
from barrow.spaces.geometry import Geometry, TreeEdges
from barrow.spaces.neighbours import Ints, NeighbourGraph
from barrow.spaces.records import Formula, Reads
from barrow.spaces.space import Floats, Ids, Space, Unknown

LABEL = "no records"
_SAFE = 2.0**-30
"""Paths to the hubs are floats; the edges beyond them are shorter by more than these can be off."""
_NEAR, _MOST_HUBS = 0.6, 64


class AugmentedSpace(Space):
    """The items of ``inner``, and one more, which is the last and is not snapped.

    >>> from barrow.spaces import Elsewhere, Line
    >>> space = Elsewhere(Line(0, 10, unit="km", step=2.5))
    >>> isinstance(space, AugmentedSpace), space.items, space.label(4)
    (True, 5, 'elsewhere')
    """

    inner: Space
    last_label: ClassVar[str]

    @property
    def unit(self) -> str:
        """The unit of distance."""
        return self.inner.unit

    @property
    def diameter(self) -> float:
        """How many units count as distance 1."""
        return self.inner.diameter

    @property
    def size(self) -> int:
        """One more item than inside."""
        return self.inner.items + 1

    def label(self, item: int) -> str:
        """The inner label, or that of the one more."""
        return self.last_label if item == self.inner.items else self.inner.label(item)

    def _metric_name(self) -> str:
        """The inner one: no two records are farther apart than there, so promises are about its distances."""
        return self.inner.metric_name

    @property
    def snapping_upper(self) -> float:
        """As inside: the distance of two items is at most that of their records plus twice this."""
        return self.inner.snapping_upper

    @property
    def reads(self) -> Reads:
        """As the inner space does."""
        return self.inner.reads

    def _spec(self) -> dict[str, Any]:
        return self._plain("inner")

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "inner": self.inner}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Space:
        """The space that ``spec`` describes."""
        from barrow.spaces.spec import space_from_spec

        return build(cls, **{**spec, "inner": space_from_spec(spec["inner"])})


@dataclass(frozen=True, eq=False, repr=False)
class NoRecords(AugmentedSpace):
    """The items of a space, and one for people without records.

    Args:
        inner: A space with a public grid or labels.
        distance: How far "no records" is from every item, as a share of the largest distance: 1/2 to 1.

    >>> from barrow.spaces import Line
    >>> space = NoRecords(Line(0, 10, unit="km", step=5))
    >>> space.labels[-1], space.default_item, space.distance([0, 1, 0], [2, 3, 3]).tolist()
    ('no records', 3, [1.0, 1.0, 1.0])
    """

    kind: ClassVar[str] = "no_records"
    last_label: ClassVar[str] = LABEL
    inner: Space
    no_records_distance: Fraction

    def __init__(self, inner: Space, *, distance: Exact = 1) -> None:
        apart = exact(distance, "distance")
        if not Fraction(1, 2) <= apart <= 1:
            raise ParameterError(
                f"The distance of people without records is {exact_text(apart)} of the largest one.",
                allowed="1/2 to 1: less would make a short cut through them",
                fix="distance = 1",
            )
        if isinstance(inner, NoRecords):
            raise ParameterError("The space has an item for people without records already.", fix="name it once")
        vars(self).update(inner=inner, no_records_distance=apart)
        _ = inner.items

    @property
    def records_space(self) -> Space:
        """The inner one."""
        return self.inner

    @property
    def default_item(self) -> int:
        """The item of people without records."""
        return self.inner.items

    def _distance_error(self) -> float:
        """As inside."""
        return self.inner.distance_error

    @cached_property
    def least_distance_lower(self) -> float:
        """The least distance of two items, "no records" among them."""
        near = float_down(self.no_records_distance)
        return min(self.inner.least_distance_lower, near) if self.inner.items > 1 else near

    def _geometry(self) -> Geometry:
        """The parts inside; where every item is halfway down a tree, one more edge from its root.

        The root is then as far from all of them as from the item that is added.
        """
        below = self.inner.geometry
        inside, parts = below.tree, below.parts
        if inside is None or self.no_records_distance <= Fraction(1, 2) or not _halfway(self.inner, inside):
            gaps, far = self.inner.geometry.gaps, float(self.no_records_distance)
            flow = None if gaps is None or self.inner.geometry.periodic else partial(_beside_line, gaps, far)
            return Geometry(parts=parts, flow=flow, within=below.within, group_distance=below.group_distance)
        last = self.inner.items
        starts, ends = np.append(inside.starts, last), np.append(inside.ends, last + 1)
        more = self.no_records_distance - Fraction(1, 2)
        tree = TreeEdges(
            starts,
            ends,
            np.append(inside.lengths, float(self.no_records_distance) - 0.5),
            lambda: [*inside.exact_lengths, more],
            inside.names,
        )
        return Geometry(tree=tree, parts=parts)

    def _distance(self, a: Ids, b: Ids) -> Floats:
        last = self.inner.items
        inside = self.inner._distance(np.minimum(a, last - 1), np.minimum(b, last - 1))
        outside = np.where((a == last) & (b == last), 0.0, float(self.no_records_distance))
        return np.where((a < last) & (b < last), inside, outside)

    def _encode(self, records: Any, unknown: Unknown) -> Ids:
        return self.inner._encode(records, unknown)

    @property
    def formula(self) -> Formula:
        """The inner one."""
        return self.inner.formula

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """The inner graph, and one more node that hangs on few hubs of it (docs/proofs/no-records.md, section 2).

        An item whose hub is r away along the graph must not be farther than ``no_records_distance`` from the new node,
        so the edge from a hub is that distance less the largest r of the items that rely on it.
        """
        if self.inner.items == 1:
            return NeighbourGraph(2, [0], [1], [float_down(self.no_records_distance)])  # type: ignore[arg-type]
        inner = self.inner.graph(spacing)
        k, far = self.inner.items, float_down(self.no_records_distance)
        hubs, lengths = self._hubs(inner, k, far)
        new = k if inner.weights is None else inner.nodes

        def moved(nodes: Ints) -> Ints:
            """Nodes that carry no item come after all that do."""
            return np.where(nodes >= new, nodes + 1, nodes)

        weights = None
        if inner.weights is not None:
            weights = heavy.sparse.csr_array(
                heavy.sparse.block_diag([inner.weights, heavy.sparse.csr_array(np.ones((1, 1)))], format="csr")
            )
        tails = np.concatenate([moved(inner.tails), moved(np.array(hubs))])
        heads = np.concatenate([moved(inner.heads), np.full(len(hubs), new)])
        stretch = max(inner.stretch, Fraction(far / min(lengths)) + Fraction(1, 2**30))
        stretch = max(stretch, Fraction(0.5 / min(lengths)) + Fraction(1, 2**30))
        return NeighbourGraph(
            inner.nodes + 1, tails, heads, np.append(inner.lengths, lengths), weights, inner.faces, stretch
        )

    def _hubs(self, inner: NeighbourGraph, items: int, far: float) -> tuple[list[int], list[float]]:
        carried = inner.weights
        hubs: list[int] = []
        ways: list[Floats] = []
        hub = self._middle(inner, items)
        while True:
            reach = inner.distances([hub])[0]
            hubs.append(hub)
            ways.append(reach[:items] if carried is None else np.asarray(carried @ reach))
            nearest = np.min(ways, axis=0)
            item = int(nearest.argmax())
            if nearest[item] <= _NEAR * far or len(hubs) >= _MOST_HUBS or nearest[item] == 0.0:
                break
            hub = _carrier(inner, item)
        whose = np.argmin(ways, axis=0)
        longest = [float(np.max(ways[i][whose == i], initial=0.0)) for i in range(len(hubs))]
        lengths = [far - reach * (1.0 + _SAFE) - _SAFE for reach in longest]
        if min(lengths) <= 0.0:
            raise ParameterError(
                "People without records cannot be joined to the graph of this space.",
                allowed="a larger distance of theirs",
                fix="distance = 1, or mechanism = 'cells'",
            )
        return hubs, lengths

    def _middle(self, inner: NeighbourGraph, items: int) -> int:
        """The first hub: the item in the middle; where items hang on nodes without items, the middle of a longest way.

        In a tree that is the node nearest to all items at once, wherever it started.
        """
        if inner.weights is None and inner.nodes > items:
            first = inner.distances([int(inner.distances([0])[0][:items].argmax())])[0]
            last = inner.distances([int(first[:items].argmax())])[0]
            return int(np.maximum(first, last).argmin())
        from barrow.spaces.nearness import coordinates

        places = coordinates(self.inner)
        middle = (places.max(axis=0) + places.min(axis=0)) / 2.0
        return _carrier(inner, int(((places - middle) ** 2).sum(axis=1).argmin()))

    def _spec(self) -> dict[str, Any]:
        return self._plain("inner", distance=self.no_records_distance)

    def _arguments(self) -> dict[str, Any]:
        return {name: value for name, value in super()._arguments().items() if (name, value) != ("distance", "1")}


def base_space(space: Space) -> Space:
    """The space without the items that were added to it; they are the last ones.

    >>> from barrow.spaces import Elsewhere, Line
    >>> base_space(NoRecords(Elsewhere(Line(0, 10, step=5, cells=True)))).kind
    'line'
    """
    while isinstance(space, AugmentedSpace):
        space = space.inner
    return space


def has_outside(space: Space) -> bool:
    """Whether there is one more item for records outside.

    >>> from barrow.spaces import Line
    >>> has_outside(NoRecords(Line(0, 1, step=1)))
    False
    """
    within = space.geometry.within
    return has_outside(within) if within is not None else space.records_space is not base_space(space)


def with_no_records(space: Space) -> Space:
    """The items of a space and one more, which people without records hold; itself where it has one.

    >>> from barrow.spaces import Line
    >>> with_no_records(Line(0, 10, step=5, cells=True)).labels
    ['2.5', '7.5', 'no records']
    """
    return NoRecords(space) if space.no_records_distance is None else space


def _carrier(graph: NeighbourGraph, item: int) -> int:
    """The node that carries most of ``item``."""
    if graph.weights is None:
        return item
    row = graph.weights[[item]]
    return int(row.indices[int(np.argmax(row.data))])


def _beside_line(gaps: Floats, far: float, difference: Floats) -> Floats:
    """The EMD on a line and one more item at the distance ``far``, 1/2 or more, from all others.

    What the one more item gains, m, may leave the line anywhere. With C the running sum of the rest of the difference,
    and R that of what leaves, the cost is far m + min sum_i |C_i - R_i| gap_i over 0 <= R_1 <= R_2 <= ... <= m: an
    isotonic regression in absolute values (docs/proofs/no-records.md, section 7). One heap of the places where its
    slope changes gives its cost.
    """
    rows = difference.reshape(-1, difference.shape[-1])
    costs = np.empty(len(rows))
    for i, row in enumerate(rows):
        leaves = -float(row[-1])
        sign, most = (-1.0 if leaves < 0.0 else 1.0), abs(leaves)
        running = sign * np.cumsum(row[:-2])
        within = np.clip(running, 0.0, most)
        cost = far * most + float(np.abs(running - within) @ gaps)
        costs[i] = cost + (isotonic_cost(within.tolist(), gaps.tolist()) if most else 0.0)
    return costs.reshape(difference.shape[:-1])


def isotonic_cost(values: list[float], weights: list[float]) -> float:
    """The least sum of weighted absolute differences of ``values`` and an increasing sequence.

    The least cost of a sequence that ends at x or below is convex in x; the heap holds where its slope, at most 0,
    changes, and by how much. A new value adds a kink; what rises beyond it is cut off, and paid for.

    >>> isotonic_cost([1.0, 3.0, 2.0], [1.0, 1.0, 1.0]), isotonic_cost([2.0, 1.0], [1.0, 5.0])
    (1.0, 1.0)
    """
    cost = 0.0
    kinks: list[tuple[float, float]] = []
    for value, weight in zip(values, weights, strict=True):
        left = weight
        heappush(kinks, (-value, 2.0 * weight))
        while left > 0.0:
            place, size = kinks[0]
            if size > left:
                cost += (-place - value) * left
                heapreplace(kinks, (place, size - left))
                break
            cost += (-place - value) * size
            left -= size
            heappop(kinks)
    return cost


def _halfway(space: Space, tree: TreeEdges) -> bool:
    """Whether every item is exactly 1/2 below the root of the tree."""
    if space.items == 1:
        return False
    starts, ends, lengths = tree.starts, tree.ends, tree.lengths
    steps = np.bincount(starts, lengths, space.items + 1) - np.bincount(ends, lengths, space.items + 1)
    if np.abs(np.cumsum(steps)[:-1] - 0.5).max() > 1e-9:
        return False
    depths = [Fraction(0)] * (space.items + 1)
    for start, end, length in zip(starts.tolist(), ends.tolist(), tree.exact_lengths, strict=True):
        depths[start] += length
        depths[end] -= length
    return all(depth == Fraction(1, 2) for depth in list(accumulate(depths))[:-1])
