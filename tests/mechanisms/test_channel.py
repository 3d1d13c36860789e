"""Randomisers as linear maps: products and inverses against exact rationals, and what cannot be undone."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.randomisers.helpers import CLUSTERS, CROOKED, PLACES, UNEVEN, channels, exact_row

from barrow.errors import ParameterError
from barrow.mechanisms import MatrixChannel, TreeChannel, channel_of
from barrow.randomisers import (
    MixtureRandomiser,
    exponential,
    gkrr,
    laplace,
    mapped,
    matrix_randomiser,
    randomised_response,
    tree_response,
)
from barrow.randomisers.randomiser import TOTAL
from barrow.spaces import Clustered, Discrete, Embedding, Line

UNDONE = {name: r for name, r in channels().items() if name != "mapped"}


@pytest.mark.parametrize("name", UNDONE)
def test_products_and_inverse_are_those_of_the_exact_matrix(name):
    randomiser = UNDONE[name]
    channel = channel_of(randomiser)
    k = randomiser.space.items
    exact = [exact_row(randomiser, x) for x in range(k)]
    matrix = np.array([[float(q) for q in row] for row in exact])
    assert np.allclose(channel.matrix(), matrix, rtol=1e-12, atol=0)
    law = np.arange(1, k + 1) / (k * (k + 1) / 2)
    values = np.cos(np.arange(channel.reports))
    assert np.allclose(channel.forward(law), law @ matrix, rtol=1e-12, atol=0)
    assert np.allclose(channel.backward(values), matrix @ values, rtol=1e-9, atol=1e-12)
    # A B = I, and B 1 = 1: the estimate of any histogram of reports has mass 1.
    worst = channel.condition * 1e-13
    assert np.allclose(matrix @ channel.right_inverse(), np.eye(k), atol=worst)
    assert np.allclose(channel.right_inverse().sum(axis=1), 1.0, atol=worst)
    assert np.allclose(channel.inverse(law @ matrix), law, atol=worst)
    assert np.allclose(channel.inverse(np.eye(channel.reports)[0]), channel.right_inverse()[0], atol=worst)


@pytest.mark.parametrize("alpha0", ["0.001", "0.5", "3", "12"])
def test_gkrr_is_undone_by_the_papers_constants(alpha0):
    space = Clustered.grid(3, 4, r=0.25)
    channel = channel_of(gkrr(space, alpha0))
    s, t, rate = 3, 4, float(Fraction(alpha0))
    e, near = math.exp(rate), math.exp(0.75 * rate)
    z = e + (t - 1) * near + (s - 1) * t
    gap = math.expm1(rate) + (t - 1) * math.expm1(0.75 * rate)
    a = z / (e - near)
    b = -(near - 1) * z / ((e - near) * gap)
    c = -1 / gap
    inverse = channel.right_inverse()
    results = [inverse[0, 0], inverse[0, 1], inverse[0, 4]]
    assert np.allclose(results, [a + b + c, b + c, c], rtol=1e-6)


@pytest.mark.parametrize("randomiser", [gkrr(UNEVEN, 3), tree_response(PLACES, 3), tree_response(CROOKED, 4)])
def test_the_condition_number_is_that_of_the_eigenvalues(randomiser):
    channel = channel_of(randomiser)
    values = np.linalg.eigvalsh(channel.matrix())
    assert channel.condition == pytest.approx(values.max() / values.min(), rel=1e-9)
    assert values.max() == pytest.approx(1.0)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.floats(0.05, 20))
def test_random_trees_are_undone(seed, alpha0):
    rng = np.random.default_rng(seed)
    paths = sorted({f"{rng.integers(3)}/{rng.integers(3)}/{rng.integers(3)}" for _ in range(12)})
    from barrow.spaces import Tree

    if len({p.split("/")[0] for p in paths}) < 2:
        return
    channel = channel_of(tree_response(Tree.nested(paths, distances=[1, 0.5, 0.2]), Fraction(alpha0)))
    law = rng.dirichlet(np.ones(len(paths)))
    assert np.allclose(channel.inverse(channel.forward(law)), law, atol=1e-13 * channel.condition)
    dense = np.linalg.inv(channel.matrix())
    counts = rng.multinomial(1000, law) / 1000
    assert np.allclose(channel.inverse(counts), counts @ dense, atol=1e-12 * channel.condition)


def test_a_wider_matrix_gets_the_right_inverse_of_least_variance():
    rng = np.random.default_rng(3)
    matrix = rng.dirichlet(np.ones(6), size=3)
    channel = MatrixChannel(matrix)
    best = channel.right_inverse()
    law = matrix.mean(axis=0)
    plain = np.linalg.pinv(matrix)
    assert np.allclose(matrix @ plain, np.eye(3))
    for f in (*np.eye(3), rng.normal(size=3)):
        least = law @ (best @ f) ** 2
        assert least <= law @ (plain @ f) ** 2
        # No other right inverse is better: any other solution differs by something in the null space of A.
        null = np.eye(6) - plain @ matrix
        for _ in range(20):
            other = best @ f + null @ rng.normal(size=6) * 0.1
            assert np.allclose(matrix @ other, f)
            assert least <= law @ other**2


def test_reports_that_nobody_gives_do_no_harm():
    matrix = np.array([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]])
    assert np.allclose(MatrixChannel(matrix).right_inverse()[:2], np.linalg.inv(matrix[:, :2]))


def test_what_cannot_be_undone_is_refused_with_the_reason():
    two = Discrete(["a", "b"])
    with pytest.raises(ParameterError, match="condition number is infinite"):
        channel_of(matrix_randomiser(two, [[0.5, 0.5], [0.5, 0.5]]))
    with pytest.raises(ParameterError, match=r"condition number of its matrix is \d"):
        channel_of(matrix_randomiser(two, [[0.5, 0.5], [0.5 + 1e-14, 0.5 - 1e-14]]))
    with pytest.raises(ParameterError, match="3 different reports for 12 items"):
        channel_of(mapped(gkrr(CLUSTERS, 2), lambda label: label.split("/")[0]))
    with pytest.raises(ParameterError, match="1 different reports for 2 items"):
        MatrixChannel(np.array([[1.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(ParameterError, match="not known as a matrix"):
        channel_of(laplace(Embedding(["cat", "dog"], [[0, 1], [0, 2]]), 20))
    shape = gkrr(Clustered.grid(2, 2, r=0.25), 1).shape
    stops = [TOTAL if w == 4 else 0 for w in shape.widths.tolist()]
    with pytest.raises(ParameterError, match="same distribution"):
        TreeChannel.of(MixtureRandomiser(Clustered.grid(2, 2, r=0.25), shape, stops))


def test_a_function_that_loses_nothing_can_be_undone():
    inner = exponential(Line(0, 5, step=1, cells=True), 3)
    renamed = mapped(inner, lambda label: f"<{label}>")
    assert np.allclose(channel_of(renamed).right_inverse(), channel_of(inner).right_inverse())


def test_a_million_items_are_undone_quickly():
    import time

    clusters, inside = 1000, 1000
    k = clusters * inside
    starts = np.concatenate([[0], np.arange(clusters) * inside, np.arange(k)])
    ends = np.concatenate([[k], (np.arange(clusters) + 1) * inside, np.arange(k) + 1])
    parents = np.concatenate([[-1], np.zeros(clusters, int), 1 + np.arange(k) // inside])
    stops = np.concatenate([[TOTAL // 2], np.full(clusters, TOTAL // 4), np.full(k, TOTAL // 4)])
    channel = TreeChannel(starts, ends, parents, stops)
    law = np.arange(k) / (k * (k - 1) / 2)
    start = time.process_time()
    result = channel.inverse(channel.forward(law))
    assert time.process_time() - start < 2.0
    assert np.abs(result - law).max() < 1e-15


def test_one_item_is_no_riddle():
    channel = channel_of(randomised_response(Discrete(["a"]), 1))
    assert channel.inverse(np.array([1.0])).tolist() == [1.0]
    assert channel.condition == 1.0
