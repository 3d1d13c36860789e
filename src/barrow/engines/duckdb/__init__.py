"""The embedded engine: DuckDB reads files, frames and databases on this machine."""

from barrow.engines.duckdb.engine import DuckDBEngine
