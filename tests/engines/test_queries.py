"""Which queries pass, which are refused and why, and that the curator's own text is never run."""

from __future__ import annotations

import sqlite3

import duckdb
import pytest

from barrow.engines import Columns, DuckDBEngine, Source
from barrow.engines.queries import admit
from barrow.engines.sql.dialects import DUCKDB, POSTGRES, SPARK
from barrow.errors import ParameterError
from barrow.spaces import Discrete, Line
from barrow.testing.engines import SECRET, as_list

ENGINE = DuckDBEngine(progress=False)
AGES, UID = Line(0, 100, step=1, cells=True), Columns("uid", "age")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.parquet"
    rows = "(VALUES ('x', 30, 2026, 'a', '1.5'), ('x', 40, 2025, 'b', 'nan'), ('y', 50, 2026, NULL, '9')) AS t"
    select = f"SELECT uid, age, year, shop, far::DOUBLE AS far FROM {rows} (uid, age, year, shop, far)"
    with duckdb.connect() as c:
        c.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT * FROM records", 3),
        ("SELECT uid, age FROM records WHERE year = 2026", 2),
        ("SELECT uid, age FROM records WHERE 2026 <= year AND NOT (shop = 'b' OR year IN (1, 2));", 1),
        ("SELECT UID, Age FROM records -- a remark\n WHERE year BETWEEN 2025 AND 2026 AND shop IS NOT NULL", 2),
        ("FROM records SELECT uid, CAST(age AS DOUBLE) AS age WHERE year <> 2025", 2),
        ("SELECT uid, TRY_CAST(age AS DOUBLE) AS age FROM records WHERE shop > 'a'", 1),
        ("SELECT uid, age FROM records WHERE CAST('2026' AS INTEGER) = year", 2),
        ("SELECT uid, age FROM records WHERE far > 2 OR far <= 2", 3),
    ],
)
def test_plain_selections_pass(people, sql, found):
    counts = ENGINE.count(Source.parse(people, sql=sql), UID if "UID" not in sql else Columns("UID", "Age"), AGES)
    assert counts.counts.sum() == found


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT uid, (SELECT max(age) FROM records) AS age FROM records", "computes a subquery"),
        ("SELECT uid, max(age) AS age FROM records GROUP BY uid", "groups"),
        ("SELECT uid, max(age) AS age FROM records GROUP BY ALL", "groups"),
        ("SELECT uid, max(age) OVER () AS age FROM records", "window"),
        ("SELECT uid, age + 1 AS age FROM records", r"\+\(…\)"),
        ("SELECT lower(uid) AS uid, age FROM records", "lower"),
        ("SELECT CAST(uid AS VARCHAR) AS uid, age FROM records", "user is not a bare column"),
        ("SELECT uid || 'x' AS uid, age FROM records", "computes"),
        ("SELECT 'x' AS uid, age FROM records", "constant"),
        ("SELECT uid, random() AS age FROM records", "random"),
        ("SELECT uid, unnest([age, 2]) AS age FROM records", "unnest"),
        ("SELECT a.uid, b.age FROM records a JOIN records b ON a.uid <> b.uid", "joins"),
        ("SELECT uid, age FROM records, records AS r", "joins"),
        ("SELECT uid, age FROM (SELECT * FROM records) t", "subquery"),
        ("SELECT * FROM read_csv('/etc/passwd')", "table function"),
        ("WITH r AS (SELECT * FROM records) SELECT uid, age FROM r", "WITH"),
        ("SELECT uid, age FROM records UNION ALL SELECT uid, age FROM records", "several queries"),
        ("SELECT uid, age FROM records LIMIT 1", "LIMIT"),
        ("SELECT uid, age FROM records ORDER BY age LIMIT 1", "ORDER|LIMIT"),
        ("SELECT DISTINCT uid, age FROM records", "DISTINCT"),
        ("SELECT uid, age FROM records USING SAMPLE 10%", "sample"),
        ("SELECT uid, age FROM records TABLESAMPLE 10%", "sample|has something"),
        ("SELECT uid, age FROM records QUALIFY row_number() OVER (PARTITION BY uid) = 1", "QUALIFY"),
        ("SELECT uid, age FROM records WHERE age < 40", "filters by the item"),
        ("SELECT uid, year AS age FROM records WHERE year < 2026", "filters by the item"),
        ("SELECT uid, age FROM records WHERE UID = 'x'", "filters by the user"),
        ("SELECT uid, age AS a2, year AS age FROM records WHERE a2 > 3", "gives to another column"),
        ("SELECT uid, age FROM records WHERE year = far", "not a comparison"),
        ("SELECT uid, age FROM records WHERE abs(year) = 1", "not a comparison"),
        ("SELECT uid, age FROM records WHERE shop LIKE 'a%'", "not a comparison"),
        ("SELECT uid, age FROM records WHERE year = (SELECT max(year) FROM records)", "not a comparison"),
        ("SELECT uid, age FROM records WHERE EXISTS (SELECT 1)", "not a comparison"),
        ("SELECT uid, age FROM records WHERE year > now()", "not a comparison"),
        ("SELECT uid, age::DECIMAL(3,1) AS age FROM records", "casts to|has something"),
        ("SELECT records.uid, age FROM records", "bare column"),
        ("SELECT *, 1 AS age FROM records", r"\* beside"),
        ("SELECT * REPLACE (age + 1 AS age) FROM records", "something beside"),
        ("SELECT COLUMNS('u.*') FROM records", "something beside|computes"),
        ("SELECT uid, age, year AS age FROM records", "one name"),
        ("PIVOT records ON year USING sum(age)", "query|mix people|statement"),
        ("VALUES (1, 2)", "several queries|does not read one table|mix people"),
        ("DELETE FROM records", "not one SELECT"),
        ("SELECT uid, age FROM records; SELECT 1", "not one SELECT"),
        ("SELECT uid, age FROM records WHERE year = $1", "something beside"),
    ],
)  # fmt: skip
def test_whatever_may_mix_people_or_move_items_is_refused(people, sql, why):
    with pytest.raises(ParameterError, match=why) as caught:
        ENGINE.count(Source.parse(people, sql=sql), UID, AGES)
    assert caught.value.fix


@pytest.mark.parametrize("name", ["rowid", "file_row_number", "filename", "current_user", "current_date"])
def test_names_that_are_no_columns_are_refused(people, name):
    with pytest.raises(ParameterError, match="no column"):
        ENGINE.count(Source.parse(people, sql=f"SELECT uid, {name} AS age FROM records"), UID, AGES)


def test_acknowledged_queries_pass_and_say_so(people):
    sql = "SELECT uid, max(age) AS age FROM records GROUP BY uid"
    source = Source.parse(people, sql=sql, acknowledge_sql=True)
    assert ENGINE.count(source, UID, AGES).counts.sum() == 2
    assert "not checked" in source.consequence
    assert source.parameters["sql"] == sql
    assert source.parameters["acknowledged"] == "yes"
    plain = Source.parse(people, sql="SELECT * FROM records")
    assert plain.consequence is None
    assert plain.parameters != source.parameters
    assert Source.parse(people).consequence is None
    assert Source.parse(people, version="1").parameters != Source.parse(people, version="2").parameters


def test_what_is_run_is_written_afresh():
    """A remark that SQLite ends earlier than DuckDB does would hide a second query from the judge."""
    sql = "SELECT uid, age FROM t /* /* */ UNION SELECT uid, max(age) FROM t /* */ */"
    assert admit(sql, UID).sql(DUCKDB, '"t"', ["uid", "age"]) == 'SELECT "uid" AS "uid", "age" AS "age" FROM "t"'


def test_sqlite_runs_the_fresh_text(tmp_path):
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as c:
        c.execute("CREATE TABLE t (uid, age, year)")
        c.executemany("INSERT INTO t VALUES (?, ?, ?)", [("x", 3, 1), ("y", 5, 2)])
        c.execute("CREATE VIEW v AS SELECT 'z' AS uid, max(age) AS age FROM t")
    c.close()
    sql = "SELECT uid, age FROM t WHERE year = 2 /* /* */ UNION SELECT 'z', max(age) FROM t /* */ */"
    assert as_list(ENGINE.count(Source("sqlite", path=str(path), sql=sql), UID, AGES)) == [(5, 1, 1)]
    with pytest.raises(ParameterError, match="is a view"):
        ENGINE.count(f"sqlite:///{path}?table=v", UID, AGES)
    with pytest.raises(ParameterError, match="reads in its own way"):
        ENGINE.count(Source("sqlite", path=str(path), sql="SELECT uid, age::DOUBLE AS age FROM t"), UID, AGES)


def test_names_and_texts_are_quoted_for_each_engine():
    sql = (
        """SELECT "u""1" AS uid, CAST(a AS DOUBLE) AS age FROM records WHERE b = 'it''s \\' AND c = DATE '2026-01-01'"""
    )
    selection = admit(sql, UID)
    texts = ['u"1', "a", "b", "c"]
    assert selection.sql(POSTGRES, "t", texts) == (
        'SELECT "u""1" AS "uid", CAST("a" AS DOUBLE PRECISION) AS "age" FROM t '
        "WHERE ((\"b\" = 'it''s \\') AND (\"c\" = CAST('2026-01-01' AS DATE)))"
    )
    assert '`u"1` AS `uid`' in selection.sql(SPARK, "t", texts)
    assert "concat('it', char(39), 's ', char(92))" in selection.sql(SPARK, "t", texts)


def test_names_in_backticks_are_judged_too():
    sql = "SELECT `uid`, CAST(`age` AS DOUBLE) AS `age` FROM records WHERE `year` = 2026"
    selection = admit(sql, UID, backticks=True)
    assert "CAST(`age` AS DOUBLE) AS `age` FROM t" in selection.sql(SPARK, "t", ["uid", "age", "year"])
    for bad in (
        "SELECT `uid`, max(`age`) AS age FROM records GROUP BY 1",
        "SELECT uid, explode(age) AS age FROM records",
    ):
        with pytest.raises(ParameterError, match="mix people"):
            admit(bad, UID, backticks=True)
    for bad in ("SELEC", "SELECT 1; SELECT 2", ""):
        with pytest.raises(ParameterError, match="one SELECT"):
            admit(bad, UID, backticks=True)


def test_a_filter_on_nan_does_not_depend_on_other_records(tmp_path):
    """Parquet's statistics leave NaN out; a record must not be dropped because of its neighbours' values."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    nan = float("nan")
    for far in ([nan, 1.0], [nan, 9.0]):
        pq.write_table(pa.table({"uid": ["x", "y"], "age": [3, 4], "far": far}), tmp_path / "t.parquet")
        source = Source.parse(tmp_path / "t.parquet", sql="SELECT uid, age FROM records WHERE far > 5")
        counts = ENGINE.count(source, UID, AGES)
        assert (3, 1, 1) in as_list(counts)


def test_text_files_without_header_stay_silent_under_queries(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"73913,{SECRET}\n2,a\n")
    for sql in ("SELECT uid, age FROM records", "SELECT * FROM records", "SELECT uid, age FROM records WHERE year = 1"):
        for known in (False, True):
            with pytest.raises(ParameterError) as caught:
                ENGINE.validate(Source.parse(path, sql=sql, acknowledge_sql=known), UID, AGES)
            assert SECRET not in str(caught.value)
            assert "73913" not in str(caught.value)


def test_a_query_may_name_its_file(people):
    assert ENGINE.count(Source.parse(None, sql=f"SELECT * FROM '{people}' WHERE year = 2026"), UID, AGES).users == 2
    with pytest.raises(ParameterError):
        ENGINE.count(Source.parse(None, sql="SELECT uid, age FROM duckdb_tables"), UID, AGES)
    assert ENGINE.columns(Source.parse(people, sql="SELECT uid, shop AS s FROM records")) == {
        "uid": "text",
        "s": "text",
    }


def test_labels_by_query(people):
    source = Source.parse(people, sql="SELECT uid, shop FROM records WHERE shop IS NOT NULL")
    with pytest.raises(ParameterError, match="filters by the item"):
        ENGINE.count(source, Columns("uid", "shop"), Discrete(["a", "b"]))
