"""SELECTs for other engines by public groups and periods: their integers, their refusals, and forged rows."""

from __future__ import annotations

import functools
from pathlib import Path

import duckdb
import pytest
from tests.engines import cell_rows
from tests.engines.cell_rows import COLUMNS, LABELS_OF_CELLS, MONTHS, SPACE, ZONE
from tests.engines.test_foreign import HERE, refused, run, write
from tests.study import monthly

from barrow.engines import Breakdown, Columns, MemoryEngine
from barrow.engines.counted import CountedEngine, counted_source
from barrow.engines.counts import UNTIMED
from barrow.engines.sql.foreign import FOREIGN, written
from barrow.errors import BarrowError, DataError, ParameterError
from barrow.ledger import Ledger
from barrow.promises.periods import Calendar
from barrow.study import Study, verify

pytest.importorskip("sqlglot", reason="sqlglot is not installed (pip install 'barrow[sql]')")
BY_MONTH = Breakdown([(x, m) for x in (*LABELS_OF_CELLS, None) for m in MONTHS], LABELS_OF_CELLS, ZONE)
POOLED = Breakdown([("north", (MONTHS[0], MONTHS[2])), (None, (MONTHS[0], MONTHS[2]))], LABELS_OF_CELLS, ZONE)
REGIONS = Breakdown([(x, None) for x in LABELS_OF_CELLS], LABELS_OF_CELLS)
TIMES = Breakdown([(None, month) for month in MONTHS], zone=ZONE)


@functools.cache
def once(dialect, breakdown):
    """The statement of a dialect, which takes sqlglot a while."""
    return written(SPACE, COLUMNS, dialect=dialect, breakdown=breakdown)


@pytest.fixture
def quick(monkeypatch):
    """Counts are read without writing the same statement once more."""

    def known(space, columns, *, dialect, unknown, breakdown):
        assert (space, columns, unknown) == (SPACE, COLUMNS.asked(breakdown), "error")
        return once(dialect, breakdown)

    monkeypatch.setattr("barrow.engines.counted.written", known)


def as_table(records, *, day=False):
    """Columns of texts, each moment in one of the forms of local times, or as its day."""
    forms = (lambda x: str(x), lambda x: x.isoformat(), lambda x: x.isoformat(timespec="microseconds"))
    told = [x if x is None else str(x.date()) if day else forms[i % 3](x) for i, (*_, x) in enumerate(records)]
    columns = dict(zip(("uid", "item", "region", "at"), map(list, zip(*records, strict=True)), strict=True))
    return columns | {"at": told}


def counted(folder, dialect, table, breakdown):
    """What a release reads of the rows that the SELECT gives in this engine."""
    statement = once(dialect, breakdown)
    path = write(folder / f"{dialect}.csv", HERE[dialect](statement.text, table), statement.columns)
    return CountedEngine().sum_cells(counted_source(path), COLUMNS, SPACE, breakdown)


@pytest.mark.parametrize("dialect", HERE)
def test_cells_are_those_of_the_reference(tmp_path, quick, dialect):
    """By group and month at the ends of months, several months in one cell, groups alone, months alone."""
    records = cell_rows.rows(120, zoned=False)
    table = as_table(records, day=not FOREIGN[dialect].clocks)
    for breakdown in (BY_MONTH, POOLED, REGIONS, TIMES):
        wanted = MemoryEngine().sum_cells(table, COLUMNS, SPACE, breakdown)
        found = counted(tmp_path, dialect, table, breakdown)
        assert found == wanted
        assert list(found) == list(breakdown.cells)
    assert sum(sums.users for sums in counted(tmp_path, dialect, table, BY_MONTH).values()) > 20


@pytest.mark.parametrize("dialect", HERE)
def test_faults_are_refused_in_the_words_of_all_engines(tmp_path, quick, dialect):
    for words, records in cell_rows.refusals().items():
        with pytest.raises(DataError) as caught:
            counted(tmp_path, dialect, as_table(records, day=not FOREIGN[dialect].clocks), BY_MONTH)
        assert caught.value.problem == words
    good = cell_rows.rows(12, zoned=False)
    table = as_table(good, day=not FOREIGN[dialect].clocks)
    odd = ["2026-02-30", "2026-13-01", "2026-10-01x", "2026-10-01 24:00", "2026-10-01 12:60", "2026-10-01 12:00:00Z"]
    odd += ["2026-10-01 12:00:00+02", "01.10.2026", "", "20261001", "2026-10-1", "2025-02-29", "0000-10-01"]
    odd += ["2026-10-01 12:00"] if not FOREIGN[dialect].clocks else []
    assert all(row[0] != UNTIMED for row in HERE[dialect](once(dialect, BY_MONTH).text, table))
    for text in odd:
        rows = HERE[dialect](once(dialect, BY_MONTH).text, table | {"at": [*table["at"][1:], text]})
        assert any(row[0] == UNTIMED for row in rows), text


def test_times_of_duckdb_are_read_unless_they_have_a_zone(tmp_path, quick):
    """Dates and local timestamps are days; of an instant nobody says in which zone, so it is refused."""
    records = cell_rows.rows(60, zoned=False)
    table = as_table(records)
    wanted = MemoryEngine().sum_cells(table, COLUMNS, SPACE, BY_MONTH)
    statement = once("duckdb", BY_MONTH)
    with duckdb.connect() as session:
        session.execute('CREATE TABLE given (uid VARCHAR, item VARCHAR, region VARCHAR, "at" TIMESTAMP)')
        session.executemany("INSERT INTO given VALUES (?, ?, ?, ?)", records)
        for kind, same in (("TIMESTAMP", True), ("DATE", True), ("TIMESTAMP_NS", True), ("TIMESTAMPTZ", False)):
            moment = f'CAST("at" AS {kind}) AS "at"'
            session.execute(f"CREATE OR REPLACE TABLE records AS SELECT * REPLACE ({moment}) FROM given")
            path = write(tmp_path / "x.csv", session.execute(statement.text).fetchall(), statement.columns)
            if same:
                assert CountedEngine().sum_cells(counted_source(path), COLUMNS, SPACE, BY_MONTH) == wanted
                continue
            with pytest.raises(DataError, match="have no time"):
                CountedEngine().sum_cells(counted_source(path), COLUMNS, SPACE, BY_MONTH)


def test_every_dialect_is_written_and_read_back():
    marks = set()
    for name, foreign in FOREIGN.items():
        text = written(SPACE, COLUMNS, dialect=name, table="shop.visits", breakdown=BY_MONTH)
        assert "20261001" in text.text, name
        assert "barrow_" not in text.text, name
        assert ("0000-00-00 00:00" in text.text) == foreign.clocks, name
        assert text.columns == ("item", "g", "s", "n", "a_low", "b_low", "c_low", "d_low", "barrow")
        assert (text.groups, text.periods) == (LABELS_OF_CELLS, ("2026-09", "2026-10", "2026-11"))
        marks.add(text.mark)
    marks |= {written(SPACE, COLUMNS, dialect="trino", breakdown=x).mark for x in (POOLED, REGIONS)}
    assert len(marks) == len(FOREIGN) + 2
    week = Breakdown([(None, MONTHS[0]), (None, Calendar("week", ZONE).parse("2026-W40"))], zone=ZONE)
    area = Columns("uid", "item", group="area", time="at")
    assert written(SPACE, area, dialect="trino", breakdown=BY_MONTH).mark not in marks
    with pytest.raises(ParameterError, match="days in common"):
        written(SPACE, COLUMNS, dialect="trino", breakdown=week)
    # Another order of groups is another statement: the places in the column g mean something else.
    turned = Breakdown(BY_MONTH.cells, LABELS_OF_CELLS[::-1], ZONE)
    assert written(SPACE, COLUMNS, dialect="trino", breakdown=turned).mark not in marks


def test_forged_rows_are_refused(tmp_path, quick):
    table = as_table(cell_rows.rows(120, zoned=False))
    statement = once("sqlite", BY_MONTH)
    rows = [tuple(row) for row in HERE["sqlite"](statement.text, table)]
    names = statement.columns
    item, g, s, n, a = (names.index(name) for name in ("item", "g", "s", "n", "a_low"))

    def changed(at, **values):
        row = dict(zip(names, rows[at], strict=True)) | values
        return [*rows[:at], tuple(row[name] for name in names), *rows[at + 1 :]]

    people = next(i for i, row in enumerate(rows) if row[item] == -9)
    one = next(i for i, row in enumerate(rows) if row[item] >= 0)
    other = next(i for i, row in enumerate(rows) if row[item] >= 0 and row[g] != rows[one][g])
    later = next(i for i, row in enumerate(rows) if row[item] == -9 and row[s] != rows[people][s])
    forged = {
        "one person more": changed(people, n=rows[people][n] + 1),
        "one person less": changed(people, n=rows[people][n] - 1),
        "fewer than nobody": changed(people, n=-1),
        "people of another cell": changed(people, s=rows[later][s]),
        "people beside an item": changed(one, n=1),
        "a sum below 0": changed(one, a_low=-1),
        "a sum that does not match": changed(one, a_low=rows[one][a] + 1),
        "a sum beyond 64 bits": changed(one, a_low=2**64),
        "no whole number": changed(one, a_low="1.5"),
        "no number": changed(one, a_low="secret"),
        "nothing": changed(one, n=""),
        "an item that is missing": [row for i, row in enumerate(rows) if i != one],
        "people who are missing": [row for i, row in enumerate(rows) if i != people],
        "an item of no space": changed(one, item=7),
        "an item of no meaning": changed(one, item=-8),
        "a group that is none": changed(one, g=3),
        "a group below 0": changed(one, g=-1),
        "a period that is none": changed(one, s=3),
        "an item in another group": changed(one, g=(rows[one][g] + 1) % 3),
        "an item in another period": changed(one, s=(rows[one][s] + 1) % 3),
        "two items that are swapped between groups": [
            row if i not in (one, other) else (*row[:g], rows[other if i == one else one][g], *row[g + 1 :])
            for i, row in enumerate(rows)
        ],
        "an item more": [*rows, rows[one]],
        "a cell more": [*rows, *(tuple(9 if i == s else x for i, x in enumerate(row)) for row in rows[:2])],
    }
    good = counted_source(write(tmp_path / "good.csv", rows, names))
    assert CountedEngine().sum_cells(good, COLUMNS, SPACE, BY_MONTH)
    for what, wrong in forged.items():
        source = counted_source(write(tmp_path / "wrong.csv", wrong, names))
        with pytest.raises(DataError) as caught:
            CountedEngine().sum_cells(source, COLUMNS, SPACE, BY_MONTH)
        assert "secret" not in str(caught.value), what
    with pytest.raises(ParameterError, match="not made by the SELECT"):
        CountedEngine().sum_cells(good, COLUMNS, SPACE, POOLED)
    with pytest.raises(ParameterError, match="does not hold the counts of one statement"):
        counted_source(write(tmp_path / "mixed.csv", [*rows[1:], (*rows[0][:-1], "sqlite 0")], names))
    lacking = write(tmp_path / "few.csv", [row[:g] + row[g + 1 :] for row in rows], names[:g] + names[g + 1 :])
    with pytest.raises(ParameterError, match="lacks the column 'g'"):
        CountedEngine().sum_cells(counted_source(lacking), COLUMNS, SPACE, BY_MONTH)
    with pytest.raises(BarrowError, match="needs the records themselves"):
        CountedEngine().count_cells(good, COLUMNS, SPACE, BY_MONTH)


def test_a_release_by_month_and_region_goes_on_from_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = monthly.make_study(tmp_path, ledger="ages.ledger")
    study.write("study.toml")
    Ledger.create("ages.ledger", Study.read("study.toml"))
    asked = ("--period", "2026-01..2026-02", "--by", "region")
    run("sql", "--dialect", "duckdb", "--table", "visits", *asked, "--out", "cells.sql", "--quiet")
    text = Path("cells.sql").read_text(encoding="utf-8").replace('"visits"', "'ages.parquet'")
    duckdb.sql(f"COPY ({text}) TO 'cells.parquet' (FORMAT parquet)")
    mark = duckdb.sql("SELECT DISTINCT barrow FROM 'cells.parquet'").fetchall()[0][0]
    run("release", "--counts", "cells.parquet", *asked, "--quiet")
    folder = Path("release/2026-01/mean")
    statement = (folder / "statement.json").read_text(encoding="utf-8")
    assert mark in statement
    ledger = Ledger.open("ages.ledger")
    paid = [record.data for record in ledger.records() if record.kind == "reserve"]
    assert [data["reads"]["periods"] for data in paid] == [["2026-01"], ["2026-02"]]
    assert all(mark in str(data) for data in paid)
    assert all(check.holds for check in verify(folder, ledger=ledger))
    # The same price as from the records themselves.
    Path("own").mkdir()
    Ledger.create("own/own.ledger", study.replace(ledger="own/own.ledger"))
    study.release("mean", ledger="own/own.ledger", out="own/mean", period="2026-01", by="region")
    own = [record.data for record in Ledger.open("own/own.ledger").records() if record.kind == "reserve"]
    assert (own[0]["event"], own[0]["amount"]) == (paid[0]["event"], paid[0]["amount"])
    spent = Path("ages.ledger").read_bytes()
    assert "not made by the SELECT" in refused("release", "--counts", "cells.parquet", "--period", "2026-03")
    assert Path("ages.ledger").read_bytes() == spent
    assert "no period is named" in refused("sql", "--dialect", "duckdb", "--table", "t")


def test_pooled_months_have_the_same_mean_from_sums(tmp_path):
    """By records and by periods, with weights: the statistic is that of the counts, to the step of the sums."""
    from barrow.engines.sums import ItemSums
    from barrow.promises import Window
    from barrow.study.about import About
    from barrow.study.parts import CellReader, Planner

    study = monthly.make_study(tmp_path)
    for pool, weights in (("records", None), ("periods", None), ("periods", "1/4, 3/4")):
        window = study.abouts(study.question("mean"), "2026-01..2026-02", pool, weights)[0][0].window
        assert isinstance(window, Window)
        about = About(window, study.groups[0])
        parts, reader = Planner(study, study.question("mean")).parts(about), CellReader(study.data, [about])
        engine, space = study.data.validate(study.space, about), parts.plan.terms.space
        counts, sums = reader.cells(engine, space), reader.sums(engine, space)
        assert all(isinstance(x, ItemSums) for x in sums.values())
        one, other = parts.statistics(counts), parts.statistics(sums)
        for label in one:
            assert abs(one[label].exact_entry(0) - other[label].exact_entry(0)) < 100 / 2**57
            assert one[label].exact_entry(0) > 1


@pytest.mark.parametrize("dialect", HERE)
def test_labels_of_groups_differ_by_every_letter(dialect):
    labels = ("N", "n", "O'Neil")
    table = {"uid": ["1", "2", "3"], "item": ["a", "a", "b"], "region": ["n", "N", "O'Neil"]}
    text = written(SPACE, Columns("uid", "item", group="region"), dialect=dialect, breakdown=Breakdown(
        [(label, None) for label in labels], labels
    )).text  # fmt: skip
    rows = HERE[dialect](text, table)
    assert sorted(tuple(int(x) for x in row[:2]) for row in rows if row[0] >= 0) == [(0, 0), (0, 1), (1, 2)]
