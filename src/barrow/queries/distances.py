"""Queries that need nothing but distances: how far from a point, and how much near a region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact_text, float_up
from barrow.queries.quantised import quantise
from barrow.queries.query import ClosedForm, Query, check_step, plain, step_argument
from barrow.spaces import Space, parse_distance
from barrow.spaces.nearness import distances_from
from barrow.spaces.space import Floats


def distance_to(space: Space, point: Any, *, step: Exact | None = None) -> Query:
    """The mean distance of people's items from a public point or item, in the space's unit.

    By the triangle inequality its Lipschitz constant is the diameter.

    Args:
        space: Any space with a public grid or labels.
        point: A public record: coordinates, (lat, lon), or a label.
        step: The public grid of the distances.

    >>> from barrow.spaces import Earth
    >>> nyc = Earth(box=(40.5, -74.3, 41.0, -73.6), cell=1)
    >>> query = distance_to(nyc, (40.758, -73.9855))
    >>> query.unit, query.lipschitz_upper(1) / nyc.diameter - 1 < 1e-6
    ('km', True)
    """
    _ = space.items
    far = point_distances(space, point)
    query = Query(
        space,
        "distance_to",
        space.unit,
        f"the mean over people of the mean distance of their items from {_show(point)}"
        f"{f' ({space.unit})' if space.unit else ''}",
        quantise(
            far[:, None] * space.diameter, step=step, evaluation_error=distance_slack(space, far) * space.diameter
        ),
        {"point": plain(point), **step_argument(step)},
        ClosedForm(lambda p: space.diameter),
        lambda: [f"mean distance from {_show(point)}"],
        between=(0.0, math.inf),
    )
    return check_step(query, step)


def region_share(
    space: Space,
    *,
    ramp: Exact,
    center: Any = None,
    radius: Exact | None = None,
    members: ArrayLike | Sequence[Any] | None = None,
    step: Exact | None = None,
) -> Query:
    """The share of people's items in a region, smoothed: 1 inside, falling to 0 at the distance ``ramp`` outside.

    The region is a disc (``center``, ``radius``) or a list of items (``members``, as records). A sharp edge would
    have no useful Lipschitz constant: moving an item across it changes the answer at once. Here it is 1/ramp.

    Args:
        space: Any space with a public grid or labels.
        ramp: A distance in words, e.g. ``"5 km"``, over which the share falls from 1 to 0.
        center: A public point or label.
        radius: A distance in words.
        members: Public records that make up the region.
        step: The public grid of the shares.

    >>> from barrow.spaces import Line
    >>> query = region_share(Line(0, 100, unit="km", step=1), center=50, radius="10 km", ramp="20 km")
    >>> round(query.lipschitz_upper(1), 6), query.description
    (5.0, 'the share of people (their items) within 10 km of 50, falling to 0 over 20 km')
    """
    _ = space.items
    width = parse_distance(ramp, space)
    disc = center is not None and radius is not None
    if disc == (members is not None) or (center is None) != (radius is None):
        raise ParameterError(
            "The region is not given, or given twice.",
            allowed="center and radius (a disc), or members (a list of records)",
            fix="region_share(space, center=..., radius='10 km', ramp='5 km')",
        )
    if disc:
        reach = parse_distance(radius, space)  # type: ignore[arg-type]
        away = np.maximum(point_distances(space, center) - float(reach), 0.0)
        where = f"within {_words(radius)} of {_show(center)}"
        arguments = {"center": plain(center), "radius": plain(radius)}
    else:
        away = _distance_from_set(space, members)
        where = f"in a region of {len(members)} items"  # type: ignore[arg-type]
        arguments = {"members": plain(list(members))}  # type: ignore[arg-type]
    slope = float_up(1 / width)
    query = Query(
        space,
        "region_share",
        "",
        f"the share of people (their items) {where}, falling to 0 over {_words(ramp)}",
        quantise(
            np.clip(1.0 - away * slope, 0.0, 1.0)[:, None],
            step=step,
            evaluation_error=2.0 * distance_slack(space, away) * slope + 2.0**-48,
        ),
        {**arguments, "ramp": plain(ramp), **step_argument(step)},
        ClosedForm(lambda p: slope),
        lambda: [f"share {where}"],
        between=(0.0, 1.0),
    )
    return check_step(query, step)


def point_distances(space: Space, point: Any) -> Floats:
    """Normalised distances of all items from a public point or label."""
    try:
        far = distances_from(space, point)
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        far = np.full(1, np.nan)
    if not np.isfinite(far).all():
        raise ParameterError(
            f"The point {point!r} is not a point of the {space.kind} space.",
            allowed="a public record of the space: coordinates, (lat, lon) or a label",
            fix=f"e.g. the item {space.label(0)!r}",
        )
    return far


def distance_slack(space: Space, far: Floats) -> float:
    """Bound on the absolute error of normalised distances from a public point, rounding of coordinates included."""
    return max(2.0**-40, 4.0 * space.distance_error) * max(1.0, float(far.max(initial=0.0)))


def _distance_from_set(space: Space, members: Any) -> Floats:
    records = list(members)
    if not records:
        raise ParameterError("members is empty.", allowed="at least one record", fix="members=[...]")
    away = point_distances(space, records[0])
    for record in records[1:]:
        away = np.minimum(away, point_distances(space, record))
    return away


def _words(distance: Any) -> str:
    return distance if isinstance(distance, str) else f"{float(distance):g}"


def _show(point: Any) -> str:
    if isinstance(point, str):
        return point
    if isinstance(point, int | float | np.number):
        return f"{float(point):g}"
    try:
        return "(" + ", ".join(f"{float(x):g}" for x in point) + ")"
    except (TypeError, ValueError):
        return exact_text(point) if hasattr(point, "numerator") else str(point)
