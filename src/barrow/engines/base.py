"""What an engine is asked (which columns, which space, how many users), what each can do, and which reads what."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar, Unpack

import numpy as np

from barrow.engines.breakdown import WHOLE, Breakdown, Cell
from barrow.engines.counts import (
    CheckReport,
    Counts,
    Integers,
    Sampled,
    check_users,
    merged,
    refuse_empty,
    refuse_more_users,
)
from barrow.engines.source import ENGINES, Source
from barrow.engines.sums import ItemSums
from barrow.errors import ParameterError, check_options, nearest_name
from barrow.numerics import checked_people
from barrow.spaces import Space
from barrow.spaces.records import Reads
from barrow.spaces.space import Unknown

if TYPE_CHECKING:
    from barrow.engines.people import PeopleCounts
    from barrow.noise import RandomSource as Randomness

People = TypeVar("People", "Counts", "ItemSums", "PeopleCounts")
NUMBERS = ("integer", "real", "decimal", "text", "any")
LABELS = ("integer", "text", "any")
TIMES = ("time", "instant", "date", "clock", "zoned clock", "local time")
"""Kinds of moments: an instant has a zone, the others are read as they are written (Spark's "local time", too)."""
DAYS = ("time", "instant", "date", "local time")
"""Those that fall into a period of the calendar."""
USERS = ("integer", "real", "decimal", "text", *TIMES, "boolean", "any", "other")


@dataclass(frozen=True, repr=False)
class Columns:
    """The user column and the item columns.

    Args:
        user: The column that identifies the person.
        items: The columns that say what the item is: one for labels, a line or a circle; latitude and longitude for the
            Earth; one for each coordinate of a Euclidean space; for a product, those of its parts one after another.
        weight: The column that says how many records a row stands for, a whole number; one by default.
        group: The column that says to which public group a person belongs.
        time: The column that says when a record was made: dates, timestamps (local ones in the zone of the study).
        zone: In which zone instants are read where times are items; without one they are read in UTC.

    >>> Columns("uid", ["lat", "lon"])
    Columns(user='uid', items=('lat', 'lon'))
    >>> Columns("uid", "shop", weight="visits").all
    ('uid', 'shop', 'visits')
    """

    user: str
    items: tuple[str, ...]
    weight: str | None = None
    group: str | None = None
    time: str | None = None
    zone: str | None = None

    def __init__(
        self,
        user: str,
        items: str | Sequence[str],
        weight: str | None = None,
        group: str | None = None,
        time: str | None = None,
        zone: str | None = None,
    ) -> None:
        names = (items,) if isinstance(items, str) else tuple(items)
        further = {"weight": weight, "group": group, "time": time}
        given = [("user", user), *(("items", item) for item in names)]
        for name, text in [*given, *((name, column) for name, column in further.items() if column is not None)]:
            if not isinstance(text, str) or not text:
                raise ParameterError(f"{name} is {text!r}.", allowed="the name of a column", fix=f'{name}="column"')
        if not names:
            raise ParameterError("items is empty.", allowed="at least one column", fix='items="item"')
        vars(self).update(user=user, items=names, zone=zone, **further)

    def __repr__(self) -> str:
        named = {name: getattr(self, name) for name in ("weight", "group", "time", "zone")}
        further = "".join(f", {name}={column!r}" for name, column in named.items() if column is not None)
        return f"Columns(user={self.user!r}, items={self.items!r}{further})"

    @property
    def all(self) -> tuple[str, ...]:
        """The names of all columns that are read."""
        further = (self.weight, self.group, self.time)
        return (self.user, *self.items, *(name for name in further if name is not None))

    def asked(self, breakdown: Breakdown) -> Columns:
        """Without the group or the time where no cell is told by it, so that nobody is refused for it."""
        for what, column, needed in (("group", self.group, breakdown.labels), ("time", self.time, breakdown.timed)):
            if needed and column is None:
                raise ParameterError(
                    f"Cells are divided by {what}, but no such column is named.",
                    allowed=f"the name of the {what} column",
                    fix=f'Columns(…, {what}="{what}")',
                )
        group, time = self.group if breakdown.labels else None, self.time if breakdown.timed else None
        return Columns(self.user, self.items, self.weight, group, time, self.zone)

    def groups(self, space: Space) -> tuple[tuple[str, ...], ...]:
        """The item columns of each part of a product; a single group for any other space.

        >>> from barrow.spaces import Circle, Earth, Product
        >>> space = Product([Earth(cell=100), Circle.hours()], weights=["1/2", "1/2"])
        >>> Columns("uid", ["lat", "lon", "hour"]).groups(space)
        (('lat', 'lon'), ('hour',))
        """
        parts = [part for part, _ in space.geometry.parts]
        each = [part.reads for part in parts] or [space.reads.form(len(self.items))]
        wanted = [reads.columns for reads in each]
        if sum(wanted) != len(self.items):
            names = ", ".join(reads.words for reads in each)
            raise ParameterError(
                f"There {'is' if len(self.items) == 1 else 'are'} {len(self.items)} item column"
                f"{'s' * (len(self.items) != 1)} ({', '.join(self.items)}).",
                allowed=f"{sum(wanted)} for this {space.kind} space: {names}",
                fix="name that many item columns",
            )
        ends = [sum(wanted[: i + 1]) for i in range(len(wanted))]
        return tuple(self.items[end - size : end] for end, size in zip(ends, wanted, strict=True))


def check_columns(columns: Columns, space: Space, result: Mapping[str, str], *, header_is_sure: bool = True) -> None:
    """Refuse missing columns (with the nearest name) and wrong types.

    ``result`` are kinds of values by column. The header is not sure for text files, whose first line might be a private
    record.
    """
    # Where no column of those asked for is in the first line of a text file, that line may be a record.
    sure = header_is_sure or any(name in result for name in columns.all)
    for name in columns.all:
        if name not in result:
            raise missing_column(name, list(result)) if sure else no_header(name)
    if columns.weight is not None and result[columns.weight] not in NUMBERS:
        raise _wrong_type(columns.weight, result[columns.weight], "whole numbers")
    if result[columns.user] not in USERS:
        raise _wrong_type(columns.user, result[columns.user], "whole numbers or texts")
    if columns.group is not None and result[columns.group] not in LABELS:
        raise _wrong_type(columns.group, result[columns.group], "texts or whole numbers (names of groups)")
    if columns.time is not None and result[columns.time] not in (*DAYS, "text", "any"):
        raise _no_time(columns.time, result[columns.time])
    for _, group, reads in flat_groups(columns, space):
        for name in group:
            if result[name] in TIMES and reads.moments is not None:
                continue
            if result[name] not in (NUMBERS if reads.numbers else LABELS):
                raise _wrong_type(name, result[name], "numbers" if reads.numbers else "texts or whole numbers (labels)")


def flat_groups(columns: Columns, space: Space) -> list[tuple[Space, tuple[str, ...], Reads]]:
    """The parts of a product, of products of products too, each with its columns and what they hold."""
    groups = columns.groups(space)
    if not space.geometry.parts:
        return [(space, groups[0], space.reads.form(len(groups[0])))]
    pairs = zip(space.geometry.parts, groups, strict=True)
    return [result for (part, _), group in pairs for result in flat_groups(Columns(columns.user, group), part)]


def refuse_unknown(columns: Columns, space: Space, unknown: Unknown) -> None:
    """Refuse what the space cannot do with unknown records, and a space without items."""
    for part, group, _ in flat_groups(columns, space):
        part.encode(np.zeros((0, len(group))) if len(group) > 1 else [], unknown=unknown)


def wrong_source(engine: str, source: Source, allowed: str) -> ParameterError:
    """The error for a source that an engine does not read."""
    return ParameterError(
        f"The {engine} engine does not read a source of the kind {source.kind!r}.",
        allowed=allowed,
        fix="engine_for(source) chooses the engine",
    )


def no_header(name: str) -> ParameterError:
    """The constant refusal of a text file in whose first line no column asked for is named."""
    return ParameterError(
        f"There is no column {name!r}, nor any other that is asked for, in the first line of the text file.",
        allowed="a first line with the names of the columns; it is not shown here, because it may be a record",
        fix="add a header line to the file, or correct the names",
    )


def missing_column(name: str, names: Sequence[str]) -> ParameterError:
    """The error about a column that is not there, with the nearest name."""
    close = nearest_name(name, names)
    return ParameterError(
        f"There is no column {name!r}." + (f" Did you mean {close!r}?" if close else ""),
        allowed=", ".join(names[:50]) + (" …" if len(names) > 50 else ""),
        fix=f"write {close!r}" if close else "name one of these columns",
    )


def _wrong_type(name: str, kind: str, wanted: str) -> ParameterError:
    if kind in TIMES:
        wanted += "; moments on circles of 24 h or 7 days, on weekdays, and on lines in s, min, h, days or weeks"
    return ParameterError(
        f"The column {name!r} holds values of the kind {kind}.",
        allowed=wanted,
        fix="convert it in a query (sql = …), e.g. with CAST(… AS VARCHAR)",
    )


def _no_time(name: str, kind: str) -> ParameterError:
    return ParameterError(
        f"The time column {name!r} holds values of the kind {kind}.",
        allowed="dates, timestamps and texts such as 2026-10-31 23:59 (read as local times in the zone of the study), "
        "timestamps with a time zone",
        fix=f'convert it in a query (sql = …): CAST("{name}" AS TIMESTAMP) AS "{name}"',
    )


class Reading(TypedDict, total=False):
    """How records are read: see :class:`CountRequest`."""

    unknown: Unknown
    users: int | None


@dataclass(frozen=True)
class CountRequest:
    """What an engine is asked about.

    Attributes:
        source: Where the records are.
        columns: Which columns say who and what.
        space: The public space of items.
        unknown: What happens to missing or unknown items, as in ``space.encode``.
        users: n, if it is public beforehand: users without records count as holding the default item.
        breakdown: Which cells are told apart; all records together by default.
    """

    source: Source
    columns: Columns
    space: Space
    unknown: Unknown = "error"
    users: int | None = None
    breakdown: Breakdown = WHOLE

    @classmethod
    def of(
        cls, source: Any, columns: Columns, space: Space, breakdown: Breakdown = WHOLE, **options: Unpack[Reading]
    ) -> CountRequest:
        """The request that was typed, checked."""
        check_users(options.get("users"))
        return cls(Source.of(source), columns.asked(breakdown), space, breakdown=breakdown, **options)

    def completed(self, cells: Mapping[Cell, People]) -> People:
        """All people together, with those that have no records where it is public how many there are."""
        (result,) = cells.values()
        if not result.users:
            raise refuse_empty()
        return result if self.users is None else result.with_users(self.users, self.space.default_item)

    def check_users(self, result: int) -> None:
        """Refuse more users than the public number of users."""
        if self.users is not None and result > self.users:
            raise refuse_more_users()

    def sampled(self, items: Integers, counts: Integers, *, samples: int, users: int, private: bool) -> Sampled:
        """The pooled draws from ``users`` users; users that are missing hold the default item ``samples`` times."""
        # At most 10^7 draws of at most 2^36 people are below 2^60.
        everybody = checked_people(users if self.users is None else self.users)
        some = counts > 0
        pooled = merged(items[some], np.full(int(some.sum()), samples), counts[some], users=users)
        sampled = Sampled(pooled.items, pooled.counts, samples=samples, users=users, private=private)
        return sampled.with_users(everybody, self.space.default_item)


@dataclass(frozen=True)
class Engine(ABC):
    """Reads records where they are and gives integers; ids of users never leave it.

    All engines give the same integers for the same records, in whatever order and in however many files.

    >>> from barrow.engines import DuckDBEngine, MemoryEngine
    >>> isinstance(MemoryEngine(), Engine) and isinstance(DuckDBEngine(), Engine)
    True
    """

    name: ClassVar[str]
    sums_alone: ClassVar[bool] = False
    """Whether it knows sums over people, and not how many records each of them has."""

    @abstractmethod
    def columns(self, source: Any) -> dict[str, str]:
        """Names of the columns and the kinds of their values; no record is read.

        The kinds are integer, real, decimal, text, any, boolean, time, local time, date, clock,
        zoned clock, nested and other.
        """

    @abstractmethod
    def validate(self, source: Any, columns: Columns, space: Space, *, unknown: Unknown = "error") -> None:
        """Refuse what cannot work (missing columns, wrong types, spaces that it cannot read) from public facts only."""

    @abstractmethod
    def _count(self, request: CountRequest) -> dict[Cell, Counts]:
        """The counts of the users that are found in each cell."""

    def _sum(self, request: CountRequest) -> dict[Cell, ItemSums]:
        """The sums over the people that are found; of the counts, where an engine has no way of its own."""
        return {cell: ItemSums.of(counts) for cell, counts in self._count(request).items()}

    def _people(self, request: CountRequest) -> dict[Cell, PeopleCounts]:
        """The people that are found in each cell, one by one; an engine that cannot give them refuses."""
        raise ParameterError(
            f"The {self.name} engine does not support questions about whole people.",
            allowed="the engines of barrow, or one that has _people",
            fix="read the records from a file or a database that barrow reads itself",
        )

    @abstractmethod
    def _sample(self, request: CountRequest, samples: int, randomness: Randomness | None) -> Sampled:
        """The pooled draws; more users than the public number are refused."""

    @abstractmethod
    def _check(self, request: CountRequest, examples: int) -> CheckReport:
        """The report, with up to some examples."""

    def count(self, source: Any, columns: Columns, space: Space, **options: Unpack[Reading]) -> Counts:
        """C[item, size] and the number of users (private integers); arguments as of :class:`CountRequest`."""
        request = CountRequest.of(source, columns, space, **options)
        return request.completed(self._count(request))

    def sums(self, source: Any, columns: Columns, space: Space, **options: Unpack[Reading]) -> ItemSums:
        """The mass of all people on each item, in whole steps (private integers); the options are those of ``count``.

        What leaves the engine grows with the items alone, whatever the sizes of people.

        >>> from barrow.engines import MemoryEngine
        >>> from barrow.spaces import Discrete
        >>> table = {"uid": ["ann", "ann", "bob"], "item": ["a", "b", "a"]}
        >>> sums = MemoryEngine().sums(table, Columns("uid", "item"), Discrete(["a", "b"]), users=2)
        >>> [round(float(value / 2**120), 6) for value in sums.values]
        [1.5, 0.5]
        """
        request = CountRequest.of(source, columns, space, **options)
        return request.completed(self._sum(request))

    def sum_cells(
        self, source: Any, columns: Columns, space: Space, breakdown: Breakdown, *, unknown: Unknown = "error"
    ) -> dict[Cell, ItemSums]:
        """The sums of each cell, of the people who have records there; the options are those of ``count_cells``."""
        return self._sum(CountRequest.of(source, columns, space, breakdown, unknown=unknown))

    def count_cells(
        self, source: Any, columns: Columns, space: Space, breakdown: Breakdown, *, unknown: Unknown = "error"
    ) -> dict[Cell, Counts]:
        """C[item, size] of each cell, of the people who have records there (private integers); none has no people.

        Args:
            source: Where the records are.
            columns: Which columns say who and what, in which group and when.
            space: The public space of items.
            breakdown: Which groups and periods are counted.
            unknown: What happens to missing or unknown items, as in ``space.encode``.

        >>> from barrow.engines import Breakdown, MemoryEngine
        >>> from barrow.spaces import Discrete
        >>> table = {"uid": ["ann", "ann", "bob"], "item": ["a", "b", "b"], "region": ["n", "n", "s"]}
        >>> cells = Breakdown([("n", None), ("s", None), (None, None)], labels=["n", "s"])
        >>> columns = Columns("uid", "item", group="region")
        >>> result = MemoryEngine().count_cells(table, columns, Discrete(["a", "b"]), cells)
        >>> result["n", None].sizes.tolist(), result["s", None].items.tolist(), result[None, None].users
        ([2, 2], [1], 2)
        """
        return self._count(CountRequest.of(source, columns, space, breakdown, unknown=unknown))

    def people(self, source: Any, columns: Columns, space: Space, **options: Unpack[Reading]) -> PeopleCounts:
        """How often each person holds each item, without their ids (private integers); arguments as of ``count``.

        >>> from barrow.engines import MemoryEngine
        >>> from barrow.spaces import Discrete
        >>> table = {"uid": ["ann", "ann", "bob"], "item": ["a", "b", "b"]}
        >>> result = MemoryEngine().people(table, Columns("uid", "item"), Discrete(["a", "b"]), users=3)
        >>> result.profiles.sizes.tolist(), result.users
        ([2, 1], 3)
        """
        request = CountRequest.of(source, columns, space, **options)
        return request.completed(self._people(request))

    def people_cells(
        self, source: Any, columns: Columns, space: Space, breakdown: Breakdown, *, unknown: Unknown = "error"
    ) -> dict[Cell, PeopleCounts]:
        """How often each person holds each item in each cell; the options are those of ``count_cells``.

        >>> from barrow.engines import Breakdown, MemoryEngine
        >>> from barrow.spaces import Discrete
        >>> table = {"uid": ["ann", "ann", "bob"], "item": ["a", "b", "b"], "region": ["n", "n", "s"]}
        >>> cells = Breakdown([("n", None), (None, None)], labels=["n", "s"])
        >>> columns, space = Columns("uid", "item", group="region"), Discrete(["a", "b"])
        >>> result = MemoryEngine().people_cells(table, columns, space, cells)
        >>> result["n", None].profiles.items.tolist(), result[None, None].users
        ([0, 1], 2)
        """
        return self._people(CountRequest.of(source, columns, space, breakdown, unknown=unknown))

    def sample(
        self,
        source: Any,
        columns: Columns,
        space: Space,
        *,
        samples: int,
        randomness: Randomness | None = None,
        **options: Unpack[Reading],
    ) -> Sampled:
        """Counts of ``samples`` items drawn from each user with replacement, exactly uniformly (private integers).

        Args:
            source: Where the records are.
            columns: Which columns say who and what.
            space: The public space of items.
            samples: s, how many items are drawn from each user; those without records hold the default item.
            randomness: The system's by default, never the engine's own.
            **options: As of ``count``; missing and unknown items are refused whether they are drawn or not.

        >>> from barrow.engines import MemoryEngine
        >>> from barrow.spaces import Discrete
        >>> table = {"uid": ["ann", "ann", "bob"], "item": ["a", "b", "b"]}
        >>> sample = MemoryEngine().sample(table, Columns("uid", "item"), Discrete(["a", "b"]), samples=5, users=3)
        >>> sample.users, sample.counts.sum().item(), bool((sample.counts >= 5).all())
        (3, 15, True)
        """
        from barrow.engines.sampling import check_samples  # which takes long to load, and few sample

        request = CountRequest.of(source, columns, space, **options)
        return self._sample(request, check_samples(samples), randomness)

    def check(
        self, source: Any, columns: Columns, space: Space, *, examples: int = 5, **options: Unpack[Reading]
    ) -> CheckReport:
        """What is wrong with the records, for the curator's eyes only: it holds private counts and values."""
        return self._check(CountRequest.of(source, columns, space, **options), examples)


def engine_for(source: Any, **options: Any) -> Engine:
    """The engine that reads ``source``: the one that is registered for its kind.

    Args:
        source: A source, a path, an address, a mapping of columns, or a frame.
        **options: What engines take: memory, threads, folder and progress for DuckDB, timeout for Postgres, shape for
            Spark; those of other engines are left out.

    >>> engine_for("visits.parquet").name, engine_for({"uid": [], "item": []}).name
    ('duckdb', 'memory')
    >>> engine_for("postgresql://db.example/shop?table=visits", progress=False).name
    'postgres'
    """
    maker = ENGINES[Source.of(source).kind]
    own = {field.name for field in fields(maker)}
    if not own >= set(options):
        known = own.union(*({field.name for field in fields(ENGINES[kind])} for kind in ENGINES.own))
        check_options("An engine", sorted(known), options)
    return maker(**{name: value for name, value in options.items() if name in own})
