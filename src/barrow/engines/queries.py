"""Queries that may pass: one SELECT of bare columns of one table, filtered by columns that are neither user nor item.

What a query does to one person's records must not depend on anybody else's, and must not move items. DuckDB's own
parser reads the text, an allow-list of syntax nodes judges the tree, and a fresh text is written from what was
admitted: the curator's text itself is never run. Whatever is not on the list is refused, fields that a later version
of the parser may add included.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from barrow.engines.base import Columns, missing_column, no_header
from barrow.engines.source import Source
from barrow.engines.sql.dialects import Syntax
from barrow.errors import ParameterError, nearest_name
from barrow.promises import RecordMap

Node = Mapping[str, Any]

_COMPARE = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_TURNED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_LISTS = {"COMPARE_IN": "IN", "COMPARE_NOT_IN": "NOT IN"}
_MISSING = {"OPERATOR_IS_NULL": "IS NULL", "OPERATOR_IS_NOT_NULL": "IS NOT NULL"}
_BETWEEN = {"COMPARE_BETWEEN": "BETWEEN", "COMPARE_NOT_BETWEEN": "NOT BETWEEN"}
_TYPES = {
    "DOUBLE": "DOUBLE", "FLOAT8": "DOUBLE", "VARCHAR": "VARCHAR", "TEXT": "VARCHAR", "STRING": "VARCHAR",
    "BIGINT": "BIGINT", "INT8": "BIGINT", "INTEGER": "INTEGER", "INT": "INTEGER", "INT4": "INTEGER", "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP", "DATETIME": "TIMESTAMP", "UUID": "UUID", "BOOLEAN": "BOOLEAN",
}  # fmt: skip
_UNROUNDED = (None, "DOUBLE", "VARCHAR")
"""Casts that leave an item what it is; the others may round it."""
_NO_ORDER = {"type": "ORDER_MODIFIER", "orders": []}
_NEUTRAL: tuple[object, ...] = (None, "", [], {}, False, {"map": []}, _NO_ORDER, "STANDARD_HANDLING")
_ALLOWED = (
    "one SELECT over one table: the user a bare column, items bare columns or casts of them, and filters that compare "
    "other columns with constants"
)


def admit(sql: str, columns: Columns | None, *, backticks: bool = False) -> Selection:
    """The selection that a query is; refuses, with the reason, what is not on the allow-list.

    Args:
        sql: The curator's text.
        columns: The user and item columns; None if only the names of the columns are asked for.
        backticks: Whether names stand in backticks, as in Spark. What is judged is what is run, for a fresh text is
            written from it.
    """
    node = _parsed(_plain_quotes(sql) if backticks else sql)
    _check_shape(node)
    table = node["from_table"]
    if table["type"] != "BASE_TABLE":
        what = {"JOIN": "joins tables", "SUBQUERY": "has a subquery", "TABLE_FUNCTION": "calls a table function"}
        raise refused(f"it {what.get(table['type'], 'does not read one table')}")
    _only(table, "type", "alias", "schema_name", "table_name", "catalog_name", "qualified_name", what="its table")
    path = tuple(x for x in (table["catalog_name"], table["schema_name"], table["table_name"]) if x)
    where = None if node["where_clause"] is None else _rule(node["where_clause"])
    selection = Selection(path, _outputs(node["select_list"]), where)
    _check_names(selection, columns)
    return selection


@lru_cache(maxsize=64)
def record_map(source: Source, columns: Columns) -> RecordMap:
    """What a source does to one person's records before they become items.

    Files, tables and frames are taken as they are, and so is a query that picks columns. A query that chooses records
    is a filter, and so is whatever nobody has judged: an acknowledged query or table. A cast of an item may round it.

    >>> from barrow.engines import Source
    >>> sql = "SELECT uid, CAST(age AS {}) AS age FROM records {}"
    >>> requests = [("DOUBLE", ""), ("INTEGER", ""), ("DOUBLE", "WHERE month = 10")]
    >>> [record_map(Source.parse("a.csv", sql=sql.format(*one)), Columns("uid", "age")).value for one in requests]
    ['contraction', 'jumps', 'filter']
    """
    if source.acknowledged and (source.sql is not None or source.table is not None):
        return RecordMap.FILTER
    if source.sql is None:
        return RecordMap.CONTRACTION
    try:
        selection = admit(source.sql, columns, backticks=source.kind == "spark")
    except ParameterError:  # nothing is released of it
        return RecordMap.FILTER
    if selection.where is not None:
        return RecordMap.FILTER
    items = {name.lower() for name in columns.items}
    rounds = any(x.name.lower() in items and x.cast not in _UNROUNDED for x in selection.outputs or ())
    return RecordMap.JUMPS if rounds else RecordMap.CONTRACTION


@lru_cache(maxsize=64)
def time_cast(source: Source, time: str) -> str | None:
    """What a query casts the column of the time to; None where it leaves it as it is.

    >>> from barrow.engines import Source
    >>> time_cast(Source.parse("a.csv", sql='SELECT uid, age, CAST("at" AS DATE) AS "at" FROM records'), "at")
    'DATE'
    """
    try:
        selection = admit(source.sql or "", None, backticks=source.kind == "spark")
    except ParameterError:  # nothing is released of it
        return None
    return next((output.cast for output in selection.outputs or () if output.name == time), None)


def _plain_quotes(sql: str) -> str:
    """Names in backticks as names in double quotes; texts stay as they are."""

    def turn(match: re.Match[str]) -> str:
        word = match.group()
        return word if word[0] == "'" else '"' + word[1:-1].replace("``", "`").replace('"', '""') + '"'

    return re.sub(r"'(?:[^']|'')*'|`(?:[^`]|``)*`", turn, sql)


def _parsed(sql: str) -> Node:
    import duckdb

    with duckdb.connect(":memory:") as connection:
        row = connection.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [sql.strip()]).fetchone()
    tree: dict[str, Any] = msgspec.json.decode(row[0]) if row else {"error": True}
    if tree["error"] or len(tree["statements"]) != 1:
        raise ParameterError(
            "The SQL query is not one SELECT statement.",
            allowed="one SELECT statement; over a file, its records are the table named records",
            fix="SELECT uid, item FROM records",
        )
    statement = tree["statements"][0]
    _only(statement, "node", what="it")
    node: Node = statement["node"]
    return node


def _check_shape(node: Node) -> None:
    if node["type"] != "SELECT_NODE":
        raise refused("it combines several queries (UNION, WITH RECURSIVE, …)")
    for modifier in node["modifiers"]:
        kind = modifier["type"].removesuffix("_MODIFIER").replace("_PERCENT", "")
        raise refused(f"it has {kind.replace('_', ' BY ') if kind == 'ORDER' else kind}, which looks at many records")
    for name, why in (
        ("cte_map", "it has a WITH clause"),
        ("group_expressions", "it groups records"),
        ("group_sets", "it groups records"),
        ("aggregate_handling", "it groups records"),
        ("having", "it groups records"),
        ("sample", "it takes a sample of the records"),
        ("qualify", "it looks at many records at once (QUALIFY)"),
    ):
        if node.get(name) not in _NEUTRAL:
            raise refused(why)
    known = ("type", "select_list", "from_table", "where_clause")
    _only(node, *known, what="it")


def _outputs(picks: list[Node]) -> tuple[Output, ...] | None:
    if len(picks) == 1 and picks[0]["class"] == "STAR":
        _only(picks[0], "class", "type", what="its *")
        return None
    outputs = []
    for pick in picks:
        if pick["class"] == "STAR":
            raise refused("it has * beside other columns")
        cast, attempt, inner = None, False, pick
        if pick["class"] == "CAST":
            _only(pick, "class", "type", "alias", "child", "try_cast", "type_expr", what="a cast")
            cast, attempt, inner = _cast_type(pick), bool(pick["try_cast"]), pick["child"]
        column = _column(inner, f"it computes {_named(inner)}")
        outputs.append(Output(pick["alias"] or inner["alias"] or column, column, cast, attempt))
    return tuple(outputs)


def _rule(node: Node) -> Rule | Test:
    """A filter: comparisons with constants under AND, OR and NOT."""
    kind, sign = node["class"], node["type"]
    if kind == "CONJUNCTION" and sign in ("CONJUNCTION_AND", "CONJUNCTION_OR"):
        _only(node, "class", "type", "children", what="a filter")
        return Rule(sign.removeprefix("CONJUNCTION_"), tuple(_rule(x) for x in node["children"]))
    if kind == "OPERATOR" and sign == "OPERATOR_NOT":
        _only(node, "class", "type", "children", what="a filter")
        return Rule("NOT", (_rule(node["children"][0]),))
    why = "a filter is not a comparison of a column with constants"
    if kind == "OPERATOR" and (sign in _LISTS or sign in _MISSING):
        _only(node, "class", "type", "children", what="a filter")
        column, *values = node["children"]
        return Test(_column(column, why), (_LISTS | _MISSING)[sign], tuple(_constant(x, why) for x in values))
    if kind == "BETWEEN" and sign in _BETWEEN:
        _only(node, "class", "type", "input", "lower", "upper", what="a filter")
        ends = (_constant(node["lower"], why), _constant(node["upper"], why))
        return Test(_column(node["input"], why), _BETWEEN[sign], ends)
    if kind == "COMPARISON" and sign in _COMPARE:
        _only(node, "class", "type", "left", "right", what="a filter")
        left, right, text = node["left"], node["right"], _COMPARE[sign]
        if left["class"] != "COLUMN_REF":
            left, right, text = right, left, _TURNED[text]
        return Test(_column(left, why), text, (_constant(right, why),))
    raise refused(why)


def _constant(node: Node, why: str) -> Constant:
    if node["class"] == "CAST":
        _only(node, "class", "type", "child", "type_expr", what="a filter")
        inner = _constant(node["child"], why)
        if inner.cast is not None:
            raise refused(why)
        return Constant(inner.text, inner.is_text, _cast_type(node))
    if node["class"] != "CONSTANT":
        raise refused(why)
    _only(node, "class", "type", "literal", what="a constant")
    kind, text = node["literal"]["kind"], node["literal"].get("text")
    if kind == "STRING" and isinstance(text, str):
        return Constant(text, is_text=True)
    plain = kind in ("INTEGER", "DECIMAL", "FLOAT", "DOUBLE", "NUMERIC", "BOOLEAN", "TRUE", "FALSE")
    word = str(text if text is not None else node["literal"].get("value", kind))
    if plain and set(word) <= set("0123456789.+-eE") | set("trufalseTRUFALSE"):
        return Constant(word, is_text=False)
    raise refused(f"a filter has a constant of the kind {kind}")


def _cast_type(node: Node) -> str:
    kind = node["type_expr"]
    _only(kind, "class", "type", "type_name", "qualified_name", what="a cast")
    name = str(kind["type_name"]).upper()
    if name not in _TYPES:
        raise refused(f"it casts to {name}, which is not one of {', '.join(sorted(set(_TYPES.values())))}")
    return _TYPES[name]


def _column(node: Node, why: str) -> str:
    if node["class"] != "COLUMN_REF":
        raise refused(why)
    _only(node, "class", "type", "alias", "column_names", what="a column")
    if len(node["column_names"]) != 1:
        raise refused(f"it writes {'.'.join(node['column_names'])} where a bare column is wanted")
    return str(node["column_names"][0])


def _check_names(selection: Selection, columns: Columns | None) -> None:
    outputs = selection.outputs or ()
    names = [x.name.lower() for x in outputs]
    if len(set(names)) < len(names):
        raise refused("two columns of its result have one name")
    # In a filter an alias may stand for what it names, so such names are refused there.
    aliases = {x.name.lower() for x in outputs if x.name.lower() != x.column.lower() or x.cast}
    filters = {x.lower() for x in selection.filters()}
    if aliases & filters:
        raise refused("a filter uses a name that the query gives to another column")
    if columns is None:
        return
    origin = {x.name: x for x in outputs}
    for name in (columns.user, *columns.items, *([] if columns.weight is None else [columns.weight])):
        output = origin.get(name, Output(name, name))
        if name == columns.user and output.cast is not None:
            raise refused("the user is not a bare column")
        if output.column.lower() in filters:
            what = "user" if name == columns.user else "item"
            raise refused(f"it filters by the {what} column {output.column!r}")


def _only(node: Node, *known: str, what: str) -> None:
    """Refuse a node with anything in it but what is known; where it stands in the text does not matter."""
    for key, value in node.items():
        if key not in known and not key.startswith("query_location") and value not in _NEUTRAL:
            raise refused(f"{what} has something beside a plain column ({key.replace('_', ' ')})")


def _named(node: Node) -> str:
    if node["class"] == "SUBQUERY":
        return "a subquery"
    if node["class"] == "WINDOW":
        return "a window over many records"
    if node["class"] == "FUNCTION":
        return f"{node.get('function_name', 'a function')}(…)"
    return "a column" if node["class"] != "CONSTANT" else "a constant"


VIEW = "is a view"
VIRTUAL = "is a virtual or foreign table"
GENERATED = "has generated columns"


def refuse_view(name: str, why: str = VIEW) -> ParameterError:
    """The refusal of a view, or of what is computed like one: nobody has judged the query or the program behind it."""
    return ParameterError(
        f"The table {name!r} {why}: what computes it may mix people or move items.",
        allowed="a table that holds its records itself",
        fix="name such a table; or --acknowledge-sql (Python: acknowledge_sql=True), and the statement will say so",
    )


def missing_table(table: str, names: list[str]) -> ParameterError:
    """The error about a table that is not there, with the nearest name."""
    close = nearest_name(table, names)
    return ParameterError(
        f"There is no table {table!r}." + (f" Did you mean {close!r}?" if close else ""),
        allowed=", ".join(names[:50]) or "a database with tables",
        fix=f"table={close}" if close else "name one of these tables",
    )


@dataclass(frozen=True)
class Constant:
    """A constant of a filter: its text, whether it is a text, and the type that it is cast to."""

    text: str
    is_text: bool
    cast: str | None = None

    def sql(self, dialect: Syntax) -> str:
        """The constant in the words of an engine."""
        plain = dialect.literal(self.text) if self.is_text else self.text
        return plain if self.cast is None else f"CAST({plain} AS {_type(dialect, self.cast)})"


@dataclass(frozen=True)
class Test:
    """A comparison of a column with constants."""

    column: str
    sign: str
    constants: tuple[Constant, ...] = ()

    def sql(self, dialect: Syntax, names: Mapping[str, str]) -> str:
        """The comparison in the words of an engine."""
        values = [x.sql(dialect) for x in self.constants]
        right = f"({', '.join(values)})" if self.sign.endswith("IN") else " AND ".join(values)
        return f"({dialect.identifier(names[self.column])} {self.sign} {right})"


@dataclass(frozen=True)
class Rule:
    """Comparisons joined by AND or OR, or denied by NOT."""

    sign: str
    parts: tuple[Rule | Test, ...]

    def sql(self, dialect: Syntax, names: Mapping[str, str]) -> str:
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

    def sql(self, dialect: Syntax, table: str, results: Iterable[str], *, header_is_sure: bool = True) -> str:
        """A fresh text in the words of an engine: ``table`` stands after FROM and has the columns ``results``."""
        names = self._names(list(results), header_is_sure)
        picks = "*"
        if self.outputs is not None:
            picks = ", ".join(_output(x, dialect, names) for x in self.outputs)
        where = "" if self.where is None else f" WHERE {self.where.sql(dialect, names)}"
        return f"SELECT {picks} FROM {table}{where}"  # noqa: S608 - names are quoted, and checked to be columns

    def filters(self) -> list[str]:
        """The columns that records are chosen by."""
        return _columns_of(self.where)

    def _names(self, results: list[str], header_is_sure: bool) -> dict[str, str]:
        """Columns as the table spells them; names that are no columns (``rowid``, ``current_user``) are refused."""
        names = {}
        columns = [*(x.column for x in self.outputs or ()), *self.filters()]
        sure = header_is_sure or bool({x.lower() for x in columns} & {x.lower() for x in results})
        for column in columns:
            same = [x for x in results if x == column] or [x for x in results if x.lower() == column.lower()]
            if len(same) != 1:
                raise missing_column(column, results) if sure else no_header(column)
            names[column] = same[0]
        return names


def _output(output: Output, dialect: Syntax, names: Mapping[str, str]) -> str:
    value = dialect.identifier(names[output.column])
    if output.cast is not None:
        if output.attempt and dialect.name not in ("duckdb", "spark"):
            raise refused(f"{dialect.name} has no TRY_CAST")
        value = f"{'TRY_' * output.attempt}CAST({value} AS {_type(dialect, output.cast)})"
    return f"{value} AS {dialect.identifier(output.name)}"


def _type(dialect: Syntax, cast: str) -> str:
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
        fix="a simpler query; or --acknowledge-sql (Python: acknowledge_sql=True), and the statement will say so",
    )
