"""Noise with density proportional to exp(-||z||_p): a Gamma radius times a direction of the cone measure.

The surface measure of the unit sphere is the right distribution of the direction only for p = 1, 2 and infinity; in
general it is the cone measure (errata A7 of the theory). Distributions and representations are proved in
docs/proofs/exact-noise.md:

* p = 2: Gamma(d) radius times a normal vector divided by its length;
* p = inf: Gamma(d + 1) times a uniform point of the cube [-1, 1]^d;
* other p: Gamma(d) radius times a vector of independent variates with density proportional to exp(-|x|^p),
  divided by its p-norm. These are drawn by rejection, every comparison being decided exactly; there is no
  float path.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from barrow import heavy
from barrow.noise.additive.variates import (
    Approximation,
    Exponential,
    Floats,
    HalfNormal,
    SymmetricVariates,
    UnitVariates,
)
from barrow.noise.lazy_uniform import Ball, LazyUniform, decided
from barrow.noise.source import Source

_UNIT = 2.0**-53
_RUN = 32
"""Terms that are added up in float arithmetic before an exactly rounded sum takes over."""


class GammaRadius:
    """A Gamma(shape, 1) variate for an integer shape: a sum of exponentials."""

    def __init__(self, shape: int, source: Source) -> None:
        self._shape = shape
        self._terms = SymmetricVariates(Exponential(), source.words(shape), source)

    def approximate(self) -> tuple[float, float]:
        """A float near the radius, and a bound on its error."""
        terms = np.abs(self._terms.approximate().values)
        total = _sum(terms)
        # 16 ulp of each logarithm and the sum; one rounding of each U; 63 bits of it, and 1/U is exp(term).
        with np.errstate(over="ignore"):
            coarseness = _sum(np.exp(terms)) * 2.0**-61
        return total, 1.01 * (total * (2.0**-48 + _RUN * _UNIT) + self._shape * 2.0**-52 + coarseness)

    def ball(self, precision: int) -> Ball:
        """A ball around the radius."""
        return sum(abs(self._terms.ball(i, precision)) for i in range(self._shape))


class EuclideanNoise:
    """Density proportional to exp(-||z||_2) in ``size`` dimensions."""

    def __init__(self, size: int, source: Source) -> None:
        self._size = size
        self._radius = GammaRadius(size, source)
        self._normals = SymmetricVariates(HalfNormal(), source.words(size), source)
        self._factor: tuple[int, Ball] | None = None

    def approximate(self) -> Approximation:
        """Floats for the whole vector."""
        radius, radius_error = self._radius.approximate()
        normals = self._normals.approximate()
        length = math.sqrt(_sum(normals.values * normals.values))
        # Triangle inequality for the errors of the entries; then squares, their sum and the root are rounded.
        length_error = 1.01 * math.sqrt(self._size) * normals.error + (_RUN + 4) * _UNIT * length
        if not (length_error < length * 2.0**-10 and radius_error < radius * 2.0**-10):
            return Approximation(normals.values, np.inf, np.inf)
        factor = radius / length
        relative = 1.01 * (radius_error / radius + length_error / length) + 4.0 * _UNIT
        values = normals.values * factor
        largest = float(np.abs(values).max())
        return Approximation(values, 1.01 * (largest * relative + factor * normals.error), largest)

    def ball(self, index: int, precision: int) -> Ball:
        """A ball around one entry; the factor that all entries share is kept while it is precise enough."""
        if self._factor is None or self._factor[0] < precision:
            squares = sum(self._normals.ball(i, precision) ** 2 for i in range(self._size))
            self._factor = precision, self._radius.ball(precision) / squares.sqrt()
        return self._factor[1] * self._normals.ball(index, precision)


class CubeNoise:
    """Density proportional to exp(-||z||_inf) in ``size`` dimensions."""

    def __init__(self, size: int, source: Source) -> None:
        self._radius = GammaRadius(size + 1, source)
        self._point = UnitVariates(source.words(size), source)
        self._ball: tuple[int, Ball] | None = None

    def approximate(self) -> Approximation:
        """Floats for the whole vector."""
        radius, radius_error = self._radius.approximate()
        point = self._point.approximate()
        error = 1.01 * (radius_error + radius * (point.error + 2.0 * _UNIT))
        return Approximation(radius * point.values, error, radius)

    def ball(self, index: int, precision: int) -> Ball:
        """A ball around one entry."""
        if self._ball is None or self._ball[0] < precision:
            self._ball = precision, self._radius.ball(precision)
        return self._ball[1] * self._point.ball(index, precision)


class PowerVariate:
    """A variate with density proportional to exp(-|x|^p), p >= 1, by rejection from a body and a tail.

    On [0, 1] a uniform V is kept with probability exp(-V^p). Beyond 1, X = 1 - ln(V)/p is kept with
    probability exp(1 + p (X - 1) - X^p), which is at most 1 because x^p is convex. The tail is tried with
    odds e^-1/p : 1.
    """

    def __init__(self, p: Fraction, source: Source) -> None:
        self._p = heavy.fmpq(p.numerator, p.denominator)
        self._sign, _ = LazyUniform.after_sign(int(source.words(1)[0]), source)
        while not self._proposal_is_kept(source):
            pass

    def magnitude(self, precision: int) -> Ball:
        """A ball around |x|."""
        uniform = self._uniform.ball(precision)
        return 1 - uniform.log() / self._p if self._in_tail else uniform

    def ball(self, precision: int) -> Ball:
        """A ball around x."""
        return self._sign * self.magnitude(precision)

    def _proposal_is_kept(self, source: Source) -> bool:
        choice, self._uniform, keep = (LazyUniform.fresh(source) for _ in range(3))

        def beyond_body(precision: int) -> bool | None:
            return is_positive(choice.ball(precision) * (1 + heavy.arb(-1).exp() / self._p) - 1)

        def kept(precision: int) -> bool | None:
            x = self.magnitude(precision)
            cost = x**self._p
            if self._in_tail:
                cost -= 1 + self._p * (x - 1)
            return is_positive(-keep.ball(precision).log() - cost)

        self._in_tail = bool(decided(beyond_body))
        return bool(decided(kept))


class PowerNoise:
    """Density proportional to exp(-||z||_p) for any rational p >= 1: exact, but without a float path."""

    def __init__(self, size: int, p: Fraction, source: Source) -> None:
        self._p = heavy.fmpq(p.numerator, p.denominator)
        self._radius = GammaRadius(size, source)
        self._entries = [PowerVariate(p, source) for _ in range(size)]
        self._factor: tuple[int, Ball] | None = None

    def approximate(self) -> Approximation:
        """No floats: every entry is left open."""
        return Approximation(np.zeros(len(self._entries)), np.inf, np.inf)

    def ball(self, index: int, precision: int) -> Ball:
        """A ball around one entry."""
        if self._factor is None or self._factor[0] < precision:
            powers = sum(entry.magnitude(precision) ** self._p for entry in self._entries)
            self._factor = precision, self._radius.ball(precision) / powers ** (1 / self._p)
        return self._factor[1] * self._entries[index].ball(precision)


def _sum(terms: Floats) -> float:
    """The sum of terms of one sign, with a relative error of at most _RUN * 2^-53."""
    return math.fsum(np.add.reduceat(terms, np.arange(0, len(terms), _RUN)).tolist())


def is_positive(ball: Ball) -> bool | None:
    """Whether a ball is above 0; None where it holds 0."""
    if ball > 0:
        return True
    return False if ball < 0 else None
