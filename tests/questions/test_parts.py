"""What internal names do, each by one known answer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from barrow.errors import ParameterError
from barrow.mechanisms.user_level import local_subsets
from barrow.planning.terms import Terms
from barrow.questions import Mean
from barrow.questions.circular_mean import CircularMean
from barrow.questions.collecting import Averaged, Counted, averaged_of, counted_of
from barrow.questions.density import Density
from barrow.questions.frequency import Frequency
from barrow.questions.histogram import Histogram
from barrow.questions.holders import laplace_pair_quantile, plan_holders
from barrow.questions.items import Items, how_many, items_counted, reports_sentence
from barrow.questions.kept import Kept, kept_query, query_key, query_ready
from barrow.questions.noise_words import noise_sentence, snapping_words
from barrow.questions.plan import labelled, placed
from barrow.questions.quantile import Quantile, shares_asked
from barrow.questions.read_off import share_row
from barrow.questions.statement import AnswerFacts, NoiseFacts, Statement
from barrow.questions.subsets import Sets
from barrow.questions.values import Bounds, bounds_of, counted_rows, names_of, places_of, unit_of, values_of
from barrow.render.values import values_figure
from barrow.spaces import Circle, Clustered, Discrete, Line, NoRecords
from barrow.study import Study, make_statement


def statement_of(**facts: Any) -> Statement:
    """A statement of a mean, with other facts."""
    study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    return structs.replace(make_statement(study, study.plan("mean")), **facts)


def test_circular_mean_plan():
    plan = CircularMean().plan(Terms(Circle.hours(), 10_000, given=Fraction(25)))
    assert plan.description == "the circular mean and spread of people's items (h)"
    assert plan.radius < 0.15


def test_averaged():
    sums = Averaged([(-9, 9)])
    assert sums.add([3]) is None
    assert sums.add([5]) is None
    assert sums.means(Fraction(1, 2)) == [2.0]
    assert sums.refusal([10]) == "impossible value"


def test_counted():
    counts = Counted(2, 3)
    assert counts.add([0, 2]) is None
    assert counts.counts.tolist() == [1, 0, 1]
    assert counts.refusal([2, 3]) == "impossible value"
    assert counts.refusal([2, 0]) == "impossible value"


def test_density_plan():
    line = Line(0, 4, unit="km", step=1, cells=True)
    plan = Density(bandwidth="2 km").plan(Terms(line, 1000, given=Fraction(9)))
    assert [row["share"] for row in plan.tables(np.array([0.7, 0.5, -0.1]))["values"]] == [0.6, 0.4, 0.0]


def test_frequency_plan():
    terms = Terms(Clustered.grid(5, 4, r=0.05), 1000, given=Fraction(25), delta=Fraction("1e-9"))
    plan = Frequency(items=100).plan(terms)
    assert plan.items == 100
    assert plan.error < 0.05


def test_histogram_plan():
    plan = Histogram().plan(Terms(Clustered.grid(5, 4, r=0.02), 1000, given=Fraction(25)))
    assert plan.chosen.name == "tree"
    assert plan.error < 0.01


def test_plan_holders():
    space = NoRecords(Line(0, 100, unit="years", step=1))
    plan = plan_holders(Mean(), Terms(space, 1000, given=Fraction(25)))
    assert plan.description == "the mean over people with records of the mean of their items (years)"
    assert round(plan.error, 2) == 0.52


def test_laplace_pair_quantile():
    assert round(laplace_pair_quantile(0.0), 6) == 2.995732
    assert round(laplace_pair_quantile(1.0), 4) == 4.113


def test_how_many():
    assert how_many(AnswerFacts(items_per_person=30)) == "each holding exactly 30 items"


def test_items_counted():
    assert (
        items_counted(statement_of(people=9, answer=AnswerFacts(items_per_person=30)))
        == "The items of all 9 people, exactly 30 of each, were counted together."
    )


def test_reports_sentence():
    noise = NoiseFacts(distribution="randomised response", alpha0=1.0, method="flow_strong")
    found = reports_sentence(statement_of(answer=AnswerFacts(noise=noise)))
    assert found[:45] == "Every item was replaced by a random report (r"


def test_items_plan():
    terms = Terms(Clustered.grid(5, 4, r=0.05), 1000, given=Fraction(25), delta=Fraction("1e-9"))
    plan = Items(items=100).plan(terms)
    assert plan.description == "the histogram of randomised items"
    assert plan.items == 100


def test_collectors_of_another_kind_are_refused():
    counted, averaged = Counted(1, 2), Averaged([(0, 1)])
    assert counted_of(counted) is counted
    assert averaged_of(averaged) is averaged
    with pytest.raises(ParameterError, match="no counts of reports"):
        counted_of(averaged)
    with pytest.raises(ParameterError, match="no sums of reports"):
        averaged_of(counted)


def test_kept():
    kept, made = Kept(2), []
    assert [kept.get(key, lambda: made.append(1) or len(made)) for key in "aab"] == [1, 1, 2]
    assert kept.ready("a")
    assert not kept.ready("c")


def test_query_key():
    assert query_key(Mean(fraction="0.5"), Line(0, 1, step=1)) == query_key(Mean(), Line(0, 1, step=1))


def test_kept_query():
    assert kept_query(Mean(), Line(0, 1, step=1)) is kept_query(Mean(noise="laplace"), Line(0, 1, step=1))


def test_query_ready():
    assert not query_ready(Density(bandwidth="0.3"), Line(0, 7, step=1))


def test_snapping_words():
    assert snapping_words(AnswerFacts(snapping=0.5, unit="years")) == " (0.5 years of it for snapping to the grid)"


def test_noise_sentence():
    noise = NoiseFacts(distribution="Laplace", scale=0.5, grid="1/1024")
    assert noise_sentence(AnswerFacts(noise=noise, unit="km")).startswith("Laplace noise of scale 0.5 km ")


def test_bounds():
    assert Bounds(np.array([0.1]), np.array([0.2])).noise is None


def test_counted_rows():
    assert counted_rows([{"report": "b"}, {"report": "a"}, {"report": "b"}]) == [
        {"report": "a", "count": 1},
        {"report": "b", "count": 2},
    ]


def test_values_of():
    assert values_of([{"item": "a", "share": 0.25}]).tolist() == [0.25]


def test_names_of():
    assert names_of([{"item": "a", "share": 0.25}]) == ["a"]


def test_bounds_of():
    assert (
        bounds_of(AnswerFacts(half_width_95_all=0.5), {"values": [{"value": 2.0, "half_width_95": 0.25}] * 20}).noise
        == 0.5
    )


def test_unit_of():
    assert unit_of(AnswerFacts(unit="km"), [{"value": 1.0}], False) == "km"


def test_places_of():
    assert places_of([{"lat": 0.0, "lon": 0.0}, {"lat": 0.0, "lon": 2.0}]).corners is not None


def test_picture():
    rows = [{"output": "mean", "value": 31.0, "half_width_95": 0.5, "unit": "years"}]
    assert (
        str(values_figure(statement_of(), {"values": rows}, title="Mean"))
        == "Mean. mean: 31 years, with 95 % certainty 30.5 years to 31.5 years."
    )


def test_placed():
    assert placed(Line(0, 2, step=1), None, 0) == {}


def test_labelled():
    assert labelled(Discrete(["a", "b"]), {"share": [0.5, 0.5]})[1] == {"item": "b", "share": 0.5}


def test_shares_asked():
    assert shares_asked("1/4") == (Fraction(1, 4),)


def test_quantile_plan():
    plan = Quantile().plan(Terms(Line(0, 100, unit="years", step=1), 10_000, given=Fraction(25)))
    assert plan.description == "the median of people's items (years)"
    assert plan.error < 2


def test_read_off_plan():
    plan = CircularMean().plan(Terms(Circle.hours(), 10_000, given=Fraction(25)))
    assert plan.beside is None
    assert plan.versus is None


def test_share_row():
    assert share_row(0.9, 0.2)["high_95"] == 1.0


def test_sets():
    sets = Sets(local_subsets(Discrete("abc"), 30, users=10))
    assert sets.add([0, 2]) is None
    assert sets.refusal([0, 3]) == "impossible value"
    assert sets.refusal([1, 2]) == "impossible value"
    assert sets.n == 1
