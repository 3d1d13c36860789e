"""Counts that somebody's own engine made by the SELECT of ``barrow sql``: read, checked, and released from.

The file holds a row for each item and one for the people, of each group and period. It is taken only if its mark is
that of the SELECT that this study writes, if its columns hold whole numbers, and if the items of each group and period
weigh together what its people should weigh.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import numpy as np

from barrow.engines.base import Columns, CountRequest, Engine
from barrow.engines.breakdown import WHOLE, Breakdown, Cell
from barrow.engines.counts import CheckReport, Counts, Integers, Sampled, known_items, refuse_states
from barrow.engines.source import Source
from barrow.engines.sql.foreign import FOREIGN, MARK, NUMBERS, written
from barrow.engines.sql.public_tables import INCOMPLETE
from barrow.engines.sql.select_plan import masses_of
from barrow.engines.sums import ItemSums, sums_of_cells
from barrow.errors import DataError, ParameterError, plain_file
from barrow.noise import RandomSource
from barrow.spaces import Space
from barrow.spaces.space import Unknown

_WHOLE = re.compile(r"-?[0-9]{1,19}(\.0*)?")


def counted_source(path: str | Path) -> Source:
    """The source that a file of counts is; its mark, which is public, is read."""
    marks = {row[0] for row in _rows(path, [MARK])}
    if len(marks) != 1:
        raise ParameterError(
            f"The file {str(path)!r} does not hold the counts of one statement.",
            allowed=f"the rows of the SELECT that barrow sql wrote, with its column {MARK}",
            fix="write all its rows, and no others, to the file",
        )
    if marks == {INCOMPLETE}:
        raise ParameterError(
            "When the SELECT ran, its public table lacked rows, or held some twice.",
            allowed="the public table as the script beside the SELECT makes it",
            fix="DROP TABLE, run the script once, and then the SELECT again",
        )
    return Source("counts", path=str(path), table=str(next(iter(marks))))


def _rows(path: str | Path, names: list[str]) -> list[tuple[Any, ...]]:
    """The columns of a file of counts as texts; names may be in capitals."""
    file = plain_file(path, "The file of counts")
    call = {".parquet": "read_parquet(?)", ".csv": "read_csv(?, header = true, all_varchar = true)"}.get(file.suffix)
    if call is None or not file.is_file():
        raise ParameterError(
            f"There are no counts in {str(path)!r}.", allowed="a .parquet or .csv file", fix="--counts counts.parquet"
        )
    with duckdb.connect() as session:
        try:
            result = session.execute(f"DESCRIBE SELECT * FROM {call}", [str(file)]).fetchall()  # noqa: S608
            there = {str(row[0]).lower(): (str(row[0]), str(row[1])) for row in result}
            missing = [name for name in names if name not in there]
            floats = [name for name in names if name in there and there[name][1] in ("FLOAT", "DOUBLE")]
            if missing or floats:
                raise ParameterError(
                    f"The file {str(path)!r} lacks the column {missing[0]!r}."
                    if missing
                    else f"The column {floats[0]!r} of {str(path)!r} holds floats, which lose digits.",
                    allowed=f"the columns {', '.join((*NUMBERS, MARK))}, whole numbers as such or as texts",
                    fix="write the result of the SELECT as it is",
                )
            picks = ", ".join('CAST("{}" AS VARCHAR)'.format(there[name][0].replace('"', '""')) for name in names)
            return session.execute(f"SELECT {picks} FROM {call}", [str(file)]).fetchall()  # noqa: S608
        except duckdb.Error:
            pass
    raise ParameterError(
        f"The file {str(path)!r} cannot be read.", allowed="a .parquet or .csv file", fix="write it again"
    )


@dataclass(frozen=True)
class CountedEngine(Engine):
    """Reads the rows that the SELECT of ``barrow sql`` gave in some warehouse.

    >>> CountedEngine().name
    'counts'
    """

    name: ClassVar[str] = "counts"
    sums_alone: ClassVar[bool] = True

    def columns(self, source: Any) -> dict[str, str]:
        """The columns of the file; those of the records are where they were counted."""
        return dict.fromkeys((*NUMBERS, MARK), "any")

    def validate(self, source: Any, columns: Columns, space: Space, *, unknown: Unknown = "error") -> None:
        """Refuse counts that were not made by the SELECT of these columns and this space.

        Which groups and periods it tells apart is known when they are counted, which is before anything is charged.
        """
        if columns.group is None and columns.time is None:
            _check_mark(source, columns, space, unknown, WHOLE)

    def _sum(self, request: CountRequest) -> dict[Cell, ItemSums]:
        breakdown = request.breakdown
        _check_mark(request.source, request.columns, request.space, request.unknown, breakdown)
        names = [*NUMBERS, *(["g"] if breakdown.labels else []), *(["s"] if breakdown.timed else [])]
        rows = _rows(str(request.source.path), names)
        if not all(isinstance(x, str) and _WHOLE.fullmatch(x) for row in rows for x in row):
            raise _odd()
        try:
            numbers = np.array([[int(x.partition(".")[0]) for x in row] for row in rows], dtype=np.int64)
        except OverflowError:
            raise _odd() from None
        answer: dict[str, Integers] = dict(zip(names, numbers.reshape(-1, len(names)).T, strict=True))
        refuse_states(answer["item"])  # whose groups and periods may be none
        layer, groups = breakdown.layers[0], max(1, len(breakdown.labels))
        for name, most in (("g", groups), ("s", len(layer.spans)), ("item", request.space.items)):
            column = answer.get(name, answer["item"][:0])
            if column.size and (int(column.max()) >= most or (name != "item" and int(column.min()) < 0)):
                raise _odd()
        result = masses_of(answer, groups, len(layer.spans))
        items = known_items(result["item"], request.space.default_item, request.unknown)
        known = {**result, "item": items}
        return breakdown.gathered(lambda each: sums_of_cells(breakdown, each, known))

    def _count(self, request: CountRequest) -> dict[Cell, Counts]:
        raise self._sums_only()

    def _sample(self, request: CountRequest, samples: int, randomness: RandomSource | None) -> Sampled:
        raise self._sums_only()

    def _check(self, request: CountRequest, examples: int) -> CheckReport:
        raise self._sums_only()

    def _sums_only(self) -> ParameterError:
        return ParameterError(
            "A file of counts holds sums over all people, and this question needs the records themselves.",
            allowed="means, quantiles, histograms, maps and other averages over people, by groups and periods too",
            fix="an engine that barrow reads itself (Postgres, Spark, DuckDB)",
        )


def _check_mark(source: Any, columns: Columns, space: Space, unknown: Unknown, breakdown: Breakdown) -> None:
    mark = str(Source.of(source).table)
    dialect = mark.partition(" ")[0]
    known = {"dialect": dialect, "unknown": unknown, "breakdown": breakdown}
    if dialect not in FOREIGN or written(space, columns, **known).mark != mark:  # type: ignore[arg-type]
        raise ParameterError(
            "The counts were not made by the SELECT that this study writes.",
            allowed="the rows of barrow sql for the same columns, space, rules, groups and periods",
            fix="write the SELECT again (barrow sql --dialect …, with --period, --pool and --by as here), run "
            "it, and write its rows to the file",
        )


def _odd() -> DataError:
    return DataError(
        "The counts are not whole numbers of items, groups and periods of the study.",
        allowed="the rows of the SELECT as they are",
        fix="write them again as whole numbers, decimals without places, or texts",
    )
