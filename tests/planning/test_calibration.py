"""Gaussian noise by its own price: every promise is kept, none by more than rounding asks, and there is less noise.

The second route is the delta of two normal distributions in fifty digits, at shifts of real records over the scale that
is drawn: it uses neither the event, nor its price, nor the search for mu.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import erfc, exp, mp, mpf, sqrt

from barrow.accounting import epsilon_at, price
from barrow.mechanisms import linear_candidates
from barrow.numerics import float_down, gdp_mu_lower
from barrow.planning.linear import errors_within
from barrow.planning.terms import Terms
from barrow.promises import GaussianNoise, Promise
from barrow.queries import Query, density, mean
from barrow.questions import Histogram, Mean
from barrow.questions.prices import charges
from barrow.spaces import Embedding, Line

DELTA = Fraction(1, 10**9)
LINE = Line(0, 100, unit="km", step=1, cells=True)
PROMISES = (Promise("1 of 30", "anywhere", "0.5"), Promise("all", "3.5 km", "0.5"), Promise("1 of 3", "20 km", "1.5"))


def words(seed: int) -> Embedding:
    """200 unit vectors of 50 dimensions."""
    sample = np.random.default_rng(seed).normal(size=(200, 50))
    return Embedding(
        [f"w{i}" for i in range(200)], (sample / np.linalg.norm(sample, axis=1)[:, None]).tolist(), metric="euclidean"
    )


def normal_delta(shift: float | Fraction, epsilon: Fraction) -> mpf:
    """delta of N(0, 1) against N(shift, 1) at epsilon, in fifty digits."""
    with mp.workdps(50):
        mu = mpf(shift.numerator) / shift.denominator if isinstance(shift, Fraction) else mpf(shift)
        eps = mpf(epsilon.numerator) / epsilon.denominator

        def below(x: mpf) -> mpf:
            return erfc(-x / sqrt(2)) / 2

        return below(mu / 2 - eps / mu) - exp(eps) * below(-mu / 2 - eps / mu)


def terms_of(*promises: Promise, fraction: str = "1") -> Terms:
    return Terms(LINE, 50, promises or PROMISES, delta=DELTA * Fraction(fraction), fraction=Fraction(fraction))


def farthest(query: Query, share: Fraction, far: Fraction) -> float:
    """The largest shift that was found of a person's mean in the 2-norm, if so many of 30 records move so far."""
    table = query.table.floats()
    rows = (table.toarray() if query.table.sparse else table) * float(query.step)
    moved, step = round(share * 30), float(far) * 100
    starts = np.arange(0.001, 100.0 - min(step, 99.9), 0.125)
    ends = np.minimum(starts + step, 99.999)
    changed = rows[LINE.encode(ends)] - rows[LINE.encode(starts)]
    return float(np.linalg.norm(changed, axis=1).max()) * moved / 30


def excess(terms: Terms, query: Query, mu: Fraction) -> float:
    """The largest delta over what is allowed, over all promises, of noise with this mu on one person's answer."""
    sigma = Fraction(query.lipschitz_upper(2)) / mu
    results = []
    for promise, subset in zip(terms.promises, terms.satisfied, strict=True):
        shift = Fraction(farthest(query, promise.share, subset.distance)) / sigma
        results.append(normal_delta(shift, promise.epsilon * terms.fraction) / mpf(float(terms.delta)))
    return float(max(results))


QUERIES = [mean(LINE), density(LINE, bandwidth="5 km")]


@pytest.mark.parametrize("query", QUERIES, ids=["mean", "density"])
@pytest.mark.parametrize("fraction", ["1", "1/4"])
def test_real_records_keep_every_promise(query, fraction):
    terms = terms_of(fraction=fraction)
    assert excess(terms, query, terms.mu_for(query.range_ratio(2))) <= 1.0


def _over_the_easiest(terms: Terms, ratio: Fraction) -> Fraction:
    return max(replace(terms, promises=(promise,)).mu_for(ratio) for promise in terms.promises)


def _without_snapping(terms: Terms, ratio: Fraction) -> Fraction:
    return min(
        Fraction(gdp_mu_lower(float_down(epsilon), float_down(terms.delta)))
        / (subset.share * min(subset.distance, ratio))
        for epsilon, subset in zip(terms.epsilons, terms.satisfied, strict=True)
    )


def _of_the_whole_promise(terms: Terms, ratio: Fraction) -> Fraction:
    return replace(terms, fraction=Fraction(1)).mu_for(ratio)


def _of_the_whole_delta(terms: Terms, ratio: Fraction) -> Fraction:
    return replace(terms, delta=DELTA).mu_for(ratio)


def _by_the_ratio_squared(terms: Terms, ratio: Fraction) -> Fraction:
    return terms.mu_for(ratio) / ratio


@pytest.mark.parametrize(
    ("planted", "query", "promises"),
    [
        (_over_the_easiest, QUERIES[0], PROMISES),
        (_without_snapping, QUERIES[0], PROMISES),
        (_of_the_whole_promise, QUERIES[0], PROMISES),
        (_of_the_whole_delta, QUERIES[0], PROMISES[:1]),
        (_by_the_ratio_squared, QUERIES[1], PROMISES),
    ],
    ids=["the easiest promise", "no snapping", "the whole promise", "the whole delta", "the range twice"],
)
def test_a_wrong_calibration_is_caught_by_real_records(
    planted: Callable[[Terms, Fraction], Fraction], query: Query, promises: tuple[Promise, ...]
) -> None:
    terms = terms_of(*promises, fraction="1/4")
    assert excess(terms, query, terms.mu_for(query.range_ratio(2))) <= 1.0
    assert excess(terms, query, planted(terms, query.range_ratio(2))) > 1.05


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1 of 100", "1 of 30", "1 of 7", "1 of 2", "all"]),
            st.sampled_from(["1 km", "3 km", "40 km", "anywhere"]),
            st.sampled_from(["0.001", "0.1", "0.5", "1", "3", "20"]),
        ),
        min_size=1,
        max_size=3,
        unique_by=lambda row: row[:2],
    ),
    st.sampled_from(["1e-15", "1e-9", "1e-6", "1e-2"]),
    st.sampled_from(["1/100", "1/7", "1"]),
    st.sampled_from([Fraction(1), Fraction(7, 10), Fraction(1, 50)]),
)
def test_it_is_the_largest_mu_whose_own_price_keeps_every_promise(rows, delta, fraction, ratio):
    part = Fraction(fraction)
    slack = Fraction(delta) * part
    terms = Terms(LINE, 50, tuple(Promise(*row) for row in rows), delta=slack, fraction=part)

    def prices(mu: Fraction) -> list[Fraction]:
        event = GaussianNoise(mu, delta=slack, model="central", range_ratio=ratio)
        return [epsilon_at(event, satisfied.share, satisfied.reach, slack) for satisfied in terms.satisfied]

    mu = terms.mu_for(ratio)
    assert all(paid <= promised for paid, promised in zip(prices(mu), terms.epsilons, strict=True))
    assert any(paid > promised for paid, promised in zip(prices(mu * Fraction("1.00001")), terms.epsilons, strict=True))
    # Never more noise than by one alpha.
    assert mu >= Fraction(gdp_mu_lower(float_down(terms.alpha_for(ratio)), float_down(slack))) * (
        1 - Fraction(1, 2**39)
    )
    # And the second route, at the shifts of the promises themselves.
    for promised, subset in zip(terms.epsilons, terms.satisfied, strict=True):
        assert (
            normal_delta(mu * subset.share * min(subset.reach, ratio), promised)
            <= mpf(slack.numerator) / slack.denominator
        )


def test_a_given_alpha_is_calibrated_as_before():
    terms = Terms(LINE, 50, given=Fraction(25), delta=DELTA)
    (result,) = errors_within(mean(LINE), terms, "gaussian")
    assert result.guarantee.definition.alpha <= 25
    assert float(result.guarantee.definition.alpha) == pytest.approx(25, rel=1e-11)


def test_a_promise_about_everything_is_an_alpha():
    everything = Terms(LINE, 50, (Promise("all", "anywhere", "25"),), delta=DELTA)
    assert everything.mu_for(Fraction(1)) == Terms(LINE, 50, given=Fraction(25), delta=DELTA).mu_for(Fraction(1))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_mean_of_an_embedding_has_less_noise(seed):
    """At "1 of 30, anywhere, 0.5": 1.3 times less than Gaussian noise by one alpha, and than any other noise."""
    space = words(seed)
    terms = Terms(space, 1000, (Promise("1 of 30", "anywhere", "0.5"),), delta=DELTA)
    plan = Mean().plan(terms)
    query = plan.query
    (before,) = linear_candidates(query, terms.alpha_for(query.range_ratio(2)), DELTA, noise="gaussian", users=1000)
    assert plan.chosen.name == "gaussian"
    assert before.half_width >= 1.3 * plan.chosen.error
    assert min(each.error for each in plan.others) >= 1.3 * plan.chosen.error
    assert charges(plan)[0] <= Fraction(1, 2)
    assert float(charges(plan)[0]) == pytest.approx(0.5, rel=1e-9)  # all of the promise, and before three quarters
    assert float(epsilon_at(before.event, Fraction(1, 30), Fraction(1), DELTA)) < 0.4
    # Nobody promised these, and they are said.
    assert plan.guarantee == price(plan.event)
    assert plan.alpha > price(before.event).definition.alpha
    assert plan.worst_epsilon > price(before.event).worst_case.epsilon


def test_histograms_are_calibrated_so_too():
    terms = Terms(Line(0, 16, step=1, cells=True), 1000, (Promise("1 of 30", "anywhere", "0.5"),), delta=DELTA)
    plan = Histogram(mechanism="cells", noise="gaussian").plan(terms)
    assert isinstance(plan.event, GaussianNoise)
    assert plan.event.mu == terms.mu_for(plan.event.range_ratio)
    assert float(charges(plan)[0]) == pytest.approx(0.5, rel=1e-9)
    assert charges(plan)[0] <= Fraction(1, 2)
