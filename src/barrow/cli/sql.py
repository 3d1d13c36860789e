"""``barrow sql``: the SELECT for a warehouse that barrow does not connect to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from barrow.cli import work
from barrow.cli.files import beside, write_new
from barrow.cli.study_options import asking_options, part_options, pool_options, study_and_questions
from barrow.cli.terminal import Printer, echo_json, echo_raw, output_options
from barrow.engines.sql.foreign import FOREIGN, SqlStatement, dialect_named, self_test, written
from barrow.errors import ParameterError
from barrow.study.data import Data

_COLUMNS = ("item", "n", "a_low", "b_low", "c_low", "d_low")
_NEXT = "Next: run it, write its rows to a file, and barrow release --counts FILE"


@click.command()
@asking_options
@click.option("--dialect", required=True, metavar="NAME", help=f"One of {', '.join(FOREIGN)}.")
@click.option("--table", help="The table of records where the SELECT will run; the study's own by default.")
@click.option("--public", metavar="SCHEMA", help="Where large public tables are made; beside the records by default.")
@click.option(
    "--self-test", "tested", is_flag=True, help="Write a SELECT over made-up rows, with the rows that it must give."
)
@click.option("--out", type=click.Path(), help="A new file for the SELECT; standard output by default.")
@part_options
@pool_options
@output_options
def sql(
    words: tuple[str, ...],
    file: str | None,
    dialect: str,
    table: str | None,
    public: str | None,
    tested: bool,
    out: str | None,
    period: str | None,
    by: tuple[str, ...],
    pool: str | None,
    weights: str | None,
    output: Printer,
    **flags: Any,
) -> None:
    """Write one SELECT that counts the records in your own warehouse, for barrow release --counts.

    Run it with your own client and write its rows to a Parquet or CSV file; barrow release --counts FILE goes on from
    there. The rows are private. barrow reads nothing here and connects to nothing. Of a study with periods or groups,
    name the same periods and groups here and there.

    \b
    Example:
      barrow sql --dialect snowflake --table shop.public.visits --out visits.sql
      barrow release --counts counts.parquet
      barrow sql --dialect trino --period 2026-01..2026-03 --by region
    """  # noqa: D301  (click reads the backspace)
    known = dialect_named(dialect)
    told: dict[str, Any] = {"dialect": dialect, "run": known.tried}
    if tested:
        statement, rows = self_test(dialect)
        shown = [",".join(map(str, row)) for row in [_COLUMNS, *rows]]
        text = "\n".join([statement.text, "-- must give, in any order:", *(f"-- {line}" for line in shown)]) + "\n"
        told |= {"sql": statement.text, "columns": list(_COLUMNS), "expected": [list(row) for row in rows]}
    else:
        study, questions, _ = study_and_questions(words, file, flags)
        asked = [study.by(question, by or None) for question in questions]
        series = [
            work.Series(study, one, abouts) for one in asked for abouts in study.abouts(one, period, pool, weights)
        ]
        statement = _statement(series, dialect, table, public)
        text = statement.text
        told |= {"sql": text, "digest": statement.digest, "mark": statement.mark}
        told |= {"tables": list(statement.tables)}
        told |= {
            "columns": list(statement.columns),
            "groups": list(statement.groups),
            "periods": list(statement.periods),
        }
    if out is None and statement.tables:
        raise ParameterError(
            "The SELECT joins a public table of more than 5,000 rows, which a script of its own makes.",
            allowed="a file for the SELECT; the script is written beside it",
            fix="--out visits.sql",
        )
    if out is None:
        echo_json(told) if output.as_json else echo_raw(text.rstrip("\n"))
        return
    script, other = Path(out).with_name(f"{Path(out).stem}-tables.sql"), f"--out {beside(Path(out))}"
    write_new(Path(out), [text.encode()], other)
    note = "" if known.tried else f" It was never run on {dialect} itself: try --self-test there first."
    if statement.tables:
        write_new(script, (piece.encode() for piece in statement.script()), other)
        told |= {"script": str(script)}
        note = f" Run {script} first, once: it makes the public table that the SELECT joins.{note}"
    output.tell(told | {"file": out}, out, f"Wrote {out}.{note}", _NEXT)


def _statement(series: list[work.Series], dialect: str, table: str | None, public: str | None) -> SqlStatement:
    """The one SELECT of all that is meant."""
    texts = {_one(each, dialect, table, public) for each in series}
    if len(texts) > 1:
        raise ParameterError(
            "The questions need different SELECTs.",
            allowed="one question, by one grouping",
            fix="name one of them; with --by NAME for a grouping of several",
        )
    return texts.pop()


def _one(series: work.Series, dialect: str, table: str | None, public: str | None) -> SqlStatement:
    """The SELECT of one question by one grouping, about all its periods."""
    study, reader = series.study.within(series.abouts[0].grouping), series.reader
    data = study.data
    if data is None or reader is None or data.sql is not None or data.per_person is not None:
        raise ParameterError(
            "The study names no records." if data is None else "The study reads a query, or one number a person.",
            allowed="columns of a table, as user and items under [data]",
            fix='user = "uid" and items = ["lat", "lon"] under [data]; --table NAME',
        )
    space = study.space_of(series.question).records_space
    return written(
        space, reader.columns, dialect=dialect, table=_table(data, table), unknown=data.unknown,
        breakdown=reader.breakdown, public=public,
    )  # fmt: skip


def _table(data: Data, table: str | None) -> str:
    """The table that the SELECT reads."""
    named = table or (data.source.table if data.source is not None else None)
    if named is None:
        raise ParameterError(
            "The table that the SELECT reads is not named.",
            allowed="one of the warehouse",
            fix="--table shop.visits",
        )
    return str(named)
