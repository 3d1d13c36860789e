"""What internal names of user-level DP do, each by one known answer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from barrow.mechanisms.decoding.cells import without_added
from barrow.mechanisms.user_level.ball import BallNoise, enclosing_ball, half_sphere_mean
from barrow.mechanisms.user_level.histograms import user_level_histogram, with_added
from barrow.mechanisms.user_level.levels import (
    cells_of,
    grouped,
    has_groups,
    has_levels,
    levelled_tree,
    parts,
    weighted_masses,
)
from barrow.mechanisms.user_level.local import SubsetReport, consistent_variances, local_subsets, parts_of_groups
from barrow.mechanisms.user_level.noise import axis_candidates, query_polytope, user_level_candidates, user_level_noise
from barrow.mechanisms.user_level.subsets import (
    SubsetSelection,
    best_subset,
    checked_counts,
    checked_items,
    set_weight,
    uniform_subsets,
)
from barrow.noise import system_source
from barrow.noise.source import SeededSource
from barrow.queries import histogram, mean
from barrow.randomisers import TOTAL
from barrow.spaces import Circle, Clustered, Discrete, Euclidean, Line, NoRecords, Product
from barrow.spaces.edges import edge_tree


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
