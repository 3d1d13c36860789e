"""Where records may be, what is refused and in which words, and what stays on the machine."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest
from tests.engines import test_engines as suites

from barrow.engines import CheckReport, Columns, Counts, DuckDBEngine, MemoryEngine, Source, engine_for
from barrow.engines.addresses import spark_address, spark_master, spark_options, without_secrets
from barrow.engines.duckdb.relations import reading_call
from barrow.engines.duckdb.session import SpillFolder, sweep
from barrow.engines.sql.select_plan import SelectPlan
from barrow.errors import BarrowError, DataError, MissingExtraError, ParameterError
from barrow.progress import progress_to
from barrow.spaces import Discrete, Earth, Line
from barrow.testing.engines import SECRET, as_list

AB = Discrete(["a", "b"])
UID = Columns("uid", "item")
ENGINE = DuckDBEngine(progress=False)


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.parquet"
    with duckdb.connect() as c:
        rows = "(VALUES ('x', 'a', 1.5), ('x', 'b', 2.5), ('y', 'a', 0.5)) t(uid, item, far)"
        c.execute(f"COPY (SELECT * FROM {rows}) TO '{path}' (FORMAT parquet)")
    return path


EXPECTED = [(0, 1, 1), (0, 2, 1), (1, 2, 1)]


def silent(error):
    """No text of the error or of what it came from repeats a private value."""
    while error is not None:
        assert SECRET not in str(error)
        assert SECRET not in repr(error)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize(
    ("text", "kind", "path", "table"),
    [
        ("visits.csv", "csv", "visits.csv", None),
        ("data/*.CSV.gz", "csv", "data/*.CSV.gz", None),
        ("a.b.parquet", "parquet", "a.b.parquet", None),
        ("duckdb:///x.db?table=visits", "duckdb", "x.db", "visits"),
        ("sqlite:////data/x.db?table=my%20visits", "sqlite", "/data/x.db", "my visits"),
        (Path("v.tsv"), "csv", "v.tsv", None),
    ],
)
def test_texts_of_sources(text, kind, path, table):
    source = Source.parse(text)
    assert (source.kind, source.path, source.table) == (kind, path, table)
    assert Source.of(source) is source
    assert source.text


@pytest.mark.parametrize(
    "text",
    ["visits", "visits.xlsx", "shop.db", "s3://bucket/x.parquet", "duckdb:///x.db", "sqlite://x.db?table=t",
     "sqlite:///x.db?tabel=t", "sqlite:///x.db?table=t&table=s", "duckdb:///x.db?table=t&sql=SELECT", ""],
)  # fmt: skip
def test_bad_texts_of_sources(text):
    with pytest.raises(ParameterError) as caught:
        Source.parse(text)
    assert caught.value.allowed
    assert caught.value.fix


def test_other_bad_sources():
    for make in (lambda: Source.of(3), lambda: Source.parse(None), lambda: MemoryEngine().columns("visits.csv")):
        with pytest.raises(ParameterError):
            make()
    with pytest.raises(ParameterError, match="does not read"):
        ENGINE.columns({"uid": [1]})


def test_missing_files_are_named_with_the_nearest(visits):
    with pytest.raises(ParameterError, match=r"Did you mean '.*visits\.parquet'"):
        ENGINE.count(str(visits).replace("visits", "visit"), UID, AB)
    for text in (str(visits.parent / "no" / "x.csv"), str(visits.parent / "x*.csv"), str(visits.parent / "zzz.csv")):
        with pytest.raises(ParameterError):
            ENGINE.columns(text)


def test_columns_and_kinds(visits, tmp_path):
    assert ENGINE.columns(visits) == {"uid": "text", "item": "text", "far": "decimal"}
    with pytest.raises(ParameterError, match="There is 1 item column "):
        ENGINE.validate(visits, UID, Earth(cell=100))
    with pytest.raises(ParameterError, match="of the kind decimal"):
        ENGINE.count(visits, Columns("uid", "far"), AB)
    with pytest.raises(ParameterError, match="has no grid"):
        ENGINE.validate(visits, Columns("uid", "far"), Line(0, 3))
    with pytest.raises(ParameterError, match="nearest"):
        ENGINE.validate(visits, UID, AB, unknown="nearest")
    with pytest.raises(ParameterError, match="nearest"):
        MemoryEngine().validate({"uid": [1], "item": ["a"]}, UID, AB, unknown="nearest")
    for engine, source in ((ENGINE, visits), (MemoryEngine(), {"uid": [1], "item": ["a"]})):
        with pytest.raises(ParameterError, match="unknown is"):
            engine.validate(source, UID, AB, unknown="drop")
        with pytest.raises(ParameterError, match="users is"):
            engine.count(source, UID, AB, users=0)


@pytest.mark.parametrize("sql", ["[1, 2]", "true", "now()", "{'a': 1}", "1.5::DOUBLE", "'a'::BLOB"])
def test_wrong_types_are_refused_by_kind(tmp_path, sql):
    path = tmp_path / "t.parquet"
    with duckdb.connect() as c:
        c.execute(f"COPY (SELECT 1 AS uid, {sql} AS item) TO '{path}' (FORMAT parquet)")
    with pytest.raises(ParameterError, match="of the kind"):
        ENGINE.count(path, UID, AB)


def test_queries(visits, tmp_path):
    over_file = Source.parse(visits, sql="SELECT uid, item FROM records WHERE far < 2 -- only near ones")
    assert as_list(ENGINE.count(over_file, UID, AB)) == [(0, 1, 2)]
    alone = Source.parse(None, sql=f"SELECT * FROM '{visits}';")
    assert as_list(ENGINE.count(alone, UID, AB)) == EXPECTED
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as c:
        c.execute(f"CREATE SCHEMA s; CREATE TABLE s.t AS SELECT * FROM '{visits}'; CREATE VIEW v AS SELECT * FROM s.t")
    for tail in ("table=s.t", "sql=SELECT%20*%20FROM%20s.t"):
        assert as_list(ENGINE.count(f"duckdb:///{path}?{tail}", UID, AB)) == EXPECTED
    for tail in ("table=v", "sql=SELECT%20*%20FROM%20v"):
        with pytest.raises(ParameterError, match="'v' is a view"):
            ENGINE.count(f"duckdb:///{path}?{tail}", UID, AB)
        known = Source.parse(f"duckdb:///{path}?{tail}", acknowledge_sql=True)
        assert as_list(ENGINE.count(known, UID, AB)) == EXPECTED
    with pytest.raises(ParameterError, match=r"Did you mean 's\.t'"):
        ENGINE.columns(f"duckdb:///{path}?table=s.tt")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    # By the file's statistics, which leave out NaN, all records are items: what others hold must not move one.
    pq.write_table(pa.table({"uid": ["x", "y", "z"], "item": [1.0, float("nan"), 9.0]}), tmp_path / "ages.parquet")
    with duckdb.connect(str(path)) as c:
        c.execute(f"CREATE VIEW ages AS SELECT * FROM '{tmp_path / 'ages.parquet'}'")
    known = Source.parse(f"duckdb:///{path}?table=ages", acknowledge_sql=True)
    counts = ENGINE.count(known, UID, Line(0, 10, step=1), unknown="default")
    assert as_list(counts) == [(0, 1, 1), (1, 1, 1), (9, 1, 1)]
    other = tmp_path / "shop.db"
    with sqlite3.connect(other) as c:
        c.execute("CREATE TABLE t (uid, item)")
        c.executemany("INSERT INTO t VALUES (?, ?)", [("x", "a"), ("x", "b"), ("y", "a")])
    c.close()
    assert as_list(ENGINE.count(f"sqlite:///{other}?sql=SELECT%20*%20FROM%20t", UID, AB)) == EXPECTED
    only = Source.parse(f"sqlite:///{other}?table=t".split("?")[0] + "?sql=SELECT uid, item FROM t WHERE far < 2")
    with pytest.raises(ParameterError, match="no column 'far'"):
        ENGINE.count(only, UID, AB)
    with pytest.raises(ParameterError, match="no table 'tt'"):
        ENGINE.count(f"sqlite:///{other}?table=tt", UID, AB)
    with pytest.raises(ParameterError, match="no table 'zz'"):
        ENGINE.count(f"sqlite:///{other}?sql=SELECT%20*%20FROM%20zz", UID, AB)
    with pytest.raises(ParameterError, match="cannot be run"):
        ENGINE.count(Source("sqlite", path=str(other), sql="SELECT * FROM zz", acknowledged=True), UID, AB)


def test_queries_run_once():
    """A query that answers differently each time is still counted consistently."""
    sql = "SELECT (random() * 50)::INT AS uid, CASE WHEN random() < 0.5 THEN 'a' ELSE 'b' END AS item FROM range(5000)"
    counts = ENGINE.count(Source.parse(None, sql=sql, acknowledge_sql=True), UID, AB)
    assert counts.counts.sum() == 5000


@pytest.mark.parametrize("sql", ["SELEC 1", "SELECT nothing FROM nowhere", "SELECT 1; SELECT 2", "DROP TABLE records"])
def test_bad_queries(visits, sql):
    for known in (False, True):
        with pytest.raises(ParameterError, match=r"query|no table 'nowhere'"):
            ENGINE.count(Source.parse(visits, sql=sql, acknowledge_sql=known), UID, AB)
    if "nowhere" in sql:
        with pytest.raises(ParameterError, match="no table 'nowhere'"):
            ENGINE.check(Source.parse(visits, sql=sql), UID, AB)
        assert "nowhere" in ENGINE.check(Source.parse(visits, sql=sql, acknowledge_sql=True), UID, AB).problem


def test_queries_do_not_see_python_variables(visits):
    secret_table = {"uid": np.array([1]), "item": np.array(["a"])}
    assert secret_table
    with pytest.raises(ParameterError):
        ENGINE.count(Source.parse(visits, sql="SELECT * FROM secret_table"), UID, AB)


def test_sqlite_users_are_told_apart_as_sqlite_does(tmp_path):
    path = tmp_path / "t.db"
    users = [7, 7.0, "7", b"7", 0.1 + 0.2, 0.3, -(2**63), 1e300, "NULL", ""]
    with sqlite3.connect(path) as c:
        c.execute("CREATE TABLE t (uid, item)")
        c.executemany("INSERT INTO t VALUES (?, 'a')", [(u,) for u in users])
        distinct = c.execute("SELECT count(*) FROM (SELECT DISTINCT uid FROM t)").fetchone()[0]
    c.close()
    assert ENGINE.count(f"sqlite:///{path}?table=t", UID, AB).users == distinct == 9


def test_files_that_are_not_what_they_say(tmp_path):
    for name in ("t.parquet", "t.duckdb", "t.db"):
        path = tmp_path / name
        path.write_bytes(SECRET.encode() * 100)
        text = {"t.duckdb": f"duckdb:///{path}?table=t", "t.db": f"sqlite:///{path}?table=t"}.get(name, str(path))
        with pytest.raises(ParameterError, match="cannot be") as caught:
            ENGINE.count(text, UID, AB)
        silent(caught.value)


def test_broken_csv_is_refused_silently_and_check_explains(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("uid,item\n" + "x,a\n" * 50000 + f"{SECRET},a,b,c,d\n" + 'x,"a\n' * 3)
    with pytest.raises(BarrowError) as caught:
        ENGINE.count(path, UID, AB)
    silent(caught.value)
    report = ENGINE.check(path, UID, AB)
    assert report.problem
    assert not report.usable
    assert str(report).startswith("PRIVATE")


def test_conversion_errors_do_not_leak(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"uid,item\nx,1\ny,{SECRET}\n")
    source = Source.parse(path, sql="SELECT uid, CAST(item AS DOUBLE) AS item FROM records")
    with pytest.raises(DataError) as caught:
        ENGINE.count(source, UID, Line(0, 3, step=1, cells=True))
    silent(caught.value)
    assert caught.value.problem == "The records cannot be read."
    assert SECRET in ENGINE.check(source, UID, Line(0, 3, step=1, cells=True)).problem


@pytest.mark.parametrize("first", [f"73913,{SECRET}", f"zoe,{SECRET}", f"zoe;{SECRET};uidd", SECRET])
def test_a_file_without_header_does_not_show_its_first_record(tmp_path, first):
    path = tmp_path / "t.csv"
    path.write_text(f"{first}\n2,a\n")
    for ask in (ENGINE.count, ENGINE.validate):
        with pytest.raises(ParameterError, match="header") as caught:
            ask(path, UID, AB)
        silent(caught.value)
        assert "73913" not in str(caught.value)
        assert "zoe" not in str(caught.value)


def test_csv_keeps_texts_as_they_are(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("uid;item\n007; b\n7;b\n7.0;07\n")
    counts = ENGINE.count(path, UID, Discrete(["b", " b", "07"]))
    assert counts.users == 3
    assert counts.items.tolist() == [0, 1, 2]


def test_csv_drops_no_line(tmp_path):
    """Lines that look like comments, or that have another shape than the first ones, are records or errors."""
    path = tmp_path / "t.csv"
    path.write_text("uid,item\n#1,a\n#2,b\n# 3,a\nx,a\n" + "y,b\n" * 20)
    assert as_list(ENGINE.count(path, UID, AB)) == [(0, 1, 3), (1, 1, 1), (1, 20, 20)]
    path.write_text("uid\titem\n'x',y\ta\nz;;\tb\n")
    assert as_list(ENGINE.count(path, UID, AB)) == [(0, 1, 1), (1, 1, 1)]
    path.write_text("# a remark\nuid,item\n" + "y,b\n" * 20)
    with pytest.raises(BarrowError):
        ENGINE.count(path, UID, AB)
    path.write_text("uid,item\n" + "y,b\n" * 20 + "y\n")
    with pytest.raises(BarrowError, match="cannot be read"):
        ENGINE.count(path, UID, AB)


def test_empty_csv_and_header_only(tmp_path):
    for text in ("", "uid,item\n"):
        path = tmp_path / "t.csv"
        path.write_text(text)
        with pytest.raises(DataError, match="no records"):
            ENGINE.count(path, UID, AB)


def test_files_with_columns_in_another_order(tmp_path):
    (tmp_path / "1.csv").write_text("uid,item\nx,a\n")
    (tmp_path / "2.csv").write_text("item,uid\nb,x\na,y\n")
    assert as_list(ENGINE.count(str(tmp_path / "*.csv"), UID, AB)) == EXPECTED


def test_odd_names(tmp_path):
    """Names that the engine uses itself, quotes and patterns are only names."""
    path = tmp_path / "it's [1] *.parquet"
    with duckdb.connect() as c:
        select = (
            "SELECT unnest(['x', 'x', 'y']) AS x0, unnest([1.0, 2.0, 1.0]::DOUBLE[]) AS u, 5 AS y0, 6 AS \"k\"\"0, m\""
        )
        c.execute(f"COPY ({select}) TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")
    space = Line(0, 7, step=1, cells=True)
    assert as_list(ENGINE.count(path, Columns("x0", "u"), space)) == [(1, 1, 1), (1, 2, 1), (2, 2, 1)]
    assert ENGINE.check(path, Columns("x0", "u"), space).usable
    assert as_list(ENGINE.count(path, Columns("y0", 'k"0, m'), space)) == [(6, 3, 3)]
    assert ENGINE.check(path, Columns("y0", 'k"0, m'), space).users == 1


def test_users_of_any_type(tmp_path):
    path = tmp_path / "t.parquet"
    for sql, users in (("[0.0, -0.0, 1.5]::DOUBLE[]", 2), ("[1, 1, 2]", 2), ("['a', 'A', 'a ']", 3)):
        with duckdb.connect() as c:
            c.execute(f"COPY (SELECT unnest({sql}) AS uid, 'a' AS item) TO '{path}' (FORMAT parquet)")
        assert ENGINE.count(path, UID, AB).users == users
    with duckdb.connect() as c:
        c.execute(f"COPY (SELECT unnest(['nan', '1']::DOUBLE[]) AS uid, 'a' AS item) TO '{path}' (FORMAT parquet)")
    with pytest.raises(DataError, match="no user"):
        ENGINE.count(path, UID, AB)
    for column in ([float("nan"), 1.0], np.array([np.nan, 1.0]), [None, 1]):
        with pytest.raises(DataError, match="no user"):
            MemoryEngine().count({"uid": column, "item": ["a", "a"]}, UID, AB)
    assert MemoryEngine().count({"uid": np.array([0.0, -0.0, 2]), "item": ["a"] * 3}, UID, AB).users == 2


@pytest.mark.parametrize("quoted", ["plain", "it's a 'disk'"])
def test_what_a_killed_process_left_is_swept_at_the_next_start(tmp_path, quoted):
    """kill -9 in the middle of a spill leaves ids on the disk; the next start on that disk removes them."""
    place = tmp_path / quoted
    place.mkdir()
    code = (
        "import os, signal, sys; from barrow.engines.duckdb.session import Session\n"
        "session = Session(memory='40MB', threads=1, folder=None, progress=False)\n"
        "session.run(\"CREATE TEMP TABLE ids AS SELECT 'canary-' || i AS u FROM range(3000000) r(i)\")\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    env = {**os.environ, "TMPDIR": str(place)}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == -signal.SIGKILL
    (left,) = place.iterdir()
    assert left.stat().st_mode & 0o077 == 0
    assert any(b"canary" in file.read_bytes() for file in left.rglob("*") if file.is_file())
    with closing(SpillFolder(place)) as held:
        assert not left.exists()
        assert sweep(place) == 0  # a folder of a living process stays
        assert held.path.exists()
    (place / "barrow-spill-x").symlink_to(tmp_path)
    assert sweep(place) == 0
    assert tmp_path.exists()


def test_a_reading_goes_on_with_what_was_opened_to_validate_it(tmp_path, monkeypatch):
    opened, make = [], DuckDBEngine._session
    monkeypatch.setattr(DuckDBEngine, "_session", lambda self: opened.append(1) or make(self))
    place, file = tmp_path / "spill", tmp_path / "t.csv"
    place.mkdir()
    file.write_text("uid,item\n1,a\n2,b\n")
    source, engine = Source.of(file), DuckDBEngine(folder=place)
    engine.validate(source, UID, AB)
    assert engine.count(source, UID, AB).users == 2
    assert len(opened) == 1
    assert not list(place.iterdir())
    engine.validate(source, UID, AB)
    file.write_text("uid,item\n1,a\n2,b\n3,b\n")  # changed since it was looked at: opened again, and read whole
    assert engine.count(source, UID, AB).users == 3
    assert len(opened) == 3
    engine.validate(source, UID, AB)
    engine.validate(source, UID, AB)
    assert len(list(place.iterdir())) == 1  # the first was closed as the second was kept
    del engine
    gc.collect()
    assert not list(place.iterdir())


def test_nan_users_in_parquet_are_nobody(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"uid": [1.0, float("nan"), 2.0], "item": ["a", "a", "b"]}), path)
    with pytest.raises(DataError, match="no user"):
        ENGINE.count(path, UID, AB)
    with pytest.raises(DataError, match="no user"):
        ENGINE.sample(path, UID, AB, samples=2)
    assert ENGINE.check(path, UID, AB).null_users == 1


def test_more_than_memory_spills_and_cleans_up(tmp_path, capfd):
    """About 200 MB of users and items with 80 MB of memory; the temporary folder is gone afterwards."""
    rows = 4_000_000
    sql = f"SELECT 'user-with-a-long-name-' || i // 2 AS uid, i % 4 AS x FROM range({rows}) r(i)"
    engine = DuckDBEngine(memory="80MB", threads=1, folder=tmp_path)
    heard = []
    listener = SimpleNamespace(
        began=lambda text, total: heard.append(text), moved=lambda work, done: None, ended=lambda work: None
    )
    with progress_to(listener):
        counts = engine.count(
            Source.parse(None, sql=sql, acknowledge_sql=True), Columns("uid", "x"), Line(0, 4, step=1, cells=True)
        )
    assert as_list(counts) == [(i, 2, rows // 4) for i in range(4)]
    assert counts.users == rows // 2
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")
    assert set(heard) == {"reading records"}


def test_quiet_unless_on_a_terminal(visits, capfd):
    DuckDBEngine().count(visits, UID, AB)
    assert capfd.readouterr() == ("", "")


def test_engine_options():
    with pytest.raises(ParameterError, match="memory is"):
        DuckDBEngine(memory="much").columns("x.csv")
    with pytest.raises(ParameterError, match="temporary folder"):
        DuckDBEngine(folder="/nowhere/at/all").columns("x.csv")


def test_frames_need_the_extra(monkeypatch):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"uid": [1, 1, 2], "item": ["a", "b", "a"]})
    assert as_list(engine_for(frame).count(frame, UID, AB)) == EXPECTED
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(MissingExtraError, match=r"barrow\[frames\]"):
        engine_for(frame).count(frame, UID, AB)


def test_frames_of_mixed_objects_do_not_leak():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"uid": pd.Series([1, SECRET, 2.5], dtype=object), "item": ["a", "b", "a"]})
    try:
        counts = engine_for(frame).count(frame, UID, AB)
    except BarrowError as error:
        silent(error)
    else:
        assert counts.users == 3


def test_categories_are_texts():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"uid": [1, 1, 2], "item": pd.Categorical(["a", "b", "a"])})
    engine = engine_for(frame)
    assert engine.columns(frame) == {"uid": "integer", "item": "text"}
    assert as_list(engine.count(frame, UID, AB)) == EXPECTED


def test_memory_engine_refuses_crooked_tables():
    with pytest.raises(DataError, match="differ in length"):
        MemoryEngine().count({"uid": [1], "item": ["a", "b"]}, UID, AB)
    with pytest.raises(ParameterError, match="one-dimensional"):
        MemoryEngine().count({"uid": np.zeros((2, 2)), "item": ["a", "b"]}, UID, AB)


def test_counts_check_themselves():
    good = Counts([0, 0, 1], [1, 2, 2], [1, 1, 1], users=2)
    assert good == Counts([0, 0, 1], [1, 2, 2], [1, 1, 1], users=2)
    assert good != good.with_users(3, 0)
    assert repr(good) == str(good) == "<Counts: private integers>"
    with pytest.raises(TypeError):
        hash(good)
    with pytest.raises(ValueError, match="read-only"):
        good.counts[0] = 5
    for items, sizes, counts, users in [
        ([0, 0, 1], [1, 2, 2], [1, 1, 2], 2),
        ([0, 0, 1], [1, 2, 2], [1, 1, 1], 3),
        ([1, 0], [1, 1], [1, 1], 2),
        ([0, 0], [1, 1], [1, 1], 2),
        ([0], [0], [1], 1),
        ([-1], [1], [1], 1),
        ([], [], [], 1),
        ([0], [1], [0], 1),
    ]:
        with pytest.raises(DataError):
            Counts(items, sizes, counts, users=users)


def test_reports_hold_their_banner():
    assert str(CheckReport()).startswith("PRIVATE")
    assert "no records" in str(CheckReport())
    assert "no user" in str(CheckReport(rows=1, null_users=1))
    assert "default item" in str(CheckReport(rows=1, users=1, lost_items=1, lost_is_fine=True))
    assert "public number" in str(CheckReport(rows=2, users=2, declared=1))


def test_importing_engines_loads_no_heavy_library():
    heavy = ("duckdb", "pandas", "polars", "pyarrow", "narwhals")
    code = f"import sys, barrow.engines; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_sizes_without_repetition_would_be_caught(tmp_path, monkeypatch):
    """Counting a user's different items instead of records fails the suite, or the counts refuse themselves."""
    monkeypatch.setattr(
        SelectPlan,
        "users",
        lambda self: f"SELECT DISTINCT {self.user} AS u, {self.raw[0]} AS item FROM {self.table}",
    )
    with pytest.raises((AssertionError, DataError)):
        suites.TestParquet().test_counts_are_the_reference_in_any_order(tmp_path, "discrete", "error")


def test_without_secrets():
    assert (
        without_secrets("postgresql://db.example/shop?table=visits&sslmode=verify-full")
        == "postgresql://db.example/shop?sslmode=verify-full"
    )
    assert without_secrets("postgresql:///?service=shop&table=visits") == "postgresql:///?service=shop"


def test_spark_options():
    assert spark_options("spark://local[*]?path=visits.parquet") == ("spark://local[*]", {"path": "visits.parquet"})


def test_spark_master():
    assert spark_master("spark://local[2]") == "local[2]"
    assert spark_master("spark://localhost:7077") == "spark://localhost:7077"
    assert spark_master("sc://localhost") == "sc://localhost"


def test_spark_address():
    assert spark_address("spark://local[2]?path=a+b.parquet&sql=SELECT") == "spark://local[2]?path=a+b.parquet"


def test_reading_call():
    assert reading_call(Source.parse("a.parquet"), ["a.parquet"]) == "read_parquet(['a.parquet'], can_have_nan = true)"
