"""``barrow release``: from records to a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from barrow.cli import work
from barrow.cli.first_values import first_sentences, first_values
from barrow.cli.pages import show_page
from barrow.cli.study_options import (
    asking_options,
    part_options,
    pool_options,
    strange_questions,
    study_and_questions,
    verbose_option,
)
from barrow.cli.terminal import Printer, echo, echo_alarm, echo_json, echo_raw, output_options
from barrow.errors import ParameterError


@click.command()
@asking_options
@click.option("--ledger", type=click.Path(), help="The ledger to charge, if the study names none.")
@click.option("--out", type=click.Path(), help="A new folder for the results; default: release/NAME beside the study.")
@click.option("--open", "opened", is_flag=True, help="Open the report of the release in a browser.")
@click.option("--key", help="A name for this release; a second release with the same key costs nothing.")
@click.option("--counts", type=click.Path(), help="Rows of the SELECT of barrow sql, in place of records.")
@click.option("--ahead", is_flag=True, help="Release a period that has not begun: its records are known ahead.")
@verbose_option
@part_options
@pool_options
@output_options
def release(
    words: tuple[str, ...],
    file: str | None,
    out: str | None,
    key: str | None,
    counts: str | None,
    opened: bool,
    ahead: bool,
    verbose: bool,
    period: str | None,
    by: tuple[str, ...],
    pool: str | None,
    weights: str | None,
    output: Printer,
    **flags: Any,
) -> None:
    """Release answers: read the records, charge the budget, add noise, publish values and statement.

    NAME is a question of the study; by default every question that has not been released yet, or all of them again. A
    release that was made before is shown again and costs nothing; one that was interrupted is finished without a
    second payment. In a study with periods each goes into release/PERIOD/NAME; a correction of a period that was
    released is a new release, which needs --data-version and pays again there.

    \b
    Example:
      barrow release
      barrow release map --out visits-map
      barrow release --period last
      barrow release --period 2026-01..2026-03 --pool records
      barrow release --period 2026-01..2026-03 --pool periods \\
        --weights "1/2, 1/4, 1/4"
    """  # noqa: D301  (click reads the backspace)
    study, questions, names = study_and_questions(words, file, flags)
    if not output.silent:
        for line in strange_questions(words, file, flags):
            echo(line, err=True)
    if counts is not None:
        study = study.replace(data=(study.data or work.Data()).counted(counts))
    questions = [study.by(question, by or None) for question in questions]
    if len(questions) > 1:
        abouts = partial(study.abouts, period=period, pool=pool, weights=weights)
        questions = _open_together(study, questions, names, output, abouts)
    version = flags.get("version") if study.calendar is not None else None
    wanted = [
        (series, about, work.release_folder(question, about, version, _results(study)))
        for question in questions
        for series in (work.Series(study, question, abouts) for abouts in study.abouts(question, period, pool, weights))
        for about in series.abouts
    ]
    if not ahead:
        _refuse_ahead(study, (about for _, about, _ in wanted))
    if len(wanted) > 1 and (out is not None or key is not None):
        raise ParameterError("Several questions are asked.", allowed="--out and --key for one", fix="name the question")
    done: list[work.Release] = []
    for series, about, folder in wanted:
        result, again = _released(series, about, folder if out is None else Path(out), key, output.silent)
        if any(result.folder == other.folder for other in done):  # it answers several questions
            continue
        done.append(result)
        if not output.as_json:
            _show(result, again, output.quiet, verbose, several=len(wanted) > 1)
        if opened and result.report.is_file():
            show_page(result.report)
    if not output.silent and len(done) > 1 and not verbose:
        _alarm(max(done, key=lambda one: one.statement.worst_case.epsilon))
    if not output.silent:
        place = str(done[0].folder) if len(done) == 1 else "FOLDER"
        before = "\n" if len(done) == 1 else ""  # two releases fit on one screen
        echo(f"{before}Next: open {place}/report.html; barrow verify {place}; barrow explain {place}")
    if output.as_json:
        told = [_plain(result) for result in done]
        echo_json(told[0] if len(told) == 1 else {"releases": told})


def _refuse_ahead(study: work.Study, abouts: Iterable[work.About]) -> None:
    """Refuse a period that has not begun by the clock: mistyped, it would be paid for, and paid again when it has."""
    if study.calendar is None:
        return
    now = study.calendar.last_ended(datetime.now(UTC)).next()
    for period in (one for about in abouts if about.window is not None for one in about.window.periods):
        if period.first > now.first:
            raise ParameterError(
                f"{period.label} has not begun, and its release would be paid for now.",
                allowed=f"periods up to {now.label}; with --ahead later ones, whose records are known ahead (bookings)",
                fix="--period last",
            )


def _released(
    series: work.Series, about: work.About, place: Path, key: str | None, silent: bool
) -> tuple[work.Release, bool]:
    """The release, and whether it was made before."""
    reached = ["validate"]
    shown = False if silent else None
    try:
        built = work.run_release(
            series.study, series.question, out=place, key=key, progress=shown, stages=reached.append, about=about,
            series=series,
        )  # fmt: skip
        return built, "commit" not in reached
    except KeyboardInterrupt:
        # After the payment an interruption is a LostReleaseError, which says what was spent.
        text = {
            "commit": "Interrupted while the result was recorded. Run the same command again to finish; it costs "
            "nothing.",
            "publish": "Interrupted while the result was published. Run the same command again to finish; it costs "
            "nothing.",
        }.get(reached[-1], "Interrupted before the budget was charged. Nothing was spent.")
        echo(text, err=True)
        raise SystemExit(130) from None


def _open_together(
    study: work.Study,
    questions: Sequence[work.Question],
    names: Sequence[str],
    output: Printer,
    abouts: Callable[[work.Question], Sequence[Sequence[work.About]]],
) -> list[work.Question]:
    """Of several questions those without a release, unless there are names; one in place of those that gain by it."""
    listed = not names and study.calendar is None
    open_ones = [one for one in questions if not (listed and (_results(study) / one.label).exists())]
    released = work.jointly(study, open_ones, abouts)
    result = [one for one in released.questions if not (listed and one.label in released.before)]
    for line in () if output.silent else released.lines:
        echo(line)
    return result or list(questions)


def _results(study: work.Study) -> Path:
    """Where results go: into ``release`` beside the study file."""
    return Path(study.folder or "") / "release"


def _plain(result: work.Release) -> dict[str, Any]:
    rows = result.rows() if len(result.rows()) <= 1000 else None
    return {**msgspec.to_builtins(result.statement), "folder": str(result.folder), "values": rows}


def _show(result: work.Release, again: bool, quiet: bool, verbose: bool, *, several: bool) -> None:
    if quiet:
        echo_raw(str(result.folder))
        return
    echo(str(result) if verbose else _brief(result, several))
    if result.plan is not None and not verbose:
        for text in work.warnings(result.plan):
            echo(text)
    if verbose or not several:
        _alarm(result)
    if again:
        entry = result.statement.ledger
        where = "" if entry is None else f" (entry {entry.entry} of the ledger)"
        echo(f"This release was made before{where}; nothing was spent.")
    files = sorted(path.name for path in result.folder.iterdir())
    listed = f": {', '.join(files)}" if verbose else f" ({len(files)} files)"
    echo(f"{'In' if again else 'Wrote'} {result.folder}{listed}")


def _alarm(result: work.Release) -> None:
    """Say in red that all data of one person together are hardly hidden, if they are."""
    worst = result.statement.worst_case
    about = result.statement.answer.about
    unit = None if about is None or "," in about.reads or ".." in about.reads else about.unit or None
    if problem := work.alarm(worst.epsilon, result.statement.delta, unit):
        echo_alarm(problem)


def _brief(result: work.Release, several: bool) -> str:
    """What was released, its first values, and what anyone can learn about one person; less of each of several."""
    statement = result.statement
    odds = [(row.odds, f"if {row.changed}") for row in statement.protected]
    if several and len(odds) > 1:
        odds = [(max(most for most, _ in odds), "for what was promised")]
    worst = statement.worst_case.odds  # it is said once: what can be learnt of any change is no more
    odds = [*((most, change) for most, change in odds if most < worst), (worst, "if everything had been different")]
    learnt = "; ".join(f"{work.percent_up(most)} {change}" for most, change in odds)
    reads = statement.answer.about.reads if statement.answer.about is not None else ""
    name = f"{statement.name}, {reads}" if reads else statement.name
    return "\n".join(
        [
            f"── {name}",
            first_sentences(work.released_words(statement), 1 if several else 2),
            *(first_values(result, 3, 4) if several else first_values(result)),
            f"A 50 % guess about one person can become at most {learnt}.",
        ]
    )
