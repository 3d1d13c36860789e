"""``barrow local``: one person's report, the mixing of messages, and what many reports say."""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from barrow.cli.files import write_new
from barrow.cli.pages import page_options, write_page
from barrow.cli.study_options import make_study, study_option
from barrow.cli.terminal import Printer, echo, echo_count, echo_raw, output_options
from barrow.errors import DataError, ParameterError, plain_file
from barrow.local.client import LocalClient, Survey
from barrow.local.mixing import kinds_of, mix, read_batch
from barrow.local.server import Server
from barrow.promises import Model
from barrow.questions import Collected
from barrow.questions.plan_text import answer_lines
from barrow.render import report as pages
from barrow.spaces.product import columns_of
from barrow.study import Study

_QUESTION = click.option(
    "--question", "--query", "question", metavar="QUESTION", help="Which question; the only one by default."
)


def _study(file: str | None) -> Study:
    """The study; one for data already held is taken as a local one."""
    study = make_study(file)
    return study.replace(model="local") if study.model is Model.CENTRAL else study


@click.group()
def local() -> None:
    """The local and shuffle models: each person adds noise, and a server adds up.

    Example:  barrow local randomise --study study.toml --memory me.json < my_places.jsonl
    """


@local.command(short_help="Turn one person's items into a report, once.")
@click.argument("items", required=False, type=click.Path())
@study_option
@_QUESTION
@click.option("--memory", required=True, type=click.Path(), help="The file that remembers this person's reports.")
@click.option(
    "--unknown",
    type=click.Choice(["error", "default", "nearest"]),
    default="error",
    show_default=True,
    help="What to do with items outside the space.",
)
@output_options
def randomise(
    items: str | None, file: str | None, question: str | None, memory: str, unknown: Any, output: Printer
) -> None:
    """Turn one person's ITEMS into a report, printed as JSON; in a shuffle study into messages, one a line.

    ITEMS is a file (standard input by default) with one item on each line, as JSON: a text, a number, or a list such
    as [40.7, -74.0]. The report is remembered: asking again gives the same one, because a second draw would be a
    second leak.

    \b
    Example:
      barrow local randomise --memory me.json my_places.jsonl > report.json
    """  # noqa: D301  (click reads the backspace)
    client = LocalClient(_study(file), question, memory=memory)
    survey = client.survey
    records = columns_of(survey.study.space, _lines(items))
    if survey.shuffled:
        echo_raw("\n".join(client.messages(records, unknown=unknown)))
    else:
        echo_raw(client.report(records, unknown=unknown).to_text())
    if not output.silent and sys.stderr.isatty():
        for line in [*answer_lines(survey.plan), str(survey.guarantee)]:
            echo(line, err=True)


@local.command(name="mix", short_help="Mix the messages of many people (shuffle studies).")
@click.argument("messages", nargs=-1, required=True)
@study_option
@_QUESTION
@click.option("--out", required=True, type=click.Path(), help="The file for the batch; it must not exist.")
@output_options
def mix_messages(messages: tuple[str, ...], file: str | None, question: str | None, out: str, output: Printer) -> None:
    """Mix MESSAGES of many people into one batch, which is all that an aggregator of a shuffle study reads.

    Whoever runs this must not be the one who aggregates, and keeps no note of who sent what.

    \b
    Example:
      barrow local mix inbox/ --study study.toml --out batch.jsonl
    """  # noqa: D301  (click reads the backspace)
    survey = Survey(_study(file), question)
    batch = mix(survey, _texts(messages))
    write_new(Path(out), (f"{line}\n".encode() for line in batch.lines(kinds_of(survey))), "--out other.jsonl")
    told = {"batch": out, "people": batch.people, "messages": len(batch.values), "refused": dict(batch.refused)}
    lines = [f"Mixed {len(batch.values):,} messages of {batch.people:,} people into {out}."]
    if batch.refused:
        lines.append("Left out: " + ", ".join(f"{count:,} {reason}" for reason, count in batch.refused.items()) + ".")
    output.tell(told, out, *lines)


@local.command(short_help="Estimate results from many reports.")
@click.argument("reports", nargs=-1, required=True)
@study_option
@_QUESTION
@click.option("--accept-weaker", is_flag=True, help="Open a batch of fewer people than promised; the result says so.")
@page_options
@output_options
def aggregate(
    reports: tuple[str, ...],
    file: str | None,
    question: str | None,
    accept_weaker: bool,
    html: str | None,
    opened: bool,
    output: Printer,
) -> None:
    """Estimate results from REPORTS: files, patterns, folders or - for standard input, one JSON report on each line.

    Reports of another study, malformed reports and duplicates are refused, and counted by reason. In a shuffle study
    REPORTS is one batch, made by barrow local mix. --html writes the page that a release has: picture, intervals, and
    what anyone can learn.

    \b
    Example:
      barrow local aggregate reports/ --study study.toml --html result.html
    """  # noqa: D301  (click reads the backspace)
    server = Server(_study(file), question)
    lines = _texts(reports)
    if server.survey.shuffled:
        server.open(read_batch(server.survey, lines), accept_weaker=accept_weaker)
    else:
        server.add_all(_counting(lines) if sys.stderr.isatty() and not output.silent else lines)
    result = server.result()
    wrote = write_page(lambda: pages.collected_report(result), html, opened, "result.html")
    _show(result, output, wrote)


def _show(result: Collected, output: Printer, page: str | None = None) -> None:
    short = []
    for row in result.tables["values"] if output.quiet else ():
        label = row.get("output") or row.get("item") or row.get("report")
        short.append(f"{label}: {next(row[name] for name in ('value', 'share', 'count') if name in row):.6g}")
    told = result.to_json() if page is None else {**result.to_json(), "report": page}
    output.tell(told, "\n".join(short), str(result), *([] if page is None else [f"Wrote {page}."]))


def _counting(lines: Iterator[str]) -> Iterator[str]:
    """The same lines, with their number on the screen."""
    for number, line in enumerate(lines, 1):
        yield line
        if number % 10_000 == 0:
            echo_count(f"{number:,} reports")
    echo_count("")


def _lines(path: str | None) -> list[Any]:
    """One person's items; what cannot be read gets a constant text, because the text might repeat an item."""
    place = None if path is None or path == "-" else plain_file(path, "The file of items")
    try:
        text = sys.stdin.read() if place is None else place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ParameterError(f"There is no file {path!r}.", allowed="a file of items", fix="check the path") from None
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"The file {path!r} cannot be read.", allowed="a file of items", fix="check it") from None
    try:
        return [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        raise DataError(
            "Some lines are not JSON.",
            allowed='one item on each line: "a text", a number, or a list such as [40.7, -74.0]',
            fix="put texts in double quotes",
        ) from None


def _texts(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if name == "-":
            yield from (line for line in sys.stdin if line.strip())
            continue
        path = Path(name)
        paths = sorted(path.glob("*.json*")) if path.is_dir() else [Path(p) for p in sorted(glob.glob(name))]
        if not paths:
            raise ParameterError(
                f"There are no reports at {name!r}.",
                allowed="files, patterns, folders of .json files, or - for standard input",
                fix="check the path",
            )
        for file in paths:
            with plain_file(file, "The file of reports").open(encoding="utf-8", errors="replace") as lines:
                yield from (line for line in lines if line.strip())
