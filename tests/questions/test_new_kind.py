"""A kind of question that stands in this file alone: planned, compared, released, reported, verified, reported to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import barrow as bw
from barrow.audit.study import audit_study
from barrow.collect.card import _facts
from barrow.local.client import Survey
from barrow.questions import Answer, Mean, Question, question_kinds
from barrow.questions.answer import Sample, Statistics, Tables
from barrow.questions.collecting import Collected, ReportSums, collected
from barrow.questions.plan_text import answer_json, answer_lines
from barrow.questions.question import Traits
from barrow.questions.statement import AnswerFacts
from barrow.study import explain
from barrow.web.design import Design, can_preview, quick
from barrow.web.request import DesignRequest
from tests.study.helpers import USERS, make_ledger, make_study


def made() -> type[Question]:
    """The question whether the mean is above a number, which is neither linear, nor a histogram, nor about items."""

    @dataclass(frozen=True, kw_only=True, repr=False)
    class Above(Question):
        """Whether the mean over people is above a public number."""

        kind: ClassVar[str] = "above"
        traits: ClassVar[Traits] = Traits("95 % half width")
        than: float

        def plan(self, terms: Any) -> Answer:
            return AboveAnswer(self, terms, Mean().plan(terms))

        def channel(self, terms: Any) -> Any:
            return Mean().channel(terms)

        @classmethod
        def released(cls, statement: Any) -> str:
            return f"We released {statement.released} of {statement.people:,} people."

        @classmethod
        def _counted(cls, statement: Any) -> str:
            return "Every person counts once."

        @classmethod
        def _noise_steps(cls, statement: Any) -> list[str]:
            return ["Noise was added to the mean, which was held against the number."]

    @dataclass(frozen=True, eq=False)
    class AboveAnswer(Answer):
        question: Above
        terms: Any
        mean: Any

        guarantee = property(lambda self: self.mean.guarantee)
        mechanism = property(lambda self: self.mean.mechanism)
        error = property(lambda self: self.mean.error)
        description = property(lambda self: f"whether the mean is above {self.question.than:g}")

        def statistics(self, counts: Any) -> Any:
            return self.mean.statistics(counts)

        def draw(self, statistics: Statistics) -> Sample:
            return self.mean.draw(statistics)

        def tables(self, drawn: Sample) -> Tables:
            return {"values": [{"output": "above", "value": float(drawn.values[0] > self.question.than)}]}

        def facts(self) -> AnswerFacts:
            return AnswerFacts()

    @collected.register(AboveAnswer)
    def _(answer: AboveAnswer, collector: ReportSums) -> Collected:
        result = collected(answer.mean, collector)
        values = np.array([row["value"] for row in result.tables["values"]])
        return replace(result, tables=answer.tables(Sample(values)), lines=[], details={})

    @answer_lines.register(AboveAnswer)
    def _(answer: AboveAnswer) -> list[str]:
        return [f"Error     the mean is held against the number within {answer.error:.3g}"]

    return Above


@pytest.fixture
def above(monkeypatch) -> type[Question]:
    monkeypatch.setitem(question_kinds().added, "above", result := made())
    result.__module__ = "barrow.questions.above"  # as if it stood there: what other packages declare is said everywhere
    return result


def test_it_is_asked_planned_and_compared(above, tmp_path):
    study = make_study(tmp_path, questions=["above(than=30)"])
    (question,) = study.questions
    assert question == above(than=30)
    plan = study.plan("above")
    assert plan.description == "whether the mean is above 30"
    assert "within" in str(plan)
    assert answer_json(plan)["question"] == {"kind": "above", "than": 30}
    assert study.compare("above").choice.error > 0
    study.write(tmp_path / "study.toml")
    assert bw.Study.read(tmp_path / "study.toml").questions == study.questions
    assert all(finding.passed for finding in audit_study(study, draws=300))


def test_it_is_released_reported_verified_and_explained(above, tmp_path):
    study = make_study(tmp_path, questions=["above(than=30)"])
    release = study.release("above", ledger=make_ledger(study), out=tmp_path / "out")
    assert [set(row) for row in release.rows()] == [{"output", "value"}]
    assert release.statement.kind == "above"
    assert "whether the mean is above 30" in (tmp_path / "out" / "report.html").read_text()
    assert all(check.holds for check in bw.verify(tmp_path / "out", ledger=str(study.ledger)))
    assert "held against the number" in explain(release.statement)
    assert "above" in str(bw.plot(release))


def test_people_report_it_themselves(above, tmp_path):
    survey = make_study(tmp_path, data=None, ledger=None, model="local", promises=["all, 50 years, 4"])
    server = bw.Server(survey, above(than=30))
    for user in range(USERS):
        report = bw.Client(survey, above(than=30), memory=tmp_path / f"{user}.json").report([90.0, 80.0])
        assert server.add(report) is None
    result = server.result()
    assert (result.n, result.tables["values"][0]["value"]) == (USERS, 1.0)
    facts = _facts(Survey(survey, above(than=30)))
    assert (facts["messages"], facts["channel"]["kind"]) == (1, "laplace")  # its channel is that of the mean


def test_the_page_shows_it(above, tmp_path):
    request = DesignRequest(make_study(tmp_path, questions=["above(than=30)"]), 0)
    shown = Design(request).to_json()
    assert quick(request)
    assert not can_preview(request)
    assert shown["cards"]["error"]["label"] == "95 % half width from the truth"
    assert shown["figures"]["picture"].startswith("<svg")
