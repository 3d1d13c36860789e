"""Outlines of unions of cells: areas add up, and what is inside is inside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.numerics.union import outline
from barrow.questions.merging import as_geometry, as_text
from barrow.spaces import Earth
from barrow.spaces.shapes import cell_places


def area(ring):
    x, y = np.array(ring).T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2)


def squares(cells):
    return np.array([[[a, b], [a + 1, b], [a + 1, b + 1], [a, b + 1]] for a, b in cells], dtype=float)


@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1))
def test_areas_of_any_cells_add_up(cells):
    rings = outline(squares(sorted(cells)))
    assert all(ring[0] == ring[-1] for ring in rings)
    assert sum(map(area, rings)) == pytest.approx(len(cells))


def test_rows_with_other_columns_have_one_outline():
    town = Earth(box=(40.0, -74.0, 44.0, -70.0), cell=60)
    corners = np.asarray(cell_places(town).corners)[:, :, ::-1]
    (ring,) = outline(corners)
    assert area(ring) == pytest.approx(16.0, rel=1e-6)
    assert len(ring) == 5


def test_text_and_geometry_say_the_same():
    rings = outline(squares([(0, 0), (3, 3)]))
    data = as_geometry(as_text(rings))
    assert data["type"] == "MultiPolygon"
    assert [tuple(map(tuple, part[0])) for part in data["coordinates"]] == [tuple(ring) for ring in rings]
