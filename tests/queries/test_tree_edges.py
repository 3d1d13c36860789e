"""Edge values of trees: an isometry in the 1-norm, constants and ranges against all pairs, a million leaves."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts, linear_noise
from barrow.queries import query_from_spec, tree_edges
from barrow.queries.edges import nearest_beyond, node_table
from barrow.queries.lipschitz import by_all_pairs
from barrow.spaces import Circle, Clustered, Discrete, Line, Tree, edge_names, edge_tree

NORMS = (1.0, 1.5, 2.0, 3.0, math.inf)


@st.composite
def trees(draw):
    """Random trees with lengths that differ by up to a hundred, unary chains and lone children included."""
    lengths = st.sampled_from([1, 2, 3, 10, 0.3, 0.1])
    count = draw(st.integers(3, 14))
    edges = [(str(i), str(draw(st.integers(max(0, i - 4), i - 1))), draw(lengths)) for i in range(1, count)]
    edges += [("left", "0", draw(lengths)), ("right", "0", draw(lengths))]
    return Tree(edges, diameter=draw(st.sampled_from([None, 500.0])))


@settings(deadline=None, max_examples=150)
@given(trees())
def test_constants_and_ranges_bound_all_pairs(tree):
    query = tree_edges(tree)
    result = by_all_pairs(tree, query.table, NORMS)
    closed = query._closed(NORMS)
    for p in NORMS:
        assert closed[p].lipschitz_upper >= result[p].lipschitz_upper * (1 - 1e-9)
        assert closed[p].range_upper == pytest.approx(result[p].range_upper, rel=1e-9)
        # What is used is never looser than 1e-9: where the closed form may be, all pairs are visited.
        assert query.lipschitz_upper(p) == pytest.approx(result[p].lipschitz_upper, rel=1e-9)
    assert closed[1.0].lipschitz_upper == pytest.approx(1.0, abs=1e-9)
    assert closed[2.0].lipschitz_upper <= result[2.0].lipschitz_upper * 1.07


@settings(deadline=None, max_examples=60)
@given(trees())
def test_the_nearest_way_beyond_each_edge_is_found_among_all_pairs(tree):
    edges = edge_tree(tree)
    rest = nearest_beyond(edges)[0]
    for e in range(edges.edges):
        inside = np.arange(edges.starts[e], edges.ends[e])
        outside = np.setdiff1d(np.arange(edges.items), inside)
        assert rest[e] + edges.lengths[e] == pytest.approx(tree.block(inside, outside).min(), rel=1e-9)


def test_a_constant_below_1_is_refuted_by_every_pair():
    """Power: an isometry leaves no room, so 1 % less would be wrong for every pair of every tree."""
    space = Clustered.grid(3, 4, r=0.02)
    query = tree_edges(space)
    table = query.table.integers.toarray() * float(query.step)
    for i in range(space.items):
        for j in range(i):
            assert np.abs(table[i] - table[j]).sum() > 0.99 * query.lipschitz_upper(1) * space.distance(i, j)


@pytest.mark.parametrize(
    ("space", "ell", "edges"),
    [
        (Clustered.grid(10, 10, r=0.05), math.sqrt(0.5), 110),
        (Clustered.grid(20, 50, r=0.01), math.sqrt(0.5), 1020),
        (Clustered.grid(3, 1, r=0.1), math.sqrt(0.5), 3),  # single items: a star
        (Discrete(["a", "b", "c"]), math.sqrt(0.5), 3),
        (Discrete(["a", "b"]), 1.0, 1),  # one number says it all
        (Line(0, 10, step=1, cells=True), 1.0, 9),
        (Tree.nested(["x/a/1", "x/a/2", "x/b/3", "y/c/4"], distances=[1, 0.25, 0.05]), None, 6),
    ],
)
def test_constants_of_known_trees(space, ell, edges):
    query = tree_edges(space)
    assert query.dimension == edges == len(query.outputs)
    assert query.lipschitz_upper(1) == pytest.approx(1.0, abs=1e-9)
    assert query.lipschitz_upper(1) >= 1.0 - 1e-12
    if ell is not None:
        assert query.lipschitz_upper(2) == pytest.approx(ell, rel=1e-6)


def test_the_worst_case_is_the_longest_distance():
    """D1: the range is ell times the longest distance, which a generous diameter makes small."""
    edges = [("a", "left", 1), ("b", "left", 1), ("left", "root", 2), ("c", "root", 3)]
    assert float(tree_edges(Tree(edges)).range_ratio(1)) == pytest.approx(1.0, abs=1e-9)
    assert float(tree_edges(Tree(edges, diameter=60)).range_ratio(1)) == pytest.approx(0.1, rel=1e-9)
    line = Line(0, 10, points=[0, 1, 2])
    assert float(tree_edges(line).range_ratio(1)) == pytest.approx(0.2, rel=1e-9)


def test_names_say_what_is_below():
    nested = Tree([("a", "left", 1), ("b", "left", 1), ("left", "mid", 2), ("mid", "root", 1), ("c", "root", 3)])
    assert edge_names(nested) == ["left", "c", "a", "b"]
    assert edge_tree(nested).lengths.tolist() == pytest.approx([3 / 7, 3 / 7, 1 / 7, 1 / 7])
    assert edge_names(Line(0, 3, points=[0, 1, 3])) == ["up to 0", "up to 1"]
    assert edge_names(Discrete(["yes", "no"])) == ["yes"]


def test_plain_data():
    space = Clustered.grid(2, 3, r=0.1)
    query = query_from_spec(space, {"kind": "tree-edges"})
    assert query == tree_edges(space)
    assert query.to_spec() == {"kind": "tree_edges"}


def test_a_million_leaves_take_seconds(record_property):
    space = Clustered.grid(1000, 1000, r=0.05)
    start = time.process_time()
    query = tree_edges(space)
    noise = linear_noise(query, 25, users=10_000)
    seconds = time.process_time() - start
    record_property("constants_1e6_seconds", seconds)
    assert (noise.name, noise.dimension) == ("Laplace", 1_001_000)
    assert float(noise.scale) == pytest.approx(4e-6, rel=1e-6)
    assert query.table.integers.nnz == 2 * 10**6
    assert seconds < 15.0
    counts = UserCounts.of_users(space, [[0, 999_999], [5]])
    assert counts.center(query).exact_entry(0) == query.table.integers[0, 0] * query.step * 3 / 4


def test_bad_trees_are_refused_kindly():
    with pytest.raises(ParameterError, match="not those of a tree"):
        tree_edges(Circle.hours())
    with pytest.raises(ParameterError, match="one item"):
        tree_edges(Discrete(["a"]))
    with pytest.raises(ParameterError, match="so deep"):
        tree_edges(Line(0, 1, step=1e-4))
    with pytest.raises(ParameterError, match="times as long as the longest"):
        tree_edges(Tree([("a", "x", 1e-20), ("b", "x", 1e-20), ("x", "root", 1), ("c", "root", 1)]))


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([("a", "b", 1), ("b", "a", 1)], "go in a circle"),
        ([("a", "root", 1), ("x", "y", 1), ("y", "x", 1)], "circle"),
        ([("a", "root", 0)], "length of 'a'"),
        ([("a", "root", -1)], "length of 'a'"),
        ([("a", "root", float("nan"))], "length of 'a'"),
        ([("a", "one", 1), ("b", "two", 1)], "roots"),
        ([("a", "x", 1), ("a", "y", 1), ("x", "y", 1)], "two parents"),
        ([], "no edges"),
    ],
)
def test_what_is_no_tree_is_refused_by_name(edges, words):
    with pytest.raises(ParameterError, match=words):
        tree_edges(Tree(edges))


def test_an_inner_node_is_no_item():
    edges = [("a", "left", 1), ("b", "left", 1), ("left", "root", 2), ("c", "root", 3)]
    with pytest.raises(ParameterError, match="default is 'left', which is not a label"):
        Tree(edges, default="left")
    with pytest.raises(ParameterError, match="does not have 2 levels"):
        Tree.nested(["US", "US/NY"], distances=[1, 0.25])


def test_node_table():
    three = Discrete(["a", "b", "c"])
    assert node_table(three, three.graph()).integers.toarray().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]


def test_nearest_beyond():
    tree = edge_tree(Tree([("a", "left", 1), ("b", "left", 2), ("left", "root", 2), ("c", "root", 3)], diameter=7))
    assert (nearest_beyond(tree)[0] * 7).round(9).tolist() == [4.0, 3.0, 2.0, 1.0]
