"""Plans of several kinds, each by one known answer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from barrow.planning.terms import Terms
from barrow.questions.answer import Sample, labelled
from barrow.questions.density import Density
from barrow.questions.frequency import Frequency
from barrow.questions.histogram import Histogram
from barrow.questions.items import Items
from barrow.questions.quantile import Quantile
from barrow.questions.releasing import held_by_each
from barrow.spaces import Clustered, Discrete, Line


def test_density_plan():
    line = Line(0, 4, unit="km", step=1, cells=True)
    plan = Density(bandwidth="2 km").plan(Terms(line, 1000, given=Fraction(9)))
    assert [row["share"] for row in plan.tables(Sample(np.array([0.7, 0.5, -0.1])))["values"]] == [0.6, 0.4, 0.0]


def test_frequency_plan():
    terms = Terms(Clustered.grid(5, 4, r=0.05), 1000, given=Fraction(25), delta=Fraction("1e-9"))
    plan = Frequency(items=100).plan(terms)
    assert held_by_each(plan).items == 100
    assert plan.error < 0.05


def test_histogram_plan():
    plan = Histogram().plan(Terms(Clustered.grid(5, 4, r=0.02), 1000, given=Fraction(25)))
    assert plan.chosen.name == "tree"
    assert plan.error < 0.01


def test_items_plan():
    terms = Terms(Clustered.grid(5, 4, r=0.05), 1000, given=Fraction(25), delta=Fraction("1e-9"))
    plan = Items(items=100).plan(terms)
    assert plan.description == "the histogram of randomised items"
    assert held_by_each(plan).items == 100


def test_labelled():
    assert labelled(Discrete(["a", "b"]), {"share": [0.5, 0.5]})[1] == {"item": "b", "share": 0.5}


def test_quantile_plan():
    plan = Quantile().plan(Terms(Line(0, 100, unit="years", step=1), 10_000, given=Fraction(25)))
    assert plan.description == "the median of people's items (years)"
    assert plan.error < 2
