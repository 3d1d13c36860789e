"""What computes its records is no better than a view: virtual tables, and tables with generated columns."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import pytest

from barrow.engines import Columns, DuckDBEngine, Source
from barrow.errors import ParameterError
from barrow.spaces import Discrete

ENGINE = DuckDBEngine(progress=False)
AB, UID = Discrete(["a", "b"]), Columns("uid", "item")
MOVED = "CASE WHEN kept = 'a' THEN 'b' ELSE 'a' END"


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("CREATE TABLE plain (uid, item, \"generated always as (\" TEXT DEFAULT 'generated always as (1)')")
        c.execute(f"CREATE TABLE stored (uid, kept, item TEXT GENERATED ALWAYS AS ({MOVED}) STORED)")
        c.execute(f"CREATE TABLE short (uid, kept, item TEXT AS ({MOVED}))")
        c.execute("create  virtual\ttable searched USING fts5(uid, item)")
        for table, fields in (
            ("plain", "uid, item"),
            ("stored", "uid, kept"),
            ("short", "uid, kept"),
            ("searched", "uid, item"),
        ):
            c.execute(f"INSERT INTO {table} ({fields}) VALUES ('x', 'a'), ('y', 'b')")
    return path


@pytest.mark.parametrize(
    ("table", "why"), [("stored", "generated columns"), ("short", "generated columns"), ("searched", "virtual")]
)
def test_sqlite_tables_that_are_computed_are_refused(shop, table, why):
    for tail in (f"table={table}", f"sql=SELECT%20uid,%20item%20FROM%20{table}"):
        with pytest.raises(ParameterError, match=why) as error:
            ENGINE.count(f"sqlite:///{shop}?{tail}", UID, AB)
        assert "--acknowledge-sql" in error.value.fix
        assert ENGINE.count(Source.parse(f"sqlite:///{shop}?{tail}", acknowledge_sql=True), UID, AB).users == 2


def test_words_in_names_and_texts_are_not_computed(shop, tmp_path):
    assert ENGINE.count(f"sqlite:///{shop}?table=plain", UID, AB).users == 2
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as c:
        c.execute(
            "CREATE TABLE t (uid INT, item VARCHAR, \"GENERATED ALWAYS AS (\" VARCHAR DEFAULT 'GENERATED ALWAYS AS')"
        )
        c.execute("INSERT INTO t (uid, item) VALUES (1, 'a')")
    assert ENGINE.count(f"duckdb:///{path}?table=t", UID, AB).users == 1


def test_duckdb_tables_with_generated_columns_are_refused(tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as c:
        c.execute(f"CREATE SCHEMA s; CREATE TABLE s.t (uid INT, kept VARCHAR, item VARCHAR AS ({MOVED}))")
        c.execute("INSERT INTO s.t VALUES (1, 'a')")
    for tail in ("table=s.t", "sql=SELECT%20uid,%20item%20FROM%20s.t"):
        with pytest.raises(ParameterError, match="generated columns"):
            ENGINE.count(f"duckdb:///{path}?{tail}", UID, AB)
        assert ENGINE.count(Source.parse(f"duckdb:///{path}?{tail}", acknowledge_sql=True), UID, AB).users == 1


def test_half_a_character_in_a_query_is_said(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("uid,item\n1,a\n")
    for known in (False, True):
        with pytest.raises(ParameterError, match="half a character"):
            ENGINE.validate(
                Source.parse(path, sql="SELECT uid, item FROM records WHERE uid = '\ud800'", acknowledge_sql=known),
                UID,
                AB,
            )
