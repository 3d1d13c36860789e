"""Noise with density proportional to exp(-||z||_K) for a symmetric polytope K = {z : |a_i . z| <= 1 for all i}.

It is a Gamma(d + 1) radius times a uniform point of K (docs/proofs/user-level.md). The point is drawn from the
parallelepiped that the first d facets bound, and kept if the other facets hold: every comparison is decided exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.noise.additive.knorm import GammaRadius
from barrow.noise.additive.rounded import Centered, rounded_vector
from barrow.noise.additive.values import Center, RoundedValues
from barrow.noise.additive.variates import Approximation, Floats, SymmetricVariates, UnitVariates
from barrow.noise.lazy_uniform import Ball, decided
from barrow.noise.source import RandomSource
from barrow.numerics import Exact, exact

_UNIT = 2.0**-53
Rows = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Polytope:
    """K = {z : |a_i . z| <= 1}: public and exact.

    Attributes:
        facets: The rows a_i; the first d of them are linearly independent.
    """

    facets: Rows

    @classmethod
    def of(cls, facets: Sequence[Sequence[Exact]]) -> Polytope:
        """From rows of exact numbers."""
        return cls(tuple(tuple(exact(a) for a in row) for row in facets))

    def __post_init__(self) -> None:
        d = self.dimension
        if any(len(row) != d for row in self.facets) or len(self.facets) < d or self._solved is None:
            raise ParameterError(
                "The facets do not bound a polytope.",
                allowed="rows of one length, the first d of them linearly independent",
                fix="Polytope.of([[1, 0], [0, 1]])",
            )

    @property
    def dimension(self) -> int:
        """How many entries a point has."""
        return len(self.facets[0]) if self.facets else 0

    @cached_property
    def _solved(self) -> Rows | None:
        return _inverse(self.facets[: self.dimension])

    @property
    def inverse(self) -> Rows:
        """From the first d products a_i . z to z."""
        return self._solved or ()

    @cached_property
    def others(self) -> Rows:
        """The other facets as rows that act on the first d products."""
        d = self.dimension
        return tuple(
            tuple(sum((row[i] * self.inverse[i][j] for i in range(d)), Fraction(0)) for j in range(d))
            for row in self.facets[d:]
        )

    @cached_property
    def floats(self) -> tuple[Floats, Floats]:
        """``inverse`` and ``others`` as floats, each within half a unit in the last place."""
        d = self.dimension
        return (
            np.array([[float(x) for x in row] for row in self.inverse]).reshape(d, d),
            np.array([[float(x) for x in row] for row in self.others]).reshape(-1, d),
        )

    def points(self, count: int, source: RandomSource) -> Floats:
        """About uniform points of K, in floats: for predictions and never for a release."""
        inverse, others = self.floats
        words = source.words(count * self.dimension).view(np.int64).astype(np.float64).reshape(count, -1) * 2.0**-63
        inside = words if not len(others) else words[np.abs(words @ others.T).max(axis=1) <= 1.0]
        return np.asarray(inside @ inverse.T)


class PolytopeNoise:
    """Density proportional to exp(-||z||_K)."""

    def __init__(self, polytope: Polytope, source: RandomSource) -> None:
        self._polytope = polytope
        self._radius = GammaRadius(polytope.dimension + 1, source)
        while True:
            self._products = UnitVariates(source.words(polytope.dimension), source)
            if self._inside():
                break
        self._ball: tuple[int, Ball] | None = None

    def _inside(self) -> bool:
        """Whether the other facets hold: in floats with an error bound, then in balls of the same bits."""
        others = self._polytope.floats[1]
        if not len(others):
            return True
        result = self._products.approximate()
        reach = np.abs(others @ result.values)
        error = _dot_error(others, float(np.max(result.error)))
        if (reach - error > 1.0).any():
            return False
        if (reach + error < 1.0).all():
            return True

        def holds(precision: int) -> bool | None:
            left = [1 - abs(dot(row, self._products, precision)) for row in self._polytope.others]
            if any(ball < 0 for ball in left):
                return False
            return True if all(ball > 0 for ball in left) else None

        return bool(decided(holds))

    def approximate(self) -> Approximation:
        """Floats for the whole vector."""
        radius, radius_error = self._radius.approximate()
        result, inverse = self._products.approximate(), self._polytope.floats[0]
        point = inverse @ result.values
        point_error = float(_dot_error(inverse, float(np.max(result.error))).max())
        largest = float(np.abs(point).max()) + point_error
        values = radius * point
        error = 1.01 * (radius_error * largest + radius * (point_error + 4.0 * _UNIT * largest))
        return Approximation(values, error, radius * largest * 1.01)

    def ball(self, index: int, precision: int) -> Ball:
        """A ball around one entry."""
        if self._ball is None or self._ball[0] < precision:
            self._ball = precision, self._radius.ball(precision)
        return self._ball[1] * dot(self._polytope.inverse[index], self._products, precision)


def rounded_polytope(
    center: Centered, scale: Exact, polytope: Polytope, *, grid: Exact | None = None, source: RandomSource | None = None
) -> RoundedValues:
    """Adds a noise vector with density proportional to exp(-||x||_K/scale) and rounds exactly to the grid.

    The other arguments are those of :func:`barrow.noise.rounded_laplace`.
    """
    vector = Center.of(center)
    if len(vector) != polytope.dimension:
        raise ParameterError(
            f"The polytope has {polytope.dimension} dimensions and the center {len(vector)}.",
            allowed="as many",
            fix="one row entry for each output",
        )
    return rounded_vector(vector, lambda origin: PolytopeNoise(polytope, origin), scale, grid, source)


def dot(row: Sequence[Fraction], variates: SymmetricVariates, precision: int) -> Ball:
    """The inner product of exact numbers and variates."""
    total: Any = heavy.arb(0)
    for j, factor in enumerate(row):
        if factor:
            total += heavy.arb(heavy.fmpq(factor.numerator, factor.denominator)) * variates.ball(j, precision)
    return total


def _dot_error(rows: Floats, error: float) -> Floats:
    """For entries of size at most 1 that are off by ``error``: coefficients, products and their sum are rounded."""
    size = np.abs(rows).sum(axis=1)
    return np.asarray(1.01 * size * (error + (rows.shape[1] + 3) * _UNIT))


def _inverse(rows: Rows) -> Rows | None:
    """The exact inverse, if there is one, by elimination."""
    d = len(rows)
    whole = [[*row, *(Fraction(int(i == j)) for j in range(d))] for i, row in enumerate(rows)]
    for i in range(d):
        at = next((k for k in range(i, d) if whole[k][i]), None)
        if at is None:
            return None
        whole[i], whole[at] = whole[at], whole[i]
        whole[i] = [x / whole[i][i] for x in whole[i]]
        for k in range(d):
            if k != i and whole[k][i]:
                whole[k] = [x - whole[k][i] * y for x, y in zip(whole[k], whole[i], strict=True)]
    return tuple(tuple(row[d:]) for row in whole)
