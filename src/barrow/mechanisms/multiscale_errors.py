"""The error of a decoded map at a public reference distribution, by simulation with replayable noise.

The earth mover's distance is measured as :mod:`barrow.transport.measure` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.additive import AdditiveNoise
from barrow.mechanisms.multiscale_scales import mixed_reference
from barrow.noise import Center
from barrow.noise.simulation import SeededSource
from barrow.numerics import whole
from barrow.spaces import Space
from barrow.spaces.base import Floats
from barrow.transport import measure_of


@dataclass(frozen=True)
class MapError:
    """A simulated EMD error of a map.

    Attributes:
        reference: The public distribution at which it was simulated.
        mean: The mean over simulated releases.
        deviation: Their standard deviation.
        draws: How many there were.
        method: How the EMD was measured: ``"exact"``, ``"near items"`` or ``"coarser grid"``.

    >>> MapError("uniform", 0.01, 0.001, 4, "exact").mean
    0.01
    """

    reference: str
    mean: float
    deviation: float
    draws: int
    method: str


def predicted_map_error(
    space: Space,
    matrix: Any,
    noise: AdditiveNoise,
    decode: Callable[[Floats], Floats],
    reference: Any,
    draws: int,
) -> MapError:
    """Mean and deviation of the EMD between a public distribution and maps decoded from its noisy densities.

    The noise is that of a release but for its source, which is seeded: equal arguments give equal numbers.
    """
    draws = whole(draws, "draws", most=10_000, fix="draws=4")
    name, weights = _reference(space, reference)
    true = matrix @ weights
    zero = Center.from_integers(np.zeros(len(true), dtype=np.int64))
    errors, method = [], "exact"
    for seed in range(draws):
        noisy = true + noise.draw(zero, SeededSource(seed)).values
        error, method = map_distance(space, decode(noisy), weights)
        errors.append(error)
    return MapError(name, float(np.mean(errors)), float(np.std(errors)), draws, method)


def map_distance(space: Space, a: Floats, b: Floats) -> tuple[float, str]:
    """The EMD of two histograms, normalised, and how it was measured: see :func:`barrow.transport.measure_of`.

    >>> from barrow.spaces import Line
    >>> map_distance(Line(0, 4, step=1, cells=True), np.eye(4)[0], np.eye(4)[2])
    (0.5, 'exact')
    """
    measure = measure_of(space)
    return measure.distance(np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)), measure.method


def _reference(space: Space, reference: Any) -> tuple[str, Floats]:
    if isinstance(reference, str):
        if reference == "uniform":
            return reference, np.full(space.items, 1.0 / space.items)
        if reference == "mixed":
            return reference, mixed_reference(space)
        raise ParameterError(f"reference is {reference!r}.", allowed="'mixed', 'uniform', or weights", fix="'uniform'")
    weights = np.asarray(reference, dtype=np.float64)
    total = float(weights.sum()) if weights.shape == (space.items,) else math.nan
    if not total > 0.0 or not np.isfinite(total) or (weights < 0.0).any():
        raise ParameterError(
            f"The reference has shape {weights.shape}, or weights that are negative or all 0.",
            allowed=f"{space.items:,} public weights of 0 or more",
            fix="reference='uniform'",
        )
    return "given", weights / total
