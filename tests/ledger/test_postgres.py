"""The Postgres store: the shared suite on a real server, and its own: settings, roles, replicas, secrets."""

from __future__ import annotations

import itertools
import multiprocessing
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.ledger.errors import (
    CorruptLedgerError,
    ForeignLedgerError,
    LedgerBusyError,
    LedgerIOError,
    MissingLedgerError,
    NoAuthorityError,
    OverBudgetError,
    TwinLedgerError,
)
from barrow.ledger.ledger import first_row
from barrow.ledger.postgres import PostgresStore
from barrow.ledger.store import Row
from tests.ledger.approval_suite import ApprovalSuite
from tests.ledger.helpers import OUTPUTS, budget, pay
from tests.ledger.store_suite import StoreSuite
from tests.ledger.test_promises import budget as promises
from tests.ledger.test_twins import made_at_once, promised
from tests.postgres_cluster import Cluster, unavailable

pytestmark = pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
_numbers = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def url(server: Cluster) -> str:
    sql(server, "DROP SCHEMA IF EXISTS barrow CASCADE")  # a database holds one ledger of a data set
    return server.url(f"ledger {next(_numbers)}")


def sql(server: Cluster, *statements: str) -> None:
    import psycopg

    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[arg-type]


class TestPostgresApproval(ApprovalSuite):
    @pytest.fixture(autouse=True)
    def _server(self, url: str) -> None:
        self.url = url

    def make(self, tmp_path: Any, rows: list[Row]) -> PostgresStore:
        return PostgresStore.create(self.url, rows)

    def again(self, store: PostgresStore) -> PostgresStore:
        return PostgresStore(self.url)


class TestPostgresStore(StoreSuite):
    @pytest.fixture(autouse=True)
    def _server(self, url: str) -> None:
        self.url = url

    def make(self, tmp_path: Any, rows: list[Row]) -> PostgresStore:
        return PostgresStore.create(self.url, rows)

    def again(self, store: PostgresStore) -> PostgresStore:
        return PostgresStore(self.url)

    def test_rows_cannot_be_changed(self, store: PostgresStore, server: Cluster) -> None:
        import psycopg

        for statement in (
            "UPDATE barrow.records SET body = 'x'",
            "DELETE FROM barrow.records",
            "TRUNCATE barrow.records",
        ):
            with pytest.raises(psycopg.errors.RaiseException, match="never"):
                sql(server, statement)
        with pytest.raises(psycopg.errors.RaiseException, match="gaps"):
            sql(server, f"INSERT INTO barrow.records SELECT ledger, seq + 5, body, hash FROM barrow.records "
                        f"WHERE ledger = '{store._ledger}'")  # fmt: skip
        assert store.rows() == [Row(1, "{}", "h1")]

    def test_a_held_row_makes_others_wait_and_then_give_up(self, store: PostgresStore, server: Cluster) -> None:
        import psycopg

        hasty = PostgresStore(self.url, busy_seconds=0.2)
        with psycopg.connect(server.conninfo) as holder:
            holder.execute("SELECT 1 FROM barrow.ledgers WHERE name = %s FOR UPDATE", [store._ledger])
            with pytest.raises(LedgerBusyError, match="55P03"), hasty.transaction():
                pass
        with hasty.transaction() as t:
            t.append(Row(2, "{}", "h2"))

    def test_the_settings_are_asked_in_each_transaction(self, store: PostgresStore) -> None:
        with store.transaction() as t:
            shown = t._connection.execute("SHOW synchronous_commit").fetchone()
            level = t._connection.execute("SHOW transaction_isolation").fetchone()
        assert (shown, level) == (("on",), ("read committed",))


def test_a_ledger_from_beginning_to_end(server: Cluster, url: str) -> None:
    sql(server, "CREATE DATABASE clean")
    url = url.replace("/postgres?", "/clean?")
    assert Ledger.find(url, "visits") is None
    ledger = Ledger.join(url, promises())
    with pytest.raises(MissingLedgerError, match="already"):
        PostgresStore.create(url, [first_row(promises())])
    with pytest.raises(MissingLedgerError, match="has a ledger already"):
        Ledger.create(url + "2", promises())
    assert Ledger.find(url, "visits") is not None
    assert Ledger.join(url, promises()).head() == ledger.head()
    assert Ledger(url).verify().head.length == 1
    with pytest.raises(MissingLedgerError, match="no ledger"):
        Ledger.open(url + "3")


def test_of_six_creations_at_once_one_succeeds(url: str, server: Cluster) -> None:
    assert made_at_once([server.url(f"many {k}") for k in range(6)]) == 1
    assert len(PostgresStore.names(url)) == 1
    with pytest.raises(MissingLedgerError, match="has a ledger already"):
        Ledger.create(url, promised("Visits"))


def test_a_copy_beside_it_stops_both_until_one_is_gone(url: str, server: Cluster) -> None:
    ledger = Ledger.create(url, budget())
    name = ledger._store._ledger  # type: ignore[attr-defined]
    sql(
        server,
        f"INSERT INTO barrow.ledgers SELECT 'copy', version, server, turn FROM barrow.ledgers WHERE name = '{name}'",
        f"INSERT INTO barrow.records (ledger, seq, body, hash) "
        f"SELECT 'copy', seq, body, hash FROM barrow.records WHERE ledger = '{name}'",
    )
    for one in (ledger, Ledger.open(server.url("copy"))):
        with pytest.raises(TwinLedgerError, match="There are two ledgers"):
            pay(one, "a", 1)
        assert one.left().loss == 10
    sql(server, "ALTER TABLE barrow.records DISABLE TRIGGER USER", "DELETE FROM barrow.records WHERE ledger = 'copy'",
        "DELETE FROM barrow.ledgers WHERE name = 'copy'", "ALTER TABLE barrow.records ENABLE TRIGGER USER")  # fmt: skip
    pay(ledger, "a", 1)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_two_machines_never_overspend(url: str) -> None:
    """Threads share one lock of this process, so the spenders are processes."""
    Ledger.create(url, budget(alpha=5))
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    spenders = [context.Process(target=_spend, args=(url, str(i), results)) for i in range(2)]
    for spender in spenders:
        spender.start()
    paid = [results.get(timeout=900) for _ in spenders]
    for spender in spenders:
        spender.join(60)
    assert sum(paid) == 15
    assert min(paid) > 0
    assert Ledger.open(url).verify().releases == 15
    assert Ledger.open(url).left().loss == 0


def _spend(url: str, name: str, results: Any) -> None:
    ledger, paid = Ledger.open(url), 0
    for number in range(100):
        try:
            ledger.commit(pay(ledger, f"{name}-{number}", "1/3"), OUTPUTS)
        except OverBudgetError:
            break
        paid += 1
    results.put(paid)


def test_roles(server: Cluster, url: str) -> None:
    ledger = Ledger.create(url, budget())
    sql(
        server,
        "DO $$ BEGIN CREATE ROLE spender LOGIN; CREATE ROLE reader LOGIN; EXCEPTION WHEN duplicate_object THEN END $$",
        "GRANT USAGE ON SCHEMA barrow TO spender, reader",
        "GRANT SELECT ON barrow.ledgers, barrow.records TO spender, reader",
        "GRANT INSERT (ledger, seq, body, hash) ON barrow.records TO spender",
        "GRANT UPDATE (turn) ON barrow.ledgers TO spender",
    )
    as_role = {name: url.replace("user=owner", f"user={name}") for name in ("spender", "reader", "nobody")}
    spender = Ledger.open(as_role["spender"])
    spender.commit(pay(spender, "a", 1), OUTPUTS)
    import psycopg

    with psycopg.connect(server.conninfo) as connection:
        who = connection.execute(
            "SELECT role FROM barrow.records WHERE ledger = %s ORDER BY seq", [ledger._store._ledger]
        )  # type: ignore[attr-defined]
        assert who.fetchall() == [("owner",), ("spender",), ("spender",)]
    reader = Ledger.open(as_role["reader"])
    assert reader.verify().releases == 1
    with pytest.raises(NoAuthorityError, match="may not do this"):
        pay(reader, "b", 1)
    with pytest.raises(NoAuthorityError):
        PostgresStore(as_role["spender"]).adopt()
    with pytest.raises(NoAuthorityError):
        Ledger.create(as_role["spender"] + "x", budget())
    with pytest.raises(LedgerBusyError, match="does not let you in"):
        Ledger.open(as_role["nobody"])
    assert ledger.left().loss == 9


def test_a_role_that_may_not_create_is_told_which_right_is_missing(server: Cluster, url: str) -> None:
    role = "DO $$ BEGIN CREATE ROLE maker LOGIN; EXCEPTION WHEN duplicate_object THEN END $$"
    sql(server, role, "REVOKE CREATE ON DATABASE postgres FROM PUBLIC")
    mine = url.replace("user=owner", "user=maker")
    with pytest.raises(NoAuthorityError) as caught:
        Ledger.create(mine, budget())
    assert 'GRANT CREATE ON DATABASE "postgres" TO "maker"' in str(caught.value)
    sql(server, 'GRANT CREATE ON DATABASE "postgres" TO "maker"')
    assert Ledger.create(mine, budget()).budget == budget()


def test_another_server_is_refused_until_its_head_was_compared(server: Cluster, url: str, tmp_path: Path) -> None:
    ledger = Ledger.create(url, budget(), anchor=tmp_path / "a.anchor")
    pay(ledger, "a", 1)
    # A promoted replica has the identity of its primary and the next timeline.
    sql(server, "UPDATE barrow.ledgers SET server = regexp_replace(server, '.$', '0')")
    with pytest.raises(CorruptLedgerError, match="restored or promoted"):
        pay(ledger, "b", 1)
    assert Ledger.open(url).left().loss == 9  # reading is allowed
    ahead = tmp_path / "ahead.anchor"
    line = (tmp_path / "a.anchor").read_text().replace(" 2:", " 9:")
    ahead.write_text(line)
    with pytest.raises(CorruptLedgerError, match="older copy"):
        Ledger.adopt(url, ahead)
    with pytest.raises(CorruptLedgerError, match="restored or promoted"):
        pay(ledger, "b", 1)
    Ledger.adopt(url, tmp_path / "a.anchor")
    pay(ledger, "b", 1)
    Ledger.create(tmp_path / "file.ledger", budget())
    with pytest.raises(ParameterError, match="is a file"):
        Ledger.adopt(str(tmp_path / "file.ledger"), ahead)


def test_a_promoted_replica(server: Cluster, url: str) -> None:
    """A real one: base backup, standby, promotion."""
    ledger = Ledger.create(url, budget())
    pay(ledger, "a", 1)
    replica = Cluster(make=False)
    try:
        replica.copy_of(server)
        replica.start()
        there = url.replace(str(server.sockets), str(replica.sockets))
        with pytest.raises(LedgerIOError, match="does not store records durably"):
            Ledger.open(there)
        replica.promote()
        promoted = Ledger.open(there)
        assert promoted.left().loss == 9
        with pytest.raises(CorruptLedgerError, match="restored or promoted"):
            pay(promoted, "b", 1)
    finally:
        replica.stop()
    pay(ledger, "b", 1)


@pytest.mark.parametrize("setting", ["fsync = off", "full_page_writes = off"])
def test_servers_that_forget_are_refused(server: Cluster, url: str, setting: str) -> None:
    Ledger.create(url, budget())
    name = setting.split()[0]
    sql(server, f"ALTER SYSTEM SET {setting}", "SELECT pg_reload_conf()")
    try:
        while shown(server, name) == "on":  # the server takes the setting on in its own time
            time.sleep(0.01)
        with pytest.raises(LedgerIOError, match="does not store records durably"):
            Ledger.open(url)
    finally:
        sql(server, f"ALTER SYSTEM RESET {name}", "SELECT pg_reload_conf()")
        while shown(server, name) != "on":
            time.sleep(0.01)


def shown(server: Cluster, name: str) -> str:
    import psycopg

    with psycopg.connect(server.conninfo) as connection:
        result = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    return "" if result is None else str(result[0])


def test_an_unlogged_table_is_refused(server: Cluster) -> None:
    import psycopg

    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute("CREATE DATABASE careless")
    there = server.url("x").replace("/postgres?", "/careless?")
    ledger = Ledger.create(there, budget())
    with psycopg.connect(server.conninfo.replace("dbname=postgres", "dbname=careless"), autocommit=True) as connection:
        connection.execute("ALTER TABLE barrow.records SET UNLOGGED")
    with pytest.raises(LedgerIOError, match="does not store records durably"):
        pay(ledger, "a", 1)


def test_a_server_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(LedgerBusyError, match="cannot be reached"):
        Ledger.open(f"postgresql:///postgres?host={tmp_path}&ledger=a&connect_timeout=2")


def test_a_newer_schema(server: Cluster, url: str) -> None:
    store = PostgresStore.create(url, [Row(1, "{}", "h")])
    sql(server, f"UPDATE barrow.ledgers SET version = 2 WHERE name = '{store._ledger}'")
    with pytest.raises(ForeignLedgerError, match="upgrade barrow"):
        PostgresStore(url)


@pytest.mark.parametrize(
    "bad",
    [
        "postgresql://ana:hunter2@db/stats?ledger=a",
        "postgresql://db/stats?ledger=a&password=hunter2",
        "postgresql://db/stats",
        "postgresql://db/stats?ledger=",
        "postgresql://db/stats?ledger=a&ledger=b",
        "postgresql://db:port/stats?ledger=a",
        "postgresql://[db/stats?ledger=a",
    ],
)
def test_bad_addresses_are_refused_and_secrets_not_repeated(bad: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Ledger.open(bad)
    assert "hunter2" not in str(caught.value)


def test_the_servers_words_never_reach_an_error(server: Cluster, url: str) -> None:
    store = PostgresStore.create(url, [Row(1, "{}", "h")])
    with pytest.raises(LedgerIOError) as caught, store.transaction() as t:
        t._connection.execute("SELECT 'canary-4711'::int")
    error: BaseException | None = caught.value
    assert "canary" not in str(error)
    assert caught.value.__suppress_context__
    assert "22P02" in str(error)


def test_a_lost_connection_is_fatal_and_nothing_is_half_written(server: Cluster, url: str) -> None:
    ledger = Ledger.create(url, budget())
    store = ledger._store

    def cut() -> None:
        with store.transaction() as t:
            t.append(Row(2, "{}", "h2"))
            pid = t._connection.info.backend_pid  # type: ignore[attr-defined]
            sql(server, f"SELECT pg_terminate_backend({pid})")

    with pytest.raises(LedgerIOError, match="COMMIT failed"):
        cut()
    assert Ledger.open(url).head().length == 1


def test_an_interrupt_inside_a_transaction_leaves_the_row_free(url: str) -> None:
    store = PostgresStore.create(url, [Row(1, "{}", "h")])

    def interrupted() -> None:
        with store.transaction() as t:
            t.append(Row(2, "{}", "h2"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    done = threading.Event()

    def other() -> None:
        with PostgresStore(url, busy_seconds=5).transaction() as t:
            assert len(t.rows()) == 1
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join(20)
    assert done.is_set()


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = builtins.__import__

    def refuse(name: str, *rest: Any, **options: Any) -> Any:
        if name.startswith("psycopg"):
            raise ImportError
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match="pip install 'barrow\\[postgres\\]'"):
        Ledger.open("postgresql://db/stats?ledger=a")
