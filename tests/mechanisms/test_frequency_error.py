"""The error of frequency estimates: variances by two routes, predictions against simulation, bounds above them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.randomisers.helpers import CROOKED, PLACES, UNEVEN, channels

from barrow.errors import ParameterError
from barrow.mechanisms import EstimateError, TreeChannel, channel_of
from barrow.mechanisms.frequency import whole_counts
from barrow.mechanisms.frequency_error import (
    general_utility_upper,
    gkrr_rate_upper,
    gkrr_utility_upper,
    paper_remark_upper,
)
from barrow.mechanisms.spans import DenseMoments, halving_spans, spans_of
from barrow.noise.source import SeededSource
from barrow.randomisers import exponential, gkrr, matrix_randomiser, randomised_response, tree_response
from barrow.spaces import Circle, Clustered, Discrete, Embedding, Euclidean, Line
from barrow.transport import emd, kr_norm

GRID = Clustered.grid(5, 4, r=0.05)
LINE = Line(0, 10, step=1, cells=True)
SQUARE = Euclidean([0, 0], [5, 4], step=1)
CASES = {
    "gkrr, weak": gkrr(GRID, "0.3"),
    "gkrr": gkrr(GRID, 4),
    "gkrr, uneven": gkrr(UNEVEN, 3),
    "tree": tree_response(PLACES, 3),
    "tree, crooked": tree_response(CROOKED, 4),
    "response": randomised_response(Discrete(["a", "b", "c", "d"]), 2),
    "response on a line": randomised_response(LINE, 5),
    "response in clusters": randomised_response(GRID, 20),
    "exponential, line": exponential(LINE, 6),
    "exponential, tree": exponential(PLACES, 5),
    "exponential, circle": exponential(Circle(24, step=2), 5),
    "exponential, square": exponential(SQUARE, 8),
    "response, square": randomised_response(SQUARE, 8),
    "matrix": matrix_randomiser(Discrete(["a", "b"]), [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]], labels=["x", "y", "z"]),
}


def skewed(k: int) -> np.ndarray:
    law = 0.5 ** np.arange(k)[::-1]
    return np.asarray(law / law.sum())


def errors(randomiser, held: np.ndarray, draws: int, seed: int = 1) -> np.ndarray:
    """The errors of the unbiased estimate in ``draws`` releases by the randomiser itself."""
    channel, source, total = channel_of(randomiser), SeededSource(seed), int(held.sum())
    result = np.array([channel.inverse(randomiser.from_counts(held, source=source) / total) for _ in range(draws)])
    difference = result - held / total
    return np.asarray(kr_norm(randomiser.space, difference - difference.mean(axis=1, keepdims=True)))


def test_the_covariance_is_that_of_all_possible_reports():
    """Three items, all 27 triples of reports, by enumeration."""
    randomiser = exponential(Line(0, 3, step=1, cells=True), 2)
    channel = channel_of(randomiser)
    matrix, items = channel.matrix(), (0, 2, 2)
    mean, square = np.zeros(3), np.zeros((3, 3))
    for reports in itertools.product(range(3), repeat=3):
        chance = math.prod(matrix[x, y] for x, y in zip(items, reports, strict=True))
        estimate = channel.inverse(np.bincount(reports, minlength=3) / 3)
        mean += chance * estimate
        square += chance * np.outer(estimate, estimate)
    truth = np.bincount(items, minlength=3) / 3
    assert np.allclose(mean, truth, atol=1e-12)
    error = EstimateError(randomiser.space, channel)
    assert np.allclose(error.covariance(3, truth), square - np.outer(mean, mean), atol=1e-10)


@pytest.mark.parametrize("name", [n for n in channels() if n not in ("mapped", "gkrr, weak")])
def test_moments_of_edges_agree_with_the_matrix(name):
    randomiser = channels()[name]
    channel, spans = channel_of(randomiser), spans_of(randomiser.space)
    dense = DenseMoments(spans, channel.right_inverse())
    fast = channel.moments(spans)
    law = skewed(channel.reports)
    weights = np.arange(1, len(spans.lengths) + 1) / 7
    assert np.allclose(fast.at(law), dense.at(law), rtol=1e-9)
    assert np.allclose(fast.weighted(weights), dense.weighted(weights), rtol=1e-9)
    error = EstimateError(randomiser.space, channel)
    items = skewed(channel.items)
    table = np.zeros((len(spans.lengths), channel.items))
    for e, (a, b) in enumerate(zip(spans.starts, spans.ends, strict=True)):
        table[e, spans.order[a:b]] = 1.0
    by_covariance = np.sqrt(np.diag(table @ error.covariance(1, items) @ table.T))
    assert np.allclose(error.deviations(1, items), by_covariance, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "space", [GRID, UNEVEN, PLACES, CROOKED, LINE, Discrete(["a", "b"]), Discrete(["a", "b", "c"])]
)
def test_the_sum_over_edges_is_emd(space):
    spans, rng = spans_of(space), np.random.default_rng(5)
    a, b = rng.dirichlet(np.ones(space.items), size=2)
    assert spans.exact
    assert (spans.lengths * np.abs(spans.masses(a - b))).sum() == pytest.approx(emd(space, a, b), rel=1e-9)


@pytest.mark.parametrize(
    "space", [Circle(24, step=2), SQUARE, Embedding(["a", "b", "c", "d"], [[0, 1], [0, 2], [5, 0], [6, 1]])]
)
def test_the_sum_along_a_chosen_tree_is_no_less_than_emd(space):
    rng = np.random.default_rng(6)
    for spans in (spans_of(space), halving_spans(space)):
        assert not spans.exact
        assert sorted(spans.order.tolist()) == list(range(space.items))
        for _ in range(20):
            a, b = rng.dirichlet(np.full(space.items, 0.3), size=2)
            assert (spans.lengths * np.abs(spans.masses(a - b))).sum() >= emd(space, a, b) - 1e-12


@pytest.mark.parametrize("name", CASES)
def test_the_prediction_is_within_a_tenth_of_a_simulation(name):
    randomiser = CASES[name]
    space = randomiser.space
    error = EstimateError(space, channel_of(randomiser))
    draws = 200 if space.items > 4 else 1500  # errors of few edges vary more
    for reports, law in ((20_000, np.full(space.items, 1 / space.items)), (2000, skewed(space.items))):
        held = whole_counts(law, reports)
        result = errors(randomiser, held, draws)
        predicted = error.expected(reports, held / reports)
        assert abs(result.mean() - predicted) < 0.1 * predicted
        # The check has power: a variance that is wrong by a half would be seen.
        assert abs(result.mean() - predicted * math.sqrt(1.5)) > 0.1 * predicted
        assert result.mean() < error.expected_upper(reports)


@pytest.mark.parametrize("alpha0", [0.05, 0.5, 1.2, 2, 4, 9])
@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (2, 2), (5, 4), (3, 10)])
@pytest.mark.parametrize("r", [0.01, 0.2, 0.49])
def test_the_papers_bounds_are_above_the_exact_one(shape, r, alpha0):
    s, t = shape
    space = Clustered.grid(s, t, r=r)
    channel = channel_of(gkrr(space, str(alpha0)))
    exact = EstimateError(space, channel).expected_upper(10**4)
    general = general_utility_upper(space, channel, reports=10**4)
    # gkrr with one item in each cluster sees the distance 1, as Theorem 6.6 does.
    special = gkrr_utility_upper(clusters=s, inside=t, r=r, alpha0=alpha0, reports=10**4)
    rate = gkrr_rate_upper(k=s * t, alpha0=alpha0, reports=10**4)
    assert 2 * exact <= general * (1 + 1e-6) if t > 1 and s > 1 else exact <= general
    assert exact <= rate
    assert general <= special * (1 + 1e-6)


def test_theorem_6_5_against_its_own_norms():
    space = UNEVEN
    channel = channel_of(exponential(space, 3))
    inverse = channel.right_inverse()
    merged = np.add.reduceat(inverse, space.starts, axis=1)
    first = 0.1 * math.sqrt(8 * ((inverse**2).sum(axis=1).max() - 1) / 1000)
    second = math.sqrt(3 * ((merged**2).sum(axis=1).max() - 1) / 1000)
    assert general_utility_upper(space, channel, reports=1000) == pytest.approx(first + second, rel=1e-5)


@pytest.mark.parametrize("alpha0", [0.2, 2, 6])
def test_the_theorems_are_above_simulations(alpha0):
    randomiser = gkrr(GRID, str(alpha0))
    held = whole_counts(skewed(20), 5000)
    result = errors(randomiser, held, 100).mean()
    channel = channel_of(randomiser)
    assert result < EstimateError(GRID, channel).expected_upper(5000)
    assert result < general_utility_upper(GRID, channel, reports=5000)
    assert result < gkrr_utility_upper(clusters=5, inside=4, r=0.05, alpha0=alpha0, reports=5000)


def test_a_step_of_the_papers_proof_is_false_and_its_conclusion_true():
    """The appendix bounds (a')^2 - 1 by an expression that is not below what it claims; (a')^2 - 1 itself is."""
    s, t, r, alpha0 = 1, 2, 0.3, 6.0
    e, near = math.exp(alpha0), math.exp((1 - r) * alpha0)
    claimed = (t * (e + s) / (e - near)) ** 2
    middle = (t * t * e * e + 2 * (s - 1) * t * t * e + (s - 1) ** 2 * t * t + 2 * t * e * e + 2 * (s - 1) * t * e) / (
        e - near
    ) ** 2
    a = (e + (t - 1) * near + (s - 1) * t) / (e - near)
    assert middle > claimed
    assert a * a - 1 <= claimed


@pytest.mark.parametrize(("alpha", "users"), [(1, 100), (25, 10**4), (400, 10**5)])
def test_the_remarks_are_the_rate_at_the_papers_alpha0(alpha, users):
    items, delta, k = 1000, 1e-9, 50
    weight = math.log(4 * items / delta) + alpha
    local = alpha / (32 * math.sqrt(items * weight))
    assert local <= 1
    reports = items * users
    remark = paper_remark_upper(k=k, items=items, users=users, alpha=alpha, delta=delta)
    assert gkrr_rate_upper(k=k, alpha0=local, reports=reports) == pytest.approx(remark, rel=1e-5)
    central = alpha * math.sqrt(users) / (32 * math.sqrt(items * weight))
    if central > 1:
        central = 2 * math.log(2 * central)
    remark = paper_remark_upper(k=k, items=items, users=users, alpha=alpha, delta=delta, model="central")
    assert gkrr_rate_upper(k=k, alpha0=central, reports=reports) == pytest.approx(remark, rel=1e-5)


def test_the_bound_holds_for_every_law():
    for name in ("gkrr, uneven", "tree, crooked", "exponential, line", "response on a line"):
        randomiser = CASES[name]
        error = EstimateError(randomiser.space, channel_of(randomiser))
        top, rng = error.expected_upper(1), np.random.default_rng(8)
        k = randomiser.space.items
        best = 0.0
        for law in (*np.eye(k), *rng.dirichlet(np.ones(k), 40), *rng.dirichlet(np.full(k, 0.1), 40)):
            best = max(best, float((error.spans.lengths * error.deviations(1, law)).sum()))
        assert best <= top <= 2.0 * best


def test_errors_fall_with_the_square_root_of_the_reports():
    error = EstimateError(GRID, channel_of(gkrr(GRID, 4)))
    assert error.expected(100) == pytest.approx(10 * error.expected(10**4))
    assert error.expected_upper(100) == pytest.approx(10 * error.expected_upper(10**4))


def test_large_trees_need_no_matrix_and_large_matrices_are_refused():
    space = Clustered.grid(60, 50, r=0.1)
    error = EstimateError(space, channel_of(gkrr(space, 4)))
    assert 0 < error.expected(10**6) < error.expected_upper(10**6)
    with pytest.raises(ParameterError, match="too large to hold"):
        error.covariance(1)
    wide = Euclidean([0, 0], [60, 50], step=1)
    flat = EstimateError(wide, channel_of(randomised_response(wide, 400)))
    assert 0 < flat.expected(10**6) < flat.expected_upper(10**6)


def test_a_tree_that_is_not_the_spaces_own():
    shape = gkrr(Clustered.grid(4, 5, r=0.05), 3).shape
    from barrow.randomisers import MixtureRandomiser

    other = MixtureRandomiser(GRID, shape, list(gkrr(Clustered.grid(4, 5, r=0.05), 3).stops))
    channel = TreeChannel.of(other)
    moments = channel.moments(spans_of(GRID))
    assert np.allclose(moments.at(skewed(20)), DenseMoments(spans_of(GRID), channel.right_inverse()).at(skewed(20)))


@pytest.mark.parametrize("bad", [np.ones(19) / 19, np.ones(20), -np.ones(20) / 20, np.full(20, np.nan)])
def test_wrong_references_are_refused(bad):
    with pytest.raises(ParameterError, match="not a histogram"):
        EstimateError(GRID, channel_of(gkrr(GRID, 4))).expected(10, bad)


def test_wrong_parameters_are_refused():
    error = EstimateError(GRID, channel_of(gkrr(GRID, 4)))
    for reports in (0, 1.5, True):
        with pytest.raises(ParameterError, match="reports is"):
            error.expected(reports)
    good = {"clusters": 2, "inside": 2, "r": 0.1, "alpha0": 1.0, "reports": 10}
    for bad in ({"clusters": 0}, {"inside": 1.5}, {"r": 0.5}, {"alpha0": 0}, {"alpha0": 1000}, {"reports": 0}):
        with pytest.raises(ParameterError):
            gkrr_utility_upper(**{**good, **bad})
    with pytest.raises(ParameterError, match="model"):
        paper_remark_upper(k=4, items=1, users=1, alpha=1, delta=0.1, model="nowhere")
