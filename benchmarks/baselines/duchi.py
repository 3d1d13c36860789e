"""The hypercube mechanism of Duchi, Jordan and Wainwright for the local model, exactly sampled.

Each output is scaled by its public range to [-1, 1]. The user's vector x becomes a random corner v of the cube with
mean x; then a corner z with <z, v> >= 0 is drawn with e^epsilon times the probability of one with <z, v> < 0. Ties are
on one side only: with ties on both, as often stated for an even number of outputs, a tie is 1/(1-pi) times as likely
as a corner on the far side, which is more than e^epsilon (docs/proofs/linear.md). For one output this is the two-point
mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.mechanisms.statistics import UserCounts
from barrow.noise import RandomSource, system_source
from barrow.numerics import Exact, float_down
from barrow.promises import Model, UserLevelRelease
from barrow.promises.definitions import positive
from barrow.queries import Query


@dataclass(frozen=True)
class DuchiNoise:
    """The public numbers of the mechanism for one query.

    Attributes:
        middles: The middle of each output's range.
        radii: Half of each output's range.
        agree: The rational probability that z is drawn from the near half, {z : <z, v> >= 0}.
        stretch: By how much a corner is stretched to be unbiased.
        event: The event of one report.

    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> noise = DuchiNoise.of(mean(Line(0, 10, step=5, cells=True)), 1)
    >>> round(float(noise.agree), 6), round(float(noise.stretch), 4)
    (0.731059, 2.164)
    """

    middles: tuple[Fraction, ...]
    radii: tuple[Fraction, ...]
    agree: Fraction
    stretch: Fraction
    event: UserLevelRelease

    @classmethod
    def of(cls, query: Query, epsilon: Exact) -> DuchiNoise:
        """The mechanism for ``query`` at ``epsilon``."""
        budget = positive(epsilon, "epsilon")
        table = query.table.integers.toarray() if query.table.sparse else query.table.integers
        low, high = table.min(axis=0).tolist(), table.max(axis=0).tolist()
        middles = tuple(Fraction(a + b, 2) * query.step for a, b in zip(low, high, strict=True))
        radii = tuple(Fraction(b - a, 2) * query.step for a, b in zip(low, high, strict=True))
        # e^eps to within a few units, then down by far more than that. More than e^500 is not worth having.
        ratio = Fraction(math.exp(min(float_down(budget), 500.0))) * (1 - Fraction(1, 2**40))
        if ratio <= 1:
            raise ParameterError(
                f"epsilon is {epsilon}, too small for the mechanism.", allowed="1e-11 or more", fix="epsilon=0.1"
            )
        near, mean = half_cube(query.dimension)
        far = 2**query.dimension - near
        agree = ratio * near / (ratio * near + far)
        # Coordinates sum to 0 over the whole cube, so the far half has the opposite mean, weighted by its size.
        stretch = 1 / (mean * (agree - (1 - agree) * Fraction(near, far)))
        return cls(middles, radii, agree, stretch, UserLevelRelease(budget, model=Model.LOCAL))

    @property
    def deviations(self) -> NDArray[np.float64]:
        """An upper bound on the standard deviation of each output of one report: stretch times radius."""
        return np.array([float(self.stretch * r) for r in self.radii])

    def values(self, corner: NDArray[np.int64]) -> NDArray[np.float64]:
        """The unbiased estimate that a corner stands for."""
        return np.array(
            [float(m + self.stretch * r * int(z)) for m, r, z in zip(self.middles, self.radii, corner, strict=True)]
        )


def half_cube(dimension: int) -> tuple[int, Fraction]:
    """The number of corners z with <z, v> >= 0, and the mean over them of a coordinate in the direction of v.

    >>> [half_cube(d) for d in (1, 2, 3)]
    [(1, Fraction(1, 1)), (3, Fraction(1, 3)), (4, Fraction(1, 2))]
    """
    d = dimension
    if d % 2:
        return 2 ** (d - 1), Fraction(math.comb(d - 1, (d - 1) // 2), 2 ** (d - 1))
    middle = math.comb(d, d // 2)
    return (2**d + middle) // 2, Fraction(middle, 2**d + middle)


def duchi_release(
    query: Query, counts: UserCounts, epsilon: Exact, *, source: RandomSource | None = None
) -> tuple[NDArray[np.int64], DuchiNoise]:
    """One user's report: a corner of the cube, and the public numbers that turn corners into estimates.

    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> line = Line(0, 10, step=5, cells=True)
    >>> corner, noise = duchi_release(mean(line), UserCounts.of_users(line, [[0]]), 1)
    >>> abs(int(corner[0]))
    1
    """
    if counts.users != 1:
        raise ParameterError(
            f"The statistics are those of {counts.users} users.", allowed="one user", fix="one report for each user"
        )
    noise = DuchiNoise.of(query, epsilon)
    center = counts.center(query)
    words: RandomSource = system_source() if source is None else source
    inputs = [
        (center.exact_entry(j) - m) / r if r else Fraction(0)
        for j, (m, r) in enumerate(zip(noise.middles, noise.radii, strict=True))
    ]
    corner = np.array([1 if _coin((1 + x) / 2, words) else -1 for x in inputs])
    near = _coin(noise.agree, words)
    while True:
        z = _fair_signs(len(corner), words)
        if (int((z * corner).sum()) >= 0) == near:
            return z, noise


def _coin(probability: Fraction, source: RandomSource) -> bool:
    """True with exactly the given rational probability: a uniform number's bits are drawn until they decide."""
    low, width = Fraction(0), Fraction(1)
    while True:
        width /= 2**64
        low += int(source.words(1)[0]) * width
        if low + width <= probability:
            return True
        if low >= probability:
            return False


def _fair_signs(count: int, source: RandomSource) -> Any:
    words = source.words(-(-count // 64))
    bits = np.unpackbits(np.frombuffer(np.asarray(words, dtype="<u8").tobytes(), dtype=np.uint8))[:count]
    return 2 * bits.astype(np.int64) - 1
