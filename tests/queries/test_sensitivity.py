"""The theorem behind everything: a query moves by at most ell times the earth mover's distance."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.queries import (
    density,
    distance_to,
    function,
    histogram,
    linear_embedding,
    mean,
    multiscale,
    region_share,
    tree_edges,
)
from barrow.spaces import Circle, Clustered, Earth, Embedding, Euclidean, Line, Tree
from barrow.transport import emd_between

WORDS = Embedding([f"w{i}" for i in range(7)], np.random.default_rng(1).normal(size=(7, 3)))
TREE = Tree([("a", "left", 1), ("b", "left", 1), ("left", "root", 2), ("c", "root", 3)])
QUERIES = [
    mean(Line(0, 10, step=1, cells=True)),
    mean(Euclidean([0, 0], [1, 2], step=0.5)),
    linear_embedding(WORDS, [[1, 2, 0], [0, 1, -1]]),
    distance_to(Earth(box=(40, -74, 41, -73), cell=30), (40.5, -73.5)),
    region_share(TREE, members=["a"], ramp="0.5"),
    histogram(Clustered.grid(2, 3, r=0.2)),
    density(Circle.hours(), bandwidth="4 h"),
    density(Euclidean([0, 0], [1, 1], step=0.2), bandwidth="0.4"),
    multiscale(Circle.hours(), bandwidths=["6 h", "3 h", "cells"]),
    multiscale(Euclidean([0, 0], [1, 1], step=0.2), bandwidths=["0.6", "0.3", "cells"], shares=["0.2", "0.3", "0.5"]),
    function(TREE, [[0, 1], [5, 1], [2, -3]]),
    tree_edges(TREE),
    tree_edges(Clustered.grid(2, 3, r=0.2)),
    tree_edges(Line(0, 10, step=1, cells=True)),
]


def answer(query, items):
    table = query.table.integers.toarray() if query.table.sparse else query.table.integers
    return [Fraction(int(table[items, j].sum()), len(items)) * query.step for j in range(query.dimension)]


def size(query, a, b, p):
    gaps = np.array([abs(float(x - y)) for x, y in zip(answer(query, a), answer(query, b), strict=True)])
    return float(gaps.max() if p == math.inf else (gaps**p).sum() ** (1 / p))


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: f"{q.kind}-{q.space.kind}")
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_query_moves_by_at_most_ell_times_the_distance(query, data):
    users = st.lists(st.integers(0, query.space.items - 1), min_size=1, max_size=6)
    a, b = np.array(data.draw(users)), np.array(data.draw(users))
    w = emd_between(query.space, a, b)
    for p in (1.0, 2.0, math.inf):
        assert size(query, a, b, p) <= query.lipschitz_upper(p) * w * (1 + 1e-9) + 1e-12
        assert size(query, a, b, p) <= query.range_upper(p) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("query", [q for q in QUERIES if q.closed_form is None or q.dimension <= 3], ids=repr)
def test_a_constant_ten_percent_too_small_is_broken_by_some_pair(query):
    for p in (1.0, 2.0):
        worst = max(
            size(query, np.array([i]), np.array([j]), p) / emd_between(query.space, [i], [j])
            for i in range(query.space.items)
            for j in range(i)
        )
        assert worst > 0.9 * query.lipschitz_upper(p)


def test_data_sets_that_differ_only_in_size_are_at_distance_zero_and_answer_alike():
    query = mean(Line(0, 10, step=1, cells=True))
    assert answer(query, np.array([1, 5])) == answer(query, np.array([1, 5, 1, 5]))
