"""Sampling pays in alpha: closed form, linear programmes, enumeration and the tight example."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from barrow.accounting import calibrate_shuffle, compose, price, sampled_alpha_upper, sampled_epsilon_upper
from barrow.accounting.sampling import inner_alpha_for, inner_alpha_within
from barrow.cli.main import cli
from barrow.errors import ParameterError
from barrow.promises import (
    DiscreteEmd,
    Emd,
    GaussianNoise,
    KNormNoise,
    PureRelease,
    SampledItems,
    ShuffledReports,
    UserLevel,
    UserLevelRelease,
    event_from_json,
)
from tests.accounting.routes import sampling_ratio_upper


def true_ratio(eps, w, digits=50):
    """The largest f(d) over [w, 1] by ternary search in many digits: f rises, then falls."""
    with mpmath.workdps(digits):
        e, x = mpmath.mpf(eps), mpmath.mpf(w)
        grown = mpmath.exp(e)

        def f(d):
            return (d + x * (grown - 1)) / (d + x * (grown * mpmath.exp(-e * d) - 1))

        low, high = x, mpmath.mpf(1)
        for _ in range(120):
            third = (high - low) / 3
            if f(low + third) < f(high - third):
                low += third
            else:
                high -= third
        return f((low + high) / 2)


@settings(max_examples=40, deadline=None)
@given(st.floats(-6, 1.5), st.floats(-6, 0))
@example(1.5, -2.0)  # where all but 1e-13 of the ratio's denominator cancels
def test_the_ratio_is_an_upper_bound_and_tight(log_eps, log_w):
    eps, w = Fraction(10.0**log_eps), Fraction(min(1.0, 10.0**log_w))
    with mpmath.workdps(50):
        e, x = mpmath.mpf(eps.numerator) / eps.denominator, mpmath.mpf(w.numerator) / w.denominator
        true = mpmath.log(true_ratio(e, x))
        ours = sampled_epsilon_upper(eps, 1, w)
        assert ours >= true * (1 - mpmath.mpf("1e-30"))
        assert ours <= true * (1 + mpmath.mpf("1e-9"))
        assert sampling_ratio_upper(eps, w) >= mpmath.exp(true) * (1 - mpmath.mpf("1e-30"))
        # The simple bounds of the proof page.
        assert true <= min(e, mpmath.log1p(x * e * mpmath.exp(e))) * (1 + mpmath.mpf("1e-30"))


def programme(eps, x, other, step):
    """The largest mean of g under ``x`` when it is 1 under ``other``, for g with |ln g(a) - ln g(b)| <= eps |a - b|."""
    k = len(x)
    rows = []
    for i in range(k - 1):
        for a, b in ((i, i + 1), (i + 1, i)):
            row = np.zeros(k)
            row[a], row[b] = 1.0, -math.exp(eps * step)
            rows.append(row)
    result = linprog(-np.asarray(x), A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=[other], b_eq=[1.0])
    return -result.fun


@pytest.mark.parametrize("eps", [0.3, 1.0, 3.0])
def test_the_ratio_against_linear_programmes(eps):
    """No pair of data sets beats R at its own EMD; the tight pair reaches it."""
    rng = np.random.default_rng(5)
    step, k = 1 / 24, 25
    reached = 0.0
    for _ in range(12):
        x, other = rng.dirichlet(np.full(k, 0.2), 2)
        w = float(np.abs(np.cumsum(x - other))[:-1].sum() * step)
        assert programme(eps, x, other, step) <= sampling_ratio_upper(eps, w) * (1 + 1e-7)
    for j in (2, 7, 13, 24):  # mass p moves from 1 to 1 - d, d = j/24, at EMD w = p d
        for p in (0.05, 0.3, 0.9):
            x, other = np.zeros(k), np.zeros(k)
            x[0] = other[0] = 1 - p
            x[-1] += p
            other[k - 1 - j] += p
            bound = math.log(sampling_ratio_upper(eps, p * j * step))
            loss = math.log(programme(eps, x, other, step))
            assert loss <= bound * (1 + 1e-7)
            reached = max(reached, loss / bound)
    assert reached > 0.995


def tight_loss(alpha, s, w, d):
    """The loss of G(a) = e^(-alpha)/2 e^((alpha/s) sum a) on samples of data sets at EMD w: mass w/d moves by d."""
    with mpmath.workdps(40):
        e, p = mpmath.mpf(alpha) / s, mpmath.mpf(w) / d
        return s * mpmath.log((1 - p + p * mpmath.exp(e)) / (1 - p + p * mpmath.exp(e * (1 - d))))


def best_tight_loss(alpha, s, w):
    return max(tight_loss(alpha, s, w, mpmath.mpf(w) ** (1 - mpmath.mpf(i) / 400)) for i in range(401))


@pytest.mark.parametrize(("alpha", "s"), [(1, 1), (5, 2), (25, 10), (25, 1000), (400, 100)])
@pytest.mark.parametrize("w", ["1e-4", "0.003", "0.08", "0.4", "1"])
def test_an_explicit_mechanism_reaches_the_bound_at_every_distance(alpha, s, w):
    loss = best_tight_loss(alpha, s, w)
    bound = sampled_epsilon_upper(alpha, s, w)
    assert loss * (1 - mpmath.mpf("1e-30")) <= bound <= loss * mpmath.mpf("1.001")
    assert bound <= sampled_alpha_upper(alpha, s) * float(w) * (1 + 1e-12)


def test_the_factor_cannot_be_smaller():
    """alpha itself, and e^(alpha/(2s)), are broken by the tight mechanism; alpha e^(alpha/s) is not, and is reached."""
    loss = float(best_tight_loss(1, 1, "1e-4"))
    assert loss == pytest.approx(2.669e-4, rel=1e-3)
    assert loss > 1e-4 * 1  # alpha' = alpha
    assert loss > 1e-4 * math.exp(0.5)  # alpha' = alpha e^(alpha/(2s))
    assert loss <= 1e-4 * sampled_alpha_upper(1, 1)
    assert float(best_tight_loss(1, 1, "1e-9")) / 1e-9 == pytest.approx(sampled_alpha_upper(1, 1), rel=1e-3)
    assert sampled_alpha_upper(1, 1) == pytest.approx(math.e, rel=1e-15)
    assert Fraction(sampled_alpha_upper(1, 1)) >= Fraction("2.718281828459045235")


POINTS = np.array([0.0, 0.5, 1.0])
"""Three items on a line."""


def multisets(s):
    return list(itertools.combinations_with_replacement(range(len(POINTS)), s))


def sample_distribution(x, s):
    """How likely each multiset of s independent draws from ``x`` is."""
    results = []
    for held in multisets(s):
        counts = np.bincount(held, minlength=len(POINTS))
        ways = math.factorial(s) // math.prod(math.factorial(int(c)) for c in counts)
        results.append(ways * float(np.prod(np.asarray(x) ** counts)))
    return np.array(results)


def distances(s):
    places = POINTS[np.array(multisets(s))]
    return np.abs(places[:, None, :] - places[None, :, :]).mean(axis=2)


def line_emd(x, other):
    return float(np.abs(np.cumsum(np.asarray(x) - np.asarray(other)))[:-1] @ np.diff(POINTS))


def bounded_delta(outputs, alpha, s):
    """The exact delta of a mechanism on s-multisets at ``alpha``: the worst pair and event."""
    over = outputs[:, None, :] - np.exp(alpha * distances(s))[:, :, None] * outputs[None, :, :]
    return float(np.maximum(over, 0.0).sum(axis=2).max())


def nearly_private(rng, alpha, s, kinds):
    """Outputs with |ln| differences near alpha EMD, each with an excess that makes some delta necessary."""
    slopes = rng.normal(size=(len(POINTS), kinds))
    sums = np.array([[slopes[i] for i in held] for held in multisets(s)]).sum(axis=1)
    weights = np.exp(alpha / s * sums * rng.uniform(0.2, 0.8)) + rng.exponential(0.02, size=sums.shape)
    return weights / weights.sum(axis=1, keepdims=True)


def test_enumeration_never_exceeds_the_inner_delta():
    """Approximate mechanisms with their exact bounded delta, on random data sets of any size: delta is not passed."""
    rng = np.random.default_rng(11)
    largest, cases = 0.0, 0
    for _ in range(400):
        s, alpha = int(rng.integers(1, 4)), float(rng.uniform(0.3, 6))
        outputs = nearly_private(rng, alpha, s, int(rng.integers(2, 5)))
        delta = bounded_delta(outputs, alpha, s)
        x = rng.dirichlet([0.4] * 3)
        other = (1 - (t := rng.uniform(0.02, 1))) * x + t * rng.dirichlet([0.4] * 3)
        if not (delta > 1e-12 and (w := line_emd(x, other)) > 1e-6):
            continue
        cases += 1
        first, second = (sample_distribution(v, s) @ outputs for v in (x, other))
        epsilon = sampled_epsilon_upper(Fraction(alpha), s, Fraction(w))
        for p, q in ((first, second), (second, first)):
            got = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
            assert got <= delta * (1 + 1e-12)
            largest = max(largest, got / delta)
    assert cases > 200
    assert largest > 0.7


def worst_excess(alpha, s, delta, x, other, epsilon):
    """The largest P[A(x) in O] - e^epsilon P[A(x') in O] over all two-outcome (alpha, delta)-bounded mechanisms A."""
    p, q = sample_distribution(x, s), sample_distribution(other, s)
    far, k = np.exp(alpha * distances(s)), len(p)
    rows, limits = [], []
    for a in range(k):
        for b in range(k):
            if a != b:
                row = np.zeros(k)
                row[a], row[b] = 1.0, -far[a, b]
                rows.append(row)  # G(a) <= e^(alpha D) G(b) + delta
                limits.append(delta)
                row = np.zeros(k)
                row[a], row[b] = -1.0, far[a, b]
                rows.append(row)  # the same for 1 - G
                limits.append(delta + far[a, b] - 1.0)
    result = linprog(-(p - math.exp(epsilon) * q), A_ub=np.array(rows), b_ub=limits, bounds=[(0, 1)] * k)
    return -result.fun


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3, 0.05])
def test_linear_programmes_over_all_bounded_mechanisms(delta):
    """No bounded mechanism breaks the bound; with alpha or e^(alpha/(2s)) in its place, some do."""
    rng = np.random.default_rng(3)
    broken = {"alpha": 0, "half": 0}
    for s in (1, 2, 3):
        for _ in range(6):
            alpha = float(rng.uniform(1.0, 4.0))
            p = float(rng.uniform(0.001, 0.02))
            x, other = (1 - p, 0.0, p), (1 - p, p, 0.0)  # mass p from 1 to 1/2: the tight pair of this space
            if rng.uniform() < 0.3:
                x, other = rng.dirichlet([0.5] * 3), rng.dirichlet([0.5] * 3)
            w = line_emd(x, other)
            epsilon = sampled_epsilon_upper(Fraction(alpha), s, Fraction(w))
            for a, b in ((x, other), (other, x)):
                assert worst_excess(alpha, s, delta, a, b, epsilon) <= delta + 1e-9
                for name, factor in (("alpha", 1.0), ("half", math.exp(alpha / (2 * s)))):
                    broken[name] += worst_excess(alpha, s, delta, a, b, alpha * w * factor) > delta + 1e-9
    if delta == 0.0:
        assert broken["alpha"] >= 8
        assert broken["half"] >= 1


@settings(max_examples=80, deadline=None)
@given(st.floats(1e-3, 1e4), st.integers(1, 10**6))
def test_the_inner_alpha_is_safe_and_nearly_the_largest(alpha, s):
    if alpha / s > 600:
        return
    result = inner_alpha_for(alpha, s)
    target = Fraction(repr(alpha))
    assert Fraction(sampled_alpha_upper(Fraction(result), s)) <= target
    assert sampled_alpha_upper(Fraction(result * (1 + 1e-12)), s) > target
    with mpmath.workdps(30):
        assert result == pytest.approx(float(s * mpmath.lambertw(mpmath.mpf(alpha) / s).real), rel=1e-12)


def test_figures():
    assert [inner_alpha_for(25, s) for s in (10**3, 10**4, 10**5)] == pytest.approx([24.397, 24.938, 24.994], abs=1e-3)
    within = [inner_alpha_within("0.2", "0.008", s) for s in (10**3, 10**4, 10**5)]
    assert within == pytest.approx([24.46, 24.94, 24.99], rel=5e-4)
    for s, alpha in zip((10**3, 10**4, 10**5), within, strict=True):
        assert sampled_epsilon_upper(Fraction(alpha), s, "0.008") <= 0.2
        assert sampled_epsilon_upper(Fraction(alpha * (1 + 1e-9)), s, "0.008") > 0.2
    for reports, s, want in (
        (10**8, 10**3, 4.368),
        (10**3, 10**3, 0.0905),
        (10**4, 10**4, 0.02961),
        (10**5, 10**5, 0.00943),
    ):
        result = calibrate_shuffle(Fraction(inner_alpha_for(25, s)), "1e-12", reports=reports, items=s, limit=False)
        assert result.methods["flow"] == pytest.approx(want, rel=2e-3)
        inner = ShuffledReports(Fraction(result.alpha0), reports=reports, items=s, delta="1e-12", model="central")
        guarantee = price(SampledItems(samples=s, delta="1e-12", inner=inner))
        assert isinstance(guarantee.definition, Emd)
        assert not guarantee.definition.bounded
        assert 24.9 < guarantee.definition.alpha <= 25


def test_samples_are_priced_in_alpha():
    inner = PureRelease(20, model="local", bounded=True)
    event = SampledItems(samples=1000, delta="1e-12", inner=inner)
    guarantee = price(event)
    assert guarantee.definition == Emd(Fraction(sampled_alpha_upper(20, 1000)), 0, model="local", bounded=False)
    assert guarantee.worst_case == UserLevel(20, "1e-12", model="local")
    assert (guarantee.method, guarantee.theorem) == ("sampling/pure", "docs/proofs/sampling.md")
    noisy = price(SampledItems(samples=1000, delta="1e-9", inner=GaussianNoise(1, delta="1e-12", model="central")))
    at_once = price(GaussianNoise(1, delta="1e-9", model="central")).definition
    assert noisy.definition.delta == Fraction(1, 10**9)
    assert noisy.definition.alpha == Fraction(sampled_alpha_upper(at_once.alpha, 1000))
    alone = price(SampledItems(samples=10, delta="1e-9", inner=UserLevelRelease(1, delta="1e-10", model="central")))
    assert isinstance(alone.definition, UserLevel)
    with pytest.raises(ParameterError, match="700 for each sample"):
        price(SampledItems(samples=1, delta=0, inner=PureRelease(10**4, model="local")))


@pytest.mark.parametrize(
    ("s", "alpha0", "reports", "radius", "want", "method"),
    [
        (100, "0.05", 100, "0.001", 0.0028, "sampling"),
        (100, "0.2", 100, "0.1", 1.49, "sampling"),
        (100, 4, 100, "0.01", 46.4, "projection"),
        (1000, 1, 1000, "0.1", 162, "projection"),
        (1000, "0.2", 1000, "0.5", 29.8, "sampling"),
        (1000, 4, 10**7, "0.1", 4.93, "sampling"),
        (1000, 4, 10**7, "0.5", 19.8, "projection"),
    ],
)
def test_at_a_radius_the_smaller_of_both_proofs(s, alpha0, reports, radius, want, method):
    inner = ShuffledReports(alpha0, reports=reports, items=s, delta="1e-8", model="central")
    guarantee = price(SampledItems(samples=s, radius=radius, delta="1e-8", inner=inner))
    assert isinstance(guarantee.definition, DiscreteEmd)
    assert float(guarantee.definition.epsilon) == pytest.approx(want, rel=0.02)
    assert guarantee.method.startswith(method)


def test_events_with_and_without_a_radius_are_read_back():
    written = {
        "event": "SampledItems",
        "version": 1,
        "samples": 1000,
        "radius": "0.01",
        "delta": "1e-9",
        "inner": PureRelease(20, model="central", bounded=True).to_json(),
    }
    event = event_from_json(written)
    assert (event.radius, event.to_json()) == (Fraction(1, 100), written)
    bare = event.at(None)
    assert bare.to_json()["radius"] is None
    assert event_from_json(json.loads(json.dumps(bare.to_json()))) == bare


def test_composition_with_samples_in_alpha():
    sampled = SampledItems(samples=1000, delta="1e-9", inner=PureRelease("0.2", model="central", bounded=True))
    other = KNormNoise("0.2", model="central")
    few = compose([sampled, other], 0).definition
    assert isinstance(few, Emd)
    assert not few.bounded
    assert few.alpha == Fraction(sampled_alpha_upper("0.2", 1000)) + Fraction("0.2")
    many = compose([sampled] * 20 + [other] * 20, "1e-6")
    assert many.method == "composition_numeric"
    pure = compose([PureRelease("0.2", model="central")] * 20 + [other] * 20, "1e-6").definition
    assert pure.alpha <= many.definition.alpha * (1 + Fraction(1, 100)) < Fraction("8.1")
    shuffled = ShuffledReports(1, reports=10**7, items=1000, delta="1e-9", model="central")
    both = compose([SampledItems(samples=1000, delta="1e-9", inner=shuffled)] * 3, "1e-8").definition
    assert isinstance(both, Emd)
    assert both.alpha >= price(SampledItems(samples=1000, delta="1e-8", inner=shuffled)).definition.alpha
    mixed = compose([sampled, sampled.at("0.01")], "1e-8").definition
    assert isinstance(mixed, DiscreteEmd)
    assert mixed.radius == Fraction(1, 100)


def test_the_command():
    run = CliRunner().invoke
    arguments = ["account", "--alpha", "25", "--delta", "1e-12", "--unbounded", "--samples", "1000"]
    result = run(cli, [*arguments, "--users", "100000", "--json"])
    assert result.exit_code == 0
    data = json.loads(result.output)
    assert data["methods"]["flow"] == pytest.approx(4.368, rel=2e-3)
    assert (data["reports"], data["samples"], data["limit_black_box"]) == (10**8, 1000, None)
    text = run(cli, [*arguments, "--model", "local"])
    assert "any number" in text.output
    assert "0.0905" in text.output
    for wrong in (
        ["--items", "5", "--unbounded"],
        ["--samples", "5"],
        [],
        ["--items", "5", "--samples", "5", "--unbounded"],
    ):
        refused = run(cli, ["account", "--alpha", "25", "--delta", "0", "--model", "local", *wrong])
        assert refused.exit_code != 0
