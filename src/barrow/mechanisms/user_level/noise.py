"""Additive noise for linear queries under user-level DP: replacing one user moves the mean by up to B/n.

B is the largest norm of f(x) - f(x') over the space; for a histogram it is 2 in the 1-norm, not 1 as the paper's
Laplace baseline has it. The norm is a p-norm, or that of the polytope of all these differences (B = 1).
"""

from __future__ import annotations

from fractions import Fraction

from barrow.errors import ParameterError
from barrow.mechanisms.additive import (
    AdditiveNoise,
    by_predicted_error,
    checked_model,
    wanted_norms,
)
from barrow.mechanisms.user_level.polytope import QueryNoise, query_polytope
from barrow.noise import default_grid
from barrow.numerics import Exact, float_down, gdp_mu_lower
from barrow.privacy import Model, UserLevelRelease
from barrow.privacy.definitions import positive, probability
from barrow.queries import Query

UserLevelNoise = AdditiveNoise | QueryNoise


def user_level_candidates(
    query: Query,
    epsilon: Exact,
    delta: Exact = 0,
    *,
    noise: str | Exact = "auto",
    model: str = "central",
    users: int | None = None,
) -> list[UserLevelNoise]:
    """Every additive noise that makes ``query`` (epsilon, delta)-user-level DP, the most accurate first."""
    shaped = isinstance(noise, str) and noise.strip().lower() == "polytope"
    found: list[UserLevelNoise] = []
    if not shaped:
        found += axis_candidates(query, epsilon, delta, noise=noise, model=model, users=users)
    if shaped or noise == "auto":
        found += _shaped(query, positive(epsilon, "epsilon"), *checked_model(model, users))
    if not found:
        raise ParameterError(
            "The query's differences span no polytope of few dimensions.",
            allowed="2 to 5 outputs whose values are not all in one plane",
            fix="noise='auto'",
        )
    return by_predicted_error(found, checked_model(model, users)[0])


def axis_candidates(
    query: Query,
    epsilon: Exact,
    delta: Exact = 0,
    *,
    noise: str | Exact = "auto",
    model: str = "central",
    users: int | None = None,
) -> list[AdditiveNoise]:
    """Those of :func:`user_level_candidates` that know the outputs' axes only: p-norms, and Gaussian noise."""
    budget, slack = positive(epsilon, "epsilon"), probability(delta)
    place, divisor = checked_model(model, users)
    found = []
    for p in wanted_norms(noise, query.dimension, slack):
        span = query.range_upper(2 if p is None else p)
        loss = budget if p is not None else Fraction(gdp_mu_lower(float_down(budget), float_down(slack)))
        scale = Fraction(span) / (loss * divisor)
        event = UserLevelRelease(budget, delta=slack if p is None else 0, model=place)
        found.append(AdditiveNoise(p, query.dimension, scale, default_grid(scale), span, query.rounding_upper, event))
    return by_predicted_error(found, place)


def _shaped(query: Query, budget: Fraction, place: Model, divisor: int) -> list[UserLevelNoise]:
    """Noise in the norm of the query's polytope, where there is one."""
    known = query_polytope(query)
    if known is None:
        return []
    polytope, unit = known
    scale = unit / (budget * divisor)
    event = UserLevelRelease(budget, model=place)
    return [QueryNoise(polytope, query.dimension, scale, default_grid(scale), query.rounding_upper, event)]


def user_level_noise(
    query: Query,
    epsilon: Exact,
    delta: Exact = 0,
    *,
    noise: str | Exact = "auto",
    model: str = "central",
    users: int | None = None,
) -> UserLevelNoise:
    """The most accurate additive noise at user level; arguments as in :func:`barrow.mechanisms.linear_noise`."""
    return user_level_candidates(query, epsilon, delta, noise=noise, model=model, users=users)[0]
