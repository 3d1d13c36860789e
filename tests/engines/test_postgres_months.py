"""Months, groups, whole people and one number a person on Postgres: the integers of DuckDB, and a verified release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import numpy as np
import polars
import pytest
from tests.postgres_cluster import Cluster, unavailable
from tests.study import monthly

from barrow.ledger import Ledger
from barrow.promises import Grouping, Window
from barrow.spaces import Line
from barrow.study import Study, read
from barrow.study.about import ALL, About
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
            connection.execute("SET TimeZone = 'America/New_York'")  # which must not matter
            moment = "(at AT TIME ZONE 'UTC') + interval '11 hours 30 minutes'"
            connection.execute(f"CREATE TABLE zoned AS SELECT uid, age, region, {moment} AS at FROM visits")
            connection.execute("GRANT SELECT ON visits, zoned TO reader")
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
        (known,) = CellReader(study.data, [ALL]).sums(study.data.engine(), plan.terms.space).values()
        sums.append(known.with_users(monthly.USERS, plan.terms.space.default_item))
    assert same(*sums)


@pytest.mark.parametrize("number", ["count", "sum(age)", "min", "max", "days", "first", "last"])
def test_one_number_a_person_is_the_same(table, tmp_path, number):
    space = Line(0, 30_000, unit="days" if number in ("first", "last") else "", step=10)
    files = both(table, tmp_path, per_person=number)
    assert same(*(data.count(data.engine(), space, monthly.USERS) for data in files))
    months = [About(Window.parse(month), Grouping("region", sizes=monthly.SIZES)) for month in ("2026-01", "2026-02")]
    cells = [CellReader(data, months).cells(data.engine(), space) for data in files]
    assert all(same(cells[0][cell], cells[1][cell]) for cell in cells[0])


@pytest.mark.parametrize("number", ["days", "first", "last"])
def test_instants_are_local_times(table, tmp_path, number):
    """Times with a zone are the same local times on both engines, whatever the server's own zone is."""
    records = monthly.rows()
    frame = polars.DataFrame(dict(zip(("uid", "age", "region", "at"), zip(*records, strict=True), strict=True)))
    at = polars.col("at").str.to_datetime().dt.replace_time_zone("UTC") + polars.duration(hours=11, minutes=30)
    frame.with_columns(at).write_parquet(tmp_path / "zoned.parquet")
    timed = {"time": "at", "period": "month", "zone": "Europe/Berlin", "per_person": number}
    space = Line(0, 99, step=1, whole=True) if number == "days" else Line(20_000, 21_000, unit="days", step=1)
    sources = (str(tmp_path / "zoned.parquet"), table.replace("table=visits", "table=zoned"))
    months = [About(Window.parse(month)) for month in ("2026-01", "2026-07")]
    counted = []
    for source in sources:
        data = read(source, user="uid", **timed)
        counted.append([data.count(data.engine(), space, monthly.USERS)])
        counted[-1] += CellReader(data, months).cells(data.engine(), space).values()
    assert all(same(one, other) for one, other in zip(*counted, strict=True))


def test_whole_people_are_the_same(table, tmp_path):
    held, by_month = [], []
    months = [About(Window.parse(month), Grouping("region", sizes=monthly.SIZES)) for month in ("2026-01", "2026-02")]
    for data in both(table, tmp_path):
        plain = replace(data, time=None, period=None, zone=None)
        held.append(one_by_one(*CellReader(plain, [ALL]).people(plain.engine(), LINE).values()))
        cells = CellReader(data, months).people(data.engine(), LINE)
        by_month.append({cell: one_by_one(people) for cell, people in cells.items()})
    assert held[0] == held[1]
    assert len(held[0]) >= monthly.USERS - 2
    assert by_month[0] == by_month[1]


def one_by_one(people) -> list[list[tuple[int, int]]]:
    """What each person holds; the order of people says nothing."""
    profiles = people.profiles
    ends = [*profiles.starts[1:].tolist(), len(profiles.items)]
    rows = list(zip(profiles.items.tolist(), profiles.counts.tolist(), strict=True))
    return sorted(sorted(rows[a:b]) for a, b in zip(profiles.starts.tolist(), ends, strict=True))
