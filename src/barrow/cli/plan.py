"""``barrow plan``: what a release would give and cost."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from barrow.cli import work
from barrow.cli.again import RepeatedRun
from barrow.cli.numbers import Whole
from barrow.cli.pages import page_options, write_page
from barrow.cli.series import in_series, planned_parts
from barrow.cli.study_options import (
    DEFAULT,
    asking_options,
    part_options,
    study_and_questions,
    verbose_option,
)
from barrow.cli.terminal import Printer, echo, echo_alarm, echo_json, output_options
from barrow.numerics.exact import PERCENT, at_most
from barrow.render import report as pages


@click.command()
@click.pass_context
@asking_options
@part_options
@click.option(
    "--periods", type=Whole(1, 10_000), help="Plan one release for each of this many periods, e.g. 12 months."
)
@click.option("--releases", type=Whole(1, 10_000), default=1, help="Plan this many releases under the same promises.")
@verbose_option
@page_options
@output_options
def plan(
    ctx: click.Context,
    /,
    words: tuple[str, ...],
    file: str | None,
    period: str | None,
    by: tuple[str, ...],
    periods: int | None,
    releases: int,
    verbose: bool,
    html: str | None,
    opened: bool,
    output: Printer,
    **flags: Any,
) -> None:
    """Show the accuracy and the cost of a release before it is made. It spends nothing and reads only column names.

    NAME is a question of the study; all of them by default. With a ledger it says what is left of every promise.

    \b
    Example:
      barrow plan
      barrow plan --periods 12
      barrow plan --space 'line(low=0, high=100, step=1, unit="years")' \\
        --users 1083 --promise "all, 5 years, 0.5" --question mean
    """  # noqa: D301  (click reads the backspace)
    with work.bars(output.progress):
        study, questions, _ = study_and_questions(words, file, flags)
    study = _with_periods(study, periods)
    questions = [study.by(question, by or None) for question in questions]
    if study.data is not None and study.data.source is not None and study.data.user and study.data.items:
        study.data.validate(study.space)
    if releases > 1:
        study = in_series(study, questions, releases, period)
        questions = list(study.questions)
    with work.bars(output.progress):
        asked, together = len(questions), tuple[str, ...]()
        if asked > 1:
            released = work.jointly(study, questions, lambda one: study.abouts(one, period or _shown(study)))
            done = [one.label for one in released.questions if one.label in released.before]
            questions, together = list(released.questions), (*released.lines, *_shown_again(done))
        parts = [result for question in questions for result in planned_parts(study, question, period)]
        plans = [result.plan for result in parts]
        wrote = write_page(lambda: pages.plan_report(plans, dataset=study.dataset), html, opened, "plan.html")
    left = work.lines_left(study, plans)
    if output.as_json:
        echo_json(
            {**_told(study, parts, left, several=asked > 1), **({"together": list(together)} if together else {})}
        )
    else:
        for line in [] if study.grids is None or output.quiet else study.grids.lines():
            echo(line)
        for built in parts:
            _show(study, built, output.quiet, verbose, several=len(parts) > 1)
    if not output.silent:
        worst = max(plans, key=lambda one: one.worst_epsilon)
        if len(parts) > 1 and not verbose and (problem := work.worst_alarm(worst)):
            echo_alarm(f"Alarm     {problem}")
        for line in left if verbose or len(parts) == 1 else _tightest(left):
            echo(f"Left      {line}")
        for line in together:
            echo(f"Together  {line}")
        if wrote is not None:
            echo(f"\nWrote {wrote}.")
        for line in _study_lines(study, questions, periods, releases):
            echo(line)
        more = "" if verbose else " (barrow plan --verbose says more)"
        named = next((word for word in words if word.endswith(".toml")), file)
        before = "\n" if len(parts) == 1 else ""  # the plans of two questions fit on one screen
        echo(f"{before}No private value was read and nothing was spent{more}. Next: {next_step(study, named)}")
    chosen = [each for each in plans if each.question.traits.of_shares]
    if chosen:  # for means nothing is loaded
        work.keep_choices(chosen)
    if isinstance(ctx.obj, RepeatedRun) and not any(work.declared_parts(each.question, study.space) for each in plans):
        ctx.obj.keep()


def _shown_again(names: Sequence[str]) -> list[str]:
    """That questions were answered by releases of several: a plan says what each would be like by itself."""
    if not names:
        return []
    return [
        f"{', '.join(names)}: released together with others before; barrow release {names[0]} shows that release and "
        "costs nothing, whatever the plan by itself says"
    ]


def _tightest(left: Sequence[str]) -> Sequence[str]:
    """Of lines about promises the one that allows the fewest more releases."""
    numbers = [re.search(r": ([\d,]+) more", line) for line in left]
    if len(left) < 2 or None in numbers:
        return left
    fewest = min(range(len(left)), key=lambda i: int((numbers[i] or [""])[1].replace(",", "")))
    return [left[fewest]]


def _shown(study: work.Study) -> str | None:
    """The period that a plan is about where nobody says: periods are alike."""
    return None if study.calendar is None else work.LAST


def next_step(study: work.Study, file: str | None) -> str:
    """What to type next, about the study in ``file``."""
    if study.model in (work.Model.LOCAL, work.Model.SHUFFLE):
        return "barrow local randomise (docs/local.md), or barrow collect init"
    if study.model is work.Model.AGGREGATED:
        return "barrow compare --models, or barrow collect init (docs/how-to/two-parties.md)"
    release = "barrow release" if file in (None, DEFAULT) else f"barrow release {shlex.quote(file)}"
    return f"{release} --period last" if study.calendar is not None else release


def _with_periods(study: work.Study, periods: int | None) -> work.Study:
    """The study of a series; one that names no records has the calendar that its promises speak of."""
    if periods is None:
        return study
    if study.calendar is None:
        unit = next((p.scope.unit for p in study.promises if p.scope is not None), "month")
        data = replace(study.data or work.Data(), time="time", period=unit, zone="UTC")
        return study.replace(periods=periods, data=data)
    return study.replace(periods=periods)


def _told(
    study: work.Study, parts: Sequence[work.ReleaseParts], left: Sequence[str], *, several: bool
) -> dict[str, Any]:
    grids = {} if study.grids is None else {"grids": study.grids.to_json()}
    told = []
    for built in parts:
        groups = {str(label): one.error for label, one in built.plans.items() if label is not None}
        about = {"groups": groups} if groups else {}
        told.append({**work.answer_json(built.plan), **grids, **about, **({"left": list(left)} if left else {})})
    return {"plans": told} if several or len(told) > 1 else told[0]


def _show(study: work.Study, parts: work.ReleaseParts, quiet: bool, verbose: bool, *, several: bool) -> None:
    plan, grouping = parts.plan, parts.about.grouping
    name = plan.question.label if grouping is None else f"{plan.question.label} by {grouping.name}"
    if quiet:
        echo(f"{plan.error:.6g}" if not several else f"{name}: {plan.error:.6g}")
        return
    if several:
        echo(f"── {name}")
    shown = plan if parts.about.people_of is None else max(parts.plans.values(), key=work.widest)
    echo(str(shown) if verbose else "\n".join(work.brief_lines(shown, several=several)))
    if (verbose or not several) and (problem := work.worst_alarm(plan)):
        echo_alarm(f"Alarm     {problem}")
    if parts.about.people_of is not None:
        unit = PERCENT if plan.question.traits.in_percent else plan.error_unit
        each = ", ".join(f"{label} {at_most(work.widest(one), unit)}" for label, one in parts.plans.items())
        by = f"by {parts.about.people_of.name}, each with the whole promise"
        echo(f"Groups    {by}; error: {each}. The least accurate one is shown above.")
    if study.data is not None and study.data.source is not None and study.data.source.consequence:
        echo(f"Records   {study.data.source.consequence}")


def _study_lines(
    study: work.Study, questions: Sequence[work.Question], periods: int | None, releases: int
) -> list[str]:
    """What to write into the study so that a release gets what was planned."""
    lines = []
    if periods is not None and study.calendar is not None:
        unit = study.calendar.unit
        lines.append(f"\nEach of {periods:,} {unit}s gets this, if the study says, above its first table:")
        lines.append(f"  periods = {periods}")
    if releases > 1:
        lines.append(f"\nEach of {releases:,} releases gets this, if the question in the study says:")
        lines += [f'  fraction = "{q.fraction}"' for q in questions[:1]]
        if study.composition == "quadrature":
            lines.append("and the study, above its first table, before its ledger is made:")
            lines.append('  composition = "quadrature"')
    return lines
