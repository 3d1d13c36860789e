"""A ledger in a Postgres database, for several machines; the extra ``postgres``.

Why it is done so (``scripts/faults ledger --store postgres`` shows that weaker settings lose paid records):

- READ COMMITTED, and the lock of the ledger's row first: each later statement sees what others committed before the
  lock was granted. Under REPEATABLE READ or SERIALIZABLE the snapshot of one who waited would be older than its lock.
- The primary key (ledger, seq) and a trigger are a second barrier: numbers have no gaps and cannot be given twice.
- ``synchronous_commit`` is set in each transaction; ``fsync``, ``full_page_writes``, that the table is logged and that
  the server is no replica are asked of the server each time.
- An error of COMMIT, or a connection that is lost after it was sent, means that nobody knows: a fatal error.
- The server's identity and timeline are kept beside the ledger: a promoted replica or a restored backup is refused
  until its owner has compared it with an anchored head. A raw copy of the files keeps both, so anchors stay necessary.
- A connection lives for one operation only. The server's own messages never reach an error: they may quote anything.
- The columns ``role`` and ``at`` are the server's own word on who wrote a row and when, beside the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from barrow.errors import MissingExtraError, ParameterError
from barrow.ledger.errors import (
    CorruptLedgerError,
    ForeignLedgerError,
    LedgerBusyError,
    LedgerIOError,
    MissingLedgerError,
    NoAuthorityError,
)
from barrow.ledger.sqlite import BUSY_SECONDS, one_operation
from barrow.ledger.store import Other, Row, lost_rows
from barrow.passwords import by_scram

if TYPE_CHECKING:
    from psycopg import Connection, Error
    from psycopg.rows import TupleRow

SCHEMES = ("postgresql://", "postgres://")
"""How the address of a database begins."""

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE SCHEMA IF NOT EXISTS barrow;
CREATE TABLE IF NOT EXISTS barrow.ledgers (
  name text COLLATE "C" PRIMARY KEY, version integer NOT NULL, server text NOT NULL, turn integer NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS barrow.records (
  ledger text COLLATE "C" NOT NULL REFERENCES barrow.ledgers, seq bigint NOT NULL CHECK (seq >= 1),
  body text COLLATE "C" NOT NULL, hash text COLLATE "C" NOT NULL,
  role text NOT NULL DEFAULT session_user, at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (ledger, seq));
CREATE OR REPLACE FUNCTION barrow.never() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  BEGIN RAISE EXCEPTION 'records are never changed'; END $$;
CREATE OR REPLACE FUNCTION barrow.next_in_line() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
  BEGIN
    IF NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM barrow.records WHERE ledger = NEW.ledger) THEN
      RAISE EXCEPTION 'records have no gaps';
    END IF;
    RETURN NEW;
  END $$;
CREATE OR REPLACE TRIGGER never_changed BEFORE UPDATE OR DELETE ON barrow.records
  FOR EACH ROW EXECUTE FUNCTION barrow.never();
CREATE OR REPLACE TRIGGER never_emptied BEFORE TRUNCATE ON barrow.records
  FOR EACH STATEMENT EXECUTE FUNCTION barrow.never();
CREATE OR REPLACE TRIGGER next_in_line BEFORE INSERT ON barrow.records
  FOR EACH ROW EXECUTE FUNCTION barrow.next_in_line();
"""
_SERVER = "(pg_control_system()).system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)"
_LOCK = 4779341
"""The number of the advisory lock under which ledgers are made."""


class PostgresStore:
    """Rows of one ledger in a Postgres database; opening it checks that it is there.

    Args:
        url: ``postgresql://user@host/database?ledger=NAME``, with any other setting of libpq. Never a password: that
            belongs into ``PGPASSWORD``, ``~/.pgpass`` or a service file.
        busy_seconds: How long to wait for others.

    >>> PostgresStore.address("postgresql://ana@db.example/stats?ledger=visits&sslmode=verify-full")
    ('postgresql://ana@db.example/stats?sslmode=verify-full', 'visits')
    """

    # What the controls of the fault harness weaken.
    _synchronous = "on"
    _locks = True
    _asks = True

    def __init__(self, url: str, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self._prepare(url, busy_seconds)
        with self._connection() as connection:
            if not _exists(connection) or (version := self._version(connection)) is None:
                self._refuse_missing()
            if version != SCHEMA_VERSION:
                raise ForeignLedgerError(
                    f"The ledger {self.name!r} has schema {version}; this barrow knows {SCHEMA_VERSION}.",
                    allowed=f"schema {SCHEMA_VERSION}",
                    fix="pip install --upgrade barrow",
                )

    def _prepare(self, url: str, busy_seconds: float) -> None:
        self._conninfo, self._ledger = self.address(url)
        self._busy_seconds = busy_seconds
        parts = urlsplit(self._conninfo)
        place = parts.hostname or dict(parse_qsl(parts.query)).get("host", "")
        port = f":{parts.port}" if parts.port else ""
        # Host, database and ledger; never a user's name or anything else that stands in the address.
        self._name = f"postgresql://{quote(place, safe='')}{port}{parts.path}?ledger={quote(self._ledger)}"

    @staticmethod
    def address(url: str) -> tuple[str, str]:
        """The address for libpq and the name of the ledger in it; a password is refused and not repeated."""
        try:
            parts = urlsplit(url)
            options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
            secret = parts.password is not None or any(name in ("password", "sslpassword") for name, _ in options)
            _ = parts.port
        except ValueError:
            raise ParameterError(
                "The address of the ledger cannot be read.",
                allowed="postgresql://user@host/database?ledger=NAME",
                fix="postgresql://ana@db.example/stats?ledger=visits",
            ) from None
        if secret:
            raise ParameterError(
                "The address of the ledger holds a password.",
                allowed="an address without secrets, because addresses are written into studies and statements",
                fix="PGPASSWORD, ~/.pgpass or a service file",
            )
        names = [value for name, value in options if name == "ledger"]
        rest = urlencode([(name, value) for name, value in options if name != "ledger"])
        if len(names) != 1 or not 0 < len(names[0]) <= 200:
            raise ParameterError(
                "The address names no ledger.",
                allowed="postgresql://user@host/database?ledger=NAME",
                fix="add ?ledger=visits",
            )
        return f"postgresql://{parts.netloc}{parts.path}{'?' * bool(rest)}{rest}", names[0]

    @classmethod
    def create(
        cls, url: str, rows: list[Row], unless: Callable[[list[Other]], None] = lambda others: None
    ) -> PostgresStore:
        """Make a new ledger that holds ``rows``, whole and durable, or not at all; see :class:`SqliteStore`."""
        self = cls.__new__(cls)
        self._prepare(url, BUSY_SECONDS)
        with self._connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            connection.execute(f"SET LOCAL synchronous_commit = {self._synchronous}")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            if not _exists(connection):
                self._make_schema(connection)
            built = connection.execute(
                f"INSERT INTO barrow.ledgers (name, version, server) VALUES (%s, %s, {_SERVER}) ON CONFLICT DO NOTHING",  # noqa: S608
                [self._ledger, SCHEMA_VERSION],
            )
            if built.rowcount != 1:
                raise MissingLedgerError(
                    f"There is already a ledger {self.name!r}. It was not touched.",
                    allowed="a name where nothing is yet: a budget is never made anew over an old one",
                    fix="barrow ledger show, or choose another name",
                )
            unless(self._others(connection))
            for row in rows:
                _insert(connection, self._ledger, row)
            self._commit(connection)
        return cls(url)

    def _make_schema(self, connection: Connection[TupleRow]) -> None:
        """Make the tables of all ledgers; where the role may not, say which right is missing."""
        from psycopg import errors as kinds

        try:
            connection.execute(_SCHEMA)
            return
        except kinds.InsufficientPrivilege:
            database, role = connection.info.dbname, connection.info.user
        raise NoAuthorityError(
            f"The role {role!r} may not make the schema barrow in the database {database!r}. Nothing was made.",
            allowed="a role that may create schemas there, once; then barrow.ledgers and barrow.records are enough",
            fix=f'GRANT CREATE ON DATABASE "{database}" TO "{role}"',
        )

    @classmethod
    def names(cls, url: str) -> list[str]:
        """The names of all ledgers in the database of ``url``."""
        self = cls.__new__(cls)
        self._prepare(url if "ledger=" in url else url + ("&" if "?" in url else "?") + "ledger=any", BUSY_SECONDS)
        with self._connection() as connection:
            if not _exists(connection):
                return []
            return [name for (name,) in connection.execute("SELECT name FROM barrow.ledgers ORDER BY name")]

    @property
    def name(self) -> str:
        """Host, database and ledger; never a secret."""
        return self._name

    def rows(self, after: int = 0) -> list[Row]:
        """The rows whose number is above ``after``; one statement, so of one moment."""
        with self._connection() as connection:
            return _rows(connection, self._ledger, after)

    @contextmanager
    def transaction(self) -> Iterator[_PostgresTransaction]:
        """BEGIN, the row's lock, … COMMIT; any error rolls back."""
        with self._connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            try:
                connection.execute(f"SET LOCAL synchronous_commit = {self._synchronous}")
                if self._locks:
                    self._lock(connection)
                yield _PostgresTransaction(connection, self)
            except BaseException:
                with suppress(Exception):
                    connection.execute("ROLLBACK")
                raise
            self._commit(connection)

    def adopt(self) -> None:
        """Take the server as it is now for the ledger's own; only after its head was compared with an anchor."""
        with self._connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            connection.execute(f"UPDATE barrow.ledgers SET server = {_SERVER} WHERE name = %s", [self._ledger])  # noqa: S608
            self._commit(connection)

    def _others(self, connection: Connection[TupleRow]) -> list[Other]:
        """The other ledgers of the database, each with its address and its first record."""
        sql = "SELECT ledger, body FROM barrow.records WHERE seq = 1 AND ledger <> %s ORDER BY ledger"
        joint = "&" if "?" in self._conninfo else "?"
        return [
            Other(f"{self._conninfo}{joint}{urlencode({'ledger': name}, quote_via=quote)}", body)
            for name, body in connection.execute(sql, [self._ledger])
        ]

    def _lock(self, connection: Connection[TupleRow]) -> None:
        sql = f"SELECT server = {_SERVER} FROM barrow.ledgers WHERE name = %s FOR UPDATE"  # noqa: S608
        result = connection.execute(sql, [self._ledger]).fetchone()
        if result is None:
            self._refuse_missing()
        if not result[0]:
            raise CorruptLedgerError(
                f"The server of {self.name!r} is not the one that the ledger was made on, or was restored or promoted "
                "since. Nothing was spent.",
                allowed="the server that took every payment",
                fix="compare the ledger with its newest anchor: barrow ledger adopt LEDGER ANCHOR",
            )

    def _commit(self, connection: Connection[TupleRow]) -> None:
        from psycopg import Error

        try:
            done = connection.execute("COMMIT").statusmessage == "COMMIT"
        except Error as error:
            self._fail(f"COMMIT failed ({error.sqlstate or type(error).__name__})")
        if not done:
            self._fail("the server rolled it back")

    @contextmanager
    def _connection(self) -> Iterator[Connection[TupleRow]]:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError.for_extra("psycopg", extra="postgres", purpose="Ledgers in Postgres") from None
        wait = int(self._busy_seconds * 1000)
        failure: psycopg.Error | None = None
        with one_operation():
            try:
                connection = psycopg.connect(
                    self._conninfo,
                    autocommit=True,
                    prepare_threshold=None,
                    connect_timeout=max(2, int(self._busy_seconds)),
                    application_name="barrow ledger",
                    require_auth=by_scram(self._conninfo),
                    options=f"-c lock_timeout={wait} -c statement_timeout={wait + 60000} -c search_path=pg_catalog "
                    "-c idle_in_transaction_session_timeout=60000 -c client_min_messages=error",
                )
            except psycopg.Error as error:
                failure = error  # Raised outside, so that the server's words are no part of the traceback.
            if failure is not None:
                self._refuse_connection()
            try:
                try:
                    self._ask(connection)
                    yield connection
                finally:
                    connection.close()
            except psycopg.Error as error:
                failure = error
            if failure is not None:
                self._translate(failure)

    def _ask(self, connection: Connection[TupleRow]) -> None:
        """Whether this server keeps what it says it has written."""
        if not self._asks:
            return
        got = connection.execute(
            "SELECT current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery(), "
            "current_setting('server_encoding'), coalesce((SELECT relpersistence::text FROM pg_class "
            "WHERE oid = to_regclass('barrow.records')), 'p')"
        ).fetchone()
        if got != ("on", "on", False, "UTF8", "p"):
            raise LedgerIOError(
                f"The server of {self.name!r} does not store records durably (fsync, full_page_writes, replica, "
                f"encoding, "
                f"persistence: {got}). Nothing was spent.",
                allowed="a primary with fsync = on, full_page_writes = on, UTF8, and a logged table",
                fix="repair the server's settings, then open the ledger anew",
            )

    def _version(self, connection: Connection[TupleRow]) -> int | None:
        row = connection.execute("SELECT version FROM barrow.ledgers WHERE name = %s", [self._ledger]).fetchone()
        return None if row is None else int(row[0])

    def _refuse_missing(self) -> NoReturn:
        raise MissingLedgerError(
            f"There is no ledger {self.name!r}.",
            allowed="a ledger made by barrow ledger init",
            fix="check the name, or make it: barrow ledger init postgresql://…?ledger=NAME --study study.toml",
        ) from None

    def _refuse_connection(self) -> NoReturn:
        raise LedgerBusyError(
            f"The server of {self.name!r} cannot be reached, or does not let you in. Nothing was spent.",
            allowed="a running server, a database and a role that exist, and a password by SCRAM where it asks for one",
            fix="check host, port and PGUSER; PGPASSWORD, ~/.pgpass or a service file; then try again, which is safe",
        ) from None

    def _translate(self, error: Error) -> NoReturn:
        from psycopg import errors as kinds

        busy = (kinds.LockNotAvailable, kinds.DeadlockDetected, kinds.SerializationFailure, kinds.UniqueViolation)
        if isinstance(error, (*busy, kinds.QueryCanceled)):
            raise LedgerBusyError(
                f"Another process holds the ledger {self.name!r} ({error.sqlstate}). Nothing was written.",
                allowed="one spender at a time",
                fix="try again; if it lasts, find the session that holds the row",
            ) from None
        if isinstance(error, kinds.InsufficientPrivilege):
            raise NoAuthorityError(
                f"Your role may not do this to the ledger {self.name!r}. Nothing was spent.",
                allowed="roles that were granted it (docs/ledger.md)",
                fix="ask the owner of the ledger for the right to spend",
            ) from None
        if isinstance(error, kinds.UndefinedTable | kinds.InvalidSchemaName):
            self._refuse_missing()
        if isinstance(error, kinds.RaiseException):
            raise CorruptLedgerError(f"The ledger {self.name!r} refused a record out of order.") from None
        self._fail(str(error.sqlstate or type(error).__name__))

    def _fail(self, what: str) -> NoReturn:
        raise LedgerIOError(
            f"Writing the ledger {self.name!r} failed: {what}. Nothing was released; this is fatal and is not tried "
            "again, because after such an error the state of the server is unknown.",
            allowed="a server that answers",
            fix="repair the server, then open the ledger again and check it: barrow ledger verify",
        ) from None


class _PostgresTransaction:
    def __init__(self, connection: Connection[TupleRow], store: PostgresStore) -> None:
        self._connection, self._store, self._ledger = connection, store, store._ledger

    def rows(self, after: int = 0) -> list[Row]:
        return _rows(self._connection, self._ledger, after)

    def append(self, row: Row) -> None:
        sql = "SELECT coalesce(max(seq), 0) FROM barrow.records WHERE ledger = %s"
        result = self._connection.execute(sql, [self._ledger]).fetchone()
        last = 0 if result is None else int(result[0])
        if row.seq != last + 1:
            raise CorruptLedgerError.at(row.seq, f"it cannot follow record {last}")
        _insert(self._connection, self._ledger, row)

    def others(self) -> list[Other]:
        return self._store._others(self._connection)


def _exists(connection: Connection[TupleRow]) -> bool:
    result = connection.execute("SELECT to_regclass('barrow.records') IS NOT NULL").fetchone()
    return bool(result and result[0])


def _insert(connection: Connection[TupleRow], ledger: str, row: Row) -> None:
    connection.execute("INSERT INTO barrow.records (ledger, seq, body, hash) VALUES (%s, %s, %s, %s)", [ledger, *row])


def _rows(connection: Connection[TupleRow], ledger: str, after: int) -> list[Row]:
    sql = "SELECT seq, body, hash FROM barrow.records WHERE ledger = %s AND seq > %s ORDER BY seq"
    rows = [Row(*cells) for cells in connection.execute(sql, [ledger, after])]
    if (lost := lost_rows(rows, after)) is not None:
        raise CorruptLedgerError.at(lost, "the record before it is missing")
    return rows
