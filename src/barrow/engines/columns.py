"""Which columns say who and what, and whether a space can read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from barrow.errors import ParameterError, nearest_name
from barrow.spaces import Space
from barrow.spaces.base import Unknown
from barrow.spaces.records import Reads

NUMBERS = ("integer", "real", "decimal", "text", "any")
LABELS = ("integer", "text", "any")
TIMES = ("time", "date", "clock", "zoned clock", "local time")
USERS = ("integer", "real", "decimal", "text", *TIMES, "boolean", "any", "other")


@dataclass(frozen=True, repr=False)
class Columns:
    """The user column and the item columns.

    Args:
        user: The column that says whose record it is.
        items: The columns that say what the item is: one for labels, a line or a circle; latitude and longitude for the
            Earth; one for each coordinate of a Euclidean space; for a product, those of its parts one after another.
        weight: The column that says how many records a row stands for, a whole number; one by default.

    >>> Columns("uid", ["lat", "lon"])
    Columns(user='uid', items=('lat', 'lon'))
    >>> Columns("uid", "shop", weight="visits").all
    ('uid', 'shop', 'visits')
    """

    user: str
    items: tuple[str, ...]
    weight: str | None = None

    def __init__(self, user: str, items: str | Sequence[str], weight: str | None = None) -> None:
        names = (items,) if isinstance(items, str) else tuple(items)
        given = [("user", user), *(("items", item) for item in names)]
        for name, text in given if weight is None else [*given, ("weight", weight)]:
            if not isinstance(text, str) or not text:
                raise ParameterError(f"{name} is {text!r}.", allowed="the name of a column", fix=f'{name}="column"')
        if not names:
            raise ParameterError("items is empty.", allowed="at least one column", fix='items="item"')
        object.__setattr__(self, "user", user)
        object.__setattr__(self, "items", names)
        object.__setattr__(self, "weight", weight)

    def __repr__(self) -> str:
        weight = "" if self.weight is None else f", weight={self.weight!r}"
        return f"Columns(user={self.user!r}, items={self.items!r}{weight})"

    @property
    def all(self) -> tuple[str, ...]:
        """The names of all columns that are read."""
        return (self.user, *self.items) if self.weight is None else (self.user, *self.items, self.weight)

    def groups(self, space: Space) -> tuple[tuple[str, ...], ...]:
        """The item columns of each part of a product; a single group for any other space.

        >>> from barrow.spaces import Circle, Earth, Product
        >>> space = Product([Earth(cell=100), Circle.hours()], weights=["1/2", "1/2"])
        >>> Columns("uid", ["lat", "lon", "hour"]).groups(space)
        (('lat', 'lon'), ('hour',))
        """
        parts = [part for part, _ in space.summands]
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


def check_columns(columns: Columns, space: Space, found: Mapping[str, str], *, header_is_sure: bool = True) -> None:
    """Refuse missing columns (with the nearest name) and wrong types.

    ``found`` are kinds of values by column. The header is not sure for text files, whose first line might be a private
    record.
    """
    # Where no column of those asked for is in the first line of a text file, that line may be a record.
    sure = header_is_sure or any(name in found for name in columns.all)
    for name in columns.all:
        if name not in found:
            raise missing_column(name, list(found)) if sure else no_header(name)
    if columns.weight is not None and found[columns.weight] not in NUMBERS:
        raise _wrong_type(columns.weight, found[columns.weight], "whole numbers")
    if found[columns.user] not in USERS:
        raise _wrong_type(columns.user, found[columns.user], "whole numbers or texts")
    for _, group, reads in flat_groups(columns, space):
        for name in group:
            if found[name] in TIMES and reads.moments is not None:
                continue
            if found[name] not in (NUMBERS if reads.numbers else LABELS):
                raise _wrong_type(name, found[name], "numbers" if reads.numbers else "texts or whole numbers (labels)")


def flat_groups(columns: Columns, space: Space) -> list[tuple[Space, tuple[str, ...], Reads]]:
    """The parts of a product, of products of products too, each with its columns and what they hold."""
    groups = columns.groups(space)
    if not space.summands:
        return [(space, groups[0], space.reads.form(len(groups[0])))]
    pairs = zip(space.summands, groups, strict=True)
    return [found for (part, _), group in pairs for found in flat_groups(Columns(columns.user, group), part)]


def refuse_unknown(columns: Columns, space: Space, unknown: Unknown) -> None:
    """Refuse what the space cannot do with unknown records, and a space without items."""
    for part, group, _ in flat_groups(columns, space):
        part.encode(np.zeros((0, len(group))) if len(group) > 1 else [], unknown=unknown)


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
