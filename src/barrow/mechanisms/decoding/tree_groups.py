"""Arithmetic on many groups of numbers at once: running sums, and projections to simplices of given sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.spaces.base import Floats, Ids


def firsts(*keys: NDArray[Any]) -> Ids:
    """Where each group begins, in arrays in which the entries of a group (equal in all keys) are contiguous."""
    new = np.zeros(len(keys[0]), dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)


def running(values: Floats, begins: Ids) -> Floats:
    """Running sums within each group."""
    if len(begins) <= 1:
        return np.cumsum(values)
    reset = values.astype(np.float64)
    # The sum starts anew in each group, so that rounding errors do not grow with the number of groups.
    reset[begins[1:]] -= np.add.reduceat(values, begins)[:-1]
    return np.cumsum(reset)


def spread(begins: Ids, length: int) -> Ids:
    """The number of the group of each entry."""
    return np.repeat(np.arange(len(begins)), np.diff(np.append(begins, length)))


def multipliers(values: Floats, variances: Floats, begins: Ids, totals: Floats) -> Floats:
    """The multiplier of each group for which max(value + multiplier * variance, 0) has the sum wanted."""
    group = spread(begins, len(values))
    leaves = -values / variances  # the multiplier at which a number leaves 0
    order = np.lexsort((leaves, group))
    value, variance = running(values[order], begins), running(variances[order], begins)
    multiplier = (totals[group] - value) / variance
    # The first entries of a group are above 0, as many as there are with a multiplier beyond where they leave 0.
    above = multiplier > leaves[order]
    above[begins] = True
    counts = np.add.reduceat(above.astype(np.int64), begins)
    return np.asarray(multiplier[begins + counts - 1])


def project(values: Floats, variances: Floats, begins: Ids, totals: Floats) -> Floats:
    """The nearest numbers of 0 or more, in least squares weighted by 1/variance, with a given sum in each group."""
    if not len(values):
        return values.astype(np.float64)
    group = spread(begins, len(values))
    found = np.maximum(values + multipliers(values, variances, begins, totals)[group] * variances, 0.0)
    # What rounding left is put where the mass is.
    sums = np.add.reduceat(found, begins)
    factor = np.divide(totals, sums, out=np.zeros_like(sums), where=sums > 0.0)
    return np.asarray(found * factor[group])
