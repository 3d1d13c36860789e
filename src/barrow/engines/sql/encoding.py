"""Spaces in SQL: from columns to item ids with +, -, *, floor and comparisons against public tables only.

It is written from the formula of the space: every expression is the one that :meth:`barrow.spaces.Space.encode`
evaluates, on IEEE doubles, operation by operation, so ids are identical bit for bit on every engine. An item is found
in two steps: *keys* are computed for each record and grouped by; *items* are computed from the few distinct keys
afterwards (labels are looked up once for each label).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from barrow.engines.base import Columns, flat_groups, refuse_unknown
from barrow.engines.counts import FRACTION
from barrow.engines.sql.dialects import DUCKDB, Dialect, Table
from barrow.errors import ParameterError
from barrow.spaces import Space
from barrow.spaces.records import AxisCells, Ball, Formula, Inside, Labels, LatitudeRows, Outside, Reached, Turn
from barrow.spaces.space import Floats, Unknown, only_in_python

_WIDEST_BUCKET = 16
_MOST_BUCKETS = 2**20
_MOST_SEARCHED = 2000
_MOST_BALL_DIMENSIONS = 7
"""numpy adds up to 7 squares from left to right; from 8 on it adds in another order, which SQL does not follow."""
_MOST_LISTED = 10.0**6
"""Whole numbers of a line or a circle that a public table lists, and how far from 0 they may be."""
_TINY = 1e-150
"""The square of less than this vanishes beside the square of any radius that a space can have."""


@dataclass
class Encoding:
    """The SQL of a space: moved values, keys for each record, and the item of each distinct key.

    Attributes:
        moves: Expressions over the columns x0, x1, … for y0, y1, … (``unknown="nearest"`` moves values).
        keys: Expressions over y0, y1, … and public tables for k0, k1, …, which are grouped by.
        joins: Joins of public tables to each record.
        late_joins: Joins of public tables to the distinct keys.
        item: The expression over k0, k1, … for the item, NULL where it is lost.
        fractions: Rules over k0, k1, … that say where a number is not whole, though only whole ones are exact.
        tables: The public tables.
    """

    moves: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    joins: list[str] = field(default_factory=list)
    late_joins: list[str] = field(default_factory=list)
    item: str = ""
    fractions: list[str] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)


def encoding_for(space: Space, columns: Columns, unknown: Unknown, dialect: Dialect = DUCKDB) -> Encoding:
    """The SQL that finds items; refuses a space that only Python can encode."""
    if space.items >= 2**62:
        raise ParameterError("The space has more than 2^62 items.", allowed="fewer items", fix="a coarser grid")
    writer = _Writer(dialect, unknown, Encoding())
    item = ""
    refuse_unknown(columns, space, unknown)
    for part, group, reads in flat_groups(columns, space):
        formula = part.formula
        ball = isinstance(formula, AxisCells) and formula.ball is not None
        if reads != part.reads or (ball and len(group) > _MOST_BALL_DIMENSIONS):
            raise only_in_python(part.kind, reads)
        term = writer.part(formula, len(group))
        # Row-major numbering is the same for a product of products as for one flat product.
        item = f"({item}) * {part.items} + ({term})" if item else term
    fractions = " OR ".join(writer.result.fractions)
    writer.result.item = f"CASE WHEN {fractions} THEN {FRACTION} ELSE {item} END" if fractions else item
    return writer.result


@dataclass(frozen=True)
class _Writer:
    """Writes the expressions of one space after another in one dialect."""

    dialect: Dialect
    unknown: Unknown
    result: Encoding

    def part(self, formula: Formula, columns: int) -> str:
        """Add the formula of one space that is not a product; the expression for its item over the keys."""
        result = self.result
        y = [f"y{len(result.moves) + i}" for i in range(columns)]
        x = [f"x{len(result.moves) + i}" for i in range(columns)]
        if self.dialect.decimals and not isinstance(formula, Labels):
            return self._listed(formula, x, y)
        if isinstance(formula, Outside):
            term = self.part(formula.inside, columns)
            result.keys[-1] = f"coalesce({self.dialect.key_or_null(result.keys[-1])}, {self._outside(formula, y)})"
            return term
        key = f"k{len(result.keys)}"
        moved, code = self._key(formula, x, y)
        result.moves += moved
        result.keys.append(code)
        return self._late(formula, key)

    def _key(self, formula: Inside, x: Sequence[str], y: Sequence[str]) -> tuple[list[str], str]:
        """The moved values, and the key of each record."""
        match formula:
            case Labels():
                return list(x), y[0]
            case Turn():
                return self._turn(formula, x[0], y[0])
            case Reached():
                return self._reached(formula, x[0], y[0])
            case LatitudeRows():
                return self._rows(formula, x, y)
            case AxisCells(ball=ball):
                return self._cells(formula, x, y) if ball is None else self._ball(formula, ball, x, y)

    def _late(self, formula: Inside, key: str) -> str:
        """What is looked up only for distinct keys: labels, and the cells of a ball."""
        name = f"late{len(self.result.late_joins)}"
        table: Table
        match formula:
            case Labels(known):
                ids = np.array(list(known.values()), dtype=np.int64)
                table = {"label": np.array(list(known), dtype=object), "id": ids}
                key = self.dialect.as_text(key)
            case AxisCells(ball=Ball(items=items)):
                cells = np.flatnonzero(items >= 0)
                table = {"cell": cells.astype(np.int64), "id": items[cells].astype(np.int64)}
            case _:
                return self.dialect.key_or_null(key)
        self.result.late_joins.append(f"LEFT JOIN {name} ON {name}.{next(iter(table))} = {key}")
        self.result.tables[name] = table
        return f"{name}.id"

    def _listed(self, formula: Formula, x: Sequence[str], y: Sequence[str]) -> str:
        """Whole numbers, each with the item that the space itself finds; the first and the last stand for all beyond.

        Decimals round where doubles do not, so what is not whole, or beyond 2^53, is no lost record but refused.
        """
        low, high = _ends(formula)
        turning = isinstance(formula, Turn) and self.unknown == "nearest"
        if not -_MOST_LISTED < low <= high < _MOST_LISTED or high - low > _MOST_LISTED or turning:
            raise ParameterError(
                "Only whole numbers of one column are exact where an engine's numbers are decimals (Oracle).",
                allowed="labels, and lines and circles over whole numbers up to a million from 0",
                fix="an engine whose doubles are those of IEEE, or labels of cells that a view computes",
            )
        numbers = np.arange(math.ceil(low) - 1, math.floor(high) + 2)
        ids = formula.find(numbers.astype(np.float64), self.unknown == "nearest")
        (z,), (first, last), none = y, (int(numbers[0]), int(numbers[-1])), int(numbers[0]) - 1
        key, name = f"k{len(self.result.keys)}", f"late{len(self.result.late_joins)}"
        listed = (
            f"CASE WHEN {z} < {first} THEN {first} WHEN {z} > {last} THEN {last} ELSE {self.dialect.as_whole(z)} END"
        )
        whole = f"CASE WHEN {self.dialect.floor(z)} = {z} THEN {listed} ELSE {none} END"
        exact = f"CASE WHEN {self._within(z, -(2.0**53), 2.0**53)} THEN {whole} ELSE {none} END"
        self.result.moves += list(x)
        self.result.keys.append(f"CASE WHEN {z} IS NOT NULL THEN {exact} END")
        self.result.fractions.append(f"{key} = {none}")
        self.result.late_joins.append(f"LEFT JOIN {name} ON {name}.whole = {key}")
        self.result.tables[name] = {"whole": numbers[ids >= 0], "id": ids[ids >= 0]}
        return f"{name}.id"

    def _number(self, x: float) -> str:
        return self.dialect.number_literal(x)

    def _within(self, y: str, low: float, high: float) -> str:
        return f"{y} >= {self._number(low)} AND {y} <= {self._number(high)}"

    def _known(self, y: str, low: float, high: float) -> str:
        return self.dialect.known(y, self._number(low), self._number(high))

    def _found(self, inside: str, item: str) -> str:
        return f"CASE WHEN {inside} THEN {item}{self.dialect.no_key} END"

    def _clipped(self, x: str, low: float, high: float) -> str:
        infinity = self.dialect.infinity
        return (
            f"CASE WHEN {self._within(x, low, high)} THEN {x} "
            f"WHEN {x} < {self._number(low)} AND {x} >= -{infinity} THEN {self._number(low)} "
            f"WHEN {x} > {self._number(high)} AND {x} <= {infinity} THEN {self._number(high)} END"
        )

    def _cell(self, y: str, low: float, scale: str, last: str, most: float) -> str:
        """floor((y - low) * scale), at most ``last``; ``most`` is the largest that the scale can be."""
        away = f"({y} - {self._number(low)})"
        cell = f"LEAST({self.dialect.as_whole(f'floor({away} * {scale})')}, {last})"
        if self.dialect.traps and abs(low) < 1e-200:  # only here can the product underflow
            near = 0.5 / most if most > 1.0 else 0.5
            cell = f"CASE WHEN {away} < {self._number(near)} THEN {self.dialect.as_whole('0')} ELSE {cell} END"
        return cell

    def _outside(self, formula: Outside, y: Sequence[str]) -> str:
        """The item for what is outside, where the numbers are a point at all."""
        placed = " AND ".join(self._within(a, -end, end) for a, end in zip(y, formula.most, strict=True))
        item = str(formula.item)
        if formula.whole:
            # Beyond 2^53 all doubles are whole. Nested: engines may evaluate both sides of AND.
            small = self._within(y[0], -(2.0**53), 2.0**53)
            item = f"CASE WHEN {small} THEN CASE WHEN floor({y[0]}) = {y[0]} THEN {item} END ELSE {item} END"
        return f"CASE WHEN {placed} THEN {item} END"

    def _turn(self, turn: Turn, x: str, y: str) -> tuple[list[str], str]:
        period, zero, move = self._number(turn.period), self._number(0.0), x
        if self.unknown == "nearest":
            turns = self.dialect.floor(f"{x} * {self._number(1.0 / turn.period)}")
            turned = f"({x} - {period} * {turns})"
            move = f"CASE WHEN {turned} < {zero} OR {turned} >= {period} THEN {zero} ELSE {turned} END"
            if self.dialect.traps:  # the first cell, from either side, as where nothing underflows
                move = f"CASE WHEN {self._within(x, -1e-250, 1e-250)} THEN {zero} ELSE {move} END"
            move = f"CASE WHEN {self._within(x, -turn.farthest, turn.farthest)} THEN {move} END"
        cell = self._cell(
            self._known(y, 0.0, turn.period), 0.0, self._number(turn.scale), str(turn.count - 1), turn.scale
        )
        first = self.dialect.as_whole("0")  # 24:00 is 0:00
        return [move], self._found(f"{y} >= {zero} AND {y} < {period}", f"{cell} WHEN {y} = {period} THEN {first}")

    def _reached(self, line: Reached, x: str, y: str) -> tuple[list[str], str]:
        move = self._clipped(x, line.low, line.high) if self.unknown == "nearest" else x
        inside = self._within(y, line.low, line.high)
        buckets = _buckets(line.low, line.high, line.thresholds)
        if buckets is None:
            return [move], self._found(inside, self._search(y, line.thresholds))
        name = f"early{len(self.result.joins)}"
        scale, table = buckets
        self.result.tables[name] = table
        safe = f"CASE WHEN {inside} THEN {y} ELSE {self._number(line.low)} END"
        bucket = self._cell(safe, line.low, self._number(scale), str(len(table["bucket"]) - 1), scale)
        self.result.joins.append(f"JOIN {name} ON {name}.bucket = {bucket}")
        reached = [self.dialect.flag(f"{y} >= {name}.t{i}") for i in range(len(table) - 2)]
        return [move], self._found(inside, " + ".join([f"{name}.first", *reached]))

    def _search(self, y: str, thresholds: Floats) -> str:
        """How many thresholds a value reaches, by nested halving; slow for many, right for any spacing."""

        def search(start: int, end: int) -> str:
            if start == end:
                return str(start)
            middle = (start + end) // 2
            below = f"{y} < {self._number(thresholds[middle])}"
            return f"CASE WHEN {below} THEN {search(start, middle)} ELSE {search(middle + 1, end)} END"

        return search(0, len(thresholds))

    def _rows(self, earth: LatitudeRows, x: Sequence[str], y: Sequence[str]) -> tuple[list[str], str]:
        (south, west, north, east), rows = earth.box, earth.rows
        moves = list(x)
        if self.unknown == "nearest":
            on_earth = f"{self._within(x[0], -90.0, 90.0)} AND {self._within(x[1], -180.0, 180.0)}"
            beyond = [f"({self._number(west)} - {x[1]})", f"({x[1]} - {self._number(east)})"]
            nearer = f"{self._turned(beyond[0])} < {self._turned(beyond[1])}"
            side = f"CASE WHEN {nearer} THEN {self._number(west)} ELSE {self._number(east)} END"
            nearest = f"CASE WHEN {self._within(x[1], west, east)} THEN {x[1]} ELSE {side} END"
            moves = [f"CASE WHEN {on_earth} THEN {z} END" for z in (self._clipped(x[0], south, north), nearest)]
        inside = f"{self._within(y[0], south, north)} AND {self._within(y[1], west, east)}"
        name = f"early{len(self.result.joins)}"
        self.result.tables[name] = {
            "line": np.arange(len(rows.columns), dtype=np.int64),
            "first": rows.first,
            "last": rows.columns - 1,
            "scale": rows.column_scale,
        }
        safe = f"CASE WHEN {inside} THEN {y[0]} ELSE {self._number(south)} END"
        row = self._cell(safe, south, self._number(rows.row_scale), str(len(rows.columns) - 1), rows.row_scale)
        self.result.joins.append(f"JOIN {name} ON {name}.line = {row}")
        column = self._cell(
            self._known(y[1], west, east), west, f"{name}.scale", f"{name}.last", float(np.max(rows.column_scale))
        )
        return moves, self._found(inside, f"{name}.first + {column}")

    def _turned(self, a: str) -> str:
        """``a`` modulo 360 for ``a`` from -360 to 360, rounded as numpy's ``mod`` rounds."""
        turn, zero = self._number(360.0), self._number(0.0)
        return (
            f"CASE WHEN {a} >= {turn} THEN {a} - {turn} WHEN {a} >= {zero} THEN {a} "
            f"WHEN {a} > {self._number(-360.0)} THEN {a} + {turn} ELSE {zero} END"
        )

    def _flat(self, cells: AxisCells, y: Sequence[str]) -> str:
        """The number of the cell, row by row."""
        flat = ""
        for axis, at in zip(cells.axes, y, strict=True):
            cell = self._cell(at, axis.start, self._number(axis.scale), str(axis.cells - 1), axis.scale)
            flat = f"({flat}) * {axis.cells} + {cell}" if flat else cell
        return flat

    def _cells(self, cells: AxisCells, x: Sequence[str], y: Sequence[str]) -> tuple[list[str], str]:
        flat = self._flat(cells, [self._known(at, axis.low, axis.high) for at, axis in zip(y, cells.axes, strict=True)])
        if cells.whole:
            flat = self._found(" AND ".join(f"floor({at}) = {at}" for at in y), flat)
        inside = " AND ".join(self._within(at, axis.low, axis.high) for at, axis in zip(y, cells.axes, strict=True))
        nearest = [self._clipped(at, axis.low, axis.high) for at, axis in zip(x, cells.axes, strict=True)]
        return nearest if self.unknown == "nearest" else list(x), self._found(inside, flat)

    def _ball(self, cells: AxisCells, ball: Ball, x: Sequence[str], y: Sequence[str]) -> tuple[list[str], str]:
        moves = self._into_ball(ball, x) if self.unknown == "nearest" else list(x)
        # sqrt(d * d) = |d| and rounding never changes an order, so what a coordinate puts outside the ball is
        # outside; so nothing is squared that could overflow.
        around = self._around(y, ball.center, ball.radius)
        inside = f"{self._norm(y, ball.center)} <= {self._number(ball.radius)}"
        return moves, self._found(around, self._found(inside, self._flat(cells, y)))

    def _away(self, x: Sequence[str], center: Floats) -> list[str]:
        return [f"({a} - {self._number(c)})" for a, c in zip(x, center, strict=True)]

    def _around(self, x: Sequence[str], center: Floats, most: float) -> str:
        return " AND ".join(self._within(away, -most, most) for away in self._away(x, center))

    def _norm(self, x: Sequence[str], center: Floats) -> str:
        squares = []
        for away in self._away(x, center):
            tiny = f"CASE WHEN {self._within(away, -_TINY, _TINY)} THEN {self._number(0.0)} ELSE {away} * {away} END"
            squares.append(tiny if self.dialect.traps else f"{away} * {away}")
        return f"sqrt({' + '.join(squares)})"

    def _into_ball(self, ball: Ball, x: Sequence[str]) -> list[str]:
        center, radius, norm = ball.center, ball.radius, self._norm(x, ball.center)
        inner = self._number(radius * (1.0 - 2.0**-50))
        shrink = f"CASE WHEN {norm} > {self._number(radius)} THEN {inner} / {norm} ELSE {self._number(1.0)} END"
        near, moves = self._around(x, center, ball.farthest), []
        for away, c in zip(self._away(x, center), center, strict=True):
            move = f"{self._number(c)} + {away} * ({shrink})"
            if self.dialect.traps:
                move = f"CASE WHEN {self._within(away, -_TINY, _TINY)} THEN {self._number(c)} ELSE {move} END"
            moves.append(f"CASE WHEN {near} THEN {move} END")
        return moves


def _ends(formula: Formula) -> tuple[float, float]:
    """Where the numbers of one column begin and end; none where there are several."""
    match formula:
        case Outside(inside=inside, most=(most,)) if most >= 2.0**53:
            return _ends(inside)
        case Reached(low=low, high=high):
            return low, high
        case AxisCells(axes=(axis,), ball=None):
            return axis.low, axis.high
        case Turn(period=period):
            return 0.0, period
    return math.inf, -math.inf


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
