"""Wrong spaces are refused by name, with a way out."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from barrow.errors import DataError, MissingExtraError, ParameterError
from barrow.spaces import (
    Circle,
    Clustered,
    Discrete,
    Earth,
    Embedding,
    Euclidean,
    Finite,
    Graph,
    Hexagons,
    Line,
    Product,
    Tree,
    parse_distance,
    parse_space,
    shortest_paths,
    space_from_spec,
    space_kinds,
)
from barrow.spaces.nearness import distances_from

NAN = float("nan")
WRONG = {
    "triangle": (lambda: Finite("abc", [[0, 1, 9], [1, 0, 1], [9, 1, 0]]), r"d\('a', 'c'\) = 9.0 is more than"),
    "asymmetric": (lambda: Finite("ab", [[0, 1], [2, 0]]), "symmetric"),
    "diagonal": (lambda: Finite("ab", [[1, 1], [1, 0]]), "'a' to itself is 1.0"),
    "zero distance": (lambda: Finite("ab", [[0, 0], [0, 0]]), r"d\('a', 'b'\) = 0.0 for two different"),
    "nan distance": (lambda: Finite("ab", [[0, NAN], [NAN, 0]]), r"distances holds nan at \[0, 1\]"),
    "negative": (lambda: Finite("ab", [[0, -1], [-1, 0]]), "= -1.0 for two different"),
    "shape": (lambda: Finite("ab", [[0, 1, 1], [1, 0, 1], [1, 1, 0]]), r"shape \(3, 3\) for 2 labels"),
    "small diameter": (lambda: Finite("ab", [[0, 2], [2, 0]], diameter=1), "largest distance is 2.0"),
    "twice": (lambda: Discrete(["a", "b", "a"]), "'a' twice"),
    "no labels": (lambda: Discrete([]), "empty"),
    "empty label": (lambda: Discrete(["a", ""]), "not empty"),
    "default": (lambda: Discrete(["a"], default="z"), "default is 'z'"),
    "line ends": (lambda: Line(3, 1), "low is 3 and high is 1"),
    "line nan": (lambda: Line(0, NAN), "holds nan"),
    "line step": (lambda: Line(0, 1, step=0), "step is 0"),
    "line both": (lambda: Line(0, 1, step=0.1, points=[0.5]), "Both step and points"),
    "line unsorted": (lambda: Line(0, 1, points=[0.5, 0.2]), "strictly increasing"),
    "line outside": (lambda: Line(0, 1, points=[0.5, 2]), "points go from 0.5 to 2.0"),
    "line default": (lambda: Line(0, 1, step=0.5, default=3), "default is 3"),
    "circle": (lambda: Circle(0), "period is 0"),
    "box": (lambda: Euclidean([0, 0], [1, 0]), r"high is \[1.0, 0.0\]"),
    "box or ball": (lambda: Euclidean([0, 0]), "shape is not given"),
    "too many cells": (lambda: Euclidean([0] * 6, [1] * 6, step=0.01), "more than 100,000,000"),
    "earth box": (lambda: Earth(box=(41, -74, 40, -73)), "south < north"),
    "earth diameter": (lambda: Earth(diameter=100), "may be 20015.1 km apart"),
    "r": (lambda: Clustered.grid(2, 2, r=0.5), "strictly between 0 and 1/2"),
    "empty cluster": (lambda: Clustered({"x": []}, r=0.1), "cluster 'x' is empty"),
    "tree cycle": (lambda: Tree([("a", "b", 1), ("b", "a", 1)]), "no root"),
    "tree side cycle": (lambda: Tree([("a", "r", 1), ("b", "c", 1), ("c", "b", 1)]), "cycle of edges"),
    "tree roots": (lambda: Tree([("a", "r", 1), ("b", "s", 1)]), r"has the roots \['r', 's'\]"),
    "tree parents": (lambda: Tree([("a", "r", 1), ("a", "s", 1)]), "two parents, 'r' and 's'"),
    "tree length": (lambda: Tree([("a", "r", 0)]), "length of 'a' is 0"),
    "tree empty": (lambda: Tree([]), "no edges"),
    "nested depth": (lambda: Tree.nested(["a/b", "a"], distances=[1, 0.5]), "'a' does not have 2 levels"),
    "nested distances": (lambda: Tree.nested(["a/b"], distances=[1, 1]), "strictly decreasing"),
    "nested twice": (lambda: Tree.nested(["a/b", "a/b"], distances=[1, 0.5]), "'a/b' twice"),
    "same vector": (lambda: Embedding(["a", "b", "c"], [[1.0], [2.0], [1.0]]), "'a' and 'c' have the same vector"),
    "zero vector": (lambda: Embedding(["a"], [[0.0]], metric="angular"), "'a' is zero"),
    "vector rows": (lambda: Embedding(["a"], [[1.0], [2.0]]), "2 vectors for 1 labels"),
    "metric": (lambda: Embedding(["a"], [[1.0]], metric="cosine"), "metric is 'cosine'"),
    "embedding diameter": (lambda: Embedding(["a", "b"], [[0.0], [2.0]], diameter=1.0), "2 apart"),
    "graph pieces": (lambda: Graph([("a", "b", 1), ("c", "d", 1)]), "2 pieces: no path leads from 'a' to 'c'"),
    "graph zero": (lambda: Graph([("a", "b", 0)]), "length of the edge from 'a' to 'b' is 0"),
    "graph nan": (lambda: Graph([("a", "b", NAN)]), "length of the edge from 'a' to 'b' is nan"),
    "graph detour": (lambda: Graph([("a", "b", 1), ("b", "c", 1), ("a", "c", 3)]), "another way between them only 2"),
    "graph loop": (lambda: Graph([("a", "a", 1)]), "from 'a' to itself"),
    "graph twice": (lambda: Graph([("a", "b", 1), ("b", "a", 1)]), "'b' and 'a' is given twice"),
    "graph empty": (lambda: Graph([]), "no edges"),
    "graph rows": (lambda: Graph([("a", "b")]), "edges cannot be read"),
    "graph diameter": (lambda: Graph([("a", "b", 2)], diameter=1), "two nodes may be 2"),
    "graph default": (lambda: Graph([("a", "b", 2)], default="z"), "default is 'z'"),
    "graph label": (lambda: Graph([(1, "b", 2)]), "holds 1"),
    "one item": (lambda: Discrete(["a"]).graph(), "one item"),
    "spacing": (lambda: Discrete(["a", "b"]).graph(spacing=1), "no coordinates"),
    "spacing zero": (lambda: Line(0, 1, step=0.1).graph(spacing=0), "spacing is 0"),
    "spacings": (lambda: Product([Line(0, 1), Line(0, 1)], weights=["1/2", "1/2"]).graph(spacing=1), "has no grid"),
    "weights": (lambda: Product([Line(0, 1), Line(0, 1)], weights=["1/2", "1/3"]), "sum exactly 1"),
    "one part": (lambda: Product([Line(0, 1)], weights=[1]), "two or more parts"),
    "hexagon": (lambda: Hexagons(["nowhere"]), "not an H3 cell"),
    "kind": (lambda: space_from_spec({"kind": "erth"}), "Did you mean 'earth'"),
    "keys": (lambda: space_from_spec({"kind": "line", "lo": 1}), "Line has no option 'lo'. Did you mean 'low'"),
    "text": (lambda: parse_space("earth(__import__('os'))"), "cannot be read"),
    "no grid": (lambda: Line(0, 1).labels, "has no grid"),
    "point outside": (lambda: distances_from(Line(0, 1, step=0.5), 2), "outside the line"),
    "place": (lambda: distances_from(Earth(cell=5000), (100, 0)), "not on Earth"),
    "label": (lambda: distances_from(Discrete(["a"]), "b"), "'b' is not an item"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_spaces_are_refused(name):
    make, pattern = WRONG[name]
    with pytest.raises(ParameterError, match=pattern) as error:
        make()
    assert error.value.fix


DISTANCES = {
    "unit": ("5 parsec", "has the unit 'parsec'"),
    "no unit": ("5", "has no unit"),
    "beyond": ("99999 km", "beyond the largest one"),
    "zero": ("0 km", "not above 0"),
    "words": ("far away", "cannot be read"),
    "negative": ("-5 km", "cannot be read"),
    "nan": ("nan km", "cannot be read"),
    "decimal comma": ("0,5 km", "comma does not group thousands"),
    "time": ("5 h", "has the unit 'h'"),
}


@pytest.mark.parametrize("name", DISTANCES)
def test_wrong_distances_are_refused(name):
    text, pattern = DISTANCES[name]
    with pytest.raises(ParameterError, match=pattern) as error:
        parse_distance(text, Earth())
    assert "km" in str(error.value)


@pytest.mark.parametrize(
    ("text", "space", "fix"),
    [
        ("5 yeers", Line(0, 100, step=1, unit="years"), '"5 years"'),
        ("5 kilm", Earth(), '"5 km"'),
        ("90 minuets", Circle.hours(), '"90 min"'),
        ("5 parsec", Earth(), '"2001.51 km"'),
        ("5", Earth(), '"5 km"'),
    ],
)
def test_a_unit_that_is_misspelt_is_answered_by_the_one_that_was_meant(text, space, fix):
    with pytest.raises(ParameterError) as error:
        parse_distance(text, space)
    assert error.value.fix == fix


def test_distances_are_read_in_every_unit_of_the_family():
    earth = Earth()
    for text in ("1609.344 km", "1,000 mi", "1000 miles", "1e3 mi", "1609344 m", "1609344 metres"):
        assert float(parse_distance(text, earth)) == pytest.approx(1609.344 / 20015.1145, rel=1e-12)
    assert parse_distance("90 min", Circle.hours()) == parse_distance("1.5 h", Circle.hours())
    assert parse_distance("2 days", Circle.weekdays()) * 7 == 4
    assert parse_distance("10 %", earth) * 10 == 1
    assert parse_distance("anywhere", earth) == 1
    assert parse_distance(0.25, Discrete(["a", "b"])) * 4 == 1


def test_shortest_paths_mend_a_broken_metric():
    broken = np.array([[0.0, 1, 9], [1, 0, 1], [9, 1, 0]])
    assert Finite("abc", shortest_paths(broken)).distance(0, 2) == 1.0


def test_unreadable_records_never_show_their_value():
    for space, records in (
        (Line(0, 1, step=0.5), ["secret"]),
        (Line(0, 1, step=0.5), [10**400]),
        (Earth(cell=5000), [["secret", "x"]]),
        (Earth(cell=5000), [[1.0, 2.0, 3.0]]),
        (Euclidean([0, 0], [1, 1], step=1), [1.0, 2.0]),
        (
            Product([Line(0, 1, step=1, cells=True), Line(0, 1, step=1, cells=True)], weights=["1/2", "1/2"]),
            [["secret"], [0.5]],
        ),
        (Product([Line(0, 1, step=1, cells=True), Line(0, 1, step=1, cells=True)], weights=["1/2", "1/2"]), [[0.5]]),
    ):
        with pytest.raises(DataError) as error:
            space.encode(records)
        assert "secret" not in str(error.value)
        assert "secret" not in repr(error.value.__cause__)


def test_names_have_no_nearest():
    for space in (Discrete(["a"]), Circle.weekdays()):
        with pytest.raises(ParameterError, match="has no nearest"):
            space.encode(["a"], unknown="nearest")


def test_a_missing_h3_says_how_to_install_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "h3", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'barrow\[geo\]'"):
        Hexagons(["8928308280fffff"])


def test_huge_private_values_cause_no_warning():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Line(0, 1, step=0.5).encode([1e308, -1e308], unknown="nearest").tolist() == [1, 0]
        # So far off neither a place on a circle nor a direction from a centre is left: these are lost, without a word.
        for space, far in ((Circle.hours(), [1e308]), (Euclidean(center=[0, 0], radius=1, step=0.5), [[1e200, 1e200]])):
            with pytest.raises(DataError):
                space.encode(far, unknown="nearest")


def test_constructors_are_plain():
    """What a class defines is what is called: nothing wraps or replaces it."""
    for kind in space_kinds().values():
        assert not hasattr(kind.__init__, "__wrapped__"), kind


@pytest.mark.parametrize("cell", ["0.001", "0.01", "1"])
def test_cells_that_are_far_too_many_are_refused_before_rows_of_them_are_made(cell):
    """Typed in the wrong unit, or by a stranger whose statement somebody verifies."""
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match=r"which makes [\d,]{11,} cells"):
            Earth(cell=cell)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    most = Earth(box=(-60, -20, 75, 130), cell=2.2).rows.columns  # nearly as many as there may be
    assert 10**7 < int(most.sum()) < 10**8
