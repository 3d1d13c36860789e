"""What internal names of decoders do, each by one known answer."""

from __future__ import annotations

import numpy as np

from barrow.mechanisms.channel import MatrixChannel, channel_of
from barrow.mechanisms.decoding.bayesian import GAP, bayesian_update
from barrow.mechanisms.decoding.entropic import EntropicDual, EntropicFit, _Past, descend, inner
from barrow.mechanisms.decoding.graph import GraphDecoder, GraphMap
from barrow.mechanisms.decoding.graph_scales import graph_scales
from barrow.mechanisms.decoding.grid import discrepancy_map, nearest_in_simplex, nearest_map
from barrow.mechanisms.decoding.tree import (
    as_tree,
    decode,
    edge_values,
    empirical_bayes_histogram,
    nearest_histogram,
    top_down_histogram,
)
from barrow.mechanisms.decoding.tree_estimates import firsts, multipliers, project, running, spread
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.mechanisms.edge_intervals import (
    node_weights,
)
from barrow.randomisers import gkrr
from barrow.spaces import Clustered, Discrete, Line
from barrow.spaces.neighbours import NeighbourGraph


def test_bayesian_fit():
    fit = bayesian_update(MatrixChannel(np.array([[0.75, 0.25], [0.25, 0.75]])), [3, 1])
    assert fit.histogram.round(2).tolist() == [0.94, 0.06]
    assert fit.gap_upper <= GAP


def test_bayesian_update():
    assert bayesian_update(channel_of(gkrr(Clustered.grid(2, 2, r=0.1), 20)), [70, 10, 10, 10]).histogram.round(
        2
    ).tolist() == [0.79, 0.01, 0.1, 0.1]


def test_inner():
    assert inner(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == 11.0


def test_descend():
    seen = []

    def bowl(x):
        seen.append(float(x @ x))
        return (float(x @ x), 2.0 * x)

    descend(bowl, np.array([3.0, -1.0]), enough=lambda: seen[-1] < 1e-20, most=100)
    assert seen[-1] < 1e-20


def test_the_past_steps_speak_for_the_inverse_that_bfgs_updates():
    """Against the dense update H' = (1 - rsy') H (1 - rys') + rss', from the scaled identity and the steps kept."""
    rng, memory, size = np.random.default_rng(5), 3, 5
    curvature = np.diag([1.0, 2.0, 3.0, 5.0, 8.0]) + 0.1
    past, pairs, gradient = _Past(memory, size), [], rng.normal(size=size)
    assert past.newton(gradient) is gradient
    for _ in range(8):  # the table goes round twice
        moved = rng.normal(size=size)
        past.add(moved, curvature @ moved)
        past.add(moved, -moved)  # along which the gradient falls: not remembered
        pairs = [*pairs, (moved, curvature @ moved)][-memory:]
        moved, change = pairs[-1]
        inverse = np.eye(size) * (moved @ change) / (change @ change)
        for s, y in pairs:
            turned = np.eye(size) - np.outer(s, y) / (s @ y)
            inverse = turned @ inverse @ turned.T + np.outer(s, s) / (s @ y)
        np.testing.assert_allclose(past.newton(gradient), inverse @ gradient, rtol=1e-10, atol=1e-12)


def test_entropic_fit():
    assert EntropicFit(np.ones(1), np.zeros(1), 0.0, 3).steps == 3


def test_entropic_dual():
    def same(x):
        return x

    fit = EntropicDual(np.array([0.75, 0.5]), same, same, same, same, np.array([0.5, 0.5]), 1.0).fit(1e-06, 0.001)
    assert fit.weights.round(3).tolist() == [0.625, 0.375]


def test_graph_map():
    assert GraphMap(np.ones(1), 0.0, 0.9, 3, np.zeros(1)).discrepancy == 0.9


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


def test_decoded_map():
    import numpy as np

    assert nearest_map(np.eye(2), [0.75, 0.5]).weights.round(6).tolist() == [0.625, 0.375]


def test_nearest_map():
    import numpy as np

    assert nearest_map(np.array([[1.0, 0.0], [1.0, 1.0]]), [0.25, 1.0]).weights.round(6).tolist() == [0.25, 0.75]


def test_nearest_in_simplex():
    assert nearest_in_simplex([0.75, 0.5, -0.25]).tolist() == [0.625, 0.375, 0.0]


def test_as_tree():
    assert repr(as_tree(Discrete(["a", "b", "c"]))) == "EdgeTree(3 items, 3 edges)"


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


def test_firsts():
    assert firsts(np.array([3, 3, 5])).tolist() == [0, 2]


def test_running():
    assert running(np.array([1.0, 2.0, 3.0]), np.array([0, 2])).tolist() == [1.0, 3.0, 3.0]


def test_spread():
    assert spread(np.array([0, 2]), 3).tolist() == [0, 0, 1]


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


def test_discrepancy_map():
    eye, even = np.eye(4), np.full(4, 0.25)
    for noise, found in ((0.001, [0.5, 0.3, 0.1, 0.1]), (0.3, [0.3, 0.26, 0.22, 0.22])):
        fit = discrepancy_map(eye, [0.5, 0.3, 0.1, 0.1], deviation=noise, strongest=1.0, atoms=eye, prior=even)
        assert fit.weights.round(2).tolist() == found


def test_decode():
    assert decode(Discrete(["a", "b", "c"]), [0.35, 0.25, -0.1]).round(9).tolist() == [0.6, 0.4, 0.0]


def test_node_weights():
    inner, outer = node_weights(edge_histogram(Line(0, 8, step=1), 1, users=1, spacing=4), [0, 1, 2, 3, 4])
    assert inner.tolist() == [1.0, 0.0, 0.0]
    assert outer.tolist() == [1.0, 1.0, 0.0]
