"""Engines turn records into integers: how often each item occurs among users that hold so many items.

>>> from barrow.spaces import Line
>>> counts = engine_for({}).count({"uid": [1, 1, 2], "age": [3, 4, 4]}, Columns("uid", "age"), Line(0, 9, step=1))
>>> counts.users
2
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.engines.base import Columns, Engine, engine_for
    from barrow.engines.breakdown import Breakdown, Cell
    from barrow.engines.counts import CheckReport, Counts, Sampled
    from barrow.engines.duckdb import DuckDBEngine
    from barrow.engines.memory import MemoryEngine
    from barrow.engines.people import PeopleCounts
    from barrow.engines.source import Source
    from barrow.engines.spark import SparkEngine
    from barrow.engines.sql.postgres import PostgresEngine
    from barrow.engines.sums import ItemSums
    from barrow.engines.tables import table_names, with_tables
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".base": "Columns Engine engine_for",
            ".breakdown": "Breakdown Cell",
            ".counts": "CheckReport Counts Sampled",
            ".duckdb": "DuckDBEngine",
            ".memory": "MemoryEngine",
            ".people": "PeopleCounts",
            ".source": "Source",
            ".spark": "SparkEngine",
            ".sql.postgres": "PostgresEngine",
            ".sums": "ItemSums",
            ".tables": "table_names with_tables",
        },
    )
