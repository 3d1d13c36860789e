"""``barrow plan``: what a release would give and cost."""

from __future__ import annotations

import json
from typing import Any

import click

from barrow.cli.study_options import data_options, make_study, output_options, question_options
from barrow.engines import engine_for


@click.command()
@data_options
@question_options
@output_options
def plan(as_json: bool, quiet: bool, **flags: Any) -> None:
    """Show what a release would give and cost. No budget is spent, and of the data only column names are read.

    \b
    Example:
      barrow plan visits.parquet --user uid --item lat --item lon --users 1083 \\
        --space 'earth(box=(40.5, -74.3, 41.0, -73.6), cell=0.2)' --query "density(bandwidth='1 km')" \\
        --promise "1 day of 30, 10 km, 0.5" --promise "all, 300 m, 0.5"
    """  # noqa: D301  (click reads the backspace)
    study = make_study(flags.pop("file"), **flags)
    if study.source is not None and study.user is not None and study.items:
        engine_for(study.source).validate(study.source, study.columns, study.space, unknown=study.unknown)
    made = study.plan()
    if as_json:
        click.echo(json.dumps(made.to_json(), ensure_ascii=False))
    elif quiet:
        click.echo(f"{made.error:.6g}")
    else:
        click.echo(str(made))
        click.echo("\nNo private value was read and nothing was spent. Next: barrow release with the same words.")
