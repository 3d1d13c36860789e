"""What the executors do: exact draws from the system's entropy, added up within each partition.

The sums of a partition leave it in one piece, and the driver collects them in the result stage: of each partition Spark
takes exactly one attempt, whole. Were draws shuffled, cached or joined afterwards, an executor that is lost in between
would draw again for some readers and not for others (docs/engines.md, Samples).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from barrow._version import __version__
from barrow.engines.base import refuse_changed
from barrow.engines.runs import RunSampler
from barrow.engines.sql.answers import Pool

SCHEMA = "part INT, item BIGINT, drawn BIGINT, users BIGINT, private BOOLEAN"
_SUMMARY = -9
"""In place of an item: the row that says how many users a partition holds."""


def drawing(samples: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that draws ``samples`` records of each user of a partition, whose rows come user by user.

    It takes and gives Arrow batches: (fresh, item, c, m) as in ``SqlEngine.user_by_user``, and :data:`SCHEMA`.
    """
    version = __version__

    def draw(batches: Iterator[Any]) -> Iterator[Any]:
        if importlib.import_module("barrow._version").__version__ != version:
            raise RuntimeError("another version of barrow")
        pa, context = importlib.import_module("pyarrow"), importlib.import_module("pyspark").TaskContext.get()
        sampler, pool = RunSampler(samples), Pool()
        for batch in batches:
            fresh, item, count, size = (batch.column(name).to_numpy() for name in ("fresh", "item", "c", "m"))
            pool.add(item, sampler.draw(fresh == 1, size, count))
        sampler.finish()
        items, drawn = pool.all
        rows = len(items) + 1
        columns = {
            "part": np.full(rows, -1 if context is None else context.partitionId(), dtype=np.int32),
            "item": np.append(items, _SUMMARY),
            "drawn": np.append(drawn, 0),
            "users": np.append(np.zeros(rows - 1, dtype=np.int64), sampler.users),
            "private": np.full(rows, sampler.private),
        }
        yield pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})

    return draw


def gathered(answer: dict[str, np.ndarray[Any, np.dtype[Any]]], samples: int) -> tuple[Pool, int, bool]:
    """The draws of all partitions, how many users, and whether all entropy was the system's.

    Each partition must have come once and whole, with ``samples`` draws for each of its users.

    >>> part, item = np.array([0, 0]), np.array([4, -9])
    >>> answer = {"part": part, "item": item, "drawn": np.array([6, 0]), "users": np.array([0, 2])}
    >>> gathered(answer | {"private": np.array([True, True])}, 3)[1:]
    (2, True)
    """
    pool, summary = Pool(), answer["item"] == _SUMMARY
    parts, users = answer["part"][summary], answer["users"][summary].astype(np.int64)
    order = np.argsort(parts)
    if not np.array_equal(parts[order], np.arange(len(parts))) or not np.isin(answer["part"], parts).all():
        raise refuse_changed()
    sums = np.zeros(len(parts), dtype=np.int64)
    np.add.at(sums, answer["part"], answer["drawn"].astype(np.int64))
    if not np.array_equal(sums, samples * users[order]):
        raise refuse_changed()
    pool.add(answer["item"][~summary].astype(np.int64), answer["drawn"][~summary].astype(np.int64))
    return pool, int(users.sum()), bool(answer["private"].all())
