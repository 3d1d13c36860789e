"""Density maps: shares of people near public places, by a partition of unity of bandwidth h.

Each item is split between the few centres near it, with weights that add up to 1 and fall off over the distance h. On
a line, a circle and a Euclidean grid the weights are products of hats; on the Earth hats in latitude times hats in
longitude that are as wide as each row needs, so that the constant has a formula on a grid of any size; for hexagons
they are geodesic hats divided by their sum.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics import Exact
from barrow.queries.base import ClosedForm, Query, check_over, plain
from barrow.queries.quantised import MOST_BITS, Quantised
from barrow.queries.row_hats import MOST_OUTPUTS, row_hats, too_coarse, too_many
from barrow.spaces import EARTH_RADIUS_KM, Earth, Space, parse_distance
from barrow.spaces.geometry import Floats, Ids, Lattice
from barrow.spaces.sphere import unit_vectors

_STEP = Fraction(1, 2**MOST_BITS)


def density(space: Space, *, bandwidth: Exact, over: str = "people") -> Query:
    """A smoothed map of where people's items are: one share for each of a grid of public centres, ``bandwidth`` apart.

    Each output is the share of people (their items) near its centre; together they add up to 1.

    Args:
        space: A line, a circle, a Euclidean space, the Earth or hexagons, with a grid at least twice as fine.
        bandwidth: A distance in words, e.g. ``"5 km"``: how far apart the centres are, and how far weights reach. On
            a line, a circle or a box it is adjusted so that centres divide the space evenly.
        over: ``"people"``: every person counts once.

    >>> from barrow.spaces import Line
    >>> query = density(Line(0, 100, unit="km", step=1), bandwidth="10 km")
    >>> query.dimension, round(query.lipschitz_upper(1), 6)  # 2/h, with h = 1/10 of the diameter
    (11, 20.0)
    """
    check_over(over)
    _ = space.items
    width = float(parse_distance(bandwidth, space))
    if not space.has_map:
        raise ParameterError(
            f"A density needs places, and the items of the {space.kind} space have none.",
            allowed="a line, a circle, a Euclidean space, the Earth or hexagons",
            fix="histogram(space), or region_share(space, members=[...], ramp=...)",
        )
    if space.cell_width > width * space.diameter / 2.0 * (1 + 1e-9):
        raise too_coarse(space, width, space.cell_width / space.diameter)
    columns, weights, places, closed, error = _hats(space, width, space.point_rows)
    at = None if space.gaps is not None else unit_vectors(space.point_rows) if space.on_earth else space.point_rows
    return Query(
        space,
        "density",
        "",
        f"the share of people (their items) near each of {len(places):,} places, smoothed over {bandwidth}",
        _table(columns, weights, len(places), error),
        {"bandwidth": plain(bandwidth)},
        closed,
        lambda: [",".join(f"{x:.6g}" for x in np.atleast_1d(place)) for place in places],
        places,
        None if at is None else (at, width),
    )


def weights_at(query: Query, places: Floats) -> Any:
    """The weights of places of the space at the centres of a density, a row each; for predictions only."""
    space, size = query.space, query.space.items
    width = float(parse_distance(query.arguments["bandwidth"], space))
    columns, weights, centres, _, _ = _hats(space, width, np.concatenate([space.point_rows, places]))
    found = _table(columns, weights, len(centres), 0.0).floats()[size:] * float(_STEP)
    # Places may reach centres that no item reaches, which the query leaves out.
    known = {tuple(centre): i for i, centre in enumerate(np.reshape(centres, (len(centres), -1)).tolist())}
    mine = np.reshape(np.asarray(query.places), (query.dimension, -1)).tolist()
    return found[:, [known[tuple(centre)] for centre in mine]]


def _hats(space: Space, width: float, points: Floats) -> tuple[Ids, Floats, Floats, ClosedForm, float]:
    """Columns and weights of points of the space, the centres, the closed form, and what floats may be off."""
    if space.earth_box is not None:
        return row_hats(space, width, points)
    return (_geodesic_hats if space.lattice is None else _tensor_hats)(space, width, points)


def _table(columns: Ids, weights: Floats, outputs: int, error: float) -> Quantised:
    """The sparse table of weights: row i has ``weights[i]`` in ``columns[i]``."""
    from scipy.sparse import csr_array

    integers = np.rint(weights * 2.0**MOST_BITS).astype(np.int64)
    indptr = np.arange(0, columns.size + 1, columns.shape[1])
    table = csr_array((integers.ravel(), columns.ravel(), indptr), shape=(len(columns), outputs))
    table.sum_duplicates()
    table.eliminate_zeros()
    return Quantised(table, _STEP, float(_STEP) + error)


# Hats on axes, and their products.


def _tensor_hats(space: Space, width: float, points: Floats) -> tuple[Ids, Floats, Floats, ClosedForm, float]:
    """Products of hats along the axes."""
    grid = cast("Lattice", space.lattice)
    low, high, closes = grid.low, grid.high, space.goes_round
    h = width * space.diameter
    intervals = np.maximum(np.rint((high - low) / h).astype(np.int64), 3 if closes else 1)
    spacing = (high - low) / intervals
    counts = intervals if closes else intervals + 1
    if float(np.prod(counts, dtype=np.float64)) > MOST_OUTPUTS:
        raise too_many(width, space)
    columns = np.zeros((len(points), 1), dtype=np.int64)
    weights = np.ones((len(points), 1))
    for axis in range(points.shape[1]):
        position = (points[:, axis] - low[axis]) / spacing[axis]
        left = np.clip(np.floor(position), 0, intervals[axis] - 1).astype(np.int64)
        share = np.clip(position - left, 0.0, 1.0)
        right = (left + 1) % counts[axis]
        columns = np.stack([columns * counts[axis] + c[:, None] for c in (left, right)], axis=2).reshape(
            len(points), -1
        )
        weights = np.stack([weights * w[:, None] for w in (1.0 - share, share)], axis=2).reshape(len(points), -1)
    # Along axis a two entries move by at most |v_a|/h_a each, and the sum over axes is at most |(1/h_a)|_2 |v|_2.
    steepness = float(np.sqrt((1.0 / spacing**2).sum())) * space.diameter

    def bound(p: float) -> float:
        return float(2.0 ** (1.0 / p)) * steepness * (1.0 + 2.0**-40)

    axes = [low[a] + spacing[a] * np.arange(counts[a]) for a in range(points.shape[1])]
    places = np.stack([x.ravel() for x in np.meshgrid(*axes, indexing="ij")], axis=1)
    used = np.unique(columns)
    if len(used) < len(places):  # in a ball some centres are out of every item's reach
        columns, places = np.searchsorted(used, columns), places[used]
    # Coordinates are rounded relative to the largest of them, and then measured in spacings.
    largest = float((np.maximum(np.abs(low), np.abs(high)) / spacing).max()) + float(intervals.max())
    error = 8.0 * len(axes) * largest * 2.0**-52
    return columns, weights, places[:, 0] if len(axes) == 1 else places, ClosedForm(bound, tight=False), error


# Geodesic hats on the sphere.


def _geodesic_hats(space: Space, width: float, points: Floats) -> tuple[Ids, Floats, Floats, ClosedForm, float]:
    """Normalised hats max(0, 1 - d(x, c)/h) around centres about h apart."""
    from scipy.spatial import cKDTree

    h = width * space.diameter
    centres = _centres(points, h)
    if len(centres) > MOST_OUTPUTS:
        raise too_many(width, space)
    tree = cKDTree(unit_vectors(centres))
    vectors = unit_vectors(points)

    def reach(angle: float) -> float:
        return 2.0 * math.sin(min(angle, math.pi) / 2.0) * (1.0 + 2.0**-30)

    angle = h / EARTH_RADIUS_KM
    most = int(tree.query_ball_point(vectors, reach(angle), return_length=True).max())
    chords, columns = tree.query(vectors, k=list(range(1, most + 1)), distance_upper_bound=reach(angle))
    missing = ~np.isfinite(chords)
    apart = 2.0 * np.arcsin(np.minimum(np.where(missing, 0.0, chords) / 2.0, 1.0)) / angle
    hats = np.where(missing, 0.0, np.maximum(1.0 - apart, 0.0))
    total = hats.sum(axis=1)
    if (total <= 0.05).any():
        raise ParameterError(
            "Some items are too far from every centre of the density.",
            allowed="a bandwidth well below the size of the space",
            fix="another bandwidth",
        )
    closed = _geodesic_bound(tree, vectors, total, angle, width)
    columns = np.where(missing, 0, columns).astype(np.int64)
    used = np.unique(columns[hats > 0.0])
    columns = np.clip(np.searchsorted(used, columns), 0, len(used) - 1)
    # Unit vectors are good to 2^-50, so angles are too; hats divide them by h, shares by the sum.
    error = 2.0**-46 / angle / float(total.min())
    return columns, hats / total[:, None], centres[used], closed, error


def _geodesic_bound(tree: Any, vectors: Floats, total: Floats, angle: float, width: float) -> ClosedForm:
    """max(2/t, (2/h) max_x N(x, h+t)/S(x)) for any t: far pairs by the range, near ones by their common centres.

    For items at distance at most t, at most N(x, h+t) hats differ, each by d/h, and normalising at most doubles the
    change relative to S(x) (docs/proofs/densities.md). Loose by a factor of about three; used only where there are
    too many near pairs to visit.
    """
    best = math.inf
    for t in (1.0, 0.5, 0.35, 0.25, 0.15):
        radius = 2.0 * math.sin(min(angle * (1.0 + t), math.pi) / 2.0) * (1.0 + 2.0**-30)
        near = tree.query_ball_point(vectors, radius, return_length=True)
        best = min(best, max(2.0 / t, 2.0 * float((near / total).max())) / width)
    bound = best * (1.0 + 2.0**-20)
    return ClosedForm(lambda p: bound, tight=False)  # the 1-norm is the largest of all norms


def _centres(points: Floats, h: float) -> Floats:
    lat, lon = points[:, 0], points[:, 1]
    pad = 1e-6
    box = (
        max(-90.0, float(lat.min()) - pad),
        max(-180.0, float(lon.min()) - pad),
        min(90.0, float(lat.max()) + pad),
        min(180.0, float(lon.max()) + pad),
    )
    return Earth(box=box, cell=h).points
