"""A uniform point of a half of the sphere, which half being decided by a secret vector: exact and exactly rounded.

A normal vector has a uniform direction, and its mirror image lies in the other half: one sign chooses between them, so
that nothing is drawn twice (docs/proofs/user-level.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from barrow.errors import ParameterError
from barrow.noise.additive.knorm import is_positive
from barrow.noise.additive.polytope import dot
from barrow.noise.additive.rounded import Centered, rounded_vector
from barrow.noise.additive.values import RoundedValues
from barrow.noise.additive.variates import Approximation, HalfNormal, SymmetricVariates
from barrow.noise.lazy_uniform import Ball, LazyUniform, decided
from barrow.noise.source import RandomSource
from barrow.numerics import Exact, exact

_UNIT = 2.0**-53


class HemispherePoint:
    """A uniform point of the unit sphere on the side of ``vector`` (``near``) or on the other one."""

    def __init__(self, vector: list[Fraction], near: bool, source: RandomSource) -> None:
        self._size = len(vector)
        self._normals = SymmetricVariates(HalfNormal(), source.words(self._size), source)
        self._sign = 1 if self._is_on_side(vector) == near else -1
        self._length: tuple[int, Ball] | None = None

    def _is_on_side(self, vector: list[Fraction]) -> bool:
        """The sign of <normals, vector>: it is 0 with probability 0."""
        largest = max(abs(x) for x in vector)
        # Without a side any fixed direction serves: the caller's coin is then a fair one.
        scaled = [x / largest for x in vector] if largest else [Fraction(1), *vector[1:]]
        floats, result = np.array([float(x) for x in scaled]), self._normals.approximate()
        product, size = float(floats @ result.values), float(np.abs(floats) @ np.abs(result.values))
        error = 1.01 * (float(np.abs(floats).sum()) * result.error + (self._size + 3) * _UNIT * size)
        if abs(product) > error:
            return product > 0.0

        return bool(decided(lambda precision: is_positive(dot(scaled, self._normals, precision))))

    def approximate(self) -> Approximation:
        """Floats for the whole vector."""
        normals = self._normals.approximate()
        length = math.sqrt(math.fsum((normals.values * normals.values).tolist()))
        length_error = 1.01 * math.sqrt(self._size) * normals.error + 8.0 * _UNIT * length
        if not length_error < length * 2.0**-10:
            return Approximation(normals.values, np.inf, np.inf)
        relative = 1.01 * length_error / length + 4.0 * _UNIT
        return Approximation(self._sign * normals.values / length, 1.01 * (relative + normals.error / length), 1.01)

    def ball(self, index: int, precision: int) -> Ball:
        """A ball around one entry."""
        if self._length is None or self._length[0] < precision:
            squares = sum(self._normals.ball(i, precision) ** 2 for i in range(self._size))
            self._length = precision, squares.sqrt()
        return self._sign * self._normals.ball(index, precision) / self._length[1]


def rounded_hemisphere(
    vector: list[Fraction],
    radius: Exact,
    agree: Exact,
    length: Exact,
    *,
    middle: Centered | None = None,
    grid: Exact | None = None,
    source: RandomSource | None = None,
) -> RoundedValues:
    """A point at ``length`` from the middle, on the side of ``vector`` more often than not, rounded exactly.

    The side is that of ``vector`` with probability (1 + ||vector||/radius)/2, else the other one; the point is then
    uniform on this side with probability ``agree``, and uniform on the opposite one otherwise.

    ``radius`` is at least the length of ``vector``: it decides accuracy, never privacy. The point lies at ``length``
    from ``middle``, which is 0 by default; the grid is at most that.
    """
    probability, reach = exact(agree, "agree"), exact(radius, "radius")
    if not (0 <= probability <= 1 and reach > 0 and vector):
        raise ParameterError(
            f"agree is {agree} and radius is {radius}.",
            allowed="a probability, a number above 0, and one entry or more",
            fix="agree='0.7', radius=1",
        )
    # U < (1 + ||v||/r)/2 is 2U - 1 < ||v||/r, whose squares are rational.
    square = sum((x * x for x in vector), Fraction(0)) / (reach * reach)

    def point(origin: RandomSource) -> HemispherePoint:
        forward = _decide(LazyUniform.fresh(origin), lambda u: _signed_square(2 * u - 1) - square)
        near = _decide(LazyUniform.fresh(origin), lambda u: u - probability)
        return HemispherePoint(vector, forward == near, origin)

    return rounded_vector([0] * len(vector) if middle is None else middle, point, length, grid, source)


def _signed_square(x: Fraction) -> Fraction:
    return x * abs(x)


def _decide(uniform: LazyUniform, above: Callable[[Fraction], Fraction]) -> bool:
    """Whether ``above`` of the uniform number is negative; it increases, so both ends of the known bits decide."""
    while True:
        uniform.reach(uniform.length + 64)
        low = Fraction(uniform.bits, 1 << uniform.length)
        if above(low + Fraction(1, 1 << uniform.length)) <= 0:
            return True
        if above(low) >= 0:
            return False
