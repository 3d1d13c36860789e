"""A line, a box or a part of the Earth together with everything outside it, as one more item.

Where records outside the space count as a default item, or move to the nearest one, a short way across the edge can
change an item by much more than its length, so that promises about small moves do not cover it. Here the outside is one
item, "elsewhere", as far from an item x as x is from the edge: b(x). The way from x to y may lead through the outside,
so their distance is d'(x, y) = min(d(x, y), b(x) + b(y)). No record, inside or outside, moves farther under d' than it
moves, and promises hold for all of them (docs/proofs/elsewhere.md).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError
from barrow.spaces.augmented import AugmentedSpace
from barrow.spaces.euclidean import Euclidean
from barrow.spaces.geographic import Earth
from barrow.spaces.line import Line
from barrow.spaces.records import Outside
from barrow.spaces.space import Floats, Ids, Space, Unknown
from barrow.spaces.sphere import EARTH_RADIUS_KM

_DOWN = 1.0 - 2.0**-30
"""Distances to the edge are rounded down: far more than their floats can be off."""


@dataclass(frozen=True, eq=False, repr=False)
class Elsewhere(AugmentedSpace):
    """The items of a space, and one for everything outside it.

    Args:
        inner: A line, a Euclidean box, or a box on Earth, with a public grid.

    >>> space = Elsewhere(Line(0, 10, unit="km", step=2.5))
    >>> space.encode([1, 9, -3, 1e6]).tolist(), list(space.labels)
    ([0, 3, 4, 4], ['1.25', '3.75', '6.25', '8.75', 'elsewhere'])
    >>> (space.block([0, 1, 4])[:, [0, 1, 3, 4]] * 10).round(3).tolist()  # from 1.25 to 8.75 the outside is shorter
    [[0.0, 2.5, 2.5, 1.25], [2.5, 0.0, 5.0, 3.75], [1.25, 3.75, 1.25, 0.0]]
    """

    kind: ClassVar[str] = "elsewhere"
    last_label: ClassVar[str] = "elsewhere"
    inner: Line | Euclidean | Earth

    def __init__(self, inner: Space) -> None:
        ball = isinstance(inner, Euclidean) and inner.center is not None
        if not isinstance(inner, Line | Euclidean | Earth) or ball:
            raise ParameterError(
                f"The outside of {'a ball' if ball else f'the {inner.kind} space'} has no edge that is known here.",
                allowed="a line, a Euclidean box or a box on Earth",
                fix="outside='error', or such a space",
            )
        vars(self).update(inner=inner)
        _ = inner.items
        if not (self.edges > 0.0).all():
            raise ParameterError(
                "Some items lie on the edge of the space, at no distance from what is outside.",
                allowed="cells, points inside the ends, or whole numbers with whole=True",
                fix="cells=True, or whole=True if all records are whole numbers",
            )

    @cached_property
    def edges(self) -> Floats:
        """b: the normalised distance of each inner item from the outside, rounded down.

        >>> (Elsewhere(Line(0, 4, step=1, whole=True)).edges * 4).round(6).tolist()  # -1 and 5 are the nearest outside
        [1.0, 2.0, 3.0, 2.0, 1.0]
        """
        inner = self.inner
        if isinstance(inner, Line):
            near = np.minimum(inner.points - inner.low, inner.high - inner.points) + (1.0 if inner.whole else 0.0)
        elif isinstance(inner, Euclidean):
            near = np.minimum(inner.points - inner.low, inner.high - inner.points).min(axis=1)
        else:
            near = _edges_on_earth(inner)
        return np.asarray(np.minimum(near / self.diameter, 1.0) * _DOWN, dtype=np.float64)

    @property
    def default_item(self) -> int:
        """The inner one: missing people are not taken to be elsewhere."""
        return self.inner.default_item

    @cached_property
    def least_distance_lower(self) -> float:
        """The least of two items' distance and of an item's distance from the edge."""
        return min(self.inner.least_distance_lower, float(self.edges.min()) * (1.0 - self.distance_error))

    def _distance(self, a: Ids, b: Ids) -> Floats:
        last = self.inner.items
        edges = np.append(self.edges, 0.0)
        inside = (a < last) & (b < last)
        direct = np.where(inside, self.inner._distance(np.minimum(a, last - 1), np.minimum(b, last - 1)), np.inf)
        through = np.where(a == b, 0.0, edges[a] + edges[b])
        return np.minimum(direct, through)

    def _encode(self, records: Any, unknown: Unknown) -> Ids:
        if unknown == "nearest":
            raise ParameterError(
                "unknown is 'nearest', but the space has an item for what is outside.",
                allowed="'error' or 'default' (for missing records)",
                fix="unknown='error'",
            )
        return super()._encode(records, unknown)

    @cached_property
    def formula(self) -> Outside:
        """The inner one, and the item for every other point."""
        inner = self.inner
        most = (90.0, 180.0) if isinstance(inner, Earth) else (sys.float_info.max,) * self.reads.columns
        return Outside(inner.formula, inner.items, most, whole=isinstance(inner, Line) and inner.whole)


def _edges_on_earth(earth: Earth) -> Floats:
    """Kilometres from the middle of each cell to the edge: two parallels, and two meridians from pole to pole.

    Each is the distance from a set, so the least of them changes by at most the distance moved; and the way to a
    meridian's part beyond the box leads through a parallel before (docs/proofs/elsewhere.md).
    """
    south, west, north, east = earth.box
    lat, lon = earth.points[:, 0], earth.points[:, 1]
    round_the_earth = east - west >= 360.0
    results = []
    if not (round_the_earth and south <= -90.0):
        results.append(np.radians(lat - south))
    if not (round_the_earth and north >= 90.0):
        results.append(np.radians(north - lat))
    for side in () if round_the_earth else (west, east):
        turn = np.abs(lon - side)
        turn = np.radians(np.minimum(np.minimum(turn, 360.0 - turn), 90.0))  # beyond 90 degrees a pole is nearest
        across = np.cos(np.radians(lat)) * np.sin(turn)
        along = np.hypot(np.sin(np.radians(lat)), np.cos(np.radians(lat)) * np.cos(turn))
        results.append(np.arctan2(across, along))
    if not results:
        raise ParameterError(
            "The box is the whole Earth, so nothing lies outside.", allowed="a smaller box", fix="outside='error'"
        )
    return np.asarray(np.min(results, axis=0) * EARTH_RADIUS_KM, dtype=np.float64)
