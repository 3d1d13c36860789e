"""What a release gives back: values with their errors, as rows, frames and shapes, and the statement with them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from barrow import study
from barrow.display import Plotted, paragraphs_html, table_html
from barrow.errors import ParameterError, optional_library
from barrow.questions import Answer
from barrow.questions.answer import Rows
from barrow.questions.statement import Statement
from barrow.questions.value_tables import Bounds, bounds_of, places_of
from barrow.spaces import Space
from barrow.study.features import ends_of, flow_lines, shape_of
from barrow.study.outputs import columns_of, read_tables, row_polygons
from barrow.study.prose import statement_lines
from barrow.study.statement import parse_statement, space_of

if TYPE_CHECKING:
    from barrow.mechanisms.edge_intervals import RegionInterval
    from barrow.mechanisms.histogram_regions import ReleasedShares
    from barrow.study.synthetic import SyntheticRecords, Within

_COLUMNS = ("value", "share", "count", "report")


@dataclass(frozen=True, eq=False)
class Release(Plotted):
    """A release: everything in it may be published.

    Args:
        statement: The statement.
        text: The statement in words.
        tables: The rows of every table of values; ``values`` is the first.
        folder: Where the files are.
        plan: What was planned, where the release was made just now.

    >>> Release.read("nowhere")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no statement at 'nowhere'.
      allowed: statement.json, or a folder that holds it
      fix:     give the folder that barrow release wrote
    """

    statement: Statement
    text: str
    tables: Mapping[str, Rows]
    folder: Path
    plan: Answer | None = None

    @classmethod
    def of(
        cls,
        files: Mapping[str, bytes],
        folder: Path,
        plan: Answer | None = None,
        tables: Mapping[str, Rows] | None = None,
    ) -> Release:
        """The release that a folder's files hold; their tables need not be read where they are known."""
        statement = parse_statement(files["statement.json"])
        if "statement.txt" not in files:
            raise ParameterError(
                f"The folder {str(folder)!r} has no statement.txt.",
                allowed="a folder as barrow release wrote it",
                fix=f"barrow verify {folder} says what else is missing; restore it from a copy",
            )
        text = files["statement.txt"].decode("utf-8", "replace").rstrip("\n")
        return cls(statement, text, read_tables(files, folder) if tables is None else tables, folder, plan)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Release:
        """The release that was published in ``folder``; :func:`barrow.verify` says whether it is whole."""
        study.read_statement(folder)
        place = Path(folder)
        return cls.of({file.name: file.read_bytes() for file in place.iterdir() if file.is_file()}, place)

    @property
    def values(self) -> Any:
        """The released values, one for each output: numbers, or the reports of a list."""
        rows = self.tables["values"]
        column = next(name for name in _COLUMNS if name in rows[0])
        results = [row[column] for row in rows]
        return results if column == "report" else np.array(results)

    @property
    def error(self) -> float:
        """The one number that says how accurate the release is, in ``statement.error_unit``; NaN if unknown."""
        return math.nan if self.statement.error is None else self.statement.error

    @property
    def alpha(self) -> float | None:
        """alpha, rounded up; None for user-level DP."""
        return self.statement.alpha

    @property
    def summary(self) -> list[str]:
        """The values in a few lines."""
        return list(self.statement.summary)

    def rows(self) -> Rows:
        """One row for each output: its name, its place if it has one, the value, and its error."""
        return self.tables["values"]

    def shares(self, space: Space | None = None) -> ReleasedShares:
        """The unbiased shares of a histogram with their noise: its ``region`` and ``regions`` give intervals.

        Args:
            space: The study's space, where the release was read from a folder.
        """
        from barrow.study.region import released_shares  # decoders, which few releases are asked for

        return released_shares(self.statement, self.tables, self._on(space))

    def region(
        self, inside: Any, *, space: Space | None = None, confidence: float = 0.95, looked: bool = False
    ) -> RegionInterval:
        """An interval for the share of people's items in a region, from the published values alone; it costs nothing.

        Args:
            inside: One truth value for each item, or labels of items.
            space: The study's space, where the release was read from a folder.
            confidence: How often the interval holds, 0.5 or more.
            looked: Whether the region was chosen after looking at the release; such intervals are wider.
        """
        return self.shares(space).region(inside, confidence, looked=looked)

    def regions(
        self, regions: Sequence[Any], *, space: Space | None = None, confidence: float = 0.95
    ) -> list[RegionInterval]:
        """Intervals for a list of regions, chosen without looking, that hold all at once."""
        return self.shares(space).regions(regions, confidence)

    def sample(
        self, rows: int, *, within: Within = "uniform", space: Space | None = None, times: bool = False
    ) -> SyntheticRecords:
        """Synthetic records drawn from a released histogram, which belong to nobody; it costs nothing.

        Args:
            rows: How many.
            within: Where in its cell a record lies: ``"uniform"`` anywhere in it, ``"centre"`` in its middle.
            space: The study's space, where the release was read from a folder and does not hold it.
            times: Write hours of the day as clock times, and times since 1970 as timestamps.
        """
        from barrow.study.synthetic import sample_records

        return sample_records(self, rows, within=within, space=space, times=times)

    @property
    def space(self) -> Space | None:
        """The space, where the release was made just now or its statement holds what makes it."""
        return self.plan.terms.space if self.plan is not None else space_of(self.statement)

    def _on(self, space: Space | None) -> Space:
        """``space``, or its own where that is known."""
        result = self.space if space is None else space
        if result is None:
            raise ParameterError(
                "The release holds the digest of its space, not the space.",
                allowed="the study of the release",
                fix="--study study.toml, in Python space=study.space",
            )
        return result

    @property
    def report(self) -> Path:
        """The page that goes with the release."""
        return self.folder / "report.html"

    def intervals(self) -> Bounds:
        """Intervals of the values, and the regions that stand out from the noise, as the tables hold them."""
        return bounds_of(self.statement.answer, self.tables)

    def to_pandas(self) -> Any:
        """The values as a pandas frame."""
        return optional_library("pandas", extra="frames", purpose="pandas frames").DataFrame(columns_of(self.rows()))

    def to_polars(self) -> Any:
        """The values as a Polars frame."""
        return optional_library("polars", extra="frames", purpose="Polars frames").DataFrame(self.rows())

    def to_arrow(self) -> Any:
        """The values as a pyarrow table."""
        return optional_library("pyarrow", extra="frames", purpose="Arrow tables").table(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import duckdb  # which needs no pyarrow for it

        connection = duckdb.connect(":memory:")
        connection.register("released", columns_of(self.rows()))
        # What is registered is read when the stream is: the relation keeps it and its connection.
        return connection.sql("SELECT * FROM released").__arrow_c_stream__(requested_schema)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """GeoJSON with the polygon of each cell, which geopandas and others read."""
        return features(self.rows(), self.space)

    def __str__(self) -> str:
        return "\n".join([self.text.partition("\n\n")[0], "", *self.summary])  # the claim in full is in statement.txt

    def _repr_html_(self) -> str:
        rows = self.rows()
        more = f"<p>… and {len(rows) - 20:,} more</p>" if len(rows) > 20 else ""
        table = table_html(list(rows[0]), [list(row.values()) for row in rows[:20]])
        return f"{paragraphs_html(statement_lines(self.statement))}{table}{more}"


def features(rows: Rows, space: Space | None) -> dict[str, Any]:
    """GeoJSON of rows that are places: a polygon for each cell, or a point where cells are not known.

    Flows between places are lines, one for each that stands out from the noise.
    """
    lines = None if space is None else flow_lines(rows, space.records_space)
    if lines is not None:
        return {"type": "FeatureCollection", "features": lines}
    if not rows or "lat" not in rows[0] or "lon" not in rows[0]:
        raise ParameterError(
            "The released values are no places on the Earth.",
            allowed="a release on cells or hexagons of the Earth",
            fix="to_pandas() for the values as a frame",
        )
    shapes = _around(rows) if space is None else row_polygons(rows, space)
    return {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "id": i, "properties": {**row, **ends_of(row)}, "geometry": shape_of(shape, row)}
            for i, (row, shape) in enumerate(zip(rows, shapes, strict=True))
        ],
    }


def _around(rows: Rows) -> list[Any]:
    """Cells about places of which nothing else is known."""
    known = all(row["lat"] is not None for row in rows)
    corners = places_of(rows).corners if known else None
    return [None] * len(rows) if corners is None else list(corners)
