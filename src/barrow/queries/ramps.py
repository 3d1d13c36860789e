"""How far people's items are beyond public points of a line: one ramp between each two neighbouring points.

Between two points the ramp rises by their distance, and nowhere else. So all ramps together rise by the length of the
way from one item to another: their Lipschitz constant in the 1-norm is 1, however many there are. A ramp's mean,
divided by its length, is at least the share of items beyond its end and at most that beyond its beginning
(docs/proofs/private-groups.md, section 4).
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from barrow.errors import ParameterError
from barrow.queries.quantised import Quantised, default_step
from barrow.queries.query import ClosedForm, Query
from barrow.spaces import Space

MOST = 512
"""Ramps of one line."""


def line_ramps(space: Space, ramps: int) -> Query:
    """For each of ``ramps`` equally long stretches of a line: how far beyond its beginning items are, up to its end.

    Values are in units of the line.

    >>> from barrow.spaces import Line
    >>> query = line_ramps(Line(0, 10, unit="km", points=[0, 2.5, 5, 7.5, 10]), 2)
    >>> (query.table.floats() * float(query.step)).round(9).tolist()
    [[0.0, 0.0], [2.5, 0.0], [5.0, 0.0], [5.0, 2.5], [5.0, 5.0]]
    >>> round(query.lipschitz_upper(1), 6), round(query.lipschitz_upper(2), 6)
    (10.0, 10.0)
    """
    if not space.geometry.on_line or space.items < 2 or not 1 <= ramps <= MOST:
        raise ParameterError(
            f"{ramps} stretches of a {space.kind} space are asked for.",
            allowed=f"1 to {MOST} stretches of a line with 2 points or more",
            fix="a line",
        )
    points = np.asarray(space.geometry.places, dtype=np.float64).ravel()
    away = points - points[0]
    step = default_step(float(away[-1]))
    whole = np.floor(away / float(step)).astype(np.int64)
    ends = np.array([int(whole[-1]) * i // ramps for i in range(ramps + 1)], dtype=np.int64)
    table = np.clip(whole[:, None] - ends[None, :-1], 0, np.diff(ends)[None, :])
    # Two items differ by whole steps that are at most one more than their distance.
    most = space.diameter * (1.0 + space.distance_error) + float(step) / space.least_distance_lower
    length = float(int(whole[-1]) * step)
    starts = (points[0] + ends * float(step)).tolist()
    return Query(
        space,
        "line_ramps",
        space.unit,
        f"the mean over people of how far their items are beyond each of {ramps} points",
        Quantised(table, step, float(step)),
        {"ramps": ramps},
        ClosedForm(lambda p: most, range_bound=lambda p: length * (1.0 + 2.0**-40), quantised=True),
        lambda: [f"beyond {a:.6g} up to {b:.6g}" for a, b in itertools.pairwise(starts)],
        between=(0.0, math.inf),
    )


def ramp_ends(query: Query) -> list[float]:
    """The points between which ramps rise, one more than there are ramps.

    >>> from barrow.spaces import Line
    >>> ramp_ends(line_ramps(Line(10, 20, points=[10, 12.5, 15, 17.5, 20]), 2))
    [10.0, 15.0, 20.0]
    """
    points = np.asarray(query.space.geometry.places, dtype=np.float64).ravel()
    most = np.asarray(query.table.integers, dtype=np.int64).max(axis=0)
    ends: list[float] = (points[0] + np.cumsum(most) * float(query.step)).tolist()
    return [float(points[0]), *ends]
