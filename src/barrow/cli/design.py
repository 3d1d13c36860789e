"""``barrow design``: choose privacy by looking, in a page on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from barrow.cli.numbers import Whole
from barrow.cli.study_options import DEFAULT
from barrow.cli.terminal import echo
from barrow.errors import ParameterError
from barrow.web.serving import serve

_RECORDS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".gz")


@click.command()
@click.argument("study", required=False, default=DEFAULT, metavar="[STUDY.TOML]", type=click.Path(dir_okay=False))
@click.option("--port", type=Whole(0, 65535), default=0, help="Where to listen on 127.0.0.1; any free port by default.")
@click.option("--no-browser", is_flag=True, help="Print the link and open nothing.")
def design(study: str, port: int, no_browser: bool) -> None:
    """Open the designer: promises, space and questions on one side, what a release would look like on the other.

    It listens on this machine alone, reads no private value, and saves to STUDY.TOML (study.toml by default).

    \b
    Example:
      barrow design
      barrow design visits.toml --port 8000 --no-browser
    """  # noqa: D301  (click reads the backspace)
    if study.lower().endswith(_RECORDS):
        raise ParameterError(
            f"{study!r} holds records, and the designer saves a study.",
            allowed="a study file, new or old",
            fix=f'barrow design, and type {Path(study).name} there, under "Your file"',
        )
    serve(study, port=port, browser=not no_browser, say=echo)
