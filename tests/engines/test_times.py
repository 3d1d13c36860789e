"""Columns of time: hours, weekdays and dates are the same items on every engine, and those of the calendar."""

from __future__ import annotations

import csv
import datetime as dt
import sqlite3
from fractions import Fraction
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.postgres_cluster import Cluster, unavailable

from barrow.engines import Columns, DuckDBEngine, MemoryEngine
from barrow.engines.conformance import items_in_sql
from barrow.engines.numbers import parsed_moment
from barrow.engines.source import Source
from barrow.engines.sql.dialects import DUCKDB
from barrow.engines.sql.postgres import PostgresEngine
from barrow.errors import DataError, ParameterError
from barrow.spaces import Circle, Line

ENGINE = DuckDBEngine(progress=False)
EPOCH = dt.datetime(1970, 1, 1)
MOMENTS = [
    dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2026, 10, 31, 12, 30),
    dt.datetime(2024, 2, 29, 23, 59, 59, 999999), dt.datetime(1900, 2, 28, 0, 15), dt.datetime(2000, 2, 29),
    dt.datetime(2026, 3, 1, 0, 14, 59, 999999), dt.datetime(2026, 3, 1, 0, 15), dt.datetime(1, 1, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59), dt.datetime(2026, 1, 4), dt.datetime(2026, 1, 5),
]  # fmt: skip
COLUMNS = Columns("uid", "at")
NAMES = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
SPACES = {
    "hours": Circle.hours(step=0.25),
    "weekdays": Circle.weekdays(),
    "week": Circle(7, unit="days", step=0.5),
    "days": Line(-800_000, 3_000_000, step=1, unit="days", cells=True),
}

HOURS = SPACES["hours"]


def exact(name, moment):
    """The item by the calendar and exact fractions."""
    passed = moment - EPOCH
    days = Fraction(passed // dt.timedelta(microseconds=1), 86_400_000_000)
    if name == "hours":
        return int((days % 1) * 24 / Fraction(1, 4))
    if name == "weekdays":
        return moment.weekday()
    if name == "week":
        return int((days + 3) % 7 / Fraction(1, 2))
    line = SPACES["days"]
    return int(line.encode([float(days)])[0])


def expected(name, moments):
    """C[item, size] where each moment is a user's only record."""
    items = [exact(name, x) for x in moments]
    return sorted((i, items.count(i)) for i in set(items))


def found(counts):
    return list(zip(counts.items.tolist(), counts.counts.tolist(), strict=True))


def parquet(tmp_path, kind, moments):
    path = tmp_path / "t.parquet"
    with duckdb.connect() as c:
        c.execute("SET TimeZone = 'UTC'")
        texts = [x.isoformat(sep=" ") + ("+00" if "ZONE" in kind else "") for x in moments]
        select = f"SELECT i AS uid, CAST(x AS {kind}) AS at FROM (SELECT unnest($1) AS x, unnest($2) AS i)"
        c.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)", [texts, list(range(len(moments)))])
    return path


@pytest.mark.parametrize("name", SPACES)
def test_items_are_those_of_the_calendar(tmp_path, name):
    space, users = SPACES[name], list(range(len(MOMENTS)))
    wanted = expected(name, MOMENTS)
    memory = MemoryEngine()
    zoned = [x.replace(tzinfo=dt.UTC) for x in MOMENTS]
    texts = [x.isoformat(sep=" ") for x in MOMENTS]
    for column in (MOMENTS, zoned, texts, np.array(MOMENTS, dtype="datetime64[us]"), np.array(texts)):
        assert found(memory.count({"uid": users, "at": column}, COLUMNS, space)) == wanted
    for kind in ("TIMESTAMP", "VARCHAR"):
        assert found(ENGINE.count(parquet(tmp_path, kind, MOMENTS), COLUMNS, space)) == wanted
    recent = [x for x in MOMENTS if 1900 < x.year < 3000]
    path = parquet(tmp_path, "TIMESTAMP WITH TIME ZONE", recent)
    assert found(ENGINE.count(path, COLUMNS, space)) == expected(name, recent)
    other = [x.isoformat() + "Z" * (x.year > 2000) for x in MOMENTS]  # "T" and "Z" are read, fractions may be missing
    with (tmp_path / "t.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("uid", "at"), *zip(users, other, strict=True)])
    assert found(ENGINE.count(tmp_path / "t.csv", COLUMNS, space)) == wanted
    with sqlite3.connect(tmp_path / "t.db") as c:
        c.execute("CREATE TABLE t (uid, at)")
        c.executemany("INSERT INTO t VALUES (?, ?)", list(zip(users, texts, strict=True)))
    c.close()
    assert found(ENGINE.count(f"sqlite:///{tmp_path / 't.db'}?table=t", COLUMNS, space)) == wanted


def test_dates_and_clocks(tmp_path):
    days = [x.replace(hour=0, minute=0, second=0, microsecond=0) for x in MOMENTS]
    path = parquet(tmp_path, "DATE", days)
    assert ENGINE.columns(path)["at"] == "date"
    assert found(ENGINE.count(path, COLUMNS, SPACES["days"])) == expected("days", days)
    assert found(ENGINE.count(path, COLUMNS, SPACES["weekdays"])) == expected("weekdays", days)
    table = {"uid": list(range(len(days))), "at": [x.date() for x in days]}
    assert found(MemoryEngine().count(table, COLUMNS, SPACES["days"])) == expected("days", days)
    path = tmp_path / "clock.parquet"
    with duckdb.connect() as c:
        c.execute(f"COPY (SELECT 1 AS uid, unnest([TIME '23:59:59.999999', TIME '00:15']) AS at) TO '{path}'")
    table = {"uid": [1, 1], "at": [dt.time(23, 59, 59, 999999), dt.time(0, 15)]}
    assert ENGINE.count(path, COLUMNS, SPACES["hours"]) == MemoryEngine().count(table, COLUMNS, SPACES["hours"])


def test_times_of_day_of_a_zone_are_read_in_utc(tmp_path):
    ahead = dt.timezone(dt.timedelta(hours=2))
    behind = dt.timezone(-dt.timedelta(hours=5, minutes=30))
    clocks = [dt.time(12, tzinfo=ahead), dt.time(1, tzinfo=ahead), dt.time(23, 30, 0, 1, tzinfo=behind)]
    wanted = MemoryEngine().count(
        {"uid": [1] * 3, "at": [dt.time(10), dt.time(23), dt.time(5, 0, 0, 1)]}, COLUMNS, HOURS
    )
    assert MemoryEngine().count({"uid": [1] * 3, "at": clocks}, COLUMNS, HOURS) == wanted
    with duckdb.connect(tmp_path / "t.duckdb") as c:
        c.execute("CREATE TABLE t AS SELECT 1 AS uid, CAST(unnest($1) AS TIMETZ) AS at", [[str(x) for x in clocks]])
    assert ENGINE.count(f"duckdb:///{tmp_path / 't.duckdb'}?table=t", COLUMNS, HOURS) == wanted
    changing = dt.time(12, tzinfo=ZoneInfo("Europe/Paris"))  # 10:00 or 11:00 in UTC
    with pytest.raises(DataError, match="missing"):
        MemoryEngine().count({"uid": [1], "at": [changing]}, COLUMNS, HOURS)


def test_missing_and_infinite_moments_are_lost(tmp_path):
    path = tmp_path / "t.parquet"
    for sql in ("NULL::TIMESTAMP", "'infinity'::TIMESTAMP", "'-infinity'::DATE"):
        with duckdb.connect() as c:
            c.execute(f"COPY (SELECT 1 AS uid, {sql} AS at) TO '{path}'")
        with pytest.raises(DataError, match="missing"):
            ENGINE.count(path, COLUMNS, SPACES["hours"])
    for value in (None, float("nan"), "2026-02-30", np.datetime64("NaT")):
        with pytest.raises(DataError, match="missing"):
            MemoryEngine().count({"uid": [1, 1], "at": [MOMENTS[0], value]}, COLUMNS, SPACES["hours"])
    with pytest.raises(ParameterError, match="moments on circles"):
        ENGINE.count(parquet(tmp_path, "TIMESTAMP", MOMENTS), COLUMNS, Line(0, 1, step=1, unit="km", cells=True))


ODD = ["2026-02-29", "2024-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "2026-13-01", "2026-00-01", "2026-04-31",
       "2026-01-00", "2026-1-1", "2026-01-01 24:00", "2026-01-01 23:60", "2026-01-01 23:59:60", "2026-01-01T1:00",
       "2026-01-01 01:02:03.1234567", "2026-01-01 01:02:03.", "2026-01-01 01:02:03.1", "2026-01-01Z",
       "2026-01-01 01:02Z", "2026-01-01 01:02+00", "20260101", " 2026-01-01", "2026-01-01 ", "2026-01-01\n",
       "+026-01-01", "２026-01-01", "0001-01-01", "9999-12-31 23:59:59.999999", "12.5", "1e1", "",
       "Z", "2026-01-01ZZ"]  # fmt: skip


@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    st.lists(st.datetimes() | st.sampled_from(ODD) | st.text("0123456789-: TZ.", max_size=20), min_size=20, max_size=60)
)
def test_texts_are_the_same_moments(values):
    texts = [x.isoformat(sep=" ") if isinstance(x, dt.datetime) else x for x in [*values, *ODD]]
    column = np.array(texts, dtype=object)[:, None]
    for name in ("hours", "weekdays"):
        with ENGINE._open(Source("sql", sql="SELECT 1 AS uid", acknowledged=True), None) as reader:
            ids = items_in_sql(reader, DUCKDB, SPACES[name], column, "error", "text")
        for text, item in zip(texts, ids.tolist(), strict=True):
            moment = parsed_moment(text)
            if moment is not None:
                assert item == exact(name, moment), text
            elif name == "weekdays":
                assert item == -1, text


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
def test_postgres_reads_the_same_moments():
    from urllib.parse import quote

    import psycopg

    cluster = Cluster("fsync = off\n")
    cluster.start()
    try:
        with psycopg.connect(cluster.conninfo, autocommit=True) as c:
            c.execute("CREATE ROLE reader LOGIN; ALTER ROLE reader SET timezone = 'Asia/Tokyo'")
            c.execute("CREATE TABLE t (uid int, a timestamp, b timestamptz, c text, d date, odd text)")
            for i, x in enumerate(MOMENTS):
                c.execute(
                    "INSERT INTO t VALUES (%s, %s, %s, %s, %s)",
                    [i, x, x.replace(tzinfo=dt.UTC), x.isoformat(), x.date()],
                )
            c.execute("CREATE TABLE o (uid int, at text); GRANT SELECT ON t, o TO reader")
            for i, x in enumerate(ODD):
                c.execute("INSERT INTO o VALUES (%s, %s)", [i, x])
            c.execute("CREATE TABLE w (uid int, clock time, zoned timetz, late timestamp, day date)")
            c.execute("INSERT INTO w VALUES (1, '23:59:59.999999', '01:59:59.999999+02', 'infinity', '-infinity')")
            c.execute("INSERT INTO w VALUES (1, '00:15', '18:45-05:30', NULL, NULL); GRANT SELECT ON w TO reader")
        source = f"postgresql://reader@/postgres?host={quote(str(cluster.sockets))}&table="
        for name, space in SPACES.items():
            for column in "abc":
                counts = PostgresEngine().count(source + "t", Columns("uid", column), space)
                assert found(counts) == expected(name, MOMENTS), (name, column)
            days = [dt.datetime.combine(x.date(), dt.time()) for x in MOMENTS]
            assert found(PostgresEngine().count(source + "t", Columns("uid", "d"), space)) == expected(name, days)
            table = {"uid": list(range(len(ODD))), "at": ODD}
            for engine, where in ((PostgresEngine(), source + "o"), (MemoryEngine(), table)):
                lost = engine.check(where, COLUMNS, space).lost_items
                assert lost == MemoryEngine().check(table, COLUMNS, space).lost_items
        clocks = {"uid": [1, 1], "clock": [dt.time(23, 59, 59, 999999), dt.time(0, 15)]}
        wanted = MemoryEngine().count(clocks, Columns("uid", "clock"), HOURS)
        for column in ("clock", "zoned"):
            assert PostgresEngine().count(source + "w", Columns("uid", column), HOURS) == wanted
        for column in ("late", "day"):
            assert PostgresEngine().check(source + "w", Columns("uid", column), HOURS).lost_items == 2
    finally:
        cluster.stop()


def test_the_use_is_found_by_unit():
    assert Circle(12, step=1).reads.moments is None
    assert Circle(3, names=["a", "b", "c"]).reads.moments is None
    assert Circle(1440, unit="min", step=1).reads.moments.unit == 60_000_000
