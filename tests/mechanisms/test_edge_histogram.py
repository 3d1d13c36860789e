"""Histograms along edges: privacy of tiny graphs from exact densities, trees as before, covariances, local reports."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.mechanisms.edge_histogram import certified, edge_histogram, reach_upper, spacings
from barrow.mechanisms.histograms import histogram_noise
from barrow.noise import Center, rounded_edges
from barrow.noise.source import SeededSource
from barrow.promises import KNormNoise, Model
from barrow.queries import hats, query_from_spec
from barrow.spaces import (
    Circle,
    Clustered,
    Discrete,
    Earth,
    Embedding,
    Euclidean,
    Finite,
    Graph,
    Line,
    NeighbourGraph,
    Product,
    edge_tree,
)
from barrow.spaces.groups import Groups
from barrow.spaces.spanners import flow_cost, greedy_spanner

FAIR, FALSE = 1e-4, 1e-9
SQUARE = Finite(list("abcd"), [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]], unit="steps")


def one_user(space, item, users=1):
    return UserCounts.of_users(space, [[item]], users=users)


def copies(plan, center, count, seed):
    """The node values of many independent releases of one center: a wide graph of separate copies."""
    graph = plan.graph
    shift = np.arange(count)[:, None] * graph.nodes
    edges = np.arange(count)[:, None, None] * graph.edges
    result = rounded_edges(
        Center.from_integers(np.tile(np.array([int(2 * x) for x in center]), count), 2),
        (shift + graph.tails).ravel(),
        (shift + graph.heads).ravel(),
        np.tile(graph.lengths, count),
        plan.scale,
        cycles=None if plan.faces is None else (edges + plan.faces).reshape(-1, 4),
        turns=None if plan.faces is None else np.tile(graph.face_signs, (count, 1)),
        source=SeededSource(seed),
    )
    return result.values.reshape(count, graph.nodes)


def test_two_items_are_private_cell_by_cell():
    """Every output of the rounded release has a probability in closed form; no ratio exceeds e^(alpha EMD)."""
    alpha, grid = 3, Fraction(1, 8)
    plan = edge_histogram(Line(0, 1, points=[0.0, 1.0]), alpha, users=1, model="local", grid=grid)
    rate = alpha * mpmath.mpf(float(plan.graph.lengths[0]))
    # Values at the two nodes add up to 1 before rounding: an output is an interval of the second one.
    edges = [(j + Fraction(1, 2)) * grid for j in range(-40, 40)]
    cuts = [mpmath.mpf(x.numerator) / x.denominator for x in sorted({*edges, *(1 - x for x in edges)})]

    def log_probabilities(share):
        def mass(low, high):
            if high <= share or low >= share:
                near, far = sorted((abs(low - share), abs(high - share)))
                return mpmath.exp(-rate * near) * -mpmath.expm1(-rate * (far - near)) / 2
            return mass(low, share) + mass(share, high)

        return [mpmath.log(mass(mpmath.mpf(a), mpmath.mpf(b))) for a, b in itertools.pairwise(cuts)]

    for a, b in ((0.5, 0.625), (0.25, 0.75), (0.0, 1.0), (0.3, 0.301), (1 / 3, 0.9)):
        one, two = log_probabilities(mpmath.mpf(a)), log_probabilities(mpmath.mpf(b))
        loss = max(abs(x - y) for x, y in zip(one, two, strict=True)) / (alpha * abs(a - b))
        assert 0.99999 < loss <= 1


def triangle_log_density(z, lengths, rate):
    """Of D eta on a triangle: flows that make z are known up to a constant, which is integrated out."""
    flow = np.array([0.0, -z[1], -z[1] - z[2]])  # along edges 0-1, 1-2, 2-0: node i gets f_(i-1) - f_i

    def inside(c):
        return math.exp(-rate * float((lengths * np.abs(flow + c)).sum()))

    knots = sorted({-60.0 / rate, *(-flow).tolist(), 60.0 / rate})
    pieces = [integrate.quad(inside, a, b, epsabs=0, epsrel=1e-11)[0] for a, b in itertools.pairwise(knots)]
    return math.log(sum(pieces))


def test_noise_of_a_triangle_is_no_steeper_than_its_lengths():
    """Moving mass along an edge changes the log density by at most alpha times the length; nearly attained."""
    lengths, rate = np.array([0.3, 0.4, 0.5]), 2.0
    rng, steepest = np.random.default_rng(0), 0.0
    for trial in range(60):
        z = rng.normal(size=3) * (8.0 if trial % 2 else 1.0)
        z -= z.mean()
        edge = int(rng.integers(3))
        moved = z.copy()
        step = 1e-3
        moved[edge] -= step
        moved[(edge + 1) % 3] += step
        slope = abs(triangle_log_density(moved, lengths, rate) - triangle_log_density(z, lengths, rate)) / step
        steepest = max(steepest, slope / (rate * lengths[edge]))
    assert 0.999 < steepest <= 1 + 1e-6


def lower_epsilon(first, second, confidence=1e-6):
    """A lower bound on the privacy loss from counts of an event, by Clopper and Pearson."""
    a, b, n = int(first.sum()), int(second.sum()), len(first)
    low = stats.beta.ppf(confidence / 2, a, n - a + 1)
    high = stats.beta.ppf(1 - confidence / 2, b + 1, n - b)
    return math.log(low / high)


RING = NeighbourGraph(4, [0, 1, 2, 3], [1, 2, 3, 0], [0.5] * 4, faces=[[0, 1, 2, 3]])


@pytest.mark.parametrize("blocks", ["faces", "edges"])
@pytest.mark.parametrize("other", [1, 2])
def test_audit_of_a_cycle_of_four(blocks, other):
    """At alpha w <= 3 no half space tells two users apart beyond e^(alpha w); with half the noise one does."""
    count = 60_000
    plan = edge_histogram(SQUARE, 3, users=1, model="local", graph=RING, blocks=blocks)
    start, end = [1, 0, 0, 0], [0, 0, 0, 0]
    end[other] = 1
    one, two = copies(plan, start, count, 1), copies(plan, end, count, 2)

    def seen(first, second):
        a, b = (x[:, 0] - x[:, other] for x in (first, second))
        return max(lower_epsilon(a > t, b > t) for t in np.linspace(0.0, 3.0, 7))

    budget = 3 * SQUARE.distance(0, other).item()
    assert 0.3 * budget < seen(one, two) <= budget
    halves = [(x + center) / 2 for x, center in ((one, start), (two, end))]
    assert seen(*halves) > budget * (1.0 if other == 1 else 0.9)


@pytest.mark.parametrize(("factor", "caught"), [(1, False), (Fraction(1, 2), True)])
def test_audit_of_an_edge(factor, caught):
    plan = edge_histogram(Line(0, 1, points=[0.0, 1.0]), Fraction(3) / factor, users=1, model="local")
    one, two = (copies(plan, center, 60_000, seed)[:, 1] for seed, center in ((3, [0, 1]), (4, [1, 0])))
    seen = max(lower_epsilon(one > t, two > t) for t in (0.5, 0.9, 1.0, 1.2))
    assert (seen > 3) == caught
    assert seen > 0.8 * 3


def test_trees_give_the_tree_histogram():
    """Sums of node values below an edge are its mass with the tree histogram's noise, edge by edge."""
    space = Clustered.grid(3, 3, r=0.25)
    alpha, users = 25, 100
    plan, tree = edge_histogram(space, alpha, users=users), edge_tree(space)
    old = histogram_noise(space, "tree", alpha, users=users)
    below = np.zeros((tree.edges, plan.graph.nodes))
    for e in range(tree.edges):
        below[e, tree.starts[e] : tree.ends[e]] = 1.0
        if tree.ends[e] - tree.starts[e] > 1:
            inner = plan.graph.tails[e]
            assert inner >= space.items
            below[e, inner] = 1.0
    truth = np.bincount([0, 5], minlength=plan.graph.nodes) / 2
    draws = copies(plan, truth.tolist(), 10_000, 6)
    noise = (draws @ below.T - tree.masses(truth[: space.items])) * tree.lengths / float(old.noise.scale)
    for e in range(tree.edges):
        assert stats.kstest(noise[:, e], stats.laplace.cdf).pvalue > FAIR
    every = noise.ravel()
    assert stats.kstest(every * 1.05, stats.laplace.cdf).pvalue < FALSE
    assert np.corrcoef(noise.T) - np.eye(tree.edges) == pytest.approx(0, abs=0.06)


@pytest.mark.parametrize("blocks", ["faces", "edges"])
def test_covariance_is_that_of_the_noise(blocks):
    space = Euclidean([0, 0], [2, 3], step=1)
    plan = edge_histogram(space, 10, users=50, blocks=blocks)
    draws = copies(plan, [0] * 6, 60_000, 7)
    exact = plan.covariance.toarray()
    assert np.cov(draws.T) == pytest.approx(exact, abs=0.04 * exact.max())
    assert np.cov(draws.T) != pytest.approx(1.1 * exact, abs=0.04 * exact.max())
    assert exact.sum() == pytest.approx(0, abs=1e-12)
    if blocks == "faces":
        assert np.trace(exact) < np.trace(replace(plan, blocks="edges").covariance.toarray())


def test_faces_of_unit_squares_have_five_sixths_of_the_variance():
    plan = edge_histogram(SQUARE, 10, users=50, graph=RING)
    assert plan.covariance.toarray() * 6 / 5 == pytest.approx(replace(plan, blocks="edges").covariance.toarray())


@pytest.mark.parametrize(
    ("space", "spacing"),
    [
        (Line(0, 10, step=0.5), 1.7),
        (Circle.hours(), None),
        (Euclidean([0, 0], [1, 1], step=0.25), 0.4),
        (Earth(box=(40.5, -74.3, 41, -73.6), cell=12), 30),
        (Discrete(["a", "b", "c"]), None),
        (Graph([("a", "b", 1), ("b", "c", 2), ("c", "a", 2)]), None),
    ],
    ids=lambda x: getattr(x, "kind", str(x)),
)
def test_node_values_are_exact_and_unbiased(space, spacing):
    rng = np.random.default_rng(9)
    data = [rng.integers(0, space.items, rng.integers(1, 5)).tolist() for _ in range(20)]
    counts = UserCounts.of_users(space, data)
    plan = edge_histogram(space, 50, users=20, spacing=spacing)
    center = counts.center(plan.query)
    whole = plan.graph.whole_weights[: space.items].toarray()
    for node in range(plan.graph.nodes):
        exact = sum(Fraction(int(whole[i, node]), 2**48 * len(items)) for items in data for i in items) / 20
        assert center.exact_entry(node) == exact
    assert sum(center.exact_entry(v) for v in range(plan.graph.nodes)) == 1
    answer = plan.draw(center, SeededSource(10))
    assert not answer.private
    assert abs(float(answer.values.sum()) - 1) <= plan.graph.nodes * float(plan.grid) / 2
    assert np.abs(answer.values - center.approximation).max() > 0
    assert query_from_spec(space, plan.query.to_spec()) == plan.query


def test_local_reports_average_to_the_truth():
    circle = Circle(8, step=1)
    plan = edge_histogram(circle, 30, users=400, model="local")
    assert plan.scale == Fraction(1, 30)
    source = SeededSource(11)
    centers = [one_user(circle, item).center(plan.query) for item in (0, 1)]
    means = np.mean([plan.draw(centers[i % 2], source).values for i in range(400)], axis=0)
    deviation = np.sqrt(plan.covariance.diagonal())
    truth = np.array([0.5, 0.5, 0, 0, 0, 0, 0, 0])
    assert (np.abs(means - truth) < 5 * deviation).all()
    assert (np.abs(means - truth) > 0.01 * deviation).all()
    assert plan.event == KNormNoise(30, model="local", range_ratio=plan.event.range_ratio)


def test_events_are_priced_and_reach_no_farther_than_the_space():
    line = Line(0, 10, points=[0.0, 2.0, 4.0])
    event = edge_histogram(line, 20, users=100).event
    assert event.model is Model.CENTRAL
    assert float(event.range_ratio) == pytest.approx(0.4)
    assert "20" in str(price(event))
    wide = edge_histogram(Euclidean([0, 0], [1, 1], step=1 / 64), 20, users=100)
    assert wide.graph.nodes > 2000
    assert 0.9 < wide.event.range_ratio <= 1


def _over_floor(graph, network, draws, seed):
    """E EMD of the noise, along a network of nearly exact distances, over the least that additive noise can have."""
    rng, total = np.random.default_rng(seed), 0.0
    for _ in range(draws):
        eta = rng.laplace(size=graph.edges) / graph.lengths
        total += flow_cost(network, graph.incidence @ eta)
    return total / draws / (graph.nodes - 1)


def test_noise_is_near_the_least_that_is_possible():
    """No additive noise errs by less than (N-1)/(alpha n); roads come within 1.25 of it, planar points within 1.7."""
    points = np.random.default_rng(12).random((100, 2))
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    space = Embedding([str(i) for i in range(100)], points)
    fine = greedy_spanner(distances / space.diameter, 1.02)
    network = NeighbourGraph(100, fine.tails, fine.heads, space.block()[fine.tails, fine.heads])
    assert 1.0 < _over_floor(space.graph(), network, 4, 1) < 1.75
    sparse = greedy_spanner(distances, 2.2)
    edges = [(f"{a}", f"{b}", float(distances[a, b])) for a, b in zip(sparse.tails, sparse.heads, strict=True)]
    roads = Graph(edges)
    assert 1.0 < _over_floor(roads.graph(), roads.graph(), 4, 2) < 1.3


WRONG = {
    "alpha": (lambda: edge_histogram(Line(0, 4, step=1, cells=True), 0, users=10), "alpha is 0"),
    "no users": (lambda: edge_histogram(Line(0, 4, step=1, cells=True), 1, users=0), "users is 0"),
    "model": (lambda: edge_histogram(Line(0, 4, step=1), 1, users=1, model="shuffle"), "model is 'shuffle'"),
    "blocks": (lambda: edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1, blocks="cells"), "blocks is 'cells'"),
    "grid": (lambda: edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1, grid=10), "grid is 10"),
    "one item": (lambda: edge_histogram(Discrete(["a"]), 1, users=1), "one item"),
    "too long": (
        lambda: edge_histogram(SQUARE, 1, users=1, graph=NeighbourGraph(4, [0, 1, 2], [1, 2, 3], [0.5] * 3)),
        "items 0 and 3 are 1.5 apart",
    ),
    "by a per cent": (
        lambda: edge_histogram(SQUARE, 1, users=1, graph=replace(RING, lengths=RING.lengths * 1.01)),
        "items 0 and 1 are 0.505 apart, but 0.5 in the space",
    ),
    "foreign": (
        lambda: edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1, graph=Line(0, 5, step=0.5).graph(2)),
        "nothing proves",
    ),
    "other size": (lambda: edge_histogram(SQUARE, 1, users=1, graph=Line(0, 2, step=1).graph()), "nothing proves"),
    "text": (lambda: hats(SQUARE, graph="sha256:1"), "graph is a str"),
    "fewer nodes": (lambda: hats(SQUARE, graph=Line(0, 3, step=1, cells=True).graph()), "carries 3 items"),
    "fewer items": (lambda: hats(SQUARE, graph=Line(0, 9, step=1, cells=True).graph(4)), "carries 9 items"),
    "both": (lambda: edge_histogram(SQUARE, 1, users=1, spacing=1, graph=SQUARE.graph()), "spacing is 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused(name):
    make, pattern = WRONG[name]
    with pytest.raises(ParameterError, match=pattern):
        make()


def test_certified():
    assert (
        repr(certified(Line(0, 2, step=1, cells=True), NeighbourGraph(2, [0], [1], [0.5])))
        == "NeighbourGraph(2 nodes, 1 edges)"
    )
    with pytest.raises(
        ParameterError,
        match=re.escape(
            "Along the graph, items 0 and 1 are 0.75 apart, but 0.5 in the space.\n"
            "  allowed: a graph whose paths are no longer than the space's distances\n"
            "  fix:     space.graph(), or spaces.certified_graph(space, tails, heads)"
        ),
    ):
        certified(Line(0, 2, step=1, cells=True), NeighbourGraph(2, [0], [1], [0.75]))


def test_reach_upper():
    line = Line(0, 4, step=1, cells=True)
    assert round(reach_upper(line, line.graph()), 9) == 0.75


def test_spacings():
    assert spacings(Line(0, 1, step=1 / 16)) == [0.234375, 0.15625, 0.1171875, 0.08522727272727272, None]


def test_spacings_of_products_are_alike_in_all_parts_that_have_coordinates():
    square = Euclidean([0, 0], [1, 1], step=1 / 16)
    both = spacings(Product([square, square], weights=["2/3", "1/3"]))
    assert both[-1] is None
    assert (both[2], both[4]) == ((0.234375, 0.46875), (0.15625, 0.3125))  # 4 and 2 gaps, then 6 and 3
    assert spacings(Product([square, Discrete("ab")]))[0] == (pytest.approx(0.46875), None)
    assert spacings(Product([Discrete("ab"), Discrete("xy")])) == [None]
    assert spacings(Groups(["a", "b"], square)) == [None]  # there shares are read item by item


def test_in_four_dimensions_edges_serve_regions_and_cells_single_cells():
    """docs/proofs/edge-noise.md, Section 7: a cell's variance is 3.3 times larger, that of a box of 4^4 smaller."""
    square = Euclidean([0, 0], [7, 7], step=1)
    space = Product([square, square])
    plan = edge_histogram(space, 1, users=1)
    index = np.indices((7, 7, 7, 7)).reshape(4, -1)
    step = 0.5 / square.diameter
    middle = (index == 3).all(axis=0).astype(float)
    box = ((index >= 1) & (index < 5)).all(axis=0).astype(float)
    edges = [float(x @ plan.covariance @ x) for x in (middle, box)]
    cells = [8.0 / step**2 * x.sum() for x in (middle, box)]
    assert 3.2 < edges[0] / cells[0] < 3.5
    assert 0.8 < edges[1] / cells[1] < 0.9
