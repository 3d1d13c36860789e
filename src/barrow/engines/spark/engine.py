"""Records on Spark: a DataFrame, a table or files; the records are read once and shuffled at most once.

Executors draw exactly, from the system's entropy. The sums of a partition leave it in one piece, and the driver
collects them in the result stage: of each partition Spark takes exactly one attempt, whole. Were draws shuffled, cached
or joined afterwards, an executor that is lost in between would draw again for some readers and not for others
(docs/engines.md, Samples).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from barrow._version import __version__
from barrow.engines.base import Columns, CountRequest, wrong_source
from barrow.engines.counts import Sampled, refuse_changed, refuse_empty
from barrow.engines.sampling import RunSampler, SamplePool
from barrow.engines.source import Source
from barrow.engines.spark.relations import (
    SETTINGS,
    SparkReader,
    frame_of,
    judged,
    kind_of,
    refuse_other,
    refuse_twins,
    session_of,
    stamps,
)
from barrow.engines.spark.session import guarded, settings
from barrow.engines.sql.dialects import SPARK, Dialect
from barrow.engines.sql.pushdown import Shape, SqlEngine
from barrow.engines.sql.select_plan import SelectPlan
from barrow.errors import one_of
from barrow.noise import RandomSource as Randomness

SCHEMA = "part INT, item BIGINT, drawn BIGINT, users BIGINT, private BOOLEAN"
_SUMMARY = -9
"""In place of an item: the row that says how many users a partition holds."""


@dataclass(frozen=True)
class SparkEngine(SqlEngine[SparkReader]):
    """Counts and samples records on Spark; ``spark://local[*]?path=visits.parquet``, or a DataFrame.

    Args:
        shape: ``"window"`` reads the records once and shuffles them by user; ``"broadcast"`` reads them twice and sends
            the users' numbers of records to all executors, for at most some ten million users.

    >>> SparkEngine().shape
    'window'
    """

    name: ClassVar[str] = "spark"
    dialect: ClassVar[Dialect] = SPARK
    together: ClassVar[str] = "/*+ REPARTITION(u) */ "
    shape: Shape = "window"

    def __post_init__(self) -> None:
        one_of(self.shape, "shape", get_args(Shape))

    @contextmanager
    def _open(self, source: Source, columns: Columns | None) -> Iterator[SparkReader]:
        if source.kind != "spark":
            allowed = "spark://local[*]?path=FOLDER, spark://host:7077?table=NAME, or a DataFrame of Spark"
            raise wrong_source("Spark", source, allowed)
        selection = judged(source, columns)  # before a session is started
        session = session_of(source)
        with settings(session, SETTINGS if source.data is None else {}):
            frame = frame_of(session, source, selection)
            types = guarded(session, lambda: list(frame.dtypes))
            refuse_twins(session, [name for name, _ in types], columns)
            with self._reader(session, frame, {name: kind_of(text) for name, text in types}) as reader:
                before = stamps(session, frame) if columns is not None else None
                yield reader
                refuse_other(session, frame, before)

    @contextmanager
    def _reader(self, session: Any, frame: Any, kinds: dict[str, str]) -> Iterator[SparkReader]:
        reader = SparkReader(session, frame, kinds)
        try:
            guarded(session, lambda: session.addTag(reader.tag))
            yield reader
        except BaseException:  # Ctrl-C too: the cluster stops working for us
            with suppress(Exception):
                session.interruptTag(reader.tag)
            raise
        finally:
            with suppress(Exception):  # the session may have ended
                session.removeTag(reader.tag)
                reader.close()

    def _samples(
        self,
        reader: SparkReader,
        reading: SelectPlan,
        request: CountRequest,
        samples: int,
        randomness: Randomness | None,
    ) -> Sampled:
        if randomness is not None:  # a source of the caller's cannot be on several machines: drawn here
            return super()._samples(reader, reading, request, samples, randomness)
        rows = guarded(reader.session, lambda: reader.run(self.user_by_user(reading, ordered=False)))
        sample = guarded(reader.session, lambda: rows.mapInArrow(drawing(samples), SCHEMA))
        # A result stage: nothing may be shuffled, cached or joined after the draw.
        pool, result, private = collected_draws(reader.collected(sample), samples)
        pool.check()
        if not result:
            raise refuse_empty()
        request.check_users(result)
        items, counts = pool.totals(request.unknown, request.space.default_item)
        return request.sampled(items, counts, samples=samples, users=result, private=private)


def drawing(samples: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that draws ``samples`` records of each user of a partition, whose rows come user by user.

    It takes and gives Arrow batches: (fresh, item, c, m) as in ``SqlEngine.user_by_user``, and :data:`SCHEMA`.
    """
    version = __version__

    def draw(batches: Iterator[Any]) -> Iterator[Any]:
        if importlib.import_module("barrow._version").__version__ != version:
            raise RuntimeError("another version of barrow")
        pa, context = importlib.import_module("pyarrow"), importlib.import_module("pyspark").TaskContext.get()
        sampler, pool = RunSampler(samples), SamplePool()
        for batch in batches:
            fresh, item, count, size = (batch.column(name).to_numpy() for name in ("fresh", "item", "c", "m"))
            pool.add(item, sampler.draw(fresh == 1, size, count))
        sampler.finish()
        items, sample = pool.all
        rows = len(items) + 1
        columns = {
            "part": np.full(rows, -1 if context is None else context.partitionId(), dtype=np.int32),
            "item": np.append(items, _SUMMARY),
            "drawn": np.append(sample, 0),
            "users": np.append(np.zeros(rows - 1, dtype=np.int64), sampler.users),
            "private": np.full(rows, sampler.private),
        }
        yield pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})

    return draw


def collected_draws(answer: dict[str, np.ndarray[Any, np.dtype[Any]]], samples: int) -> tuple[SamplePool, int, bool]:
    """The draws of all partitions, how many users, and whether all entropy was the system's.

    Each partition must have come once and whole, with ``samples`` draws for each of its users.
    """
    pool, summary = SamplePool(), answer["item"] == _SUMMARY
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
