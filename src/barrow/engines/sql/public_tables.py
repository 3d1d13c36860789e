# ruff: noqa: S608 - SQL is built here from public names and literals
"""Public tables of a SELECT for other engines: small ones travel inside it, large ones are made by a script.

A large table is named by a digest of its rows, so that the SELECT cannot meet another one, and the rows of the SELECT
carry its mark only where the table holds as many rows as it should.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from barrow.engines.sql.dialects import Table
from barrow.errors import ParameterError

MOST_ROWS_INLINE = 5000
"""Rows of a public table that travel inside the statement."""
LARGEST = 1.7976931348623157e308
_PIECE = 500
"""Rows of one INSERT: SQLite takes no more SELECTs in one statement."""
INCOMPLETE = "a public table is incomplete"
"""What stands in place of the mark where rows of a public table are missing, or are there twice."""


@dataclass(frozen=True)
class Writer:
    """Writes public tables in the words of a dialect.

    Args:
        glot: sqlglot.
        words: The dialect's name in sqlglot.
        text: Its type of texts.
        infinity: How an infinite double is written; None where there is none.
        made: What stands after the columns of a table that is made.
    """

    glot: Any
    words: str
    text: str
    infinity: str | None
    made: str

    @property
    def say(self) -> dict[str, Any]:
        """How sqlglot writes: what the dialect cannot say is an error."""
        return {"dialect": self.words, "unsupported_level": self.glot.ErrorLevel.RAISE}

    def literal(self, text: str) -> Any:
        """A text."""
        exp = self.glot.exp
        return exp.National(this=text) if self.words == "tsql" else exp.Literal.string(text)

    def marked(self, mark: str, complete: str) -> Any:
        """The mark of the SELECT, where all public tables are whole."""
        exp, sure = self.glot.exp, self.literal(mark) if mark else self.glot.exp.Literal.string("")
        if not complete:
            return sure
        rule = self.glot.parse_one(complete, read="duckdb")
        return exp.Case(ifs=[exp.If(this=rule, true=sure)], default=self.literal(INCOMPLETE))

    def public(self, name: str, table: Table, place: str) -> JoinedTable:
        """A public table, inside the statement if it is small; ``place`` is the schema where it is made otherwise."""
        size = len(next(iter(table.values())))
        if size <= MOST_ROWS_INLINE:
            return JoinedTable(self._inline(name, table))
        if any(column.dtype.kind == "f" for column in table.values()):
            raise ParameterError(
                f"The space needs a public table of {size} rows of numbers with places, which loading may round.",
                allowed=f"at most {MOST_ROWS_INLINE} such rows, inside the statement; more of labels or whole numbers",
                fix="a coarser space, or an engine that barrow reads itself (Postgres, Spark, DuckDB)",
            )
        digest = hashlib.sha256(repr([(key, column.tolist()) for key, column in table.items()]).encode()).hexdigest()
        parts = [*(part for part in place.split(".") if part), f"barrow_{digest[:16]}"]
        exp = self.glot.exp
        made = ".".join(exp.to_identifier(x, quoted=i + 1 < len(parts)).sql(**self.say) for i, x in enumerate(parts))
        part = f"{name} AS (\nSELECT {', '.join(table)} FROM {made}\n)"
        return JoinedTable(part, f"(SELECT COUNT(*) FROM {name}) = {size}", made, table, self)

    def _inline(self, name: str, table: Table) -> str:
        """The rows as a part of WITH, one SELECT after another; nothing is created."""
        named, lines = "" if self.words == "sqlite" else name, []
        for i, row in enumerate(self._rows(table, inline=True)):
            cells = [f"{cell} AS {key}" if named and not i else cell for key, cell in zip(table, row, strict=True)]
            lines.append(", ".join(cells))
        if not named:  # SQLite takes no more than 500 SELECTs
            return f"{name} ({', '.join(table)}) AS (\nVALUES {', '.join(f'({line})' for line in lines)}\n)"
        return f"{name} AS (\n{self._selects(lines)}\n)"

    def script(self, made: str, table: Table) -> Iterator[str]:
        """CREATE TABLE, and its rows some at a time."""
        types = ", ".join(f"{key} {self._type(column)}" for key, column in table.items())
        yield f"CREATE TABLE {made} ({types}){self.made};\n"
        rows = self._rows(table, inline=False)
        while lines := [", ".join(row) for row in islice(rows, _PIECE)]:
            yield f"INSERT INTO {made} ({', '.join(table)})\n{self._selects(lines)};\n"

    def _selects(self, lines: Sequence[str]) -> str:
        tail = " FROM dual" if self.words == "oracle" else ""
        return "\nUNION ALL ".join(f"SELECT {line}{tail}" for line in lines)

    def _type(self, column: Any) -> str:
        exp = self.glot.exp
        if column.dtype.kind != "O":
            return str(exp.DataType.build("BIGINT").sql(**self.say))
        if self.words == "mysql":  # CHAR alone holds one letter, and the database may have another set of letters
            longest = max(map(len, column.tolist()))
            return f"VARCHAR({longest}) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin"
        return str(exp.DataType.build(self.text, dialect=self.words).sql(**self.say))

    def _rows(self, table: Table, *, inline: bool) -> Iterator[Sequence[str]]:
        """The values of rows as they are written; ``inline``, whole numbers say of which type they are."""
        exp, end = self.glot.exp, self.infinity or repr(LARGEST)
        write = self.glot.Dialect.get_or_raise(self.words).generator(unsupported_level=self.say["unsupported_level"])
        columns = []
        for column in table.values():
            values = column.tolist()
            if column.dtype.kind == "O":
                columns.append([write.generate(self.literal(str(x)), copy=False) for x in values])
            elif column.dtype.kind == "f":
                texts = (exp.Literal.string(end if x > LARGEST else repr(x)) for x in values)
                columns.append([write.generate(exp.cast(text, "DOUBLE"), copy=False) for text in texts])
            elif inline:
                wholes = (exp.cast(exp.Literal.number(x), "BIGINT") for x in values)
                columns.append([write.generate(whole, copy=False) for whole in wholes])
            else:
                columns.append([str(x) for x in values])
        return zip(*columns, strict=True)


@dataclass(frozen=True)
class JoinedTable:
    """A public table as a part of WITH; if it is to be loaded, the rule that it is whole, and how it is made."""

    part: str
    complete: str = ""
    made: str = ""
    table: Table = field(default_factory=dict)
    writer: Writer | None = None

    def script(self) -> Iterator[str]:
        """The statements that make it; none where it travels inside the SELECT."""
        return iter(()) if self.writer is None else self.writer.script(self.made, self.table)
