"""Groups and periods in one pass: on every engine the integers of one loop for each cell, and constant refusals."""

from __future__ import annotations

import datetime
from collections import Counter
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pytest
from tests.engines.cell_rows import CELLS, COLUMNS, MONTHS, SPACE, ZONE, as_lists, expected, local_day, refusals, rows

from barrow.engines import Breakdown, Columns, DuckDBEngine, ItemSums, MemoryEngine, Source
from barrow.engines.breakdown import Layer, periods_of
from barrow.errors import DataError, ParameterError
from barrow.promises.periods import Calendar, Period
from barrow.spaces import Discrete

NAMES = ("uid", "item", "region", "at")


def in_memory(records):
    return MemoryEngine(), {name: [row[i] for row in records] for i, name in enumerate(NAMES)}


def in_parquet(folder, records, kind="TIMESTAMPTZ"):
    path = folder / "records.parquet"
    with duckdb.connect() as session:
        session.execute("SET TimeZone = 'America/New_York'")  # which must not matter
        session.execute(f'CREATE TABLE t (uid VARCHAR, item VARCHAR, region VARCHAR, "at" {kind})')
        session.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", records)
        session.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    return DuckDBEngine(progress=False), path


@pytest.mark.parametrize("kind", ["TIMESTAMPTZ", "TIMESTAMP", "DATE", "TIMESTAMP_NS"])
def test_cells_are_those_of_one_loop_each(tmp_path, kind):
    records = rows(zoned=kind == "TIMESTAMPTZ")
    if kind == "DATE":
        records = [(*row[:3], row[3].date()) for row in records]
    wanted = expected(records)
    assert len({str(cell) for cell in wanted.values()}) > 10
    for engine, source in (in_memory(records), in_parquet(tmp_path, records, kind)):
        result = engine.count_cells(source, COLUMNS, SPACE, CELLS)
        assert as_lists(result) == wanted, engine.name
        assert engine.sum_cells(source, COLUMNS, SPACE, CELLS) == {cell: ItemSums.of(x) for cell, x in result.items()}


def test_arrays_and_frames_and_text_files(tmp_path):
    records = rows(zoned=False)
    wanted = expected(records)
    table = in_memory(records)[1]
    arrays = {**table, "at": np.array(table["at"], dtype="datetime64[us]"), "region": np.array(table["region"])}
    assert as_lists(MemoryEngine().count_cells(arrays, COLUMNS, SPACE, CELLS)) == wanted
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(table)
    assert as_lists(DuckDBEngine().count_cells(frame, COLUMNS, SPACE, CELLS)) == wanted
    zoned = frame.with_columns(polars.col("at").dt.replace_time_zone(ZONE, ambiguous="earliest"))
    assert as_lists(DuckDBEngine().count_cells(zoned, COLUMNS, SPACE, CELLS)) == wanted
    frame.write_csv(tmp_path / "records.csv")
    sql = 'SELECT uid, item, region, CAST("at" AS TIMESTAMP) AS "at" FROM records'
    source = Source.parse(tmp_path / "records.csv", sql=sql)
    assert as_lists(DuckDBEngine().count_cells(source, COLUMNS, SPACE, CELLS)) == wanted
    # Texts are local times as they stand; one that says it is in UTC is not guessed at.
    assert as_lists(DuckDBEngine().count_cells(tmp_path / "records.csv", COLUMNS, SPACE, CELLS)) == wanted
    texts = {**table, "at": [at.isoformat() for at in table["at"]]}
    assert as_lists(MemoryEngine().count_cells(texts, COLUMNS, SPACE, CELLS)) == wanted
    texts["at"][0] += "Z"
    polars.DataFrame(texts).write_csv(tmp_path / "zoned.csv")
    for engine, source in ((MemoryEngine(), texts), (DuckDBEngine(), tmp_path / "zoned.csv")):
        with pytest.raises(DataError, match="no time"):
            engine.count_cells(source, COLUMNS, SPACE, CELLS)
    with pytest.raises(ParameterError, match=r"time column 'at' holds values of the kind integer") as caught:
        DuckDBEngine().validate(polars.DataFrame({**table, "at": [1] * len(table["at"])}), COLUMNS, SPACE)
    assert 'CAST("at" AS TIMESTAMP) AS "at"' in str(caught.value)


def test_people_of_cells_are_those_of_one_loop_each(tmp_path):
    """Each person of a cell with how often they hold each item; the order of people says nothing."""
    records = [(*row, i % 4) for i, row in enumerate(rows(zoned=True))]
    columns = Columns("uid", "item", weight="w", group="region", time="at")
    table = {name: [row[i] for row in records] for i, name in enumerate((*NAMES, "w"))}
    frame = pytest.importorskip("polars").DataFrame(table)
    counted = expected([row[:4] for row in records for _ in range(row[4])])
    for engine, source in ((MemoryEngine(), table), (DuckDBEngine(progress=False), frame)):
        people = engine.people_cells(source, columns, SPACE, CELLS)
        assert as_lists(people) == counted, engine.name
        for (label, span), result in people.items():
            held = {}
            for user, item, group, at, weight in records:
                inside = span is None or any(x.first <= local_day(at) <= x.last for x in periods_of(span))
                if label in (None, group) and inside and weight:
                    held.setdefault(user, Counter())["abc".index(item)] += weight
            ends = [*result.profiles.starts.tolist()[1:], len(result.profiles.items)]
            found = [
                sorted(zip(result.profiles.items[a:b].tolist(), result.profiles.counts[a:b].tolist(), strict=True))
                for a, b in zip(result.profiles.starts.tolist(), ends, strict=True)
            ]
            assert sorted(found) == sorted(sorted(one.items()) for one in held.values()), (engine.name, label, span)


def test_weights_count_as_records(tmp_path):
    records = [(*row, i % 4) for i, row in enumerate(rows(zoned=False))]
    wanted = expected([row[:4] for row in records for _ in range(row[4])])
    columns = Columns("uid", "item", weight="w", group="region", time="at")
    table = {name: [row[i] for row in records] for i, name in enumerate((*NAMES, "w"))}
    frame = pytest.importorskip("polars").DataFrame(table)
    for engine, source in ((MemoryEngine(), table), (DuckDBEngine(), frame)):
        result = engine.count_cells(source, columns, SPACE, CELLS)
        assert as_lists(result) == wanted, engine.name
        assert engine.sum_cells(source, columns, SPACE, CELLS) == {cell: ItemSums.of(x) for cell, x in result.items()}


def test_months_are_added_up_some_at_a_time(tmp_path, monkeypatch):
    records = rows(240, zoned=True)
    apart = Breakdown([(None, month) for month in MONTHS], labels=CELLS.labels, zone=ZONE)
    for most in (2**20, 100, 1):  # all at once, some, and each alone
        monkeypatch.setattr("barrow.engines.duckdb.engine._RUN", most)
        engine, source = in_parquet(tmp_path, records)
        for asked in (CELLS, apart):
            counts = MemoryEngine().count_cells(in_memory(records)[1], COLUMNS, SPACE, asked)
            assert engine.sum_cells(source, COLUMNS, SPACE, asked) == {c: ItemSums.of(x) for c, x in counts.items()}
        # In two groups in two months, each of which is added up alone.
        _, item, region, at = next(row for row in records if row[3].month == 10)
        other = "east" if region != "east" else "north"
        split = [*records, ("new", item, region, at), ("new", item, other, at.replace(month=11, day=15))]
        for text, wrong in [*refusals().items(), ("Some people are in two groups.", split)]:
            kind = "TIMESTAMPTZ" if wrong is split else "TIMESTAMP"
            with pytest.raises(DataError) as caught:
                engine.sum_cells(in_parquet(tmp_path, wrong, kind)[1], COLUMNS, SPACE, apart)
            assert caught.value.problem == text


def test_one_pass_counts_all_groups_and_periods_and_totals():
    layers = CELLS.layers
    assert layers[0].spans == MONTHS
    # Pooled spans, everything and a week across a border overlap with months and with each other.
    assert len(layers) == 5
    assert len(Breakdown([(g, m) for g in ("x", "y", None) for m in MONTHS], labels=["x", "y"]).layers) == 1


def test_refusals_are_constant_and_the_same_on_all_engines(tmp_path):
    for text, records in refusals().items():
        for engine, source in (in_memory(records), in_parquet(tmp_path, records, "TIMESTAMP")):
            for ask in (engine.count_cells, engine.sum_cells, engine.people_cells):
                with pytest.raises(DataError) as caught:
                    ask(source, COLUMNS, SPACE, CELLS)
                assert caught.value.problem == text, engine.name
                assert "west" not in str(caught.value)


def test_what_is_outside_the_window_is_not_looked_at(tmp_path):
    """Somebody's odd item, group or user of another month changes nothing; a missing time may be of this month."""
    records = rows(zoned=False)
    odd = datetime.datetime(2027, 5, 5)
    more = [*records, (None, "a", "north", odd), ("u0", "zz", "west", odd)]
    cells = Breakdown([(None, MONTHS[1]), ("north", MONTHS[1])], labels=CELLS.labels, zone=ZONE)
    wanted = expected(records, cells)
    for engine, source in (in_memory(more), in_parquet(tmp_path, more, "TIMESTAMP")):
        assert as_lists(engine.count_cells(source, COLUMNS, SPACE, cells)) == wanted
    with pytest.raises(DataError, match="no time"):
        MemoryEngine().count_cells(in_memory([*records, ("u0", "a", "north", None)])[1], COLUMNS, SPACE, cells)


def test_a_quiet_month_has_nobody_and_takes_the_public_number(tmp_path):
    records = rows(zoned=False)
    quiet = Breakdown([(None, Period.parse("2031-01"))], zone=ZONE)
    for engine, source in (in_memory(records), in_parquet(tmp_path, records, "TIMESTAMP")):
        result = engine.count_cells(source, COLUMNS, SPACE, quiet)[quiet.cells[0]]
        assert (result.users, result.items.tolist()) == (0, [])
        everybody = result.with_users(9, default_item=2)
        assert (everybody.items.tolist(), everybody.counts.tolist(), everybody.users) == ([2], [9], 9)


def test_days_begin_where_clocks_are_turned():
    """Midnight does not exist in Beirut on 2026-03-29, and strikes late in Berlin's October: instants decide."""
    day = datetime.timedelta(days=1)
    for zone, first in (("Asia/Beirut", datetime.date(2026, 3, 29)), (ZONE, datetime.date(2026, 10, 25))):
        (start, end), _ = Layer((Calendar("day", zone).period_of(first),), zone).cuts(zoned=True)
        for micros, same in ((start, True), (start - 1, False), (end - 1, True), (end, False)):
            moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(microseconds=micros)
            assert (moment.astimezone(ZoneInfo(zone)).date() == first) == same
        assert end - start != day / datetime.timedelta(microseconds=1)


def test_bad_questions_are_refused_before_anything_is_read():
    table = {"uid": [1], "item": ["a"], "at": [datetime.date(2026, 10, 1)]}
    request = {
        "no such column is named": lambda: MemoryEngine().count_cells(table, Columns("uid", "item"), SPACE, CELLS),
        "no group 'west'": lambda: Breakdown([("west", None)], labels=["north"]),
        "a cell or group twice": lambda: Breakdown([(None, None), (None, None)]),
        "overlap": lambda: Breakdown([(None, (MONTHS[0], MONTHS[0]))]),
        "time zone 'Berlin'": lambda: Breakdown([(None, None)], zone="Berlin"),
        "kind integer": lambda: MemoryEngine().validate(
            {"uid": [1], "item": ["a"], "at": np.array([7])}, Columns("uid", "item", time="at"), Discrete(["a"])
        ),
    }
    for words, ask in request.items():
        with pytest.raises(ParameterError, match=words):
            ask()
