"""Items randomised one by one, by periods and public groups of people."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import barrow as bw
from barrow import accounting
from barrow.errors import BarrowError, ParameterError
from barrow.ledger.errors import NotCoveredError
from barrow.promises import ShuffledReports, Window
from barrow.promises.groups import Grouping
from barrow.questions import Frequency, Items
from barrow.questions.items import PooledItems
from barrow.spaces import Line
from barrow.study.about import About
from barrow.study.parts import CellReader, plan_parts

SIZES = {"north": 30, "south": 60}
REGIONS = Grouping("region", sizes=SIZES)
KM = Line(0, 3, step=1, unit="km", whole=True)
MONTHS = ("2026-01", "2026-02")


def records() -> dict[str, list[Any]]:
    """Two records a person and month; the last ten people of the south have none in February."""
    rows = [
        (user, "north" if user < 30 else "south", f"{month}-0{1 + i}", (user + i) % 4)
        for user in range(90)
        for month in MONTHS
        for i in range(2)
        if not (user >= 80 and month == "2026-02")
    ]
    return dict(zip(("uid", "region", "at", "km"), map(list, zip(*rows, strict=True)), strict=True))


def study(question: Any) -> bw.Study:
    data = bw.read(records(), user="uid", item="km", time="at", period="month", zone="UTC")
    return bw.Study(
        KM, ["all, 1 km, 9, in any month"], users=90, dataset="walks", data=data, groups=[REGIONS], delta="1e-6",
        missing="default item", questions=[question],
    )  # fmt: skip


def counted(asked: bw.Study, question: Any, about: About) -> dict[str | None, PooledItems]:
    parts, reader = plan_parts(asked, question, about), CellReader(asked.data, [about])
    cells = reader.people if question.samples else reader.cells
    return parts.statistics_of_items(cells(asked.data.engine(), parts.plan.terms.space))


def test_each_group_has_its_own_items_and_missing_people_the_default(tmp_path: Path) -> None:
    question = Items(items=2, fraction="1/2")
    about = About(Window.parse("2026-02"), REGIONS)
    held = {label: pooled.counts.tolist() for label, pooled in counted(study(question), question, about).items()}
    by_hand = {label: np.zeros(4, dtype=int) for label in SIZES}
    table = records()
    for region, at, km in zip(table["region"], table["at"], table["km"], strict=True):
        by_hand[region][km] += at.startswith("2026-02")
    by_hand["south"][KM.default_item] += 2 * 10
    assert held == {label: counts.tolist() for label, counts in by_hand.items()}


def test_samples_are_drawn_from_each_person_of_the_part() -> None:
    question = Frequency(samples=500, fraction="1/2")
    about = About(Window.parse("2026-01..2026-02"), REGIONS)
    pooled = counted(study(question), question, about)
    assert {label: int(one.counts.sum()) for label, one in pooled.items()} == {"north": 15000, "south": 30000}
    assert all(one.private for one in pooled.values())
    # North: users 0 to 29 hold u and u + 1 modulo 4, in each month: 15, 16, 15 and 14 of 60 by halves.
    expected = 15000 * np.bincount([(u + i) % 4 for u in range(30) for i in range(2)], minlength=4) / 60
    assert np.abs(pooled["north"].counts - expected).max() < 5.5 * np.sqrt(15000 / 4)


@pytest.mark.parametrize("question", [Frequency(items=2, fraction="1/2"), Items(samples=3, fraction="1/2")])
def test_all_groups_have_the_channel_of_the_smallest_at_its_price(question: Any) -> None:
    """Reports of more people hide each no worse: the same channel among 60 people costs no more than among 30."""
    parts = plan_parts(study(question), question, About(Window.parse("2026-01"), REGIONS))
    events = {label: plan.event for label, plan in parts.plans.items()}
    assert events["north"] == events["south"] == parts.plan.event
    assert [plan.terms.users for plan in parts.plans.values()] == [30, 60]
    assert parts.plan.terms.users == 90
    base = parts.plan.event.base_event
    assert isinstance(base, ShuffledReports)
    assert base.reports == 30 * base.items
    more = ShuffledReports(
        base.alpha0, reports=2 * base.reports, items=base.items, delta=base.delta, model=base.model,
        least_distance=base.least_distance, randomiser=base.randomiser, channel=base.channel,
    )  # fmt: skip
    one = Fraction(1)
    assert accounting.epsilon_at(more, one, one, base.delta) <= accounting.epsilon_at(base, one, one, base.delta)


@pytest.mark.parametrize("question", [Frequency(items=2, fraction="1/4"), Items(samples=2, fraction="1/4")])
def test_a_release_by_month_and_region_is_paid_verified_and_refused_in_words(tmp_path: Path, question: Any) -> None:
    asked = study(question)
    ledger = bw.Ledger.create(tmp_path / "walks.ledger", asked)
    release = asked.release(question, ledger=ledger, out=tmp_path / "r", period="2026-01", by="region")
    table = release.to_pandas()
    assert set(table["group"]) == set(SIZES)
    assert set(table["period"]) == {"2026-01"}
    if question.kind == "items":
        assert table.groupby("group")["count"].sum().to_dict() == {"north": 60, "south": 120}
    assert all(check.holds for check in bw.verify(tmp_path / "r", ledger=tmp_path / "walks.ledger"))
    assert set(ledger.balances()[0].periods) == {"2026-01"}
    with pytest.raises(ParameterError, match="periods that count alike are no items"):
        asked.release(question, ledger=ledger, out=tmp_path / "p", period="2026-01..2026-02", pool="periods")


def test_another_number_of_items_in_a_month_is_refused_in_constant_text(tmp_path: Path) -> None:
    question = Items(items=2, fraction="1/4")
    asked = study(question)
    ledger = bw.Ledger.create(tmp_path / "walks.ledger", asked)
    with pytest.raises(BarrowError, match="items"):  # four records each in both months together
        asked.release(question, ledger=ledger, out=tmp_path / "r", period="2026-01..2026-02", pool="records")
    with pytest.raises(NotCoveredError, match="4 items each, the budget for 2"):
        asked.release(Items(items=4, fraction="1/4"), ledger=ledger, out=tmp_path / "s", period="2026-01")
    assert [record.kind for record in ledger.records()].count("reserve") == 0
