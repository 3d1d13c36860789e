"""Postgres: the one suite on a real server, and what it must not do."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from urllib.parse import quote

import pytest
from tests.engines import cell_rows
from tests.postgres_cluster import Cluster, unavailable

from barrow.engines import Breakdown, Columns, ItemSums, MemoryEngine, Source, engine_for
from barrow.engines.conformance import conformance
from barrow.engines.counted import CountedEngine, counted_source
from barrow.engines.sql.foreign import self_test, written
from barrow.engines.sql.postgres import PostgresEngine, PostgresReader
from barrow.errors import BarrowError, DataError, ParameterError
from barrow.spaces import Discrete, Line
from barrow.testing.cases import pytest_generate_tests
from barrow.testing.engines import PAIRS, SECRET, EngineSuite, as_list

__all__ = ["pytest_generate_tests"]
pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
AB, UID = Discrete(["a", "b"]), Columns("uid", "item")
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server():
    cluster = Cluster("fsync = off\n")
    cluster.start()
    try:
        run(
            cluster,
            "CREATE ROLE reader LOGIN",
            "CREATE ROLE other LOGIN",
            "CREATE EXTENSION citext",
            "CREATE SCHEMA s; GRANT USAGE ON SCHEMA s TO reader",
        )
        yield cluster
    finally:
        cluster.stop()


def run(server, *statements):
    import psycopg

    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def address(server, tail, user="reader"):
    return f"postgresql://{user}@/postgres?host={quote(str(server.sockets))}&{tail}"


def fill(server, types, rows, grant=True):
    """A fresh table with these columns and rows; its name."""
    import psycopg

    name = f"t{next(NUMBERS)}"
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'{k} {v}' for k, v in types.items())})")
        with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        if grant:
            connection.execute(f"GRANT SELECT ON {name} TO reader")
    return name


def silent(error):
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__ or error.__context__


class TestPostgresTable(EngineSuite):
    pairs = PAIRS
    numbered = False

    @pytest.fixture(autouse=True)
    def _server(self, server):
        self.server = server

    def make(self, tmp_path, names, rows, numbers):
        types = {"uid": "text"} | {n: "float8" if x else "text" for n, x in zip(names[1:], numbers, strict=True)}
        return PostgresEngine(), address(self.server, f"table={fill(self.server, types, rows)}")


del EngineSuite


def test_items_are_those_of_the_spaces_bit_for_bit(server):
    name = fill(server, {"uid": "int"}, [(1,)])
    report = conformance(address(server, f"table={name}"))
    assert report.passed, str(report)
    assert report.cases > 35


def test_the_select_for_others_gives_what_it_must(server):
    psycopg, (statement, expected) = pytest.importorskip("psycopg"), self_test("postgres")
    with psycopg.connect(server.conninfo) as connection:
        rows = connection.execute(statement.text.encode()).fetchall()
    assert sorted(tuple(int(x) for x in row[:6]) for row in rows) == sorted(expected)


@pytest.mark.parametrize("kind", ["timestamp", "date", "timestamptz"])
def test_the_select_for_others_counts_by_group_and_month(server, kind, tmp_path):
    pytest.importorskip("sqlglot", reason="sqlglot is not installed (pip install 'barrow[sql]')")
    psycopg, space, columns = pytest.importorskip("psycopg"), cell_rows.SPACE, cell_rows.COLUMNS
    labels = cell_rows.LABELS_OF_CELLS
    cells = Breakdown([(x, month) for x in (*labels, None) for month in cell_rows.MONTHS], labels, cell_rows.ZONE)
    records = cell_rows.rows(60, zoned=kind == "timestamptz")
    types = {"uid": "text", "item": "text", "region": "text", "at": kind}
    name = fill(server, types, records)
    statement = written(space, columns, dialect="postgres", table=name, breakdown=cells)
    with psycopg.connect(server.conninfo) as connection:
        rows = connection.execute(statement.text.encode()).fetchall()
    lines = [",".join(map(str, row)) for row in [statement.columns, *rows]]
    (tmp_path / "counts.csv").write_text("\n".join(lines) + "\n")
    source = counted_source(tmp_path / "counts.csv")
    if kind == "timestamptz":  # nobody says in which zone its days begin
        with pytest.raises(DataError, match="have no time"):
            CountedEngine().sum_cells(source, columns, space, cells)
        return
    wanted = PostgresEngine().sum_cells(address(server, f"table={name}"), columns, space, cells)
    assert CountedEngine().sum_cells(source, columns, space, cells) == wanted


class Joined(PostgresEngine):
    shape = "join"


@pytest.mark.parametrize("kind", ["timestamptz", "timestamp", "date"])
def test_cells_are_those_of_one_loop_each(server, kind):
    records = cell_rows.rows(zoned=kind == "timestamptz")
    if kind == "date":
        records = [(*row[:3], row[3].date()) for row in records]
    types = {"uid": "text", "item": "text", "region": "text", "at": kind}
    for engine in (PostgresEngine(), Joined()):
        source = address(server, f"table={fill(server, types, records)}")
        result = engine.count_cells(source, cell_rows.COLUMNS, cell_rows.SPACE, cell_rows.CELLS)
        assert cell_rows.as_lists(result) == cell_rows.expected(records)
        sums = engine.sum_cells(source, cell_rows.COLUMNS, cell_rows.SPACE, cell_rows.CELLS)
        assert sums == {cell: ItemSums.of(counts) for cell, counts in result.items()}
        for text, wrong in cell_rows.refusals().items() if kind == "timestamp" else ():
            source = address(server, f"table={fill(server, types, wrong)}")
            with pytest.raises(DataError) as caught:
                engine.count_cells(source, cell_rows.COLUMNS, cell_rows.SPACE, cell_rows.CELLS)
            assert caught.value.problem == text


KINDS = {
    "bigint": ["1", "3", str(2**53 + 1), str(2**63 - 1), str(-(2**63))],
    "numeric": ["0.1", "1e-400", "1e400", "-1e400", "NaN", "9007199254740993", "0.30000000000000004", "Infinity"],
    "real": ["0.1", "-0", "NaN", "Infinity", "3.4e38", "1e-45"],
    "varchar(20)": ["0.5", " 1 ", "0x10", "1_0", "-inf", "nan", "", "1e00001"],
}


def outcome(engine, source, space, mode):
    """The counts, or the words of the refusal."""
    try:
        return as_list(engine.count(source, Columns("uid", "x"), space, unknown=mode))
    except DataError as error:
        return str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_of_number(server, kind):
    import decimal

    import numpy as np

    space = Line(-1, 2.0**54, points=[0.1, 0.3, 0.5, 1, 3, 2.0**53, 2.0**53 + 2], default=3)
    name = fill(server, {"uid": "int", "x": kind}, [(i, x) for i, x in enumerate(KINDS[kind])])
    read = {"bigint": int, "numeric": decimal.Decimal, "real": lambda x: float(np.float32(x)), "varchar(20)": str}
    table = {"uid": list(range(len(KINDS[kind]))), "x": [read[kind](x) for x in KINDS[kind]]}
    for mode in ("default", "nearest"):
        answers = [
            outcome(engine, source, space, mode)
            for engine, source in ((MemoryEngine(), table), (PostgresEngine(), address(server, f"table={name}")))
        ]
        assert answers[0] == answers[1]


def test_users_of_any_type(server):
    for kind, users, result in (
        ("uuid", ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"], 1),
        ("bigint", [str(2**62), str(2**62), "7"], 2),
        ("float8", ["0", "-0", "1.5"], 2),
        ("citext", ["a", "A", "a "], 3),
        ("numeric", ["1", "1.0", "2"], 2),
        ("timestamptz", ["2026-01-01 00:00Z", "2026-01-01 01:00+01"], 1),
        ("boolean", ["t", "f", "t"], 2),
    ):
        name = fill(server, {"uid": kind, "item": "text"}, [(x, "a") for x in users])
        assert PostgresEngine().count(address(server, f"table={name}"), UID, AB).users == result, kind
    name = fill(server, {"uid": "float8", "item": "text"}, [("nan", "a")])
    with pytest.raises(DataError, match="no user"):
        PostgresEngine().count(address(server, f"table={name}"), UID, AB)


def test_labels_are_compared_letter_by_letter(server):
    name = fill(server, {"uid": "int", "item": "citext"}, [(1, "a"), (1, "A"), (2, "b")])
    with pytest.raises(DataError, match="not items"):
        PostgresEngine().count(address(server, f"table={name}"), UID, AB)


def test_queries_are_judged_and_written_afresh(server):
    name = fill(server, {"uid": "text", "item": "text", "year": "int"}, [("x", "a", 1), ("x", "b", 2), ("y", "a", 2)])
    run(server, f"CREATE VIEW v{name} AS SELECT * FROM {name}", f"GRANT SELECT ON v{name} TO reader")
    engine = PostgresEngine()
    source = Source.parse(address(server, ""), sql=f"SELECT uid, item FROM {name} WHERE year = 2")
    assert as_list(engine.count(source, UID, AB)) == [(0, 1, 1), (1, 1, 1)]
    for sql in (
        f"SELECT uid, max(item) AS item FROM {name} GROUP BY uid",
        f"SELECT lower(uid) AS uid, item FROM {name}",
    ):
        with pytest.raises(ParameterError, match="may mix people"):
            engine.count(Source.parse(address(server, ""), sql=sql), UID, AB)
        known = Source.parse(address(server, ""), sql=sql, acknowledge_sql=True)
        assert engine.count(known, UID, AB).users == 2
    with pytest.raises(ParameterError, match="is a view"):
        engine.count(address(server, f"table=v{name}"), UID, AB)
    known = Source.parse(address(server, f"table=v{name}"), acknowledge_sql=True)
    assert engine.count(known, UID, AB).users == 2


def test_nothing_leaves_the_read_only_transaction(server):
    """By the simple protocol the second statement would commit, and the third would write."""
    import psycopg

    name = fill(server, {"uid": "text", "item": "text"}, [("x", "a")])
    run(server, f"GRANT ALL ON {name} TO reader", "GRANT ALL ON SCHEMA public TO reader")
    more = "COMMIT; CREATE TABLE escaped (a int)"
    escape = f"SELECT * FROM {name}) AS x; {more}; SELECT * FROM (SELECT 'x' AS uid, 'a' AS item"
    for sql in (escape, f"SELECT * FROM {name}; {more}"):
        source = Source.parse(address(server, ""), sql=sql, acknowledge_sql=True)
        for act in (PostgresEngine().count, PostgresEngine().check, lambda *a: PostgresEngine().sample(*a, samples=2)):
            with contextlib.suppress(BarrowError):
                act(source, UID, AB)
    writes = f"WITH gone AS (DELETE FROM {name} RETURNING *) SELECT * FROM gone"
    with pytest.raises(DataError, match="cannot be read"):
        PostgresEngine().count(Source.parse(address(server, ""), sql=writes, acknowledge_sql=True), UID, AB)
    with psycopg.connect(server.conninfo) as connection:
        assert connection.execute("SELECT to_regclass('public.escaped')").fetchone() == (None,)
        assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (1,)
        # The control: by the simple protocol it does escape.
        connection.rollback()
        connection.read_only = True
        connection.execute(f"SELECT 1; COMMIT; CREATE TABLE escaped{name} (a int)")
        assert connection.execute(f"SELECT to_regclass('public.escaped{name}')::text").fetchone() == (f"escaped{name}",)


def test_mighty_roles_are_refused(server):
    name = fill(server, {"uid": "text", "item": "text"}, [("x", "a")])
    run(
        server,
        "CREATE ROLE runner LOGIN",
        "GRANT pg_execute_server_program TO runner",
        f"GRANT SELECT ON {name} TO runner",
    )
    for user in ("owner", "runner"):
        with pytest.raises(ParameterError, match="superuser"):
            PostgresEngine().count(address(server, f"table={name}", user), UID, AB)


def test_bad_input(server):
    name = fill(server, {"uid": "text", "item": "text", "more": "jsonb"}, [("x", "a", "{}")])
    engine = PostgresEngine()
    with pytest.raises(ParameterError, match=f"Did you mean '{name}'"):
        engine.count(address(server, f"table={name}x"), UID, AB)
    with pytest.raises(ParameterError, match="Did you mean 'uid'"):
        engine.count(address(server, f"table={name}"), Columns("uidd", "item"), AB)
    with pytest.raises(ParameterError, match="of the kind nested"):
        engine.count(address(server, f"table={name}"), Columns("uid", "more"), AB)
    with pytest.raises(ParameterError, match="may not read"):
        engine.count(address(server, f"table={name}", "other"), UID, AB)
    with pytest.raises(ParameterError, match="cannot be reached"):
        engine.count(address(server, f"table={name}", "nobody"), UID, AB)
    with pytest.raises(ParameterError, match="cannot be reached"):
        engine.count("postgresql://localhost:1/x?table=t&connect_timeout=2", UID, AB)
    with pytest.raises(ParameterError, match="statement_timeout"):
        PostgresEngine(timeout="soon").count(address(server, f"table={name}"), UID, AB)
    with pytest.raises(ParameterError, match="kind 'csv'"):
        engine.columns("x.csv")
    with pytest.raises(ParameterError, match="neither"):
        Source.parse("postgresql://localhost/x")
    assert engine.columns(address(server, f"table={name}")) == {"uid": "text", "item": "text", "more": "nested"}
    run(server, f"CREATE TABLE s.{name} (uid text, item text)", f"GRANT SELECT ON s.{name} TO reader")
    with pytest.raises(DataError, match="no records"):
        engine.count(address(server, f"table=s.{name}"), UID, AB)


def test_what_the_role_may_not_see_is_named(server):
    """Neither a schema that is closed, nor a policy, nor another's lock ends in an unreadable source."""
    import psycopg

    engine, name = PostgresEngine(), fill(server, {"uid": "int", "item": "text", "place": "point"}, [(1, "a", "(1,2)")])
    run(
        server,
        "CREATE SCHEMA shut",
        f"CREATE TABLE shut.{name} AS TABLE {name}",
        f"GRANT SELECT ON shut.{name} TO reader",
    )
    with pytest.raises(ParameterError, match="GRANT USAGE ON SCHEMA shut"):
        engine.count(address(server, f"table=shut.{name}"), UID, AB)
    with pytest.raises(ParameterError, match="of the kind nested"):  # points are not compared, so they are no users
        engine.count(address(server, f"table={name}"), Columns("place", "item"), AB)
    with psycopg.connect(server.conninfo) as other:
        other.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(DataError, match="in time"):
            PostgresEngine(lock_timeout="100ms").count(address(server, f"table={name}"), UID, AB)
    assert engine.count(address(server, f"table={name}"), UID, AB).users == 1
    run(server, f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY", f"CREATE POLICY few ON {name} USING (uid > 1)")
    with pytest.raises(ParameterError, match="row level security"):
        engine.count(address(server, f"table={name}"), UID, AB)


def test_a_release_pays_only_for_records_that_were_read(server, tmp_path, monkeypatch):
    """The server is gone in the middle: nothing is paid and no folder is left; then the same study is released."""
    import psycopg

    from barrow.ledger import Ledger
    from barrow.study import Study, read

    name = fill(server, {"uid": "int", "age": "int"}, [(i % 20, i % 90) for i in range(100)])
    people = read(address(server, f"table={name}"), user="uid", item="age")
    study = Study(
        Line(0, 100, unit="years", step=1), ["all, 5 years, 0.5"], users=20, dataset="ages", questions=["mean"],
        data=people, ledger=str(tmp_path / "ages.ledger"),
    )  # fmt: skip
    ledger = Ledger.create(str(study.ledger), study)
    real = PostgresReader.pieces

    def cut(self, sql, size):
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'barrow'"
            )
        yield from real(self, sql, size)

    with monkeypatch.context() as patch:
        patch.setattr(PostgresReader, "pieces", cut)
        with pytest.raises(DataError, match="connection to the server was lost"):
            study.release("mean", out=tmp_path / "out")
    assert not ledger.overview().lines
    assert not (tmp_path / "out").exists()
    assert not active(server)
    study.release("mean", out=tmp_path / "out")
    assert len(ledger.overview().lines) == 1
    assert (tmp_path / "out").exists()


def test_partitioned_tables_are_tables(server):
    run(
        server,
        "CREATE TABLE parts (uid text, item text, year int) PARTITION BY LIST (year)",
        "CREATE TABLE parts1 PARTITION OF parts FOR VALUES IN (1)",
        "CREATE TABLE parts2 PARTITION OF parts FOR VALUES IN (2)",
        "INSERT INTO parts VALUES ('x', 'a', 1), ('x', 'b', 2), ('y', 'a', 2); GRANT SELECT ON parts TO reader",
    )
    assert as_list(PostgresEngine().count(address(server, "table=parts"), UID, AB)) == [(0, 1, 1), (0, 2, 1), (1, 2, 1)]


def test_errors_repeat_no_value_and_no_secret(server, monkeypatch):
    name = fill(server, {"uid": "text", "item": "text"}, [("x", SECRET)])
    sql = f"SELECT uid, CAST(item AS DOUBLE) AS item FROM {name}"
    source = Source.parse(address(server, ""), sql=sql)
    with pytest.raises(DataError, match="cannot be read") as caught:
        PostgresEngine().count(source, UID, Line(0, 1, step=1, cells=True))
    silent(caught.value)
    assert SECRET in PostgresEngine().check(source, UID, Line(0, 1, step=1, cells=True)).problem
    for head, tail in (
        (f"u:{SECRET}@h", ""),
        ("h", f"&password={SECRET}"),
        (f"u:{SECRET}@[h", ""),
        ("h", f"&pw={SECRET}"),
    ):
        text = f"postgresql://{head}/d?table=t{tail}"
        with pytest.raises(ParameterError) as refused:
            Source.parse(text)
        silent(refused.value)
    for text in (f"mysql://u:{SECRET}@h/d?table=t", f"snowflake://h/d?password={SECRET}"):
        with pytest.raises(ParameterError, match="cannot be read") as refused:
            Source.parse(text)
        silent(refused.value)
    monkeypatch.setenv("PGPASSWORD", SECRET)
    plain = Source.parse(address(server, f"table={name}&sslmode=prefer"))
    assert SECRET not in repr(plain) + plain.text + str(plain.parameters)
    assert "sslmode=prefer" in plain.path
    assert PostgresEngine().count(plain, UID, Discrete([SECRET])).users == 1


def test_what_is_computed_is_no_better_than_a_view(server):
    import psycopg

    name = fill(server, {"uid": "int", "item": "text"}, [(1, "a")])
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE g{name} (uid int, kept text, item text GENERATED ALWAYS AS (kept) STORED)")
        connection.execute(f"INSERT INTO g{name} VALUES (1, 'a')")
        connection.execute("CREATE FOREIGN DATA WRAPPER far; CREATE SERVER there FOREIGN DATA WRAPPER far")
        connection.execute(f"CREATE TABLE p{name} (uid int, item text) PARTITION BY LIST (uid)")
        connection.execute(f"CREATE FOREIGN TABLE f{name} PARTITION OF p{name} FOR VALUES IN (1) SERVER there")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC")
    for table, why in ((f"g{name}", "generated columns"), (f"p{name}", "foreign"), (f"f{name}", "foreign")):
        with pytest.raises(ParameterError, match=why):
            PostgresEngine().count(Source.parse(address(server, f"table={table}")), UID, AB)
    known = Source.parse(address(server, f"table=g{name}"), acknowledge_sql=True)
    assert PostgresEngine().count(known, UID, AB).users == 1


def test_a_statement_that_takes_too_long_is_stopped(server):
    name = fill(server, {"uid": "int", "item": "text"}, [(i, "a") for i in range(300)])
    slow = f"SELECT a.uid, a.item FROM {name} a, {name} b, {name} c, {name} d"
    source = Source.parse(address(server, ""), sql=slow, acknowledge_sql=True)
    with pytest.raises(DataError, match="in time"):
        PostgresEngine(timeout="200ms").count(source, UID, AB)


def active(server):
    import psycopg

    with psycopg.connect(server.conninfo) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'barrow'"
        return connection.execute(query).fetchone()[0]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_ended_client_ends_its_statement(server, how):
    name = fill(server, {"uid": "int", "item": "text"}, [(i, "a") for i in range(300)])
    sql = f"SELECT a.uid, a.item FROM {name} a, {name} b, {name} c, {name} d"
    code = (
        "import sys; from barrow.engines import Columns, Source, engine_for; from barrow.spaces import Discrete\n"
        f"source = Source.parse({address(server, '')!r}, sql={sql!r}, acknowledge_sql=True)\n"
        "engine_for(source).count(source, Columns('uid', 'item'), Discrete(['a', 'b']))"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while not active(server):
        assert child.poll() is None
        time.sleep(0.05)
    os.kill(child.pid, how)
    assert child.wait() != 0
    while active(server):  # a killed client is missed every 5 seconds; if it never were, this would not end
        time.sleep(0.05)


def test_a_server_that_goes_away_is_told(server):
    import psycopg

    name = fill(server, {"uid": "int", "item": "text"}, [(i, "a") for i in range(300)])
    sql = f"SELECT a.uid, a.item FROM {name} a, {name} b, {name} c, {name} d"
    source = Source.parse(address(server, ""), sql=sql, acknowledge_sql=True)

    def cut():
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            while True:
                time.sleep(0.05)
                query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'barrow' "
                query += "AND state = 'active'"
                if connection.execute(query).fetchall():
                    return

    thread = threading.Thread(target=cut)
    thread.start()
    with pytest.raises(DataError, match="connection to the server was lost"):
        PostgresEngine().count(source, UID, AB)
    thread.join()


def test_sums_sort_and_keep_people_and_never_all_records(server, monkeypatch):
    """Of a part of WITH the planner knows no numbers; it sorted or hashed the records, which took twice the time."""
    name = fill(server, {"uid": "int", "item": "text"}, [(i % 200, "ab"[i % 2]) for i in range(20_000)])
    run(server, f"ANALYZE {name}")
    plans, pieces = [], PostgresReader.pieces

    def explained(self, sql, size):
        text, arrays = self._with_tables(sql)
        plans.extend(self.connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}", arrays).fetchone()[0])
        return pieces(self, sql, size)

    def steps(node):
        return [node, *(step for part in node.get("Plans", ()) for step in steps(part))]

    monkeypatch.setattr(PostgresReader, "pieces", explained)
    assert PostgresEngine().sums(address(server, f"table={name}"), UID, AB).users == 200
    held = [x["Actual Rows"] for x in steps(plans[0]["Plan"]) if x["Node Type"] in ("Hash", "Sort", "Materialize")]
    assert held
    assert max(held) <= 200


def test_one_snapshot(server, monkeypatch):
    """Records that others add while they are read do not appear in some statements and not in others."""
    name = fill(server, {"uid": "text", "item": "text"}, [("x", "a")])
    engine = PostgresEngine()
    with engine._open(Source.parse(address(server, f"table={name}")), UID) as reader:
        before = reader.rows(f"SELECT count(*) FROM {name if '.' in name else 'public.' + name}", [])
        run(server, f"INSERT INTO {name} VALUES ('y', 'b')")
        assert reader.rows(f"SELECT count(*) FROM public.{name}", []) == before == [(1,)]


def test_weights_and_samples(server):
    name = fill(server, {"uid": "text", "item": "text", "n": "int"}, [("x", "a", 3), ("x", "b", 0), ("y", "b", 2)])
    source, columns = address(server, f"table={name}"), Columns("uid", "item", weight="n")
    assert as_list(engine_for(source).count(source, columns, AB)) == [(0, 3, 3), (1, 2, 2)]
    sample = engine_for(source).sample(source, columns, AB, samples=5)
    assert (sample.items.tolist(), sample.counts.tolist(), sample.private) == ([0, 1], [5, 5], True)
