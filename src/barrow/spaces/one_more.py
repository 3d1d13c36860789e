"""Spaces with one item more than another: what everything outside holds, or people without records.

The item "no records" is at one public distance from every other: at least half the diameter, which is what triangle
inequalities need (a way through it is then never shorter than the largest distance), and the whole of it by default.
So nobody without records is counted as being at some corner of a map (docs/proofs/no-records.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, exact_text, float_down
from barrow.spaces.base import Floats, Ids, Space, Unknown
from barrow.spaces.checks import made
from barrow.spaces.geometry import Pairs
from barrow.spaces.neighbours import Ints, NeighbourGraph
from barrow.spaces.records import Formula, Reads

LABEL = "no records"
_SAFE = 2.0**-30
"""Paths to the hubs are floats; the edges beyond them are shorter by more than these can be off."""
_NEAR, _MOST_HUBS = 0.6, 64


class OneMore(Space):
    """The items of ``inner``, and one more, which is the last and is not snapped.

    >>> from barrow.spaces import Elsewhere, Line
    >>> space = Elsewhere(Line(0, 10, unit="km", step=2.5))
    >>> isinstance(space, OneMore), space.items, space.label(4)
    (True, 5, 'elsewhere')
    """

    inner: Space
    last_label: ClassVar[str]

    @property
    def innermost(self) -> Space:
        """What is inside, without any items that were added."""
        return self.inner.innermost

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

    @property
    def metric_name(self) -> str:
        """The inner one: no two records are farther apart than there, so promises are about its distances."""
        return self.inner.metric_name

    @property
    def snapping_upper(self) -> float:
        """As inside: the distance of two items is at most that of their records plus twice this."""
        return self.inner.snapping_upper

    @property
    def snapping_means(self) -> Floats:
        """As inside, and nothing for the one more."""
        return np.append(self.inner.snapping_means, 0.0)

    def near_pairs(self) -> Pairs:
        """Those inside, and every item is joined to the one that is beside them all."""
        if self.inner.items > 1:
            tails, heads, nodes, lengths = self.inner.near_pairs()
            if nodes == self.inner.items:
                each, last = np.arange(nodes), np.full(nodes, nodes)
                ways = np.concatenate([lengths, self.distance(each, last)])
                return np.concatenate([tails, each]), np.concatenate([heads, last]), nodes + 1, ways
        return super().near_pairs()

    @property
    def reads(self) -> Reads:
        """As the inner space does."""
        return self.inner.reads

    def columns_of(self, records: list[Any]) -> Any:
        """As the inner space reads them."""
        return self.inner.columns_of(records)


@dataclass(frozen=True, eq=False, repr=False)
class NoRecords(OneMore):
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
    apart: Fraction

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
        object.__setattr__(self, "inner", inner)
        object.__setattr__(self, "apart", apart)
        _ = inner.items
        object.__setattr__(self, "has_tree", apart > Fraction(1, 2) and _halfway(inner))

    @property
    def held(self) -> Space:
        """The inner one."""
        return self.inner

    @property
    def default_item(self) -> int:
        """The item of people without records."""
        return self.inner.items

    @property
    def may_be_whole(self) -> str:
        """As inside."""
        return self.inner.may_be_whole

    def coarser(self, most: int) -> tuple[Space, Ids] | None:
        """The inner one made coarser, where it has a grid."""
        found = self.inner.coarser(most)
        if found is None:
            return None
        return NoRecords(found[0], distance=self.apart), np.append(found[1], found[0].items)

    @property
    def distance_error(self) -> float:
        """As inside."""
        return self.inner.distance_error

    @cached_property
    def least_distance_lower(self) -> float:
        """The least distance of two items, "no records" among them."""
        near = float_down(self.apart)
        return min(self.inner.least_distance_lower, near) if self.inner.items > 1 else near

    @property
    def summands(self) -> tuple[tuple[Space, Fraction], ...]:
        """Those of the inner space."""
        return self.inner.summands

    @property
    def coordinates(self) -> Floats:
        """Those of the items, and one more for whether there are records, which counts most."""
        inside = self.inner.coordinates
        found = np.zeros((self.items, inside.shape[1] + 1))
        found[:-1, :-1], found[-1, :-1], found[-1, -1] = inside, inside.mean(axis=0), 1e3
        return found

    # Where every item is halfway down a tree, its root is as far from all of them as from the item that is added.

    def edge_spans(self) -> tuple[Ids, Ids, Floats]:
        """Those inside, and one more from the root."""
        if not self.has_tree:
            return super().edge_spans()
        starts, ends, lengths = self.inner.edge_spans()
        last = self.inner.items
        return np.append(starts, last), np.append(ends, last + 1), np.append(lengths, float(self.apart) - 0.5)

    def edge_lengths(self) -> list[Fraction]:
        """Those inside, and one more."""
        return [*self.inner.edge_lengths(), self.apart - Fraction(1, 2)]

    def group_names(self) -> dict[tuple[int, int], str]:
        """Those inside."""
        return self.inner.group_names()

    def _distance(self, a: Ids, b: Ids) -> Floats:
        last = self.inner.items
        inside = self.inner._distance(np.minimum(a, last - 1), np.minimum(b, last - 1))
        outside = np.where((a == last) & (b == last), 0.0, float(self.apart))
        return np.where((a < last) & (b < last), inside, outside)

    def _encode(self, records: Any, unknown: Unknown) -> Ids:
        return self.inner._encode(records, unknown)

    @property
    def formula(self) -> Formula:
        """The inner one."""
        return self.inner.formula

    def distances_from(self, record: Any) -> Floats:
        """Normalised distances of all items from one public record."""
        return np.append(self.inner.distances_from(record), float(self.apart))

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """The inner graph, and one more node that hangs on few hubs of it (docs/proofs/no-records.md, section 2).

        An item whose hub is r away along the graph must not be farther than ``apart`` from the new node, so the edge
        from a hub is ``apart`` less the largest r of the items that rely on it.
        """
        if self.inner.items == 1:
            return NeighbourGraph(2, [0], [1], [float_down(self.apart)])  # type: ignore[arg-type]
        inner = self.inner.graph(spacing)
        k, far = self.inner.items, float_down(self.apart)
        hubs, lengths = self._hubs(inner, k, far)
        new = k if inner.weights is None else inner.nodes

        def moved(nodes: Ints) -> Ints:
            """Nodes that carry no item come after all that do."""
            return np.where(nodes >= new, nodes + 1, nodes)

        weights = None
        if inner.weights is not None:
            from scipy.sparse import block_diag, csr_array

            weights = csr_array(block_diag([inner.weights, csr_array(np.ones((1, 1)))], format="csr"))
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
        places = self.inner.coordinates
        middle = (places.max(axis=0) + places.min(axis=0)) / 2.0
        return _carrier(inner, int(((places - middle) ** 2).sum(axis=1).argmin()))

    def _spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "inner": self.inner.to_spec(), "distance": exact_text(self.apart)}

    def _arguments(self) -> dict[str, Any]:
        far = {} if self.apart == 1 else {"distance": exact_text(self.apart)}
        return {"inner": self.inner, **far}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> NoRecords:
        """The space that ``spec`` describes."""
        from barrow.spaces.spec import space_from_spec

        return made(
            cls, space_from_spec(spec["inner"]), **{key: value for key, value in spec.items() if key != "inner"}
        )


def _carrier(graph: NeighbourGraph, item: int) -> int:
    """The node that carries most of ``item``."""
    if graph.weights is None:
        return item
    row = graph.weights[[item]]
    return int(row.indices[int(np.argmax(row.data))])


def _halfway(space: Space) -> bool:
    """Whether distances are those of a tree, with every item exactly 1/2 below the root."""
    if not space.has_tree or space.gaps is not None or space.items == 1:
        return False
    starts, ends, lengths = space.edge_spans()
    steps = np.bincount(starts, lengths, space.items + 1) - np.bincount(ends, lengths, space.items + 1)
    if np.abs(np.cumsum(steps)[:-1] - 0.5).max() > 1e-9:
        return False
    depths = [Fraction(0)] * (space.items + 1)
    for start, end, length in zip(starts.tolist(), ends.tolist(), space.edge_lengths(), strict=True):
        depths[start] += length
        depths[end] -= length
    return all(depth == Fraction(1, 2) for depth in list(accumulate(depths))[:-1])
