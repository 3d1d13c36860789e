"""``barrow engines check``: does an engine give the same items as the spaces themselves, bit for bit?"""

from __future__ import annotations

import click

from barrow.cli.numbers import Whole
from barrow.cli.terminal import Printer, output_options_with
from barrow.engines import Source
from barrow.engines.conformance import conformance


@click.group()
def engines() -> None:
    """Check the engines that read records where they are.

    Example:  barrow engines check "postgresql://reader@db.example/shop"
    """


@engines.command("check", short_help="Check that a database finds the same items as barrow.")
@click.argument("source")
@click.option("--rows", type=Whole(1, 100_000), default=600, show_default=True, help="Rows for each case.")
@output_options_with("Print the result only.")
def check(source: str, rows: int, output: Printer) -> None:
    """Ask the engine behind SOURCE for the items of made-up public rows, and compare them with barrow's own.

    No record is read and nothing is created. The rows are cell boundaries and their neighbours, NaN, infinities,
    denormals, numbers and moments as texts, and labels of odd letters. Exit code 1 if an item differs.

    \b
    Example:
      barrow engines check "postgresql://reader@db.example/shop"
      barrow engines check "spark://local[*]"
    """  # noqa: D301  (click reads the backspace)
    # An engine is asked, not a table: where none is named, any statement opens it.
    bare = "://" in source and not any(f"{name}=" in source for name in ("table", "sql", "path"))
    where = Source.parse(source, sql="SELECT 1 AS uid", acknowledge_sql=True) if bare else source
    report = conformance(where, rows=rows)
    output.tell(report.to_json(), "the same" if report.passed else "different", str(report))
    if not report.passed:
        raise SystemExit(1)
