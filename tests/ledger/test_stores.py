"""The stores against the shared suite, and what is special to SQLite: kinds of files, schemas, settings."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from barrow.ledger import Ledger
from barrow.ledger import sqlite as module
from barrow.ledger.errors import (
    CorruptLedgerError,
    ForeignLedgerError,
    LedgerBusyError,
    LedgerIOError,
    MissingLedgerError,
)
from barrow.ledger.sqlite import SCHEMA_VERSION, SqliteStore, raise_translated
from barrow.ledger.store import Row
from tests.ledger.helpers import MemoryStore, budget, pay
from tests.ledger.store_suite import StoreSuite


class TestMemoryStore(StoreSuite):
    def make(self, tmp_path: Any, rows: list[Row]) -> MemoryStore:
        return MemoryStore(rows)

    def again(self, store: MemoryStore) -> MemoryStore:
        return store


class TestSqliteStore(StoreSuite):
    def make(self, tmp_path: Path, rows: list[Row]) -> SqliteStore:
        return SqliteStore.create(tmp_path / "a.ledger", rows)

    def again(self, store: SqliteStore) -> SqliteStore:
        return SqliteStore(store.path)

    def test_settings_are_durable(self, store: SqliteStore) -> None:
        with store._connection() as connection:
            assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)

    def test_one_file_at_rest(self, store: SqliteStore) -> None:
        with store.transaction() as t:
            t.append(Row(2, "{}", "h2"))
        assert os.listdir(store.path.parent) == ["a.ledger"]

    def test_rows_cannot_be_changed_by_accident(self, store: SqliteStore) -> None:
        connection = sqlite3.connect(store.path)
        for statement in ("UPDATE records SET body = 'x'", "DELETE FROM records"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                connection.execute(statement)
        connection.close()
        assert store.rows() == [Row(1, "{}", "h1")]

    def test_busy(self, store: SqliteStore) -> None:
        patient = SqliteStore(store.path, busy_seconds=0.05)
        holder = sqlite3.connect(store.path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusyError, match="Another process"), patient.transaction():
            pass
        holder.execute("ROLLBACK")
        with patient.transaction() as t:
            t.append(Row(2, "{}", "h2"))
        holder.close()

    def test_busy_at_commit_spends_nothing(self, store: SqliteStore) -> None:
        patient = SqliteStore(store.path, busy_seconds=0.05)
        reader = sqlite3.connect(store.path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM records").fetchall()
        with pytest.raises(LedgerBusyError), patient.transaction() as t:
            t.append(Row(2, "{}", "h2"))
        reader.execute("ROLLBACK")
        reader.close()
        assert len(patient.rows()) == 1

    def test_wal_is_turned_back(self, store: SqliteStore) -> None:
        connection = sqlite3.connect(store.path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.close()
        with store.transaction() as t:
            t.append(Row(2, "{}", "h2"))
        assert os.listdir(store.path.parent) == ["a.ledger"]
        assert len(store.rows()) == 2

    def test_missing_row_is_seen(self, store: SqliteStore) -> None:
        with store.transaction() as t:
            t.append(Row(2, "{}", "h2"))
            t.append(Row(3, "{}", "h3"))
        connection = sqlite3.connect(store.path)
        connection.execute("DROP TRIGGER records_are_not_removed")
        connection.execute("DELETE FROM records WHERE seq = 2")
        connection.commit()
        connection.close()
        with pytest.raises(CorruptLedgerError, match="Record 3"):
            store.rows()

    @pytest.mark.parametrize("value", [None, 3, b"{}", "CAST(x'ff' AS TEXT)"])
    def test_a_body_that_is_not_text(self, store: SqliteStore, value: object) -> None:
        connection = sqlite3.connect(store.path)
        connection.execute("PRAGMA ignore_check_constraints=ON")
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'TEXT NOT NULL', 'BLOB')")
        connection.commit()
        connection.close()
        connection = sqlite3.connect(store.path)
        sql = value if isinstance(value, str) else "?"
        connection.execute(f"INSERT INTO records VALUES (2, {sql}, 'h')", () if sql == value else (value,))
        connection.commit()
        connection.close()
        with pytest.raises(CorruptLedgerError):
            store.rows()


def made(tmp_path: Path) -> Path:
    path = tmp_path / "a.ledger"
    pay(Ledger.create(path, budget()), "a", 1)
    return path


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingLedgerError, match="There is no ledger"):
        Ledger.open(tmp_path / "none.ledger")
    with pytest.raises(MissingLedgerError):
        Ledger.open(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "content", [b"", b"hello, this is not a database at all" * 50, b"SQLite format 3\0" + b"x" * 99]
)
def test_foreign_files_are_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.ledger"
    path.write_bytes(content)
    with pytest.raises(ForeignLedgerError, match="not a ledger"):
        Ledger.open(path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["a.ledger"]


def test_another_programs_database(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE records (seq, body, hash)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ForeignLedgerError, match="not a ledger"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_newer_schema(tmp_path: Path) -> None:
    path = made(tmp_path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ForeignLedgerError, match="upgrade barrow"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_a_damaged_database(tmp_path: Path) -> None:
    path = made(tmp_path)
    data = bytearray(path.read_bytes())
    data[4096:8192] = bytes(4096)
    path.write_bytes(bytes(data))
    with pytest.raises(CorruptLedgerError):
        Ledger.open(path)


def test_an_existing_file_is_never_replaced(tmp_path: Path) -> None:
    path = made(tmp_path)
    before = path.read_bytes()
    with pytest.raises(MissingLedgerError, match="already a file"):
        Ledger.create(path, budget())
    assert path.read_bytes() == before
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(MissingLedgerError, match="already a file"):
        Ledger.create(tmp_path / "dangling", budget())
    assert sorted(os.listdir(tmp_path)) == ["a.ledger", "dangling"]


def test_two_creators_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is taken between the first look and the end: the other's ledger stays."""
    path, real = tmp_path / "a.ledger", os.link

    def late(source: Any, target: Any) -> None:
        Path(target).write_text("theirs")
        real(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(MissingLedgerError, match="already a file"):
        Ledger.create(path, budget())
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["a.ledger"]


def test_the_folder_is_fsynced_after_the_name_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, link, fsync = [], os.link, os.fsync

    def linked(source: Any, target: Any) -> None:
        link(source, target)
        calls.append("link")

    def synced(handle: int) -> None:
        fsync(handle)
        calls.append("folder" if os.path.sameopenfile(handle, folder) else "other")

    folder = os.open(tmp_path, os.O_RDONLY)
    monkeypatch.setattr(os, "link", linked)
    monkeypatch.setattr(os, "fsync", synced)
    ledger = Ledger.create(tmp_path / "a.ledger", budget())
    assert calls == ["link", "folder"]
    pay(ledger, "a", 1)
    assert calls == ["link", "folder", "folder"]
    os.close(folder)


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(source: Any, target: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert Ledger.create(tmp_path / "a.ledger", budget()).head().length == 1
    assert os.listdir(tmp_path) == ["a.ledger"]


def test_a_folder_that_is_not_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "a.ledger", tmp_path / "none" / "a.ledger"):
        with pytest.raises(MissingLedgerError, match="No ledger can be made"):
            Ledger.create(path, budget())
    assert os.listdir(tmp_path) == ["file"]


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system refuses it; root is not refused, so the refusal is played here and tried for real below."""

    def refuse(path: Any, flags: int, mode: int = 0o777) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(module.os, "open", refuse)
    with pytest.raises(MissingLedgerError, match="Permission denied"):
        Ledger.create(tmp_path / "a.ledger", budget())
    monkeypatch.undo()
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_for_real(tmp_path: Path) -> None:
    path = made(tmp_path)
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(MissingLedgerError):
            Ledger.create(tmp_path / "b.ledger", budget())
        ledger = Ledger.open(path)
        assert ledger.verify().releases == 1
        with pytest.raises(LedgerIOError, match="cannot be written"):
            pay(ledger, "b", 1)
    finally:
        tmp_path.chmod(0o755)


def test_a_read_only_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for root: SQLite itself is told that the file is read-only. Reading works, spending is refused."""
    path, real = made(tmp_path), sqlite3.connect

    def read_only(name: str, **options: Any) -> sqlite3.Connection:
        return real(name.replace("mode=rw", "mode=ro"), **options)

    monkeypatch.setattr(module.sqlite3, "connect", read_only)
    ledger = Ledger.open(path)
    assert ledger.verify().releases == 1
    with pytest.raises(LedgerIOError, match="cannot be written"):
        pay(ledger, "b", 1)
    monkeypatch.undo()
    assert Ledger.open(path).verify().releases == 1


def test_a_schema_that_leads_nowhere(tmp_path: Path) -> None:
    path = made(tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=0")
    connection.commit()
    connection.close()
    with pytest.raises(ForeignLedgerError, match="cannot be upgraded"):
        SqliteStore(path)


def test_an_unknown_failure_counts_as_a_failed_disk():
    with pytest.raises(LedgerIOError, match=r"^Writing the ledger 'a\.ledger' failed: disk I/O error\."):
        raise_translated(sqlite3.OperationalError("disk I/O error"), "a.ledger")
