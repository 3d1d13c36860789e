"""Candidates for a linear question: additive noise under EMD-DP, and whatever keeps user-level DP."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from barrow import accounting
from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import linear_candidates
from barrow.mechanisms.additive import AdditiveNoise, CalibratedNoise
from barrow.mechanisms.summed import SUMS_WORDS, summed_noise
from barrow.mechanisms.user_level.ball import MOST_ENTRIES, BallNoise
from barrow.mechanisms.user_level.noise import UserLevelNoise, user_level_candidates
from barrow.numerics import Exact
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.terms import Terms
from barrow.promises import Model, UserLevelRelease
from barrow.promises.definitions import positive, probability
from barrow.promises.events import linear_change, person_change
from barrow.queries import Query

_TWO_SIDED = 1.959963984540054


def errors_within(query: Query, terms: Terms, noise: str = "auto") -> list[Candidate]:
    """Every additive noise that keeps ``terms``, with its 95 % half width, the most accurate first.

    Each is at the largest alpha, or mu, that keeps them: the ratio B/ell depends on the norm, and with it the alpha
    that keeps the promises. In the local model the half width is that of the mean of all reports.

    >>> from barrow.promises import Promise
    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> line = Line(0, 100, unit="years", step=1)
    >>> [result.name for result in errors_within(mean(line), Terms(line, 1000, (Promise("all", "5 years", "0.5"),)))]
    ['laplace']
    """
    if terms.model is Model.AGGREGATED:
        return [_summed(query, terms, noise)]
    candidates: list[Candidate] = []
    people, model = terms.users, terms.model
    n = None if model is Model.LOCAL else people
    change = person_change if query.of_person else linear_change

    def mu_for(ratio: Fraction) -> Fraction:
        return terms.mu_for(ratio, change)

    for each in _norms(noise, query, terms.delta):
        alpha = terms.alpha_for(query.range_ratio(2 if each == "gaussian" else _ORDER.get(each, each)), change)
        built = linear_candidates(query, alpha, terms.delta, noise=each, model=model, users=n, mu_for=mu_for)
        candidates += [noise_candidate(one, people, "") for one in built]
    return best_first(candidates)


def _summed(query: Query, terms: Terms, noise: str) -> Candidate:
    """The aggregators' noise, which is of one kind."""
    if noise not in ("auto", "laplace", "l1"):
        raise ParameterError(
            f"noise is {noise!r}, and aggregators add discrete Laplace noise.",
            allowed="'auto' or 'laplace' where model = 'aggregated'",
            fix="noise = 'auto'",
        )
    built = summed_noise(query, terms.alpha_for(query.range_ratio("1")), users=terms.users, parties=terms.parties)
    return Candidate("sums", SUMS_WORDS, price(built.event), built.half_width, mechanism=built)


_ORDER = {"laplace": "1", "l1": "1", "l2": "2", "linf": "inf"}


def _norms(noise: str, query: Query, delta: Fraction) -> list[str]:
    if noise != "auto":
        return [noise]
    if query.dimension == 1 or query.table.sparse:
        return ["laplace", *(["gaussian"] if delta > 0 else [])]
    return ["laplace", "l2", "linf", *(["gaussian"] if delta > 0 else [])]


def noise_candidate(noise: CalibratedNoise, users: int, prefix: str) -> Candidate:
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


@lru_cache(maxsize=64)
def shuffled_epsilon0(epsilon: Fraction, delta: Fraction, users: int) -> Fraction:
    """The largest certified epsilon of one report by each user whose shuffled reports are (epsilon, delta)-private.

    Any randomiser of this epsilon will do: it is the amplification of a black box, by our own accountant.

    >>> round(float(shuffled_epsilon0(Fraction(1), Fraction(1, 10**9), 10**4)), 2) > 1
    True
    """
    if delta == 0:
        return epsilon
    # One report each, so that every change has the distance 1.
    result = accounting.calibrate_shuffle(epsilon, delta, reports=users, items=1, least_distance=1, limit=False)
    return max(Fraction(result.alpha0), epsilon)


def user_level_errors(
    query: Query, epsilon: Exact, delta: Exact = 0, *, users: int, model: str = Model.CENTRAL
) -> list[Candidate]:
    """Every mechanism for a linear query under (epsilon, delta)-user-level DP, with its 95 % half width.

    Args:
        query: What is asked.
        epsilon: The privacy parameter of a user.
        delta: By how much more often a guess may be right than epsilon says; 0 leaves the pure ones.
        users: n, public.
        model: ``"central"``, ``"local"``, or ``"shuffle"``: local reports, amplified by shuffling.

    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> result = user_level_errors(mean(Line(0, 100, unit="years", step=1)), 1, users=1000)
    >>> result[0].user_level, round(result[0].error, 2)
    (True, 0.3)
    """
    budget, slack = positive(epsilon, "epsilon"), probability(delta)
    if model == Model.CENTRAL:
        built = _noises(query, budget, slack, users)
        return best_first([noise_candidate(each, users, "user-level: ") for each in built])
    own, event = local_budget(budget, slack, users, model)
    # Amplified reports have all of delta spent on shuffling.
    noises = _noises(query, own, Fraction(0) if model == Model.SHUFFLE else slack, None)
    if model == Model.SHUFFLE:
        noises = [replace(each, event=event) for each in noises]
    results = [noise_candidate(each, users, "user-level: ") for each in noises]
    if query.table.shape[0] * query.dimension <= MOST_ENTRIES:
        ball = replace(BallNoise.of(query, own), event=event)
        width = ball.mean_half_width(users) + query.rounding_upper
        words = "user-level: a random point of a half sphere (Duchi et al., l2 ball)"
        results.append(Candidate("ball", words, price(event), width, mechanism=ball))
    return best_first(results)


def _noises(query: Query, budget: Fraction, slack: Fraction, users: int | None) -> list[UserLevelNoise]:
    """Additive noise for the mean over ``users``, or for one answer; on sparse tables other norms lose to Laplace."""
    model = Model.LOCAL if users is None else "central"
    if not query.table.sparse:
        return user_level_candidates(query, budget, slack, model=model, users=users)
    kinds = ["laplace", *(["gaussian"] if slack else [])]
    return [
        each
        for noise in kinds
        for each in user_level_candidates(query, budget, slack, noise=noise, model=model, users=users)
    ]


def local_budget(budget: Fraction, slack: Fraction, users: int, model: str) -> tuple[Fraction, UserLevelRelease]:
    """The epsilon of one report, and the event of all of them."""
    if model == Model.LOCAL:
        return budget, UserLevelRelease(budget, model=model)
    if model == Model.SHUFFLE:
        return shuffled_epsilon0(budget, slack, users), UserLevelRelease(budget, delta=slack, model=model)
    raise ParameterError(f"model is {str(model)!r}.", allowed="'central', 'shuffle' or 'local'", fix="model='central'")
