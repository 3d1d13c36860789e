"""The histogram nearest to a signed estimate in Euclidean distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.spaces.base import Floats


def nearest_in_simplex(values: ArrayLike) -> Floats:
    """The point of the simplex nearest to ``values`` in Euclidean distance.

    It is max(values - t, 0) for the one number t that gives mass 1, found by one sort (docs/proofs/frequency.md).
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1 or given.size == 0 or not np.isfinite(given).all():
        raise ParameterError(
            "The values are not a row of finite numbers.", allowed="one finite number for each item", fix="check them"
        )
    # Shifting all values by one number does not move the nearest point, and keeps small differences exact enough.
    shifted = given - given.max()
    falling = np.sort(shifted)[::-1]
    excess = np.cumsum(falling) - 1.0
    number = np.arange(1, given.size + 1)
    kept = int(np.flatnonzero(falling * number > excess)[-1]) + 1
    found = np.maximum(shifted - excess[kept - 1] / kept, 0.0)
    return np.asarray(found / found.sum())
