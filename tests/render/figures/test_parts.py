"""What internal names do, each by one known answer."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.render.figures.figure import stylesheet
from barrow.render.figures.map import place_name
from barrow.render.figures.outline import relative_path
from barrow.render.figures.places import disc_radius
from barrow.render.figures.projection import Projection
from barrow.render.figures.readings import Readings, class_edges, class_names, classes_of, finite
from barrow.render.figures.svg import (
    LogScale,
    Scale,
    apart,
    clean,
    element,
    escape,
    isolated,
    mark,
    polyline,
    shortened,
    wrapped,
)


def test_scale():
    x = Scale(0, 10, 100, 200)
    assert x(5) == 150.0
    assert x.ticks(5) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


def test_log_scale():
    y = LogScale(0.1, 10, 0, 100)
    assert y(1) == 50.0
    assert y.ticks(4) == [0.1, 0.3, 1.0, 3.0, 10.0]


def test_shortened():
    assert shortened("a very long label", 60) == "a very l…"
    assert shortened("short", 60) == "short"
    assert shortened("x", 1) == ""


def test_apart():
    assert apart([10, 11, 50], 10, 0, 100) == [5.5, 15.5, 50.0]


def test_wrapped():
    assert wrapped([50, 40, 30], 100) == [[0, 1], [2]]


def test_place_name():
    assert place_name(40.71, -74.0) == "40.7°N 74°W"
    assert place_name(-33.9, 151.2) == "33.9°S 151.2°E"
    assert place_name(40.7128, -74.006, 3) == "40.713°N 74.006°W"


def test_relative_path():
    assert relative_path(np.array([[0.0, 0.0], [1.25, 0.0], [1.25, 2.0]]), close=True) == "M0 0l1.2 0 0 2z"


def test_stylesheet():
    assert "prefers-color-scheme" in stylesheet()
    assert "prefers-color-scheme" not in stylesheet("dark")


def test_disc_radius():
    assert disc_radius(np.array([0.0, 10.0, 20.0]), np.zeros(3)) == 5.0


def test_projection():
    assert not Projection((35, -10, 60, 30), 700, 500).wide
    assert Projection((-60, -180, 80, 180), 700, 500).wide


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
    assert r.said(0, "Paris") == "Paris: 50 %, with 95 % certainty 40 % to 60 %"
    assert r.said(1, "Rome") == "Rome: cannot be told from 0, at most 10 %"


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
    assert class_names([0.005, 0.03], "%") == ["cannot be told from 0", "0.5 % to 3 %", "above 3 %"]


def test_clean():
    assert clean("a\nb\x00\u202ec") == "a b�c"


def test_isolated():
    assert isolated("Paris") == "Paris"
    assert isolated("א") == "\u2068א\u2069"


def test_escape():
    assert escape('</script> & "x"') == "&lt;/script&gt; &amp; &quot;x&quot;"


def test_element():
    assert (
        element("text", text="1 < 2", x=1.0, class_="tick", text_anchor="end")
        == '<text x="1" class="tick" text-anchor="end">1 &lt; 2</text>'
    )
    assert element("rect", width=3.25) == '<rect width="3.25"/>'


def test_polyline():
    assert polyline([(0, 0), (1.5, 2)]) == "M0,0L1.5,2"


def test_mark():
    assert mark("<rect/>", at=(1, 2), said="Paris: 3 %") == '<g data-at="1,2"><title>Paris: 3 %</title><rect/></g>'
