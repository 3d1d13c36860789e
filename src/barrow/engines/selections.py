"""What a query that passes asks for, and the fresh text of it in the words of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barrow.engines.base import missing_column, no_header
from barrow.engines.sql.dialects import Words
from barrow.errors import ParameterError

_ALLOWED = (
    "one SELECT over one table: the user a bare column, items bare columns or casts of them, and filters that compare "
    "other columns with constants"
)


@dataclass(frozen=True)
class Constant:
    """A constant of a filter: its text, whether it is a text, and the type that it is cast to."""

    text: str
    is_text: bool
    cast: str | None = None

    def sql(self, dialect: Words) -> str:
        """The constant in the words of an engine."""
        plain = dialect.literal(self.text) if self.is_text else self.text
        return plain if self.cast is None else f"CAST({plain} AS {_type(dialect, self.cast)})"


@dataclass(frozen=True)
class Test:
    """A comparison of a column with constants."""

    column: str
    sign: str
    constants: tuple[Constant, ...] = ()

    def sql(self, dialect: Words, names: Mapping[str, str]) -> str:
        """The comparison in the words of an engine."""
        values = [x.sql(dialect) for x in self.constants]
        right = f"({', '.join(values)})" if self.sign.endswith("IN") else " AND ".join(values)
        return f"({dialect.identifier(names[self.column])} {self.sign} {right})"


@dataclass(frozen=True)
class Rule:
    """Comparisons joined by AND or OR, or denied by NOT."""

    sign: str
    parts: tuple[Rule | Test, ...]

    def sql(self, dialect: Words, names: Mapping[str, str]) -> str:
        """The rule in the words of an engine."""
        parts = [part.sql(dialect, names) for part in self.parts]
        return f"(NOT {parts[0]})" if self.sign == "NOT" else "(" + f" {self.sign} ".join(parts) + ")"


@dataclass(frozen=True)
class Output:
    """A column of the result: its name, the column that it is, and the type that it is cast to."""

    name: str
    column: str
    cast: str | None = None
    attempt: bool = False


@dataclass(frozen=True)
class Selection:
    """What a query that passes asks for; ``outputs`` is None for all columns."""

    table: tuple[str, ...]
    outputs: tuple[Output, ...] | None
    where: Rule | Test | None = None

    def sql(self, dialect: Words, table: str, found: Iterable[str], *, header_is_sure: bool = True) -> str:
        """A fresh text in the words of an engine: ``table`` stands after FROM and has the columns ``found``."""
        names = self._names(list(found), header_is_sure)
        picks = "*"
        if self.outputs is not None:
            picks = ", ".join(_output(x, dialect, names) for x in self.outputs)
        where = "" if self.where is None else f" WHERE {self.where.sql(dialect, names)}"
        return f"SELECT {picks} FROM {table}{where}"  # noqa: S608 - names are quoted, and checked to be columns

    def filters(self) -> list[str]:
        """The columns that records are chosen by."""
        return _columns_of(self.where)

    def _names(self, found: list[str], header_is_sure: bool) -> dict[str, str]:
        """Columns as the table spells them; names that are no columns (``rowid``, ``current_user``) are refused."""
        names = {}
        asked = [*(x.column for x in self.outputs or ()), *self.filters()]
        sure = header_is_sure or bool({x.lower() for x in asked} & {x.lower() for x in found})
        for column in asked:
            same = [x for x in found if x == column] or [x for x in found if x.lower() == column.lower()]
            if len(same) != 1:
                raise missing_column(column, found) if sure else no_header(column)
            names[column] = same[0]
        return names


def _output(output: Output, dialect: Words, names: Mapping[str, str]) -> str:
    value = dialect.identifier(names[output.column])
    if output.cast is not None:
        if output.attempt and dialect.name not in ("duckdb", "spark"):
            raise refused(f"{dialect.name} has no TRY_CAST")
        value = f"{'TRY_' * output.attempt}CAST({value} AS {_type(dialect, output.cast)})"
    return f"{value} AS {dialect.identifier(output.name)}"


def _type(dialect: Words, cast: str) -> str:
    if cast not in dialect.casts:
        raise refused(f"it casts to {cast}, which {dialect.name} reads in its own way")
    return dialect.casts[cast]


def _columns_of(rule: Rule | Test | None) -> list[str]:
    if isinstance(rule, Rule):
        return [x for part in rule.parts for x in _columns_of(part)]
    return [] if rule is None else [rule.column]


def refused(reason: str) -> ParameterError:
    """The refusal of a query, with the reason."""
    return ParameterError(
        f"The query may mix people or move items: {reason}.",
        allowed=_ALLOWED,
        fix="a simpler query; or acknowledge_sql = true (--acknowledge-sql), and the statement will say so",
    )
