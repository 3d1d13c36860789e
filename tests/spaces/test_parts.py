"""What internal names do, each by one known answer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from barrow.errors import ParameterError
from barrow.render.items import _way
from barrow.spaces import Line
from barrow.spaces.checks import finite_array, positive_number, without_names
from barrow.spaces.edges import nested_edges
from barrow.spaces.latitudes import latitude_graph, scattered_graph
from barrow.spaces.lattices import (
    bits_for,
    check_nodes,
    checked_spacing,
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
from barrow.spaces.neighbours import NeighbourGraph, check_connected, path_lengths
from barrow.spaces.product import edge_colours, product_graph
from barrow.spaces.records import LabelIndex, private_numbers
from barrow.spaces.spanners import check_memory, flow_cost, greedy_spanner, nearest_distances, simulated_error
from barrow.spaces.sphere import EARTH_RADIUS_KM, box_diameter_upper, great_circle


def test_finite_array():
    assert finite_array([1, 2], "points", ndim=1).tolist() == [1.0, 2.0]


def test_positive_number():
    assert positive_number(3, "diameter") == 3.0


def test_private_numbers():
    assert repr(private_numbers([1, None]).tolist()) == "[1.0, nan]"


def test_nested_edges():
    assert nested_edges(3, np.array([0, 0, 1, 2]), np.array([2, 1, 2, 3]), np.ones(4)).parents.tolist() == [
        -1,
        -1,
        0,
        0,
    ]


def test_without_names():
    assert without_names({"kind": "discrete", "labels": "a.txt", "digests": {"labels": "sha256:00"}}) == {
        "kind": "discrete",
        "digests": {"labels": "sha256:00"},
    }


def test_label_index():
    index = LabelIndex(["JFK", "LGA"])
    assert index.find(["LGA", None, "XXX"]).tolist() == [1, -1, -1]


def test_label_index_known():
    assert LabelIndex(["a"], also={"b": 0}).known == {"a": 0, "b": 0}


def test_scattered_graph():
    assert (
        repr(scattered_graph(np.array([[0.0, 0.0], [0.4, 1.0], [1.0, 0.3]]), 200.0, 60.0, 50.0))
        == "NeighbourGraph(9 nodes, 12 edges)"
    )


def test_latitude_graph():
    assert (
        repr(latitude_graph(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), 200.0, None))
        == "NeighbourGraph(4 nodes, 4 edges)"
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


def test_bits_for():
    assert bits_for(2) == 24


def test_checked_spacing():
    assert checked_spacing(2, "km") == 2.0


def test_lattice():
    square = lattice((3, 3), (False, False))
    assert len(square.tails) == 12
    assert square.faces.tolist() == [[0, 8, 1, 6], [4, 11, 5, 9]]


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


def test_check_connected():
    check_connected(3, np.array([0, 1]), np.array([1, 2]))
    with pytest.raises(ParameterError, match="in 2 pieces: no path leads from node 0 to node 2"):
        check_connected(3, np.array([0]), np.array([1]))


def test_path_lengths():
    assert path_lengths(3, np.array([0, 1]), np.array([1, 2]), np.array([0.5, 0.25]), [2]).tolist() == [
        [0.75, 0.25, 0.0]
    ]


def test_product_graph():
    path = NeighbourGraph(2, [0], [1], [1.0])
    ids = np.indices((2, 2)).reshape(2, -1)
    square = product_graph([(path, Fraction(1, 2), 2, ids[0]), (path, Fraction(1, 2), 2, ids[1])])
    assert repr(square) == "NeighbourGraph(4 nodes, 4 edges)"
    assert len(square.faces) == 1


def test_edge_colours():
    assert edge_colours(NeighbourGraph(4, [0, 1, 2], [1, 2, 3], [1.0, 1.0, 1.0])).tolist() == [0, 1, 0]


def test_spanner():
    square = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    found = greedy_spanner(square, 1.5)
    assert sorted(zip(found.tails.tolist(), found.heads.tolist(), strict=True)) == [(0, 1), (1, 2), (2, 3)]
    assert found.paths[0].tolist() == [0.0, 1.0, 2.0, 3.0]


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


def test_great_circle():
    zero = np.array(0.0)
    assert np.isclose(great_circle(zero, zero, zero, np.array(180.0)), np.pi)


def test_box_diameter_upper():
    assert round(box_diameter_upper(40.5, -74.3, 41.0, -73.6) * EARTH_RADIUS_KM, 1) == 81.0


def test_way():
    assert _way("US/NY", {"US/NY": "US", "US": "all"}) == ["US", "NY"]
