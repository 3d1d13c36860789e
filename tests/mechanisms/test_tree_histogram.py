"""Histograms along trees: the release, its predicted error, its intervals, and that each can be wrong."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.mechanisms.decoding.tree import decode, edge_values, empirical_bayes_histogram
from barrow.mechanisms.histograms import histogram_noise, mean_size
from barrow.mechanisms.tree_shares import tree_sides
from barrow.noise.source import SeededSource
from barrow.promises import GaussianNoise, KNormNoise, Model
from barrow.spaces import Circle, Clustered, Discrete, Line, Tree, edge_tree
from barrow.transport import emd

SPACES = {
    "clusters": Clustered.grid(10, 10, r=0.05),
    "star": Discrete([str(i) for i in range(12)]),
    "line": Line(0, 1, step=0.05),
    "nested": Tree.nested([f"{a}/{b}/{c}" for a in "xyz" for b in "pq" for c in "12345"], distances=[1, 0.25, 0.05]),
}


def people(space, generator, users, items=20):
    """Users who each hold some items of a common, uneven population."""
    weights = generator.dirichlet(np.full(space.items, 0.3))
    return [generator.choice(space.items, size=items, p=weights) for _ in range(users)]


def mean_histogram(space, users):
    return np.mean([np.bincount(ids, minlength=space.items) / len(ids) for ids in users], axis=0)


@pytest.mark.parametrize("name", SPACES)
def test_a_release_is_close_to_the_truth_and_as_far_as_predicted(name):
    space, generator = SPACES[name], np.random.default_rng(1)
    users = people(space, generator, 100)
    truth, counts = mean_histogram(space, users), UserCounts.of_users(space, users)
    plan = histogram_noise(space, "tree", 25, users=100)
    source = SeededSource(1)
    answers = [plan.noise.draw(counts.center(plan.query), source) for _ in range(60)]
    values = edge_values(space, truth)
    raw = [np.abs(answer.values - values).sum() for answer in answers]
    nearest, best = (histogram_noise(space, "tree", 25, users=100, how=how) for how in ("nearest", "auto"))
    # 60 x edges independent Laplace sizes: 5 standard errors are 5/sqrt(60 edges).
    slack = 5.0 / math.sqrt(60 * edge_tree(space).edges)
    assert np.mean(raw) == pytest.approx(plan.undecoded, rel=slack)
    assert not 1 - slack < np.mean(raw) / (1.25 * plan.undecoded) < 1 + slack
    for answer, noise in zip(answers, raw, strict=True):
        assert emd(space, nearest.decode(answer.values), truth) <= 2.0 * noise + 1e-9
        assert not answer.private
    assert np.mean([emd(space, best.decode(answer.values), truth) for answer in answers]) < plan.undecoded


@pytest.mark.parametrize("users", [1, 10, 1000])
@pytest.mark.parametrize("alpha", [5, 100])
@pytest.mark.parametrize(("model", "noise"), [("central", "laplace"), ("central", "gaussian"), ("local", "gaussian")])
def test_the_undecoded_error_agrees_with_simulation(model, noise, alpha, users):
    """Over a grid within 10 %: real draws of the noise in the central model and of a few local users."""
    space = SPACES["clusters"]
    plan = histogram_noise(space, "tree", alpha, "1e-9", users=users, model=model, noise=noise)
    source, results = SeededSource(2), []
    for _ in range(15 if model == "central" else 3):
        if model == "central":
            sample = plan.noise.draw(UserCounts.of_users(space, [[0]] * users).center(plan.query), source).values
            n = 1
        else:
            n = min(users, 30)
            center = UserCounts.of_users(space, [[0]]).center(plan.query)
            sample = np.mean([plan.noise.draw(center, source).values for _ in range(n)], axis=0)
        results.append(np.abs(sample - edge_values(space, np.eye(space.items)[0])).sum() * math.sqrt(n / plan.reports))
    assert np.mean(results) == pytest.approx(plan.undecoded, rel=0.2 if model == "local" else 0.1)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_the_mean_size_of_averaged_laplace_noise(n):
    plan = histogram_noise(SPACES["star"], "tree", 25, users=n, model="local", noise="laplace")
    sample = np.random.default_rng(3).laplace(scale=1 / 25, size=(200_000, n)).mean(axis=1)
    assert np.abs(sample).mean() == pytest.approx(mean_size(plan.on_outputs, plan.reports), rel=0.02)
    big = [mean_size(plan.on_outputs, users) for users in (1000, 1001)]
    assert big[1] == pytest.approx(big[0] * math.sqrt(1000 / 1001), rel=1e-6)


def test_events_and_scales():
    space = SPACES["clusters"]
    central = histogram_noise(space, "tree", 25, users=10_000)
    assert isinstance(central.event, KNormNoise)
    assert central.event.model is Model.CENTRAL
    assert float(central.noise.scale) == pytest.approx(1 / (25 * 10_000), rel=1e-9)
    assert float(central.noise.scale) >= 1 / (25 * 10_000)
    local = histogram_noise(space, "tree", 25, "1e-9", users=10_000, model="local", noise="gaussian")
    assert isinstance(local.event, GaussianNoise)
    assert float(local.noise.scale) == pytest.approx(math.sqrt(0.5) / float(local.event.mu), rel=1e-6)
    # Pure noise is smaller here, so it is what "auto" takes.
    assert histogram_noise(space, "tree", 25, "1e-9", users=10_000, model="local").noise.name == "Laplace"


def test_local_reports_are_averaged_and_decoded():
    space, generator = SPACES["clusters"], np.random.default_rng(4)
    users = people(space, generator, 300)
    plan = histogram_noise(space, "tree", 100, users=300, model="local")
    source = SeededSource(5)
    centers = [UserCounts.of_users(space, [ids]).center(plan.query) for ids in users]
    means = np.mean([plan.noise.draw(center, source).values for center in centers], axis=0)
    assert emd(space, plan.decode(means), mean_histogram(space, users)) < plan.undecoded
    assert plan.on_outputs.deviation**2 / plan.reports == pytest.approx(2 * (1 / 100) ** 2 / 300, rel=1e-3)


@pytest.mark.parametrize("name", SPACES)
def test_intervals_hold_as_often_as_they_say_and_no_more(name):
    space, generator = SPACES[name], np.random.default_rng(6)
    users = people(space, generator, 50)
    below = edge_tree(space).masses(mean_histogram(space, users))
    counts, built, source = (
        UserCounts.of_users(space, users),
        histogram_noise(space, "tree", 5, users=50),
        SeededSource(7),
    )
    single = []
    for _ in range(200):
        shares, widths = built.shares(built.noise.draw(counts.center(built.query), source).values)
        single.append((np.abs(shares - below) <= widths + 1e-12).mean())
    # 200 x edges trials at 95 %: 5 standard errors.
    slack = 5 * math.sqrt(0.95 * 0.05 / (200 * built.query.dimension))
    assert 0.95 - slack < np.mean(single) < 0.95 + slack + 0.01


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30, 100, 1000])
def test_the_width_of_a_mean_of_laplace_reports_covers_its_quantile(n):
    """A Laplace variable is Gaussian with variance 2 Exp(1), so a mean of n has the variance 2 Gamma(n)/n^2."""
    from scipy import integrate, special, stats

    def tail(t):  # of the mean times sqrt(n)
        inner = lambda v: special.erfc(t / math.sqrt(4.0 * v / n)) * stats.gamma.pdf(v, n)  # noqa: E731
        spread = 12.0 * math.sqrt(n)
        points = sorted({max(n - spread, 1e-9), float(n), n + spread + 60.0})
        return sum(integrate.quad(inner, a, b, limit=200, epsabs=1e-14)[0] for a, b in pairwise(points))

    for share in (0.05, 1e-2, 1e-4, 1e-8):
        single, normal = -math.log(share), math.sqrt(2.0) * stats.norm.isf(share / 2.0)
        assert tail(max(single, normal)) <= share * (1 + 1e-6)
        # Power: the normal width alone would be too narrow for rare tails of few reports.
        if n <= 30 and share <= 1e-4:
            assert tail(normal) > share


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_shrinkage_gains_much_on_even_and_sparse_populations_and_loses_little_elsewhere(law):
    space, generator = SPACES["clusters"], np.random.default_rng(9)
    tree = edge_tree(space)
    ratios = {}
    for name, scale, draw in [
        ("even", 4e-4, lambda: np.full(100, 0.01)),
        ("sparse", 4e-5, lambda: np.eye(100)[generator.integers(0, 100, 5)].mean(axis=0)),
        ("dense", 4e-4, lambda: generator.dirichlet(np.ones(100))),
        ("uneven", 4e-4, lambda: generator.dirichlet(np.full(100, 0.1))),
        ("quiet", 4e-7, lambda: generator.dirichlet(np.ones(100))),
    ]:
        errors = {"top_down": [], "empirical_bayes": []}
        for _ in range(40):
            truth = draw()
            sample = generator.laplace if law == "laplace" else generator.normal
            values = edge_values(tree, truth) + sample(scale=scale, size=tree.edges)
            variance = scale**2 * (2 if law == "laplace" else 1)
            for how, result in errors.items():
                result.append(emd(space, decode(tree, values, how=how, variances=variance, distribution=law), truth))
        ratios[name] = np.mean(errors["empirical_bayes"]) / np.mean(errors["top_down"])
    assert ratios["even"] < 0.5
    assert ratios["sparse"] < 0.65
    assert ratios["dense"] < 0.9
    assert ratios["uneven"] < 1.15
    assert 0.98 < ratios["quiet"] < 1.02


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_posterior_means_are_those_of_the_law_that_made_the_values(law):
    """The second route: shares drawn from a Gamma law, and the mean of the true ones near each noisy value."""
    from barrow.mechanisms.decoding import tree_estimates as engine

    generator = np.random.default_rng(10)
    mass = generator.gamma(1.0, 2.0, size=400_000)
    sample = generator.laplace if law == "laplace" else generator.normal
    value = mass + sample(size=mass.size)
    mean = np.full(mass.size, engine._RATIO ** round(math.log(2.0) / math.log(engine._RATIO)))
    near = value < engine._FAR
    result, variance = engine._posterior(
        value, mean, near, np.full(mass.size, 2.0), engine._likelihood(law == "gaussian")
    )
    for low in (-2.0, -0.5, 0.5, 1.5, 3.0, 6.0):
        here = (value > low) & (value < low + 0.25)
        assert result[here].mean() == pytest.approx(mass[here].mean(), rel=0.05, abs=0.02)
        assert variance[here].mean() == pytest.approx(mass[here].var(), rel=0.15)


def test_bad_input_is_refused_kindly():
    space = SPACES["star"]
    for wrong, words in [
        (lambda: histogram_noise(space, "tree", 25, users=0), "users is 0"),
        (lambda: histogram_noise(space, "tree", 0, users=3), "alpha"),
        (lambda: histogram_noise(space, "tree", 25, users=3, model="shuffle"), "model is 'shuffle'"),
        (lambda: histogram_noise(space, "tree", 25, users=3, noise="l2"), "noise is 'l2'"),
        (lambda: histogram_noise(space, "tree", 25, users=3, noise="gaussian"), "delta is 0"),
        (lambda: histogram_noise(Circle.hours(), "tree", 25, users=3), "not those of a tree"),
        (
            lambda: empirical_bayes_histogram(space, np.zeros(12), variances=1, distribution="cauchy"),
            "distribution is 'cauchy'",
        ),
        (lambda: decode(space, np.zeros(12), how="empirical_bayes"), "variances are missing"),
    ]:
        with pytest.raises(ParameterError, match=words):
            wrong()


def test_tree_sides():
    tree = edge_tree(Clustered.grid(2, 2, r=0.25))
    below, root = tree_sides(tree, np.array([True, True, False, False]), 1.0 / tree.lengths**2)
    assert below.tolist() == [True, False, True, True, False, False]
    assert not root
