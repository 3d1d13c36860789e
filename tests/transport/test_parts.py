"""What internal names do, each by one known answer."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, eye_array

from barrow.spaces import Discrete, Euclidean
from barrow.transport.emd import data_set, pot, transport, weights
from barrow.transport.graph_flow import cheapest_flow, emd_flow_upper, factorised, grounded, nearest_flow


def test_data_set():
    assert data_set(Discrete(["a", "b"]), [1]).tolist() == [1]


def test_weights():
    assert [row.tolist() for row in weights(Discrete(["a", "b"]), [0.5, 0.5], [1, 0])] == [[0.5, 0.5], [1.0, 0.0]]


def test_flow():
    assert round(cheapest_flow(3, [0, 1], [1, 2], [0.5, 0.25], [1.0, 0.0, -1.0]).upper, 9) == 0.75


def test_cheapest_flow():
    flow = cheapest_flow(4, [0, 1, 2, 3], [1, 2, 3, 0], [1.0] * 4, [1.0, 0.0, 0.0, -1.0], exact=False)
    assert flow.lower <= 1.0 <= flow.upper <= 1.02 * flow.lower


def test_nearest_flow():
    flow = nearest_flow(3, [0, 1], [1, 2], [0.5, 0.25], [0.7, -0.1, 0.4], eye_array(3, format="csr"))
    assert flow.kept.round(9).tolist() == [0.7, 0.0, 0.3]
    assert round(flow.upper, 9) == 0.025


def test_grounded():
    assert grounded(csc_array([[1.0, -1.0], [-1.0, 1.0]]))(np.array([1.0, -1.0])).tolist() == [0.5, -0.5]


def test_factorised():
    assert factorised(csc_array([[2.0]]))(np.array([1.0])).tolist() == [0.5]


def test_emd_flow_upper():
    square = Euclidean([0, 0], [1, 1], step=1 / 8)
    # the diagonal, exactly
    assert round(emd_flow_upper(square, np.eye(64)[0], np.eye(64)[63]), 6) == 0.875


def test_pot():
    assert pot() is pot()


def test_transport():
    cost, source, target, mass = transport(Discrete(["a", "b"]), np.array([0.5, -0.5]))
    assert cost == 0.5
    assert source.tolist() == [0]
    assert target.tolist() == [1]
    assert mass.tolist() == [0.5]
