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
    Projection,
    Quantile,
    Region,
    Similarity,
    Spread,
    question_kinds,
)
from barrow.spaces import Circle, Clustered, Discrete, Embedding, Line
from barrow.testing import QuestionCase, QuestionSuite, pytest_generate_tests

__all__ = ["pytest_generate_tests"]

LINE = Line(0, 20, step=1, unit="km")
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
    QuestionCase("items", Items(samples=2), NAMES, TWO),
    QuestionCase("frequency", Frequency(samples=2), NAMES, TWO),
)


class TestEveryQuestion(QuestionSuite):
    cases = CASES


def test_every_kind_has_a_case():
    assert {case.question.kind for case in CASES} == set(question_kinds().own)
