"""SELECTs for other engines: run for real where an engine is here, read back by sqlglot everywhere else."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from barrow.cli.main import cli
from barrow.engines import Columns, MemoryEngine
from barrow.engines.conformance import SPACES, adversarial_rows
from barrow.engines.counted import CountedEngine, counted_source
from barrow.engines.sql.foreign import FOREIGN, self_test, written
from barrow.errors import BarrowError, DataError, ParameterError
from barrow.ledger import Ledger
from barrow.spaces import Circle, Discrete, Earth, Line, Product
from barrow.study import Study

pytest.importorskip("sqlglot", reason="sqlglot is not installed (pip install 'barrow[sql]')")
NAMES = ("item", "n", "a_low", "b_low", "c_low", "d_low", "barrow")
LABELS = ["a", "b", " b", "B", "é", "a b", "7", "O'Neil", 'a"b', "a\\b", "ß"]


def run_duckdb(text, table=None):
    with duckdb.connect() as session:
        if table is not None:
            session.register("records", arrow(table))
        return session.execute(text).fetchall()


def run_sqlite(text, table=None):
    with sqlite3.connect(":memory:") as session:
        if table is not None:
            session.execute(f"CREATE TABLE records ({', '.join(table)})")
            session.executemany(
                f"INSERT INTO records VALUES ({', '.join('?' * len(table))})",
                list(zip(*(list(x) for x in table.values()), strict=True)),
            )
        return session.execute(text).fetchall()


def run_datafusion(text, table=None):
    datafusion = pytest.importorskip("datafusion", reason="datafusion is not installed")
    context = datafusion.SessionContext()
    if table is not None:
        context.register_record_batches("records", [arrow(table).to_batches()])
    return [tuple(row.values()) for batch in context.sql(text).collect() for row in batch.to_pylist()]


def run_clickhouse(text, table=None):
    chdb = pytest.importorskip("chdb", reason="chdb is not installed")
    if table is None:
        answer = chdb.query(text, "JSONCompactEachRow")
    else:
        records = arrow(table)  # noqa: F841  (the query names it)
        answer = chdb.query(text.replace('"records"', "Python(records)"), "JSONCompactEachRow")
    return [tuple(json.loads(line)) for line in str(answer).splitlines()]


HERE = {"duckdb": run_duckdb, "sqlite": run_sqlite, "datafusion": run_datafusion, "clickhouse": run_clickhouse}


def arrow(table):
    import pyarrow as pa

    texts = {k: pa.array(v, pa.string() if isinstance(v[0], str) else pa.float64())
             for k, v in table.items() if isinstance(v, list)}  # fmt: skip
    return pa.table({k: texts[k] if k in texts else pa.array(v) for k, v in table.items()})


def whole(rows):
    """The numbers of rows, sorted."""
    return sorted(tuple(int(x) for x in row[:6]) for row in rows)


@pytest.mark.parametrize("dialect", HERE)
def test_made_up_rows_give_what_they_must(dialect):
    statement, expected = self_test(dialect)
    assert whole(HERE[dialect](statement.text)) == sorted(expected)


def sums_of(tmp_path, dialect, space, columns, table, mode="error"):
    """What a release would read of the rows that the SELECT gives in this engine."""
    statement = written(space, columns, dialect=dialect, unknown=mode)
    rows = HERE[dialect](statement.text, table)
    path = write(tmp_path / f"{dialect}.csv", [tuple(row) for row in rows])
    return CountedEngine().sums(counted_source(path), columns, space, unknown=mode)


def write(path, rows, names=NAMES):
    lines = [",".join(names), *(",".join(str(x) for x in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("dialect", HERE)
def test_sums_are_those_of_the_reference(tmp_path, dialect):
    """Labels, lines, a map and a product, at boundaries and beside them, lost records as the default item."""
    cases = {name: SPACES[name] for name in ("line", "circle", "box", "disc", "city", "product")}
    cases["line-points"] = Line(0, 3, points=[0.1, 0.2, 0.25, 1.0, 1.0000001, 2.9])  # sqlglot reads each for seconds
    for name, space in cases.items():
        columns = Columns("uid", [f"c{i}" for i in range(space.reads.columns)])
        values = adversarial_rows(space, 150)
        values = values[np.isfinite(values).all(axis=1)]  # SQLite has no NaN
        table = {"uid": [f"u{i * i % 13}" for i in range(len(values))]}
        table |= {f"c{i}": values[:, i] for i in range(values.shape[1])}
        wanted = MemoryEngine().sums(table, columns, space, unknown="default")
        assert sums_of(tmp_path, dialect, space, columns, table, "default") == wanted, name
    columns, space = Columns("uid", "c0"), Discrete(LABELS, default="b")
    given = [*LABELS, "A", "b ", "É", "%", "a_b", "SS"]
    table = {
        "uid": [["a", "A", "a ", "é", "O'Neil"][i * i % 5] for i in range(90)],
        "c0": [given[i % 17] for i in range(90)],
    }
    wanted = MemoryEngine().sums(table, columns, space, unknown="default")
    assert sums_of(tmp_path, dialect, space, columns, table, "default") == wanted


def test_every_dialect_is_written_and_read_back():
    """Written without a guess of sqlglot's, which would divide doubles, and refused where that cannot be."""
    spaces = {
        "labels": (Discrete(LABELS), Columns("uid", "item")),
        "line": (Line(0, 3, step=0.1), Columns("uid", "x", weight="w")),
        "map": (Earth(box=(40.5, -74.3, 41.0, -73.6), cell=10), Columns("uid", ["lat", "lon"])),
        "product": (Product([Circle.hours(), Discrete(["a"])], weights=["1/2", "1/2"]), Columns("uid", ["h", "k"])),
    }
    assert len(FOREIGN) == 14
    for name in FOREIGN:
        for kind, (space, columns) in spaces.items():
            if name == "oracle" and kind == "map":
                with pytest.raises(ParameterError, match="Only whole numbers of one column are exact"):
                    written(space, columns, dialect=name)
                continue
            text = written(space, columns, dialect=name, table="shop.visits").text
            divided = text[text.index("valued AS") : text.index("summed AS")].upper()
            assert "DOUBLE" not in divided, name
            assert "FLOAT" not in divided, name
            assert "LEAST" not in text.upper(), name
            assert "barrow_" not in text, name
    marks = {written(*spaces["line"], dialect=name).mark for name in FOREIGN}
    assert len(marks) == len(FOREIGN)
    same = [written(*spaces["line"], dialect="trino", table=table).mark for table in ("a", "b.c")]
    assert same[0] == same[1]
    assert written(Line(0, 3, step=0.2), Columns("uid", "x", weight="w"), dialect="trino").mark != same[0]


def test_what_is_not_certain_is_refused(monkeypatch):
    monkeypatch.setattr("barrow.engines.sql.public_tables.MOST_ROWS_INLINE", 5)
    line = Line(0, 3, step=0.1)
    request = {
        "rows of numbers with places": lambda: written(
            Line(0, 1, points=[0.0, 0.1, 0.11, 0.12, 0.121, 0.122, 0.123, 0.4, 1.0]),
            Columns("uid", "x"),
            dialect="trino",
        ),
        "up to a million": lambda: written(Line(0.5, 3 * 10**6, step=1), Columns("uid", "x"), dialect="oracle"),
        "Only whole numbers": lambda: written(Circle.hours(), Columns("uid", "x"), dialect="oracle", unknown="nearest"),
        "The dialect is 'snowflak'": lambda: written(line, Columns("uid", "x"), dialect="snowflak"),
    }
    for words, ask in request.items():
        with pytest.raises(ParameterError, match=words):
            ask()


@pytest.mark.parametrize("dialect", HERE)
def test_nan_and_missing_values_are_lost_and_people_without_a_name_refused(tmp_path, dialect):
    """NaN is the largest number, no number or the smallest, and NULL first or last: nothing of it may matter."""
    space, columns = Line(0, 3, step=1, cells=True), Columns("uid", "c0")
    values = [0.5, None, 2.5, -0.0, 3.0, 1e308, -1e308]
    values += [] if dialect == "sqlite" else [float("nan"), -float("nan"), float("inf"), -float("inf")]
    table = {"uid": [f"u{i % 3}" for i in range(len(values))], "c0": values}
    numbers = np.array([np.nan if x is None else x for x in values])
    wanted = MemoryEngine().sums(table | {"c0": numbers}, columns, space, unknown="default")
    assert sums_of(tmp_path, dialect, space, columns, table, "default") == wanted
    with pytest.raises(DataError, match="not items of the public space"):
        sums_of(tmp_path, dialect, space, columns, table)
    with pytest.raises(DataError, match="have no user"):
        sums_of(tmp_path, dialect, space, columns, {"uid": ["a", None], "c0": [0.5, 0.5]})


@pytest.mark.parametrize("dialect", HERE)
def test_large_public_tables_are_made_by_a_script(tmp_path, dialect, monkeypatch):
    monkeypatch.setattr("barrow.engines.sql.public_tables.MOST_ROWS_INLINE", 5)
    columns, space = Columns("uid", "c0"), Discrete([*LABELS, *(f"item {i}" for i in range(600))], default="b")
    table = {"uid": ["ann", "bob", "ann", "cy"] * 20, "c0": [*LABELS, *(f"item {i}" for i in range(69))]}
    wanted = MemoryEngine().sums(table, columns, space)
    statement = written(space, columns, dialect=dialect)
    assert len(statement.tables) == 1
    script = list(statement.script())
    assert [x.split()[0] for x in script] == ["CREATE", "INSERT", "INSERT"]
    if dialect == "datafusion":
        script = [x.rstrip(";\n") for x in script]
    for texts, whole_table in ((script, True), (script[:-1], False), ([*script, script[-1]], False)):
        rows = made_first(dialect, texts, statement.text, table)
        path = write(tmp_path / f"{dialect}.csv", [tuple(row) for row in rows])
        if whole_table:
            assert CountedEngine().sums(counted_source(path), columns, space) == wanted
        else:
            with pytest.raises(ParameterError, match="lacked rows, or held some twice"):
                counted_source(path)


def made_first(dialect, script, text, table):
    """The rows of a SELECT after a script, in one session of the engine."""
    if dialect == "duckdb":
        with duckdb.connect() as session:
            session.register("records", arrow(table))
            return [session.execute(x) for x in [*script, text]][-1].fetchall()
    if dialect == "sqlite":
        with sqlite3.connect(":memory:") as session:
            session.execute(f"CREATE TABLE records ({', '.join(table)})")
            session.executemany("INSERT INTO records VALUES (?, ?)", list(zip(*table.values(), strict=True)))
            return [session.execute(x) for x in [*script, text]][-1].fetchall()
    if dialect == "datafusion":
        context = pytest.importorskip("datafusion", reason="datafusion is not installed").SessionContext()
        context.register_record_batches("records", [arrow(table).to_batches()])
        batches = [context.sql(x).collect() for x in [*script, text]][-1]
        return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    session = pytest.importorskip("chdb.session", reason="chdb is not installed").Session()
    records = arrow(table)  # noqa: F841  (the query names it)
    for one in script:
        session.query(one)
    answer = session.query(text.replace('"records"', "Python(records)"), "JSONCompactEachRow")
    session.close()
    return [tuple(json.loads(line)) for line in str(answer).splitlines()]


def test_where_numbers_are_decimals_whole_ones_are_exact_and_others_refused(tmp_path, monkeypatch):
    """The text for Oracle, run here: items are those of the reference, and nothing is rounded in silence."""
    monkeypatch.setitem(FOREIGN, "duckdb", replace(FOREIGN["duckdb"], doubles=False))
    columns = Columns("uid", "x", weight="w")
    numbers = [-7, -1, 0, 1, 2, 3, 9, 10, 11, 19, 20, 21, 2**53]
    cases = {
        "points": (Line(0, 20, step=0.7), ("default", "nearest")),
        "cells": (Line(0.5, 20, step=3, cells=True), ("default", "nearest")),
        "circle": (Circle.hours(), ("default",)),
    }
    made = "SELECT uid, CAST(x AS DECIMAL(38, 12)) AS x, CAST(w AS DECIMAL(38, 12)) AS w FROM given"

    def asked(space, mode, given):
        with duckdb.connect() as session:
            session.register("given", arrow(given))
            session.execute(f"CREATE TABLE records AS {made}")
            rows = session.execute(written(space, columns, dialect="duckdb", unknown=mode).text).fetchall()
        path = write(tmp_path / "counts.csv", rows)
        return CountedEngine().sums(counted_source(path), columns, space, unknown=mode)

    given = {"uid": ["ann", "bob"] * 6 + ["cy"], "x": [str(x) for x in numbers], "w": ["1", "3"] * 6 + ["2"]}
    table = {"uid": given["uid"], "x": np.array(numbers, dtype=float), "w": [int(x) for x in given["w"]]}
    for name, (space, modes) in cases.items():
        for mode in modes:
            wanted = MemoryEngine().sums(table, columns, space, unknown=mode)
            assert asked(space, mode, given) == wanted, (name, mode)
    line = cases["points"][0]
    for wrong, words in ({"x": ["1.000000000001"]}, "not whole"), ({"x": [str(2**53 + 1)]}, "beyond 2"):
        with pytest.raises(DataError, match=words):
            asked(line, "default", {"uid": ["ann"], "w": ["1"]} | wrong)
    with pytest.raises(DataError, match="weight"):
        asked(line, "default", {"uid": ["ann"], "x": ["1"], "w": ["1.5"]})


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A folder with a study of ages, and the file of counts that DuckDB gives for it."""
    monkeypatch.chdir(tmp_path)
    duckdb.sql(
        "COPY (SELECT i % 40 AS uid, 20.0 + i % 7 AS age FROM range(200) r(i)) TO 'ages.parquet' (FORMAT parquet)"
    )
    space = "line(low=0, high=100, unit='years', step=1)"
    run("init", "ages.parquet", "--user", "uid", "--item", "age", "--space", space, "--users", "50",
        "--dataset", "ages", "--promise", "1 of 30, 10 years, 0.5", "--question", "mean", "--quiet")  # fmt: skip
    told = json.loads(run("sql", "--dialect", "duckdb", "--table", "visits", "--json").output)
    text = told["sql"].replace('"visits"', "'ages.parquet'")
    duckdb.sql(f"COPY ({text}) TO 'counts.parquet' (FORMAT parquet)")
    return told


def run(*words, code=0):
    result = CliRunner().invoke(cli, [*words])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def refused(*words):
    return str(CliRunner().invoke(cli, [*words]).exception)


def test_a_release_goes_on_from_counts(study):
    run("release", "--counts", "counts.parquet", "--quiet")
    told = Path("release/mean/statement.json").read_text(encoding="utf-8")
    assert study["mark"] in told
    assert "barrow cannot check" in told
    assert study["mark"] in "".join(str(record) for record in Ledger.open("ages.ledger").records())
    run("verify", "release/mean", "--ledger", "ages.ledger")


def test_counts_that_do_not_fit_are_refused(study, tmp_path):
    rows = duckdb.sql("SELECT * FROM 'counts.parquet'").fetchall()
    space, columns = Study.read("study.toml").space, Columns("uid", "age")
    good = write(tmp_path / "good.csv", rows)
    sums = CountedEngine().sums(counted_source(good), columns, space)
    assert sums.users == 40
    changed = {
        "one more": [(*rows[0][:3], rows[0][3] + 1, *rows[0][4:]), *rows[1:]],
        "no people": [row for row in rows if row[0] != -9],
        "an item twice": [rows[0], *rows],
        "no item of the space": [(10**6, *rows[0][1:]), *rows[1:]],
        "no number": [(*rows[0][:1], "secret", *rows[0][2:]), *rows[1:]],
        "people without a user": [*rows, (-2, 1, 1, 1, 1, 1, rows[0][6])],
        "too many records of one person": [*rows, (-7, 1, 1, 1, 1, 1, rows[0][6])],
        "a sum that was too large": [(*rows[0][:2], -1, *rows[0][3:]), *rows[1:]],
    }
    for what, wrong in changed.items():
        source = counted_source(write(tmp_path / "wrong.csv", wrong))
        with pytest.raises(DataError) as caught:
            CountedEngine().sums(source, columns, space)
        assert "secret" not in str(caught.value), what
    with pytest.raises(DataError, match="more users"):
        CountedEngine().sums(counted_source(good), columns, space, users=39)
    with pytest.raises(ParameterError, match="not made by the SELECT"):
        CountedEngine().sums(counted_source(good), columns, Line(0, 100, step=7))
    few = write(tmp_path / "few.csv", [row[:2] + row[6:] for row in rows], ("item", "n", "barrow"))
    with pytest.raises(ParameterError, match="lacks the column 'a_low'"):
        CountedEngine().sums(counted_source(few), columns, space)
    duckdb.sql("COPY (SELECT * REPLACE (CAST(a_low AS DOUBLE) AS a_low) FROM 'counts.parquet') TO 'floats.parquet'")
    with pytest.raises(ParameterError, match="floats, which lose digits"):
        CountedEngine().sums(counted_source("floats.parquet"), columns, space)
    scaled = [tuple(f"{x}.000000" if isinstance(x, int) else x for x in row) for row in rows]
    upper = write(tmp_path / "upper.csv", scaled, [x.upper() for x in NAMES])  # as Snowflake and Oracle may write them
    assert CountedEngine().sums(counted_source(upper), columns, space) == sums
    for ask in (CountedEngine().count, CountedEngine().check):
        with pytest.raises(BarrowError, match="needs the records themselves"):
            ask(counted_source(good), columns, space)


def test_the_command_writes_a_script_beside_the_select(study, monkeypatch):
    monkeypatch.setattr("barrow.engines.sql.public_tables.MOST_ROWS_INLINE", 5)
    words = ("sql", "--dialect", "oracle", "--table", "S.VISITS", "--public", "SCRATCH")
    assert "a script of its own makes" in refused(*words)
    told = run(*words, "--out", "v.sql").output
    assert "Run v-tables.sql first, once" in " ".join(told.split())
    script, select = (Path(name).read_text(encoding="utf-8") for name in ("v-tables.sql", "v.sql"))
    (made,) = json.loads(run(*words, "--out", "w.sql", "--json").output)["tables"]
    assert script.startswith(f"CREATE TABLE {made} (whole INT, id INT);")
    assert f"FROM {made}" in select
    assert script.count("SELECT") == 101


def test_the_command_says_what_is_wrong(study):
    assert "--dialect trino" in refused("sql", "--dialect", "trini", "--table", "t")
    assert "table that the SELECT reads" in refused("sql", "--dialect", "trino")
    assert "no counts in" in refused("release", "--counts", "nothing.parquet")
    run("sql", "--dialect", "snowflake", "--table", "t", "--out", "t.sql", "--quiet")
    assert "exists" in refused("sql", "--dialect", "snowflake", "--table", "t", "--out", "t.sql")
    shown = run("sql", "--self-test", "--dialect", "bigquery").output
    assert "-- must give, in any order:" in shown
    assert "-- -9,6," in shown
