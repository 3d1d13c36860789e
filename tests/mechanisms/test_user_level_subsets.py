"""Subset selection and the variances of its estimates, by known answers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from barrow.mechanisms.user_level.local import consistent_variances, parts_of_groups
from barrow.mechanisms.user_level.subsets import SubsetSelection, best_subset, set_weight, uniform_subsets
from barrow.noise import system_source
from barrow.noise.source import SeededSource
from barrow.randomisers import TOTAL
from barrow.spaces import Discrete
from barrow.spaces.tree_edges import edge_tree


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


def test_subset_selection():
    channel = SubsetSelection(100, 1)
    assert channel.subset == 27
    assert round(channel.epsilon, 9) == 1.0


def test_subset_selection_sets():
    assert SubsetSelection(5, 1, subset=2).sets([0, 4]).sum(axis=1).tolist() == [2, 2]


def test_subset_selection_simulated_tally():
    result = SubsetSelection(4, 1).simulated_tally([10**6] * 4, SeededSource(1))
    assert result.shape == (4,)
    assert abs(result.sum() / 4000000.0 - 1) < 0.01


def test_subset_selection_variances():
    assert SubsetSelection(4, 1).variances([1, 4], [0.25, 1.0]).round(6).tolist() == [1.889056, 0.0]


def test_best_subset():
    assert best_subset(100, 1.0) == 27
    assert best_subset(10, 5.0) == 1


def test_uniform_subsets():
    assert uniform_subsets(3, 5, 2, system_source()).sum(axis=1).tolist() == [2, 2, 2]


def test_set_weight():
    assert round(set_weight(1, Fraction(1, 2)) / TOTAL, 6) == 0.462117
