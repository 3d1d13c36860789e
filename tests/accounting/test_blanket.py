"""The blanket of known randomisers against exact enumeration, and never more than what holds."""

import math
from itertools import product

import numpy as np
import pytest

from barrow.accounting import calibrate_shuffle
from barrow.accounting.blanket import (
    ResponseRandomiser,
    _Excess,
    blanket_alpha0_lower,
    blanket_alpha_upper,
    blanket_profile,
    blanket_tail_profile,
    class_rate_upper,
    first_order,
    largest_fit,
    parse_randomiser,
    search_alpha0,
    with_entries,
)
from barrow.accounting.calibrate import shuffle_alpha0_guess
from barrow.accounting.flow import flow_alpha0_lower
from barrow.errors import ParameterError
from barrow.numerics.gdp import SQRT_TWO_PI, mills
from tests.accounting.routes import flow_delta_upper


def matrix(randomiser, alpha0):
    """The whole channel, row by row from its definition."""
    s, t, r = randomiser.clusters, randomiser.members, float(randomiser.radius)
    items = list(product(range(s), range(t)))
    weight = [[math.exp(alpha0 * (1 if x == y else (1 - r) if x[0] == y[0] else 0)) for y in items] for x in items]
    rows = np.array(weight)
    return items, rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("randomiser", [ResponseRandomiser(3), ResponseRandomiser(4, 3, "0.2")])
def test_classes_describe_the_channel_and_it_is_metric_dp(randomiser):
    alpha0 = 1.3
    items, rows = matrix(randomiser, alpha0)
    least = rows.min(axis=0)
    for distance, described in randomiser.changes(alpha0):
        i = 0
        j = next(k for k, y in enumerate(items) if (y[0] == 0 and y != (0, 0)) == (distance < 1) and y != (0, 0))
        assert np.max(np.abs(np.log(rows[i]) - np.log(rows[j]))) <= alpha0 * distance * (1 + 1e-12)
        pairs = sorted((round(a, 9), round(b, 9)) for a, b in zip(rows[i] / least, rows[j] / least, strict=True))
        told = sorted((round(a, 9), round(b, 9)) for count, a, b, _ in described for _ in range(int(count)))
        assert pairs == told
        assert described[0, 3] == pytest.approx(least[0])


def exact_excess(rows, reports, c):
    """(1/N) E(sum xi)_+ by convolving the exact law of the sum, value by value (few reports)."""
    count, a, b, least = rows.T
    mass, xi = count * least, ((a - b) - c * (a + b)) / 2
    law = {0.0: 1.0}
    for _ in range(reports):
        new: dict[float, float] = {}
        for value, p in law.items():
            for x, q in [*zip(xi, mass, strict=True), (0.0, 1 - float(mass.sum()))]:
                key = round(value + x, 9)
                new[key] = new.get(key, 0.0) + p * q
        law = new
    return sum(p * max(value, 0.0) for value, p in law.items()) / reports


@pytest.mark.parametrize(
    ("randomiser", "alpha0"), [(ResponseRandomiser(3), 0.7), (ResponseRandomiser(2, 2, "0.3"), 0.5)]
)
@pytest.mark.parametrize("c", [0.0, 0.05, 0.2])
def test_contour_integral_against_the_exact_law(randomiser, alpha0, c):
    for _, rows in randomiser.changes(alpha0):
        exact = exact_excess(rows, 12, c)
        result = math.exp(_Excess(rows, 12.0).log_upper(c))
        assert exact * (1 - 1e-7) <= result
        assert result <= exact * 1.01 + 1e-12


def test_contour_integral_deep_in_the_tail():
    """Binary response: the sum is a function of two binomial counts; compare with the double sum at N = 2000."""
    from scipy.stats import binom

    randomiser, alpha0, n = ResponseRandomiser(2), 0.2, 2000
    rows = randomiser.changes(alpha0)[0][1]
    gamma = float(np.dot(rows[:, 0], rows[:, 3]))
    for c in (0.01, 0.05, 0.1, 0.15):
        (_, a, b, _), _ = rows
        up, down = ((a - b) - c * (a + b)) / 2, ((b - a) - c * (a + b)) / 2
        total = 0.0
        k = np.arange(n + 1)
        weights = binom.pmf(k, n, gamma)
        for size in k[weights > 1e-40]:
            u = np.arange(size + 1)
            total += weights[size] * float(np.dot(binom.pmf(u, size, 0.5), np.maximum(u * up + (size - u) * down, 0)))
        result = math.exp(_Excess(rows, float(n)).log_upper(c))
        assert total / n * (1 - 1e-7) <= result
        assert result <= total / n * 1.05


def exact_pair(randomiser, alpha0, reports, moved, start=0, end=1):
    """The exact laws of the histogram when ``moved`` reports change from one item to another; the rest hold a third."""
    _, rows = matrix(randomiser, alpha0)
    outputs = rows.shape[1]
    laws = []
    for item in (start, end):
        law = np.zeros((reports + 1,) * (outputs - 1))
        law[(0,) * (outputs - 1)] = 1.0
        for i in range(reports):
            row = rows[item] if i < moved else rows[outputs - 1]
            new = law * row[-1]
            for y in range(outputs - 1):
                new += np.roll(law, 1, axis=y) * row[y]
            law = new
        laws.append(law.ravel())
    return laws


@pytest.mark.parametrize(("moved", "alpha0"), [(1, 0.4), (10, 0.3), (60, 0.15), (90, 0.1)])
def test_profile_bounds_enumerated_ternary_response(moved, alpha0):
    randomiser, n = ResponseRandomiser(3), 90
    q, p = exact_pair(randomiser, alpha0, n, moved)
    profile = blanket_profile(randomiser, alpha0, reports=n, items=moved, delta="1e-6")
    assert profile is not None
    mu = profile.mu_upper(1.0)
    for depth in (0.0, 1.0, 2.5, 4.0):
        eps = mu * mu / 2 + depth * mu
        exact = float(np.maximum(p - math.exp(eps) * q, 0).sum())
        assert exact <= flow_delta_upper(profile, 1.0, eps) * (1 + 1e-9)


def test_rate_is_above_its_first_order_limit():
    # The limit is not an upper bound; the certified rate lies above it and tends to it.
    for n, slack in ((1e3, 0.2), (1e6, 2e-3), (1e9, 1e-3), (1e12, 1e-3)):
        for _, rows in ResponseRandomiser(10, 10, "0.05").changes(0.5):
            limit = 2 * _Excess(rows, n).deviation(0.0) / n
            assert 1 < class_rate_upper(rows, n, 7.5) / limit < 1 + slack


def test_two_point_response_cannot_beat_its_own_attack():
    # For binary response the black-box attack is the randomiser itself, so the limit holds for its blanket too.
    result = calibrate_shuffle(
        25, "1e-12", reports=1000, items=1000, randomiser=ResponseRandomiser(2), least_distance=1
    )
    assert result.methods["flow"] * 0.97 < result.methods["blanket"] < result.limit_black_box


def test_known_randomiser_gains_and_prices_consistently():
    randomiser = ResponseRandomiser(10, 10, "0.05")
    result = blanket_alpha0_lower(25, randomiser, reports=1000, items=1000, delta="1e-9")
    assert result > 2 * flow_alpha0_lower(25, reports=1000, items=1000, delta="1e-9")
    price = blanket_alpha_upper(randomiser, result, reports=1000, items=1000, delta="1e-9")
    assert 25 * 0.995 < price <= 25
    profile = blanket_profile(randomiser, result, reports=1000, items=1000, delta="1e-9")
    for w in (1e-6, 0.01, 0.05, 0.3, 0.77, 1.0):
        assert flow_delta_upper(profile, w, 25 * w) <= 1e-9 * (1 + 1e-9)


def test_calibration_names_the_blanket():
    result = calibrate_shuffle(
        25, "1e-9", reports=10**7, items=1000, randomiser=ResponseRandomiser(10, 10, "0.05"), limit=False
    )
    assert result.method == "blanket"
    assert result.alpha0 == result.methods["blanket"] > result.methods["flow"]
    pure = calibrate_shuffle(25, 0, reports=1000, items=1000, randomiser=ResponseRandomiser(10))
    assert pure.methods["blanket"] is None
    tiny = calibrate_shuffle(1, "1e-6", reports=2, items=2, randomiser=ResponseRandomiser(10), limit=False)
    assert tiny.method == "per_report_composition"


def test_lines_of_a_gaussian_give_back_its_rate():
    from barrow.accounting.profile import rate_from_lines

    c = np.linspace(0, 8, 3000)
    call = np.log(np.exp(-c * c / 2) * (1 - c * mills(c)) / SQRT_TWO_PI)
    assert rate_from_lines(c, call, 7.0) == pytest.approx(2.0, rel=1e-5)


@pytest.mark.parametrize("text", ["", "rr:3", "krr:x", "gkrr:10", "gkrr:axb:0.1"])
def test_unknown_randomisers_teach(text):
    with pytest.raises(ParameterError):
        parse_randomiser(text)
    with pytest.raises(ParameterError, match="one cluster"):
        parse_randomiser("krr:1")


def test_with_entries():
    assert 0 < with_entries(0.5) - 0.5 < 1e-10


def test_class_rate_upper():
    rows = ResponseRandomiser(10).changes(1.0)[0][1]
    limit = math.sqrt(float(np.sum(rows[:, 0] * (rows[:, 1] - rows[:, 2]) ** 2 * rows[:, 3])) / 1000000.0)
    assert 1.0 < class_rate_upper(rows, 1000000.0, 7.0) / limit < 1.01


def test_blanket_tail_profile():
    profile = blanket_tail_profile(ResponseRandomiser(10), 1.0, reports=10**6, items=100, tail=1e-12)
    assert profile.head_upper <= 1e-12


def test_first_order():
    fits = first_order(25.0, ResponseRandomiser(10), 10**6, 1000, 1e-09)
    assert fits(0.03)
    assert not fits(10.0)


def test_largest_fit():
    assert 1.9 < largest_fit(lambda alpha0: alpha0 < 2.0, 0.1, 0.01) < 2.0


def test_search_alpha0():
    assert round(search_alpha0(lambda a: a * a, lambda a: a < 2.1, 0.1, 4.0), 2) == 2.0


def test_shuffle_alpha0_guess():
    guess = shuffle_alpha0_guess(25, "1e-9", reports=10**6, items=1000, randomiser=ResponseRandomiser(10))
    result = calibrate_shuffle(25, "1e-9", reports=10**6, items=1000, randomiser=ResponseRandomiser(10))
    assert result.alpha0 <= guess < 1.1 * result.alpha0
