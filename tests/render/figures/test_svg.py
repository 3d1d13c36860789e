"""The pieces of an SVG: scales, texts that fit, elements that are escaped."""

from __future__ import annotations

from barrow.render.figures.figure import stylesheet
from barrow.render.figures.svg import (
    AxisScale,
    LogScale,
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
    x = AxisScale(0, 10, 100, 200)
    assert x(5) == 150.0
    assert x.ticks(5) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert len(AxisScale(1690.0, 1840.0, 0.0, 220.0).ticks(2)) >= 2  # one alone shows no scale


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


def test_stylesheet():
    assert "prefers-color-scheme" in stylesheet()
    assert "prefers-color-scheme" not in stylesheet("dark")


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
    assert mark("<rect/>", at=(1, 2), label="Paris: 3 %") == '<g data-at="1,2"><title>Paris: 3 %</title><rect/></g>'
