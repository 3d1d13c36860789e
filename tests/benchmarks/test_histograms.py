"""Histogram baselines: unbiased, as accurate as predicted, private by sensitivity, and the same from data and pools."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.baselines import (
    Edges,
    HadamardResponse,
    LevelledHistogram,
    LocalHistogram,
    ProjectiveResponse,
    RandomisedResponse,
    SubsetSelection,
    UnaryEncoding,
    gaussian_histogram,
    laplace_histogram,
    levelled_histogram,
    levelled_local_histogram,
    local_gaussian_histogram,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import DataError, ParameterError
from barrow.mechanisms.user_level.levels import cells_of, levelled_tree, weighted_masses
from barrow.mechanisms.user_level.local import consistent_variances
from barrow.mechanisms.user_level.noise import user_level_noise
from barrow.noise.source import SeededSource
from barrow.numerics import gdp_mu_lower
from barrow.promises import Model, UserLevelRelease
from barrow.spaces import Clustered, Discrete, Euclidean, Line, Tree, edge_tree
from barrow.transport import emd

GRID = Clustered.grid(4, 5, r=0.1)
UNEVEN = Clustered({"a": [f"a{i}" for i in range(9)], "b": ["b"], "c": ["c1", "c2"]}, r=0.25)
DEEP = Tree.nested([f"{a}/{b}/{c}" for a in range(3) for b in range(2) for c in range(3)], distances=[1, 0.4, 0.1])
WIDE = Clustered.grid(10, 10, r=0.05)
SPACES = {"discrete": Discrete([str(i) for i in range(12)]), "line": Line(0, 1, step=0.1), "grid": GRID,
          "uneven": UNEVEN, "deep": DEEP, "wide": WIDE}  # fmt: skip
USERS, ITEMS = 2000, 10
CHANNELS = (RandomisedResponse, HadamardResponse, ProjectiveResponse, SubsetSelection, UnaryEncoding)


def local(space, kind, epsilon, reports=1):
    event = UserLevelRelease(epsilon, model="local")
    return LocalHistogram(space, USERS, ITEMS, reports, kind(space.items, epsilon), event)


def baselines(space):
    built = [laplace_histogram(space, 1, users=USERS), gaussian_histogram(space, 1, "1e-6", users=USERS)]
    built += [local(space, kind, 1) for kind in CHANNELS]
    built += [local(space, HadamardResponse, "0.5", reports=ITEMS), local(space, UnaryEncoding, 3, reports=4)]
    built.append(local_gaussian_histogram(space, 1, "1e-6", users=USERS))
    if space in (GRID, UNEVEN, DEEP, WIDE):
        built.append(levelled_histogram(space, 1, users=USERS))
        built.append(levelled_histogram(space, 1, "1e-6", users=USERS, noise="gaussian"))
        built += [levelled_local_histogram(space, 1, users=USERS, channel=c) for c in (SubsetSelection, UnaryEncoding)]
    return built


def population(space, seed):
    """Users who all hold the same items, so that predictions are exact and not only bounds."""
    rng = np.random.default_rng(seed)
    own = rng.choice(space.items, size=ITEMS, p=rng.dirichlet(np.ones(space.items)))
    data = np.tile(own, (USERS, 1))
    return data, np.bincount(own, minlength=space.items) / ITEMS


@pytest.mark.parametrize("name", SPACES)
def test_errors_are_as_predicted_and_estimates_unbiased(name):
    space = SPACES[name]
    data, truth = population(space, 7)
    draws = 120 if name != "wide" else 40
    for number, baseline in enumerate(baselines(space)):
        source = SeededSource(100 + number)
        answers = [baseline.estimate(data, source=source) for _ in range(draws)]
        values = np.array([a.values for a in answers])
        assert not answers[0].private
        assert answers[0].event == baseline.event
        errors = np.asarray([float(emd(space, v, truth)) for v in values])
        predicted = baseline.predicted_emd(truth)
        noise = errors.std() / math.sqrt(draws) / predicted
        assert abs(errors.mean() / predicted - 1) < 0.1 + 3.5 * noise, baseline.name
        spread = np.sqrt(baseline.variances(truth))
        assert np.abs(values.mean(axis=0) - truth).max() < 5.5 * spread.max() / math.sqrt(draws), baseline.name
        assert np.allclose(values.sum(axis=1), 1.0)
        # The variance over all items and draws: chi-square with thousands of degrees of freedom.
        measured = ((values - truth) ** 2).mean() / (spread**2).mean()
        assert abs(measured - 1) < 6.5 * math.sqrt(2 / draws / max(1, space.items / 3)), baseline.name


def test_predictions_have_power():
    """Half or twice the privacy parameter is not within the tolerance of the test above."""
    data, truth = population(GRID, 7)
    for make in (lambda e: laplace_histogram(GRID, e, users=USERS), lambda e: local(GRID, SubsetSelection, e)):
        source = SeededSource(3)
        errors = [float(emd(GRID, make(1).estimate(data, source=source).values, truth)) for _ in range(60)]
        assert abs(np.mean(errors) / make("1.5").predicted_emd(truth) - 1) > 0.3
        assert abs(np.mean(errors) / make("0.7").predicted_emd(truth) - 1) > 0.15


def test_users_who_differ_never_have_a_larger_error_than_predicted():
    rng = np.random.default_rng(1)
    data = np.repeat(rng.integers(0, GRID.items, size=USERS), ITEMS).reshape(USERS, ITEMS)  # each holds one kind
    truth = np.bincount(data.ravel(), minlength=GRID.items) / data.size
    built, source = local(GRID, RandomisedResponse, 8), SeededSource(2)
    errors = [float(emd(GRID, built.estimate(data, source=source).values, truth)) for _ in range(60)]
    assert np.mean(errors) < built.predicted_emd(truth)  # no drawing error here: a user's items are all alike
    assert np.mean(errors) < 0.4 * built.predicted_emd(truth)


def test_pooled_counts_give_the_same_law():
    data, truth = population(GRID, 5)
    held = np.bincount(data.ravel(), minlength=GRID.items)
    for baseline in baselines(GRID):
        first, second = SeededSource(11), SeededSource(12)
        by_user = [float(emd(GRID, baseline.estimate(data, source=first).values, truth)) for _ in range(60)]
        by_pool = [float(emd(GRID, baseline.estimate_pooled(held, source=second).values, truth)) for _ in range(60)]
        gap = np.mean(by_user) - np.mean(by_pool)
        assert abs(gap) < 5 * math.sqrt((np.var(by_user) + np.var(by_pool)) / 60), baseline.name


@pytest.mark.parametrize("reports", [1, 3, 9, 10])
def test_each_user_reports_as_many_items_as_said(reports):
    built = local(GRID, UnaryEncoding, 1, reports=reports)
    data = np.arange(USERS)[:, None] * np.ones(ITEMS, dtype=np.int64) % GRID.items
    chosen = built.chosen(data, source=SeededSource(1))
    assert np.array_equal(chosen, np.full(GRID.items, USERS * reports // GRID.items))
    mixed = np.tile(np.arange(ITEMS), (USERS, 1))
    seen = built.chosen(mixed, source=SeededSource(1))[:ITEMS]
    assert seen.sum() == USERS * reports
    assert np.abs(seen - USERS * reports / ITEMS).max() <= 6 * math.sqrt(USERS * reports / ITEMS)


def test_central_scales_are_those_of_replacing_one_user():
    laplace = laplace_histogram(WIDE, "1.25", users=10**4)
    assert float(laplace.noise.scale) == pytest.approx(2 / (1.25 * 10**4), rel=1e-9)
    assert laplace.event == UserLevelRelease("1.25", model="central")
    gaussian = gaussian_histogram(WIDE, "1.25", "1e-9", users=10**4)
    assert float(gaussian.noise.scale) == pytest.approx(math.sqrt(2) / (10**4 * gdp_mu_lower(1.25, 1e-9)), rel=1e-9)
    assert gaussian.event == UserLevelRelease("1.25", delta="1e-9", model="central")
    assert laplace.model is Model.CENTRAL


@pytest.mark.parametrize("space", [GRID, UNEVEN, DEEP], ids=["grid", "uneven", "deep"])
def test_levels_pay_for_the_largest_change_of_one_user(space):
    """Over all pairs of items the weighted masses move by at most the range, in the norm of the noise."""
    for noise, order in (("laplace", 1), ("gaussian", 2)):
        built = levelled_histogram(space, 1, "1e-6", users=1, noise=noise)
        tree = levelled_tree(space)
        table = np.array([tree.masses(row) for row in np.eye(space.items)]) * np.array(built.weights)[tree.depths]
        moved = max(np.linalg.norm(a - b, order) for a, b in itertools.combinations(table, 2))
        query = weighted_masses(space, tree, built.weights)
        assert np.array_equal(query.table.integers.toarray(), table)
        assert moved <= query.range_upper(order) <= moved * (1 + 1e-9)
        loss = 1 if noise == "laplace" else gdp_mu_lower(1.0, 1e-6)
        assert float(built.noise.scale) >= moved / loss
        assert sum(built.weights) == 1000


def test_consistent_variances_are_those_of_least_squares():
    """Second route: the covariance of generalised least squares by dense matrices."""
    rng = np.random.default_rng(4)
    for space in (GRID, UNEVEN, DEEP):
        tree = edge_tree(space)
        variances = rng.uniform(0.5, 3.0, tree.edges)
        design = np.array([tree.masses(row) for row in np.eye(space.items)]).T  # edges x items
        free = design[:, :-1] - design[:, -1:]  # the last item takes up the rest of the sum 1
        inverse = np.linalg.inv(free.T @ (free / variances[:, None]))
        wanted = np.diag(free @ inverse @ free.T)
        assert np.allclose(consistent_variances(tree, variances), wanted)


def test_levels_are_weighed_by_their_precision():
    """With nearly all of epsilon on the leaves, the noisy masses of clusters must not spoil their sums."""
    weights, users = (30, 970), 100
    tree = levelled_tree(GRID)
    noise = user_level_noise(weighted_masses(GRID, tree, weights), 1, noise="laplace", users=users)
    built, source = LevelledHistogram(GRID, users, noise, weights), SeededSource(6)
    held = np.full(GRID.items, 50)
    errors = np.array([tree.masses(built.estimate_pooled(held, source=source).values - 0.05) for _ in range(300)])
    assert ((errors**2).mean(axis=0) / built.edge_variances()).mean() == pytest.approx(1.0, abs=0.12)


def test_reports_by_levels_are_weighed_by_their_precision():
    few = replace(levelled_local_histogram(GRID, 1, users=USERS, channel=UnaryEncoding), weights=(50, 950))
    tree, source, held = levelled_tree(GRID), SeededSource(9), np.full(GRID.items, USERS // 20)
    errors = np.array([tree.masses(few.estimate_pooled(held, source=source).values - 0.05) for _ in range(200)])
    ratios = (errors**2).mean(axis=0) / few.edge_variances()
    assert ratios.mean() == pytest.approx(1.0, abs=0.15)
    assert ratios[tree.levels[0]].mean() == pytest.approx(1.0, abs=0.25)


def test_groups_of_a_level_are_a_partition():
    for space in (GRID, UNEVEN, DEEP):
        tree = edge_tree(space)
        for cells in cells_of(tree):
            sizes = np.bincount(cells.of_item, minlength=len(cells.edges))
            assert np.array_equal(sizes, (tree.ends - tree.starts)[cells.edges])
    assert [len(c.edges) for c in cells_of(edge_tree(DEEP))] == [3, 6, 18]
    assert [len(c.edges) for c in cells_of(edge_tree(UNEVEN))] == [3, 12]


def test_levels_are_a_much_stronger_baseline_on_clusters():
    flat, levels = (
        local(WIDE, SubsetSelection, "1.25"),
        levelled_local_histogram(WIDE, "1.25", users=USERS, channel=SubsetSelection),
    )
    assert levels.predicted_emd() < 0.6 * flat.predicted_emd()
    central = laplace_histogram(WIDE, 1, users=USERS).predicted_emd()
    assert levelled_histogram(WIDE, 1, users=USERS).predicted_emd() < 0.8 * central


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6))
def test_edges_give_the_earth_movers_distance(name, seed):
    space = SPACES[name]
    a, b = np.random.default_rng(seed).dirichlet(np.ones(space.items), size=2)
    edges = Edges.of(space)
    assert float(emd(space, a, b)) == pytest.approx(float(edges.lengths @ np.abs(edges.masses(a - b))), abs=1e-12)


def test_errors():
    built = local(GRID, UnaryEncoding, 1)
    with pytest.raises(DataError, match="rows of item ids"):
        built.estimate([[0, 1]])
    with pytest.raises(DataError, match="exactly the public number"):
        built.estimate(np.zeros((USERS, 3), dtype=int))
    with pytest.raises(DataError, match="same number of items"):
        built.estimate_pooled(np.zeros(GRID.items, dtype=int))
    with pytest.raises(DataError, match="same number of items"):
        laplace_histogram(GRID, 1, users=USERS).estimate_pooled(np.ones(GRID.items, dtype=int))
    with pytest.raises(ParameterError, match="reports is 11"):
        local(GRID, UnaryEncoding, 1, reports=11)
    with pytest.raises(ParameterError, match="channel is for 3 items"):
        LocalHistogram(GRID, 1, 1, 1, UnaryEncoding(3, 1), UserLevelRelease(1, model="local"))
    with pytest.raises(ParameterError, match="reference"):
        built.predicted_emd(np.ones(GRID.items))
    with pytest.raises(ParameterError, match="not those of a tree"):
        laplace_histogram(Euclidean([0, 0], [1, 1], step=0.5), 1, users=9).predicted_emd()
    for space in (SPACES["discrete"], SPACES["line"]):
        with pytest.raises(ParameterError, match="no levels"):
            levelled_histogram(space, 1, users=9)
    runs = Edges(np.array([0]), np.array([3]), np.ones(1))
    with pytest.raises(ParameterError, match="not below one edge"):
        levelled_histogram(GRID, 1, users=9).run_variances(runs, np.full(20, 0.05))
    assert Fraction(laplace_histogram(GRID, "1/3", users=9).event.epsilon) == Fraction(1, 3)
