"""Named randomisers: the whole weights that are drawn against their blanket, by enumeration and as a matrix."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.special import gammaln

from barrow.accounting import best_projection, compose, price
from barrow.accounting.blanket import (
    ResponseRandomiser,
    _Excess,
    blanket_alpha0_lower,
    blanket_profile,
    blanket_tail_profile,
    class_rate_upper,
    parse_randomiser,
)
from barrow.accounting.flow import flow_alpha0_lower
from barrow.accounting.matrix_blanket import matrix_blanket_profile
from barrow.accounting.pricing import accountant
from barrow.accounting.theorem import theorem_alpha0_lower
from barrow.mechanisms import item_wise
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.promises import SampledItems, ShuffledReports
from barrow.randomisers import gkrr, randomised_response
from barrow.spaces import Clustered, Discrete
from tests.accounting.routes import flow_delta_upper


def drawn_matrix(channel):
    """The probabilities of the whole weights that are drawn, and the distances."""
    k = channel.space.items
    rows = np.array([[float(channel.probability(x, y)) for y in range(k)] for x in range(k)])
    return rows, channel.space.block(range(k))


@pytest.mark.parametrize(
    ("channel", "reports", "items"),
    [
        (gkrr(Clustered.grid(3, 4, r=0.25), "1.5"), 10**5, 100),
        (gkrr(Clustered.grid(4, 2, r=0.05), "0.3"), 1000, 1000),
        (randomised_response(Discrete(list("abcdef")), 2), 10**5, 100),
        (randomised_response(Discrete(list("abc")), "0.1"), 2000, 2000),
    ],
)
def test_the_weights_that_are_drawn_cost_what_their_name_costs(channel, reports, items):
    """A second route: the matrix accountant on the exact whole weights. A channel 5 per cent off is told apart."""
    known, alpha0 = parse_randomiser(channel.family), float(channel.alpha0_upper)
    named = blanket_profile(known, alpha0, reports=reports, items=items, delta="1e-9")
    whole = matrix_blanket_profile(*drawn_matrix(channel), reports=reports, items=items, delta="1e-9")
    wrong = blanket_profile(known, alpha0 * 1.05, reports=reports, items=items, delta="1e-9")
    for w in (1e-3, 0.05, 0.3, 1.0):
        # The matrix accountant is a little looser, by one per cent at most.
        assert 0.999 < whole.mu_upper(w) / named.mu_upper(w) < 1.012
        assert wrong.mu_upper(w) / named.mu_upper(w) > 1.03
    assert whole.alpha_upper(1e-9) == pytest.approx(named.alpha_upper(1e-9), rel=0.02)


def histogram_laws(rows, items, moves, reports):
    """The exact laws of the histogram before and after the first ``moves`` reports go from item 0 to ``items``."""
    outputs = rows.shape[1]
    laws = []
    for item in (0, items):
        law = np.zeros((reports + 1,) * (outputs - 1))
        law[(0,) * (outputs - 1)] = 1.0
        for i in range(reports):
            row = rows[item] if i < moves else rows[-1]
            law = law * row[-1] + sum(np.roll(law, 1, axis=y) * row[y] for y in range(outputs - 1))
        laws.append(law.ravel())
    return laws


def exact_delta(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize(
    ("channel", "to", "reports", "moves"),
    [
        (randomised_response(Discrete(list("abc")), "0.3"), 1, 90, 10),
        (randomised_response(Discrete(list("abc")), "0.15"), 1, 90, 90),
        (gkrr(Clustered.grid(2, 2, r=0.25), "0.4"), 2, 44, 6),
        (gkrr(Clustered.grid(2, 2, r=0.25), "0.4"), 1, 44, 6),
    ],
)
def test_events_bound_the_enumerated_law_of_what_is_drawn(channel, to, reports, moves):
    """All histograms of the whole weights that are drawn; a name with a smaller alpha0 would be caught lying."""
    rows, distances = drawn_matrix(channel)
    event = item_wise(channel, items=reports, model="local", delta="1e-6").event
    known, w = parse_randomiser(event.randomiser), float(distances[0, to])
    p, q = histogram_laws(rows, to, moves, reports)
    bounds = {
        factor: blanket_profile(known, float(event.alpha0) * factor, reports=reports, items=moves, delta="1e-6")
        for factor in (1.0, 0.7)
    }
    mu, lies = bounds[1.0].mu_upper(w), False
    for depth in (0.0, 1.0, 2.0, 3.0):
        epsilon = mu * mu / 2 + depth * mu
        for left, right in ((p, q), (q, p)):
            exact = exact_delta(left, right, epsilon)
            assert exact <= flow_delta_upper(bounds[1.0], w, epsilon) * (1 + 1e-9)
            lies = lies or exact > flow_delta_upper(bounds[0.7], w, epsilon)
    assert lies or w < 1.0


def test_composed_events_bound_the_enumerated_product():
    channel, reports = randomised_response(Discrete(list("abc")), "0.2"), 60
    event = item_wise(channel, items=reports, model="local", delta="1e-6").event
    result = compose([event, event], "1e-3")
    assert result.method == "composition_numeric"
    rows, _ = drawn_matrix(channel)
    p, q = (law[law > 0] for law in histogram_laws(rows, 1, reports, reports))
    pair_p, pair_q = np.outer(p, p).ravel(), np.outer(q, q).ravel()
    at_one = float(result.definition.alpha if result.worst_case is None else result.worst_case.epsilon)
    assert exact_delta(pair_p, pair_q, at_one) <= 1e-3
    assert exact_delta(pair_p, pair_q, at_one * 0.8) > 1e-3
    # As a black box it would cost more.
    plain = ShuffledReports(event.alpha0, reports=reports, items=reports, delta="1e-6", model="local", least_distance=1)
    assert result.definition.alpha < compose([plain, plain], "1e-3").definition.alpha


NAMED = {"reports": 10**7, "items": 1000, "delta": "1e-9", "model": "central", "least_distance": "0.05"}


def test_composition_takes_the_smaller_profile_at_each_distance():
    named, plain = (ShuffledReports(4, randomiser=name, **NAMED) for name in ("gkrr:10x10:0.05", None))
    tail = Fraction("1e-12")
    part, black = (accountant(event).pair(tail, Fraction(0)) for event in (named, plain))
    profile = blanket_tail_profile(ResponseRandomiser(10, 10, "0.05"), 4.0, reports=10**7, items=1000, tail=1e-12)
    assert profile.head_upper <= part.delta <= tail
    w = np.geomspace(1e-4, 1.0, 40)
    mu = np.array([part.at(float(x)) for x in w])
    assert np.array_equal(mu, [min(black.at(float(x)), profile.mu_upper(float(x))) for x in w])
    assert np.all(np.diff(mu) > 0)
    assert np.all(np.diff(mu / w) <= 1e-12 * mu[1:] / w[1:])
    assert np.all(mu <= part.slope * w)
    # Four releases at once: mu doubles; the rest is the looseness of cells.
    four = compose([named] * 4, "1e-9").definition.alpha
    doubled = max(gdp_epsilon_upper(2 * x, 0.99e-9) / d for x, d in zip(mu.tolist(), w.tolist(), strict=True))
    assert doubled * 0.99 < four < doubled * 1.03
    assert four < compose([plain] * 4, "1e-9").definition.alpha * Fraction(6, 10)


def test_samples_of_a_named_randomiser_are_priced_by_its_blanket():
    named, plain = (ShuffledReports(4, randomiser=name, **NAMED) for name in ("gkrr:10x10:0.05", None))
    result, black = (price(SampledItems(samples=1000, radius="0.008", delta="1e-9", inner=e)) for e in (named, plain))
    # Sampling pays in alpha, which is less than the projection at this radius.
    assert (result.method, black.method) == ("sampling/blanket", "sampling/flow_strong")
    assert result.definition.epsilon < black.definition.epsilon * Fraction(1, 2)
    # No split of delta does much better than the best of those that were tried, by the profile for all of delta.
    profile = blanket_profile(ResponseRandomiser(10, 10, "0.05"), 4.0, reports=10**7, items=1000, delta="1e-9")
    best = min(
        gdp_epsilon_upper(
            profile.mu_upper(best_projection("0.008", 1000, Fraction(share * 1e-9))[0]), (1 - share) * 1e-9
        )
        for share in np.linspace(0.01, 0.99, 99)
    )
    assert float(result.definition.epsilon) < best
    assert result.worst_case.epsilon <= price(named).worst_case.epsilon * Fraction("1.001")


def compositions(total, parts):
    """All ways to write ``total`` as a sum of ``parts`` whole numbers of 0 or more."""
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)))
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), total + parts - 1)], axis=1)
    return np.diff(edges, axis=1) - 1


@pytest.mark.parametrize("alpha0", [0.3, 1.0])
def test_tails_that_are_heavier_than_normal_ones_are_integrated(alpha0):
    """Few reports have a chance to tell two items of a cluster apart: against the sum over all counts."""
    reports = 34
    rows = ResponseRandomiser(12, 3, "0.02").changes(alpha0)[1][1]
    excess, counts = _Excess(rows, float(reports)), compositions(reports, 5)
    for times in (0.0, 3.0, 8.0, 12.0, 16.0):
        c = times * excess.deviation(0.0) / reports
        mass, xi = excess._values(c)
        masses, values = np.append(mass, 1.0 - mass.sum()), np.append(xi, 0.0)
        logs = gammaln(reports + 1) - gammaln(counts + 1).sum(axis=1) + counts @ np.log(masses)
        exact = float(np.sum(np.exp(logs) * np.maximum(counts @ values, 0.0))) / reports
        result = math.exp(excess.log_upper(c))
        assert exact * (1 - 1e-6) <= result
        assert result <= exact * 1.06


def test_heavy_tails_have_a_rate():
    # The tails of small changes need slopes far beyond what a normal law would need.
    across, inside = (rows for _, rows in ResponseRandomiser(20, 50, "0.01").changes(0.6))
    for rows, most in ((across, 1.05), (inside, 3.0)):
        limit = 2 * _Excess(rows, 1e3).deviation(0.0) / 1e3
        assert 1.0 < class_rate_upper(rows, 1e3, 14.5) / limit < most
    assert class_rate_upper(across, 1e3, 14.5, lines=20) > class_rate_upper(across, 1e3, 14.5)


SETTINGS = [
    # clusters, members, r, alpha, N, theorem, strong flow, blanket; m = 1000, delta = 1e-9
    (10, 10, "0.05", 25, 1000, 0.026498, 0.10275, 0.2232),
    (10, 10, "0.05", 25, 10**7, 1.38946, 3.11547, 4.212),
    (5, 4, "0.02", 5, 1000, 0.0067193, 0.02591, 0.04119),
    (20, 50, "0.01", 100, 1000, 0.031894, 0.27741, 0.6703),
    (20, 50, "0.01", 100, 10**7, 2.41371, 4.85753, 6.191),
]


@pytest.mark.parametrize(("s", "t", "r", "alpha", "reports", "theorem", "flow", "blanket"), SETTINGS)
def test_reference_settings(s, t, r, alpha, reports, theorem, flow, blanket):
    rest = {"reports": reports, "items": 1000, "delta": "1e-9"}
    assert theorem_alpha0_lower(alpha, **rest) == pytest.approx(theorem, rel=1e-4)
    assert flow_alpha0_lower(alpha, least_distance=r, **rest) == pytest.approx(flow, rel=1e-4)
    assert blanket_alpha0_lower(alpha, ResponseRandomiser(s, t, r), **rest) == pytest.approx(blanket, rel=1e-3)


@pytest.mark.parametrize(
    ("randomiser", "alpha", "reports", "items", "delta"),
    [
        (ResponseRandomiser(2, 2, "0.3"), 400, 10**4, 1, "1e-60"),
        (ResponseRandomiser(1000, 50, "0.001"), "0.01", 2, 2, "1e-6"),
        (ResponseRandomiser(2), 1, 1, 1, "1e-6"),
    ],
)
def test_extremes_fall_back_to_composition_at_once(randomiser, alpha, reports, items, delta):
    rest = {"reports": reports, "items": items, "delta": delta}
    result = blanket_alpha0_lower(alpha, randomiser, **rest)
    assert result == pytest.approx(float(Fraction(alpha)) / items, rel=1e-12)
    assert price(
        ShuffledReports(result, model="central", randomiser=randomiser.name, **rest)
    ).definition.alpha <= Fraction(alpha)


def third_cluster_delta(s, t, r, alpha0, reports, epsilon, most):
    """The exact delta of one report that moves across clusters while all others hold an item of a third cluster.

    Both rows agree outside the two clusters, so what matters is how many reports are the first item, others of its
    cluster, the second item and others of that one; counts up to ``most`` each give a lower bound.
    """
    own, near = math.exp(alpha0), math.exp((1 - r) * alpha0)
    total = own + (t - 1) * near + (s - 1) * t
    g = np.array([1.0, t - 1.0, 1.0, t - 1.0]) / total
    start = np.array([own, (t - 1) * near, 1.0, t - 1.0]) / total
    counts = np.stack(np.meshgrid(*[np.arange(c + 1) for c in most], indexing="ij"), -1).reshape(-1, 4)

    def others(n):
        log = np.full(len(n), -np.inf)
        fine = n.min(axis=1) >= 0
        held = n[fine]
        left = reports - 1 - held.sum(axis=1)
        log[fine] = gammaln(reports) - gammaln(held + 1).sum(axis=1) - gammaln(left + 1)
        log[fine] += held @ np.log(g) + left * math.log1p(-g.sum())
        return np.exp(log)

    def law(row):
        moved = sum(row[j] * others(counts - np.eye(4, dtype=int)[j]) for j in range(4))
        return (1 - row.sum()) * others(counts) + moved

    return exact_delta(law(start), law(start[[2, 3, 0, 1]]), epsilon)


@pytest.mark.parametrize(
    ("s", "t", "r", "reports", "most"),
    [(100, 50, "0.001", 100, (4, 22, 4, 16)), (10, 10, "0.05", 300, (8, 30, 8, 26))],
)
def test_everybody_else_in_a_third_cluster(s, t, r, reports, most):
    """What the blanket certifies holds there, and a quarter more does not: the bound has little left to give."""
    rest = {"reports": reports, "items": 1, "delta": "1e-6"}
    result = blanket_alpha0_lower(1, ResponseRandomiser(s, t, r), **rest)
    assert result > 1.5 * flow_alpha0_lower(1, least_distance=r, **rest)
    assert third_cluster_delta(s, t, float(r), result, reports, 1.0, most) < 1e-6
    assert third_cluster_delta(s, t, float(r), result * 1.25, reports, 1.0, most) > 1e-6
