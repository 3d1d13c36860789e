"""The world in degrees, for drawing a box with the pointer: x is longitude, y is minus latitude."""

from __future__ import annotations

from functools import cache

import numpy as np

from barrow.figures.outline import land_rings, relative_path


@cache
def world_path() -> str:
    """The land of the world as one SVG path."""
    rings = [np.column_stack([ring[:, 0], -ring[:, 1]]) for ring in land_rings()]
    return "".join(relative_path(ring, close=True) for ring in rings if len(ring) > 3)
