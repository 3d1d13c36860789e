"""``barrow sql``: the SELECT for a warehouse that barrow does not connect to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from barrow.cli.study_options import asking_options, study_and_questions
from barrow.cli.terminal import Printer, echo_json, echo_raw, output_options
from barrow.engines.sql.foreign import FOREIGN, SqlStatement, dialect_named, self_test, written
from barrow.errors import ParameterError
from barrow.questions import Question
from barrow.study import Study

_COLUMNS = ("item", "n", "a_low", "b_low", "c_low", "d_low")
_NEXT = "Next: run it, write its rows to a file, and barrow release --counts FILE"


@click.command()
@asking_options
@click.option("--dialect", required=True, metavar="NAME", help=f"One of {', '.join(FOREIGN)}.")
@click.option("--table", help="The table of records where the SELECT will run; the study's own by default.")
@click.option(
    "--self-test", "tested", is_flag=True, help="Write a SELECT over made-up rows, with the rows that it must give."
)
@click.option("--out", type=click.Path(), help="A new file for the SELECT; standard output by default.")
@output_options
def sql(
    words: tuple[str, ...],
    file: str | None,
    dialect: str,
    table: str | None,
    tested: bool,
    out: str | None,
    output: Printer,
    **flags: Any,
) -> None:
    """Write one SELECT that counts the records in your own warehouse, for barrow release --counts.

    Run it with your own client and write its rows to a Parquet or CSV file; barrow release --counts FILE goes on from
    there. The rows are private. barrow reads nothing here and connects to nothing.

    \b
    Example:
      barrow sql --dialect snowflake --table shop.public.visits --out visits.sql
      barrow release --counts counts.parquet
    """  # noqa: D301  (click reads the backspace)
    known = dialect_named(dialect)
    told: dict[str, Any] = {"dialect": dialect, "run": known.tried}
    if tested:
        statement, rows = self_test(dialect)
        shown = [",".join(map(str, row)) for row in [_COLUMNS, *rows]]
        text = "\n".join([statement.text, "-- must give, in any order:", *(f"-- {line}" for line in shown)]) + "\n"
        told |= {"sql": statement.text, "columns": list(_COLUMNS), "expected": [list(row) for row in rows]}
    else:
        statement = _statement(*study_and_questions(words, file, flags)[:2], dialect, table)
        text = statement.text
        told |= {"sql": text, "digest": statement.digest, "mark": statement.mark}
    if out is None:
        echo_json(told) if output.as_json else echo_raw(text.rstrip("\n"))
        return
    place = Path(out)
    if place.exists():
        raise ParameterError(f"The file {out!r} exists.", allowed="a new file", fix=f"--out {place.stem}-2.sql")
    place.write_text(text, encoding="utf-8")
    note = "" if known.tried else f" It was never run on {dialect} itself: try --self-test there first."
    output.tell(told | {"file": out}, out, f"Wrote {out}.{note}", _NEXT)


def _statement(study: Study, questions: list[Question], dialect: str, table: str | None) -> SqlStatement:
    """The one SELECT of the questions that are meant."""
    data = study.data
    if data is None or data.sql is not None or data.per_person is not None:
        raise ParameterError(
            "The study names no records." if data is None else "The study reads a query, or one number a person.",
            allowed="columns of a table, as user and items under [data]",
            fix='user = "uid" and items = ["lat", "lon"] under [data]; --table NAME',
        )
    named = table or (data.source.table if data.source is not None else None)
    if named is None:
        raise ParameterError(
            "The table that the SELECT reads is not named.",
            allowed="one of the warehouse",
            fix="--table shop.visits",
        )
    texts = {
        written(study.space_of(x).records_space, data.columns, dialect=dialect, table=named, unknown=data.unknown)
        for x in questions
    }
    if len(texts) > 1:
        raise ParameterError("The questions need different SELECTs.", allowed="one question", fix="name one of them")
    return texts.pop()
