"""Density maps: shares of people near public places, by a partition of unity of bandwidth h.

Each item is split between the few centres near it, with weights that add up to 1 and fall off over the distance h. On
a line, a circle and a Euclidean grid the weights are products of hats; for hexagons they are geodesic hats divided by
their sum.

On the Earth they are hats in latitude times hats in longitude, whose constant has a formula. A row of centres has a
spacing in longitude of its own: the bandwidth where the row reaches farthest from the equator, so more nowhere. Rows
that touch a pole are one centre. Only the two rows around an item and two centres of each hold a part of it, and no
pair of items is visited, so that grids of millions of cells take seconds (docs/proofs/densities.md, section 3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics import TABLE_BITS, Exact
from barrow.numerics.search import distinct
from barrow.queries.quantised import Quantised
from barrow.queries.query import ClosedForm, Query, plain
from barrow.spaces import EARTH_RADIUS_KM, Earth, Space, parse_distance
from barrow.spaces.augmented import has_outside
from barrow.spaces.geometry import Box, BoxCells, Floats, Ids, cell_width
from barrow.spaces.sphere import unit_vectors

MOST_OUTPUTS = 10**7
_SURE = 1.0 + 2.0**-30
_FEWEST_ROUND = 3
"""Fewer centres round the Earth would have two ways from one to the other: such a row is one centre."""
_STEP = Fraction(1, 2**TABLE_BITS)


def density(space: Space, *, bandwidth: Exact) -> Query:
    """A smoothed map of where people's items are: one share for each of a grid of public centres, ``bandwidth`` apart.

    Each output is the share of people (their items) near its centre; together they add up to 1.

    Args:
        space: A line, a circle, a Euclidean space, the Earth or hexagons, with a grid at least twice as fine.
        bandwidth: A distance in words, e.g. ``"5 km"``: how far apart the centres are, and how far weights reach. On
            a line, a circle or a box it is adjusted so that centres divide the space evenly.

    >>> from barrow.spaces import Line
    >>> query = density(Line(0, 100, unit="km", step=1), bandwidth="10 km")
    >>> query.dimension, round(query.lipschitz_upper(1), 6)  # 2/h, with h = 1/10 of the diameter
    (11, 20.0)
    """
    check_places(space)
    width = float(parse_distance(bandwidth, space))
    if cell_width(space) > width * space.diameter / 2.0 * (1 + 1e-9):
        raise too_coarse(space, width, cell_width(space) / space.diameter)
    columns, weights, places, closed, error = _hats(space, width, space.geometry.points)
    known = space.geometry
    at = None if known.gaps is not None else unit_vectors(known.points) if known.on_earth else known.points
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


def check_places(space: Space) -> None:
    """Refuse a space without a grid, or whose items are at no places."""
    _ = space.items
    if not space.geometry.has_map:
        if has_outside(space):
            raise ParameterError(
                "A density has no place for records elsewhere.",
                allowed="outside = 'elsewhere' with histograms, frequencies and functions",
                fix="kind = 'histogram', a map as well; or outside = 'error' or 'nearest'",
            )
        raise ParameterError(
            f"A density needs places, and the items of the {space.kind} space have none.",
            allowed="a line, a circle, a Euclidean space, the Earth or hexagons",
            fix="kind = 'histogram'",
        )


def weights_at(query: Query, places: Floats) -> Any:
    """The weights of places of the space at the centres of a density, a row each; for predictions only."""
    space, size = query.space, query.space.items
    width = float(parse_distance(query.arguments["bandwidth"], space))
    columns, weights, centres, _, _ = _hats(space, width, np.concatenate([space.geometry.points, places]))
    result = _table(columns, weights, len(centres), 0.0).floats()[size:] * float(_STEP)
    # Places may reach centres that no item reaches, which the query leaves out.
    known = {tuple(centre): i for i, centre in enumerate(np.reshape(centres, (len(centres), -1)).tolist())}
    mine = np.reshape(np.asarray(query.places), (query.dimension, -1)).tolist()
    return result[:, [known[tuple(centre)] for centre in mine]]


def _hats(space: Space, width: float, points: Floats) -> tuple[Ids, Floats, Floats, ClosedForm, float]:
    """Columns and weights of points of the space, the centres, the closed form, and what floats may be off."""
    if space.geometry.box is not None:
        return row_hats(space, width, points)
    return (_geodesic_hats if space.geometry.lattice is None else _tensor_hats)(space, width, points)


def _table(columns: Ids, weights: Floats, outputs: int, error: float) -> Quantised:
    """The sparse table of weights: row i has ``weights[i]`` in ``columns[i]``."""
    integers = np.rint(weights * 2.0**TABLE_BITS).astype(np.int64)
    indptr = np.arange(0, columns.size + 1, columns.shape[1])
    table = heavy.sparse.csr_array((integers.ravel(), columns.ravel(), indptr), shape=(len(columns), outputs))
    table.sum_duplicates()
    table.eliminate_zeros()
    return Quantised(table, _STEP, float(_STEP) + error)


# Hats on axes, and their products.


def _tensor_hats(space: Space, width: float, points: Floats) -> tuple[Ids, Floats, Floats, ClosedForm, float]:
    """Products of hats along the axes."""
    grid = cast("BoxCells", space.geometry.lattice)
    low, high, closes = grid.low, grid.high, space.geometry.periodic
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
    used = distinct(columns)
    if len(used) < len(places):  # in a ball some centres are out of every item's reach
        columns, places = np.searchsorted(used, columns), places[used]
    # Coordinates are rounded relative to the largest of them, and then measured in spacings.
    largest = float((np.maximum(np.abs(low), np.abs(high)) / spacing).max()) + float(intervals.max())
    error = 8.0 * len(axes) * largest * 2.0**-52
    return columns, weights, places[:, 0] if len(axes) == 1 else places, ClosedForm(bound, tight=False), error


# Geodesic hats on the sphere.


def _geodesic_hats(space: Space, width: float, points: Floats) -> tuple[Ids, Floats, Floats, ClosedForm, float]:
    """Normalised hats max(0, 1 - d(x, c)/h) around centres about h apart."""
    h = width * space.diameter
    centres = _centres(points, h)
    if len(centres) > MOST_OUTPUTS:
        raise too_many(width, space)
    tree = heavy.cKDTree(unit_vectors(centres))
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
    used = distinct(columns[hats > 0.0])
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


def row_hats(space: Space, width: float, points: Floats) -> tuple[Ids, Floats, Floats, ClosedForm, float]:
    """Columns and weights of points, the centres, the closed form, and what floats may be off."""
    h = width * space.diameter
    south, west, north, east = cast("Box", space.geometry.box)
    degree = EARTH_RADIUS_KM * math.pi / 180.0
    rows = max(1, round((north - south) * degree / h))
    tall = (north - south) / rows
    middles = south + tall * np.arange(rows + 1)
    closes = east - west > 180.0  # then the short way between two places may lead out of the box, round the Earth
    reach = np.minimum(90.0, np.maximum(np.abs(middles - tall), np.abs(middles + tall)))
    reach = np.minimum(reach, max(abs(south), abs(north)))
    long_way = (360.0 if closes else east - west) * degree * np.cos(np.radians(reach))
    counts = np.floor(long_way / h / _SURE).astype(np.int64)
    counts = np.where(counts < _FEWEST_ROUND, 0, counts) if closes else np.maximum(counts, 0)
    t = min(tall * degree, h) / math.sqrt(2.0)
    bulges = [_shorter(edge, t) for edge in (-south, north)]
    for edge, bulge in zip((0, rows), bulges, strict=True):
        if bulge > 2.0:  # a short geodesic may lead over a pole that the box leaves out: the row is one centre
            counts[edge] = 0
    nodes = np.maximum(counts if closes else counts + (counts > 0), 1)
    if float(nodes.sum()) > MOST_OUTPUTS:
        raise too_many(width, space)
    first = np.concatenate([[0], np.cumsum(nodes)[:-1]])
    lat, lon = points.T
    up = (lat - south) / tall
    below = np.clip(np.floor(up), 0, rows - 1).astype(np.int64)
    share = np.clip(up - below, 0.0, 1.0)
    columns, weights = [], []
    for row, part in ((below, 1.0 - share), (below + 1, share)):
        gaps = counts[row]
        along = (lon - west) / (360.0 if closes else east - west) * gaps
        left = np.clip(np.floor(along), 0, np.maximum(gaps - 1, 0)).astype(np.int64)
        right = (left + 1) % np.maximum(gaps, 1) if closes else left + (gaps > 0)
        over = np.clip(along - left, 0.0, 1.0)
        columns += [first[row] + left, first[row] + right]
        weights += [part * (1.0 - over), part * over]
    lengths = (360.0 if closes else east - west) / np.maximum(counts, 1)
    which = np.repeat(np.arange(rows + 1), nodes)
    at = west + (np.arange(len(which)) - first[which]) * lengths[which]
    alone = (counts == 0)[which]
    places = np.stack([middles[which], np.where(alone, (west + east) / 2.0, (at + 180.0) % 360.0 - 180.0)], axis=1)
    table, mass = np.stack(columns, axis=1), np.stack(weights, axis=1)
    used = distinct(table[mass > 0.0])
    table = np.clip(np.searchsorted(used, table), 0, len(used) - 1)
    # Coordinates are good to 2^-44 of 360 degrees, and are measured in gaps.
    error = 2.0**-40 * (float(counts.max()) + rows)
    # Near pairs by the slopes along both axes, pairs at least t apart by the range 2^(1/p).
    shorter = max(bulge for bulge in (1.0, *bulges) if bulge <= 2.0)
    bound = max(math.hypot(1.0 / (tall * degree), shorter / h), 1.0 / t) * space.diameter * _SURE
    closed = ClosedForm(lambda p: float(2.0 ** (1.0 / p)) * bound, tight=True)
    return table, mass, places[used], closed, error


def _shorter(edge: float, length: float) -> float:
    """By how much circles of latitude are shorter where a geodesic of this length may bulge to, beyond a box's edge."""
    phi, half = math.radians(edge), length / EARTH_RADIUS_KM / 2.0
    if not 0.0 < phi < math.pi / 2.0:
        return 1.0
    highest = math.asin(min(1.0, math.sin(phi) / math.cos(min(half, 1.5))))
    return math.cos(phi) / max(math.cos(highest), 1e-300)


def too_coarse(space: Space, width: float, spacing: float) -> ParameterError:
    """The error for a bandwidth below two cells."""
    wide, fine = width * space.diameter, spacing * space.diameter
    return ParameterError(
        f"The bandwidth is {wide:.6g} {space.unit}, but the space's grid is too coarse for it: its cells are "
        f"{fine:.6g} {space.unit} wide.".replace(" ,", ",").replace("  ", " "),
        allowed="a bandwidth of at least two cells",
        fix=f"bandwidth={2 * fine:.6g} {space.unit}".strip() + f", or a space with cells of {wide / 4:.3g}",
    )


def too_many(width: float, space: Space) -> ParameterError:
    """The error for a bandwidth with too many centres."""
    return ParameterError(
        f"The bandwidth {width * space.diameter:.6g} {space.unit} makes more than {MOST_OUTPUTS:,} outputs.",
        allowed="fewer outputs",
        fix="a larger bandwidth",
    )
