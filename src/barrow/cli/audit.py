"""``barrow audit``: the library tries to break its own promises."""

from __future__ import annotations

import json

import click


@click.command()
@click.option("--all", "everything", is_flag=True, help="Every mechanism and model, and every planted bug.")
@click.option("--only", multiple=True, help="One audit by its name (may be given more than once).")
@click.option("--planted/--no-planted", default=True, show_default=True, help="Plant bugs, too: each must be caught.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
@click.option("--summary", is_flag=True, help="End with one line of JSON: the counts.")
@click.pass_context
def audit(
    ctx: click.Context, everything: bool, only: tuple[str, ...], planted: bool, as_json: bool, summary: bool
) -> None:
    """Check every mechanism on tiny spaces, exactly: all pairs of small users, at every distance.

    Through the code that draws releases. Exit code 1 if a promise is broken, or a planted bug is not caught.
    """
    from barrow.audit import CASES, audit_all

    if not everything and not only:
        raise click.UsageError(f"Say --all, or --only one of: {', '.join(CASES)}.")
    quiet = as_json or not everything
    verdict = audit_all(
        only=list(only) or None, planted=planted, progress=None if quiet else lambda line: click.echo(line, err=True)
    )
    click.echo(json.dumps(verdict.to_json(), indent=2) if as_json else "\n".join(verdict.lines()))
    if summary:
        click.echo(json.dumps(verdict.summary()))
    ctx.exit(0 if verdict.passed else 1)
