"""The blanket of a matrix: against exact shuffles, against the response randomisers, and the laws it rests on."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from barrow.accounting import calibrate_shuffle, matrix_blanket_alpha_upper
from barrow.accounting import matrix_blanket as module
from barrow.accounting.blanket import ResponseRandomiser, blanket_alpha0_lower, blanket_profile
from barrow.accounting.excess import log_excess_upper
from barrow.accounting.flow import flow_alpha_upper
from barrow.accounting.matrix_blanket import (
    MOST_INPUTS,
    MOST_OUTPUTS,
    MatrixFamily,
    dominating_distribution,
    first_order_matrix,
    matrix_alpha0_upper,
    matrix_blanket_profile,
)
from barrow.errors import ParameterError
from tests.accounting.routes import flow_delta_upper


def response(randomiser, alpha0):
    s, t, r = randomiser.clusters, randomiser.members, float(randomiser.radius)
    items = list(product(range(s), range(t)))
    distance = np.array([[0.0 if x == y else r if x[0] == y[0] else 1.0 for y in items] for x in items])
    weight = np.exp(alpha0 * (1.0 - distance))
    return weight / weight.sum(axis=1, keepdims=True), distance


def line(inputs, outputs, alpha0):
    x, y = np.linspace(0, 1, inputs), np.linspace(0, 1, outputs)
    weight = np.exp(-alpha0 / 2 * np.abs(x[:, None] - y))
    return weight / weight.sum(axis=1, keepdims=True), np.abs(x[:, None] - x)


def calls(xi, g, at):
    """E(xi - t)_+ of a law whose missing mass is at 0."""
    rest = 1 - g.sum()
    return np.array([np.sum(g * np.maximum(xi - t, 0)) + rest * max(-t, 0.0) for t in at])


def random_laws(rng):
    kinds, outputs = rng.integers(1, 6), rng.integers(2, 90)
    g = rng.dirichlet(np.full(outputs, 0.3), size=kinds) * rng.uniform(0.1, 0.999)
    u = rng.standard_t(2, size=(kinds, outputs)) * rng.uniform(0.1, 1, size=(kinds, 1))
    mean = -float(rng.uniform(0, 0.2))
    u += (mean - np.sum(g * u, axis=1, keepdims=True)) / g.sum(axis=1, keepdims=True)
    return u, g, mean


def misses(u, g, mean, mass, points):
    """How far the common law falls below one of the laws it should dominate."""
    at = np.concatenate([np.linspace(-30, 30, 301), u.ravel()])
    above = calls(points, mass, at)
    return max(float(np.max(calls(x, p, at) - above)) for x, p in zip(u, g, strict=True))


def test_the_common_law_dominates_in_convex_order():
    rng = np.random.default_rng(1)
    for _ in range(150):
        u, g, mean = random_laws(rng)
        mass, points = dominating_distribution(u, g, mean)
        assert np.all(mass >= 0)
        assert mass.sum() < 1
        assert float(mass @ points) == pytest.approx(mean, abs=1e-12 * points[-1])
        assert misses(u, g, mean, mass, points) <= 1e-13 * points[-1]


def test_the_common_law_is_not_much_wider_than_one_law():
    rng = np.random.default_rng(2)
    for _ in range(50):
        u, g, mean = random_laws(rng)
        mass, points = dominating_distribution(u[:1], g[:1], mean)
        exact = float(np.sum(g[0] * u[0] ** 2))
        assert exact * (1 - 1e-12) <= float(mass @ points**2) <= exact * 1.1 + 1e-6 * points[-1] ** 2


def test_a_law_of_the_first_kind_only_would_be_caught():
    rng = np.random.default_rng(3)
    caught = 0
    for _ in range(50):
        u, g, mean = random_laws(rng)
        if len(u) > 1:
            caught += misses(u, g, mean, *dominating_distribution(u[:1], g[:1], mean)) > 1e-6
    assert caught > 20


def histograms(rows, others):
    """Exact laws of the histogram of three outputs: case by case, one report of law ``rows`` and the ``others``."""
    n = others.shape[1] + 1
    law = np.zeros((len(rows), n + 1, n + 1))
    law[:, 0, 0] = 1.0
    for report in [rows, *others.transpose(1, 0, 2)]:
        p = report[:, :, None, None]
        new = law * p[:, 2]
        new[:, 1:, :] += law[:, :-1, :] * p[:, 0]
        new[:, :, 1:] += law[:, :, :-1] * p[:, 1]
        law = new
    return law.reshape(len(rows), -1)


def one_step_cases(seed, cases, reports):
    """Random ternary channels, one change in a shuffle of any others, a slope; the exact divergence at that slope."""
    rng = np.random.default_rng(seed)
    spread = rng.choice([0.2, 1.0, 2.5], size=(cases, 1, 1))
    a = np.exp(spread * rng.choice([-1.0, 0.0, 1.0], size=(cases, 3, 3)) + rng.normal(size=(cases, 3, 3)) * 0.1)
    a /= a.sum(axis=2, keepdims=True)
    others = np.take_along_axis(a, rng.integers(0, 3, size=(cases, reports - 1))[..., None], axis=1)
    c = rng.choice([0.0, 0.02, 0.1, 0.3], size=cases)
    p, q = histograms(a[:, 0], others), histograms(a[:, 1], others)
    exact = np.maximum(p - ((1 + c) / (1 - c))[:, None] * q, 0).sum(axis=1)
    return a, c, exact


def one_step_bound(a, c, reports):
    """2 e(c)/(1 - c) with e(c) from the common law of all changes, all at distance 1, so of one scale."""
    kinds = module._kinds(a, 1 - np.eye(len(a)))
    scale = float(kinds.scale.max())
    mass, points = dominating_distribution(kinds.u - c / scale * kinds.v, kinds.g, -c / scale)
    own = mass > 0
    return 2 * scale * math.exp(log_excess_upper(mass[own], points[own], c / scale, reports)) / (1 - c)


def ratios(cases, reports, seed, wrong=1.0):
    a, c, exact = one_step_cases(seed, cases, reports)
    return np.array([e / one_step_bound(x, s, wrong * reports) for x, s, e in zip(a, c, exact, strict=True)])


def test_one_change_in_twelve_hundred_random_shuffles():
    result = np.concatenate([ratios(400, n, n) for n in (2, 5, 9)])
    assert np.all(result <= 1 + 1e-9)
    # The bound holds for the worst of six changes and any others, so a random case lies below it; some come close.
    assert result.max() > 0.97


@pytest.mark.parametrize("alpha0", [0.5, 3.0])
def test_every_change_on_a_line_of_many_outputs(alpha0):
    """Two reports, sixty outputs: all changes and all other items by exact enumeration; the law is on a coarse grid."""
    a, _ = line(8, 60, alpha0)
    both = a[:, None, :, None] * a[None, :, None, :]
    pairs = (both + both.transpose(0, 1, 3, 2)).reshape(8, 8, -1) / 2
    largest = 0.0
    for c in (0.0, 0.05, 0.2):
        bound = one_step_bound(a, c, 2.0)
        exact = np.array([np.maximum(pairs - (1 + c) / (1 - c) * q, 0).sum(axis=-1).max() for q in pairs])
        largest = max(largest, float(exact.max()) / bound)
    assert 0.7 < largest <= 1 + 1e-9


def test_a_tenth_more_reports_than_there_are_would_be_caught():
    assert np.sum(ratios(400, 2, 2, wrong=1.1) > 1) >= 5


@pytest.mark.parametrize(("moved", "seed"), [(1, 0), (12, 1), (60, 2)])
def test_whole_profile_bounds_enumerated_shuffles(moved, seed):
    rng, n = np.random.default_rng(seed), 60
    a = np.exp(rng.uniform(0, 0.25, size=(3, 3)))
    a /= a.sum(axis=1, keepdims=True)
    profile = matrix_blanket_profile(a, 1 - np.eye(3), reports=n, items=moved, delta="1e-6")
    assert profile is not None
    mu = profile.mu_upper(1.0)
    for start, end in ((0, 1), (1, 2), (2, 0)):
        held = np.broadcast_to(a[3 - start - end], (1, n - moved, 3))
        q, p = (
            histograms(a[i : i + 1], np.concatenate([np.broadcast_to(a[i], (1, moved - 1, 3)), held], axis=1))
            for i in (start, end)
        )
        for depth in (0.0, 1.0, 2.5, 4.0):
            eps = mu * mu / 2 + depth * mu
            assert float(np.maximum(p - math.exp(eps) * q, 0).sum()) <= flow_delta_upper(profile, 1.0, eps) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("randomiser", "alpha0", "reports", "items"),
    [
        (ResponseRandomiser(10), 1.0, 10**6, 100),
        (ResponseRandomiser(10, 10, "0.05"), 4.2, 10**7, 1000),
        (ResponseRandomiser(5, 4, "0.1"), 0.2, 1000, 1000),
    ],
)
def test_response_randomisers_as_matrices(randomiser, alpha0, reports, items):
    a, d = response(randomiser, alpha0)
    result = matrix_blanket_profile(a, d, reports=reports, items=items, delta="1e-9")
    known = blanket_profile(randomiser, alpha0, reports=reports, items=items, delta="1e-9")
    assert matrix_alpha0_upper(a, d) == pytest.approx(alpha0, rel=1e-9)
    first_order = 2 * float(module._kinds(a, d).scale.max()) / math.sqrt(reports)
    assert result.mu_upper(1.0) > items * first_order
    for w in (0.01, 0.05, 0.3, 1.0):
        assert 0.9999 < result.mu_upper(w) / known.mu_upper(w) < 1.004


def test_the_order_of_inputs_and_outputs_does_not_matter():
    a, d = line(6, 9, 2.0)
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(6), rng.permutation(9)
    first = matrix_blanket_alpha_upper(a, d, reports=10**7, items=100, delta="1e-9")
    again = matrix_blanket_alpha_upper(
        a[np.ix_(rows, columns)], d[np.ix_(rows, rows)], reports=10**7, items=100, delta="1e-9"
    )
    assert again == pytest.approx(first, rel=5e-3)


def test_a_line_costs_far_less_than_a_black_box_and_little_more_than_first_order():
    a, d = line(20, 20, 4.0)
    profile = matrix_blanket_profile(a, d, reports=10**7, items=1000, delta="1e-9")
    kinds = module._kinds(a, d)
    assert 1 < profile.mu_upper(1.0) / (1000 * 2 * float(kinds.scale.max()) / math.sqrt(10**7)) < 1.08
    black_box = flow_alpha_upper(kinds.alpha0, reports=10**7, items=1000, delta="1e-9", least_distance="1/20")
    assert profile.alpha_upper(1e-9) < 0.25 * black_box
    for w in (1e-6, 0.03, 0.4, 1.0):
        assert flow_delta_upper(profile, w, profile.alpha_upper(1e-9) * w) <= 1e-9 * (1 + 1e-9)


def test_cost_grows_with_items_and_falls_with_reports():
    a, d = line(4, 4, 1.0)
    by_items = [matrix_blanket_alpha_upper(a, d, reports=10**7, items=m, delta="1e-9") for m in (1, 10, 100, 1000)]
    by_reports = [matrix_blanket_alpha_upper(a, d, reports=n, items=10, delta="1e-9") for n in (10, 10**6, 10**8)]
    by_delta = [matrix_blanket_alpha_upper(a, d, reports=10**7, items=10, delta=s) for s in ("1e-6", "1e-9", "1e-15")]
    assert by_items == sorted(by_items)
    assert by_reports == sorted(by_reports, reverse=True)
    assert by_delta == sorted(by_delta)
    # Ten reports in all hide nothing: composition remains.
    assert by_reports[0] == pytest.approx(10 * matrix_alpha0_upper(a, d))


@pytest.mark.parametrize("alpha0", [1e-6, 1e-4, 0.01, 8.0, 200.0])
@pytest.mark.parametrize(("reports", "items", "delta"), [(1, 1, "1e-6"), (50, 50, "1e-9"), (10**12, 10**4, "1e-30")])
def test_extremes_fall_back_to_composition(alpha0, reports, items, delta):
    a, d = response(ResponseRandomiser(3), alpha0)
    result = matrix_blanket_alpha_upper(a, d, reports=reports, items=items, delta=delta)
    assert 0 < result <= matrix_alpha0_upper(a, d) * items * (1 + 1e-11)


def test_hull_is_the_linear_programme_of_the_worst_profile():
    rng = np.random.default_rng(8)
    for _ in range(60):
        d, k = np.sort(rng.uniform(0.01, 1, size=7)), rng.uniform(0.1, 1, size=7)
        knots = ((0.0, 0.0), *module._hull(d, k))
        for w in rng.uniform(0, 1, size=3):
            # Shares of the reports that move by d_j, with mean at most w: the largest mean rate.
            best = -linprog(-k, A_ub=np.stack([d, np.ones(7)]), b_ub=[w, 1.0]).fun
            result = float(np.interp(w, [x for x, _ in knots], [y for _, y in knots]))
            assert result == pytest.approx(best, rel=1e-9)


def test_families_are_calibrated_like_the_response_they_describe():
    randomiser = ResponseRandomiser(5)
    family = MatrixFamily(lambda alpha0: response(randomiser, alpha0)[0], 1 - np.eye(5))
    result = calibrate_shuffle(5, "1e-9", reports=10**7, items=1000, randomiser=family, limit=False)
    known = blanket_alpha0_lower(5, randomiser, reports=10**7, items=1000, delta="1e-9")
    assert result.method == "blanket"
    assert 0.995 < result.alpha0 / known < 1.001
    price = matrix_blanket_alpha_upper(family.at(result.alpha0), 1 - np.eye(5), reports=10**7, items=1000, delta="1e-9")
    assert 5 * 0.99 < price <= 5
    assert calibrate_shuffle(5, 0, reports=1000, items=1000, randomiser=family).methods["blanket"] is None


def test_a_family_that_is_less_private_than_it_says_is_refused():
    family = MatrixFamily(lambda alpha0: response(ResponseRandomiser(3), 2 * alpha0)[0], 1 - np.eye(3))
    with pytest.raises(ParameterError, match="only 2-d_X-DP"):
        family.at(1.0)


GOOD = [[0.6, 0.4], [0.4, 0.6]]
APART = [[0, 1], [1, 0]]
BAD = {
    "inputs": (np.full((MOST_INPUTS + 1, 2), 0.5), 1 - np.eye(MOST_INPUTS + 1), "shape"),
    "outputs": (np.full((2, MOST_OUTPUTS + 1), 1 / (MOST_OUTPUTS + 1)), APART, "shape"),
    "one input": ([[1.0, 0.0]], [[0]], "shape"),
    "distances": (GOOD, [[0]], "2 inputs"),
    "far": (GOOD, [[0, 2], [2, 0]], "distances"),
    "same place": (GOOD, [[0, 0], [0, 0]], "distances"),
    "one way": (GOOD, [[0, 1], [0.5, 0]], "distances"),
    "sums": ([[0.6, 0.6], [0.4, 0.6]], APART, "probabilities"),
    "negative": ([[1.1, -0.1], [0.4, 0.6]], APART, "probabilities"),
    "nan": ([[math.nan, 0.5], [0.4, 0.6]], APART, "probabilities"),
    "impossible": ([[1.0, 0.0], [0.4, 0.6]], APART, "impossible"),
    "constant": ([[0.5, 0.5], [0.5, 0.5]], APART, "equal"),
}


@pytest.mark.parametrize("name", BAD)
def test_matrices_that_cannot_be_priced_are_refused(name):
    a, d, pattern = BAD[name]
    with pytest.raises(ParameterError, match=pattern):
        matrix_blanket_alpha_upper(a, d, reports=1000, items=10, delta="1e-9")


def test_nodes_from_strides_and_steps_are_those_of_the_direct_sum():
    """Second route: e^z - 1 - z at every node by itself, in 40 digits where it is smallest."""
    import mpmath

    from barrow.accounting.excess import _log_mgf, _log_mgf_along

    rng = np.random.default_rng(3)
    for reports, tilt, step in ((1e3, 0.8, 0.05), (1e6, 0.03, 0.002), (1e9, 1e-3, 1e-4)):
        xi, mass = np.sort(rng.normal(size=12)), rng.dirichlet(np.ones(12)) * 0.7
        c = -float(mass @ xi)
        s, result = _log_mgf_along(tilt, step, 997, mass, xi, c, reports, 0.1)
        assert np.abs(s - (tilt + 1j * step * np.arange(997))).max() < 1e-15 * 997
        direct = _log_mgf(s, mass, xi, c, reports, 0.1)
        assert np.abs(result - direct).max() <= 1e-12 * max(1.0, float(np.abs(direct).max()))
        with mpmath.workdps(40):
            node = mpmath.mpc(s[1].real, s[1].imag)
            values = [(mpmath.mpf(m), mpmath.mpf(x)) for m, x in zip(mass.tolist(), xi.tolist(), strict=True)]
            inner = mpmath.fsum(m * (mpmath.expm1(x * node) - x * node) for m, x in values) - mpmath.mpf(c) * node
            exact = reports * mpmath.log1p(inner) + (mpmath.mpf("0.1") * node) ** 2 / 2
        assert abs(complex(exact) - result[1]) <= 1e-12 * max(1.0, abs(complex(exact)))


def test_dominating_distribution():
    mass, points = dominating_distribution(np.array([[1.0, -1.0], [0.5, -0.5]]), np.full((2, 2), 0.25), 0.0)
    assert round(float(mass @ points**2), 6) == 0.5
    assert abs(mass @ points) < 1e-12


def test_first_order_matrix():
    def binary(alpha0):
        p = 1 / (1 + np.exp(-alpha0))
        return [[p, 1 - p], [1 - p, p]]

    fits = first_order_matrix(1.0, MatrixFamily(binary, [[0, 1], [1, 0]]), 10**7, 10, 1e-09)
    assert fits(0.1)
    assert not fits(20.0)
