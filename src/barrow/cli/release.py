"""``barrow release``: from records to a statement."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from barrow.cli.study_options import data_options, make_study, output_options, question_options
from barrow.errors import ParameterError


@click.command()
@data_options
@question_options
@click.option("--ledger", type=click.Path(), help="The ledger to charge (barrow ledger init makes one).")
@click.option("--out", type=click.Path(), help="A new folder for values and statement.")
@click.option("--key", help="Names this release; the same key is never paid or drawn twice.")
@output_options
def release(as_json: bool, quiet: bool, key: str | None, **flags: Any) -> None:
    """Release an answer: validate, read, reserve in the ledger, draw noise, commit, write.

    \b
    Example:
      barrow release --study study.toml --ledger visits.ledger --out visits-map
    """  # noqa: D301  (click reads the backspace)
    study = make_study(flags.pop("file"), **flags)
    if study.out is None:
        raise ParameterError("No output folder is named.", allowed="a new folder", fix="--out results")
    try:
        result = study.release(key=key, progress=sys.stderr.isatty() and not (quiet or as_json))
    except KeyboardInterrupt:
        # After the payment an interruption is a LostReleaseError, which says what was spent.
        click.echo("Interrupted before the release was paid for; barrow ledger show tells what was spent.", err=True)
        raise SystemExit(130) from None
    if as_json:
        rows = result.rows() if len(result.values) <= 1000 else None
        click.echo(json.dumps({**result.statement, "folder": str(result.folder), "values": rows}, ensure_ascii=False))
        return
    if quiet:
        click.echo(str(result.folder))
        return
    click.echo(result.text)
    click.echo()
    click.echo("\n".join(result.plan.summary(result.drawn)))
    click.echo(f"Wrote {result.folder}: " + ", ".join(sorted(p.name for p in result.folder.iterdir())))  # type: ignore[union-attr]
    click.echo(f"Next: barrow verify {result.folder}, barrow explain {result.folder}/statement.json")
