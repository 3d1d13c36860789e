"""What internal names do, each by one known answer."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.mechanisms.additive import checked_model, wanted_norms
from barrow.mechanisms.channel import MatrixChannel, channel_of
from barrow.mechanisms.decoding.bayesian import GAP, bayesian_update
from barrow.mechanisms.decoding.descent import descend, inner
from barrow.mechanisms.decoding.entropic import EntropicDual, EntropicFit
from barrow.mechanisms.decoding.graph import GraphDecoder, GraphMap
from barrow.mechanisms.decoding.graph_scales import graph_scales
from barrow.mechanisms.decoding.grid import discrepancy_map, nearest_map
from barrow.mechanisms.decoding.simplex import nearest_in_simplex
from barrow.mechanisms.decoding.tree import (
    as_tree,
    decode,
    edge_values,
    empirical_bayes_histogram,
    nearest_histogram,
    top_down_histogram,
)
from barrow.mechanisms.decoding.tree_groups import firsts, multipliers, project, running, spread
from barrow.mechanisms.edge_histogram import certified, edge_histogram, reach_upper, spacings
from barrow.mechanisms.edge_intervals import (
    RegionInterval,
    any_region_level,
    half_width,
    node_weights,
    noise_of,
    region_interval,
    simple_region_level,
)
from barrow.mechanisms.edge_noise import node_half_widths
from barrow.mechanisms.edge_sums import equal_half_width, laplace_half_widths
from barrow.mechanisms.frequency import checked_decoder, whole_counts
from barrow.mechanisms.histogram_regions import tree_sides
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.itemwise import least_distance, refuse_sizes
from barrow.mechanisms.multiscale import map_of
from barrow.mechanisms.multiscale_scales import (
    best_shares,
    mixed_reference,
    predicted_error,
    scales_of,
    usable_bandwidths,
)
from barrow.mechanisms.spans import DenseMoments, FlatMoments, halving_spans, spans_of
from barrow.mechanisms.statistics import UserCounts
from barrow.mechanisms.tree_histogram import tree_histogram
from barrow.mechanisms.user_level.added import with_added, without_added
from barrow.mechanisms.user_level.ball import BallNoise, enclosing_ball, half_sphere_mean
from barrow.mechanisms.user_level.groups import grouped, has_groups
from barrow.mechanisms.user_level.histograms import user_level_histogram
from barrow.mechanisms.user_level.levels import cells_of, has_levels, levelled_tree, parts, weighted_masses
from barrow.mechanisms.user_level.local import SubsetReport, consistent_variances, local_subsets, parts_of_groups
from barrow.mechanisms.user_level.noise import axis_candidates, user_level_candidates, user_level_noise
from barrow.mechanisms.user_level.polytope import query_polytope
from barrow.mechanisms.user_level.subsets import (
    SubsetSelection,
    best_subset,
    checked_counts,
    checked_items,
    set_weight,
    uniform_subsets,
)
from barrow.noise import system_source
from barrow.noise.simulation import SeededSource
from barrow.queries import histogram, mean, multiscale
from barrow.randomisers import TOTAL, gkrr
from barrow.spaces import Circle, Clustered, Discrete, Euclidean, Line, NoRecords, Product
from barrow.spaces.edges import edge_tree
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


def test_with_added():
    space = NoRecords(Line(0, 4, step=1, cells=True))
    found = with_added(histogram(space.inner), space, 1)
    assert found.outputs[-1] == "no records"
    assert found.dimension == 5
    assert round(found.range_upper(1), 6) == 2.0
    assert round(found.range_upper(2) ** 2, 6) == 2.0


def test_without_added():
    assert without_added(np.array([0.3, 0.1, 0.6]), 1, lambda rest, times: rest).round(9).tolist() == [0.3, 0.1, 0.6]


def test_ball_noise():
    noise = BallNoise.of(mean(Line(0, 10, step=5, cells=True)), 1)
    assert round(float(noise.agree), 6) == 0.731059
    assert round(float(noise.length / noise.radius), 4) == 2.164


def test_ball_noise_mean_half_width():
    assert round(BallNoise.of(mean(Line(0, 10, step=5, cells=True)), 1).mean_half_width(10000), 4) == 0.106


def test_half_sphere_mean():
    assert [round(half_sphere_mean(d), 6) for d in (1, 2, 3)] == [1.0, 0.63662, 0.5]


def test_enclosing_ball():
    _middle, radius = enclosing_ball(histogram(Discrete(["a", "b", "c", "d"])))
    assert round(float(radius), 3) == 0.866


def test_grouped():
    found = grouped(Line(0, 16, step=1, cells=True))
    assert [len(level) for level in found.tree.levels] == [4, 16]
    assert found.names[0] == "0.5 to 3.5 (4 items)"


def test_has_groups():
    assert has_groups(Line(0, 16, step=1, cells=True))
    assert not has_groups(Line(0, 8, step=1, cells=True))


def test_grouped_of_groups():
    where_when = Product([Euclidean([0, 0], [4, 4], step=1), Circle.hours(3)], weights=["1/2", "1/2"])
    assert [len(level) for level in grouped(where_when).tree.levels] == [16, 128]


def test_user_level_histogram():
    made = user_level_histogram(Line(0, 8, step=1), "cells", 1, users=1000)
    assert made.kind == "cells"
    assert made.event.epsilon == Fraction(1, 1)
    assert round(1000 * float(made.noise.scale), 6) == 2.0


def test_has_levels():
    assert has_levels(Clustered.grid(3, 2, r=0.1))
    assert not has_levels(Discrete(["a", "b"]))


def test_levelled_tree():
    assert len(levelled_tree(Clustered.grid(3, 2, r=0.1)).levels) == 2


def test_parts():
    assert parts(np.array([1.0, 3.0])) == (250, 750)


def test_weighted_masses():
    space = Clustered.grid(2, 2, r=0.25)
    assert weighted_masses(space, levelled_tree(space), (600, 400)).range_upper(1) <= 2000.001


def test_cells_of():
    assert [len(cells.edges) for cells in cells_of(levelled_tree(Clustered.grid(3, 2, r=0.1)))] == [3, 6]


def test_subset_report():
    assert SubsetReport(0, (1, 3)).members == (1, 3)


def test_local_subsets():
    assert local_subsets(Discrete(["a", "b", "c"]), 1, users=10).event.model.value == "local"


def test_consistent_variances():
    assert consistent_variances(edge_tree(Discrete(["a", "b", "c"])), np.ones(3)).round(6).tolist() == [
        0.666667,
        0.666667,
        0.666667,
    ]


def test_parts_of_groups():
    assert parts_of_groups(edge_tree(Discrete(["a", "b", "c"])), np.array([1.0, 3.0, 4.0])).tolist() == [
        0.125,
        0.375,
        0.5,
    ]


def test_user_level_candidates():
    query = histogram(Discrete(["a", "b", "c"]))
    best = user_level_candidates(query, 1, noise="laplace", users=1000)[0]
    assert best.name == "Laplace"
    assert round(1000 * float(best.scale), 9) == 2.0


def test_axis_candidates():
    assert axis_candidates(mean(Line(0, 10, step=5, cells=True)), 1, users=100)[0].name == "Laplace"


def test_user_level_noise():
    assert round(float(user_level_noise(mean(Line(0, 10, step=5, cells=True)), 1, users=100).scale), 9) == 0.05


def test_query_polytope():
    found, unit = query_polytope(mean(Euclidean([0, 0], [2, 4], step=1)))
    assert len(found.facets) == 2
    assert round(float(unit), 6) == 3.0


def test_query_noise():
    made = user_level_candidates(mean(Euclidean([0, 0], [2, 4], step=1)), 1, users=100, noise="polytope")[0]
    assert made.name == "query K-norm"
    assert made.dimension == 2


def test_subset_selection():
    channel = SubsetSelection(100, 1)
    assert channel.subset == 27
    assert round(channel.epsilon, 9) == 1.0


def test_subset_selection_sets():
    assert SubsetSelection(5, 1, subset=2).sets([0, 4]).sum(axis=1).tolist() == [2, 2]


def test_subset_selection_simulated_tally():
    found = SubsetSelection(4, 1).simulated_tally([10**6] * 4, SeededSource(1))
    assert found.shape == (4,)
    assert abs(found.sum() / 4000000.0 - 1) < 0.01


def test_subset_selection_variances():
    assert SubsetSelection(4, 1).variances([1, 4], [0.25, 1.0]).round(6).tolist() == [1.889056, 0.0]


def test_best_subset():
    assert best_subset(100, 1.0) == 27
    assert best_subset(10, 5.0) == 1


def test_uniform_subsets():
    assert uniform_subsets(3, 5, 2, system_source()).sum(axis=1).tolist() == [2, 2, 2]


def test_checked_items():
    assert checked_items(3) == 3


def test_set_weight():
    assert round(set_weight(1, Fraction(1, 2)) / TOTAL, 6) == 0.462117


def test_checked_counts():
    assert checked_counts([1, 2], 2).tolist() == [1, 2]


def test_wanted_norms():
    assert wanted_norms("auto", 3, Fraction(0)) == ["1", "2", "inf"]
    assert wanted_norms("gaussian", 3, Fraction(1, 10)) == [None]


def test_checked_model():
    assert checked_model("local", None)[1] == 1
    assert checked_model("central", 100)[1] == 100


def test_discrepancy_map():
    eye, even = np.eye(4), np.full(4, 0.25)
    for noise, found in ((0.001, [0.5, 0.3, 0.1, 0.1]), (0.3, [0.3, 0.26, 0.22, 0.22])):
        fit = discrepancy_map(eye, [0.5, 0.3, 0.1, 0.1], deviation=noise, strongest=1.0, atoms=eye, prior=even)
        assert fit.weights.round(2).tolist() == found


def test_decode():
    assert decode(Discrete(["a", "b", "c"]), [0.35, 0.25, -0.1]).round(9).tolist() == [0.6, 0.4, 0.0]


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
    assert RegionInterval(0.2, 0.4, 0.3, 4).nearest(0.5) == 0.4


def test_noise_of():
    plan = edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1)
    # one boundary, of length 1/4
    assert noise_of(plan, [1, 1, 0, 0]).scales.round(6).tolist() == [4.0]


def test_half_width():
    plan = edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1000)
    # ln 20 times 0.004
    assert round(half_width(plan, [1, 1, 0, 0]), 6) == 0.011983


def test_node_weights():
    inner, outer = node_weights(edge_histogram(Line(0, 8, step=1), 1, users=1, spacing=4), [0, 1, 2, 3, 4])
    assert inner.tolist() == [1.0, 0.0, 0.0]
    assert outer.tolist() == [1.0, 1.0, 0.0]


def test_region_interval_of_edge_intervals():
    line = Line(0, 8, step=1, cells=True)
    plan = edge_histogram(line, 25, users=1000)
    drawn = plan.draw(UserCounts.of_users(line, [[0, 1, 6]] * 1000).center(plan.query))
    found = region_interval(plan, drawn.values, [0, 1, 2, 3])
    assert found.boundary == 1
    assert 0.6 < found.low < found.high < 0.7
    assert round(found.high - found.low, 3) == 0.002


def test_simple_region_level():
    plan = edge_histogram(Euclidean([0, 0], [1, 1], step=1 / 8), 25, users=1000)
    assert simple_region_level(plan, 8) < 1e-7


def test_any_region_level():
    assert any_region_level(10, 2) < 0.05 / 45


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
    below, root = tree_sides(edge_tree(Clustered.grid(2, 2, r=0.25)), np.array([True, True, False, False]))
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
