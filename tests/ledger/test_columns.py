"""Releases of one ledger read people, weights, times and groups from the same columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import barrow as bw
from barrow.ledger.errors import NotCoveredError
from barrow.ledger.spending import columns_of
from barrow.promises.groups import Grouping

PEOPLE = 40
RECORDS = {
    "uid": [i % PEOPLE for i in range(120)], "card": [i % PEOPLE for i in range(120)],
    "age": [20 + i % 60 for i in range(120)], "often": [1 + i % 3 for i in range(120)],
    "at": [f"2026-{1 + i % 3:02d}-05 10:00" for i in range(120)], "sent": ["2026-01-07 10:00"] * 120,
    "region": [("north", "south")[i % PEOPLE % 2] for i in range(120)],
    "home": [("north", "south")[i % PEOPLE // 20] for i in range(120)],
}  # fmt: skip


def study(column: str = "region", source: Any = RECORDS, **columns: Any) -> bw.Study:
    named = {"user": "uid", "item": "age", "time": "at", **columns}
    data = bw.read(source, period="month", zone="UTC", **named)
    ages = bw.Line(0, 100, step=1, unit="years", whole=True)
    groups = [Grouping("region", column, {"north": 20, "south": 20})]
    return bw.Study(
        ages, ["all, anywhere, 9, in any month"], users=PEOPLE, dataset="ages", data=data, groups=groups, periods=12
    )


@pytest.fixture
def ledger(tmp_path: Path) -> bw.Ledger:
    ledger = bw.Ledger.create(tmp_path / "ages.ledger", study())
    study().release("mean(fraction=0.1)", ledger=ledger, out=tmp_path / "january", period="2026-01", by="region")
    return ledger


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"user": "card"}, "who a person is from the column 'card'"),
        ({"weight": "often"}, "how often a record counts from the column 'often'"),
        ({"time": "sent"}, "the time of a record from the column 'sent'"),
        ({"column": "home"}, "the region of a person from the column 'home'"),
    ],
)
def test_other_columns_are_refused_and_nothing_is_spent(ledger, tmp_path, columns, said):
    before = [balance.left.loss for balance in ledger.remaining()]
    # March is a month of its own by either column: were the column not compared, it would be paid in March only.
    with pytest.raises(NotCoveredError, match=said):
        study(**columns).release(
            "mean(fraction=0.1)", ledger=ledger, out=tmp_path / "other", period="2026-03", by="region"
        )
    assert [balance.left.loss for balance in ledger.remaining()] == before
    assert not (tmp_path / "other").exists()


def test_the_same_columns_go_on(ledger, tmp_path):
    study().release("mean(fraction=0.1)", ledger=ledger, out=tmp_path / "march", period="2026-03", by="region")
    # Without periods and groups only people and weights are compared.
    with pytest.raises(NotCoveredError, match="who a person is"):
        study(user="card").release("mean(fraction=0.01)", ledger=ledger, out=tmp_path / "all", period="all")


def test_what_reserves_is_compared_too(ledger):
    """The comparison belongs to the payment, not only to the check that comes before it."""
    paid = next(record for record in ledger.records() if record.kind == "reserve").data
    with pytest.raises(NotCoveredError, match="the time of a record"):
        ledger.reserve(
            key="x", what="x", event=paid["event"], guarantee=study().plan("mean(fraction=0.1)").guarantee,
            space=study().space, dataset="ages", users=PEOPLE,
            parameters={**paid["parameters"], "data": {**paid["parameters"]["data"], "time": "sent"}},
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP"])
def test_a_cast_of_the_time_may_move_records_to_another_day_and_is_compared(ledger, tmp_path, kind):
    file = tmp_path / "ages.csv"
    pd.DataFrame(RECORDS).to_csv(file, index=False)
    asked = study(source=file, sql=f'SELECT uid, age, region, CAST("at" AS {kind}) AS "at" FROM records')
    with pytest.raises(NotCoveredError, match=rf"from a cast to {kind}; release 2 .* took the time as it is"):
        asked.release("mean(fraction=0.1)", ledger=ledger, out=tmp_path / "cast", period="2026-03", by="region")
    same = study(source=file, sql='SELECT uid, age, region, "at" FROM records')
    same.release("mean(fraction=0.1)", ledger=ledger, out=tmp_path / "same", period="2026-03", by="region")


def test_what_one_study_hides_another_cannot_read_for_nothing(tmp_path):
    """A promise about another group is about columns: were they not compared, the second release would cost 1e-12."""
    ages = bw.Line(0, 100, step=1, unit="years", whole=True)
    promises = ["all, 5 years, 9", "all, another group, 1"]

    def hiding(column: str, *groups: Grouping) -> bw.Study:
        hidden = Grouping(column, labels=["north", "south"], distance="9 years")
        data = bw.read(RECORDS, user="uid", item="age")
        return bw.Study(ages, promises, users=PEOPLE, dataset="ages", data=data, groups=[hidden, *groups])

    homes = hiding("home")
    public = hiding("region", Grouping("home", sizes={"north": 20, "south": 20}))
    ledger = bw.Ledger.create(tmp_path / "ages.ledger", public)
    homes.release("mean(fraction=0.1)", ledger=ledger, out=tmp_path / "mean")
    with pytest.raises(NotCoveredError, match=r"has hidden groups in the column .region.; release 2 .* had hidden"):
        public.release("mean(fraction=0.1)", ledger=ledger, out=tmp_path / "by home", by="home")
    homes.release("mean(fraction=0.1)", ledger=ledger, out=tmp_path / "hidden", by="home")


def test_parameters_without_a_table_name_no_columns():
    assert columns_of({}) == columns_of({"data": None}) == columns_of({"data": {"reports": "sha256:0"}}) == {}
