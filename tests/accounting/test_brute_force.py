"""Every bound on shuffles against exact enumeration: over 12,000 random shuffles of random metric-DP randomisers.

A random positive matrix A is a randomiser; D(x, x') = max_y |ln A[x,y] - ln A[x',y]| is a metric, alpha0 = max D, and
with d = D/alpha0 the randomiser is alpha0-d_X-DP. The law of the multiset of n reports is a product of polynomials.
Nothing here uses the library's formulas for e(c), except where it is the thing tested.
"""

import math

import numpy as np
import pytest

from barrow.accounting.flow import flow_profile
from barrow.accounting.one_step import one_step_delta_upper
from tests.accounting.routes import flow_delta_upper, uniform_chain_delta_upper

ONE_STEP, CHAINS = 10_000, 4000
EPSILONS = np.array([0.02, 0.1, 0.25, 0.45, 0.7, 0.9])


def random_rows(rng, batch, rows, outputs):
    """Random matrices, many of them with few distinct ratios: those are the extreme randomisers."""
    spread = rng.uniform(0.05, 2.2, size=(batch, 1, 1))
    smooth = rng.normal(size=(batch, rows, outputs)) * spread
    steps = rng.integers(-1, 2, size=(batch, rows, outputs)) * spread
    weights = np.exp(np.where(rng.random((batch, 1, 1)) < 0.5, smooth, steps))
    return weights / weights.sum(axis=2, keepdims=True)


def multiset_law(reports):
    """P[counts] for reports of shape (batch, n, outputs), as (batch, (n+1)^(outputs-1))."""
    batch, n, outputs = reports.shape
    law = np.zeros((batch,) + (n + 1,) * (outputs - 1))
    law[(slice(None),) + (0,) * (outputs - 1)] = 1.0
    extra = (1,) * (outputs - 1)
    for i in range(n):
        new = law * reports[:, i, -1].reshape((batch, *extra))
        for y in range(outputs - 1):
            new += np.roll(law, 1, axis=1 + y) * reports[:, i, y].reshape((batch, *extra))
        law = new
    return law.reshape(batch, -1)


def exact_excess(c, n, rho):
    """e(c) by a double sum; c and rho of shape (batch,)."""
    total = np.zeros_like(c)
    for t in range(1, n + 1):
        weight = math.comb(n - 1, t - 1) * rho ** (t - 1) * (1 - rho) ** (n - t)
        for a in range(t + 1):
            total += weight * math.comb(t, a) / 2**t * np.maximum((2 * a - t) / t - c, 0.0)
    return total


def one_step_delta(eps, nu, n, rho):
    return nu * (1 + np.exp(eps)) * exact_excess(np.minimum(np.tanh(eps / 2) / nu, 1.0), n, rho)


def power(levels, nu, n, rho, lines=120):
    """The largest power at each level: the least of many lines, each valid on its own."""
    best = np.ones_like(levels)
    for c in np.linspace(-0.999, 0.999, lines):
        slope, gap = (1 + nu * c) / (1 - nu * c), 2 * nu / (1 - nu * c)
        excess = exact_excess(np.full_like(nu, abs(c)), n, rho)
        excess = excess if c >= 0 else excess - c  # E(z - c)_+ = E(z + c)_+ - c for symmetric z
        best = np.minimum(best, slope * levels + gap * excess)
    return best


def distances(rows):
    logs = np.log(rows)
    return np.max(np.abs(logs[:, :, None, :] - logs[:, None, :, :]), axis=3)


@pytest.mark.parametrize(("n", "outputs", "seed"), [(2, 3, 1), (3, 3, 2), (4, 4, 3), (5, 3, 4), (6, 4, 5)])
def test_one_changed_report(n, outputs, seed):
    rng = np.random.default_rng(seed)
    batch = ONE_STEP // 5
    rows = random_rows(rng, batch, n + 1, outputs)
    d = distances(rows)
    holds = d[:, 0, n] > 1e-3  # rows of few ratios may coincide
    rows, d = rows[holds], d[holds]
    alpha0, moved = d.max(axis=(1, 2)), d[:, 0, n]
    assert len(rows) > 0.8 * batch
    before, after = rows[:, :n], np.concatenate([rows[:, n : n + 1], rows[:, 1:n]], axis=1)
    q, p = multiset_law(before), multiset_law(after)
    nu = np.tanh(moved / 2)
    tightest = 0.0
    for share in EPSILONS:
        eps = share * moved
        exact = np.maximum(p - np.exp(eps)[:, None] * q, 0.0).sum(axis=1)
        for strength in (np.zeros_like(nu), nu):
            rho = np.minimum(1.0, np.exp(-alpha0) * (1 + strength))
            bound = one_step_delta(eps, nu, n, rho)
            assert np.all(exact <= bound * (1 + 1e-9) + 1e-14)
        tightest = max(tightest, float(np.max(exact / np.maximum(bound, 1e-300))))
    # The bound is nearly reached somewhere, so a smaller one would be caught.
    assert tightest > 0.75


def test_more_clones_than_the_theorem_grants_are_caught():
    """The randomiser of the explicit attack: the bound nearly holds with equality, and fails with more clones."""
    alpha0, d, n = 3.0, 0.5, 6
    q, p = math.exp(alpha0), math.exp(alpha0 * d)
    a = (1 - 1 / q) / (p + 1 - 2 * p / q**2)
    other = [p * a / q, p * a / q, 1 - 2 * p * a / q]
    first, second = [p * a, a, other[2] / q], [a, p * a, other[2] / q]
    before = multiset_law(np.array([[second] + [other] * (n - 1)]))[0]
    after = multiset_law(np.array([[first] + [other] * (n - 1)]))[0]
    nu, ratios, mutants = np.array([math.tanh(alpha0 * d / 2)]), [], []
    for eps in np.linspace(0.1, 1.4, 14):
        exact = float(np.maximum(after - math.exp(eps) * before, 0).sum())
        rho = math.exp(-alpha0) * (1 + nu)
        ratios.append(exact / float(one_step_delta(eps, nu, n, rho)[0]))
        mutants.append(exact / float(one_step_delta(eps, nu, n, 1.6 * rho)[0]))
    assert 0.9 < max(ratios) <= 1
    assert max(mutants) > 1


@pytest.mark.parametrize(("n", "outputs", "seed"), [(2, 3, 11), (3, 4, 12), (4, 3, 13), (5, 3, 14)])
def test_many_changed_reports_follow_the_chain(n, outputs, seed):
    rng = np.random.default_rng(seed)
    batch = CHAINS // 4
    rows = random_rows(rng, batch, 2 * n, outputs)
    d = distances(rows)
    alpha0 = d.max(axis=(1, 2))
    changes = 1 + rng.integers(1, n) if n > 2 else 2
    before = rows[:, :n]
    after = before.copy()
    after[:, :changes] = rows[:, n : n + changes]
    q, p = multiset_law(before), multiset_law(after)
    loss = np.stack([d[:, i, n + i] for i in range(changes)], axis=1)
    tightest = {"standard": 0.0, "strong": 0.0}
    for share in EPSILONS[:5]:
        eps = share * loss.sum(axis=1)
        chosen = p > np.exp(eps)[:, None] * q
        level, reached = (q * chosen).sum(axis=1), (p * chosen).sum(axis=1)
        for clones in tightest:
            bound = level
            for i in range(changes):
                nu = np.tanh(loss[:, i] / 2)
                rho = np.minimum(1.0, np.exp(-alpha0) * (1 + (nu if clones == "strong" else 0.0)))
                bound = power(bound, np.maximum(nu, 1e-9), n, rho)
            assert np.all(reached <= bound * (1 + 1e-9) + 1e-14)
            tightest[clones] = max(tightest[clones], float(np.max(reached / np.maximum(bound, 1e-300))))
    assert tightest["strong"] > 0.95


def equal_moves(rng, n, spread, outputs=3):
    """A random randomiser of three inputs: m of n reports move from input 0 to 1, the others hold input 2."""
    while True:
        rows = np.exp(rng.normal(size=(1, 3, outputs)) * spread)
        rows /= rows.sum(axis=2, keepdims=True)
        d = distances(rows)[0]
        if d[0, 1] > 1e-3:
            break
    m = int(rng.integers(1, n + 1))
    before = np.stack([rows[0, 0]] * m + [rows[0, 2]] * (n - m))[None]
    after = np.stack([rows[0, 1]] * m + [rows[0, 2]] * (n - m))[None]
    return float(d.max()), float(d[0, 1]), m, multiset_law(before)[0], multiset_law(after)[0]


def test_library_one_step_and_uniform_chain_bound_enumerated_shuffles():
    rng = np.random.default_rng(21)
    for n in (3, 4, 6, 8) * 30:
        alpha0, moved, m, q, p = equal_moves(rng, n, rng.uniform(0.1, 1.5))
        distance = min(1.0, moved / alpha0 * (1 + 1e-12))
        for share in (0.1, 0.4, 0.8):
            eps = share * moved * m
            least = float(np.maximum(p - math.exp(eps) * q, 0).sum()) * (1 - 1e-9) - 1e-14
            assert least <= uniform_chain_delta_upper(alpha0, reports=n, items=m, distance=distance, epsilon=eps)
            for clones in ("standard", "strong") if m == 1 else ():
                assert least <= one_step_delta_upper(alpha0, reports=n, epsilon=eps, distance=distance, clones=clones)


def test_flow_bounds_enumerated_shuffles_of_a_hundred_reports():
    """End to end: the exact delta of whole shuffles against the flow accountant's, at several depths."""
    rng = np.random.default_rng(22)
    checked, tightest = 0, 0.0
    for n in (40, 70, 110) * 25:
        alpha0, moved, m, q, p = equal_moves(rng, n, rng.uniform(0.02, 0.4))
        distance = min(1.0, moved / alpha0 * (1 + 1e-12))
        for clones in ("standard", "strong"):
            for delta in (1e-3, 1e-7):
                profile = flow_profile(alpha0, reports=n, items=m, delta=delta, clones=clones)
                if profile is None:
                    continue
                mu = profile.mu_upper(distance)
                for depth in (0.0, 1.0, 3.0, 4.5):
                    eps = mu * mu / 2 + depth * mu
                    exact = float(np.maximum(p - math.exp(eps) * q, 0).sum())
                    bound = flow_delta_upper(profile, distance, eps)
                    assert exact * (1 - 1e-9) - 1e-15 <= bound
                    checked += 1
                    tightest = max(tightest, exact / bound if bound > 10 * delta else 0.0)
    assert checked > 500
    assert tightest > 0.6
