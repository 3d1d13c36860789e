"""Every kind of question passes the suite that questions of other packages pass."""

from __future__ import annotations

from barrow.questions import (
    CircularMean,
    Density,
    Distance,
    Frequency,
    Function,
    Histogram,
    Items,
    Mean,
    Person,
    Projection,
    Quantile,
    Region,
    Similarity,
    Spread,
    Total,
    Workload,
    question_kinds,
)
from barrow.spaces import Circle, Clustered, Discrete, Embedding, Line
from barrow.testing import QuestionCase, QuestionSuite, pytest_generate_tests

__all__ = ["pytest_generate_tests"]

LINE = Line(0, 20, step=1, unit="km")
VISITS = Line(0, 5, step=1, unit="visit", whole=True)
NAMES = Discrete(["tea", "coffee", "water"])
WORDS = Embedding(["a", "b", "c"], [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
USERS = [f"u{i % 40}" for i in range(120)]
KM = {"uid": USERS, "item": [i * i % 21 for i in range(120)]}
HOURS = {"uid": USERS, "item": [i * i % 24 for i in range(120)]}
TWO = {"uid": [f"u{i % 60}" for i in range(120)], "item": [NAMES.label(i % 3) for i in range(120)]}
CASES = (
    QuestionCase("mean", Mean(), LINE, KM),
    QuestionCase("spread", Spread(), LINE, KM),
    QuestionCase("quantile", Quantile(of="1/2"), LINE, KM),
    QuestionCase("region", Region(center=5, radius="3 km", ramp="3 km"), LINE, KM),
    QuestionCase("distance", Distance(to=3), LINE, KM),
    QuestionCase("density", Density(bandwidth="3 km"), LINE, KM),
    QuestionCase("circular mean", CircularMean(), Circle.hours(2), HOURS),
    QuestionCase("histogram of a line", Histogram(), LINE, KM),
    QuestionCase("histogram of a tree", Histogram(), Clustered({"x": ["a", "b"], "y": ["c", "d"]}, r="1/4")),
    QuestionCase("function", Function(values=[[0.0], [1.0], [0.5]]), NAMES),
    QuestionCase("similarity", Similarity(to=[[1.0, 0.0]]), WORDS),
    QuestionCase("projection", Projection(matrix=[[1.0, 0.0]]), WORDS),
    QuestionCase("person", Person(function="share", region="tea", above="30 %", ramp="20 %"), NAMES),
    QuestionCase("person, bracket", Person(function="share", region=["tea"], above=0.3, ramp=0.2, bracket=True), NAMES),
    QuestionCase("person, radius", Person(function="radius"), LINE, KM),
    QuestionCase("person, spread", Person(function="spread"), LINE, KM, options={"delta": "1e-6"}),
    QuestionCase("person, distance", Person(function="distance", reference="uniform"), LINE, KM),
    QuestionCase(
        "person, no records", Person(function="radius", centers=[3, 9]), LINE, KM, options={"missing": "no records"}
    ),
    QuestionCase("total", Total(), VISITS, KM, ["all, 1 visit, 1"], per_person="count"),
    QuestionCase(
        "workload", Workload(parts=[Region(center=c, radius="3 km", ramp="3 km") for c in (3, 9, 15)]), LINE, KM
    ),
    QuestionCase("workload, delta", Workload(parts=["distance(to=3)", "mean"]), LINE, KM, options={"delta": "1e-6"}),
    QuestionCase("items", Items(samples=2), NAMES, TWO),
    QuestionCase("frequency", Frequency(samples=2), NAMES, TWO),
)


class TestEveryQuestion(QuestionSuite):
    cases = CASES


def test_every_kind_has_a_case():
    assert {case.question.kind for case in CASES} == set(question_kinds().own)
