"""The figures of accuracy are made of releases and of records that are counted apart from the library."""

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks._intervals_truth import Held
from benchmarks._real_sets import RealSet
from benchmarks._truth import Draws, Setting, Truth
from benchmarks._truth_decoders import empirical_bayes, isotonic

from barrow.spaces import Clustered
from benchmarks import _truth_pictures, truth


def people(n):
    rng = np.random.default_rng(3)
    return np.repeat(np.arange(n), 2), (np.minimum(rng.geometric(0.2, 2 * n), 20).astype(float),)


def names():
    rng = np.random.default_rng(4)
    return np.arange(200), (rng.choice(["fig", "pear", "saw", "axe"], 200, p=[0.6, 0.2, 0.1, 0.1]),)


LINE = RealSet("tiny line", "line", "line(low=0, high=20, step=1)", lambda: people(400), True)
TREE = RealSet("tiny tree", "tree", Clustered({"fruit": ["fig", "pear"], "tool": ["saw", "axe"]}, r=0.1), names)
FEW = Draws(5, 5, 1)


@pytest.fixture(scope="module")
def found():
    return truth.run([*truth.settings_of(LINE, FEW, (200,)), *truth.settings_of(TREE, FEW, (300,))])


def test_the_report_has_every_figure_and_says_which_sets_were_used(found):
    data = json.loads(json.dumps(truth.report(found, [])))
    for name in (
        "before_within", "before_most_within", "after_within", "standing_out_coverage", "standing_out_width",
        "busiest_coverage", "nonzero_coverage", "limits_coverage", "worst_set_coverage", "median_probability_width",
        "median_coverage",
    ):  # fmt: skip
        assert isinstance(data[name], float), name
    assert data["settings"] == len(data["rows"]) == 3
    assert data["decoder_vs_best"]["most"] >= data["decoder_vs_best"]["mean"] >= 1.0
    assert data["merged_any_miss"]["pooled"][1] == 3 * FEW.raw
    assert data["sets"] == {"used": ["tiny line (line)"], "touched_once": ["tiny tree (tree)"]}
    assert data["touched_once"]["settings"] == 1
    assert {row["people"] for row in data["rows"]} == {200}


def test_figures_follow_from_what_was_measured(found):
    """A true error far from what was said, and intervals that miss, are counted as such."""
    row = replace(found[0], about=(1.0, 1.0), most=1.0, own=1.0, true=(1.0, 1.0), coarse=False)
    row = replace(row, held=Held(releases=2))
    held = Held(missed=1, releases=2)
    held.count("nonzero", np.array([True] * 15 + [False] * 15), np.ones(30))
    data = truth.figures_of([row, replace(row, true=(3.0, 3.0), held=held, row={**row.row, "set": "other"})])
    assert data["before_within"] == data["before_most_within"] == data["after_within"] == 0.5
    assert data["worst_set_coverage"] == 0.5
    assert data["merged_any_miss"]["worst"] == ["other (line)", 1, 2]
    assert data["merged_any_miss"]["pooled"] == [1, 4]


def test_people_count_once_and_the_median_is_that_of_raw_records():
    uneven = RealSet(
        "uneven", "line", "line(low=0, high=10, step=1)",
        lambda: (np.array([1, 1, 1, 2]), (np.array([1.2, 1.2, 1.4, 8.0]),)),
    )  # fmt: skip
    known = Truth.of(Setting(uneven, "histogram", {"alpha": 10}, 10, FEW))
    assert known.shares[1] == pytest.approx(0.5)
    assert known.shares[8] == pytest.approx(0.5)
    assert known.median == pytest.approx(1.4)


def test_other_decoders_give_histograms_and_return_what_has_no_noise():
    shares = np.array([0.0, 0.5, 0.0, 0.3, 0.2])
    assert isotonic(shares) == pytest.approx(shares)
    assert empirical_bayes(shares, 1e-6) == pytest.approx(shares, abs=0.1)
    assert isotonic(np.array([-0.2, 0.7, 0.1])).min() >= 0.0


def test_the_pictures_are_those_of_what_is_kept():
    for name, figure in _truth_pictures.drawn().items():
        assert (_truth_pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8") == figure.standalone() + "\n"
