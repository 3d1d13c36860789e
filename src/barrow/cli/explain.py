"""``barrow explain``: how a release was made, from its statement."""

from __future__ import annotations

import click
import msgspec

from barrow.cli.main import tell
from barrow.cli.study_options import output_options
from barrow.study import explain as explain_statement
from barrow.study import read_statement, statement_text


@click.command()
@click.argument("statement", type=click.Path())
@output_options
def explain(statement: str, as_json: bool, quiet: bool) -> None:
    """Explain in numbered steps how a release was made and what it promises.

    \b
    Example:
      barrow explain visits-map/statement.json
    """  # noqa: D301  (click reads the backspace)
    result = read_statement(statement)
    steps = explain_statement(result).splitlines()
    told = {"steps": steps, "statement": msgspec.to_builtins(result)}
    tell(as_json, quiet, told, "\n".join(steps), statement_text(result) + "\n", *steps)
