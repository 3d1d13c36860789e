"""``barrow check``: what is wrong with the records, for the curator's eyes only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from barrow.cli.numbers import Whole
from barrow.cli.study_options import data_options, make_study, split_words, study_option
from barrow.cli.terminal import Printer, output_options
from barrow.errors import ParameterError


@click.command()
@click.argument("words", nargs=-1, metavar="[SOURCE]")
@study_option
@data_options
@click.option("--examples", type=Whole(0, 100), default=5, show_default=True, help="How many bad rows to show.")
@output_options
def check(words: tuple[str, ...], file: str | None, output: Printer, examples: int, **flags: Any) -> None:
    """Find records that a release would refuse. The output is PRIVATE: it shows counts and values.

    Exits with 1 if the records cannot be used as they are.

    \b
    Example:
      barrow check visits.csv --user uid --item lat --item lon \\
        --space 'earth(cell=10)'
    """  # noqa: D301  (click reads the backspace)
    file, folders = split_words(words, file, flags)
    if folders and flags.get("source") is None:
        flags["source"] = folders[0]  # a folder, whose name has no suffix
    study = make_study(file, **flags)
    data = study.data
    if data is None or data.source is None:
        raise ParameterError(
            "No source is named.", allowed="a file, a pattern or a table", fix="barrow check visits.csv …"
        )
    space, odd = (study.space.records_space, None) if data.number is None else data.number.reads(study.space)
    report = data.engine().check(
        data.source, data.columns, space, users=study.users, examples=examples, unknown=odd or data.unknown
    )
    if data.number is not None and data.number.kind == "count":  # what the records hold is not asked
        report = replace(report, lost_items=0, examples=(), advice=())
    output.tell(report.to_json(), "usable" if report.usable else "not usable", str(report))
    if not report.usable:
        raise SystemExit(1)
