"""Records on Spark: a DataFrame, a table or files; the records are read once and shuffled at most once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from barrow.engines.base import refuse_empty
from barrow.engines.columns import Columns
from barrow.engines.counts import Sampled
from barrow.engines.sampling import check_found, sampled_counts
from barrow.engines.source import Source
from barrow.engines.spark.draws import SCHEMA, drawing, gathered
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
from barrow.engines.sql.reading import Reading
from barrow.errors import ParameterError
from barrow.noise import Source as Randomness
from barrow.spaces import Space
from barrow.spaces.base import Unknown


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
        if self.shape not in get_args(Shape):
            raise ParameterError(
                f"shape is {self.shape!r}.", allowed=", ".join(map(repr, get_args(Shape))), fix="shape='window'"
            )

    @contextmanager
    def _open(self, source: Source, columns: Columns | None) -> Iterator[SparkReader]:
        if source.kind != "spark":
            raise ParameterError(
                f"The Spark engine does not read a source of the kind {source.kind!r}.",
                allowed="spark://local[*]?path=FOLDER, spark://host:7077?table=NAME, or a DataFrame of Spark",
                fix="engine_for(source) chooses the engine",
            )
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
        reading: Reading,
        space: Space,
        samples: int,
        unknown: Unknown,
        users: int | None,
        randomness: Randomness | None,
    ) -> Sampled:
        if randomness is not None:  # a source of the caller's cannot be on several machines: drawn here
            return super()._samples(reader, reading, space, samples, unknown, users, randomness)
        rows = guarded(reader.session, lambda: reader.run(self.user_by_user(reading, ordered=False)))
        drawn = guarded(reader.session, lambda: rows.mapInArrow(drawing(samples), SCHEMA))
        # A result stage: nothing may be shuffled, cached or joined after the draw.
        pool, found, private = gathered(reader.collected(drawn), samples)
        pool.check()
        if not found:
            raise refuse_empty()
        check_found(found, users)
        items, counts = pool.drawn(unknown, space.default_item)
        return sampled_counts(
            items,
            counts,
            samples=samples,
            found=found,
            users=users,
            default=space.default_item,
            private=private,
        )
