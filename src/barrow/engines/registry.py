"""Which engine reads which source."""

from __future__ import annotations

from typing import Any

from barrow.engines.base import Engine
from barrow.engines.duckdb import DuckDBEngine
from barrow.engines.memory import MemoryEngine
from barrow.engines.source import Source


def engine_for(source: Any, **options: Any) -> Engine:
    """The engine that reads ``source``: memory for a mapping of columns, DuckDB for everything else.

    Args:
        source: A source, a path, an address, a mapping of columns, or a frame.
        **options: Passed to the DuckDB engine: memory, threads, folder, progress.

    >>> engine_for("visits.parquet").name, engine_for({"uid": [], "item": []}).name
    ('duckdb', 'memory')
    """
    return MemoryEngine() if Source.of(source).kind == "table" else DuckDBEngine(**options)
