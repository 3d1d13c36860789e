"""How far a density is from the records as they are, and the bandwidth of least predicted error; public numbers alone.

A record x counts at its item s(x), so that the value of a centre moves by w(s(x)) - w(x). If people are anywhere in
the cells of a public reference, independently, the value of n of them moves by its mean b, and by a random number of
variance v/n around it. Both come from the same density on a finer grid (docs/proofs/snapping.md).

Wide hats blur, narrow ones are noisy. Bandwidths are tried from wide to narrow, each by the simulated earth mover's
distance between raw records at a public reference and the map decoded from noisy densities of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.mechanisms import Strategy
from barrow.mechanisms.additive import CalibratedNoise
from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.planning.simulate import Simulable, simulate
from barrow.progress import with_progress
from barrow.promises import Model
from barrow.queries import Query
from barrow.queries.density import weights_at
from barrow.spaces import Space, parse_distance
from barrow.spaces.grids import coarser, snapping_means
from barrow.spaces.shapes import cell_corners
from barrow.spaces.space import Floats, Ids

_FINE = 2**18
"""Cells of the finer grid, at most."""
_VALUES, _MOST_DRAWS = 4000, 100
"""About so many values are simulated."""
_WIDEST, _STEP, _MOST, _DRAWS = 4.0, 1.5, 14, 2
"""From a quarter of the largest distance down, each by this factor, and releases simulated of each."""
_WORSE, _ALIKE = 1.1, 1.01


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
    query: Query,
    noise: CalibratedNoise,
    reference: Floats,
    again: Callable[[Space], Query],
    *,
    users: int,
    model: Model,
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
    records_space = query.space.records_space
    mean, variance = snapping_moves(again(records_space), reference[: records_space.items], again)
    size, more = query.dimension, query.dimension - len(mean)
    mean, spread = np.append(mean, np.zeros(more)), np.sqrt(np.append(variance, np.zeros(more)) / users)
    true = np.asarray(query.table.floats().T @ reference).ravel() * float(query.step)
    source = SeededSource(7)
    alone, moved, decoded = [], [], []
    for _ in range(min(_MOST_DRAWS, math.ceil(_VALUES / size))):
        if model is Model.LOCAL:
            sample = _normals(size, source) * (float(noise.deviation) / math.sqrt(users))
        else:
            sample = _sample(noise, size, source)
        away = mean + spread * _normals(size, source)
        alone.append(np.abs(sample))
        moved.append(np.abs(sample + away))
        decoded.append(nearest_in_simplex(true + sample) - true + away)
    wide, narrow = (float(np.quantile(np.concatenate(one), 0.95)) for one in (moved, alone))
    return DensityError(
        math.sqrt(float(np.mean(mean**2 + spread**2))),
        math.sqrt(max(0.0, wide**2 - narrow**2)),
        math.sqrt(float(np.mean(np.square(moved)))),
        math.sqrt(float(np.mean(np.square(decoded)))),
    )


def _sample(noise: CalibratedNoise | Strategy, size: int, source: SeededSource) -> Floats:
    """Simulated noise of all values; that of a strategy is what the noise of its combinations adds to them."""
    if isinstance(noise, Strategy):
        return noise.simulated(source)
    return np.asarray(noise.draw(Center.from_integers(np.zeros(size, dtype=np.int64)), source).values)


def snapping_moves(query: Query, reference: Floats, again: Callable[[Space], Query]) -> tuple[Floats, Floats]:
    """For each centre the mean of what snapping adds to one record's weight at the reference, and its variance."""
    space = query.space
    if not space.snapping_upper:
        return np.zeros(query.dimension), np.zeros(query.dimension)
    here, shares, ratio = _affordable(query, reference, again)
    result = _inside(here.space)
    if result is None:  # the slope of a hat along the way to the middle of a cell
        moved = snapping_means(space) / float(parse_distance(query.arguments["bandwidth"], space))
        reached = (query.table.floats() != 0.0).astype(np.float64)
        return np.zeros(query.dimension), np.asarray((reference * moved**2 / 2.0) @ reached).ravel()
    places, ids, times = result
    known = np.bincount(ids, minlength=here.space.items)
    spread = (shares / np.maximum(known, 1))[ids]  # people are anywhere in their cells
    differences = (here.table.floats() * float(here.step))[ids] - weights_at(here, places)
    mean = np.asarray(spread @ differences).ravel()
    square = np.asarray(spread @ differences.power(2)).ravel() / (1.0 - 1.0 / times**2)  # places are cells themselves
    return mean * ratio**2, np.maximum(square - mean**2, 0.0) * ratio**2


def _inside(space: Space) -> tuple[Floats, Ids, int] | None:
    """Places spread evenly over all cells, the item of each, and how many there are along a side."""
    corners = cell_corners(space)
    if corners is None:
        return None
    lower, upper = corners
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
    while most < space.items and (result := coarser(space, most)) is not None:
        large, ids = result
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
    return np.asarray(heavy.special.ndtri(((source.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53))


@dataclass(frozen=True, eq=False)
class DensityMap:
    """A density as a histogram: the shares of its centres stand at the items nearest to them.

    Attributes:
        query: The density.
        noise: What is added to it.

    >>> from barrow.mechanisms import linear_noise
    >>> from barrow.queries import density
    >>> from barrow.spaces import Line
    >>> query = density(Line(0, 8, step=1, cells=True), bandwidth=0.5)
    >>> DensityMap(query, linear_noise(query, 25, users=10**6)).simulated(np.full(8, 1 / 8), SeededSource(1)).shape
    (8,)
    """

    query: Query
    noise: CalibratedNoise

    @property
    def space(self) -> Space:
        """The public space."""
        return self.query.space

    def simulated(self, reference: Floats, source: SeededSource) -> Floats:
        """One decoded map, if everybody's items followed ``reference``."""
        table = self.query.table.floats() * float(self.query.step)
        true = np.asarray(table.T @ reference)
        zeros = Center.from_integers(np.zeros(len(true), dtype=np.int64))
        shares = nearest_in_simplex(true + self.noise.draw(zeros, source).values)
        places = np.asarray(self.query.places, dtype=np.float64)
        homes = self.space.encode(places, unknown="nearest")
        return np.asarray(np.bincount(homes, weights=shares, minlength=self.space.items), dtype=np.float64)


def bandwidth_errors(
    space: Space, reference: Floats, make: Callable[[float], Simulable]
) -> tuple[tuple[float, float], ...]:
    """Bandwidths from wide to narrow, in the space's unit, each with its predicted error.

    Args:
        space: The public space.
        reference: A public distribution over the items.
        make: From a bandwidth to the map that would be decoded.

    >>> from barrow.mechanisms import linear_noise
    >>> from barrow.queries import density
    >>> from barrow.spaces import Line
    >>> line = Line(0, 64, step=1, cells=True)
    >>> def build(width, n):
    ...     query = density(line, bandwidth=width / 64)
    ...     return DensityMap(query, linear_noise(query, 25, users=n))
    >>> few, many = (bandwidth_errors(line, np.full(64, 1 / 64), lambda w, n=n: build(w, n)) for n in (20, 10**6))
    >>> few[0][0], best_of(few) > best_of(many)
    (16.0, True)
    """
    results: list[tuple[float, float]] = []
    for i in with_progress(range(_MOST), "trying bandwidths"):
        width = float(f"{space.diameter / _WIDEST / _STEP**i:.3g}")
        try:
            error = simulate(make(width), reference, _DRAWS).mean
        except ParameterError:
            if results:
                break  # narrower than two cells
            continue
        results.append((width, error))
        if error > _WORSE * min(other for _, other in results):
            break
    return tuple(results)


def best_of(results: Sequence[tuple[float, float]]) -> float:
    """The widest bandwidth whose error is hardly above the least.

    >>> best_of([(8.0, 0.2), (4.0, 0.101), (2.0, 0.1)])
    4.0
    """
    if not results:
        raise ParameterError(
            "No bandwidth suits this space.", allowed="a space with cells much smaller than itself", fix="a finer grid"
        )
    least = min(error for _, error in results)
    return next(width for width, error in results if error <= _ALIKE * least)
