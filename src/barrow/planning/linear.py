"""Candidates for a linear question: additive noise under EMD-DP, and under ordinary user-level DP beside it."""

from __future__ import annotations

import math

from barrow.accounting import price
from barrow.mechanisms import AdditiveNoise, linear_candidates
from barrow.mechanisms.baselines import DuchiNoise, user_level_candidates
from barrow.numerics import Exact
from barrow.planning.candidates import Candidate, best_first
from barrow.privacy import Model
from barrow.queries import Query

_TWO_SIDED = 1.959963984540054
_MOST_CORNERS = 64


def linear_errors(
    query: Query, alpha: Exact, delta: Exact = 0, *, users: int, model: str = "central", noise: str = "auto"
) -> list[Candidate]:
    """Every additive noise that keeps (alpha, delta)-EMD-DP, with its 95 % half width, the most accurate first.

    In the local model the half width is that of the mean of all reports, by the normal law.

    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> found = linear_errors(mean(Line(0, 100, unit="years", step=1)), 25, users=1000)
    >>> found[0].name, round(found[0].error, 3)
    ('laplace', 0.012)
    """
    n = None if model == "local" else users
    made = linear_candidates(query, alpha, delta, noise=noise, model=model, users=n)
    return best_first([_candidate(each, users, "") for each in made])


def user_level_errors(
    query: Query, epsilon: Exact, delta: Exact = 0, *, users: int, model: str = "central"
) -> list[Candidate]:
    """Every known noise for ordinary (epsilon, delta)-user-level DP, with its 95 % half width, the best first.

    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> found = user_level_errors(mean(Line(0, 100, unit="years", step=1)), 1, users=1000)
    >>> found[0].user_level, round(found[0].error, 2)
    (True, 0.3)
    """
    n = None if model == "local" else users
    made = user_level_candidates(query, epsilon, delta, model=model, users=n)
    found = [_candidate(each, users, "user-level ") for each in made]
    if model == "local" and query.dimension <= _MOST_CORNERS:
        corners = DuchiNoise.of(query, epsilon)
        width = _TWO_SIDED * float(corners.deviations.max()) / math.sqrt(users)
        words = "user-level: a random corner of the cube (Duchi et al.)"
        found.append(Candidate("hypercube", words, price(corners.event), width, mechanism=corners))
    return best_first(found)


def _candidate(noise: AdditiveNoise, users: int, prefix: str) -> Candidate:
    name = {"Laplace": "laplace", "Gaussian": "gaussian"}.get(noise.name, f"l{noise.p}")
    local = noise.event.to_json()["model"] == Model.LOCAL.value
    width = _TWO_SIDED * noise.deviation / math.sqrt(users) if local else noise.half_width
    return Candidate(name, f"{prefix}{noise.name} noise", price(noise.event), width, mechanism=noise)
