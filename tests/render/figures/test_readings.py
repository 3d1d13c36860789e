"""Readings of values: bounds, classes of colour, and their names."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.render.figures.readings import Readings, class_edges, class_names, classes_of, finite


def test_finite():
    assert repr(finite([1, 2], "values")) == "array([1., 2.])"
    with pytest.raises(ParameterError) as refused:
        finite([float("nan")], "values")
    assert str(refused.value) == (
        "values has a number that is not finite.\n"
        "  allowed: finite numbers\n"
        "  fix:     leave out what has no value before drawing"
    )


def test_readings():
    r = Readings.of([0.5, 0.01], low=[0.4, 0], high=[0.6, 0.1], noise=0.05)
    assert r.below.tolist() == [False, True]
    assert r.describe(0, "Paris") == "Paris: 50 %, 95 % interval 40 % to 60 %"
    assert r.describe(1, "Rome") == "Rome: may be 0, at most 10 %"


def test_a_share_that_was_decoded_to_nothing_never_stands_out_as_zero():
    """Its own interval may lie above 0 all the same; it is drawn, and told, as one that may be 0."""
    r = Readings.of([0.5, 0.0, 1e-7], low=[0.4, 1e-4, 1e-8], high=[0.6, 0.005, 1e-6])
    assert r.below.tolist() == [False, True, False]
    assert r.describe(1, "Rome") == "Rome: may be 0, at most 0.5 %"
    assert r.describe(2, "Oslo") == "Oslo: 0.00001 %, 95 % interval 1 × 10⁻⁶ % to 0.0001 %"
    km = Readings.of([0.0], low=[-2.0], high=[-1.0], unit="km")
    assert km.below.tolist() == [False]


def test_class_edges():
    assert class_edges(Readings.of([0.001, 0.02, 0.3], low=[0, 0.01, 0.29], high=[0.01, 0.03, 0.31], noise=0.0049)) == [
        0.0049,
        0.04,
        0.06,
        0.1,
        0.25,
    ]


def test_classes_of():
    assert classes_of(Readings.of([0, 0.5, 2], unit="km"), [0.0, 1.0]).tolist() == [1, 1, 2]


def test_class_names():
    assert class_names([0.005, 0.03], "%") == ["cannot be distinguished from 0", "0.5 % to 3 %", "above 3 %"]


def test_classes_are_those_of_values_that_stand_out_by_their_own_intervals():
    values, low = np.array([1e-6, 2e-6, 0.004, 0.012]), np.array([0.0, 0.0, 0.002, 0.01])
    edges = class_edges(Readings.of(values, low=low, high=values + 0.002))
    assert all(0.003 < edge < 0.012 for edge in edges)  # no class of what is hatched
