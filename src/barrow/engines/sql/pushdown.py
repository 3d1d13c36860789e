# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""What engines that push SQL down share: one text, one order of checks, constant refusals.

An engine says how a source is opened (:class:`Reader`) and which shape of the count it likes; ids of users never leave
it. The statements create nothing, so that a read-only replica will do: public tables travel with them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

import numpy as np

from barrow.engines.advice import advise
from barrow.engines.base import TIMES, Columns, CountRequest, Engine, check_columns
from barrow.engines.breakdown import Cell
from barrow.engines.counts import (
    LOST,
    NOBODY,
    SPLIT,
    UNGROUPED,
    UNTIMED,
    UNWEIGHED,
    CheckReport,
    Counts,
    Integers,
    PrivateTextError,
    Sampled,
    known_items,
    redact_errors,
    refuse_empty,
    refuse_states,
)
from barrow.engines.people import PeopleCounts, known_people, rows_of_pieces
from barrow.engines.sampling import RunSampler, SamplePool
from barrow.engines.source import Source
from barrow.engines.sql.dialects import Dialect, Table
from barrow.engines.sql.encoding import encoding_for
from barrow.engines.sql.select_plan import GROUPS, SelectPlan, masses_of, reading_of, summing
from barrow.engines.sums import ItemSums, sums_of_cells
from barrow.noise import RandomSource as Randomness
from barrow.spaces import Space
from barrow.spaces.space import Unknown

PIECE = 2**17
Shape = Literal["window", "join", "broadcast"]
R = TypeVar("R", bound="Reader")
T = TypeVar("T")


class Reader(Protocol):
    """An open source: what stands after FROM, its columns, and how statements are run.

    Attributes:
        relation: What stands after FROM.
        kinds: The kinds of the columns' values.
        forms: How columns become numbers, where that is not by their kind.
        header_is_sure: False if the first record may have been taken for the names of the columns.
    """

    @property
    def relation(self) -> str: ...  # noqa: D102 - described above

    @property
    def kinds(self) -> dict[str, str]: ...  # noqa: D102 - described above

    @property
    def forms(self) -> dict[str, str]: ...  # noqa: D102 - described above

    @property
    def header_is_sure(self) -> bool: ...  # noqa: D102 - described above

    def table(self, name: str, columns: Table) -> None:
        """Let statements see public columns as a table; the statements join it as ``JOIN name ON``."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The result of a small query."""
        ...

    def arrays(self, sql: str) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """The columns of a result of whole numbers."""
        ...

    def pieces(self, sql: str, size: int) -> Iterator[Mapping[str, np.ndarray[Any, np.dtype[Any]]]]:
        """The same, a piece of at most ``size`` rows at a time."""
        ...


class SqlEngine(Engine, Generic[R]):
    """Counts, samples and checks by statements in the dialect of an engine.

    A subclass names its ``dialect`` and opens sources; ``shape`` is how users' sizes meet the records: by a window over
    the records (read once), by a join with the sizes (read twice), or by sending the sizes to all (Spark).
    """

    dialect: ClassVar[Dialect]
    shape: Shape = "window"
    together: ClassVar[str] = ""
    """A hint that brings the records of each user together before they are grouped."""

    @abstractmethod
    def _open(self, source: Source, columns: Columns | None) -> AbstractContextManager[R]:
        """Open the source for one consistent reading; the query of the source is judged here."""

    def _looking(self, source: Source, columns: Columns) -> AbstractContextManager[R]:
        """Open the source to look at its columns alone."""
        return self._open(source, columns)

    def columns(self, source: Any) -> dict[str, str]:
        """Names of the columns and the kinds of their values; no record is read."""

        def look() -> dict[str, str]:
            with self._open(Source.of(source), None) as reader:
                return reader.kinds

        return redact_errors(look)

    def validate(self, source: Any, columns: Columns, space: Space, *, unknown: Unknown = "error") -> None:
        """Refuse missing columns, wrong types and spaces that cannot be pushed down, from public facts only."""
        encoding_for(space, columns, unknown, self.dialect)

        def look() -> None:
            with self._looking(Source.of(source), columns) as reader:
                check_columns(columns, space, reader.kinds, header_is_sure=reader.header_is_sure)

        redact_errors(look)

    @contextmanager
    def _read(self, request: CountRequest) -> Iterator[tuple[R, SelectPlan]]:
        with self._open(request.source, request.columns) as reader:
            yield reader, self._reading(reader, request)

    def _by_layer(
        self, request: CountRequest, ask: Callable[[R, SelectPlan], Iterable[tuple[Cell, T]]]
    ) -> dict[Cell, T]:
        """What is asked of the records layer by layer, for the cells of each."""

        def read() -> dict[Cell, T]:
            with self._read(request) as (reader, reading):
                if request.breakdown.labels:
                    labels = np.array(request.breakdown.labels, dtype=object)
                    reader.table(GROUPS, {"label": labels, "id": np.arange(len(labels), dtype=np.int64)})
                return request.breakdown.gathered(lambda layer: ask(reader, replace(reading, layer=layer)))

        return redact_errors(read)

    def _count(self, request: CountRequest) -> dict[Cell, Counts]:
        return self._by_layer(
            request, lambda reader, r: request.breakdown.reports(r.layer, self._entries(reader, r, request))
        )

    def _sum(self, request: CountRequest) -> dict[Cell, ItemSums]:
        return self._by_layer(
            request, lambda reader, r: sums_of_cells(request.breakdown, r.layer, self._masses(reader, r, request))
        )

    def _people(self, request: CountRequest) -> dict[Cell, PeopleCounts]:
        return self._by_layer(
            request, lambda reader, r: request.breakdown.people(r.layer, self._user_rows(reader, r, request))
        )

    def _masses(self, reader: R, reading: SelectPlan, request: CountRequest) -> dict[str, Any]:
        """Columns item, value, g and s, and people of each cell; what cannot be counted is refused."""
        return self._known(reader.arrays(self.summing(reader, reading)), reading, request)

    def _known(self, answer: Mapping[str, Any], reading: SelectPlan, request: CountRequest) -> dict[str, Any]:
        """What an engine answered, with known items."""
        groups, spans = max(1, len(request.breakdown.labels)), len(reading.layer.spans)
        result = masses_of({k: v.astype(np.int64) for k, v in answer.items()}, groups, spans)
        return {**result, "item": known_items(result["item"], request.space.default_item, request.unknown)}

    def summing(self, reader: R, reading: SelectPlan) -> str:
        """The statement of the sums; see :mod:`barrow.engines.sql.select_plan`."""
        return summing(reading, f"({reading.coded(grouped=False)})", f"({reading.users()})", self._item(reading))

    def _entries(self, reader: R, reading: SelectPlan, request: CountRequest) -> dict[str, Integers]:
        """Columns item, m and c, and g and s of the cell; what cannot be counted is refused."""
        answer = {name: column.astype(np.int64) for name, column in reader.arrays(self.counting(reading)).items()}
        return known_entries(answer, request)

    def _user_rows(self, reader: R, reading: SelectPlan, request: CountRequest) -> dict[str, Integers]:
        """Columns who, item, c, and g and s of the cell; what cannot be counted is refused."""
        rows = rows_of_pieces(reader.pieces(self.user_by_user(reading), PIECE))
        return known_people(rows, request.space.default_item, request.unknown)

    def _sample(self, request: CountRequest, samples: int, randomness: Randomness | None) -> Sampled:
        def read() -> Sampled:
            with self._read(request) as (reader, reading):
                return self._samples(reader, reading, request, samples, randomness)

        return redact_errors(read)

    def _check(self, request: CountRequest, examples: int) -> CheckReport:
        try:
            with self._read(request) as (reader, reading):
                return self._report(reader, reading, request, examples)
        except PrivateTextError as trouble:
            return CheckReport(problem=str(trouble), declared=request.users)

    def _reading(self, reader: R, request: CountRequest) -> SelectPlan:
        columns, space = request.columns, request.space
        encoding = encoding_for(space, columns, request.unknown, self.dialect)
        check_columns(columns, space, reader.kinds, header_is_sure=reader.header_is_sure)
        for name, table in encoding.tables.items():
            reader.table(name, table)
        plan = reading_of(reader.relation, reader.forms, columns, space, encoding, self.dialect)
        return replace(plan, users_known=request.users)

    def _item(self, reading: SelectPlan) -> str:
        return self.dialect.as_whole(f"coalesce({reading.encoding.item}, {LOST})")

    def _state(self, reading: SelectPlan, otherwise: str, of: str = "") -> str:
        """What stands in place of what cannot be counted, below 0; and ``otherwise`` for everything else."""
        whole, told = self.dialect.as_whole, reading.told
        states = {NOBODY: f"{of}u IS NULL"}
        states |= {} if reading.weight is None else {UNWEIGHED: f"{of}w IS NULL"}
        states |= {UNTIMED: f"{of}s IS NULL"} if "s" in told else {}
        states |= {UNGROUPED: f"{of}g IS NULL", SPLIT: "low < high"} if "g" in told else {}
        cases = " ".join(f"WHEN {rule} THEN {whole(str(state))}" for state, rule in states.items())
        return f"CASE {cases} ELSE {whole(otherwise)} END"

    def counting(self, reading: SelectPlan) -> str:
        """One statement, entries (item, m, c); what cannot be counted comes in place of an item.

        Until the items are looked up it stands in place of m, so that nothing more is grouped by.
        """
        d, keys, late = self.dialect, ", ".join([reading.keys, *reading.told]), " ".join(reading.encoding.late_joins)
        steps = [f"coded AS ({reading.coded()})", f"sized AS ({self._sized(reading)})"]
        steps.append(f"counted AS (SELECT {keys}, m, {reading.total()} AS c FROM sized GROUP BY {keys}, m)")
        item = f"CASE WHEN m < 0 THEN {d.as_whole('m')} ELSE {self._item(reading)} END AS item"
        numbers = f"{d.as_whole('m')} AS m, {d.as_whole('coalesce(c, 0)')} AS c"
        told = "".join(f", {d.as_whole(f'coalesce({name}, 0)')} AS {name}" for name in reading.told)
        return f"WITH {', '.join(steps)} SELECT {item}, {numbers}{told} FROM counted {late}"

    def _sized(self, reading: SelectPlan) -> str:
        """SELECT of the keys, the weight, the cell, and in m the person's size or what is wrong with the record."""
        told, weight = reading.told, [] if reading.weight is None else ["w"]
        by = ", ".join(["u", *(x for x in told if x == "s")])
        ends = "MIN(g){} AS low, MAX(g){} AS high"
        if self.shape == "window":
            table, total = "coded", reading.total(f" OVER (PARTITION BY {by})")
            if "g" in told:
                over = " OVER (PARTITION BY u)"
                columns = ["u", reading.keys, *weight, *told, f"{total} AS total", ends.format(over, over)]
                table, total = f"(SELECT {', '.join(columns)} FROM coded) AS q3", "total"
            shown = [reading.keys, *weight, *told, f"{self._state(reading, total)} AS m"]
            return f"SELECT {', '.join(shown)} FROM {table}"
        hint, users = "/*+ BROADCAST(sizes) */ " if self.shape == "broadcast" else "", reading.users()
        sizes = f"SELECT {by}, {reading.total()} AS m FROM ({users}) AS q3 GROUP BY {by}"
        same = " AND ".join(f"coded.{x} = sizes.{x}" for x in by.split(", "))
        joins = f"LEFT JOIN ({sizes}) AS sizes ON {same}"
        if "g" in told:
            joins += (
                f" LEFT JOIN (SELECT u, {ends.format('', '')} FROM ({users}) AS q4 GROUP BY u) AS q5 ON coded.u = q5.u"
            )
        shown = [reading.keys, *(f"coded.{name} AS {name}" for name in [*weight, *told])]
        shown.append(f"{self._state(reading, 'sizes.m', 'coded.')} AS m")
        return f"SELECT {hint}{', '.join(shown)} FROM coded {joins}"

    def _samples(
        self, reader: R, reading: SelectPlan, request: CountRequest, samples: int, randomness: Randomness | None
    ) -> Sampled:
        sampler, pooled = RunSampler(samples, randomness), SamplePool()
        for piece in reader.pieces(self.user_by_user(reading), PIECE):
            pooled.check()
            item, new = piece["item"].astype(np.int64), piece["fresh"] == 1
            sample = sampler.draw(new, piece["m"].astype(np.int64), piece["c"].astype(np.int64))
            pooled.add(item, sample)
        pooled.check()
        if not sampler.users:
            raise refuse_empty()
        request.check_users(sampler.users)
        sampler.finish()
        items, counts = pooled.totals(request.unknown, request.space.default_item)
        return request.sampled(items, counts, samples=samples, users=sampler.users, private=sampler.private)

    def user_by_user(self, reading: SelectPlan, *, ordered: bool = True) -> str:
        """Rows (fresh, item, c, m), user by user; of a user only "is this the first row" comes out.

        Where cells are told apart, a user has rows in each of them, with g and s. Without ``ordered`` they come user by
        user within each partition only.
        """
        d, late, total = self.dialect, " ".join(reading.encoding.late_joins), reading.total()
        more = "".join(f", {x}" for x in [*([] if reading.weight is None else ["w"]), *reading.told])
        coded = f"({reading.coded()}) AS q2"
        if "g" in reading.told:  # somebody in two groups of the window
            ends = "MIN(g) OVER (PARTITION BY u) AS low, MAX(g) OVER (PARTITION BY u) AS high"
            coded = f"(SELECT u, {reading.keys}{more}, {ends} FROM {coded}) AS q6"
        item = f"CASE WHEN state < 0 THEN {d.as_whole('state')} ELSE {self._item(reading)} END"
        told = "".join(f", {d.as_whole(f'coalesce({x}, 0)')} AS {x}" for x in reading.told)
        weight = "" if reading.weight is None else ", w"
        state = f"SELECT u, {reading.keys}{weight}{told}, {self._state(reading, '0')} AS state FROM {coded}"
        named = f"SELECT {self.together}u, {item} AS item{more} FROM ({state}) AS q3 {late}"
        who = ", ".join(["u", *reading.told])
        grouped = (
            f"SELECT {who}, item, {d.as_whole(f'coalesce({total}, 1)')} AS c FROM ({named}) AS q4 GROUP BY {who}, item"
        )
        return (
            f"SELECT {d.flag(f'ROW_NUMBER() OVER (PARTITION BY {who} ORDER BY item) = 1')} AS fresh, item, c, "
            f"{d.as_whole(d.sum_of('c', f' OVER (PARTITION BY {who})'))} AS m{''.join(f', {x}' for x in reading.told)} "
            f"FROM ({grouped}) AS q5" + (f" ORDER BY {who}, item" if ordered else "")
        )

    def _report(self, reader: R, reading: SelectPlan, request: CountRequest, examples: int) -> CheckReport:
        columns = request.columns
        d, raw = self.dialect, [f"raw{i}" for i in range(len(reading.raw))]
        # Moments as texts: Python knows none before the year 1 or after 9999.
        kinds = [reader.kinds.get(name) in TIMES for name in columns.items]
        shown = [d.as_text(x) if is_time else x for x, is_time in zip(reading.raw, kinds, strict=True)]
        judged = (
            f"SELECT u, {', '.join(raw)}, {d.flag(f'{reading.encoding.item} IS NULL')} AS lost, "
            f"{d.flag('w IS NULL') if reading.weight is not None else '0'} AS bad "
            f"FROM ({reading.coded(dict(zip(raw, shown, strict=True)))}) AS q4 "
            f"{' '.join(reading.encoding.late_joins)}"
        )
        rows, nulls, lost, bad = reader.rows(
            f"SELECT COUNT(*), coalesce(SUM({d.flag('u IS NULL')}), 0), coalesce(SUM(lost), 0), coalesce(SUM(bad), 0) "
            f"FROM ({judged}) AS q5"
        )[0]
        result, smallest, largest = reader.rows(
            "SELECT COUNT(*), coalesce(MIN(m), 0), coalesce(MAX(m), 0) FROM "
            f"(SELECT {reading.total()} AS m FROM ({reading.users()}) AS q6 WHERE u IS NOT NULL GROUP BY u) AS q7"
        )[0]
        lost_rows = reader.rows(
            f"SELECT {', '.join(raw)} FROM ({judged}) AS q8 WHERE lost = 1 LIMIT {max(int(examples), 40)}"
        )
        return CheckReport(
            rows=int(rows),
            users=int(result),
            null_users=int(nulls),
            lost_items=int(lost),
            smallest=int(smallest),
            largest=int(largest),
            examples=tuple(dict(zip(columns.items, row, strict=True)) for row in lost_rows[:examples]),
            declared=request.users,
            lost_is_fine=request.unknown == "default",
            bad_weights=int(bad),
            advice=advise([tuple(row) for row in lost_rows], columns, request.space),
        )


def known_entries(answer: dict[str, Integers], request: CountRequest) -> dict[str, Integers]:
    """Entries with the cells that they belong to and known items, or the refusal of what cannot be counted."""
    refuse_states(answer["item"])
    nowhere = np.zeros(len(answer["item"]), dtype=np.int64)
    known = known_items(answer["item"], request.space.default_item, request.unknown)
    return {"g": nowhere, "s": nowhere, **answer, "item": known}
