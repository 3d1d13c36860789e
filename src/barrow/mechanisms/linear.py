"""PrivEMDLinear: linear queries under EMD-DP, in the local model and, as a mean over users, in the central one.

Moving one user's data by EMD w moves the user's answer by at most ell w (``thm:sens``), and the mean over n users by at
most ell w/n, whatever the users' numbers of items: both guarantees are unbounded (docs/proofs/central-unbounded.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypedDict, Unpack

from barrow.mechanisms.additive import (
    CONFIDENCE,
    AdditiveNoise,
    NoiseDistribution,
    by_predicted_error,
    checked_model,
    wanted_norms,
)
from barrow.noise.additive.values import checked_grid
from barrow.numerics import Exact, float_down, gdp_mu_lower
from barrow.promises import GaussianNoise, KNormNoise, Model, PersonGaussianNoise, PersonKNormNoise
from barrow.promises.definitions import positive, probability
from barrow.queries import Query, norm_order

MuFor = Callable[[Fraction], Fraction]
"""From B/ell in the 2-norm to the mu of Gaussian noise at EMD 1."""


class NoiseOptions(TypedDict, total=False):
    """What may be said about the noise of a query: see :func:`linear_candidates`."""

    noise: str | Exact
    model: str
    users: int | None


class LinearOptions(NoiseOptions, total=False):
    """What EMD-DP adds to them."""

    grid: Exact | None
    mu_for: MuFor | None


def linear_candidates(
    query: Query,
    alpha: Exact,
    delta: Exact = 0,
    *,
    noise: str | Exact = "auto",
    model: str = Model.CENTRAL,
    users: int | None = None,
    grid: Exact | None = None,
    mu_for: MuFor | None = None,
) -> list[AdditiveNoise]:
    """Every noise that makes ``query`` (alpha, delta)-EMD-DP, the most accurate first; reads no data.

    Args:
        query: What is asked.
        alpha: Privacy loss per unit of EMD, above 0.
        delta: 0 for pure noise; above 0, Gaussian noise is considered too.
        noise: ``"auto"``, ``"laplace"``, ``"l2"``, ``"linf"``, the order of a norm, or ``"gaussian"``.
        model: ``"central"`` or ``"local"``.
        users: The public number of users (central).
        grid: The public grid of the answer; the power of two nearest to scale/1024 by default.
        mu_for: From B/ell to the mu of Gaussian noise, where it is calibrated by something else than alpha and delta.

    >>> from barrow.queries import mean
    >>> from barrow.spaces import Euclidean
    >>> square = mean(Euclidean([0, 0], [1, 1], step=0.1))
    >>> [noise.name for noise in linear_candidates(square, 25, "1e-9", users=100)]
    ['l2 K-norm', 'linf K-norm', 'Laplace', 'Gaussian']
    """
    rate, slack = positive(alpha, "alpha"), probability(delta)
    place, divisor = checked_model(model, users)
    norms = wanted_norms(noise, query.dimension, slack)
    if noise == "auto":
        norms = [p for p in norms if p in (None, "1") or not _loses_to_laplace(query, p)]
    constants = query.constants([2 if p is None else p for p in norms])
    results = []
    knorm, gaussian = (PersonKNormNoise, PersonGaussianNoise) if query.of_person else (KNormNoise, GaussianNoise)
    for p, known in zip(norms, constants, strict=True):
        ell, ratio = Fraction(known.lipschitz_upper), Fraction(known.range_ratio)
        event: GaussianNoise | KNormNoise
        if p is None:
            mu = mu_for(ratio) if mu_for else Fraction(gdp_mu_lower(float_down(rate), float_down(slack)))
            scale = ell / (mu * divisor)
            event = gaussian(mu, delta=slack, model=place, range_ratio=ratio)
        else:
            scale = ell / (rate * divisor)
            event = knorm(rate, model=place, range_ratio=ratio)
        cell, ell_upper = checked_grid(grid, scale), known.lipschitz_upper
        results.append(AdditiveNoise(p, query.dimension, scale, cell, ell_upper, query.rounding_upper, event))
    return by_predicted_error(results, place)


def _loses_to_laplace(query: Query, p: str) -> bool:
    """Whether Laplace noise is surely more accurate than K-norm noise of order ``p``, without looking for constants.

    Rows of a sparse table differ in at most s entries, so ell_1 <= s^(1 - 1/p) ell_p, and the half widths are
    quantiles at scale 1 times ell_1 and ell_p. This saves a pass over all near pairs for each norm.
    """
    if not query.table.sparse:
        return False
    order = norm_order(p)
    entries = 2.0 * query.table.widest_row
    rest = 1.0 if order == math.inf else 1.0 - 1.0 / order
    quantiles = [NoiseDistribution(q, query.dimension).quantile(1.0 - CONFIDENCE) for q in (order, 1.0)]
    return bool(quantiles[0] >= quantiles[1] * entries**rest)


def linear_noise(query: Query, alpha: Exact, delta: Exact = 0, **options: Unpack[LinearOptions]) -> AdditiveNoise:
    """The most accurate noise that makes ``query`` (alpha, delta)-EMD-DP; reads no data.

    Args:
        query: What is asked.
        alpha: Privacy loss per unit of EMD, above 0.
        delta: 0 for pure noise; above 0, Gaussian noise is considered too.
        **options: Those of :func:`linear_candidates`.

    >>> from barrow.queries import distance_to
    >>> from barrow.spaces import Line
    >>> noise = linear_noise(distance_to(Line(0, 10, unit="km", step=1), 3), 25, model="local")
    >>> noise.name, round(float(noise.scale), 6), noise.event.alpha
    ('Laplace', 0.4, Fraction(25, 1))
    """
    return linear_candidates(query, alpha, delta, **options)[0]
