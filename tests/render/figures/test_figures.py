"""All kinds of figures: well-formed, the same every time, self-contained, honest about what they leave out."""

from __future__ import annotations

import base64
import re
import sys
import time
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import MissingExtraError, ParameterError
from barrow.render import figures as fig
from barrow.render.figures.figure import DARK, LIGHT, plain_rules
from barrow.render.figures.readings import Readings, class_edges, classes_of
from barrow.render.figures.svg import apart, shortened, text_width
from tests.render.figures.gallery import PICTURES

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "</title></svg><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "]]>&lt;&amp;",
    "a\x00b\x01-hatch\ud800",
    "\u202egnp.exe", "שלום עולם", "x" * 5000, "", "漢字" * 40, "{{7*7}} ${x} %s", "e\u0301" * 300,
]  # fmt: skip
TAGS = {"svg", "use", "title", "desc", "defs", "pattern", "clipPath", "g", "path", "rect", "circle", "text"}


@pytest.fixture(scope="module")
def drawn():
    return {name: draw() for name, draw in PICTURES.items()}


def checked(figure: fig.Figure) -> ET.Element:
    """What holds for every figure."""
    root = ET.fromstring(figure.svg)
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert root.get("role") == "img"
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    assert set(root.get("aria-labelledby").split()) <= set(ids)
    for node in root.iter():
        assert node.tag.removeprefix(SVG) in TAGS
        assert not {key for key in node.attrib if key.startswith("on") or key in ("style", "src")}
        if node.get("href"):
            assert node.get("href").removeprefix("#") in ids
        for value in re.findall(r"url\(#([^)]*)\)", " ".join(node.attrib.values())):
            assert value in ids
        if node.get("data-at"):
            assert node.find(f"{SVG}title").text
            x, y = map(float, node.get("data-at").split(","))
            assert -1 <= x <= figure.width + 1
            assert -1 <= y <= figure.height + 1
    assert "nan" not in re.sub(r"<(title|desc|text)[^>]*>[^<]*<", "", figure.svg).lower()
    ET.fromstring(figure.standalone())
    return root


@pytest.mark.parametrize("name", PICTURES)
def test_well_formed_and_the_same_every_time(drawn, name):
    figure = drawn[name]
    root = checked(figure)
    assert PICTURES[name]() == figure
    assert figure.title
    assert figure.description.endswith(".")
    assert "\x01" not in figure.svg
    used = {c for node in root.iter() for c in (node.get("class") or "").split()} - {"bw", "start"}
    kinds = {root.get("class").split()[1]}
    for kind in used - kinds:
        assert f".{kind}" in fig.stylesheet(), kind


@pytest.mark.parametrize("name", ["bars", "hundred", "icicle", "timeline"])
def test_the_pictures_of_the_documentation_are_these(drawn, name):
    path = Path(__file__).parents[3] / "docs" / "pictures" / f"{name}.svg"
    assert path.read_text() == drawn[name].standalone() + "\n", "run scripts/pictures"


def test_classes_span_the_whole_range():
    values = np.geomspace(1e-4, 0.5, 200)
    assert class_edges(Readings.of(values, noise=1e-4)) == [0.0001, 0.0006, 0.006, 0.06, 0.4]


def test_classes_have_members_where_nothing_is_noise():
    assert class_edges(Readings.of([0.4])) == [0.0]
    assert class_edges(Readings.of([0.1, 0.2, 0.3, 0.4])) == [0.0, 0.1, 0.15, 0.25]
    assert "cannot be distinguished" not in fig.matrix(["a"], ["b", "c"], [[0.2, 0.4]]).svg


def test_what_has_a_unit_may_be_below_zero():
    signed = {"low": [2.0, -2.0, -0.2], "high": [4.0, -1.0, 1.0]}
    assert Readings.of([3.2, -1.5, 0.4], **signed, unit="km").below.tolist() == [False, False, True]
    assert Readings.of([3.2, -1.5, 0.4], noise=1, unit="km").below.tolist() == [False, False, True]
    assert Readings.of([0.3, -0.2], noise=0.1).below.tolist() == [False, True]


def test_sizes(drawn):
    assert max(len(figure.svg) for name, figure in drawn.items() if "map" not in name) < 45_000
    assert max(len(figure.svg) for figure in drawn.values()) < 230_000
    assert len(fig.script()) < 5_000
    assert len(fig.stylesheet()) < 9_000


def test_no_text_is_small_and_nothing_is_fetched():
    sizes = [float(size) for size in re.findall(r"font-size:([\d.]+)px", fig.stylesheet())]
    assert sizes
    assert min(sizes) >= 11
    for text in (fig.stylesheet(), fig.script()):
        assert "@import" not in text
        assert "url(" not in text
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_no_class_is_narrower_than_an_interval_of_its_members():
    @settings(max_examples=200, deadline=None)
    @given(
        st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(1e-6, 0.2), st.floats(0, 2), st.floats(1e-6, 0.1)
    )
    def check(values, half, growth, noise):
        value = np.array(values)
        spread = half * (1 + growth * value)
        readings = Readings.of(value, low=value - spread, high=value + spread, noise=noise)
        edges = class_edges(readings)
        assert edges[0] >= noise
        assert len(edges) <= 5
        result = classes_of(readings, edges)
        assert (result[value <= noise] == 0).all()
        for k in range(1, len(edges)):
            members = result == k
            assert edges[k] > edges[k - 1]
            if members.any():
                assert edges[k] - edges[k - 1] >= 2 * spread[members].max() * (1 - 1e-9)
                assert (value[members] > edges[k - 1]).all()
                assert (value[members] <= edges[k]).all()

    check()


def with_label(bad: str) -> list[fig.Figure]:
    curve = fig.Curve(bad, [1, 2], [0.5, 0.6])
    return [
        fig.bars([bad, "b"], [0.6, 0.4], title=bad),
        fig.histogram([0, 1, 2], [0.6, 0.4], axis=bad, what=bad, title=bad),
        fig.ring([bad, "b", "c"], [0.5, 0.3, 0.2], title=bad),
        fig.icicle([[bad], [bad, bad], ["b"]], [0.6, 0.5, 0.4], title=bad),
        fig.matrix([bad, "x"], [bad, "y"], [[0.1, 0.2], [0.3, 0.4]], title=bad),
        fig.belief([curve], [fig.BeliefBound(bad, 1, 0.7, 0.6)], worst=0.7, unit=bad, title=bad),
        fig.tradeoff([curve], here=fig.Here(bad, 1.5, 0.5), guesses=[(1.5, 0.6)], promise=bad, error=bad, title=bad),
        fig.growth([curve], here=fig.Here(bad, 1.5, 0.5), error=bad, title=bad),
        fig.timeline([fig.Step(bad, bad, 10)], 20, unit=bad, title=bad),
        fig.map_figure(fig.Places.points([40], [-74]), [0.5], labels=[bad], title=bad),
        fig.hundred(0.6, title=bad),
    ]


@pytest.mark.parametrize("bad", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_labels_stay_text(bad):
    for figure in with_label(bad):
        checked(figure)
        assert "<script" not in figure.svg
        assert "<img" not in figure.svg
        assert "\u202e" not in figure.svg
        assert figure.svg.count("</svg>") == 1
        assert len(figure.svg) < 120_000
        assert figure.html().count("<script") == 1


def test_right_to_left_labels_are_isolated_in_sentences():
    assert "\u2068שלום\u2069: 60 %" in fig.bars(["שלום", "b"], [0.6, 0.4]).description


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_refused(bad):
    place = fig.Places.points([40.0], [-74.0])
    for call in (
        lambda: fig.bars(["a"], [bad]),
        lambda: fig.bars(["a"], [0.1], low=[bad], high=[0.2]),
        lambda: fig.bars(["a"], [0.1], noise=bad),
        lambda: fig.histogram([0, bad], [0.1]),
        lambda: fig.ring(["a"], [bad]),
        lambda: fig.icicle(["a"], [bad]),
        lambda: fig.matrix(["a"], ["b"], [[bad]]),
        lambda: fig.map_figure(place, [bad]),
        lambda: fig.map_figure(place, [0.1], layers=[fig.FigureLayer("a", "b", [[bad]])]),
        lambda: fig.map_figure(place, [0.1], box=(0, 0, bad, 1)),
        lambda: fig.Places.points([bad], [0]),
        lambda: fig.Curve("c", [0, bad], [1, 1]),
        lambda: fig.BeliefBound("k", bad, 0.6, 0.6),
        lambda: fig.BeliefBound("k", 1, bad, 0.6),
        lambda: fig.belief([fig.Curve("c", [0], [0.5])], worst=bad, unit="km"),
        lambda: fig.timeline([fig.Step("a", "b", bad)], 10),
        lambda: fig.timeline([], bad),
        lambda: fig.hundred(bad),
    ):
        with pytest.raises(ParameterError):
            call()


def test_mistakes_are_named():
    for call in (
        lambda: fig.bars(["a"], [0.1, 0.2]),
        lambda: fig.bars([], []),
        lambda: fig.bars(["a"], [0.1], low=[0.05]),
        lambda: fig.bars(["a"], [0.1], low=[0.3], high=[0.2]),
        lambda: fig.bars(["a"], [0.1], noise=-1),
        lambda: fig.bars(["a"], ["x"]),
        lambda: fig.histogram([0, 1], [0.1, 0.2]),
        lambda: fig.histogram([1, 0], [0.1]),
        lambda: fig.icicle(["a", "a"], [0.1, 0.2]),
        lambda: fig.icicle([[]], [0.1]),
        lambda: fig.matrix(["a"], ["b", "c"], [0.1]),
        lambda: fig.belief([], worst=0.6, unit="km"),
        lambda: fig.belief([fig.Curve("c", [0], [0.4])], worst=0.6, unit="km"),
        lambda: fig.tradeoff([]),
        lambda: fig.tradeoff([fig.Curve("c", [0, 1], [1, 1])]),
        lambda: fig.growth([fig.Curve("c", [1, 2], [0, 1])]),
        lambda: fig.Curve("c", [1, 0], [1, 1]),
        lambda: fig.timeline([fig.Step("a", "b", 5), fig.Step("a", "b", 4)], 10),
        lambda: fig.timeline([fig.Step("a", "b", 11)], 10),
        lambda: fig.stylesheet("blue"),
        lambda: fig.bars(["a"], [1]).save("x.gif"),
    ):
        with pytest.raises(ParameterError):
            call()


def test_one_value():
    for figure in (
        fig.bars(["a"], [0.0]),
        fig.bars(["a"], [-2.0], unit="km"),
        fig.histogram([0, 1], [1.0], low=0.9, high=1.1, noise=0.2),
        fig.ring(["a"], [1.0]),
        fig.icicle(["a"], [0.0]),
        fig.matrix(["a"], ["b"], [[0.5]]),
        fig.map_figure(fig.Places.points([0], [0]), [0.5]),
        fig.map_figure(fig.Places.around([10], [10]), [0.0], noise=1.0),
        fig.belief([fig.Curve("c", [0], [0.5])], worst=0.5, unit="km"),
        fig.tradeoff([fig.Curve("c", [1], [1])]),
        fig.growth([fig.Curve("c", [1], [1])], here=fig.Here("h", 1, 1)),
        fig.timeline([], 10),
    ):
        checked(figure)


def test_a_million_values_fall_back_to_the_largest_and_say_so():
    many = 10**6
    values = np.arange(many) / many
    names = [str(i) for i in range(many)]
    began = time.process_time()
    for figure, words in (
        (fig.bars(names, values, low=values, high=values, noise=0.1), "The 40 largest of 1,000,000 are drawn."),
        (fig.histogram(np.arange(many + 1), values), "Each column shows the largest of its bins: there are 1,000,000."),
        (fig.ring(names, values), "Each wedge shows the largest of its values: there are 1,000,000."),
        (fig.matrix(names[:1000], names[:1000], values), "The 40 largest of 1,000,000 are drawn."),
    ):
        checked(figure)
        assert words in figure.description
        assert len(figure.svg) < 130_000
        assert "99.9 %" in figure.svg or "100 %" in figure.svg
    assert time.process_time() - began < 25


def test_a_large_tree_gathers_what_is_too_small():
    paths = [f"{a}/{b}/{c}" for a in range(20) for b in range(20) for c in range(20)]
    figure = fig.icicle(paths, np.full(8000, 1 / 8000))
    checked(figure)
    assert "8,000 nodes are too small to be drawn alone." in figure.description
    deep = fig.icicle(["/".join(["a"] * 300)], [1.0])
    assert "6 of 300 levels are drawn." in deep.description


def test_figures_by_day_and_by_night_for_simple_programs(drawn):
    for theme in ("auto", "light", "dark"):
        assert "var(" not in plain_rules(theme)
        assert LIGHT["ground"] in plain_rules("light")
        assert DARK["ground"] in plain_rules("dark")
        text = drawn["bars"].standalone(theme)
        ET.fromstring(text)


def test_saved_and_shown(drawn, tmp_path, monkeypatch):
    figure = drawn["hundred"]
    assert ET.parse(figure.save(tmp_path / "a.svg")).getroot().tag == f"{SVG}svg"
    assert "default-src 'none'" in figure.save(tmp_path / "a.html").read_text()
    bundle = figure._repr_mimebundle_()
    assert bundle["text/plain"] == str(figure)
    image = re.fullmatch(
        r'<img alt="([^"]*)" width="250" src="data:image/svg\+xml;base64,([^"]*)">', bundle["text/html"]
    )
    ET.fromstring(base64.b64decode(image[2]))
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "resvg_py", None)
        with pytest.raises(MissingExtraError, match=r"barrow\[png\]"):
            figure.save(tmp_path / "a.png")
    pytest.importorskip("resvg_py", reason="the extra png is not installed")
    light, dark = figure.png(), figure.png("dark")
    assert light[:8] == dark[:8] == b"\x89PNG\r\n\x1a\n"
    assert light != dark
    assert figure.save(tmp_path / "a.png").read_bytes() == light


def test_saved_as_pdf(drawn, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "vl_convert", None)
        with pytest.raises(MissingExtraError, match=r"barrow\[pdf\]"):
            drawn["hundred"].save(tmp_path / "a.pdf")
    vl_convert = pytest.importorskip("vl_convert", reason="the extra pdf is not installed")
    figure = drawn["bars"]
    made = figure.save(tmp_path / "a.pdf").read_bytes()
    assert made[:5] == b"%PDF-"
    # In points, texts as fonts and nothing as an image of pixels.
    assert re.search(rb"/MediaBox \[0 0 (\S+) (\S+)\]", made).groups() == tuple(
        f"{0.75 * side:g}".encode() for side in (figure.width, figure.height)
    )
    assert b"/FontFile" in made
    assert b"/Subtype /Image" not in made
    assert figure.pdf("dark") != made
    monkeypatch.setattr(vl_convert, "svg_to_pdf", lambda svg: b"the same without its text")
    with pytest.raises(ParameterError, match="no font"):
        figure.pdf()


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_can_be_told_apart(colours):
    ground = colours["ground"]
    for name in ("ink", "dim", "accent", "focus", "c0", "c1", "c2", "c3"):
        assert contrast(colours[name], ground) >= 4.5, name
    shades = [contrast(colours[f"q{k}"], ground) for k in range(1, 6)]
    # Each shade is clearly further from the ground than the one before, for every eye: it is a matter of lightness.
    assert all(b / a > 1.3 for a, b in pairwise(shades))
    for k in range(1, 6):
        assert contrast(colours[f"o{k}"], colours[f"q{k}"]) >= 4.5, k
    for k in range(6):
        assert contrast(colours["ink"], colours[f"g{k}"]) >= 4.5, k
    assert set(LIGHT) == set(DARK)


# What eyes without long- or medium-wave cones see of linear RGB (Viénot, Brettel, Mollon 1999).
BLIND = {
    "protan": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
    "deutan": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
}


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("kind", BLIND)
def test_curves_differ_for_the_colour_blind(colours, kind):
    def seen(name: str) -> np.ndarray:
        parts = np.array([int(colours[name][i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return np.cbrt(np.clip(BLIND[kind] @ linear, 0, 1))

    names = ["c0", "c1", "c2", "c3"]
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            assert np.abs(seen(a) - seen(b)).max() > 0.06, (a, b)
    dashes = {re.search(rf"\.k{k}\{{[^}}]*\}}", fig.stylesheet())[0].partition("dasharray")[2] for k in range(4)}
    assert len(dashes) == 4


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.floats(0, 400))
def test_shortened_labels_fit(text, width):
    short = shortened(text, width)
    assert text_width(short) <= width + 1e-9


@given(st.lists(st.floats(0, 100), max_size=8))
def test_labels_are_moved_apart(positions):
    placed = sorted(apart(positions, 10, 0, 100))
    assert all(b - a >= 10 - 1e-6 for a, b in pairwise(placed))
    assert all(p >= -1e-6 for p in placed)


def test_a_plane_names_x_before_y_as_its_tables_do():
    from barrow.render.item_figures import captions, item_figure
    from barrow.spaces import Euclidean

    plane = Euclidean([0, 10], [2, 13], step=1)  # x in [0, 2], y in [10, 13]
    values = np.zeros(plane.items)
    values[plane.encode([[1.5, 10.5]])[0]] = 1.0
    assert "1 to 2, 10 to 11: 100 %" in str(item_figure(plane, values))
    assert captions(plane)[int(values.argmax())].startswith("1.5,10.5")
