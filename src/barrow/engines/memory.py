"""The reference: columns in memory, encoded by the space itself, counted with numpy."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from barrow.engines.advice import advise
from barrow.engines.base import Columns, CountRequest, Engine, check_columns, flat_groups, refuse_unknown, wrong_source
from barrow.engines.breakdown import Cell, Layer
from barrow.engines.counts import (
    CheckReport,
    Counts,
    Sampled,
    refuse_empty,
    refuse_groups,
    refuse_lost_items,
    refuse_null_users,
    refuse_times,
    refuse_too_many,
    refuse_two_groups,
    refuse_weights,
)
from barrow.engines.frames import narwhal
from barrow.engines.numbers import days_of, local_micros, to_micros, to_number
from barrow.engines.people import PeopleCounts
from barrow.engines.sampling import RunSampler, Sampler
from barrow.engines.source import Source
from barrow.errors import DataError, ParameterError
from barrow.noise import RandomSource as Randomness
from barrow.numerics import MOST_ROWS, MOST_WEIGHT
from barrow.spaces import Space
from barrow.spaces.records import MISSING, Reads
from barrow.spaces.space import Floats, Ids, Unknown

Column = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class MemoryEngine(Engine):
    """Counts columns in memory: a mapping from names to lists or arrays, or a frame. The reference for all engines.

    >>> from barrow.spaces import Discrete
    >>> table = {"uid": ["ann", "ann", "bob"], "item": ["a", "b", "a"]}
    >>> counts = MemoryEngine().count(table, Columns("uid", "item"), Discrete(["a", "b"]), users=3)
    >>> counts.items.tolist(), counts.sizes.tolist(), counts.counts.tolist(), counts.users
    ([0, 0, 1], [1, 2, 2], [2, 1, 1], 3)
    """

    name: ClassVar[str] = "memory"

    def columns(self, source: Any) -> dict[str, str]:
        """Names of the columns and the kinds of their values, by the arrays' types."""
        return {name: _kind(column) for name, column in self._table(source).items()}

    def table(self, source: Source) -> Mapping[str, Any]:
        """The columns of a source by their names: all that an engine that reads files in Python needs to say itself.

        >>> dict(MemoryEngine().table(Source.of({"uid": [1, 2]})))
        {'uid': [1, 2]}
        """
        if source.kind == "frame":
            frame = narwhal(source.data)
            frame = frame.collect() if hasattr(frame, "collect") else frame
            return {name: frame[name].to_list() for name in frame.columns}
        if source.kind != "table" or not isinstance(source.data, Mapping):
            raise wrong_source("memory", source, "a mapping of columns, or a frame")
        return source.data

    def _table(self, source: Any) -> dict[str, Column]:
        where = Source.of(source)
        if where.sql is not None or where.table is not None:
            raise ParameterError(
                f"The {self.name} engine knows no SQL.", allowed="a source without a query", fix="leave sql out"
            )
        table = {str(name): _array(column) for name, column in self.table(where).items()}
        if len({len(column) for column in table.values()}) > 1:
            raise DataError("The columns of the records differ in length.", fix="give columns of one table")
        return table

    def validate(self, source: Any, columns: Columns, space: Space, *, unknown: Unknown = "error") -> None:
        """Refuse missing columns and wrong types, from public facts only."""
        refuse_unknown(columns, space, unknown)
        check_columns(columns, space, self.columns(source))

    def _count(self, request: CountRequest) -> dict[Cell, Counts]:
        def counted(layer: Layer) -> Iterator[tuple[Cell, Counts]]:
            who, items, weights, slots, groups = self._placed(request, layer)
            # Somebody in one span is one person; in several, one in each.
            people = np.unique(who * len(layer.spans) + slots, return_inverse=True)[1] if len(layer.spans) > 1 else who
            sizes = _sizes(people, weights)[people]
            answer = {"item": items, "m": sizes, "c": weights, "g": groups, "s": slots}
            return request.breakdown.reports(layer, answer)

        return request.breakdown.gathered(counted)

    def _placed(self, request: CountRequest, layer: Layer) -> tuple[Ids, Ids, Ids, Ids, Ids]:
        """Of each record in one of the spans: the number of its user, its item, its weight, its span and its group."""
        columns, space, unknown = request.columns, request.space, request.unknown
        self.validate(request.source, columns, space, unknown=unknown)
        table = self._table(request.source)
        weights = _weights(table, columns)
        slots = np.zeros(len(weights), dtype=np.int64)
        missing_time = np.zeros(len(weights), dtype=bool)
        if columns.time is not None and not layer.everything:
            micros, zoned = days_of(table[columns.time])
            missing_time = micros == MISSING
            slots = np.where(missing_time, 0, layer.slots_of(micros, zoned))
        here = (weights != 0) & (slots >= 0)  # a row that stands for no record is none
        if not here.all():
            table = {name: column[here] for name, column in table.items()}
            weights, slots, missing_time = weights[here], slots[here], missing_time[here]
        who, missing = _users(table[columns.user])
        groups, split = np.zeros(len(who), dtype=np.int64), np.zeros(len(who), dtype=bool)
        if columns.group is not None:
            known = {label: i for i, label in enumerate(request.breakdown.labels)}
            named = (_name_of(x) for x in table[columns.group].tolist())
            groups = np.array([-1 if x is None else known.get(x, -1) for x in named], dtype=np.int64)
            low, high = np.full(who.max(initial=0) + 1, 2**62), np.full(who.max(initial=0) + 1, -1)
            np.minimum.at(low, who, groups)
            np.maximum.at(high, who, groups)
            split = low[who] < high[who]
        rules = {
            refuse_null_users: missing, refuse_weights: weights < 0, refuse_times: missing_time,
            refuse_groups: groups < 0, refuse_two_groups: split,
        }  # fmt: skip
        for refusal, wrong in rules.items():
            if wrong.any():
                raise refusal()
        if len(weights) > MOST_ROWS:
            raise refuse_too_many()
        items = encoded(table, columns, space, unknown)
        if (items < 0).any():
            raise refuse_lost_items()
        return who, items, weights, slots, groups

    def _people(self, request: CountRequest) -> dict[Cell, PeopleCounts]:
        def found(layer: Layer) -> Iterator[tuple[Cell, PeopleCounts]]:
            names = ("who", "item", "c", "s", "g")
            return request.breakdown.people(layer, dict(zip(names, self._placed(request, layer), strict=True)))

        return request.breakdown.gathered(found)

    def _sample(self, request: CountRequest, samples: int, randomness: Randomness | None) -> Sampled:
        who, items, weights, _, _ = self._placed(request, request.breakdown.layers[0])
        if not who.size:
            raise refuse_empty()
        number = len(np.unique(who))
        request.check_users(number)
        sampler: Sampler | RunSampler
        if request.columns.weight is None:
            sampler = Sampler(np.bincount(who), samples, randomness)
            sample = sampler.draw(who).astype(np.int64)
        else:
            order = np.argsort(who, kind="stable")
            who, items, weights = who[order], items[order], weights[order]
            sampler = RunSampler(samples, randomness)
            sample = sampler.draw(np.append(True, np.diff(who) != 0), _sizes(who, weights)[who], weights)
        sampler.finish()
        return request.sampled(items, sample, samples=samples, users=number, private=sampler.private)

    def _check(self, request: CountRequest, examples: int) -> CheckReport:
        columns, space, unknown = request.columns, request.space, request.unknown
        self.validate(request.source, columns, space, unknown=unknown)
        table = self._table(request.source)
        weights = _weights(table, columns)
        nonzero = np.flatnonzero(weights != 0)
        table, weights = {name: column[nonzero] for name, column in table.items()}, weights[nonzero]
        who, missing = _users(table[columns.user])
        lost = encoded(table, columns, space, "error" if unknown == "default" else unknown) < 0
        sizes = _sizes(who[~missing], np.maximum(weights[~missing], 1))
        sizes = sizes[sizes > 0]
        raw = {name: table[name].tolist() for name in columns.items}
        shown = [
            {"row": int(nonzero[i]) + 1, **{name: raw[name][i] for name in columns.items}}
            for i in np.flatnonzero(lost)[: max(examples, 40)]
        ]
        return CheckReport(
            rows=len(who),
            users=len(sizes),
            null_users=int(missing.sum()),
            lost_items=int(lost.sum()),
            smallest=int(sizes.min()) if sizes.size else 0,
            largest=int(sizes.max(initial=0)),
            examples=tuple(shown[:examples]),
            declared=request.users,
            lost_is_fine=unknown == "default",
            bad_weights=int((weights < 0).sum()),
            advice=advise([tuple(x[name] for name in columns.items) for x in shown], columns, space),
        )


def _array(column: Any) -> Column:
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise ParameterError("A column is not one-dimensional.", allowed="one value for each record", fix="x[:, 0]")
        return column
    if isinstance(column, str | bytes | Mapping) or not isinstance(column, Iterable):
        raise ParameterError("A column is not a list of values.", allowed="one value for each record", fix="[1, 2, 3]")
    values = list(column)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _kind(column: Column) -> str:
    kinds = {"i": "integer", "u": "integer", "f": "real", "b": "boolean", "U": "text", "T": "text", "M": "time"}
    return kinds.get(column.dtype.kind, "any" if column.dtype.kind == "O" else "other")


def _users(column: Column) -> tuple[Ids, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Users numbered from 0 on, and where there is none (None, NaN)."""
    if column.dtype.kind != "O":
        missing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)
        return np.unique(column, return_inverse=True)[1].astype(np.int64).reshape(len(column)), missing
    numbers: dict[Any, int] = {}
    values = column.tolist()
    try:
        missing = np.fromiter((x is None or x != x for x in values), dtype=bool, count=len(values))
        ids = np.fromiter((numbers.setdefault(x, len(numbers)) for x in values), dtype=np.int64, count=len(values))
    except (TypeError, ValueError):
        raise DataError("Some users are neither numbers nor texts.", allowed="numbers, texts or missing") from None
    return ids, missing


def _name_of(value: object) -> str | None:
    """The name of a group: a text, or a whole number as one."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _sizes(who: Ids, weights: Ids) -> Ids:
    """How many records each user holds."""
    sizes = np.zeros(int(who.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(sizes, who, weights)
    return sizes


def _weights(table: Mapping[str, Column], columns: Columns) -> Ids:
    """How many records each row stands for; -1 where that is no whole number from 0 to 2^31."""
    if columns.weight is None:
        return np.ones(len(table[columns.user]), dtype=np.int64)
    numbers = _numbers(table[columns.weight])
    good = (numbers >= 0.0) & (numbers <= MOST_WEIGHT) & (np.floor(numbers) == numbers)
    return np.where(good, numbers, -1.0).astype(np.int64)


def encoded(table: Mapping[str, Column], columns: Columns, space: Space, unknown: Unknown) -> Ids:
    """Ids of all records by the space itself, -1 where an item is lost."""
    groups = flat_groups(columns, space)
    ids = [_encode_part(table, *group, unknown, columns.zone) for group in groups]
    lost = np.any([x < 0 for x in ids], axis=0)
    items = np.zeros(len(lost), dtype=np.int64)
    for (part, _, _), part_ids in zip(groups, ids, strict=True):
        items = items * part.items + np.where(lost, 0, part_ids)
    return np.where(lost, space.default_item if unknown == "default" else -1, items).astype(np.int64)


def _encode_part(
    table: Mapping[str, Column],
    space: Space,
    group: tuple[str, ...],
    reads: Reads,
    unknown: Unknown,
    zone: str | None,
) -> Ids:
    """Ids of one part as the space encodes them; -1 where a record is lost."""
    use, column = reads.moments, table[group[0]]
    if use is not None and (_is_time(column) or column.dtype.kind in "OUT"):
        micros = to_micros(column) if zone is None else local_micros(column, zone)
        records: Any = use.labels(micros) if use.names else use.numbers(micros)
        if not _is_time(column) and use.names:
            records = [label if moment is None else moment for label, moment in zip(column, records, strict=True)]
        elif not _is_time(column):
            numbers = _numbers(column)
            records = np.where(np.isnan(numbers), records, numbers)
    elif reads.numbers:
        values = np.stack([_numbers(table[name]) for name in group], axis=1)
        records = values if len(group) > 1 else values[:, 0]
    else:
        records = table[group[0]]
    # What "default" stands for is the default item of the whole product, so a part only says which are lost.
    with np.errstate(all="ignore"):  # a warning about overflow would be a message about private values
        return space._encode(records, "error" if unknown == "default" else unknown)


def _is_time(column: Column) -> bool:
    """Whether a column holds moments; mixed ones are read by their first."""
    if column.dtype.kind != "O":
        return column.dtype.kind == "M"
    first = next((x for x in column.tolist() if x is not None), None)
    return isinstance(first, datetime.date | datetime.time | np.datetime64)


def _numbers(column: Column) -> Floats:
    if column.dtype.kind in "iuf":
        return column.astype(np.float64)
    return np.array([to_number(x) for x in column.tolist()], dtype=np.float64)
