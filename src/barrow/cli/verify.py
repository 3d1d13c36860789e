"""``barrow verify``: does a folder hold what was released, and was it paid for?"""

from __future__ import annotations

import json

import click

from barrow.cli.study_options import output_options
from barrow.study import verify as verify_folder


@click.command()
@click.argument("folder", type=click.Path())
@click.option("--ledger", type=click.Path(), help="The ledger, if it is not where the statement says.")
@output_options
def verify(folder: str, ledger: str | None, as_json: bool, quiet: bool) -> None:
    """Check the digests of a release's files, its words, and its entry in the ledger; exits with 1 if one fails.

    \b
    Example:
      barrow verify visits-map
    """  # noqa: D301  (click reads the backspace)
    checks = verify_folder(folder, ledger=ledger)
    good = all(check.holds for check in checks)
    if as_json:
        rows = [{"what": c.what, "holds": c.holds, "finding": c.finding} for c in checks]
        click.echo(json.dumps({"holds": good, "checks": rows}, ensure_ascii=False))
    elif quiet:
        click.echo("holds" if good else "does not hold")
    else:
        for check in checks:
            click.echo(f"{'✓' if check.holds else '✗'} {check.what}: {check.finding}")
    if not good:
        raise SystemExit(1)
