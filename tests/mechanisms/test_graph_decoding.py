"""Decoders of values at the nodes of a graph, each against a general solver or its own certificate."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.baselines.graph_decoders import NodeCovariance, decode, least_squares
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array, hstack

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.mechanisms.decoding.entropic import inner
from barrow.mechanisms.decoding.graph import GraphDecoder
from barrow.mechanisms.decoding.graph_scales import graph_scales
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.spaces import Euclidean, Finite, Line, NeighbourGraph
from barrow.spaces.spanners import star_graph
from barrow.transport import emd
from barrow.transport.graph_flow import cheapest_flow

HOW = ("auto", "smooth", "nearest", "empirical_bayes", "least_squares")

RNG = np.random.default_rng(7)
POINTS = RNG.random((30, 2))
APART = np.sqrt(((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=2)) / np.sqrt(2)
SPACES = {
    "square": (Euclidean([0, 0], [1, 1], step=1 / 6), None),
    "coarse square": (Euclidean([0, 0], [1, 1], step=1 / 9), 1 / 3),
    "rectangle": (Euclidean([0, 0], [1, 2], step=1 / 4), None),
    "line": (Line(0, 1, step=1 / 20), 1 / 7),
    "points": (Finite([str(i) for i in range(30)], APART), None),
}


def released(name, users=400, seed=0):
    space, spacing = SPACES[name]
    plan = edge_histogram(space, 25, users=users, spacing=spacing)
    truth = np.random.default_rng(seed).dirichlet(np.full(space.items, 0.3))
    zero = Center.from_integers(np.zeros(plan.graph.nodes, dtype=np.int64))
    values = plan.decoder.weights.T @ truth + plan.draw(zero, SeededSource(seed)).values
    return space, plan, truth, values


@pytest.mark.parametrize("name", SPACES)
def test_every_decoder_gives_a_histogram_and_mends_the_noise(name):
    errors = {how: [] for how in HOW}
    for seed in range(4):
        space, plan, truth, values = released(name, seed=seed)
        for how in HOW:
            result = decode(plan.decoder, values, how)
            assert result.shape == (space.items,)
            assert (result >= 0).all()
            assert result.sum() == pytest.approx(1.0, abs=1e-9)
            errors[how].append(float(emd(space, result / result.sum(), truth)))
    blind = float(emd(space, np.full(space.items, 1 / space.items), truth))
    for how in HOW:
        assert np.mean(errors[how]) < max(2.2 * plan.noise_cost_upper, blind)
    assert np.mean(errors["smooth"]) <= 1.4 * np.mean(errors["nearest"])  # of rough populations


@pytest.mark.parametrize("name", SPACES)
def test_the_discrepancy_of_noise_is_that_of_its_freedom(name):
    _, plan, _, _ = released(name)
    noise = NodeCovariance(plan.covariance)
    zero = Center.from_integers(np.zeros(plan.graph.nodes, dtype=np.int64))
    source = SeededSource(3)
    result = np.mean([noise.discrepancy(plan.draw(zero, source).values) for _ in range(300)])
    freedom = plan.graph.nodes - 1
    assert result == pytest.approx(freedom, rel=0.15)
    # By the pseudo-inverse.
    values = RNG.normal(size=plan.graph.nodes)
    values -= values.mean()
    dense = np.linalg.pinv(plan.covariance.toarray(), rcond=1e-10)
    assert noise.discrepancy(values) == pytest.approx(values @ dense @ values, rel=1e-6)
    assert np.allclose(noise.inverse(values), dense @ values, rtol=1e-5, atol=1e-6 * np.abs(dense @ values).max())


@pytest.mark.parametrize("name", ["square", "coarse square", "points"])
def test_least_squares_is_that_of_a_general_solver(name):
    space, plan, _, values = released(name, users=100)
    decoder = plan.decoder
    y = decoder.checked(values)
    dense = np.linalg.pinv(plan.covariance.toarray(), rcond=1e-10)
    hats = decoder.weights.toarray()

    def cost(g):
        r = y - hats.T @ g
        return 0.5 * r @ dense @ r, -hats @ (dense @ r)

    result, steps = least_squares(plan.covariance.tocsr(), decoder.weights, y)
    assert steps < 40
    ours, slope = cost(result)
    # No histogram is better by more than the Frank-Wolfe gap, and that is small.
    assert slope @ result - slope.min() <= 1e-3 * space.items
    other = minimize(
        cost,
        np.full(space.items, 1 / space.items),
        jac=True,
        bounds=[(0, 1)] * space.items,
        constraints={"type": "eq", "fun": lambda g: g.sum() - 1, "jac": lambda g: np.ones(space.items)},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert ours <= other.fun + 1e-3 * space.items


@pytest.mark.parametrize("name", ["square", "coarse square", "points"])
def test_the_nearest_histogram_is_that_of_a_linear_programme_and_keeps_its_bound(name):
    space, plan, truth, values = released(name, users=100)
    g, decoder = plan.graph, plan.decoder
    y = decoder.checked(values)
    hats = csr_array(decoder.weights)
    costs = np.concatenate([g.lengths, g.lengths, np.zeros(space.items)])
    best = linprog(costs, A_eq=hstack([g.incidence, -g.incidence, hats.T]), b_eq=y, method="highs").fun
    result = decoder.nearest(values)
    ours = cheapest_flow(g, y - hats.T @ result).upper
    noise = cheapest_flow(g, y - hats.T @ truth).upper
    off = cheapest_flow(g, hats.T @ (result - truth)).upper
    assert best * (1 - 1e-6) <= ours <= 1.03 * best + 1e-9
    assert off <= 2.03 * noise


@pytest.mark.parametrize("name", ["square", "coarse square", "line", "points"])
def test_the_smooth_map_is_near_the_minimiser_that_it_claims(name):
    _, plan, _, values = released(name)
    decoder = plan.decoder
    result = decoder.smooth(values)
    y = decoder.checked(values)
    # One sparse factorisation: half the gradient's square by C^+ is the duality gap.
    gradient = plan.covariance @ result.dual - y + decoder.weights.T @ result.weights
    away = np.sqrt(0.5 * NodeCovariance(plan.covariance.tocsr()).discrepancy(gradient) / (2.0 * result.strength))
    assert away < 0.2
    dual = decoder.dual(y, decoder.scales.prior)
    exact = dual.fit(result.strength, 1e-6)
    assert 0.5 * np.abs(exact.weights - result.weights).sum() <= away + 1e-6
    # The primal objective of the exact one, by the pseudo-inverse and without the dual.
    dense = np.linalg.pinv(plan.covariance.toarray(), rcond=1e-10)
    prior = decoder.scales.prior

    def primal(mixture):
        r = y - decoder.weights.T @ decoder.scales.spread(mixture)
        return 0.5 * r @ dense @ r + result.strength * float((mixture * np.log(mixture / prior)).sum())

    best = dual.mixture(exact.dual, result.strength)
    value = primal(np.maximum(best, 1e-300))
    for seed in range(20):
        other = np.random.default_rng(seed).dirichlet(np.full(len(best), 0.5))
        assert value <= primal(np.maximum(0.99 * best + 0.01 * other, 1e-300)) + 1e-6 * abs(value)
    shift = 0.5 * inner(exact.dual, dual.covaried(exact.dual)) * 2 / (plan.graph.nodes - 1)
    assert result.discrepancy == pytest.approx(shift, rel=0.1)


@pytest.mark.parametrize("name", SPACES)
def test_bumps_are_histograms_of_growing_width(name):
    space, plan, _, _ = released(name)
    scales = graph_scales(plan.graph, space.items)
    assert list(scales.counts) == sorted(scales.counts, reverse=True)
    assert list(scales.widths) == sorted(scales.widths)
    for index in range(scales.atoms):
        bump = scales.spread(np.eye(scales.atoms)[index])
        assert (bump >= 0).all()
        assert bump.sum() == pytest.approx(1.0) or scales.prior[index] < 1e-200
    x, c = RNG.normal(size=space.items), RNG.random(scales.atoms)
    assert scales.gather(x) @ c == pytest.approx(x @ scales.spread(c))


def test_stars_have_no_scales_between_items_and_all():
    space = SPACES["points"][0]
    star = star_graph(space)
    scales = graph_scales(star, space.items)
    assert scales.counts[0] == space.items
    assert sum(scales.counts[1:]) <= 3
    plan = edge_histogram(space, 25, users=1000, graph=star)
    assert plan.decoder.decode(plan.draw(Center.of([1.0, *[0.0] * 30]), SeededSource(1)).values).argmax() == 0


def test_a_map_of_many_cells_is_quick_and_near():
    square = Euclidean([0, 0], [1, 1], step=1 / 48)
    plan = edge_histogram(square, 25, users=10**6)
    truth = np.exp(-((square.points - 0.4) ** 2).sum(axis=1) / 0.02)
    truth /= truth.sum()
    noise = plan.draw(Center.from_integers(np.zeros(plan.graph.nodes, dtype=np.int64)), SeededSource(1)).values
    result = plan.decoder.smooth(truth + noise)
    assert result.steps < 1500
    assert 0.5 * np.abs(result.weights - truth).sum() < 0.05


def test_bad_values_are_refused_and_answers_decode():
    space, plan, _, values = released("square")
    for call in (
        lambda: plan.decoder.decode(values[:-1]),
        lambda: plan.decoder.decode(np.full_like(values, np.nan)),
        lambda: plan.decoder.decode(values, "best"),
        lambda: GraphDecoder(plan.graph, 10**6, plan.covariance, 1.0),
        lambda: GraphDecoder(NeighbourGraph(2, [0], [1], [1.0]), 2, plan.covariance, 1.0),
    ):
        with pytest.raises(ParameterError):
            call()
    sample = plan.draw(UserCounts.of_users(space, [[3]] * 400).center(plan.query))
    for how in ("auto", "nearest"):
        assert plan.decoder.decode(sample.values, how).argmax() == 3


def test_graph_decoder():
    path = NeighbourGraph(8, range(7), range(1, 8), [1 / 8] * 7)
    covariance = 2e-07 * path.incidence @ path.incidence.T
    decoder = GraphDecoder(path, 8, covariance, cost=0.0003)
    assert decoder.decode([0.5, 0.1, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1]).round(2).tolist() == [
        0.5,
        0.1,
        0.0,
        0.0,
        0.1,
        0.1,
        0.1,
        0.1,
    ]


def test_graph_scales():
    line = NeighbourGraph(8, range(7), range(1, 8), [1 / 8] * 7)
    scales = graph_scales(line)
    assert scales.counts == (8, 4)
    assert scales.spread(np.eye(scales.atoms)[-1]).tolist() == [0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125]


def test_graph_scales_of_graph_scales():
    assert graph_scales(NeighbourGraph(4, [0, 0, 0], [1, 2, 3], [0.5] * 3)).counts == (4,)
