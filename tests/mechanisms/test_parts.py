"""What internal names do, each by one known answer."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.mechanisms.additive import checked_model, wanted_norms
from barrow.mechanisms.edge_histogram import certified, edge_histogram, reach_upper, spacings
from barrow.mechanisms.edge_intervals import (
    RegionInterval,
    any_region_miss,
    half_width,
    noise_of,
    region_interval,
    simple_region_miss,
)
from barrow.mechanisms.edge_noise import node_half_widths
from barrow.mechanisms.edge_sums import equal_half_width, laplace_half_widths
from barrow.mechanisms.frequency import checked_decoder, whole_counts
from barrow.mechanisms.histograms import histogram_noise, tree_histogram
from barrow.mechanisms.itemwise import least_distance, refuse_sizes
from barrow.mechanisms.multiscale import (
    best_shares,
    map_of,
    mixed_reference,
    predicted_error,
    scales_of,
    usable_bandwidths,
)
from barrow.mechanisms.spans import DenseMoments, FlatMoments, halving_spans, spans_of
from barrow.mechanisms.statistics import UserCounts
from barrow.mechanisms.tree_shares import tree_sides
from barrow.queries import multiscale
from barrow.spaces import Circle, Clustered, Discrete, Euclidean, Line
from barrow.spaces.edges import edge_tree
from barrow.spaces.neighbours import NeighbourGraph


def test_wanted_norms():
    assert wanted_norms("auto", 3, Fraction(0)) == ["1", "2", "inf"]
    assert wanted_norms("gaussian", 3, Fraction(1, 10)) == [None]


def test_checked_model():
    assert checked_model("local", None)[1] == 1
    assert checked_model("central", 100)[1] == 100


def test_edge_histogram():
    assert (
        repr(edge_histogram(Circle.hours(), 10, users=1, model="local"))
        == "EdgeHistogram(NeighbourGraph(24 nodes, 24 edges), edges, local)"
    )


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


def test_region_interval():
    assert RegionInterval(0.2, 0.4, 0.3, 4).around(0.5).estimate == 0.4


def test_noise_of():
    plan = edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1)
    # one boundary, of length 1/4
    assert noise_of(plan, [1, 1, 0, 0]).scales.round(6).tolist() == [4.0]


def test_half_width():
    plan = edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1000)
    # ln 20 times 0.004
    assert round(half_width(plan, [1, 1, 0, 0]), 6) == 0.011983


def test_region_interval_of_edge_intervals():
    line = Line(0, 8, step=1, cells=True)
    plan = edge_histogram(line, 25, users=1000)
    drawn = plan.draw(UserCounts.of_users(line, [[0, 1, 6]] * 1000).center(plan.query))
    found = region_interval(plan, drawn.values, [0, 1, 2, 3])
    assert found.boundary == 1
    assert 0.6 < found.low < found.high < 0.7
    assert round(found.high - found.low, 3) == 0.002


def test_simple_region_miss():
    plan = edge_histogram(Euclidean([0, 0], [1, 1], step=1 / 8), 25, users=1000)
    assert simple_region_miss(plan, 8) < 1e-7


def test_any_region_miss():
    assert any_region_miss(10, 2) < 0.05 / 45


def test_node_half_widths():
    plan = edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1000)
    # one edge, or two
    assert node_half_widths(plan).round(5).tolist() == [0.01198, 0.01646, 0.01646, 0.01198]


def test_laplace_half_widths():
    assert laplace_half_widths(np.array([[1.0, 1.0], [1.0, 2.0]]), 0.05).round(2).tolist() == [4.11, 6.55]


def test_equal_half_width():
    assert [round(equal_half_width(k, 0.05), 3) for k in (1, 2, 4, 16, 64)] == [2.996, 4.113, 5.693, 11.163, 22.211]


def test_checked_decoder():
    assert checked_decoder(None, Discrete(["a", "b"])) == "tree"
    assert checked_decoder(None, Circle(24, unit="h", step=3)) == "bayesian"
    assert checked_decoder("none", Circle(24, unit="h", step=3)) == "none"


def test_whole_counts():
    assert whole_counts(np.array([0.5, 0.25, 0.25]), 7).tolist() == [3, 2, 2]


def test_tree_sides():
    tree = edge_tree(Clustered.grid(2, 2, r=0.25))
    below, root = tree_sides(tree, np.array([True, True, False, False]), 1.0 / tree.lengths**2)
    assert below.tolist() == [True, False, True, True, False, False]
    assert not root


def test_histogram_noise():
    made = histogram_noise(Line(0, 8, step=1, cells=True), "cells", 25, users=1000)
    assert made.decode(made.matrix @ np.eye(8)[3]).round(9).tolist() == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]


def test_refuse_sizes():
    assert refuse_sizes().problem == "Some users do not hold exactly the public number of items."


def test_least_distance():
    assert least_distance(Discrete(["a", "b"])) == 1


def test_map_of():
    query = multiscale(Line(0, 1, step=1 / 16), bandwidths=["1/4", "cells"])
    matrix = (query.table.floats() * float(query.step)).T
    assert int(map_of(query, matrix, matrix @ np.eye(16)[3], deviation=1e-6).weights.argmax()) == 3


def test_scales():
    scales = scales_of(Line(0, 1, step=1 / 16))
    assert [matrix.shape[1] for matrix in scales.matrices] == [3, 5, 9, 16]
    assert scales.atoms.shape == (16, 34)


def test_scales_of():
    assert round(float(scales_of(Line(0, 1, step=1 / 16)).prior.sum()), 12) == 1.0


def test_usable_bandwidths():
    assert usable_bandwidths(Line(0, 1, step=1 / 8)) == ["0.5", "0.25", "cells"]


def test_mixed_reference():
    weights = mixed_reference(Line(0, 1, step=1 / 16))
    assert round(float(weights.sum()), 12) == 1.0
    assert (weights > 0).all()


def test_predicted_error():
    query = multiscale(Line(0, 1, step=1 / 64), bandwidths=["1/4", "1/16", "cells"])
    rough = predicted_error(query, 1000.0, [[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    assert rough[0] < rough[1]


def test_best_shares():
    line = Line(0, 1, step=1 / 32)
    assert [[name for name, _ in best_shares(line, ("1/4", "cells"), rate)] for rate in (100.0, 1e6)] == [
        ["1/4"],
        ["1/4", "cells"],
    ]


def test_spans():
    assert spans_of(Discrete(["a", "b", "c"])).lengths.tolist() == [0.5, 0.5, 0.5]


def test_spans_masses():
    assert spans_of(Line(0, 3, step=1, cells=True)).masses(np.array([0.5, 0.25, 0.25])).tolist() == [0.5, 0.75]


def test_spans_spread():
    assert spans_of(Line(0, 3, step=1, cells=True)).spread(np.array([1.0, 10.0])).tolist() == [11.0, 10.0, 0.0]


def test_spans_of():
    space = Clustered.grid(2, 2, r=0.2)
    spans = spans_of(space)
    assert spans.lengths.tolist() == [0.4, 0.4, 0.1, 0.1, 0.1, 0.1]
    assert spans.exact


def test_halving_spans():
    spans = halving_spans(Euclidean([0, 0], [3, 3], step=1))
    assert not spans.exact
    assert len(spans.order) == 9


def test_dense_moments():
    moments = DenseMoments(spans_of(Discrete(["a", "b"])), np.array([[1.5, -0.5], [-0.5, 1.5]]))
    assert moments.at(np.array([0.5, 0.5])).tolist() == [1.25]


def test_flat_moments():
    assert FlatMoments(spans_of(Discrete(["a", "b"])), 0.5, 2).at(np.array([0.5, 0.5])).tolist() == [1.25]


def test_tree_histogram():
    assert (
        repr(tree_histogram(Discrete(["a", "b", "c"]), 25, users=100))
        == "TreeHistogram(EdgeTree(3 items, 3 edges), Laplace noise, central)"
    )
