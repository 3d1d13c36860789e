"""``barrow audit``: the library tries to break its own promises."""

from __future__ import annotations

import click

from barrow.audit import CASES, audit_all, audit_study
from barrow.cli.terminal import Printer, echo, echo_json
from barrow.numerics.exact import exact, nearest_float
from barrow.study import read_study
from barrow.study.bars import bars


@click.command()
@click.argument("study", required=False, type=click.Path())
@click.option("--all", "everything", is_flag=True, help="Every mechanism and model, and every planted bug.")
@click.option("--only", multiple=True, help="One audit by its name (may be given more than once).")
@click.option(
    "--planted/--no-planted", default=True, show_default=True, help="Also plant bugs, each of which must be caught."
)
@click.option("--minutes", "typed", help="With a study: about how many minutes it may take.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
@click.option("--summary", is_flag=True, help="End with one line of JSON: the counts.")
@click.pass_context
def audit(
    ctx: click.Context,
    study: str | None,
    everything: bool,
    only: tuple[str, ...],
    planted: bool,
    typed: str | None,
    as_json: bool,
    summary: bool,
) -> None:
    """Try to break what is promised. A test, not a proof: it can only find mistakes.

    With STUDY, the noise of its questions is drawn for two made-up data sets that differ in one person; no record is
    read and nothing is spent. With --all, every mechanism is checked on tiny spaces, exactly: all pairs of small users,
    at every distance, through the code that draws releases, and planted bugs must be caught. Exit code 1 if a promise
    is broken, or a planted bug is not caught.

    \b
    Example:
      barrow audit study.toml --minutes 2
      barrow audit --all
    """  # noqa: D301  (click reads the backspace)
    if study is not None:
        minutes = None if typed is None else nearest_float(exact(typed, "--minutes"))
        with bars():
            result = audit_study(read_study(study), minutes=minutes, tell=lambda line: echo(line, err=True))
        if as_json:
            echo_json({"findings": [finding.to_json() for finding in result]})
        else:
            echo("\n".join(line for finding in result for line in finding.lines()))
            echo("An audit can only find mistakes; passing it is not a proof.")
        ctx.exit(0 if all(finding.passed for finding in result) else 1)
    if not everything and not only:
        raise click.UsageError(f"Name a study file, say --all, or --only one of: {', '.join(CASES)}.")
    quiet = as_json or not everything
    verdict = audit_all(
        only=list(only) or None, planted=planted, progress=None if quiet else lambda line: echo(line, err=True)
    )
    Printer(as_json).tell(verdict.to_json(), None, *verdict.lines())
    if summary:
        echo_json(verdict.summary())
    ctx.exit(0 if verdict.passed else 1)
