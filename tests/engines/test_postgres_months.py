"""Months, groups, whole people and one number a person on Postgres: the integers of DuckDB, and a verified release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import numpy as np
import pytest
from tests.postgres_cluster import Cluster, unavailable
from tests.study import monthly

from barrow.ledger import Ledger
from barrow.promises import Grouping, Window
from barrow.spaces import Line
from barrow.study import Study, read
from barrow.study.about import About
from barrow.study.data import Data
from barrow.study.parts import CellReader
from barrow.study.verification import verify

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
LINE = Line(0, 100, unit="years", step=1)


@pytest.fixture(scope="module")
def table() -> Iterator[str]:
    import psycopg

    cluster = Cluster("fsync = off\n")
    cluster.start()
    try:
        with psycopg.connect(cluster.conninfo, autocommit=True) as connection:
            connection.execute("CREATE ROLE reader LOGIN")
            connection.execute("CREATE TABLE visits (uid text, age int, region text, at timestamp)")
            with connection.cursor() as cursor, cursor.copy("COPY visits FROM STDIN") as copy:
                for row in monthly.rows():
                    copy.write_row(row)
            connection.execute("GRANT SELECT ON visits TO reader")
        yield f"postgresql://reader@/postgres?host={quote(str(cluster.sockets))}&table=visits"
    finally:
        cluster.stop()


def both(table: str, tmp_path, **options) -> list[Data]:
    """The same records in a file and on a server."""
    file = monthly.write(tmp_path / "visits.parquet", monthly.rows())
    timed = {"time": "at", "period": "month", "zone": "Europe/Berlin"}
    return [read(source, user="uid", **{**timed, "item": "age", **options}) for source in (str(file), table)]


def same(one, other) -> bool:
    names = [name for name in ("items", "sizes", "counts", "values", "people") if hasattr(one, name)]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names) and bool(names)


def test_months_and_groups_have_the_same_integers_and_are_released(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    regions = Grouping("region", sizes=monthly.SIZES)
    abouts = [About(Window.parse(month), regions) for month in ("2026-01", "2026-02")]
    cells = [CellReader(data, abouts).cells(data.engine(), LINE) for data in both(table, tmp_path)]
    assert cells[0].keys() == cells[1].keys()
    assert all(same(cells[0][cell], cells[1][cell]) for cell in cells[0])
    study = Study(
        LINE, monthly.PROMISES, users=monthly.USERS, dataset="ages", data=both(table, tmp_path)[1], periods=12,
        groups=[regions], ledger="ages.ledger", questions=["mean"],
    )  # fmt: skip
    ledger = Ledger.create("ages.ledger", study)
    done = study.release("mean", by="region", period=["2026-01..2026-02"], out="release")
    assert all(check.holds for release in done for check in verify(release.folder, ledger=ledger))


def test_hidden_groups_have_the_same_sums(table, tmp_path):
    grouping = Grouping("region", labels=["north", "south", "east"], distance="20 years")
    sums = []
    for data in both(table, tmp_path):
        plain = replace(data, time=None, period=None, zone=None)
        study = Study(LINE, ["all, 5 years, 0.5"], users=monthly.USERS, data=plain, groups=[grouping]).within(grouping)
        plan = study.plan("mean", by="region")
        sums.append(study.data.sums(study.data.engine(), plan.terms.space, monthly.USERS))
    assert same(*sums)


@pytest.mark.parametrize("number", ["count", "sum(age)", "min", "max", "days", "first", "last"])
def test_one_number_a_person_is_the_same(table, tmp_path, number):
    space = Line(0, 30_000, unit="days" if number in ("first", "last") else "", step=10)
    counted = [data.count(data.engine(), space, monthly.USERS) for data in both(table, tmp_path, per_person=number)]
    assert same(*counted)


def test_whole_people_are_the_same(table, tmp_path):
    held = []
    for data in both(table, tmp_path):
        plain = replace(data, time=None, period=None, zone=None)
        profiles = plain.people(plain.engine(), LINE, monthly.USERS).profiles
        ends = [*profiles.starts[1:].tolist(), len(profiles.items)]
        rows = list(zip(profiles.items.tolist(), profiles.counts.tolist(), strict=True))
        people = [sorted(rows[a:b]) for a, b in zip(profiles.starts.tolist(), ends, strict=True)]
        held.append(sorted(people))  # the order of people says nothing
    assert held[0] == held[1]
    assert len(held[0]) >= monthly.USERS - 2
