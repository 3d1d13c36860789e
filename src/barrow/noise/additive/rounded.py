"""Exactly rounded Laplace, Gaussian and K-norm noise.

The released value is floor((q + scale * Z)/grid + 1/2) * grid, where Z has its ideal real distribution: a
function of the output of the ideal mechanism, so that whatever is proved about the ideal mechanism holds to
the letter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.noise.additive.center import Center
from barrow.noise.additive.grid import RoundedValues, checked_grid, checked_scale
from barrow.noise.additive.knorm import CubeNoise, EuclideanNoise, PowerNoise
from barrow.noise.additive.rounder import Rounder
from barrow.noise.additive.variates import Exponential, HalfNormal, Magnitude, Noise, SymmetricVariates
from barrow.noise.source import Source, checked_source
from barrow.numerics import Exact, exact, exact_text

Centered = Center | Sequence[Any] | NDArray[Any]
"""What noise can be added to: a :class:`Center`, or a vector of exact numbers."""

_BLOCK = 2**14
"""Entries per pass: the float arrays of one pass stay in the cache."""


def rounded_laplace(
    center: Centered, scale: Exact, *, grid: Exact | None = None, source: Source | None = None
) -> RoundedValues:
    """Adds independent Laplace noise, density exp(-|x|/scale)/(2 scale), and rounds exactly to the grid.

    Args:
        center: The exact values.
        scale: The scale, an exact number above 0.
        grid: The public grid, at most ``scale``; by default the power of two nearest to scale/1024.
        source: Where randomness comes from; by default the system's.

    >>> noisy = rounded_laplace([0, "1/3"], 10)
    >>> len(noisy), noisy.grid, noisy.private
    (2, Fraction(1, 128), True)
    """
    return _independent(Exponential(), center, scale, grid, source)


def rounded_gaussian(
    center: Centered, scale: Exact, *, grid: Exact | None = None, source: Source | None = None
) -> RoundedValues:
    """Adds independent normal noise with standard deviation ``scale`` and rounds exactly to the grid.

    The arguments are those of :func:`rounded_laplace`. A standard deviation that is not rational must be
    rounded up by whoever computes it.

    >>> rounded_gaussian([0, 1], "0.5", grid="0.01").grid
    Fraction(1, 100)
    """
    return _independent(HalfNormal(), center, scale, grid, source)


def rounded_knorm(
    center: Centered, scale: Exact, p: Exact, *, grid: Exact | None = None, source: Source | None = None
) -> RoundedValues:
    """Adds a noise vector with density proportional to exp(-||x||_p/scale) and rounds exactly to the grid.

    ``p`` is a rational of at least 1, or infinity (``math.inf`` or ``"inf"``). p = 1, 2 and infinity are
    fast; other p are evaluated in arbitrary precision, at about a tenth of a millisecond per entry. The
    remaining arguments are those of :func:`rounded_laplace`.

    >>> [len(rounded_knorm([0, 0, 0], 1, p)) for p in (1, 2, "inf", 3)]
    [3, 3, 3, 3]
    """
    power = _checked_power(p)
    vector = Center.of(center)
    size = len(vector)
    # In one dimension every p-norm is |x|.
    if power == 1 or size == 1:
        return rounded_laplace(vector, scale, grid=grid, source=source)

    def noise(origin: Source) -> Noise:
        if power is None:
            return CubeNoise(size, origin)
        return EuclideanNoise(size, origin) if power == 2 else PowerNoise(size, power, origin)

    return rounded_vector(vector, noise, scale, grid, source)


def rounded_vector(
    center: Centered, noise: Callable[[Source], Noise], scale: Exact, grid: Exact | None, source: Source | None
) -> RoundedValues:
    """Adds ``scale`` times one noise vector, which ``noise`` draws from a source, and rounds exactly to the grid."""
    vector, spread, origin = Center.of(center), checked_scale(scale), checked_source(source)
    cell = checked_grid(grid, spread)
    rounder = Rounder(vector, spread, cell)
    rounder.add(noise(origin), 0, len(vector))
    return RoundedValues(rounder.integers(), cell, origin.private)


def _independent(
    distribution: Magnitude, center: Centered, scale: Exact, grid: Exact | None, source: Source | None
) -> RoundedValues:
    vector = Center.of(center)
    spread = checked_scale(scale)
    cell = checked_grid(grid, spread)
    origin = checked_source(source)
    rounder = Rounder(vector, spread, cell)
    for start in range(0, len(vector), _BLOCK):
        stop = min(start + _BLOCK, len(vector))
        rounder.add(SymmetricVariates(distribution, origin.words(stop - start), origin), start, stop)
    return RoundedValues(rounder.integers(), cell, origin.private)


def _checked_power(p: Exact) -> Fraction | None:
    """``p`` as a rational of at least 1, or ``None`` for infinity."""
    if (isinstance(p, float) and p == math.inf) or (isinstance(p, str) and p.strip().lower() == "inf"):
        return None
    power = exact(p, "p")
    if power < 1:
        raise ParameterError(
            f"p is {exact_text(power)}, for which ||x||_p is not a norm.",
            allowed='1 or more, or "inf"',
            fix="p=2",
        )
    return power
