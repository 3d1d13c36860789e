"""The direction of people's items on a circle: the mean of (cosine, sine) of the angle of each item."""

from __future__ import annotations

import math

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics import Exact
from barrow.queries.base import ClosedForm, Query, check_step, step_argument
from barrow.queries.quantised import quantise
from barrow.spaces import Circle, Space


def direction(space: Space, *, step: Exact | None = None) -> Query:
    """The mean over people of the mean of (cos t, sin t), t the angle of an item.

    A chord is no longer than its arc, and half a turn is the distance 1, so the Lipschitz constant in the 2-norm is pi
    (docs/proofs/circular.md).

    Args:
        space: A circle with a public grid, or with names.
        step: The public grid of the values; 50 bits by default.

    >>> query = direction(Circle.hours())
    >>> query.outputs, 3.13 < query.lipschitz_upper(2) <= math.pi
    (('cosine', 'sine'), True)
    """
    if not isinstance(space, Circle):
        raise ParameterError(
            f"Directions are asked of a circle, and the space is a {space.kind}.",
            allowed="a circle, such as hours, weekdays or months",
            fix="kind = 'mean', or a circle for this column",
        )
    angles = 2.0 * math.pi * space.points / space.period
    return check_step(
        Query(
            space,
            "direction",
            "",
            "the mean over people of the mean direction of their items",
            quantise(np.stack([np.cos(angles), np.sin(angles)], axis=1), step=step),
            step_argument(step),
            ClosedForm(lambda p: math.pi * max(1.0, 2.0 ** (1.0 / p - 0.5)) * (1.0 + 2.0**-48)),
            lambda: ["cosine", "sine"],
        ),
        step,
    )
