"""Which items are near which: pairs that paths are made of, coordinates, and distances from any public point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.spaces.augmented import AugmentedSpace, NoRecords
from barrow.spaces.checks import finite_array
from barrow.spaces.circle import Circle
from barrow.spaces.elsewhere import Elsewhere
from barrow.spaces.euclidean import Euclidean
from barrow.spaces.geographic import Earth
from barrow.spaces.geometry import ByDistance
from barrow.spaces.lattices import ProductEdges
from barrow.spaces.line import Line
from barrow.spaces.neighbours import Net
from barrow.spaces.neighbours import near_pairs as pairs_of_points
from barrow.spaces.network import Graph
from barrow.spaces.product import Product
from barrow.spaces.scale import Scale
from barrow.spaces.space import Floats, Space, Unknown
from barrow.spaces.sphere import EARTH_RADIUS_KM, great_circle

_FEW_ITEMS = 50
"""All pairs of a part of so few items count as near ones, unless it has axes."""


@ByDistance
def near_pairs(space: Space) -> Net:
    """Pairs of near items whose paths stand in for distances."""
    return pairs_of_points(space)


@near_pairs.register
def _(space: Graph) -> Net:
    """Its edges, which are shortest paths, so that none need be looked for."""
    graph = space.graph()
    return Net(space.size, graph.tails, graph.heads, graph.lengths * float(graph.stretch))


@near_pairs.register
def _(space: Product) -> Net:
    """Distances are sums over the parts, so that moves along one part at a time are enough."""
    ends, lengths = [], []
    for part, weight in space.geometry.parts:
        few = part.items <= _FEW_ITEMS and part.geometry.lattice is None and part.geometry.box is None
        near = None if few or part.items == 1 else near_pairs(part)
        rows, columns = np.triu_indices(part.items, 1) if near is None else (near.tails, near.heads)
        ends.append((rows, columns))
        lengths.append(np.asarray(part.distance(rows, columns), dtype=np.float64) * float(weight))
    net = ProductEdges.of(space._shape, ends)
    return Net(space.items, net.tails, net.heads, net.lengths(lengths))


@near_pairs.register
def _(space: AugmentedSpace) -> Net:
    """Those inside, and every item is joined to the one that is beside them all."""
    if space.inner.items > 1:
        near = near_pairs(space.inner)
        if near.nodes == space.inner.items:
            each, last = np.arange(near.nodes), np.full(near.nodes, near.nodes)
            ways = np.concatenate([near.lengths, space.distance(each, last)])
            ends = np.concatenate([near.tails, each]), np.concatenate([near.heads, last])
            return Net(near.nodes + 1, *ends, ways)
    return pairs_of_points(space)


@ByDistance
def coordinates(space: Space) -> Floats:
    """Numbers for all items, a row each, in which items that are near each other mostly are near; public.

    The longest side of places is 1; items without places are a step of 1 apart.

    >>> coordinates(Line(0, 4, step=2, cells=True)).tolist()
    [[0.5], [1.5]]
    """
    places = space.geometry.places
    if places is None:
        return np.arange(space.items, dtype=np.float64)[:, None]
    result = np.asarray(places, dtype=np.float64).reshape(space.items, -1)
    longest = float((result.max(axis=0) - result.min(axis=0)).max())
    return result / longest if longest > 0.0 else result


@coordinates.register
def _(space: Product) -> Floats:
    """Those of the parts, each times its weight."""
    split = space._split(np.arange(space.items))
    rows = zip(space.parts, space.weights, split, strict=True)
    return np.concatenate([coordinates(part)[ids] * float(weight) for part, weight, ids in rows], axis=1)


@coordinates.register
def _(space: NoRecords) -> Floats:
    """Those of the items, and one more for whether there are records, which counts most."""
    inside = coordinates(space.inner)
    result = np.zeros((space.items, inside.shape[1] + 1))
    result[:-1, :-1], result[-1, :-1], result[-1, -1] = inside, inside.mean(axis=0), 1e3
    return result


@ByDistance
def distances_from(space: Space, record: Any) -> Floats:
    """Normalised distances of all items from one public record (a point or a label).

    >>> distances_from(Line(0, 10, step=5), 0).tolist()
    [0.0, 0.5, 1.0]
    """
    return from_item(space, record)


def from_item(space: Space, record: Any) -> Floats:
    """Distances from the item that a record is."""
    ids = space._encode([record], "error")
    if ids[0] < 0:
        raise ParameterError(
            f"{record!r} is not an item of the {space.kind} space.",
            allowed="a label of the space",
            fix=f"e.g. {space.label(0)!r}",
        )
    return np.asarray(space.block([int(ids[0])])[0])


@distances_from.register
def _(space: Line, record: float) -> Floats:
    if not space.low <= float(record) <= space.high:
        raise ParameterError(
            f"The point {record} is outside the line.",
            allowed=f"a number from {space.low} to {space.high}",
            fix="choose one inside",
        )
    _ = space.items
    return np.minimum(np.abs(space.points - float(record)) / space.diameter, 1.0)


@distances_from.register
def _(space: Scale, record: Any) -> Floats:
    return from_item(space, record)


@distances_from.register
def _(space: Circle, record: float | str) -> Floats:
    if space.names is not None:
        return from_item(space, record)
    if isinstance(record, str) or not 0.0 <= record <= space.period:
        raise ParameterError(
            f"The point {record!r} is not on the circle.",
            allowed=f"a number in [0, {space.period}]",
            fix="0.0",
        )
    gap = np.abs(space.points - float(record))
    return np.minimum(np.minimum(gap, space.period - gap) / space.diameter, 1.0)


@distances_from.register
def _(space: Euclidean, record: Sequence[float]) -> Floats:
    point = finite_array(record, "the point", ndim=1)
    if not space._holds(point):
        raise ParameterError(
            f"The point {list(record)} is outside the space.",
            allowed=f"{space.dimension} coordinates inside it",
            fix=f"e.g. {((space.low + space.high) / 2).tolist()}",
        )
    away = np.sqrt(((space.points - point) ** 2).sum(axis=1))
    return np.asarray(np.minimum(away / space._diameter, 1.0))


@distances_from.register
def _(space: Earth, record: Sequence[float]) -> Floats:
    """Normalised distances of all cells from the public place ``record`` = (lat, lon), anywhere on Earth.

    Outside the box a distance may be larger than 1; it still changes by at most the distance moved.

    >>> Earth(box=(0, 0, 2, 2), cell=300).distances_from((1, 1)).tolist()
    [0.0]
    """
    lat, lon = (float(x) for x in record)
    if not (-90.0 <= lat <= 90.0 and -180.0 <= lon <= 180.0):
        raise ParameterError(
            f"The place {record} is not on Earth.",
            allowed="(lat, lon) in degrees, from -90 to 90 and from -180 to 180",
            fix="swap them if longitude came first",
        )
    angle = great_circle(space.points[:, 0], space.points[:, 1], np.array(lat), np.array(lon))
    return np.asarray(angle * (EARTH_RADIUS_KM / space._diameter))


@distances_from.register
def _(space: Product, record: Sequence[Any]) -> Floats:
    if len(record) != len(space.parts):
        raise ParameterError(
            f"The record {record!r} has {len(record)} parts.",
            allowed=f"{len(space.parts)}",
            fix="one for each part",
        )
    rows = [distances_from(p, r) * float(w) for p, w, r in zip(space.parts, space.weights, record, strict=True)]
    total = rows[0]
    for row in rows[1:]:
        total = np.add.outer(total, row).ravel()
    return total


@distances_from.register
def _(space: NoRecords, record: Any) -> Floats:
    return np.append(distances_from(space.inner, record), float(space.no_records_distance))


@distances_from.register
def _(space: Elsewhere, record: Any) -> Floats:
    """Refused: the outside is at no one distance from a point."""
    raise ParameterError(
        "Records 'elsewhere' have no single distance from a point.",
        allowed="histograms, frequencies and functions, where outside = 'elsewhere'",
        fix="kind = 'histogram', whose release says the share of any region: barrow region FOLDER --within FILE",
    )


@ByDistance
def keeps_near(space: Space, unknown: Unknown) -> bool:
    """Whether records that are near each other stay so, snapping aside, where those outside are treated so.

    Names have no distances but those of this space, in which an unknown name is its default item. A number outside
    has one, and the default item may be far from it (docs/proofs/budget.md, section 4).

    >>> line = Line(0, 10, step=1)
    >>> keeps_near(line, "default"), keeps_near(line, "nearest"), keeps_near(Circle.months(), "default")
    (False, True, True)
    """
    return _names_stay(space, unknown)


def _names_stay(space: Space, unknown: Unknown) -> bool:
    if unknown != "default":
        return unknown == "error"
    named = space.reads.columns == 1 and not space.reads.numbers and space.reads.moments is None
    return named and space.metric_name == f"{space.kind} {space.digest}"


@keeps_near.register
def _(space: Line, unknown: Unknown) -> bool:
    """Also where those outside move to the nearer end: that makes no two numbers farther apart."""
    return unknown == "nearest" or _names_stay(space, unknown)


@keeps_near.register
def _(space: Euclidean, unknown: Unknown) -> bool:
    """Also where those outside a box move to its nearest point, which makes no two points farther apart."""
    return (unknown == "nearest" and space.center is None) or _names_stay(space, unknown)


@keeps_near.register
def _(space: Product, unknown: Unknown) -> bool:
    """If every part does; but one unknown part makes all of a record the default item, which may be far."""
    return unknown != "default" and all(keeps_near(part, unknown) for part, _ in space.geometry.parts)
