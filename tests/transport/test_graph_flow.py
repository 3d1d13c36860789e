"""Transport along graphs against a linear programme, and its bound on the earth mover's distance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack

from barrow.errors import ParameterError
from barrow.spaces import Circle, Euclidean, Finite, Line
from barrow.spaces.neighbours import Net
from barrow.transport import emd
from barrow.transport.graph_flow import cheapest_flow, emd_flow_upper, near_pairs, nearest_flow


def random_graph(rng, nodes):
    tails = np.concatenate([np.arange(1, nodes), rng.integers(0, nodes, nodes)])
    heads = np.concatenate([[rng.integers(0, i) for i in range(1, nodes)], rng.integers(0, nodes, nodes)])
    holds = tails != heads
    return tails[holds], heads[holds], rng.uniform(0.05, 1.0, len(tails))[holds]


def incidence(nodes, tails, heads):
    each = np.arange(len(tails))
    signs = np.repeat([1.0, -1.0], len(tails))
    return csr_array((signs, (np.concatenate([tails, heads]), np.concatenate([each, each]))), shape=(nodes, len(tails)))


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 25), st.integers(0, 10**6), st.booleans())
def test_the_cheapest_flow_is_that_of_a_linear_programme(nodes, seed, exact):
    rng = np.random.default_rng(seed)
    tails, heads, lengths = random_graph(rng, nodes)
    left = rng.normal(size=nodes)
    left -= left.mean()
    matrix = incidence(nodes, tails, heads)
    costs = np.concatenate([lengths, lengths])
    best = linprog(costs, A_eq=hstack([matrix, -matrix]).tocsr()[1:], b_eq=left[1:], method="highs").fun
    result = cheapest_flow(Net(nodes, tails, heads, lengths), left, exact=exact)
    assert result.lower <= best * (1 + 1e-7)
    assert result.upper >= best * (1 - 1e-7)
    assert result.upper <= best * (1 + (1e-6 if exact else 0.05))
    assert np.allclose(matrix @ result.masses, left, atol=1e-9)
    assert np.abs(result.masses) @ lengths == pytest.approx(result.upper, rel=1e-6)


@settings(deadline=None, max_examples=20)
@given(st.integers(3, 20), st.integers(0, 10**6), st.booleans())
def test_the_nearest_histogram_is_that_of_a_linear_programme(nodes, seed, exact):
    rng = np.random.default_rng(seed)
    tails, heads, lengths = random_graph(rng, nodes)
    items = int(rng.integers(1, nodes + 1))
    weights = eye_array(items, nodes, format="csr")
    values = rng.normal(size=nodes) * 0.2
    values += (1 - values.sum()) / nodes
    matrix = incidence(nodes, tails, heads)
    costs = np.concatenate([lengths, lengths, np.zeros(items)])
    best = linprog(costs, A_eq=hstack([matrix, -matrix, weights.T]), b_eq=values, method="highs").fun
    result = nearest_flow(Net(nodes, tails, heads, lengths), values, weights, exact=exact)
    assert result.remainder.min() >= 0
    assert result.remainder.sum() == pytest.approx(1.0)
    # Splitting ends after so many steps: where nothing need be moved, a trace is left (lengths are at most 1).
    assert best * (1 - 1e-7) <= result.upper <= best * (1 + (1e-6 if exact else 0.06)) + (1e-5 if exact else 2e-3)
    assert result.lower <= best * (1 + 1e-7) + 1e-12


@pytest.mark.parametrize(
    "space",
    [
        Euclidean([0, 0], [1, 1], step=1 / 9),
        Euclidean([0, 0, 0], [1, 1, 1], step=1 / 4),
        Line(0, 1, step=1 / 20),
        Circle(24, step=1),
        Finite(
            [str(i) for i in range(40)],
            np.abs(np.subtract.outer(np.arange(40.0) ** 1.3, np.arange(40.0) ** 1.3)) / 39.0**1.3,
        ),
    ],
)
def test_the_bound_is_at_most_a_third_too_large(space):
    rng = np.random.default_rng(1)
    for concentration in (0.1, 2.0):
        a, b = rng.dirichlet(np.full(space.items, concentration), size=2)
        true, bound = float(emd(space, a, b)), emd_flow_upper(space, a, b)
        assert true * (1 - 1e-9) <= bound <= 1.3 * true


def test_a_thousand_cells_and_more_are_bounded_closely():
    square = Euclidean([0, 0], [1, 1], step=1 / 40)
    rng = np.random.default_rng(2)
    a, b = rng.dirichlet(np.full(1600, 0.5), size=2)
    true, bound = float(emd(square, a, b)), emd_flow_upper(square, a, b)
    assert true * (1 - 1e-9) <= bound <= 1.03 * true
    rough = cheapest_flow(near_pairs(square), a - b, exact=False, tolerance=0.1)
    assert rough.lower <= bound <= rough.upper * (1 + 1e-6)
    assert rough.upper <= 1.02 * bound


def test_bad_graphs_are_refused():
    for call in (
        lambda: cheapest_flow(Net(3, [0, 1], [1, 2], [0.5, 0.0]), [1, 0, -1]),
        lambda: cheapest_flow(Net(3, [0, 1], [1, 5], [0.5, 1.0]), [1, 0, -1]),
        lambda: cheapest_flow(Net(3, [0], [1, 2], [0.5, 1.0]), [1, 0, -1]),
        lambda: cheapest_flow(Net(3, [0, 1], [1, 2], [0.5, 1.0]), [1, 0]),
    ):
        with pytest.raises(ParameterError):
            call()
    assert cheapest_flow(Net(3, [0, 1], [1, 2], [0.5, 1.0]), [0, 0, 0]).upper == 0.0


def test_flow():
    assert round(cheapest_flow(Net(3, [0, 1], [1, 2], [0.5, 0.25]), [1.0, 0.0, -1.0]).upper, 9) == 0.75


def test_cheapest_flow():
    flow = cheapest_flow(Net(4, [0, 1, 2, 3], [1, 2, 3, 0], [1.0] * 4), [1.0, 0.0, 0.0, -1.0], exact=False)
    assert flow.lower <= 1.0 <= flow.upper <= 1.02 * flow.lower


def test_nearest_flow():
    flow = nearest_flow(Net(3, [0, 1], [1, 2], [0.5, 0.25]), [0.7, -0.1, 0.4], eye_array(3, format="csr"))
    assert flow.remainder.round(9).tolist() == [0.7, 0.0, 0.3]
    assert round(flow.upper, 9) == 0.025


def test_emd_flow_upper():
    square = Euclidean([0, 0], [1, 1], step=1 / 8)
    # the diagonal, exactly
    assert round(emd_flow_upper(square, np.eye(64)[0], np.eye(64)[63]), 6) == 0.875
