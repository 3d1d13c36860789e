"""Symmetric variates from one word each: approximately for whole arrays, to any precision for single entries.

A word is a fair sign and the first 63 bits of a uniform U; the magnitude is the inverse survival function
of the distribution at U: -ln U for the exponential (with the sign: Laplace), sqrt(2) erfcinv(U) for the half-normal
(with the sign: normal).

The float path assumes that numpy's ``log`` and ``power`` and scipy's ``ndtri`` are within 16 units in the last place
(``ULPS``, tested on the machine that runs the tests); its error bound is derived in
docs/proofs/exact-noise.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.noise.lazy_uniform import Ball, LazyUniform, decided
from barrow.noise.source import RandomSource, Words

Floats = NDArray[np.float64]

ULPS = 16
"""The stated assumption: a computed elementary function f satisfies |error| <= ULPS * 2^-52 * |f|."""

SMALL = 2.0**-18
"""Below it 63 bits say too little about U relative to its size, and more bits are drawn at once."""
_ERROR = 2.0**-43
"""Bound on the error of a float magnitude for U >= SMALL (proved for ULPS = 16)."""
_LARGEST = 12.5
"""Bound on a float magnitude for U >= SMALL: 18 ln 2 = 12.477."""


@dataclass(frozen=True, eq=False)
class Approximation:
    """Floats with error bounds: |values[i] - Z[i]| <= error and |values[i]| <= largest for every i, or for each."""

    values: Floats
    error: float | Floats
    largest: float | Floats


class RandomVector(Protocol):
    """A random vector Z with its ideal real distribution: floats for all of it, balls of any precision for each."""

    def approximate(self) -> Approximation:
        """Floats near Z, and a bound on how near."""
        ...

    def ball(self, index: int, precision: int) -> Ball:
        """A ball around Z[index] that shrinks to it as ``precision`` grows."""
        ...


class Magnitude(Protocol):
    """The distribution of |Z|, given by its inverse survival function."""

    def approximate(self, uniforms: Floats) -> Floats:
        """The magnitudes, up to sign, of ``uniforms``, which may be overwritten."""
        ...

    def ball(self, uniform: Ball) -> Ball:
        """The magnitude of a ball of uniforms."""
        ...


class Exponential:
    """P(|Z| > z) = e^-z."""

    def approximate(self, uniforms: Floats) -> Floats:
        """The logarithm: the sign is set by the caller."""
        return np.log(uniforms, out=uniforms)

    def ball(self, uniform: Ball) -> Ball:
        """-ln U."""
        return -uniform.log()


class HalfNormal:
    """P(|Z| > z) = erfc(z/sqrt 2) = 2 Phi(-z)."""

    def approximate(self, uniforms: Floats) -> Floats:
        """Phi^-1(U/2): the sign is set by the caller. Halving is exact."""
        uniforms *= 0.5
        return heavy.special.ndtri(uniforms, out=uniforms)

    def ball(self, uniform: Ball) -> Ball:
        """Sqrt(2) erfcinv(U)."""
        return heavy.arb(2).sqrt() * uniform.erfcinv()


class SymmetricVariates:
    """Independent symmetric variates, one per word, with the given distribution of the magnitude."""

    def __init__(self, magnitude: Magnitude, words: Words, source: RandomSource) -> None:
        self._magnitude = magnitude
        self._words = words
        self._source = source
        self._opened: dict[int, tuple[int, LazyUniform]] = {}

    def approximate(self) -> Approximation:
        """Floats for all variates; the rare ones with a tiny U are computed from more bits."""
        signed = self._words.view(np.int64).astype(np.float64)
        uniforms = np.abs(signed)
        uniforms *= 2.0**-63
        if not uniforms.min() < SMALL:
            values = self._magnitude.approximate(uniforms)
            return Approximation(np.copysign(values, signed, out=values), _ERROR, _LARGEST)
        small = np.flatnonzero(uniforms < SMALL)
        uniforms[small] = 0.5
        values = self._magnitude.approximate(uniforms)
        np.copysign(values, signed, out=values)
        values[small] = [self._polished(int(i)) for i in small]
        largest = max(_LARGEST, float(np.abs(values[small]).max()))
        return Approximation(values, max(_ERROR, largest * 2.0**-51), largest)

    def ball(self, index: int, precision: int) -> Ball:
        """A ball around one variate, from at least ``precision`` bits of its U."""
        entry = self._opened.get(index)
        if entry is None:
            entry = LazyUniform.after_sign(int(self._words[index]), self._source)
            self._opened[index] = entry
        sign, uniform = entry
        return sign * self._magnitude.ball(uniform.ball(precision))

    def _polished(self, index: int) -> float:
        return polished(lambda precision: self.ball(index, precision))


def polished(ball_at: Callable[[int], Ball]) -> float:
    """The float nearest to a number, up to a relative error of 2^-52, from balls of more and more bits."""

    def attempt(precision: int) -> float | None:
        ball = ball_at(precision)
        # Ten bits beyond a float: rounding the midpoint is then all of the error that matters.
        return float(ball.mid()) if ball.is_finite() and ball.rel_accuracy_bits() >= 63 else None

    return float(decided(attempt))


class Unit:
    """P(|Z| > z) = 1 - z on [0, 1]."""

    def approximate(self, uniforms: Floats) -> Floats:
        """The uniforms themselves (1 - U and U have the same distribution)."""
        return uniforms

    def ball(self, uniform: Ball) -> Ball:
        """U."""
        return uniform


class UnitVariates(SymmetricVariates):
    """Independent numbers uniform on [-1, 1], one per word."""

    def __init__(self, words: Words, source: RandomSource) -> None:
        super().__init__(Unit(), words, source)

    def approximate(self) -> Approximation:
        """Floats for all: the signed word itself; 63 bits and one rounding leave less than 2^-52."""
        return Approximation(self._words.view(np.int64).astype(np.float64) * 2.0**-63, 2.0**-52, 1.0)
