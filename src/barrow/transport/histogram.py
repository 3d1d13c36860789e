"""Normalised histograms: what a user's multiset of items looks like to the earth mover's distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import DataError, ParameterError, reading
from barrow.spaces.base import Floats, Ids, Space
from barrow.transport.closed_forms import ones

_MASS_ERROR = 1e-9


def histogram(space: Space, items: ArrayLike) -> Floats:
    """The normalised histogram of a non-empty multiset of item ids.

    >>> from barrow.spaces import Discrete
    >>> histogram(Discrete(["a", "b"]), [0, 1, 1, 1]).tolist()
    [0.25, 0.75]
    """
    ids = data_set(space, items)
    return np.bincount(ids, minlength=space.items) / ids.size


def data_set(space: Space, items: ArrayLike) -> Ids:
    """A non-empty one-dimensional array of item ids.

    >>> from barrow.spaces import Discrete
    >>> data_set(Discrete(["a", "b"]), [1]).tolist()
    [1]
    """
    ids = np.asarray(items)
    if ids.size == 0:
        raise DataError(
            "A data set is empty, so it has no histogram.",
            allowed="at least one item for each user",
            fix="give users without items the space's public default item: [space.default_item]",
        )
    return np.atleast_1d(space._ids(ids))


def weights(space: Space, values: ArrayLike, name: str) -> Floats:
    """``values`` as rows of mass 1 over the items; negative entries are allowed (a difference may be signed).

    >>> from barrow.spaces import Discrete
    >>> weights(Discrete(["a", "b"]), [0.5, 0.5], "a").tolist()
    [0.5, 0.5]
    """
    with reading(name, allowed="one weight for each item of a space", fix="histogram(space, ids)"):
        array, _ = np.asarray(values, dtype=np.float64), space.items
    if array.ndim == 0 or array.shape[-1] != space.items:
        raise ParameterError(
            f"{name} has shape {array.shape}.",
            allowed=f"one weight for each of the {space.items} items along the last axis",
            fix="histogram(space, ids) makes one from item ids",
        )
    totals = array.dot(ones(array.shape[-1]))
    wrong = abs(totals - 1.0) if array.ndim == 1 else np.abs(totals - 1.0).max(initial=0.0)
    if not wrong <= _MASS_ERROR:
        raise ParameterError(
            f"{name} does not have mass 1 (it misses it by {wrong:.3g}).",
            allowed="weights with sum 1",
            fix=f"{name} / {name}.sum() if the weights are counts",
        )
    return array
