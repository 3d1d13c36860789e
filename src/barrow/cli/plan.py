"""``barrow plan``: what a release would give and cost."""

from __future__ import annotations

from typing import Any

import click

from barrow.cli.numbers import Whole
from barrow.cli.report import page_options, write_page
from barrow.cli.study_options import asked_of, asking_options, output_options
from barrow.cli.terminal import echo, echo_json
from barrow.study.bars import bars


@click.command()
@asking_options
@click.option("--times", type=Whole(1, 10_000), default=1, help="Plan so many equal releases, e.g. one a month.")
@page_options
@output_options
def plan(
    words: tuple[str, ...],
    file: str | None,
    times: int,
    html: str | None,
    opened: bool,
    as_json: bool,
    quiet: bool,
    **flags: Any,
) -> None:
    """Show what a release would give and cost. Nothing is spent, and of the data only column names are read.

    NAME is a question of the study; all of them by default.

    \b
    Example:
      barrow plan
      barrow plan --space 'line(low=0, high=100, step=1, unit="years")' --users 1083 \\
        --promise "all, 5 years, 0.5" --question mean
    """  # noqa: D301  (click reads the backspace)
    with bars(False if quiet or as_json else None):
        study, asked, _ = asked_of(words, file, flags)
    if study.data is not None and study.data.source is not None and study.data.user and study.data.items:
        study.data.validate(study.space)
    if times > 1:
        from dataclasses import replace
        from fractions import Fraction

        share = {q.label: study.terms(q).fraction / Fraction(times) for q in asked}
        asked = [replace(q, fraction=share[q.label]) for q in asked]
        study = study.replace(questions=asked)
    with bars(False if quiet or as_json else None):
        plans = [study.plan(question) for question in asked]
    wrote = write_page(lambda: plan_page(plans, study.dataset), html, opened, "plan.html")
    grids = study.grids
    if as_json:
        told = [{**made.to_json(), **({} if grids is None else {"grids": grids.to_json()})} for made in plans]
        echo_json(told[0] if len(told) == 1 else {"plans": told})
        return
    for line in [] if grids is None or quiet else grids.lines():
        echo(line)
    for made in plans:
        if quiet:
            echo(f"{made.error:.6g}" if len(plans) == 1 else f"{made.question.label}: {made.error:.6g}")
            continue
        if len(plans) > 1:
            echo(f"── {made.question.label}")
        echo(str(made))
        if study.data is not None and study.data.source is not None and study.data.source.consequence:
            echo(f"Records   {study.data.source.consequence}")
    if not quiet:
        many = f" Each of {times:,} releases gets this." if times > 1 else ""
        if wrote is not None:
            echo(f"\nWrote {wrote}.")
        echo(f"\nNo private value was read and nothing was spent.{many} Next: barrow release")


def plan_page(plans: Any, dataset: str | None) -> Any:
    """The report of plans."""
    from barrow.render.report.plans import plan_report

    with bars():
        return plan_report(plans, dataset=dataset)
