# ruff: noqa: S608 - SQL is built here from public numbers
"""Does an engine find the same items as the spaces themselves, bit for bit, where rounding and odd values matter?

Made-up public rows travel inside the statements, so nothing is created and no record is read: a user of a warehouse can
run this against it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.engines.base import Columns, engine_for
from barrow.engines.memory import encoded
from barrow.engines.source import Source
from barrow.engines.sql.dialects import Dialect, Table
from barrow.engines.sql.encoding import encoding_for
from barrow.engines.sql.pushdown import Reader, SqlEngine
from barrow.engines.sql.select_plan import reading_of
from barrow.errors import ParameterError
from barrow.spaces import Circle, Discrete, Earth, Elsewhere, Euclidean, Line, Product, Space
from barrow.spaces.space import Floats, Ids, Unknown

_DECADES = [10.0 ** (-9 + i / 20) for i in range(360)]
SPACES: dict[str, Space] = {
    "line": Line(0, 3, step=0.1),
    "line-odd": Line(-1e-3, 7.3, step=0.013),
    "line-far": Line(1e9, 1e9 + 1, step=0.001),
    "line-points": Line(-5, 5, points=sorted({math.sin(i) * 4.9 for i in range(200)})),
    "line-uneven": Line(0, 100, points=[*(10.0**-i for i in range(12, 0, -1)), 1.0, 2.0, 50.0, math.nextafter(50, 99)]),
    "line-decades": Line(0, 1e9, points=_DECADES),
    "line-threes": Line(-3, 9, step=3),
    "line-whole": Line(-2, 7, step=1, whole=True),
    "line-years": Line(10**9, 10**9 + 70, step=7),
    "one-point": Line(0, 1, points=[0.3]),
    "circle": Circle(24, step=0.7),
    "circle-odd": Circle(0.3, step=0.001),
    "box": Euclidean([0, -1, 5], [3, 1, 5.5], step=0.1),
    "disc": Euclidean(center=[0.1, -0.3], radius=1, step=0.07),
    "ball": Euclidean(center=[0.1, -0.3, 2], radius=1, step=0.3),
    "city": Earth(box=(40.5, -74.3, 41.0, -73.6), cell=1),
    "globe": Earth(cell=777),
    "pacific": Earth(box=(-10, 170, 10, 180), cell=100),
    "product": Product([Line(0, 3, step=0.1), Earth(cell=900)], weights=["1/2", "1/2"]),
}
WITH_OUTSIDE: dict[str, Space] = {
    "line-elsewhere": Elsewhere(Line(0, 3, step=0.1)),
    "points-elsewhere": Elsewhere(Line(-5, 5, points=sorted({math.sin(i) * 4.9 for i in range(20)}))),
    "whole-elsewhere": Elsewhere(Line(-2, 7, step=1, whole=True)),
    "box-elsewhere": Elsewhere(Euclidean([0, -1], [3, 1], step=0.1)),
    "city-elsewhere": Elsewhere(Earth(box=(40.5, -74.3, 41.0, -73.6), cell=1)),
}
"""Spaces with an item for what is outside; they know no nearest items."""
ODD = (
    0.0, -0.0, 5e-324, -5e-324, 2.3e-308, 1e-200, -1e-160, 1e308, -1e308, 1.7976931348623157e308, 1e17, 1e100, 1e101,
    -1e160, 1e200, 2.0**53, 2.0**63, math.inf, -math.inf, math.nan, 90.0, -90.0, 180.0, -180.0, 360.0,
)  # fmt: skip
TEXTS = (
    "1", " 7 ", "\t7\n", "+1", "-1", "+-1", "--1", "1.", ".5", ".", "", " ", "1e3", "1E3", "1e+3", "1e-3", "1e", "e1",
    "1_0", "1__0", "_1", "1_", "1_0e1_0", "1e400", "-1e400", "1e-400", "1e9999", "1e-9999", "1e99999", "1e00001",
    "1e+00001", "nan", "NaN", "-nan", "inf", "-inf", "Infinity", "+INFINITY", "infinit", "0x10", "0x1p3", "1d", "2.5F",
    "1f", "1L", "1,5", "1 5", "１", "\u00a01", "1\u2003", "\x1c1", "0b1", "1e1.5", "0" * 399 + "7",
    "0" * 400 + "7", "0." + "3" * 390, "9" * 320, "1" + "0" * 308, "1" + "0" * 309, "2.4703282292062327e-324",
    "2.4703282292062328e-324", "4.9e-324", "2.2250738585072011e-308", "1.7976931348623158e308",
    "1.7976931348623159e308", "9007199254740993", "9007199254740992.5", "0.1", "0.30000000000000004", "-0", "-0.0",
    "true", "null", "٣", "½",
)  # fmt: skip
MOMENTS = (
    "1970-01-01", "1969-12-31 23:59:59.999999", "2026-10-31T12:30Z", "2024-02-29 23:59", "2026-02-29", "1900-02-29",
    "2000-02-29", "0000-01-01", "0001-01-01", "2026-13-01", "2026-00-01", "2026-04-31", "2026-01-00", "2026-1-1",
    "2026-01-01 24:00", "2026-01-01 23:60", "2026-01-01 23:59:60", "2026-01-01T1:00", "2026-01-01 01:02:03.1234567",
    "2026-01-01 01:02:03.", "2026-01-01 01:02:03.1", "2026-01-01Z", "2026-01-01 01:02+00", "20260101", " 2026-01-01",
    "2026-01-01 ", "2026-01-01\n", "+026-01-01", "9999-12-31 23:59:59.999999", "12.5", "1e1", "", "Z", "Mon",
)  # fmt: skip
LABELS = (
    "a", "b", " b", "B", "é", "e\u0301", "a b", "7", "07", "ß", "SS", "ı", "I", "\U0001f600", "a'b", 'a"b', "a\\b",
)  # fmt: skip
BAD_LABELS = ("", "b ", "A", "zz", "É", "ss", "i", "a\tb", "%", "a%", "_")


@dataclass(frozen=True)
class Conformance:
    """How many cases an engine was asked and where it differs from the spaces."""

    engine: str
    cases: int
    rows: int
    differences: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether all items are the same."""
        return not self.differences

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        names = ("engine", "cases", "rows", "passed")
        return {**{name: getattr(self, name) for name in names}, "differences": list(self.differences)}

    def __str__(self) -> str:
        told = "the same items in all" if self.passed else f"{len(self.differences)} differ:"
        return "\n  ".join([f"{self.engine}: {self.cases} cases, {self.rows} rows, {told}", *self.differences])


def conformance(source: Any, *, rows: int = 600, **options: Any) -> Conformance:
    """Ask the engine of ``source`` for the items of so many made-up public rows a case; no record is read.

    >>> table = Source("sql", sql="SELECT 1 AS uid", acknowledged=True)
    >>> conformance(table, rows=40, progress=False, threads=1).passed
    True
    """
    where = Source.of(source)
    engine = engine_for(where, **options)
    if not isinstance(engine, SqlEngine):
        raise ParameterError(
            f"The {engine.name} engine has no SQL to check.", allowed="a database or a file", fix="give its address"
        )
    cases, total, differences = 0, 0, []
    for name, space, mode, form, values in every_case(rows):
        with engine._open(where, None) as reader:
            result = items_in_sql(reader, engine.dialect, space, values, mode, form)
        wrong = int(np.count_nonzero(result != items_in_python(space, values, mode)))
        cases, total = cases + 1, total + len(values)
        if wrong:
            differences.append(f"{name}, {mode}, {form}: {wrong} of {len(values)} rows")
    return Conformance(engine.name, cases, total, tuple(differences))


def every_case(rows: int) -> Iterator[tuple[str, Space, Unknown, str, np.ndarray[Any, np.dtype[Any]]]]:
    """Spaces, modes, kinds of columns, and rows for each."""
    modes: tuple[Unknown, Unknown] = ("error", "nearest")
    for name, space in SPACES.items():
        for mode in modes:
            yield name, space, mode, "real", adversarial_rows(space, rows)
    for name, space in WITH_OUTSIDE.items():
        yield name, space, "error", "real", adversarial_rows(space, rows)
    for mode in modes:
        texts = np.array(TEXTS, dtype=object)[:, None]
        yield "number-texts", Line(-100, 100, step=0.25), mode, "text", texts
        yield "tiny-texts", Line(0, 1, points=[5e-324, 1e-323, 0.1, 0.30000000000000004]), mode, "text", texts
        yield "large-texts", Line(0, 2.0**54, points=[2.0**53 - 2, 2.0**53, 2.0**53 + 2]), mode, "text", texts
    moments = np.array([*MOMENTS, None], dtype=object)[:, None]
    yield "hours", Circle.hours(step=0.25), "error", "text", moments
    yield "weekdays", Circle.weekdays(), "error", "text", moments
    yield "dates", Line(-(10.0**6), 10.0**7, step=1, unit="days"), "error", "text", moments
    labels = np.array([*LABELS, *BAD_LABELS, None], dtype=object)[:, None]
    yield "labels", Discrete(list(LABELS)), "error", "text", labels


def boundaries(space: Space) -> list[Floats]:
    """Values where the item changes, for each column."""
    parts = [part for part, _ in space.geometry.parts]
    if parts:
        return [edges for part in parts for edges in boundaries(part)]
    return space.formula.boundaries


def adversarial_rows(space: Space, rows: int) -> Floats:
    """Rows of boundaries, their neighbours and odd numbers, the same ones each time."""
    columns = []
    for place, edges in enumerate(boundaries(space)):
        near = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), np.array(ODD)])
        # Steps that share no factor with the length visit all values, in another order for each column.
        step = next(s for s in range(7919 + 2 * place, 10**6) if math.gcd(s, len(near)) == 1)
        columns.append(near[(np.arange(rows) * step + 31 * place) % len(near)])
    return np.stack(columns, axis=1)


def items_in_python(space: Space, values: np.ndarray[Any, np.dtype[Any]], mode: Unknown) -> Ids:
    """Items by the space itself, -1 where a row is lost."""
    columns = Columns("u", [f"c{i}" for i in range(space.reads.columns)])
    return encoded({f"c{i}": values[:, i] for i in range(values.shape[1])}, columns, space, mode)


def items_in_sql(
    reader: Reader,
    dialect: Dialect,
    space: Space,
    values: np.ndarray[Any, np.dtype[Any]],
    mode: Unknown,
    form: str = "real",
) -> Ids:
    """Items by an engine, -1 where a row is lost; the rows travel as a public table."""
    columns = Columns("r", [f"c{i}" for i in range(values.shape[1])])
    given: Table = {"r": np.arange(len(values), dtype=np.int64)}
    given |= {f"c{i}": values[:, i] for i in range(values.shape[1])}
    names = ", ".join(f"given_rows.{name} AS {name}" for name in given)
    table = f"(SELECT {names} FROM (SELECT 1 AS one) AS q9 JOIN given_rows ON q9.one = 1) AS given"
    encoding = encoding_for(space, columns, mode, dialect)
    for name, public in {"given_rows": given, **encoding.tables}.items():
        reader.table(name, public)
    kinds = {"r": "integer", **dict.fromkeys(columns.items, form)}
    coded = reading_of(table, kinds, columns, space, encoding, dialect).coded()
    item = dialect.as_whole(f"coalesce({encoding.item}, -1)")
    answer = reader.arrays(f"SELECT u, {item} AS item FROM ({coded}) AS q2 {' '.join(encoding.late_joins)}")
    ids = np.full(len(values), -9, dtype=np.int64)
    ids[answer["u"].astype(np.int64)] = answer["item"]
    return ids
