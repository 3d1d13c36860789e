"""Axes and lattices under neighbourhood graphs, by known answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from barrow.errors import ParameterError
from barrow.spaces.lattices import (
    check_nodes,
    circle_axis,
    grid_graph,
    intervals,
    lattice,
    line_axis,
    mean_to_middle,
    rounded_axis,
    rows_product,
    stretch_upper,
)


def test_axis():
    axis = line_axis(np.array([0.0, 1.0, 3.0, 4.0]), 2.0, 10)
    assert axis.nodes == 3
    assert axis.places.tolist() == [0, 512, 1536, 2048]
    assert axis.gaps.round(9).tolist() == [2.0, 2.0]


def test_intervals():
    assert intervals(10.0, None, 5) == 4
    assert intervals(10.0, 2.5, 9) == 4
    assert intervals(10.0, 0.1, 9) == 8


def test_circle_axis():
    assert circle_axis(8, 4, 4).places.tolist() == [0, 8, 16, 24, 32, 40, 48, 56]
    assert not circle_axis(2, 2, 4).closed


def test_lattice():
    square, faces = lattice((3, 3), (False, False))
    assert len(square.tails) == 12
    assert faces.tolist() == [[0, 8, 1, 6], [4, 11, 5, 9]]


def test_check_nodes():
    check_nodes(10)
    with pytest.raises(ParameterError, match="The graph would have 1,000,000,000 nodes"):
        check_nodes(10**9)


def test_stretch_upper():
    assert float(stretch_upper(4)) == 2.000000000029104


def test_grid_graph():
    axis = line_axis(np.arange(3.0), None, 24)
    assert grid_graph([axis, axis], [0.5, 0.5], np.indices((3, 3)).reshape(2, -1)).weights is None


def test_rows_product():
    assert rows_product(csr_array([[1, 2]]), csr_array([[3, 4]])).toarray().tolist() == [[3, 4, 6, 8]]


def test_rounded_axis():
    assert rounded_axis(np.array([0.0, 3.0, 1.0]), 2.0, 4)[0].places.tolist() == [0, 32, 11]


def test_mean_to_middle():
    assert round(float(mean_to_middle(1.0, 1.0)), 4) == 0.3826
