"""Questions about whole people, from records to statement: the same exact value on every engine, priced as proved."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import chain, combinations_with_replacement, product

import numpy as np
import pytest

import barrow as bw
from barrow.audit.promised import audit_people
from barrow.engines import DuckDBEngine, MemoryEngine
from barrow.errors import DataError, ParameterError
from barrow.promises import PersonGaussianNoise, PersonKNormNoise, Scope, exposure
from barrow.promises.events import linear_change
from barrow.promises.periods import Calendar, Window
from barrow.questions.person import PersonAnswer
from barrow.questions.plan_text import warnings
from barrow.questions.prices import charges
from barrow.questions.question import asked_of
from barrow.spaces import Discrete, Line
from barrow.study.about import ALL
from barrow.study.parts import CellReader, plan_parts

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
        center = plan.statistics(*CellReader(data, [ALL]).people(engine, plan.terms.space).values())
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
    data = bw.read(TABLE, user="uid", item="item")
    center = plan.statistics(*CellReader(data, [ALL]).people(MemoryEngine(), plan.terms.space).values())
    exact, width = float(center.exact_entry(0)), plan.half_width
    errors = np.array([abs(float(plan.draw(center).values[0]) - exact) for _ in range(400)])
    assert (errors <= width).sum() > 340
    assert (errors <= width / 4).sum() < 300  # noise half as large would give about 311


def test_the_audit_catches_the_price_of_linear_answers(monkeypatch):
    assert all(finding.passed for finding in audit_people())
    monkeypatch.setattr(PersonKNormNoise, "change", staticmethod(linear_change))
    caught = {finding.mechanism for finding in audit_people() if not finding.passed}
    assert "whole people, share" in caught


MONTHS = {"time": "at", "period": "month", "zone": "UTC"}


def by_month(**options: object) -> bw.Study:
    """Ann's first five records and Bob are of January, everything else of February; Cid is in the south."""
    at = [f"2026-0{1 if (u == 'ann' and i < 5) or u == 'bob' else 2}-03" for i, u in enumerate(TABLE["uid"])]
    table = {**TABLE, "at": at, "region": ["south" if u == "cid" else "north" for u in TABLE["uid"]]}
    return bw.Study(
        LABELS, ["1 of 30, anywhere, 0.5, in any month", "all, anywhere, 2, in any month"], users=5, dataset="visits",
        data=bw.read(table, user="uid", item="item", **MONTHS), questions=[SHARE],
        groups=[bw.Grouping("region", sizes={"north": 3, "south": 2})], **options,
    )  # type: ignore[arg-type]  # fmt: skip


def test_people_by_month_and_group_have_the_exact_values_of_their_own_records(tmp_path):
    """January: ann 0, bob 1 (3/10), the others at home. February: ann 1/5 (one of five), cid 3/4 (1/4)."""
    request = by_month()
    wanted = {
        ("2026-01", "records", None): {None: Fraction(1, 5)},
        ("2026-02", "records", None): {None: (Fraction(1, 2) + Fraction(3, 4)) / 5},
        ("2026-02", "records", "region"): {"north": Fraction(1, 2) / 3, "south": Fraction(3, 4) / 2},
        ("2026-01..2026-02", "periods", None): {None: (1 + Fraction(1, 2) + Fraction(3, 4)) / 10},
        ("2026-01..2026-02", "records", None): {None: (0 + 1 + Fraction(3, 4)) / 5},
        ("2026-03", "records", None): {None: 0},
    }
    for (period, pool, by), values in wanted.items():
        question = request.by(SHARE, by)
        (about,) = request.abouts(question, period, pool)[0]
        parts = plan_parts(request, question, about)
        people = CellReader(request.data, [about]).people(request.data.validate(parts.plan.terms.space, about), LABELS)
        result = parts.statistics_of_people(people)
        assert {label: center.exact_entry(0) for label, center in result.items()} == values, (period, pool, by)
    ledger = bw.Ledger.create(tmp_path / "visits.ledger", request)
    release = request.release(ledger=ledger, by="region", period="2026-02", out=tmp_path / "share")
    assert [row["group"] for row in release.rows()] == ["north", "south"]
    assert "made of their records of 2026-02" in SHARE.steps(release.statement)[0]
    assert all(check.holds for check in bw.verify(tmp_path / "share", ledger=tmp_path / "visits.ledger"))


def test_no_change_in_some_months_costs_a_function_of_people_more_than_its_price():
    """All persons of up to two records in each of two months, by what two ramps can tell; the linear price is broken.

    The ramp rises from 0 to 1 while the share at 1 goes from 0 to 1/2: L = 2, B = 1.
    """

    def ramp(place: Fraction) -> Fraction:
        return min(2 * place, Fraction(1))

    alpha, ends = Fraction(6), [held for size in range(3) for held in combinations_with_replacement((0, 1), size)]
    event, linear, broken = PersonKNormNoise(alpha, model="central", range_ratio="1/2"), 0, 0
    for tau, k, (reads, pool) in product(
        (Fraction(1, 2), Fraction(1)), (1, 2), ((1, "records"), (2, "records"), (2, "periods"))
    ):
        months = Window(Calendar("month", "UTC").parse_range("2026-01..2026-02")[:reads], pool)
        seen = exposure(Scope(k, "month"), tau, None, reads=months)
        price = event.epsilon_at(seen.share, seen.reach, Fraction(0))
        linear = alpha * linear_change(seen.share, seen.reach, Fraction(1, 2))

        def value(person, reads=reads, pool=pool):
            parts = [list(held) for held in person[:reads]]
            parts = parts if pool == "periods" else [list(chain(*parts))]
            # Whoever has no records counts in the middle, at half of the largest distance.
            each = [ramp(Fraction(sum(held), len(held))) if held else Fraction(1, 2) for held in parts]
            return sum(each, Fraction(0)) / len(each)

        lost = max(
            alpha / 2 * abs(value(one) - value(other))
            for one, other in product(product(ends, repeat=2), repeat=2)
            if sum(a != b for a, b in zip(one, other, strict=True)) <= k
            and all(_common(a, b) >= (1 - tau) * max(len(a), len(b)) for a, b in zip(one, other, strict=True))
        )
        assert lost <= price, (tau, k, reads, pool)
        broken += lost > linear
    assert broken >= 3


def _common(one, other) -> int:
    return sum((Counter(one) & Counter(other)).values())


def test_reports_and_single_people_are_refused():
    with pytest.raises(ParameterError, match="in which a curator holds the data"):
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
