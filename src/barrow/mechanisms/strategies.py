"""Strategies: noise shaped for a workload of linear questions, the paper's footnote on matrix factorisation.

In place of the answers W q other combinations A q are released with noise, and the answers are computed from them by
least squares: R (A q + noise) with R A = W up to constants. A is a query like any other, and its constant is certified
like any other's, on its quantised table; how it was found plays no part in the guarantee (docs/proofs/strategies.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np

from barrow.errors import one_of
from barrow.mechanisms.additive import CONFIDENCE, AdditiveNoise
from barrow.mechanisms.edge_histogram import edge_histogram, reach_upper
from barrow.mechanisms.edge_intervals import noise_of
from barrow.mechanisms.edge_noise import EdgeNoise
from barrow.mechanisms.edge_sums import EdgeSum
from barrow.mechanisms.factorisation import EDGES, FACES, Factorisation, factorisations
from barrow.mechanisms.linear import MuFor, linear_candidates
from barrow.noise import Center, RandomSource, RoundedValues
from barrow.numerics import Exact, float_up
from barrow.promises import Event, Model
from barrow.promises.definitions import probability
from barrow.queries import Query
from barrow.spaces.space import Floats

_FINER = 2**10
"""Values are rounded this much finer than for a query that is released as it is: many are added up for one answer."""
_MISS = 1.0 - CONFIDENCE
AlphaFor = Callable[[Fraction], Fraction]
"""From B/ell in the norm of the noise to the alpha that keeps all promises."""


@dataclass(frozen=True, eq=False, repr=False)
class Strategy:
    """A factorisation with noise on its combinations: it is to the workload what additive noise is to a query.

    Attributes:
        workload: The questions.
        factors: What is released in their place.
        additive: The noise on the combinations, or along the edges of the graph whose nodes they are.

    >>> from barrow.queries import histogram
    >>> from barrow.spaces import Line
    >>> result = strategies_for(histogram(Line(0, 16, step=1, cells=True)), 25, users=1000)[0]
    >>> result, round(result.rms * 1000, 3)
    (Strategy(tree, Laplace, 16 answers), 1.239)
    """

    workload: Query
    factors: Factorisation
    additive: AdditiveNoise | EdgeNoise

    def __repr__(self) -> str:
        return f"Strategy({self.factors.name}, {self.additive.name}, {len(self.factors.answers)} answers)"

    @property
    def name(self) -> str:
        """What the noise is called."""
        return self.additive.name if self.factors.name == "plain" else f"shaped {self.additive.name}"

    @property
    def p(self) -> str | None:
        """The order of the norm of the noise; None for Gaussian noise."""
        return self.additive.p

    @property
    def query(self) -> Query:
        """What is released."""
        return self.factors.query

    @property
    def dimension(self) -> int:
        """The number of answers."""
        return len(self.factors.answers)

    @property
    def scale(self) -> Fraction:
        """The exact scale of the noise on the combinations."""
        return self.additive.scale

    @property
    def grid(self) -> Fraction:
        """The public grid of the combinations."""
        return self.additive.grid

    @property
    def event(self) -> Event:
        """What drawing it will cause."""
        return self.additive.event

    @cached_property
    def _along_edges(self) -> list[EdgeSum] | None:
        """The noise of each answer where it is along edges: only those count along which the answer changes."""
        if not isinstance(self.additive, EdgeNoise):
            return None
        plan = self.additive.plan
        return [noise_of(plan, row) for row in self.factors.answers]

    @cached_property
    def deviations(self) -> Floats:
        """The standard deviation of each answer: noises of combinations are uncorrelated and have one variance."""
        if self._along_edges is not None:
            return np.array([each.deviation for each in self._along_edges])
        return np.asarray(np.sqrt((self.factors.answers**2).sum(axis=1)) * self.additive.deviation)

    @property
    def deviation(self) -> float:
        """The largest standard deviation of an answer."""
        return float(self.deviations.max())

    @property
    def rms(self) -> float:
        """The root of the mean variance of the answers."""
        return math.sqrt(float((self.deviations**2).mean()))

    @property
    def rms_lower(self) -> float | None:
        """No Gaussian noise at this mu has a smaller root mean square error; None where no bound is known."""
        if self.factors.trace_lower is None or self.p is not None or isinstance(self.additive, EdgeNoise):
            return None
        constant = self.additive.sensitivity_upper
        return math.sqrt(self.factors.trace_lower / self.dimension) * float(self.scale) / constant

    def half_widths(self, miss: float = _MISS) -> Floats:
        """What each answer is off by with probability at most ``miss``, all rounding included."""
        return self._widths(miss)

    def beside(self, first: int, second: int, times: float, miss: float = _MISS) -> float:
        """What answer ``first`` less t times ``second`` is off by with probability at most ``miss``, for |t| <= times.

        It grows with ``times`` (docs/proofs/no-records.md, section 3).
        """
        own, other = (np.abs(self.factors.answers[i]) for i in (first, second))
        both = own + times * other
        if self._along_edges is not None:
            noise = sum(k * self._along_edges[i].half_width(miss / 2.0) for i, k in ((first, 1.0), (second, times)))
            noise *= 1.0 + 1e-9
        elif self.additive.name == "Laplace":
            noise = EdgeSum(both[both > 0.0]).half_width(miss) * float_up(self.scale) * (1.0 + 1e-9)
        else:
            across = abs(float(self.factors.answers[first] @ self.factors.answers[second]))
            size = math.sqrt(float(own @ own) + times**2 * float(other @ other) + 2.0 * times * across)
            if self.p == "inf":  # which is not the same in every direction: each of the two has half of the misses
                size, miss = float(both.sum()), miss / 2.0
            noise = cast("AdditiveNoise", self.additive).distribution.quantile(miss) * size * float_up(self.scale)
            noise *= 1.0 + 1e-9
        rounding = float(both.sum()) * (float_up(self.grid) / 2.0) * (1.0 + 1e-9)
        off = self.factors.off_upper[first] + times * self.factors.off_upper[second]
        return float(noise + rounding + off + self.workload.rounding_upper * (1.0 + times))

    def _widths(self, miss: float) -> Floats:
        answers, scale = np.abs(self.factors.answers), float_up(self.additive.scale) * (1.0 + 1e-9)
        if self._along_edges is not None:
            noise = np.array([each.half_width(miss) * (1.0 + 1e-9) for each in self._along_edges])
        elif self.additive.name == "Laplace":
            sums = [EdgeSum(row[row > 0.0]).half_width(miss) if row.any() else 0.0 for row in answers]
            noise = np.array(sums) * scale
        else:
            # Gaussian noise and that of the 2-norm look the same in every direction; that of the maximum norm is only
            # added to the answers themselves.
            size = cast("AdditiveNoise", self.additive).distribution.quantile(miss)
            noise = np.sqrt((answers**2).sum(axis=1)) * size * scale
        rounding = answers.sum(axis=1) * (float_up(self.grid) / 2.0) * (1.0 + 1e-9)
        return np.asarray(noise + rounding + self.factors.off_upper + self.workload.rounding_upper)

    @cached_property
    def half_width(self) -> float:
        """What one answer is off by with probability at most 5 %: the widest."""
        return float(self._widths(_MISS).max())

    @cached_property
    def simultaneous_half_width(self) -> float:
        """What no answer is off by more than, with probability at least 95 %: each has its share of the 5 %."""
        return float(self._widths(_MISS / self.dimension).max())

    def draw(self, center: Center, source: RandomSource | None = None) -> RoundedValues:
        """``center``, the exact mean of ``query``, plus noise, exactly rounded to the grid."""
        return self.additive.draw(center, source)

    def simulated(self, source: RandomSource) -> Floats:
        """What noise alone adds to the answers, for predictions."""
        zeros = Center.from_integers(np.zeros(self.query.dimension, dtype=np.int64))
        return np.asarray(self.factors.answers @ np.asarray(self.draw(zeros, source).values, dtype=np.float64))

    def read(self, values: Floats) -> Floats:
        """The answers that released combinations give."""
        return np.asarray(self.factors.answers @ np.asarray(values, dtype=np.float64) + self.factors.offsets)


def strategies_for(
    workload: Query,
    alpha: Exact | AlphaFor,
    delta: Exact = 0,
    *,
    users: int,
    weights: Sequence[float] | None = None,
    noise: str = "auto",
    mu_for: MuFor | None = None,
) -> list[Strategy]:
    """Every strategy for ``workload`` that is (alpha, delta)-EMD-DP in the central model, least error first.

    Args:
        workload: The questions, one output each.
        alpha: Privacy loss per unit of EMD; or a function from B/ell to it, where promises allow more to small ranges.
        delta: Above 0, Gaussian noise is considered too.
        users: n, public.
        weights: How much a unit of each answer's error counts; 1 by default.
        noise: ``"auto"``, or one of ``"gaussian"``, ``"laplace"``, ``"l2"`` and ``"linf"``.
        mu_for: As in :func:`barrow.mechanisms.linear_noise`.

    >>> from barrow.queries import histogram
    >>> from barrow.spaces import Line
    >>> result = strategies_for(histogram(Line(0, 16, step=1, cells=True)), 1, "1e-6", users=1000, noise="gaussian")
    >>> result[0].factors.name, 1.0 <= result[0].rms / result[0].rms_lower <= 1.005
    ('ellipsoid', True)
    """
    one_of(noise, "noise", ("auto", "gaussian", "laplace", "l2", "linf"))
    slack = probability(delta)
    results = []
    for factors in factorisations(workload, None if weights is None else tuple(map(float, weights))):
        for kind in _noises(factors, noise, slack):
            results.append(Strategy(workload, factors, _noise(factors, alpha, slack, kind, users, mu_for)))
    return sorted(results, key=lambda each: each.rms)


def _noises(factors: Factorisation, noise: str, delta: Fraction) -> list[str]:
    """Gaussian and 2-norm noise for ellipsoids, Laplace noise for scales, trees and graphs, all for plain answers."""
    round_noise = ["l2", *(["gaussian"] if delta > 0 else [])]
    fit = {"ellipsoid": round_noise, "plain": ["laplace", "linf", *round_noise]}.get(factors.name, ["laplace"])
    if factors.query.dimension == 1:
        fit = ["laplace", *(["gaussian"] if delta > 0 else [])]
    return [kind for kind in fit if noise in ("auto", kind)]


def _noise(
    factors: Factorisation, alpha: Exact | AlphaFor, delta: Fraction, kind: str, users: int, mu_for: MuFor | None
) -> AdditiveNoise | EdgeNoise:
    query = factors.query
    if factors.name in (EDGES, FACES):
        space = query.space
        rate = alpha(Fraction(reach_upper(space, space.graph()))) if callable(alpha) else alpha
        plan = edge_histogram(space, rate, users=users, blocks=factors.name)
        return EdgeNoise(edge_histogram(space, rate, users=users, blocks=factors.name, grid=plan.grid / _FINER))
    rate = alpha(query.range_ratio({"laplace": "1", "linf": "inf"}.get(kind, "2"))) if callable(alpha) else alpha

    def build(grid: Fraction | None) -> AdditiveNoise:
        return linear_candidates(
            query, rate, delta, noise=kind, model=Model.CENTRAL, users=users, grid=grid, mu_for=mu_for
        )[0]

    return build(build(None).grid / _FINER)
