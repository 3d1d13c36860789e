"""The l2-ball mechanism of Duchi, Jordan and Wainwright for the local model, exactly sampled.

A user's answer v lies in a public ball. A side of it is drawn, that of v more often the longer v is; then a uniform
point of the sphere on this side with e^epsilon times the probability of one on the other. It is unbiased when its
length is right, and private whatever it is (docs/proofs/user-level.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from barrow.errors import ParameterError
from barrow.noise import Center, RandomSource, RoundedValues, default_grid
from barrow.noise.additive.hemisphere import rounded_hemisphere
from barrow.noise.additive.values import checked_grid
from barrow.numerics import Exact, float_down, float_up
from barrow.promises import Model, UserLevelRelease
from barrow.promises.definitions import positive
from barrow.queries import Quantised, Query
from barrow.randomisers import exceeds_exp
from barrow.spaces.space import Floats

MOST_ENTRIES = 4 * 10**6
"""Of the query's table: beyond, no enclosing ball is looked for."""
_FINER = 2**20
"""How much finer the grid is than for additive noise: points of a sphere have no density that would hide rounding."""
_TURNS = 400


@dataclass(frozen=True)
class BallNoise:
    """The public numbers of the mechanism for one query.

    Attributes:
        middle: The middle of the ball that holds every answer.
        radius: Its radius.
        agree: The rational probability that the point lies on the side that was drawn.
        length: How far from the middle reports lie, so that they are unbiased.
        grid: The public grid of a report.
        event: The event of one report.
    """

    middle: tuple[Fraction, ...]
    radius: Fraction
    agree: Fraction
    length: Fraction
    grid: Fraction
    event: UserLevelRelease

    @classmethod
    def of(cls, query: Query, epsilon: Exact, *, grid: Exact | None = None) -> BallNoise:
        """The mechanism for ``query`` at ``epsilon``."""
        budget = positive(epsilon, "epsilon")
        items, d = query.table.shape
        if items * d > MOST_ENTRIES:
            raise ParameterError(
                f"The query has {items:,} items and {d:,} outputs: no ball around its answers is looked for.",
                allowed=f"at most {MOST_ENTRIES:,} entries",
                fix="noise='laplace'",
            )
        middle, radius = enclosing_ball(query)
        agree = _agree(budget)
        # A half of the sphere has its mean at half_sphere_mean(d); the other half at the opposite.
        pull = float(2 * agree - 1) * half_sphere_mean(d)
        length = radius * Fraction(1.0 / pull)
        step = default_grid(length) / _FINER if grid is None else checked_grid(grid, length)
        return cls(middle, radius, agree, length, step, UserLevelRelease(budget, model=Model.LOCAL))

    @property
    def name(self) -> str:
        """What it is called."""
        return "point of a half sphere"

    @property
    def dimension(self) -> int:
        """The number of outputs."""
        return len(self.middle)

    @property
    def scale(self) -> Fraction:
        """The length of a report."""
        return self.length

    @property
    def half_width(self) -> float:
        """No output of a report is ever off by more: a bound for one report, not for their mean."""
        return float_up(self.length + self.radius) + float_up(self.grid) / 2.0

    def mean_half_width(self, users: int) -> float:
        """What each output of the mean of many users' reports is off by with probability about 5 %."""
        return min(1.959963984540054 * self.deviation / math.sqrt(users), self.half_width)

    @property
    def simultaneous_half_width(self) -> float:
        """The same: a bound on all outputs of one report."""
        return self.half_width

    def limits(self, table: Quantised) -> list[tuple[int, int]]:
        """The least and the largest integer that each output of a report holds."""
        reach = self.length + self.grid
        return [(math.floor((m - reach) / self.grid), math.ceil((m + reach) / self.grid)) for m in self.middle]

    @cached_property
    def deviation(self) -> float:
        """At most the root of the mean over outputs of the variance of a report, and nearly it at the middle."""
        grid = float(self.grid)
        return math.sqrt(float_up(self.length) ** 2 / self.dimension + grid * grid / 12.0)

    def draw(self, center: Center, source: RandomSource | None = None) -> RoundedValues:
        """One user's report: an unbiased estimate of ``center``, the user's exact answer."""
        vector = [center.exact_entry(j) - m for j, m in enumerate(self.middle)]
        return rounded_hemisphere(
            vector, self.radius, self.agree, self.length, middle=list(self.middle), grid=self.grid, source=source
        )


def half_sphere_mean(dimension: int) -> float:
    """The mean of the first coordinate over the half of the unit sphere where it is positive."""
    return math.exp(math.lgamma(dimension / 2.0) - math.lgamma((dimension + 1.0) / 2.0)) / math.sqrt(math.pi)


def enclosing_ball(query: Query) -> tuple[tuple[Fraction, ...], Fraction]:
    """Nearly the smallest ball around the query's values, by steps to the farthest one; its radius is rounded up."""
    table = query.table.integers.toarray() if query.table.sparse else query.table.integers
    points: Floats = np.asarray(table, dtype=np.float64)
    at = (points.max(axis=0) + points.min(axis=0)) / 2.0
    best, least = at, math.inf
    others = [points.mean(axis=0), at]
    for start in others:
        at = start
        for turn in range(1, _TURNS + 1):
            squares = ((points - at) ** 2).sum(axis=1)
            far = int(squares.argmax())
            if squares[far] < least:
                best, least = at, float(squares[far])
            at = at + (points[far] - at) / (turn + 1.0)
    reach = math.sqrt(least) * (1.0 + 2.0**-40)
    return tuple(Fraction(x) * query.step for x in best.tolist()), Fraction(reach) * query.step


def _agree(budget: Fraction) -> Fraction:
    """The largest known rational whose odds are at most e^epsilon."""
    # More than e^40 is not worth having: then the side is all that is told, and always.
    reach = min(float_down(budget), 40.0)
    odds = Fraction(math.exp(reach)) * (1 - Fraction(1, 2**44))
    if odds <= 1 or exceeds_exp(odds, budget):
        raise ParameterError(
            f"epsilon is {float(budget):.3g}, too small for the mechanism.", allowed="1e-11 or more", fix="epsilon=0.1"
        )
    return odds / (1 + odds)
