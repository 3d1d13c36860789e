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
from functools import cached_property, lru_cache

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.mechanisms.additive import CONFIDENCE, AdditiveNoise
from barrow.mechanisms.edge_sums import EdgeSum
from barrow.mechanisms.ellipsoids import MOST_ITEMS, least_trace
from barrow.mechanisms.linear import MuFor, linear_candidates
from barrow.mechanisms.scales import least_scales
from barrow.noise import Center, RandomSource, RoundedValues
from barrow.numerics import Exact, float_up
from barrow.promises import Event, Model
from barrow.promises.definitions import probability
from barrow.queries import Query, strategy_query, table_floats, tree_edges
from barrow.spaces import Space, edge_tree
from barrow.spaces.space import Floats, Ids

_LEAST_SINGULAR = 1e-12
_FINER = 2**10
"""Values are rounded this much finer than for a query that is released as it is: many are added up for one answer."""
_MOST_OUTPUTS = 4000
_MISS = 1.0 - CONFIDENCE
AlphaFor = Callable[[Fraction], Fraction]
"""From B/ell in the norm of the noise to the alpha that keeps all promises."""


@dataclass(frozen=True, eq=False, repr=False)
class Factorisation:
    """Combinations from which the answers of a workload can be computed; public, and independent of any budget.

    Attributes:
        name: How they were found: ``"plain"`` (the answers themselves), ``"ellipsoid"``, ``"scales"`` or ``"tree"``.
        query: The query that is released, A.
        answers: R, shape (answers, combinations).
        offsets: What is added to each answer.
        off_upper: How far R A q + offsets may be from the answer of the quantised workload, whatever the data.
        trace_lower: No Gaussian noise of constant 1 has a smaller sum of (weighted) variances; None where unknown.

    >>> from barrow.queries import histogram
    >>> from barrow.spaces import Discrete
    >>> [each.name for each in factorisations(histogram(Discrete(["a", "b", "c"])))]
    ['plain', 'ellipsoid', 'scales', 'tree']
    """

    name: str
    query: Query
    answers: Floats
    offsets: Floats
    off_upper: Floats
    trace_lower: float | None = None

    def __repr__(self) -> str:
        return f"Factorisation({self.name}, {self.answers.shape[1]} combinations for {self.answers.shape[0]} answers)"


@dataclass(frozen=True, eq=False, repr=False)
class Strategy:
    """A factorisation with noise on its combinations: it is to the workload what additive noise is to a query.

    Attributes:
        workload: The questions.
        factors: What is released in their place.
        additive: The noise on the combinations.

    >>> from barrow.queries import histogram
    >>> from barrow.spaces import Line
    >>> result = strategies_for(histogram(Line(0, 16, step=1, cells=True)), 25, users=1000)[0]
    >>> result, round(result.rms * 1000, 3)
    (Strategy(tree, Laplace, 16 answers), 1.239)
    """

    workload: Query
    factors: Factorisation
    additive: AdditiveNoise

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
    def deviations(self) -> Floats:
        """The standard deviation of each answer: noises of combinations are uncorrelated and have one variance."""
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
        if self.factors.trace_lower is None or self.p is not None:
            return None
        constant = self.additive.sensitivity_upper
        return math.sqrt(self.factors.trace_lower / self.dimension) * float(self.scale) / constant

    def half_widths(self, miss: float = _MISS) -> Floats:
        """What each answer is off by with probability at most ``miss``, all rounding included."""
        return self._widths(miss)

    def _widths(self, miss: float) -> Floats:
        answers, scale = np.abs(self.factors.answers), float_up(self.additive.scale) * (1.0 + 1e-9)
        if self.additive.name == "Laplace":
            noise = np.array([EdgeSum(row[row > 0.0]).half_width(miss) if row.any() else 0.0 for row in answers])
        else:
            # Gaussian noise and that of the 2-norm look the same in every direction.
            noise = np.sqrt((answers**2).sum(axis=1)) * self.additive.distribution.quantile(miss)
        rounding = answers.sum(axis=1) * (float_up(self.grid) / 2.0) * (1.0 + 1e-9)
        return np.asarray(noise * scale + rounding + self.factors.off_upper + self.workload.rounding_upper)

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
        noise: ``"auto"``, or one of ``"gaussian"``, ``"laplace"`` and ``"l2"``.
        mu_for: As in :func:`barrow.mechanisms.linear_noise`.

    >>> from barrow.queries import histogram
    >>> from barrow.spaces import Line
    >>> result = strategies_for(histogram(Line(0, 16, step=1, cells=True)), 1, "1e-6", users=1000, noise="gaussian")
    >>> result[0].factors.name, 1.0 <= result[0].rms / result[0].rms_lower <= 1.005
    ('ellipsoid', True)
    """
    if noise not in ("auto", "gaussian", "laplace", "l2"):
        raise ParameterError(
            f"noise is {noise!r}.", allowed="'auto', 'gaussian', 'laplace' or 'l2'", fix="noise='auto'"
        )
    slack = probability(delta)
    results = []
    for factors in factorisations(workload, None if weights is None else tuple(map(float, weights))):
        for kind in _noises(factors, noise, slack):
            results.append(Strategy(workload, factors, _noise(factors.query, alpha, slack, kind, users, mu_for)))
    return sorted(results, key=lambda each: each.rms)


def _noises(factors: Factorisation, noise: str, delta: Fraction) -> list[str]:
    """Gaussian and 2-norm noise for ellipsoids, Laplace noise for scales and trees, all of them for plain answers."""
    round_noise = ["l2", *(["gaussian"] if delta > 0 else [])]
    fit = {"ellipsoid": round_noise, "plain": ["laplace", *round_noise]}.get(factors.name, ["laplace"])
    if factors.query.dimension == 1:
        fit = ["laplace", *(["gaussian"] if delta > 0 else [])]
    return [kind for kind in fit if noise in ("auto", kind)]


def _noise(
    query: Query, alpha: Exact | AlphaFor, delta: Fraction, kind: str, users: int, mu_for: MuFor | None
) -> AdditiveNoise:
    rate = alpha(query.range_ratio(1 if kind == "laplace" else 2)) if callable(alpha) else alpha

    def build(grid: Fraction | None) -> AdditiveNoise:
        return linear_candidates(
            query, rate, delta, noise=kind, model=Model.CENTRAL, users=users, grid=grid, mu_for=mu_for
        )[0]

    return build(build(None).grid / _FINER)


@lru_cache(maxsize=12)
def factorisations(workload: Query, weights: tuple[float, ...] | None = None) -> tuple[Factorisation, ...]:
    """Every factorisation for ``workload``; the last few are remembered, as they take seconds on large spaces.

    >>> from barrow.queries import histogram
    >>> from barrow.spaces import Line
    >>> factorisations(histogram(Line(0, 4, step=1, cells=True)))[1]
    Factorisation(ellipsoid, 3 combinations for 4 answers)
    """
    values = table_floats(workload)
    if workload.dimension > _MOST_OUTPUTS * 10 or workload.space.items < 2:
        return ()
    counts = np.ones(workload.dimension) if weights is None else np.asarray(weights)
    if counts.shape != (workload.dimension,) or not (counts > 0.0).all():
        raise ParameterError(
            f"There are {len(counts)} weights for {workload.dimension} answers, or some are not above 0.",
            allowed="a number above 0 for each answer",
            fix="leave weights out",
        )
    ellipsoid = _by_ellipsoid(workload, values, counts)
    bound = None if ellipsoid is None else ellipsoid.trace_lower
    none = np.zeros(workload.dimension)
    plain = Factorisation("plain", workload, np.eye(workload.dimension), none, none, bound)
    results = [
        plain if workload.dimension <= _MOST_OUTPUTS else None,
        ellipsoid,
        _by_scales(workload, values, counts),
        _by_tree(workload, values),
    ]
    return tuple(each for each in results if each is not None)


def _factored(
    name: str, workload: Query, values: Floats, query: Query, answers: Floats, bound: float | None
) -> Factorisation:
    """A factorisation with what it misses: half the width of the difference, whose middle is added to the answers."""
    missed = values - table_floats(query) @ answers.T
    low, high = missed.min(axis=0), missed.max(axis=0)
    largest = float(np.abs(table_floats(query)).max(initial=0.0))
    floats = (np.abs(answers).sum(axis=1) * largest + np.abs(values).max(axis=0)) * query.dimension * 2.0**-50
    return Factorisation(name, query, answers, (low + high) / 2.0, (high - low) / 2.0 + floats, bound)


def _by_ellipsoid(workload: Query, values: Floats, counts: Floats) -> Factorisation | None:
    """Gaussian noise whose covariance has the least trace; A = F S^(-1/2) in the directions that answers vary in."""
    space = workload.space
    left, sizes, right = heavy.linalg.svd((values - values.mean(axis=0)) * counts, full_matrices=False)
    holds = sizes > sizes[0] * _LEAST_SINGULAR
    rows, back = left[:, holds] * sizes[holds], right[holds].T / counts[:, None]
    looked = _looked_at(space, rows)
    if looked is None:
        return None
    result = least_trace(rows[looked], np.asarray(space.block(looked, looked)))
    query = strategy_query(workload, rows @ result.inverse)
    try:
        query.constants([2])
    except ParameterError:
        return None  # too many pairs to visit, and no constant on paper
    return _factored("ellipsoid", workload, values, query, back @ result.root, result.trace_lower)


def _looked_at(space: Space, rows: Floats) -> Ids | None:
    """All items; on a large space those at the ends of the edges along which the answers change most per length."""
    if space.items <= MOST_ITEMS:
        return np.arange(space.items)
    graph = space.graph()
    if graph.weights is not None:
        return None
    inside = (graph.tails < space.items) & (graph.heads < space.items)
    tails, heads, lengths = graph.tails[inside], graph.heads[inside], graph.lengths[inside]
    order = np.argsort(-np.sqrt(((rows[tails] - rows[heads]) ** 2).sum(axis=1)) / lengths, kind="stable")
    order = order[: MOST_ITEMS // 2]
    return np.unique(np.concatenate([tails[order], heads[order]]))


def _by_scales(workload: Query, values: Floats, counts: Floats) -> Factorisation | None:
    """The answers themselves, each in a unit of its own, so that Laplace noise has the least sum of variances."""
    space = workload.space
    if space.items > MOST_ITEMS or not 2 <= workload.dimension <= _MOST_OUTPUTS:
        return None
    varying = np.ptp(values, axis=0) > 0.0
    if not varying.any():
        return None
    scales = np.zeros(workload.dimension)
    scales[varying] = least_scales(
        values[:, varying], np.asarray(space.block(*[np.arange(space.items)] * 2)), counts[varying]
    )
    indices = np.flatnonzero(varying)
    query = strategy_query(workload, values[:, indices] / scales[indices])
    answers = np.zeros((workload.dimension, len(indices)))
    answers[indices, np.arange(len(indices))] = scales[indices]
    return _factored("scales", workload, values, query, answers, None)


def _by_tree(workload: Query, values: Floats) -> Factorisation | None:
    """Shares below the edges of a tree metric: an answer is a sum over edges of how it changes along them.

    A function on a tree's items is a constant plus, for each edge, a coefficient times "below it", and least squares
    finds coefficients for every function: on a line they are the steps of the function.
    """
    space = workload.space
    if space.geometry.periodic or not (space.geometry.on_line or space.geometry.tree is not None):
        return None
    if space.items > MOST_ITEMS:
        return None
    tree, query = edge_tree(space), tree_edges(space)
    if tree.path:
        answers = (values[:-1] - values[1:]).T / tree.lengths
    else:
        table = table_floats(query)
        design = np.hstack([table, np.ones((space.items, 1))])
        answers = heavy.linalg.lstsq(design, values, lapack_driver="gelsd")[0][:-1].T
    return _factored("tree", workload, values, query, answers, None)
