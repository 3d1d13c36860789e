"""The flow accountant: figures that must hold, every w, monotone, never below composition, never above the attack."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.accounting import calibrate_shuffle
from barrow.accounting.calibrate import paper_note, per_report_composition, price_shuffle, reports_of
from barrow.accounting.flow import flow_alpha0_lower, flow_alpha_upper, flow_profile, tail_profile
from barrow.accounting.limit import attack_delta, limit_black_box
from barrow.accounting.one_step import one_step_delta_upper
from barrow.errors import ParameterError
from tests.accounting.routes import flow_delta_upper, uniform_chain_delta_upper

# (alpha, N, m, standard, strong, limit) at delta = 1e-12: prototype values, certified up to rounding and a w grid.
PROTOTYPE = [
    (25, 10**8, 1000, 4.314, 4.4016, 4.41),
    (25, 1000, 1000, 0.09045, 0.09242, 0.0951),
    (25, 10**4, 10**4, 0.02947, 0.02969, 0.0299),
    (25, 10**5, 10**5, 0.00941, 0.00943, 0.00946),
    (5, 10**8, 1000, None, 2.427, 2.473),
    (10, 10**8, 1000, None, 3.223, 3.249),
    (50, 10**8, 1000, None, 5.359, 5.367),
]


@pytest.mark.parametrize(("alpha", "n", "m", "standard", "strong", "limit"), PROTOTYPE)
def test_flow_rows(alpha, n, m, standard, strong, limit):
    result = calibrate_shuffle(alpha, "1e-12", reports=n, items=m)
    assert result.methods["flow_strong"] == pytest.approx(strong, rel=3e-3)
    if standard is not None:
        assert result.methods["flow_standard"] == pytest.approx(standard, rel=3e-3)
    assert result.limit_black_box == pytest.approx(limit, rel=3e-3)
    assert result.alpha0 == result.methods["flow"] < result.limit_black_box
    assert result.method == "flow_strong"


def test_figures_that_must_hold():
    assert 4.35 < flow_alpha0_lower(25, reports=10**8, items=1000, delta="1e-12") < 4.410
    for m, least, limit in ((10**3, 0.0915, 0.0951), (10**4, 0.0293, 0.0299), (10**5, 0.0093, 0.00946)):
        assert least < flow_alpha0_lower(25, reports=m, items=m, delta="1e-12") < limit


ONE_STEP = [
    (60, "1", "1", "0.9", 4.33e-7),
    (200, "1", "1", "0.9", 1.59e-17),
    (200, "1", "0.25", "0.2", 8.46e-15),
    (400, "0.5", "1", "0.4", 2.98e-41),
]


@pytest.mark.parametrize(("n", "alpha0", "d", "eps", "delta"), ONE_STEP)
def test_one_step_against_the_full_sum_in_mpmath(n, alpha0, d, eps, delta):
    """The two-dimensional sum over (clones, a) of the clone pair itself, at 60 digits."""
    import mpmath as mp

    with mp.workdps(60):
        a0, e = mp.mpf(alpha0), mp.mpf(eps)
        p, rho = mp.e ** (a0 * mp.mpf(d)), mp.e**-a0
        keep = p / (1 + p)
        # A point with a of the clones + 1 of the first kind has weight keep x + (1 - keep) y against
        # (1 - keep) x + keep y, x = C(clones, a-1), y = C(clones, a): the test takes all a from some point on.
        up, down = keep - mp.e**e * (1 - keep), mp.e**e * keep - (1 - keep)
        total = mp.mpf(0)
        for clones in range(n):
            weight = mp.binomial(n - 1, clones) * rho**clones * (1 - rho) ** (n - 1 - clones) / mp.mpf(2) ** clones
            first = int(mp.floor(down / up * (clones + 1) / (1 + down / up))) + 1
            x = sum(math.comb(clones, a - 1) for a in range(first, clones + 2))
            y = sum(math.comb(clones, a) for a in range(first, clones + 1))
            total += weight * (up * x - down * y)
        result = one_step_delta_upper(alpha0, reports=n, epsilon=eps, distance=d, clones="standard")
        assert mp.mpf(result) >= total
        assert result == pytest.approx(float(total), rel=1e-9)
        assert result == pytest.approx(delta, rel=2e-3)


def test_one_step_agrees_with_published_scales():
    # eps for delta = 1e-12 at N = 1e8, eps0 = 4: 0.008204 with standard and 0.005797 with stronger clones.
    for clones, eps in (("standard", 0.008204), ("strong", 0.005797)):
        below = one_step_delta_upper(4, reports=10**8, epsilon=eps * 0.998, clones=clones)
        above = one_step_delta_upper(4, reports=10**8, epsilon=eps * 1.002, clones=clones)
        assert above < 1e-12 < below


@settings(deadline=None, max_examples=15)
@given(
    st.floats(0.5, 60),
    st.sampled_from([10, 100, 1000]),
    st.sampled_from([1, 10, 1000, 10**6]),
    st.sampled_from([1e-4, 1e-8, 1e-12, 1e-20]),
    st.sampled_from(["standard", "strong"]),
    st.sampled_from([None, "0.05", "0.5", "1"]),
)
def test_every_w_is_covered(alpha, m, users, delta, clones, least):
    """A certified alpha0 keeps (alpha w, delta) at random w, from 1e-9 to 1, not only at grid points."""
    n = m * users
    alpha0 = flow_alpha0_lower(alpha, reports=n, items=m, delta=delta, clones=clones, least_distance=least)
    assert alpha0 >= alpha / m * (1 - 1e-15)
    profile = flow_profile(alpha0, reports=n, items=m, delta=delta, clones=clones, least_distance=least)
    if profile is None or alpha0 <= alpha / m * (1 + 1e-9):
        return
    rng = np.random.default_rng(7)
    for w in np.concatenate([10.0 ** rng.uniform(-9, 0, 60), rng.uniform(0.9, 1, 10), [1.0]]):
        assert flow_delta_upper(profile, float(w), alpha * float(w)) <= delta * (1 + 1e-12)
    # The price of the calibrated parameter is the target, from below and closely.
    price = flow_alpha_upper(alpha0, reports=n, items=m, delta=delta, clones=clones, least_distance=least)
    assert price <= alpha * (1 + 1e-12)
    more = flow_profile(alpha0 * 1.0001, reports=n, items=m, delta=delta, clones=clones, least_distance=least)
    # Unless the clones run out, in which case there is no profile at all just above.
    assert price > alpha * (1 - 1e-4) or more is None


@settings(deadline=None, max_examples=10)
@given(
    st.floats(0.5, 60),
    st.integers(2, 3000),
    st.integers(1, 10**6),
    st.floats(-30, -2),
    st.sampled_from(["standard", "strong"]),
)
def test_calibration_is_monotone_in_every_argument(alpha, m, users, exponent, clones):
    delta = 10.0**exponent

    def calibrated(alpha=alpha, m=m, n=m * users, delta=delta, least=None):
        return flow_alpha0_lower(alpha, reports=n, items=m, delta=delta, clones=clones, least_distance=least)

    base = calibrated()
    slack = 1 + 1e-6
    assert calibrated(alpha=alpha * 1.1) * slack >= base
    assert calibrated(delta=delta * 2) * slack >= base
    assert calibrated(n=m * users * 2) * slack >= base
    assert calibrated(m=m - 1) * slack >= base
    assert calibrated(least=0.3) * slack >= base
    assert base <= alpha / m * (1 + 1e-12) or base > alpha / m


@settings(deadline=None, max_examples=12)
@given(st.floats(0.01, 5), st.integers(2, 2000), st.integers(1, 10**5), st.floats(-15, -3))
def test_price_is_monotone_and_never_above_composition(alpha0, m, users, exponent):
    n, delta = m * users, 10.0**exponent
    price = flow_alpha_upper(alpha0, reports=n, items=m, delta=delta)
    slack = 1 + 1e-6
    assert price <= alpha0 * m * (1 + 1e-12)
    assert flow_alpha_upper(alpha0 * 1.05, reports=n, items=m, delta=delta) * slack >= price
    assert flow_alpha_upper(alpha0, reports=2 * n, items=m, delta=delta) <= price * slack
    assert flow_alpha_upper(alpha0, reports=n, items=m, delta=delta * 3) <= price * slack
    best, _ = price_shuffle(alpha0, delta, reports=n, items=m)
    assert best <= price


@settings(deadline=None, max_examples=40)
@given(
    st.floats(0.02, 4),
    st.integers(1, 300),
    st.sampled_from([1, 3, 50, 10**4]),
    st.floats(0.02, 1),
    st.floats(0.2, 8),
    st.sampled_from(["standard", "strong"]),
)
def test_no_attack_beats_the_flow_bound(alpha0, m, users, w, depth, clones):
    """The exact delta of an explicit attack is below the certified one, whatever the parameters."""
    n = m * users
    profile = flow_profile(alpha0, reports=n, items=m, delta="1e-9", clones=clones)
    if profile is None:
        return
    mu = profile.mu_upper(w)
    eps = mu * mu / 2 + depth * mu
    assert attack_delta(alpha0, reports=n, items=m, w=w, epsilon=eps) <= flow_delta_upper(profile, w, eps) + 1e-13


def test_flow_is_close_to_the_chain_iterated_exactly():
    """Compose the exact one-step power functions m times at N = 4000 and compare the delta: a route without GDP."""
    from barrow.accounting.one_step import mean_excess_upper

    alpha0, n, m, eps = 0.35, 4000, 60, 2.0
    nu = math.tanh(alpha0 / 2)
    c = np.linspace(0, 0.2, 500)
    e = np.array([mean_excess_upper(float(x), alpha0, n) for x in c])
    slopes, gaps = (1 + nu * c) / (1 - nu * c), 2 * nu * e / (1 - nu * c)
    levels = np.geomspace(1e-14, 0.5, 1500)
    power = levels.copy()
    for _ in range(m):
        power = np.min(slopes[None, :] * power[:, None] + gaps[None, :], axis=1)
    iterated = float(np.max(power - math.exp(eps) * levels))
    profile = flow_profile(alpha0, reports=n, items=m, delta="1e-12", clones="standard")
    bound = flow_delta_upper(profile, 1.0, eps)
    # The iterated chain used finitely many lines, so it is an upper bound itself; flow may not be far above it.
    assert iterated < 1e-6
    assert 0.98 * iterated < bound < 1.06 * iterated
    uniform = uniform_chain_delta_upper(alpha0, reports=n, items=m, distance=1, epsilon=eps)
    assert iterated * 0.999 < uniform


def test_uniform_chain_certifies_less_than_flow():
    # 4.2993 by the uniform chain with standard clones at its worst w of 0.16, 4.3133 by flow.
    for alpha0, holds in ((4.297, True), (4.302, False)):
        deltas = [
            uniform_chain_delta_upper(alpha0, reports=10**8, items=1000, distance=w, epsilon=25 * w)
            for w in (0.12, 0.14, 0.16, 0.18, 0.2)
        ]
        assert (max(deltas) <= 1e-12) is holds


def test_extreme_sizes():
    result = calibrate_shuffle(25, "1e-30", reports=10**12, items=1000)
    assert 10.7 < result.alpha0 < result.limit_black_box < 10.8
    assert flow_alpha0_lower(100, reports=10**12, items=10**12, delta="1e-30") > 6e-6
    assert flow_alpha0_lower(1, reports=10**15, items=1, delta="1e-100") > 10
    assert flow_alpha0_lower(25, reports=1000, items=1000, delta="1e-250") >= 0.025 * (1 - 1e-15)
    assert flow_alpha0_lower("1e-6", reports=10**6, items=10, delta="1e-9") >= 1e-7 * (1 - 1e-15)


def test_least_distance_helps():
    plain = flow_alpha0_lower(25, reports=10**8, items=1000, delta="1e-12")
    spaced = flow_alpha0_lower(25, reports=10**8, items=1000, delta="1e-12", least_distance="0.25")
    discrete = flow_alpha0_lower(25, reports=10**8, items=1000, delta="1e-12", least_distance=1)
    assert plain < spaced < discrete
    # With all distances 1 only w = 1 matters beyond a ray from the origin: mu(1) may reach the Gaussian mu.
    profile = flow_profile(discrete, reports=10**8, items=1000, delta="1e-12", least_distance=1)
    assert profile.mu_upper(0.5) == pytest.approx(profile.mu_upper(1.0) / 2)
    assert profile.mu_upper(1.0) == pytest.approx(2.991, rel=2e-3)


def test_composition_remains_where_nothing_better_holds():
    for alpha, n, m in ((1, 1, 1), (1, 10, 10), (3, 2, 2)):
        result = calibrate_shuffle(alpha, "1e-6", reports=n, items=m)
        assert result.method == "per_report_composition"
        assert result.alpha0 <= per_report_composition(alpha, m)
        assert result.alpha0 == pytest.approx(alpha / m)
    assert flow_profile(3, reports=5, items=5, delta="1e-6") is None


def test_delta_zero_leaves_composition_and_says_so():
    result = calibrate_shuffle(25, 0, reports=1000, items=1000)
    assert result.methods == {
        "per_report_composition": result.alpha0,
        "theorem": None,
        "flow_standard": None,
        "flow_strong": None,
        "flow": None,
    }
    assert result.to_json()["alpha0"] == 0.025
    with pytest.raises(ParameterError, match="per_report_composition"):
        flow_alpha0_lower(25, reports=1000, items=1000, delta=0)


def test_limit_is_broken_and_just_below_is_not_by_this_attack():
    limit = limit_black_box(25, reports=1000, items=1000, delta="1e-12")
    assert attack_delta(limit, reports=1000, items=1000, w=1.0, epsilon=25.0) > 1e-12
    assert attack_delta(limit * 0.999, reports=1000, items=1000, w=1.0, epsilon=25.0) < 1e-12


def test_local_attack_is_binary_randomised_response():
    from scipy.stats import binom

    alpha0, m, eps = 0.3, 200, 6.0
    p = math.exp(alpha0) / (1 + math.exp(alpha0))
    exact = max(binom.sf(k, m, p) - math.exp(eps) * binom.sf(k, m, 1 - p) for k in range(m))
    assert attack_delta(alpha0, reports=m, items=m, w=1.0, epsilon=eps) == pytest.approx(exact, rel=1e-6)


def test_attack_tails_agree_between_the_two_routes():
    from barrow.accounting import limit as module

    attack = module._attacks(1.2, 0.4)[0]
    k = np.arange(40.0, 200.0, 20.0)
    small = module._tails(attack, 300.0, 3700.0, k)
    subset, module._SMALL = module._SMALL, 0
    try:
        large = module._tails(attack, 300.0, 3700.0, k)
    finally:
        module._SMALL = subset
    assert np.allclose(small[0], large[0], rtol=1e-7, atol=1e-15)
    assert np.all(np.abs(small[0] - large[0]) <= small[1] + large[1])


@pytest.mark.parametrize(
    ("alpha", "n", "m", "delta"),
    [(125, 180, 1, 1e-26), (61.3, 1, 1, 1e-5), (49.6, 8756, 4, 2e-9), (56, 364785, 1, 1e-17)],
)
def test_limit_respects_composition_at_large_alpha(alpha, n, m, delta):
    # Composition is proved, so an attack below alpha/m would be rounding; e^alpha magnifies rounding.
    limit = limit_black_box(alpha, reports=n, items=m, delta=delta)
    assert limit is None or limit >= alpha / m
    assert attack_delta(alpha / m * 0.999, reports=n, items=m, w=1.0, epsilon=alpha) <= 0


def test_tail_profile_keeps_its_promise():
    profile = tail_profile(4, reports=10**8, items=1000, tail=1e-18, clones="strong", least_distance=None)
    assert profile.floor_upper <= profile.head_upper <= 1e-18


def test_paper_note_warns():
    result = calibrate_shuffle(25, "1e-12", reports=10**8, items=1000)
    note = paper_note(result, 25, "1e-12", users=10**5, items=1000)
    assert note.theorem_at_w_one == pytest.approx(2.9989, abs=1e-4)
    assert any("supports only 2.48387" in text for text in note.warnings)
    unsafe = calibrate_shuffle(25, "1e-12", reports=10**10, items=1000, limit=False)
    texts = paper_note(unsafe, 25, "1e-12", users=10**7, items=1000).warnings
    assert any("closed formula" in text and "5.99" in text for text in texts)


def test_reports_of_a_model():
    assert reports_of("shuffle", items=3, users=4) == 12
    with pytest.raises(ParameterError, match="number of users"):
        reports_of("central", items=3, users=None)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: flow_alpha0_lower(25, reports=10, items=20, delta="1e-6"), "at most reports"),
        (lambda: flow_alpha_upper(700, reports=10, items=2, delta="1e-6"), "alpha0 is 700"),
        (lambda: flow_profile(1, reports=10, items=2, delta="1e-6", clones="weak"), "clones is"),
        (lambda: flow_alpha0_lower(-1, reports=10, items=2, delta="1e-6"), "alpha is -1"),
        (lambda: flow_alpha0_lower(1, reports=10, items=2, delta="1e-6", least_distance=2), "least_distance"),
        (lambda: one_step_delta_upper(1, reports=10, epsilon=-1), "epsilon is -1"),
    ],
)
def test_bad_input_teaches(call, text):
    with pytest.raises(ParameterError, match=text):
        call()


def test_tail_profile():
    profile = tail_profile(4, reports=10**8, items=1000, tail=1e-15, clones="strong", least_distance=None)
    assert profile.head_upper <= 1e-15
