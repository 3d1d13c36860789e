"""Public reference distributions at which the error of a decoded histogram is predicted; they never come from data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.multiscale_scales import mixed_reference
from barrow.spaces import Space
from barrow.spaces.base import Floats

_WITH_RECORDS = 0.95
"""So many people hold records at a reference distribution that has a name."""

Reference = Any
"""``"auto"``, ``"uniform"``, ``"zipf"``, ``"mixed"``, one weight for each item, or weights by label."""


def reference_distribution(space: Space, reference: Reference = "auto") -> Floats:
    """A distribution over the items: named, or one that the user gives and that is public.

    Args:
        space: The public space.
        reference: ``"uniform"``; ``"zipf"`` (the i-th item in the space's order has weight 1/i); ``"mixed"``
            (half in clusters, half in single cells, for spaces with a geometry); a list of weights, one for each item;
            or weights by label, 0 for the others. ``"auto"`` is mixed where there is a geometry, else zipf:
            the even one flatters decoders, which turn noise into it.

    >>> from barrow.spaces import Discrete
    >>> reference_distribution(Discrete(["a", "b", "c"]), {"a": 3, "c": 1}).tolist()
    [0.75, 0.0, 0.25]
    """
    k = space.items
    if space.apart is not None and isinstance(reference, str):
        return np.append(_WITH_RECORDS * reference_distribution(space.held, reference), 1.0 - _WITH_RECORDS)
    if isinstance(reference, str):
        if reference == "auto":
            reference = "mixed" if space.has_map else "zipf"
        if reference == "mixed" and space.has_map:
            return mixed_reference(space)
        if reference not in ("uniform", "zipf"):
            raise ParameterError(
                f"The reference distribution is {reference!r}.",
                allowed="'auto', 'uniform', 'zipf', 'mixed' (with a geometry), or public weights",
                fix="reference='uniform'",
            )
        values = np.ones(k) if reference == "uniform" else 1.0 / np.arange(1, k + 1)
    elif isinstance(reference, Mapping):
        values = np.zeros(k)
        values[space.encode(list(reference))] = list(reference.values())
    else:
        values = np.array(reference, dtype=np.float64)
    if values.shape != (k,) or not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise ParameterError(
            f"The reference distribution has the shape {values.shape}, or weights that are no weights.",
            allowed=f"{k:,} weights of 0 or more, one for each item, not all 0",
            fix="reference='uniform'",
        )
    found: Floats = values / values.sum()
    return found
