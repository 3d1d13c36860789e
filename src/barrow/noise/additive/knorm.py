"""Noise with density proportional to exp(-||z||_p): a Gamma radius times a direction of the cone measure.

The surface measure of the unit sphere is the right distribution of the direction only for p = 1, 2 and infinity; in
general it is the cone measure (errata A7 of the theory). Distributions and representations are proved in
docs/proofs/exact-noise.md:

* p = 2: Gamma(d) radius times a normal vector divided by its length;
* p = inf: Gamma(d + 1) times a uniform point of the cube [-1, 1]^d;
* other p: Gamma(d) radius times a vector of independent variates with density proportional to exp(-|x|^p),
  divided by its p-norm. These are drawn by rejection, every comparison being decided exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.noise.additive.variates import (
    SMALL,
    Approximation,
    Exponential,
    Floats,
    HalfNormal,
    SymmetricVariates,
    UnitVariates,
    polished,
)
from barrow.noise.lazy_uniform import Ball, LazyUniform, decided
from barrow.noise.source import RandomSource, Words

Bools = NDArray[np.bool_]
Ids = NDArray[np.int64]
_UNIT = 2.0**-53
_RUN = 32
"""Terms that are added up in float arithmetic before an exactly rounded sum takes over."""


class GammaRadius:
    """A Gamma(shape, 1) variate for an integer shape: a sum of exponentials."""

    def __init__(self, shape: int, source: RandomSource) -> None:
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

    def __init__(self, size: int, source: RandomSource) -> None:
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

    def __init__(self, size: int, source: RandomSource) -> None:
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


class PowerVariates:
    """Independent variates with density proportional to exp(-|x|^p), p >= 1, by rejection from a body and a tail.

    On [0, 1] a uniform V is accepted with probability exp(-V^p). Beyond 1, X = 1 - ln(V)/p is accepted with
    probability exp(1 + p (X - 1) - X^p), which is at most 1 because x^p is convex. The tail is tried with
    odds e^-1/p : 1. Floats decide all proposals but those nearer to a boundary than their errors; balls decide these,
    from the same bits (docs/proofs/exact-noise.md).
    """

    def __init__(self, size: int, p: Fraction, source: RandomSource) -> None:
        self._p, self._source = heavy.fmpq(p.numerator, p.denominator), source
        self._power = float(p)
        self._words = np.zeros(size, dtype=np.uint64)
        self._tail = np.zeros(size, dtype=bool)
        self._opened: dict[int, LazyUniform] = {}
        open_ones = np.arange(size)
        while len(open_ones):
            accepted = self._propose(open_ones, source.words(3 * len(open_ones)).reshape(3, -1))
            open_ones = open_ones[~accepted]

    def approximate(self) -> Approximation:
        """Floats for all variates; those in the far tail are computed from more bits."""
        signed = self._words.view(np.int64).astype(np.float64)
        uniforms = np.abs(signed) * 2.0**-63
        logs, far = self._logs(uniforms), self._tail & (uniforms < SMALL)
        magnitudes = np.where(self._tail, 1.0 - logs / self._power, uniforms)
        near = (2.0**-48 * -logs + 2.0**-62 / np.maximum(uniforms, SMALL)) / self._power
        errors = 1.01 * (np.where(self._tail & ~far, near, 0.0) + magnitudes * 2.0**-51 + 2.0**-52)
        values = np.copysign(magnitudes, signed)
        for i in np.flatnonzero(far).tolist():
            values[i] = polished(partial(self.ball, i))
            errors[i] = abs(values[i]) * 2.0**-51
        return Approximation(values, errors, float(np.abs(values).max()))

    def ball(self, index: int, precision: int) -> Ball:
        """A ball around one variate."""
        sign, uniform = LazyUniform.after_sign(int(self._words[index]), self._source)
        uniform = self._opened.setdefault(index, uniform)
        return sign * self._magnitude(uniform, bool(self._tail[index]), precision)

    def _magnitude(self, uniform: LazyUniform, tail: bool, precision: int) -> Ball:
        ball = uniform.ball(precision)
        return 1 - ball.log() / self._p if tail else ball

    def _propose(self, where: Ids, words: Words) -> Bools:
        """Propose a variate at each place, and say which are accepted."""
        p = self._power
        choice, uniforms, keep = np.abs(words.view(np.int64).astype(np.float64)) * 2.0**-63
        beyond = choice - 1.0 / (1.0 + math.exp(-1.0) / p)
        tail = beyond > 0.0
        logs = self._logs(uniforms)
        x = np.where(tail, 1.0 - logs / p, uniforms)
        powers = x**p
        gap = -self._logs(keep) - np.where(tail, powers - 1.0 + logs, powers)
        error = 1.01 * (powers * (2.0**-41 + p * 2.0**-48) + p * 2.0**-50 + 2.0**-40)
        unsure = (np.abs(beyond) < 2.0**-40) | ~(np.abs(gap) > error) | (keep < SMALL) | (tail & (uniforms < SMALL))
        accepted = gap > 0.0
        self._words[where], self._tail[where] = words[1], tail
        for i in np.flatnonzero(unsure).tolist():
            index = int(where[i])
            self._opened.pop(index, None)
            self._tail[index], accepted[i] = self._decide(index, *(int(word) for word in words[:, i]))
        return np.asarray(accepted)

    def _decide(self, index: int, *words: int) -> tuple[bool, bool]:
        """Whether a proposal is in the tail, and whether it is accepted, from as many bits as it takes."""
        choice, uniform, keep = (LazyUniform.after_sign(word, self._source)[1] for word in words)

        def beyond_body(precision: int) -> bool | None:
            return is_positive(choice.ball(precision) * (1 + heavy.arb(-1).exp() / self._p) - 1)

        tail = bool(decided(beyond_body))

        def accepted(precision: int) -> bool | None:
            x = self._magnitude(uniform, tail, precision)
            cost = x**self._p
            if tail:
                cost -= 1 + self._p * (x - 1)
            return is_positive(-keep.ball(precision).log() - cost)

        accept = bool(decided(accepted))
        if accept:  # bits that were drawn stay as they are
            self._opened[index] = uniform
        return tail, accept

    def _logs(self, uniforms: Floats) -> Floats:
        return np.log(np.maximum(uniforms, SMALL))


class PowerNoise:
    """Density proportional to exp(-||z||_p) for any rational p >= 1."""

    def __init__(self, size: int, p: Fraction, source: RandomSource) -> None:
        self._size, self._power = size, float(p)
        self._p = heavy.fmpq(p.numerator, p.denominator)
        self._radius = GammaRadius(size, source)
        self._entries = PowerVariates(size, p, source)
        self._factor: tuple[int, Ball] | None = None

    def approximate(self) -> Approximation:
        """Floats for the whole vector."""
        radius, radius_error = self._radius.approximate()
        entries, p = self._entries.approximate(), self._power
        norm = _norm(entries.values, p)
        # Triangle inequality for the errors of the entries; then quotients, powers, their sum and its root are rounded.
        norm_error = 1.01 * _norm(entries.error, p) + (2.0**-46 + (p + math.log(self._size)) * 2.0**-51) * norm
        if not (norm_error < norm * 2.0**-10 and radius_error < radius * 2.0**-10):
            return Approximation(entries.values, np.inf, np.inf)
        factor = radius / norm
        relative = 1.01 * (radius_error / radius + norm_error / norm) + 4.0 * _UNIT
        values = entries.values * factor
        largest = float(np.abs(values).max())
        return Approximation(values, 1.01 * (largest * relative + factor * entries.error), largest)

    def ball(self, index: int, precision: int) -> Ball:
        """A ball around one entry; the factor that all entries share is stored while it is precise enough."""
        if self._factor is None or self._factor[0] < precision:
            powers = sum(abs(self._entries.ball(i, precision)) ** self._p for i in range(self._size))
            self._factor = precision, self._radius.ball(precision) / powers ** (1 / self._p)
        return self._factor[1] * self._entries.ball(index, precision)


def _norm(values: Floats | float, p: float) -> float:
    """The p-norm; quotients by the largest keep powers from vanishing."""
    sizes = np.abs(np.atleast_1d(values))
    top = float(sizes.max())
    return top * float(_sum((sizes / top) ** p)) ** (1.0 / p) if top > 0.0 else 0.0


def _sum(terms: Floats) -> float:
    """The sum of terms of one sign, with a relative error of at most _RUN * 2^-53."""
    return math.fsum(np.add.reduceat(terms, np.arange(0, len(terms), _RUN)).tolist())


def is_positive(ball: Ball) -> bool | None:
    """Whether a ball is above 0; None where it holds 0."""
    if ball > 0:
        return True
    return False if ball < 0 else None
