"""The engines of ``benchmarks._engines_sizes``: our sums and bare statements on the same records, and their memory."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import threading
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar
from urllib.parse import quote

from barrow.engines import Columns, DuckDBEngine, SparkEngine
from barrow.engines.sql.postgres import PostgresEngine
from barrow.engines.sums import ItemSums
from barrow.spaces import Discrete, Line, Space
from benchmarks.engines import processor_seconds

ITEMS = 100_000
COLUMNS = Columns("uid", "item")


@dataclass(frozen=True)
class Case:
    """What people hold (``SIZES``), their ids and items in DuckDB's SQL, and of which types these are."""

    sizes: str
    user: str
    item: str
    ids: str = "int"
    real: bool = False

    @property
    def space(self) -> Space:
        """The public space: cells of a line, or labels."""
        return Line(0, ITEMS, step=1, cells=True) if self.real else Discrete([str(i) for i in range(ITEMS)])


class Side(AbstractContextManager["Side"]):
    """An engine with the records of a case."""

    def __init__(self, case: Case, path: Path) -> None:
        self.case, self.path = case, path
        import duckdb

        self.space = case.space
        people = duckdb.execute(f"SELECT count(DISTINCT uid) FROM read_parquet('{path}')").fetchone()
        self.users = int(people[0]) if people else 1
        """The public number of people."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @classmethod
    def unavailable(cls) -> str | None:
        """Why the engine cannot be run here."""
        return None

    @abstractmethod
    def ours(self) -> ItemSums:
        """The whole of our sums."""

    @abstractmethod
    def bare(self) -> Mapping[str, Callable[[], object]]:
        """The statements to compare with."""

    def settle(self) -> None:
        """Wait until all that was used is seen."""

    def peak_mb(self) -> float:
        """The most memory that the engine, and this process, have held so far."""
        return most_memory(os.getpid())

    def statement(self, table: str, one: str = "1.0") -> str:
        """What a stranger writes."""
        cell = "CAST(floor(item) AS BIGINT)" if self.case.real else "item"
        sizes = f"(SELECT uid, count(*) AS m FROM {table} GROUP BY uid)"
        return f"SELECT {cell} AS cell, SUM({one} / m) FROM {table} JOIN {sizes} AS s USING (uid) GROUP BY {cell}"


class DuckDB(Side):
    """The embedded engine, on the Parquet file."""

    def ours(self) -> ItemSums:
        return DuckDBEngine(progress=False).sums(self.path, COLUMNS, self.space, users=self.users)

    def bare(self) -> Mapping[str, Callable[[], object]]:
        import duckdb

        session, text = duckdb.connect(), self.statement(f"read_parquet('{self.path}')")
        return {"sum": lambda: session.execute(text).fetchnumpy()}


class Postgres(Side):
    """A throw-away server on a socket; its table is filled from the same records.

    Without parallel workers, which cost the bare statement more processor seconds than they save wall time.
    """

    CONF: ClassVar[str] = "\n".join(
        [
            "fsync = off",
            "shared_buffers = 256MB",
            "work_mem = 64MB",
            "max_wal_size = 4GB",
            "max_parallel_workers_per_gather = 0",
            "",
        ]
    )

    def __enter__(self) -> Postgres:
        self.cluster = importlib.import_module("tests.postgres_cluster").Cluster(self.CONF)
        self.cluster.start()
        psycopg = importlib.import_module("psycopg")
        self.connection = psycopg.connect(self.cluster.conninfo, autocommit=True)
        ids = self.case.ids
        self.connection.execute(
            f"CREATE UNLOGGED TABLE visits (uid {ids}, item {'float8' if self.case.real else 'int'})"
        )
        self._fill()
        self.connection.execute("VACUUM ANALYZE visits")
        self.connection.execute("CREATE ROLE reader LOGIN; GRANT SELECT ON visits TO reader")
        self.source = f"postgresql://reader@/postgres?host={quote(str(self.cluster.sockets))}&table=visits"
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self.cluster.stop()

    @classmethod
    def unavailable(cls) -> str | None:
        why: str | None = importlib.import_module("tests.postgres_cluster").unavailable()
        return why

    def _fill(self) -> None:
        import duckdb

        with self.connection.cursor().copy("COPY visits FROM STDIN") as copy, duckdb.connect() as reader:
            rows = reader.execute(f"SELECT uid || chr(9) || item || chr(10) FROM read_parquet('{self.path}')")
            while piece := rows.fetchmany(100_000):
                copy.write("".join(row[0] for row in piece))

    def ours(self) -> ItemSums:
        return PostgresEngine().sums(self.source, COLUMNS, self.space, users=self.users)

    def bare(self) -> Mapping[str, Callable[[], object]]:
        """``1.0 / m`` is of type numeric; a stranger who knows writes doubles."""
        texts = {"sum": self.statement("visits"), "sum_of_doubles": self.statement("visits", "1.0::float8")}
        return {
            name: lambda text=text: self.connection.execute(text, binary=True).fetchall()  # type: ignore[misc]
            for name, text in texts.items()
        }

    def settle(self) -> None:
        """The server of a closed connection is counted when it has ended."""
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader'"
        while self.connection.execute(waiting).fetchone() != (0,):
            time.sleep(0.01)
        time.sleep(0.05)

    def peak_mb(self) -> float:
        """This process, and what the server holds beyond its shared buffers, in one more run."""
        done = threading.Event()
        most = [0.0]

        def watch() -> None:
            while not done.wait(0.02):
                most[0] = max(most[0], sum(own_memory(pid) for pid in self.cluster.processes()))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        self.ours()
        done.set()
        watcher.join()
        return most[0] + most_memory(os.getpid())


class Spark(Side):
    """A session on this machine; its tasks are threads of one Java process, which may hold 2 GiB."""

    def __enter__(self) -> Spark:
        warnings.simplefilter("ignore")
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = importlib.import_module("pyspark.sql").SparkSession.builder.master("local[2]")
        for name, value in {
            "spark.driver.memory": "2g",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "8",
        }.items():
            builder = builder.config(name, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("OFF")
        self.frame = self.session.read.parquet(str(self.path))
        self.frame.createOrReplaceTempView("visits")
        return self

    def __exit__(self, *_: object) -> None:
        self.session.stop()

    @classmethod
    def unavailable(cls) -> str | None:
        return None if importlib.util.find_spec("pyspark") is not None else "pyspark is not installed"

    def ours(self) -> ItemSums:
        return SparkEngine().sums(self.frame, COLUMNS, self.space, users=self.users)

    def bare(self) -> Mapping[str, Callable[[], object]]:
        """``1.0 / m`` is a decimal; a stranger who knows writes doubles."""
        texts = {"sum": self.statement("visits"), "sum_of_doubles": self.statement("visits", "CAST(1 AS DOUBLE)")}
        return {name: lambda text=text: self.session.sql(text).toArrow() for name, text in texts.items()}  # type: ignore[misc]

    def peak_mb(self) -> float:
        """Python, and Java, which takes what it may before it looks for garbage."""
        return most_memory(os.getpid()) + most_memory(self.session.sparkContext._gateway.proc.pid)


SIDES: dict[str, type[Side]] = {"duckdb": DuckDB, "postgres": Postgres, "spark": Spark}


def processors(side: Side) -> float:
    """Processor seconds of this process and its descendants, once all is seen."""
    side.settle()
    return processor_seconds()


def most_memory(pid: int) -> float:
    """The most that a process has held so far, in MiB; getrusage would count what its parent held, too."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1024


def own_memory(pid: int) -> float:
    """What a process holds now of its own, in MiB."""
    with contextlib.suppress(OSError, IndexError):
        return int(re.findall(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1024
    return 0.0
