"""Decoders along trees: against linear and quadratic programmes, and on a million leaves."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.mechanisms.decoding.tree import (
    _scaled,
    decode,
    edge_values,
    empirical_bayes_histogram,
    nearest_histogram,
    nearest_on_tree,
    top_down_histogram,
)
from barrow.mechanisms.decoding.tree_estimates import consistent, multipliers, project
from barrow.spaces import Clustered, Discrete, Earth, EdgeTree, Line, Tree, edge_tree
from barrow.transport import emd


def below(tree: EdgeTree) -> np.ndarray:
    table = np.zeros((tree.edges, tree.items))
    for e in range(tree.edges):
        table[e, tree.starts[e] : tree.ends[e]] = 1.0
    return table


def least_cost(tree: EdgeTree, costs: np.ndarray, targets: np.ndarray) -> float:
    """The second route: a linear programme over the simplex."""
    from scipy.optimize import linprog

    table, k, edges = below(tree), tree.items, tree.edges
    result = linprog(
        np.concatenate([np.zeros(k), costs]),
        A_ub=np.block([[table, -np.eye(edges)], [-table, -np.eye(edges)]]),
        b_ub=np.concatenate([targets, -targets]),
        A_eq=np.concatenate([np.ones(k), np.zeros(edges)])[None],
        b_eq=[1.0],
        bounds=[(0, None)] * (k + edges),
    )
    return float(result.fun)


@st.composite
def spaces(draw):
    kind = draw(st.sampled_from(["tree", "clustered", "discrete", "line", "caterpillar"]))
    whole = st.integers(1, 3)
    if kind == "clustered":
        sizes = draw(st.lists(whole, min_size=2, max_size=4))
        return Clustered({str(i): [f"{i}/{j}" for j in range(size)] for i, size in enumerate(sizes)}, r=0.25)
    if kind == "discrete":
        return Discrete([str(i) for i in range(draw(st.integers(2, 6)))])
    if kind == "line":
        gaps = draw(st.lists(whole, min_size=1, max_size=7))
        points = np.cumsum([0, *gaps])
        return Line(0, float(points[-1]), points=points)
    if kind == "caterpillar":
        depth = draw(st.integers(2, 6))
        spine = [(f"s{i + 1}", f"s{i}", draw(whole)) for i in range(depth)]
        return Tree([*spine, *((f"leaf{i}", f"s{i}", draw(whole)) for i in range(depth))])
    edges = [(str(i), str(draw(st.integers(0, i - 1))), draw(whole)) for i in range(1, draw(st.integers(4, 12)))]
    edges += [("left", "0", 1), ("right", "0", draw(whole))]
    return Tree(edges)


@st.composite
def noisy(draw):
    """A space, edge values (ties and values outside of every histogram included) and weights."""
    space = draw(spaces())
    tree = edge_tree(space)
    fine = draw(st.sampled_from([1, 4, 1000]))
    number = st.integers(-fine, 2 * fine).map(lambda i: i / fine)
    targets = np.array(draw(st.lists(number, min_size=tree.edges, max_size=tree.edges)))
    weights = np.array(draw(st.lists(st.integers(1, 3), min_size=tree.edges, max_size=tree.edges)), dtype=float)
    return space, tree, targets * tree.lengths, weights


def is_histogram(found: np.ndarray) -> bool:
    return bool(found.min() >= 0.0 and abs(found.sum() - 1.0) < 1e-12)


@settings(deadline=None, max_examples=150)
@given(noisy(), st.booleans())
def test_nearest_histogram_is_the_exact_minimiser(case, weighted):
    space, tree, values, weights = case
    result = nearest_histogram(space, values, weights=weights if weighted else None)
    assert is_histogram(result)
    costs = weights if weighted else np.ones(tree.edges)
    reached = float(costs @ np.abs(edge_values(space, result) - values))
    assert reached == pytest.approx(least_cost(tree, costs * tree.lengths, values / tree.lengths), abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(noisy())
def test_a_line_is_also_a_deep_tree(case):
    _, tree, values, _ = case
    result = nearest_on_tree(tree, tree.lengths, values / tree.lengths)
    reached = np.abs(edge_values(tree, result) - values).sum()
    assert reached == pytest.approx(np.abs(edge_values(tree, nearest_histogram(tree, values)) - values).sum(), abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(noisy())
def test_consistent_masses_solve_the_normal_equations(case):
    _, tree, values, variances = case
    result = consistent(*_scaled(tree, values, variances))
    table = below(tree)
    # Unknown: the items' weights with sum 1; eliminate the last.
    free = np.vstack([np.eye(tree.items - 1), -np.ones(tree.items - 1)])
    offset = np.append(np.zeros(tree.items - 1), 1.0)
    scale = tree.lengths / np.sqrt(variances)
    solved, *_ = np.linalg.lstsq(
        scale[:, None] * (table @ free), scale * (values / tree.lengths - table @ offset), rcond=None
    )
    assert np.allclose(result, table @ (free @ solved + offset), atol=1e-8)


@settings(deadline=None, max_examples=60)
@given(noisy())
def test_top_down_gives_histograms_and_keeps_what_is_one(case):
    space, _, values, variances = case
    result = top_down_histogram(space, values, variances=variances)
    assert is_histogram(result)
    for how in ("auto", "nearest", "top_down"):
        again = decode(space, edge_values(space, result), how=how)
        assert np.allclose(again, result, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(noisy())
def test_edge_values_are_an_isometry(case):
    space, _, values, _ = case
    a, b = nearest_histogram(space, values), decode(space, values[::-1].copy())
    assert emd(space, a, b) == pytest.approx(np.abs(edge_values(space, a) - edge_values(space, b)).sum(), abs=1e-9)


def test_on_a_line_top_down_is_the_nearest_distribution_function():
    from scipy.optimize import minimize

    line = Line(0, 4, points=[0, 1, 3, 4])
    values = np.array([0.2, -0.1, 0.3])
    result = np.cumsum(top_down_histogram(line, values))[:-1]
    lengths = edge_tree(line).lengths

    def cost(x: np.ndarray) -> float:
        return float((((lengths * x - values) / 0.1) ** 2).sum())

    order = [{"type": "ineq", "fun": lambda x, i=i: x[i + 1] - x[i]} for i in range(2)]
    best = minimize(cost, [0.2, 0.5, 0.8], bounds=[(0, 1)] * 3, constraints=order, tol=1e-12)
    assert np.allclose(result, best.x, atol=1e-5)


def test_deep_trees_are_decoded_to_the_nearest_histogram():
    """A caterpillar of 300 levels: what projections from the root pile up, the joint minimiser does not."""
    generator = np.random.default_rng(2)
    spine = [(f"s{i + 1}", f"s{i}", 1.0) for i in range(300)]
    tree = edge_tree(Tree([*spine, *((f"leaf{i}", f"s{i}", 1.0) for i in range(300)), ("end", "s300", 1.0)]))
    truth = generator.dirichlet(np.full(tree.items, 0.2))
    values = edge_values(tree, truth) + generator.laplace(scale=1.0 / tree.edges, size=tree.edges)
    errors = {
        how: np.abs(edge_values(tree, decode(tree, values, how=how, variances=1.0)) - edge_values(tree, truth)).sum()
        for how in ("auto", "nearest", "top_down")
    }
    assert errors["auto"] == errors["nearest"] < 0.7 * errors["top_down"]


def test_ties_do_not_favour_the_first_items():
    """All of ten equal items claim a fifth: each must lose the same."""
    space = Discrete([str(i) for i in range(10)])
    assert np.allclose(nearest_histogram(space, np.full(10, 0.1)), 0.1)
    assert np.allclose(nearest_histogram(space, np.full(10, -0.1)), 0.1)


def test_a_million_leaves_are_decoded_in_seconds(record_property):
    generator = np.random.default_rng(1)
    tree = edge_tree(Clustered.grid(1000, 1000, r=0.05))
    truth = generator.dirichlet(np.full(tree.items, 0.1))
    values = edge_values(tree, truth) + generator.laplace(scale=1e-6, size=tree.edges)
    for how in ("nearest", "top_down"):
        start = time.process_time()
        result = decode(tree, values, how=how)
        seconds = time.process_time() - start
        record_property(f"decode_1e6_seconds_{how}", seconds)
        assert is_histogram(result)
        assert seconds < 20.0


def test_bad_input_is_refused_kindly():
    space = Discrete(["a", "b", "c"])
    with pytest.raises(ParameterError, match="each of the 3 edges"):
        decode(space, [0.1, 0.2])
    with pytest.raises(ParameterError, match="not finite"):
        decode(space, [0.1, np.nan, 0.2])
    with pytest.raises(ParameterError, match="0 or negative"):
        decode(space, [0.1, 0.2, 0.2], variances=[1, 0, 1])
    with pytest.raises(ParameterError, match="how is 'best'"):
        decode(space, [0.1, 0.2, 0.2], how="best")
    with pytest.raises(ParameterError, match="not those of a tree"):
        decode(Earth(box=(40, -75, 41, -74), cell=20), [0.1])
    with pytest.raises(ParameterError, match="one item"):
        decode(Discrete(["a"]), [])
    with pytest.raises(ParameterError, match="3 weights"):
        edge_values(space, [1.0])


def test_edge_values():
    assert edge_values(Clustered.grid(2, 2, r=0.25), [0.5, 0.25, 0.125, 0.125]).tolist() == [
        0.28125,
        0.09375,
        0.0625,
        0.03125,
        0.015625,
        0.015625,
    ]


def test_nearest_histogram():
    assert nearest_histogram(Discrete(["a", "b", "c"]), [0.35, 0.25, -0.1]).round(9).tolist() == [0.6, 0.4, 0.0]


def test_top_down_histogram():
    assert top_down_histogram(Line(0, 3, points=[0, 1, 3]), [0.2, 0.2]).round(9).tolist() == [0.36, 0.0, 0.64]


def test_empirical_bayes_histogram():
    values = [0.5, 0.02, -0.02, 0.01, -0.01, 0.0, 0.01, -0.01, 0.0, 0.0]
    space = Discrete([str(i) for i in range(len(values))])
    assert empirical_bayes_histogram(space, values, variances=0.0001).round(3).tolist()[:3] == [1.0, 0.0, 0.0]


def test_multipliers():
    assert multipliers(np.array([0.7, 0.5, -0.3]), np.ones(3), np.array([0]), np.array([1.0])).round(9).tolist() == [
        -0.1
    ]


def test_project():
    assert project(np.array([0.7, 0.5, -0.3]), np.ones(3), np.array([0]), np.array([1.0])).round(9).tolist() == [
        0.6,
        0.4,
        0.0,
    ]


def test_decode():
    assert decode(Discrete(["a", "b", "c"]), [0.35, 0.25, -0.1]).round(9).tolist() == [0.6, 0.4, 0.0]
