"""Levels and groups of items under user-level DP, by known answers."""

from __future__ import annotations

import numpy as np

from barrow.mechanisms.user_level.levels import (
    cells_of,
    grouped,
    has_groups,
    has_levels,
    levelled_tree,
    parts,
    weighted_masses,
)
from barrow.spaces import Circle, Clustered, Discrete, Euclidean, Line, Product


def test_grouped():
    result = grouped(Line(0, 16, step=1, cells=True))
    assert [len(level) for level in result.tree.levels] == [4, 16]
    assert result.names[0] == "0.5 to 3.5 (4 items)"


def test_has_groups():
    assert has_groups(Line(0, 16, step=1, cells=True))
    assert not has_groups(Line(0, 8, step=1, cells=True))


def test_grouped_of_groups():
    where_when = Product([Euclidean([0, 0], [4, 4], step=1), Circle.hours(3)], weights=["1/2", "1/2"])
    assert [len(level) for level in grouped(where_when).tree.levels] == [16, 128]


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
