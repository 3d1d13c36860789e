"""Candidates for a linear question: additive noise under EMD-DP."""

from __future__ import annotations

import math
from fractions import Fraction

from barrow.accounting import price
from barrow.mechanisms import linear_candidates
from barrow.mechanisms.additive import AdditiveNoise, Noise
from barrow.mechanisms.linear import MuFor
from barrow.numerics import Exact
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.terms import Terms
from barrow.privacy import Model
from barrow.queries import Query

_TWO_SIDED = 1.959963984540054


def linear_errors(
    query: Query,
    alpha: Exact,
    delta: Exact = 0,
    *,
    users: int,
    model: str = "central",
    noise: str = "auto",
    mu_for: MuFor | None = None,
) -> list[Candidate]:
    """Every additive noise that keeps (alpha, delta)-EMD-DP, with its 95 % half width, the most accurate first.

    In the local model the half width is that of the mean of all reports, by the normal distribution. ``mu_for`` is as
    in :func:`barrow.mechanisms.linear_noise`.

    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> found = linear_errors(mean(Line(0, 100, unit="years", step=1)), 25, users=1000)
    >>> found[0].name, round(found[0].error, 3)
    ('laplace', 0.012)
    """
    n = None if model == "local" else users
    made = linear_candidates(query, alpha, delta, noise=noise, model=model, users=n, mu_for=mu_for)
    return best_first([noise_candidate(each, users, "") for each in made])


def kept_errors(query: Query, terms: Terms, noise: str = "auto") -> list[Candidate]:
    """Every additive noise that keeps ``terms``, best first, each at the largest alpha, or mu, that keeps them.

    The ratio B/ell depends on the norm, and with it the alpha that keeps the promises.

    >>> from barrow.policy import Promise
    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> line = Line(0, 100, unit="years", step=1)
    >>> [found.name for found in kept_errors(mean(line), Terms(line, 1000, (Promise("all", "5 years", "0.5"),)))]
    ['laplace']
    """
    found: list[Candidate] = []
    people, model = terms.users, terms.model.value
    for each in _norms(noise, query, terms.delta):
        alpha = terms.alpha_for(query.range_ratio(2 if each == "gaussian" else _ORDER.get(each, each)))
        found += linear_errors(query, alpha, terms.delta, users=people, model=model, noise=each, mu_for=terms.mu_for)
    return best_first(found)


_ORDER = {"laplace": "1", "l1": "1", "l2": "2", "linf": "inf"}


def _norms(noise: str, query: Query, delta: Fraction) -> list[str]:
    if noise != "auto":
        return [noise]
    if query.dimension == 1 or query.table.sparse:
        return ["laplace", *(["gaussian"] if delta > 0 else [])]
    return ["laplace", "l2", "linf", *(["gaussian"] if delta > 0 else [])]


def noise_candidate(noise: Noise, users: int, prefix: str) -> Candidate:
    """A candidate from calibrated noise: its half width, of the mean of all reports where each user adds noise."""
    name = {"Laplace": "laplace", "Gaussian": "gaussian"}.get(noise.name)
    if name is None:
        name = f"l{noise.p}" if isinstance(noise, AdditiveNoise) else "polytope"
    local = noise.event.to_json()["model"] != Model.CENTRAL.value
    width = noise.half_width
    if local:
        normal = _TWO_SIDED * noise.deviation / math.sqrt(users)
        width = noise.mean_half_width(users) if isinstance(noise, AdditiveNoise) else normal
    return Candidate(name, f"{prefix}{noise.name} noise", price(noise.event), width, mechanism=noise)
