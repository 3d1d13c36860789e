"""Spaces in SQL: from columns to item ids with +, -, *, floor and comparisons against public tables only.

Every expression is the one that :meth:`barrow.spaces.Space.encode` evaluates, on IEEE doubles, operation by operation,
so ids are identical bit for bit. An item is found in two steps: *keys* are computed for each record and grouped by;
*items* are computed from the few distinct keys afterwards (labels are looked up once for each distinct label).

In DuckDB, NaN equals itself and is above every number; a missing value makes a comparison neither true nor false.
Hence ``x <= high`` refuses NaN, and only what tests ``x > high`` has to ask for NaN first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from barrow.engines.columns import Columns, flat_groups
from barrow.errors import ParameterError
from barrow.spaces import Circle, Earth, Euclidean, Hexagons, Line, Space
from barrow.spaces.base import Floats, Unknown
from barrow.spaces.finite import LabelledSpace

Table = dict[str, np.ndarray[Any, np.dtype[Any]]]

_WIDEST_BUCKET = 16
_MOST_BUCKETS = 2**20
_MOST_SEARCHED = 2000
_MOST_BALL_DIMENSIONS = 7
"""numpy adds up to 7 squares from left to right; from 8 on it adds in another order, which SQL does not follow."""


@dataclass
class Encoding:
    """The SQL of a space: moved values, keys for each record, and the item of each distinct key.

    Attributes:
        moves: Expressions over the columns x0, x1, … for y0, y1, … (``unknown="nearest"`` moves values).
        keys: Expressions over y0, y1, … and public tables for k0, k1, …, which are grouped by.
        joins: Joins of public tables to each record.
        late_joins: Joins of public tables to the distinct keys.
        item: The expression over k0, k1, … for the item, NULL where it is lost.
        tables: The public tables.

    >>> encoding_for(Circle.weekdays(), Columns("uid", "day"), "error").item
    'late0.id'
    """

    moves: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    joins: list[str] = field(default_factory=list)
    late_joins: list[str] = field(default_factory=list)
    item: str = ""
    tables: dict[str, Table] = field(default_factory=dict)


def encoding_for(space: Space, columns: Columns, unknown: Unknown) -> Encoding:
    """The SQL that finds items; refuses a space that only Python can encode.

    >>> encoding_for(Line(0, 10, step=1), Columns("uid", "x"), "error").keys
    ["CASE WHEN y0 >= '0.0'::DOUBLE AND y0 <= '10.0'::DOUBLE THEN
    LEAST(CAST(floor((y0 - '0.0'::DOUBLE) * '1.0'::DOUBLE) AS BIGINT), 9) END"]
    """
    if unknown not in ("error", "nearest", "default"):
        raise ParameterError(
            f"unknown is {unknown!r}.", allowed="'error', 'nearest' or 'default'", fix="unknown='default'"
        )
    if space.items >= 2**62:
        raise ParameterError("The space has more than 2^62 items.", allowed="fewer items", fix="a coarser grid")
    result = Encoding()
    terms = [_part(result, part, len(group), unknown) for part, group in flat_groups(columns, space)]
    item = terms[0]
    for (part, _), term in list(zip(flat_groups(columns, space), terms, strict=True))[1:]:
        # Row-major numbering is the same for a product of products as for one flat product.
        item = f"({item}) * {part.items} + ({term})"
    result.item = item
    return result


def double(x: float) -> str:
    """A double in SQL; a plain 0.1 would be a decimal there.

    >>> double(0.1)
    "'0.1'::DOUBLE"
    """
    return f"'{float(x)!r}'::DOUBLE"


def _part(result: Encoding, space: Space, columns: int, unknown: Unknown) -> str:
    """Add one space that is not a product; the expression for its item over the keys."""
    y = [f"y{len(result.moves) + i}" for i in range(columns)]
    x = [f"x{len(result.moves) + i}" for i in range(columns)]
    key = f"k{len(result.keys)}"
    if isinstance(space, Circle) and space.names is None:
        moved, code = _circle(space, x, y, unknown)
    elif isinstance(space, Line):
        moved, code = _line(result, space, x, y, unknown)
    elif isinstance(space, Earth):
        moved, code = _earth(result, space, x, y, unknown)
    elif isinstance(space, Euclidean):
        moved, code = _euclidean(space, x, y, unknown)
    elif isinstance(space, LabelledSpace | Circle) and columns == 1:
        space.encode([], unknown=unknown)  # refuses "nearest", which labels do not have
        moved, code = x, y[0]
    else:
        raise _cannot(space)
    result.moves += moved
    result.keys.append(code)
    return _late(result, space, key)


def _late(result: Encoding, space: Space, key: str) -> str:
    """What is looked up only for distinct keys: labels, and the cells of a ball."""
    name = f"late{len(result.late_joins)}"
    if isinstance(space, LabelledSpace | Circle) and (not isinstance(space, Circle) or space.names is not None):
        labels = space.labels
        table = {"label": np.array(labels, dtype=object), "id": np.arange(len(labels), dtype=np.int64)}
        result.late_joins.append(f"LEFT JOIN {name} ON {name}.label = CAST({key} AS VARCHAR)")
    elif isinstance(space, Euclidean) and space._cell_ids is not None:
        cells = np.flatnonzero(space._cell_ids >= 0)
        table = {"cell": cells.astype(np.int64), "id": space._cell_ids[cells].astype(np.int64)}
        result.late_joins.append(f"LEFT JOIN {name} ON {name}.cell = {key}")
    else:
        return key
    result.tables[name] = table
    return f"{name}.id"


def _clipped(x: str, low: float, high: float) -> str:
    return (
        f"CASE WHEN isnan({x}) THEN NULL WHEN {x} < {double(low)} THEN {double(low)} "
        f"WHEN {x} > {double(high)} THEN {double(high)} ELSE {x} END"
    )


def _within(y: str, low: float, high: float) -> str:
    return f"{y} >= {double(low)} AND {y} <= {double(high)}"


def _cell(y: str, low: float, scale: str, last: str) -> str:
    return f"LEAST(CAST(floor(({y} - {double(low)}) * {scale}) AS BIGINT), {last})"


def _circle(space: Circle, x: Sequence[str], y: Sequence[str], unknown: Unknown) -> tuple[list[str], str]:
    period = double(space.period)
    move = x[0]
    if unknown == "nearest":
        turned = f"({move} - {period} * floor({move} * {double(1.0 / space.period)}))"
        zero = double(0.0)
        move = (
            f"CASE WHEN isfinite({move}) THEN "
            f"CASE WHEN {turned} < {zero} OR {turned} >= {period} THEN {zero} ELSE {turned} END END"
        )
    last = space.items - 1
    cell = f"LEAST(CAST(floor({y[0]} * {double(space.scale)}) AS BIGINT), {last})"
    return [move], f"CASE WHEN {y[0]} >= {double(0.0)} AND {y[0]} < {period} THEN {cell} END"


def _line(result: Encoding, space: Line, x: Sequence[str], y: Sequence[str], unknown: Unknown) -> tuple[list[str], str]:
    move = _clipped(x[0], space.low, space.high) if unknown == "nearest" else x[0]
    inside = _within(y[0], space.low, space.high)
    if not space.exact_points:
        cell = _cell(y[0], space.low, double(space.scale), str(space.items - 1))
        return [move], f"CASE WHEN {inside} THEN {cell} END"
    buckets = _buckets(space.low, space.high, space.thresholds)
    if buckets is None:
        return [move], f"CASE WHEN {inside} THEN {_search(y[0], space.thresholds, 0, len(space.thresholds))} END"
    name = f"early{len(result.joins)}"
    scale, table = buckets
    result.tables[name] = table
    safe = f"CASE WHEN {inside} THEN {y[0]} ELSE {double(space.low)} END"
    result.joins.append(
        f"JOIN {name} ON {name}.bucket = {_cell(safe, space.low, double(scale), str(len(table['bucket']) - 1))}"
    )
    reached = [f"CAST({y[0]} >= {name}.t{i} AS BIGINT)" for i in range(len(table) - 2)]
    return [move], f"CASE WHEN {inside} THEN {' + '.join([f'{name}.first', *reached])} END"


def _search(y: str, thresholds: Floats, start: int, end: int) -> str:
    """How many thresholds a value reaches, by nested halving; slow for many, right for any spacing."""
    if start == end:
        return str(start)
    middle = (start + end) // 2
    low, high = _search(y, thresholds, start, middle), _search(y, thresholds, middle + 1, end)
    return f"CASE WHEN {y} < {double(thresholds[middle])} THEN {low} ELSE {high} END"


def _buckets(low: float, high: float, thresholds: Floats) -> tuple[float, Table] | None:
    """A public table that says how many thresholds a value reaches: those of lower buckets, and its bucket's own.

    None where thresholds are so unevenly spaced that no table of a modest size parts them.

    The bucket b(x) = floor((x - low) * scale) never falls when x rises, rounding included, so thresholds of lower
    buckets are below x and those of higher ones above; within the bucket they are compared one by one.
    """
    count = 1
    while True:
        scale = count / (high - low)
        bucket = np.minimum(np.floor((thresholds - low) * scale), count - 1).astype(np.int64)
        held = np.bincount(bucket, minlength=count)
        widest = int(held.max(initial=0))
        if widest <= 4 or (count > 8 * len(thresholds) and widest <= _WIDEST_BUCKET):
            break
        if count >= _MOST_BUCKETS:
            if len(thresholds) <= _MOST_SEARCHED:
                return None
            raise ParameterError(
                "The line has many points, too unevenly spaced to be found in SQL.",
                allowed=f"at most {_MOST_SEARCHED} points, or more evenly spaced ones",
                fix="merge points that are very near to each other",
            )
        count *= 2
    first = np.searchsorted(bucket, np.arange(count), side="left")
    padded = np.append(thresholds, np.full(widest + 1, np.inf))
    table: Table = {"bucket": np.arange(count, dtype=np.int64), "first": first.astype(np.int64)}
    for i in range(widest):
        table[f"t{i}"] = np.where(i < held, padded[np.minimum(first + i, len(thresholds))], np.inf)
    return scale, table


def _earth(
    result: Encoding, space: Earth, x: Sequence[str], y: Sequence[str], unknown: Unknown
) -> tuple[list[str], str]:
    (south, west, north, east), rows = space.box, space.rows
    moves = list(x)
    if unknown == "nearest":
        on_earth = f"{_within(x[0], -90.0, 90.0)} AND {_within(x[1], -180.0, 180.0)}"
        beyond = [_turned(f"({double(west)} - {x[1]})"), _turned(f"({x[1]} - {double(east)})")]
        side = f"CASE WHEN {beyond[0]} < {beyond[1]} THEN {double(west)} ELSE {double(east)} END"
        nearest = f"CASE WHEN {_within(x[1], west, east)} THEN {x[1]} ELSE {side} END"
        moves = [f"CASE WHEN {on_earth} THEN {z} END" for z in (_clipped(x[0], south, north), nearest)]
    inside = f"{_within(y[0], south, north)} AND {_within(y[1], west, east)}"
    name = f"early{len(result.joins)}"
    result.tables[name] = {
        "line": np.arange(len(rows.columns), dtype=np.int64),
        "first": rows.first,
        "last": rows.columns - 1,
        "scale": rows.column_scale,
    }
    safe = f"CASE WHEN {inside} THEN {y[0]} ELSE {double(south)} END"
    row = _cell(safe, south, double(rows.row_scale), str(len(rows.columns) - 1))
    result.joins.append(f"JOIN {name} ON {name}.line = {row}")
    column = _cell(y[1], west, f"{name}.scale", f"{name}.last")
    return moves, f"CASE WHEN {inside} THEN {name}.first + {column} END"


def _turned(a: str) -> str:
    """``a`` modulo 360 for ``a`` from -360 to 360, rounded as numpy's ``mod`` rounds."""
    turn, zero = double(360.0), double(0.0)
    return (
        f"CASE WHEN {a} >= {turn} THEN {a} - {turn} WHEN {a} >= {zero} THEN {a} "
        f"WHEN {a} > {double(-360.0)} THEN {a} + {turn} ELSE {zero} END"
    )


def _euclidean(space: Euclidean, x: Sequence[str], y: Sequence[str], unknown: Unknown) -> tuple[list[str], str]:
    low, high, shape, scale = space.low, space.high, space.shape, space.scale
    if space.center is not None and space.radius is not None:
        if space.dimension > _MOST_BALL_DIMENSIONS:
            raise _cannot(space)
        inside = f"{_norm(y, space.center)} <= {double(space.radius)}"
        moves = _into_ball(space.center, space.radius, x) if unknown == "nearest" else list(x)
    else:
        inside = " AND ".join(_within(y[i], low[i], high[i]) for i in range(len(y)))
        moves = [_clipped(x[i], low[i], high[i]) if unknown == "nearest" else x[i] for i in range(len(x))]
    flat = ""
    for i in range(len(y)):
        cell = _cell(y[i], low[i], double(scale[i]), str(shape[i] - 1))
        flat = f"({flat}) * {shape[i]} + {cell}" if flat else cell
    return moves, f"CASE WHEN {inside} THEN {flat} END"


def _norm(x: Sequence[str], center: Floats) -> str:
    away = [f"({a} - {double(c)})" for a, c in zip(x, center, strict=True)]
    return f"sqrt({' + '.join(f'{d} * {d}' for d in away)})"


def _into_ball(center: Floats, radius: float, x: Sequence[str]) -> list[str]:
    norm = _norm(x, center)
    shrink = (
        f"CASE WHEN {norm} > {double(radius)} THEN {double(radius * (1.0 - 2.0**-50))} / "
        f"GREATEST({norm}, {double(1e-300)}) ELSE {double(1.0)} END"
    )
    return [f"{double(c)} + ({a} - {double(c)}) * ({shrink})" for a, c in zip(x, center, strict=True)]


def _cannot(space: Space) -> ParameterError:
    if isinstance(space, Hexagons):
        return ParameterError(
            "Hexagons are found from latitude and longitude in Python only, not inside the engine.",
            allowed="one column of H3 cells, or a space with a grid of its own",
            fix="add a column of H3 cells to the records, or use an Earth space: earth(box=…, cell=1)",
        )
    return ParameterError(
        f"The {space.kind} space cannot be encoded inside the engine.",
        allowed="line, circle, euclidean (a ball in at most 7 dimensions), earth, product, and spaces of labels",
        fix="add a column of labels to the records and use a space of labels",
    )
