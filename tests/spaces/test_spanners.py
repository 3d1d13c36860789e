"""Spanners and their errors, by known answers."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.spaces import Line
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.spanners import check_memory, flow_cost, greedy_spanner, nearest_distances, simulated_error


def test_spanner():
    square = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    result = greedy_spanner(square, 1.5)
    assert sorted(zip(result.tails.tolist(), result.heads.tolist(), strict=True)) == [(0, 1), (1, 2), (2, 3)]
    assert result.paths[0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_check_memory():
    check_memory(100)
    with pytest.raises(ParameterError, match="A spanner of 1,000,000 items looks at all pairs"):
        check_memory(10**6)


def test_nearest_distances():
    assert nearest_distances(Line(0, 4, points=[0, 1, 4])).tolist() == [0.25, 0.25, 0.75]


def test_simulated_error():
    path = NeighbourGraph(2, [0], [1], [0.5])
    assert 0.1 < simulated_error(path, path.incidence, path.lengths, draws=20) < 3.0


def test_flow_cost():
    assert round(flow_cost(NeighbourGraph(3, [0, 1], [1, 2], [0.5, 0.25]), np.array([1.0, 0.0, -1.0])), 9) == 0.75
