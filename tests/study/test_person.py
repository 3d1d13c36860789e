"""Questions about whole people, from records to statement: the same exact value on every engine, priced as proved."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import barrow as bw
from barrow.audit.people import audit_people
from barrow.engines import DuckDBEngine, MemoryEngine
from barrow.errors import DataError, ParameterError
from barrow.promises import PersonGaussianNoise, PersonKNormNoise
from barrow.promises.events import linear_change
from barrow.questions.person import PersonAnswer
from barrow.questions.plan_text import warnings
from barrow.questions.prices import charges
from barrow.questions.question import asked_of
from barrow.spaces import Discrete, Line

LABELS = Discrete(["home", "bar", "gym"])
SHARE = bw.Person(function="share", region="bar", above="20 %", ramp="20 %")
PEOPLE = {"ann": ["home"] * 9 + ["bar"], "bob": ["bar"] * 3 + ["home"] * 7, "cid": ["bar", "gym", "gym", "home"]}
TABLE = {
    "uid": [name for name, held in PEOPLE.items() for _ in held],
    "item": [item for held in PEOPLE.values() for item in held],
}


def study(**options: object) -> bw.Study:
    data = bw.read(TABLE, user="uid", item="item")
    return bw.Study(
        LABELS, ["1 of 30, anywhere, 0.5", "all, anywhere, 2"], users=5, dataset="visits", data=data, questions=[SHARE],
        **options,
    )  # type: ignore[arg-type]  # fmt: skip


def test_the_value_that_noise_is_added_to_is_exact_and_the_same_on_every_engine(tmp_path):
    plan = study().plan()
    assert isinstance(plan, PersonAnswer)
    # ann has 1/10 at the bar, bob 3/10, cid 1/4; dan and eve have no records and are at home.
    expected = (Fraction(0) + 1 + Fraction(3, 4)) / 5
    path = tmp_path / "visits.csv"
    path.write_text("uid,item\n" + "\n".join(f"{u},{i}" for u, i in zip(TABLE["uid"], TABLE["item"], strict=True)))
    for engine, source in ((MemoryEngine(), TABLE), (DuckDBEngine(), path)):
        data = bw.read(source, user="uid", item="item")
        center = plan.statistics(data.people(engine, plan.terms.space, 5))
        assert center.exact_entry(0) == expected
        assert center.approximation[0] == pytest.approx(float(expected))
    with pytest.raises(DataError, match="person by person"):
        plan.statistics(data.count(DuckDBEngine(), plan.terms.space, 5))


def test_promises_cost_what_the_theorem_says_and_not_what_a_linear_answer_would():
    plan = study().plan()
    event = plan.event
    assert isinstance(event, PersonKNormNoise)
    assert event.range_ratio == pytest.approx(1 / 5)
    assert plan.alpha == pytest.approx(10)  # "all, anywhere": 2/(1/5); "1 of 30": at most 15
    small, whole = charges(plan)
    assert whole == 2
    assert small == event.alpha / 30  # a linear answer would be charged a fifth of it
    assert small > event.alpha * linear_change(Fraction(1, 30), Fraction(1), event.range_ratio) * 4
    options = {**{k: v for k, v in asked_of(SHARE).items() if k != "kind"}, "noise": "gaussian"}
    gaussian = study(delta="1e-6").plan(bw.Person(**options))
    assert isinstance(gaussian.event, PersonGaussianNoise)
    assert max(a / b for a, b in zip(charges(gaussian), gaussian.terms.epsilons, strict=True)) <= 1


def test_a_release_says_what_was_asked_and_its_statement_verifies(tmp_path):
    request = study()
    ledger = bw.Ledger.create(tmp_path / "visits.ledger", request)
    release = request.release(ledger=ledger, out=tmp_path / "share")
    text = (tmp_path / "share" / "statement.txt").read_text()
    words = " ".join(text.split())
    assert "counted in full from 30 %, not at all up to 10 %, in between in part" in words
    assert "docs/proofs/people.md" in words
    assert "%" in release.statement.summary[0]
    assert release.statement.answer.shares
    assert all(check.holds for check in bw.verify(tmp_path / "share", ledger=tmp_path / "visits.ledger"))
    assert "No person's number was rounded" in request.plan().question.steps(release.statement)[0]


def test_intervals_hold_the_exact_value_as_often_as_they_say():
    """Of 400 releases at 95 % fewer than 340 would be seen once in 10^13; at a quarter of the width about 211 hold."""
    plan = study().plan()
    center = plan.statistics(bw.read(TABLE, user="uid", item="item").people(MemoryEngine(), plan.terms.space, 5))
    exact, width = float(center.exact_entry(0)), plan.half_width
    errors = np.array([abs(float(plan.draw(center).values[0]) - exact) for _ in range(400)])
    assert (errors <= width).sum() > 340
    assert (errors <= width / 4).sum() < 300  # noise half as large would give about 311


def test_the_audit_catches_the_price_of_linear_answers(monkeypatch):
    assert all(finding.passed for finding in audit_people())
    monkeypatch.setattr(PersonKNormNoise, "change", staticmethod(linear_change))
    caught = {finding.mechanism for finding in audit_people() if not finding.passed}
    assert "whole people, share" in caught


def test_reports_periods_that_count_alike_and_single_people_are_refused():
    with pytest.raises(ParameterError, match="where a curator holds the data"):
        bw.Study(LABELS, ["all, anywhere, 2"], users=5, model="local").plan(SHARE)
    with pytest.raises(ParameterError, match="users is 1"):
        bw.Study(LABELS, ["all, anywhere, 2"], users=1).plan(SHARE)


def test_people_without_records_are_said_to_count_in_the_middle():
    result = bw.Study(LABELS, ["all, anywhere, 2"], users=5, missing="no records").plan(SHARE)
    assert "people without records count as 50 %" in result.description


def test_a_plan_warns_where_ramps_are_too_steep():
    line = Line(0, 100, step=1, unit="km", whole=True)
    steep = bw.Person(
        function="share", region={"center": 5, "radius": "2 km", "border": "1 km"}, above="10 %", ramp="1 %",
        definition="emd",
    )  # fmt: skip
    result = bw.Study(line, ["all, 5 km, 0.5"], users=10).plan(steep)
    assert "a wider ramp or border" in warnings(result)[0]


def test_texts_and_tables_of_the_study_file_are_read():
    request = bw.questions.to_question("person(function='share', region='bar', above='20 %', ramp='20 %')")
    assert request == SHARE
    text = bw.Study(LABELS, ["all, anywhere, 2"], users=5, questions=[SHARE]).to_spec()
    assert text["question"] == [
        {"kind": "person", "function": "share", "region": "bar", "above": "20 %", "ramp": "20 %"}
    ]
