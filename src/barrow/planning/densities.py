"""How far a density is from the records as they are: noise, decoding, and what snapping moves, at a public reference.

A record x counts at its item s(x), so that the value of a centre moves by w(s(x)) - w(x). If people are anywhere in
the cells of a public reference, independently, the value of n of them moves by its mean b, and by a random number of
variance v/n around it. Both come from the same density on a finer grid (docs/proofs/snapping.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.decoding import nearest_in_simplex
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.privacy import Model
from barrow.queries import Query
from barrow.queries.density import weights_at
from barrow.spaces import Space, parse_distance
from barrow.spaces.base import Floats, Ids

_FINE = 2**18
"""Cells of the finer grid, at most."""
_VALUES, _MOST_DRAWS = 4000, 100
"""About so many values are simulated."""


@dataclass(frozen=True)
class DensityError:
    """What is to be expected at the reference, as roots of mean squares over the values, from records as they are.

    Attributes:
        snapping: How far snapping moves a value.
        added: What that adds to a 95 % half width: the root of the difference of squares.
        values: The error of an unbiased value.
        decoded: The error of a share of the decoded map.
    """

    snapping: float
    added: float
    values: float
    decoded: float


def density_error(
    query: Query, noise: Any, reference: Floats, again: Callable[[Space], Query], *, users: int, model: Model
) -> DensityError:
    """What to expect of a density; it reads no data.

    Args:
        query: The density; people without records may have one more output.
        noise: What is added to it, or to each person's own (local).
        reference: A public distribution over the items.
        again: The density of records with the same centres on another grid.
        users: How many people there are.
        model: Who adds the noise.
    """
    held = query.space.held
    mean, variance = snapping_moves(again(held), reference[: held.items], again)
    size, more = query.dimension, query.dimension - len(mean)
    mean, spread = np.append(mean, np.zeros(more)), np.sqrt(np.append(variance, np.zeros(more)) / users)
    true = np.asarray(query.table.floats().T @ reference).ravel() * float(query.step)
    source = SeededSource(7)
    alone, moved, decoded = [], [], []
    for _ in range(min(_MOST_DRAWS, math.ceil(_VALUES / size))):
        if model is Model.LOCAL:
            drawn = _normals(size, source) * (float(noise.deviation) / math.sqrt(users))
        else:
            drawn = np.asarray(noise.draw(Center.from_integers(np.zeros(size, dtype=np.int64)), source).values)
        away = mean + spread * _normals(size, source)
        alone.append(np.abs(drawn))
        moved.append(np.abs(drawn + away))
        decoded.append(nearest_in_simplex(true + drawn) - true + away)
    wide, narrow = (float(np.quantile(np.concatenate(one), 0.95)) for one in (moved, alone))
    return DensityError(
        math.sqrt(float(np.mean(mean**2 + spread**2))),
        math.sqrt(max(0.0, wide**2 - narrow**2)),
        math.sqrt(float(np.mean(np.square(moved)))),
        math.sqrt(float(np.mean(np.square(decoded)))),
    )


def snapping_moves(query: Query, reference: Floats, again: Callable[[Space], Query]) -> tuple[Floats, Floats]:
    """For each centre the mean of what snapping adds to one record's weight at the reference, and its variance."""
    space = query.space
    if not space.snapping_upper:
        return np.zeros(query.dimension), np.zeros(query.dimension)
    here, shares, ratio = _affordable(query, reference, again)
    found = _inside(here.space)
    if found is None:  # the slope of a hat along the way to the middle of a cell
        moved = space.snapping_means / float(parse_distance(query.arguments["bandwidth"], space))
        reached = (query.table.floats() != 0.0).astype(np.float64)
        return np.zeros(query.dimension), np.asarray((reference * moved**2 / 2.0) @ reached).ravel()
    places, ids, times = found
    known = np.bincount(ids, minlength=here.space.items)
    spread = (shares / np.maximum(known, 1))[ids]  # people are anywhere in their cells
    differences = (here.table.floats() * float(here.step))[ids] - weights_at(here, places)
    mean = np.asarray(spread @ differences).ravel()
    square = np.asarray(spread @ differences.power(2)).ravel() / (1.0 - 1.0 / times**2)  # places are cells themselves
    return mean * ratio**2, np.maximum(square - mean**2, 0.0) * ratio**2


def _inside(space: Space) -> tuple[Floats, Ids, int] | None:
    """Places spread evenly over all cells, the item of each, and how many there are along a side."""
    if space.corners is None:
        return None
    lower, upper = space.corners
    sides = lower.shape[1]
    times = next((k for k in (4, 3) if space.items * k**sides <= _FINE), 2)
    steps = np.stack(np.meshgrid(*[(np.arange(times) + 0.5) / times] * sides), axis=-1).reshape(-1, sides)
    places = (lower[:, None] + steps * (upper - lower)[:, None]).reshape(-1, sides)
    ids = np.repeat(np.arange(space.items), len(steps))
    records = places[:, 0] if sides == 1 else places
    there = space.encode(records, unknown="default") == ids  # cells reach beyond a ball
    return places[there], ids[there], times


def _affordable(query: Query, shares: Floats, again: Callable[[Space], Query]) -> tuple[Query, Floats, float]:
    """The same on a coarser grid where there are very many cells, and how much narrower the real ones are.

    What snapping moves one record falls with the width of cells, its mean with the square.
    """
    space, most = query.space, _FINE // 16
    while most < space.items and (found := space.coarser(most)) is not None:
        large, ids = found
        try:
            stand_in = again(large)
        except ParameterError:  # too coarse for the bandwidth
            most *= 4
            continue
        if stand_in.dimension != query.dimension:
            break
        there = np.asarray(np.bincount(ids, weights=shares, minlength=large.items), dtype=np.float64)
        return stand_in, there, space.snapping_upper / large.snapping_upper
    return query, shares, 1.0


def _normals(count: int, source: SeededSource) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(((source.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53))
