"""Lines: points where numbers are whole, cells elsewhere, and what their digests name."""

from __future__ import annotations

import pytest

from barrow.errors import DataError, ParameterError
from barrow.numerics import digest_of
from barrow.spaces import Line, space_from_spec


def test_whole_numbers_on_a_line_are_points():
    line = Line(0, 10, step=2)
    assert line.points.tolist() == [0, 2, 4, 6, 8, 10]
    assert line.encode([0, 0.99, 1, 2.9, 3, 9.1, 10]).tolist() == [0, 0, 1, 1, 2, 5, 5]
    assert abs(line.snapping_upper - 0.1) < 1e-12
    assert Line(0, 10, step=2, cells=True).points.tolist() == [1, 3, 5, 7, 9]
    assert Line(0, 10, step=3).cells  # steps of 3 do not lead from 0 to 10
    assert Line(0.5, 10.5, step=2).cells
    for step in (3, 7, 13, 10**6 + 3):  # reciprocals that are rounded
        many = Line(-step, 5000 * step, step=step)
        assert many.encode(many.points).tolist() == list(range(5002))


def test_whole_records_are_not_snapped_and_others_are_unknown():
    line = Line(-3, 10, step=1, whole=True, default=2)
    assert line.snapping_upper == 0.0
    assert line.encode([-3, 0, 10]).tolist() == [0, 3, 13]
    assert line.encode([2.5, 11, None, 4], unknown="default").tolist() == [5, 5, 5, 7]
    assert line.encode([99, -99], unknown="nearest").tolist() == [13, 0]
    for unknown in ("error", "nearest"):
        with pytest.raises(DataError):
            line.encode([2.5], unknown=unknown)
    for wrong in ({"step": 2}, {"step": 1, "cells": True}, {"points": [1, 2]}, {}):
        with pytest.raises(ParameterError, match="whole is True"):
            Line(0, 10, whole=True, **wrong)
    for wrong in ({"cells": True}, {"step": 0.3, "cells": False}, {"step": 1, "cells": 1}, {"step": 1, "whole": "yes"}):
        with pytest.raises(ParameterError, match=r"cells|whole"):
            Line(0, 10, **wrong)


def test_lines_of_cells_keep_their_digest_and_points_have_another():
    """Digests stand in ledgers: one that named cells names cells, and none names both."""
    old = digest_of({"kind": "line", "low": 0.0, "high": 10.0, "unit": "km", "step": 1.0})
    cells, points = Line(0, 10, unit="km", step=1, cells=True), Line(0, 10, unit="km", step=1)
    assert cells.digest == old != points.digest
    assert len({cells.digest, points.digest, Line(0, 10, unit="km", step=1, whole=True).digest}) == 3
    for line in (cells, points, Line(0, 10, step=0.3), Line(0, 5, step=1, whole=True)):
        assert space_from_spec(line.to_spec()) == line
        assert space_from_spec(line.to_spec()).cells == line.cells
