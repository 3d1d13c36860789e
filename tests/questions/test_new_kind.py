"""A kind of question that stands in this file alone: planned, compared, released, reported, verified, reported to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import barrow as bw
from barrow.audit.study import audit_study
from barrow.collect.card import _facts
from barrow.local import Survey
from barrow.questions import Mean, Plan, Question, question_kinds
from barrow.questions.statement import AnswerFacts
from barrow.study import explain
from barrow.web.asked import Asked
from barrow.web.design import Design, can_preview, quick
from tests.study.helpers import USERS, make_ledger, make_study


def made() -> type[Question]:
    """The question whether the mean is above a number, which is neither linear, nor a histogram, nor about items."""

    @dataclass(frozen=True, kw_only=True, repr=False)
    class Above(Question):
        """Whether the mean over people is above a public number."""

        kind: ClassVar[str] = "above"
        error_words: ClassVar[str] = "95 % half width"
        than: float

        def plan(self, terms: Any) -> Plan:
            return AbovePlan(self, terms, Mean().plan(terms))

        def channel(self, terms: Any) -> Any:
            return Mean().channel(terms)

        @classmethod
        def released(cls, statement: Any) -> str:
            return f"We released {statement.released} of {statement.people:,} people."

        @classmethod
        def counted(cls, statement: Any) -> str:
            return "Every person counts once."

        @classmethod
        def drawn(cls, statement: Any) -> list[str]:
            return ["Noise was added to the mean, which was held against the number."]

    @dataclass(frozen=True, eq=False)
    class AbovePlan(Plan):
        question: Above
        terms: Any
        mean: Any

        guarantee = property(lambda self: self.mean.guarantee)
        event = property(lambda self: self.mean.event)
        ratio = property(lambda self: self.mean.ratio)
        error = property(lambda self: self.mean.error)
        description = property(lambda self: f"whether the mean is above {self.question.than:g}")

        def statistics(self, counts: Any) -> Any:
            return self.mean.statistics(counts)

        def draw(self, statistics: Any) -> tuple[Any, bool]:
            return self.mean.draw(statistics)

        def tables(self, drawn: Any) -> dict[str, Any]:
            return {"values": [{"output": "above", "value": float(drawn[0] > self.question.than)}]}

        def summary(self, drawn: Any) -> list[str]:
            return ["yes" if drawn[0] > self.question.than else "no"]

        def report(self, items: Any) -> list[int]:
            return self.mean.report(items)

        def collector(self) -> Any:
            return self.mean.collector()

        def collected(self, collector: Any) -> Any:
            found = self.mean.collected(collector)
            values = np.array([row["value"] for row in found.tables["values"]])
            return replace(found, tables=self.tables(values), lines=self.summary(values), details={})

        def parameters(self) -> dict[str, Any]:
            return self.mean.parameters()

        def fields(self) -> AnswerFacts:
            return AnswerFacts()

        def details(self) -> dict[str, Any]:
            return {"outputs": 1}

        def answer_lines(self) -> list[str]:
            return [f"Error     the mean is held against the number within {self.error:.3g}"]

    return Above


@pytest.fixture
def above(monkeypatch) -> type[Question]:
    monkeypatch.setitem(question_kinds().added, "above", found := made())
    found.__module__ = "barrow.questions.above"  # as if it stood there: what other packages declare is said everywhere
    return found


def test_it_is_asked_planned_and_compared(above, tmp_path):
    study = make_study(tmp_path, questions=["above(than=30)"])
    (question,) = study.questions
    assert question == above(than=30)
    plan = study.plan("above")
    assert plan.description == "whether the mean is above 30"
    assert "within" in str(plan)
    assert plan.to_json()["question"] == {"kind": "above", "than": 30}
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
    found = server.result()
    assert (found.n, found.tables["values"][0]["value"]) == (USERS, 1.0)
    facts = _facts(Survey(survey, above(than=30)))
    assert (facts["messages"], facts["channel"]["kind"]) == (1, "laplace")  # its channel is that of the mean


def test_the_page_shows_it(above, tmp_path):
    asked = Asked(make_study(tmp_path, questions=["above(than=30)"]), 0)
    shown = Design(asked).to_json()
    assert quick(asked)
    assert not can_preview(asked)
    assert shown["cards"]["error"]["label"] == "95 % half width from the truth"
    assert shown["figures"]["picture"].startswith("<svg")
