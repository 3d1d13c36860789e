"""Mistakes that tests of edge noise must notice: each is made on purpose, and the test that is named must fail.

| mistake | test that fails |
|---|---|
| sampling costs alpha, or alpha e^(alpha/(2s)) | ``test_sampling``: the factor cannot be smaller |
| all lengths 1 % longer | ``test_graphs``: items are no farther apart along the graph, shared items too |
| rows of latitude at the equatorward latitude; a band without poles | ``test_graphs``: two tests of these names |
| all cones of a rectangle alike | ``test_edges``: a rectangle has the right directions |
| an edge drawn once for each end | ``test_edges``: both ends use one number |
| floats of an edge sum trusted too far | ``test_edges``: floats are within their bound of balls |
| half the noise on an edge | ``test_edge_histogram``: audit of an edge |
| faces priced as four edges in the covariance | ``test_edge_histogram``: covariance is that of the noise |
| intervals 8 % too narrow; faces counted as edges | ``test_edge_intervals``: intervals of faces cover |
| no union bound over simple regions | ``test_edge_intervals``: all simple regions are counted |
| nodes that carry nothing forgotten in a region | ``test_histogram_regions``: sides of a tree are the cheapest |

Mistakes that a test makes by itself (equatorward rows, the band, the audit) are not made again here.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import replace

import numpy as np
import pytest

from barrow.mechanisms import edge_intervals, edge_sums, tree_shares
from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.noise.additive import graph_noise
from barrow.spaces import Space


def noticed(where, name, *arguments):
    """Whether a test fails by an assertion."""
    try:
        getattr(importlib.import_module(f"tests.{where}"), name)(*arguments)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("price", [lambda alpha, s: alpha, lambda alpha, s: alpha * math.exp(alpha / (2 * s))])
def test_cheaper_samples(monkeypatch, price):
    tests = importlib.import_module("tests.accounting.test_sampling")
    monkeypatch.setattr(tests, "sampled_alpha_upper", price)
    assert noticed("accounting.test_sampling", "test_the_factor_cannot_be_smaller")


def test_longer_edges(monkeypatch):
    built = Space.graph

    def longer(self, spacing=None):
        graph = built(self, spacing)
        result = replace(graph, lengths=graph.lengths * 1.01)
        object.__setattr__(result, "proved_for", self)
        return result

    monkeypatch.setattr(Space, "graph", longer)
    tests = importlib.import_module("tests.spaces.test_graphs")
    for name in ("line", "circle", "box"):
        assert noticed("spaces.test_graphs", "test_shared_items_are_no_farther_apart_along_the_graph", name)
    plain = next(case for case in tests.CASES if case.space.kind == "line")
    assert noticed("spaces.test_graphs", "test_items_are_no_farther_apart_along_the_graph", plain)


def test_two_numbers_for_one_edge(monkeypatch):
    built = graph_noise.NodeSums._floats

    def apart(self, drawn):
        result = built(self, drawn)
        own = drawn.values / self.lengths
        other = -own[::-1]  # as independent of what the heads get as another draw, but for two edges
        return replace(result, values=result.values + np.bincount(self.tails, own - other, self.nodes))

    monkeypatch.setattr(graph_noise.NodeSums, "_floats", apart)
    assert noticed("noise.additive.test_edges", "test_both_ends_use_one_number")


def test_bounds_that_are_too_small(monkeypatch):
    built = graph_noise.NodeSums._floats

    def trusting(self, drawn):
        result = built(self, drawn)
        return replace(result, error=result.error * 1e-4)

    monkeypatch.setattr(graph_noise.NodeSums, "_floats", trusting)
    assert noticed("noise.additive.test_edges", "test_floats_are_within_their_bound_of_balls")


def test_faces_as_four_edges_in_the_covariance(monkeypatch):
    built = EdgeHistogram.covariance.func

    def plain(self):
        return built(replace(self, blocks="edges"))

    monkeypatch.setattr(EdgeHistogram, "covariance", property(plain))
    assert noticed("mechanisms.test_edge_histogram", "test_covariance_is_that_of_the_noise", "faces")


def test_narrow_intervals(monkeypatch):
    built = edge_sums.EdgeSum.half_width
    monkeypatch.setattr(edge_sums.EdgeSum, "half_width", lambda self, level: 0.92 * built(self, level))
    assert noticed("mechanisms.test_edge_intervals", "test_intervals_of_faces_cover_what_they_say")
    assert noticed("mechanisms.test_edge_intervals", "test_the_convolution_is_safe_and_close", [0.3, 1.0, 2.0, 5.0])


def test_faces_as_edges_in_intervals(monkeypatch):
    built = edge_sums.EdgeSum.half_width

    def alone(self, level):
        if self.cycles is None or not len(self.cycles):
            return built(self, level)
        sizes = np.abs(self.cycles / self.lengths / self.rate).ravel()
        return built(edge_sums.EdgeSum(np.concatenate([self.scales, sizes[sizes > 0]])), level)

    monkeypatch.setattr(edge_sums.EdgeSum, "half_width", alone)
    assert noticed("mechanisms.test_edge_intervals", "test_intervals_of_faces_cover_what_they_say")


def test_no_union_bound(monkeypatch):
    monkeypatch.setattr(edge_intervals, "_share", lambda level, boundary, log_many: level)
    assert noticed("mechanisms.test_edge_intervals", "test_all_simple_regions_of_a_tiny_grid_are_counted")
    assert noticed("mechanisms.test_histogram_regions", "test_all_regions_at_once_are_counted_by_their_boundaries")


def test_nodes_in_between_left_outside(monkeypatch):
    def careless(tree, inside, weights):
        fixed = np.zeros(tree.edges, dtype=bool)
        owned = tree.owners >= 0
        fixed[tree.owners[owned]] = inside[owned]
        return fixed, bool(inside[~owned][0]) if (~owned).any() else False

    tests = importlib.import_module("tests.mechanisms.test_histogram_regions")
    for module in (tree_shares, tests):
        monkeypatch.setattr(module, "tree_sides", careless)
    assert noticed("mechanisms.test_histogram_regions", "test_sides_of_a_tree_are_the_cheapest_of_all", "clusters")
