"""Synthetic records: independent draws from a released histogram, for tools that want records.

They are made of published values alone, so that they cost nothing, however many are drawn.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from barrow.errors import ParameterError, one_of, optional_library
from barrow.noise import RandomSource, system_source
from barrow.numerics import whole
from barrow.numerics.exact import at_most, near
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.inverse import Column, records_of
from barrow.spaces.records import DAY, Moments
from barrow.study.statement import space_released
from barrow.transport.measure import measure_of

if TYPE_CHECKING:
    from barrow.spaces.geometry import Floats
    from barrow.study.result import Release

Within = Literal["uniform", "centre"]
MOST_ROWS = 10**8


@dataclass(frozen=True, eq=False)
class SyntheticRecords:
    """Records that belong to nobody, with what may be said of them.

    Attributes:
        columns: The columns of the study's records, by name.
        distance: How far the records are, as a histogram, from the released one: the earth mover's distance, in
            ``unit``.
        unit: The unit of distances.
        text: What the records are, how far off, and what is lost.
    """

    columns: dict[str, Column]
    distance: float
    unit: str
    text: str

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def to_pandas(self) -> object:
        """The records as a pandas frame."""
        return optional_library("pandas", extra="frames", purpose="pandas frames").DataFrame(self.columns)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the records to a new CSV or Parquet file, and what may be said of them to a text beside it.

        Returns:
            The file of the text: ``rows.parquet`` has ``rows.parquet.txt``. Parquet files hold it too, as the
            metadata ``statement``.
        """
        target = Path(path)
        note = target.with_name(target.name + ".txt")
        formats = {".parquet": "FORMAT parquet, KV_METADATA {statement: $text}", ".csv": "FORMAT csv, HEADER true"}
        if target.suffix not in formats:
            raise ParameterError(
                f"The file {target.name!r} is neither CSV nor Parquet.", allowed=".csv or .parquet", fix="rows.parquet"
            )
        for file in (target, note):
            if file.exists():
                raise ParameterError(
                    f"The file {str(file)!r} exists.", allowed="a new file", fix=f"{target.stem}-2{target.suffix}"
                )
        import duckdb

        quoted = self.text.replace("'", "''")
        options = formats[target.suffix].replace("$text", f"'{quoted}'")
        try:
            with tempfile.TemporaryDirectory(dir=target.parent) as folder, duckdb.connect(":memory:") as connection:
                connection.register("rows", self.columns)
                staged = Path(folder) / f"rows{target.suffix}"
                name = str(staged).replace("'", "''")
                connection.execute(f"COPY (SELECT * FROM rows) TO '{name}' ({options})")  # noqa: S608
                note.write_text(self.text + "\n", encoding="utf-8")
                os.replace(staged, target)
        except (OSError, duckdb.Error) as error:
            raise ParameterError(
                f"The records cannot be written to {str(target)!r}: {type(error).__name__}.",
                allowed="a folder that can be written, with room",
                fix="--out with another file",
            ) from None
        return note


def sample_records(
    release: Release,
    rows: int,
    *,
    within: Within = "uniform",
    space: Space | None = None,
    times: bool = False,
    source: RandomSource | None = None,
) -> SyntheticRecords:
    """Independent records drawn from the decoded shares of a released histogram.

    Args:
        release: A histogram, a map or a product of them.
        rows: How many records.
        within: Where in its cell a record lies: ``"uniform"`` anywhere in it, ``"centre"`` in its middle.
        space: The study's space, where the release was read from a folder and does not hold it.
        times: Write what the space reads from moments as times: clock times of the hours of a day, and timestamps of
            a time since 1970. Hours of a week, and named days, stay as they are.
        source: Where the draws come from; the system's entropy by default.
    """
    count = whole(rows, "rows", most=MOST_ROWS, fix="rows=1000")
    one_of(within, "within", ("uniform", "centre"))
    place, shares = _shares(release, space)
    origin = system_source() if source is None else source
    words = (origin.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    upto = np.cumsum(shares)
    items = np.searchsorted(upto[:-1] / upto[-1], words, side="right").astype(np.int64)
    columns = records_of(place, items, origin if within == "uniform" else None)
    if times:
        columns = _as_times(place, columns)
    sample = np.bincount(items, minlength=place.items) / count
    distance = measure_of(place).distance(sample - shares) * place.diameter
    return SyntheticRecords(
        dict(zip(_names(release, len(columns)), columns, strict=True)),
        distance,
        place.unit,
        _text(release, count, distance, place),
    )


def _shares(release: Release, space: Space | None) -> tuple[Space, Floats]:
    """The space of records, and the share of each of its items."""
    place = release._on(space)
    space_released(place, release.statement.space_digest)
    place, table = place.records_space, release.tables["values"]
    shares = np.array([row.get("share", np.nan) for row in table], dtype=np.float64)
    if len(shares) != place.items or not (np.isfinite(shares).all() and (shares >= 0.0).all() and shares.sum() > 0.0):
        raise ParameterError(
            f"The release of {release.statement.kind!r} holds no histogram to draw records from.",
            allowed="a histogram of all items with decoded shares: a histogram, a map or a product",
            fix='--question "histogram" in a release of its own',
        )
    return place, shares / shares.sum()


def _as_times(space: Space, columns: Sequence[Column]) -> list[Column]:
    """Columns of numbers that stand for moments as times."""
    inner, left, result = base_space(space), list(columns), list[Column]()
    for part in [part for part, _ in inner.geometry.parts] or [inner]:
        reads = part.reads
        own, left = left[: reads.columns], left[reads.columns :]
        moments = reads.moments
        if moments is not None and not moments.names and moments.turn in (None, DAY):
            own = [_moments(column, moments) for column in own]
        result += own
    return result


def _moments(column: Column, moments: Moments) -> Column:
    """Numbers as clock times or as timestamps; where there is no number there is no time."""
    there = np.isfinite(column)
    micros = np.floor(np.where(there, column, 0.0) * moments.unit).astype(np.int64)
    if moments.turn is None:
        return np.where(there, micros.astype("datetime64[us]"), np.datetime64("NaT"))
    midnight = datetime(1970, 1, 1)
    clock = [(midnight + timedelta(microseconds=held % moments.turn)).time() for held in micros.tolist()]
    return np.array([held if good else None for held, good in zip(clock, there, strict=True)], dtype=object)


def _names(release: Release, columns: int) -> list[str]:
    """The item columns of the study, or plain names where the release does not say them."""
    data = release.statement.parameters.get("data")
    names = data.get("items") if isinstance(data, dict) else None
    if isinstance(names, list) and len(names) == columns and len(set(map(str, names))) == columns:
        return [str(name) for name in names]
    return ["item"] if columns == 1 else [f"item_{i + 1}" for i in range(columns)]


def _text(release: Release, rows: int, distance: float, space: Space) -> str:
    statement, own = release.statement, release.statement.error
    unit, scale = (f" {space.unit}", 1.0) if space.unit else (" of the largest distance", 1.0 / space.diameter)
    off = "" if own is None else f", which itself is off by about {near(own * scale)}{unit}"
    total = "" if own is None else f", {at_most((own + distance) * scale)}{unit} together"
    return "\n".join(
        [
            f"{rows:,} synthetic records of {statement.dataset or 'a data set'}, drawn from the release "
            f"{statement.name!r}.",
            "The records belong to nobody: they are independent draws from published values. Drawing them costs no "
            "privacy, however many are drawn; the statement of the release is the statement of privacy.",
            f"As a histogram they are {at_most(distance * scale)}{unit} from the release{off} (earth mover's distance)."
            f" The average of any function that changes by at most L per {space.unit or 'largest distance'} is "
            f"therefore off by about L times both distances{total}, or less.",
            "What is lost: which records belong to one person, which nobody can tell, how many records a person has, "
            "and anything else that was not released. The number of rows says nothing about the number of people.",
        ]
    )
