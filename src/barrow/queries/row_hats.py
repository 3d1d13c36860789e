"""Hats in latitude times hats in longitude, for densities on the Earth: their constant has a formula.

A row of centres has a spacing in longitude of its own: the bandwidth where the row reaches farthest from the equator,
so more nowhere. Rows that touch a pole are one centre. Only the two rows around an item and two centres of each hold a
part of it, and no pair of items is visited, so that grids of millions of cells take seconds (docs/proofs/densities.md,
section 3).
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from barrow.errors import ParameterError
from barrow.queries.base import ClosedForm
from barrow.spaces import EARTH_RADIUS_KM, Space
from barrow.spaces.geometry import Box, Floats, Ids

MOST_OUTPUTS = 10**7
_SURE = 1.0 + 2.0**-30
_FEWEST_ROUND = 3
"""Fewer centres round the Earth would have two ways from one to the other: such a row is one centre."""


def row_hats(space: Space, width: float, points: Floats) -> tuple[Ids, Floats, Floats, ClosedForm, float]:
    """Columns and weights of points, the centres, the closed form, and what floats may be off."""
    h = width * space.diameter
    south, west, north, east = cast("Box", space.earth_box)
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
    table, kept = np.stack(columns, axis=1), np.stack(weights, axis=1)
    used = np.unique(table[kept > 0.0])
    table = np.clip(np.searchsorted(used, table), 0, len(used) - 1)
    # Coordinates are good to 2^-44 of 360 degrees, and are measured in gaps.
    error = 2.0**-40 * (float(counts.max()) + rows)
    # Near pairs by the slopes along both axes, pairs at least t apart by the range 2^(1/p).
    shorter = max(bulge for bulge in (1.0, *bulges) if bulge <= 2.0)
    bound = max(math.hypot(1.0 / (tall * degree), shorter / h), 1.0 / t) * space.diameter * _SURE
    closed = ClosedForm(lambda p: float(2.0 ** (1.0 / p)) * bound, tight=True)
    return table, kept, places[used], closed, error


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
