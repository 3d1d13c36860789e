"""Approximate item randomisers: the lemmas on random distributions, exact histograms with leaks, many digits."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from barrow.accounting.approximate import added_delta_upper, approximate_alpha_upper, gaussian_items_alpha_upper
from barrow.accounting.flow import flow_alpha_upper
from barrow.accounting.pricing import gaussian_alpha_upper
from barrow.errors import ParameterError
from barrow.promises import Emd, ItemMetric, item_to_emd


def hockey(p: np.ndarray, q: np.ndarray, factor: float) -> float:
    return float(np.maximum(p - factor * q, 0.0).sum())


def pure_pair(one: np.ndarray, other: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Lemma 1 of docs/proofs/approximate.md."""
    a, b = one.copy(), other.copy()
    for big, small, up, low in ((one, other, a, b), (other, one, b, a)):
        where = big > p * small
        both = one + other
        up[where], low[where] = p / (1 + p) * both[where], both[where] / (1 + p)
    excess = float(b.sum() - a.sum()) / 2
    high, lower = (b, a) if excess >= 0 else (a, b)
    above = np.maximum(high - lower, 0.0)
    if above.sum() > 0:
        moved = above * (abs(excess) / above.sum())
        high -= moved
        lower += moved
    return a, b


def test_pure_distributions_are_near_approximate_ones() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        one, other, third = rng.dirichlet(np.full(6, 0.4), 3)
        p = math.exp(rng.uniform(0.05, 2.0))
        own = max(hockey(one, other, p), hockey(other, one, p))
        a, b = pure_pair(one, other, p)
        assert (a <= p * b * (1 + 1e-9) + 1e-15).all()
        assert (b <= p * a * (1 + 1e-9) + 1e-15).all()
        assert a.sum() == pytest.approx(1.0)
        assert b.sum() == pytest.approx(1.0)
        assert max(np.abs(one - a).sum(), np.abs(other - b).sum()) / 2 <= own + 1e-12
        q = p * math.exp(rng.uniform(0.0, 1.0))
        leak = max(own, hockey(one, third, q), hockey(other, third, q))
        blanket = np.maximum(a, b) / q
        assert blanket.sum() <= 1.0 + 1e-12
        assert np.maximum(blanket - third, 0.0).sum() <= 4 * leak / q + 1e-12


def histograms_of(channel: np.ndarray, items: list[int]) -> dict[tuple[int, ...], float]:
    result = {(0,) * channel.shape[1]: 1.0}
    for item in items:
        longer: dict[tuple[int, ...], float] = {}
        for counts, chance in result.items():
            for y in range(channel.shape[1]):
                key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                longer[key] = longer.get(key, 0.0) + chance * float(channel[item, y])
        result = longer
    return result


def leaky(alpha0: float, own: float) -> np.ndarray:
    """Binary randomised response that shows its item with probability ``own``: outputs 0, 1, "it was 0", "it was 1"."""
    p = math.exp(alpha0) / (1 + math.exp(alpha0))
    return np.array([[(1 - own) * p, (1 - own) * (1 - p), own, 0], [(1 - own) * (1 - p), (1 - own) * p, 0, own]])


@pytest.mark.parametrize(("alpha0", "own"), [(0.3, 1e-12), (1.0, 1e-10)])
@pytest.mark.parametrize("moved", [1, 2])
def test_exact_histograms_cost_no_more_than_is_said(alpha0: float, own: float, moved: int) -> None:
    channel, delta = leaky(alpha0, own), 1e-3
    reports = 24
    rest = [0, 1] * ((reports - moved) // 2) + [0] * ((reports - moved) % 2)
    one, other = histograms_of(channel, [0] * moved + rest), histograms_of(channel, [1] * moved + rest)
    keys = sorted(one.keys() | other.keys())
    a, b = (np.array([d.get(k, 0.0) for k in keys]) for d in (one, other))
    alpha = approximate_alpha_upper(
        Fraction(alpha0), Fraction(own), reports=reports, items=moved, delta=Fraction(delta)
    )
    assert alpha <= alpha0 * moved * (1 + 1e-9)
    for p, q in ((a, b), (b, a)):
        assert hockey(p, q, math.exp(alpha)) <= delta
    composed = item_to_emd(ItemMetric(Fraction(alpha0), Fraction(own)), items=moved).definition
    for p, q in ((a, b), (b, a)):
        exact = hockey(p, q, math.exp(composed.epsilon_at(1)))
        assert exact <= float(composed.delta) * (1 + 1e-6) + 1e-15


def test_composition_needs_all_of_its_delta() -> None:
    own = 0.01
    one, other = histograms_of(leaky(0.5, own), [0] * 5), histograms_of(leaky(0.5, own), [1] * 5)
    keys = sorted(one.keys() | other.keys())
    a, b = (np.array([d.get(k, 0.0) for k in keys]) for d in (one, other))
    exact = hockey(a, b, math.exp(2.5))
    composed = item_to_emd(ItemMetric("0.5", "0.01"), items=5).definition
    assert composed == Emd("2.5", "0.05", model="local", bounded=True)
    assert 0.95 * 0.05 < exact <= 0.05
    # Mixed with reports of a third item, of which nothing is shown, nothing changes: what is shown is shown.
    third = np.vstack([leaky(0.5, own), [0.5, 0.5, 0.0, 0.0]])
    mixed = [histograms_of(third, [x] * 3 + [2] * 8) for x in (0, 1)]
    keys = sorted(mixed[0].keys() | mixed[1].keys())
    shown = hockey(*(np.array([d.get(k, 0.0) for k in keys]) for d in mixed), math.exp(1.5))
    assert shown >= 0.95 * (1 - (1 - own) ** 3)


def test_a_tiny_delta_of_its_own_costs_almost_nothing_and_a_large_one_everything() -> None:
    pure = flow_alpha_upper(3, reports=10**8, items=1000, delta="1e-12")
    results = [approximate_alpha_upper(3, own, reports=10**8, items=1000, delta="1e-12") for own in ("1e-60", "1e-20")]
    assert pure <= results[0] <= 1.002 * pure
    assert results[1] == 3000.0
    with pytest.raises(ParameterError, match="too large for 1,000 items"):
        approximate_alpha_upper(3, "1e-13", reports=10**8, items=1000, delta="1e-12")


@pytest.mark.parametrize(
    ("own", "alpha0", "n", "m", "level"), [("1e-30", 1, 1000, 10, 5.0), ("1e-45", 4, 10**8, 99, 9.5)]
)
def test_what_is_added_in_many_digits(own: str, alpha0: int, n: int, m: int, level: float) -> None:
    with mpmath.workdps(50):
        tau = mpmath.mpf(own) * (1 + 4 * (n - 1) * mpmath.exp(-alpha0))
        exact = 2 * m * tau / mpmath.ncdf(-mpmath.mpf(level))
        result = mpmath.mpf(added_delta_upper(own, alpha0, reports=n, items=m, level=level))
        assert exact <= result <= exact * (1 + mpmath.mpf("1e-9"))


@pytest.mark.parametrize(("mu", "n", "m"), list(product(["0.05", "0.25"], [10**6, 10**8], [10, 100])))
def test_shuffled_gaussian_noise_is_above_its_own_attack(mu: str, n: int, m: int) -> None:
    result = gaussian_items_alpha_upper(mu, reports=n, items=m, delta="1e-9")
    # All of a user's items move by 1, everybody else's are known: the sum of reports has the variance N/mu^2.
    attack = gaussian_alpha_upper(Fraction(float(mu) * m / math.sqrt(n)), "1e-9")
    assert result >= attack
    assert result < 0.2 * m * gaussian_alpha_upper(mu, "1e-12")
