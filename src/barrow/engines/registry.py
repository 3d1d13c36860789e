"""Which engine reads which source."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from barrow.engines.base import Engine
from barrow.engines.duckdb import DuckDBEngine
from barrow.engines.memory import MemoryEngine
from barrow.engines.source import Source
from barrow.engines.spark import SparkEngine
from barrow.engines.sql.postgres import PostgresEngine
from barrow.errors import ParameterError, nearest_name

_Made = MemoryEngine | PostgresEngine | SparkEngine | DuckDBEngine


def engine_for(source: Any, **options: Any) -> Engine:
    """The engine that reads ``source``: memory for a mapping of columns, a server's own, DuckDB for everything else.

    Args:
        source: A source, a path, an address, a mapping of columns, or a frame.
        **options: What engines take: memory, threads, folder and progress for DuckDB, timeout for Postgres, shape for
            Spark; those of other engines are left out.

    >>> engine_for("visits.parquet").name, engine_for({"uid": [], "item": []}).name
    ('duckdb', 'memory')
    >>> engine_for("postgresql://db.example/shop?table=visits", progress=False).name
    'postgres'
    """
    makers: dict[str, type[_Made]] = {"table": MemoryEngine, "postgres": PostgresEngine, "spark": SparkEngine}
    maker: type[_Made] = makers.get(Source.of(source).kind, DuckDBEngine)
    known = {field.name for engine in (*makers.values(), DuckDBEngine) for field in fields(engine)}
    wrong = sorted(set(options) - known)
    if wrong:
        close = nearest_name(wrong[0], known)
        raise ParameterError(
            f"{wrong[0]!r} is no option of an engine.",
            allowed=", ".join(sorted(known)),
            fix=f"{close}=…" if close else "leave it out",
        )
    own = {field.name for field in fields(maker)}
    return maker(**{name: value for name, value in options.items() if name in own})
