"""The bandwidth of a density whose map has the least predicted error, from public numbers alone.

Wide hats blur, narrow ones are noisy. Bandwidths are tried from wide to narrow, each by the simulated earth mover's
distance between raw records at a public reference and the map decoded from noisy densities of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.decoding import nearest_in_simplex
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.planning.simulate import Simulable, simulate
from barrow.progress import track
from barrow.queries import Query
from barrow.spaces import Space
from barrow.spaces.base import Floats

_WIDEST, _STEP, _MOST, _DRAWS = 4.0, 1.5, 14, 2
"""From a quarter of the largest distance down, each by this factor, and releases simulated of each."""
_WORSE, _ALIKE = 1.1, 1.01


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
    noise: Any

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
    >>> def made(width, n):
    ...     query = density(line, bandwidth=width / 64)
    ...     return DensityMap(query, linear_noise(query, 25, users=n))
    >>> few, many = (bandwidth_errors(line, np.full(64, 1 / 64), lambda w, n=n: made(w, n)) for n in (20, 10**6))
    >>> few[0][0], best_of(few) > best_of(many)
    (16.0, True)
    """
    found: list[tuple[float, float]] = []
    for i in track(range(_MOST), "trying bandwidths"):
        width = float(f"{space.diameter / _WIDEST / _STEP**i:.3g}")
        try:
            error = simulate(make(width), reference, _DRAWS).mean
        except ParameterError:
            if found:
                break  # narrower than two cells
            continue
        found.append((width, error))
        if error > _WORSE * min(other for _, other in found):
            break
    return tuple(found)


def best_of(found: Sequence[tuple[float, float]]) -> float:
    """The widest bandwidth whose error is hardly above the least.

    >>> best_of([(8.0, 0.2), (4.0, 0.101), (2.0, 0.1)])
    4.0
    """
    if not found:
        raise ParameterError(
            "No bandwidth suits this space.", allowed="a space with cells much smaller than itself", fix="a finer grid"
        )
    least = min(error for _, error in found)
    return next(width for width, error in found if error <= _ALIKE * least)
