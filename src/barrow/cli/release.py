"""``barrow release``: from records to a statement."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import click
import msgspec

from barrow.cli.study_options import asked_of, asking_options, output_options
from barrow.cli.terminal import echo, echo_json
from barrow.errors import ParameterError
from barrow.policy import percent_up
from barrow.study import Release, Study
from barrow.study.prose import kind_of
from barrow.study.release import run_release

_SHOWN = 3
"""How many values of each release are shown, beside the first line, where there are several."""


@click.command()
@asking_options
@click.option("--ledger", type=click.Path(), help="The ledger to charge, if the study names none.")
@click.option("--out", type=click.Path(), help="A new folder for the results; release/NAME by default.")
@click.option("--open", "opened", is_flag=True, help="Open the report of the release in a browser.")
@click.option("--key", help="Names this release; the same key is never paid or drawn twice.")
@output_options
def release(
    words: tuple[str, ...],
    file: str | None,
    out: str | None,
    key: str | None,
    opened: bool,
    as_json: bool,
    quiet: bool,
    **flags: Any,
) -> None:
    """Release answers: validate, read, reserve in the ledger, draw noise, stage, commit, publish.

    NAME is a question of the study; by default every question that has not been released yet, or all of them again. A
    release that was made before is shown again and costs nothing; one that was interrupted is finished without a
    second payment.

    \b
    Example:
      barrow release
      barrow release map --out visits-map
    """  # noqa: D301  (click reads the backspace)
    study, asked, names = asked_of(words, file, flags)
    if not names and len(asked) > 1:
        asked = [question for question in asked if not _place(None, question.label).exists()] or asked
    if len(asked) > 1 and (out is not None or key is not None):
        raise ParameterError("Several questions are asked.", allowed="--out and --key for one", fix="name the question")
    done = []
    for question in asked:
        result, again = _released(study, question, _place(out, question.label), key, quiet or as_json)
        done.append(result)
        if not as_json:
            _show(result, again, quiet, several=len(asked) > 1)
        if opened and result.report.is_file():
            from barrow.cli.report import show_page

            show_page(result.report)
    if len(asked) > 1 and not (as_json or quiet):
        echo("\nNext: open a report.html, barrow verify FOLDER, barrow explain FOLDER; statement.txt says it all")
    if as_json:
        told = [_plain(result) for result in done]
        echo_json(told[0] if len(told) == 1 else {"releases": told})


def _released(study: Study, question: Any, place: Path, key: str | None, silent: bool) -> tuple[Release, bool]:
    """The release, and whether it was made before."""
    reached = ["validate"]
    shown = False if silent else None
    try:
        made = run_release(study, question, out=place, key=key, progress=shown, stages=reached.append)
        return made, "commit" not in reached
    except KeyboardInterrupt:
        # After the payment an interruption is a LostReleaseError, which says what was spent.
        text = {
            "commit": "Interrupted while it was recorded; the same command finishes it and costs nothing.",
            "publish": "Interrupted while it was published; the same command finishes it and costs nothing.",
        }.get(reached[-1], "Interrupted before it was paid for; nothing was spent.")
        echo(text, err=True)
        raise SystemExit(130) from None


def _place(out: str | None, label: str) -> Path:
    return Path(out) if out is not None else Path("release") / label


def _plain(result: Release) -> dict[str, Any]:
    rows = result.rows() if len(result.rows()) <= 1000 else None
    return {**msgspec.to_builtins(result.statement), "folder": str(result.folder), "values": rows}


def _show(result: Release, again: bool, quiet: bool, *, several: bool) -> None:
    if quiet:
        echo(str(result.folder))
        return
    echo(_brief(result) if several else str(result))
    if again:
        entry = result.statement.ledger
        where = "" if entry is None else f" (entry {entry.entry} of the ledger)"
        echo(f"This is the same answer again{where}: nothing was drawn, nothing spent.")
    echo(f"{'In' if again else 'Wrote'} {result.folder}: " + ", ".join(sorted(p.name for p in result.folder.iterdir())))
    if not several:
        echo(f"Next: open {result.report}, barrow verify {result.folder}, barrow explain {result.folder}")


def _brief(result: Release) -> str:
    """One of several releases: what it is, what anyone can learn about one person, and the first values."""
    statement = result.statement
    odds = [(row.odds, f"if {row.changed}") for row in statement.protected]
    odds.append((statement.worst_case.odds, "if everything had been different"))
    learnt = "; ".join(f"{percent_up(most)} {change}" for most, change in odds)
    first, *rest = result.summary or [""]
    more = [f"… and {len(rest) - _SHOWN:,} lines more"] if len(rest) > _SHOWN else []
    lines = [kind_of(statement).released(statement), f"A 50 % guess about one person can become at most {learnt}."]
    # A number and its % stay together.
    words = [textwrap.fill(line.replace(" %", "\xa0%"), 100).replace("\xa0%", " %") for line in lines]
    return "\n".join([f"── {statement.name}", *words, first, *rest[:_SHOWN], *more])
