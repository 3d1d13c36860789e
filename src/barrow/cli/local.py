"""``barrow local``: one person's report, and the mean of many reports."""

from __future__ import annotations

import glob
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from barrow.cli.study_options import make_study, output_options
from barrow.errors import DataError, ParameterError
from barrow.local import (
    FrequencyResult,
    FrequencyServer,
    FrequencyStudy,
    ItemClient,
    ItemResult,
    ItemServer,
    ItemStudy,
    LocalClient,
    LocalResult,
    LocalServer,
    LocalStudy,
    SampledStudy,
)
from barrow.planning import FrequencyQuestion, frequency_question, goals_for, sampling_of
from barrow.privacy import Model
from barrow.release.items import items_question
from barrow.spaces import TREES, Product, Space

_STUDY = [
    click.option("--study", "file", required=True, type=click.Path(), help="The study file, the same for everybody."),
    click.option("--query", metavar="QUERY", help="The question, if the study asks none."),
]


def _study_options(command: Any) -> Any:
    for option in reversed(_STUDY):
        command = option(command)
    return command


def _local_study(file: str, query: str | None) -> LocalStudy | ItemStudy | FrequencyStudy:
    study = make_study(file, query=query)
    kind = (study.query or {}).get("kind")
    if kind not in ("items", "frequency"):
        if kind == "histogram" and isinstance(study.space, TREES):
            # Each person's noise on the edges of the tree is far smaller than on the items; the server decodes.
            study = replace(study, query={"kind": "tree_edges"})
        return LocalStudy(study.question, study.alpha_exact, study.delta, noise=study.noise)
    spec, sampling = sampling_of(study.query or {})
    asked = (frequency_question if kind == "frequency" else items_question)(spec)
    shuffled = study.model is Model.SHUFFLE
    options: dict[str, Any] = {
        "model": "shuffle" if shuffled else "local",
        "users": study.users if shuffled else None,
        "randomiser": asked.randomiser,
    }
    items = (
        ItemStudy(study.space, study.alpha_exact, study.delta, items=asked.items, **options)
        if sampling is None
        else SampledStudy(
            study.space,
            goals_for(
                study.policy if study.promises else None, alpha=study.alpha, radius=sampling.radius, part=study.part
            ),
            study.delta,
            samples=sampling.samples,
            radius=sampling.radius,
            **options,
        )
    )
    return FrequencyStudy(items, asked.decode) if isinstance(asked, FrequencyQuestion) else items


@click.group()
def local() -> None:
    """The local model: each person adds noise, and a server adds up reports.

    Example:  barrow local randomise --study study.toml --memory me.json < my_places.jsonl
    """


@local.command(short_help="Turn one person's items into a report, once.")
@click.argument("items", required=False, type=click.Path())
@_study_options
@click.option("--memory", required=True, type=click.Path(), help="The file that remembers this person's reports.")
@click.option("--unknown", type=click.Choice(["error", "default", "nearest"]), default="error", show_default=True)
@output_options
def randomise(
    items: str | None, file: str, query: str | None, memory: str, unknown: Any, as_json: bool, quiet: bool
) -> None:
    """Turn one person's ITEMS into a report, printed as JSON.

    ITEMS is a file (standard input by default) with one item on each line, as JSON: a text, a number, or a list such
    as [40.7, -74.0]. The report is remembered: asking again gives the same one, because a second draw would be a
    second leak.

    \b
    Example:
      barrow local randomise --study study.toml --memory me.json my_places.jsonl > report.json
    """  # noqa: D301  (click reads the backspace)
    asked = _local_study(file, query)
    study = asked.items if isinstance(asked, FrequencyStudy) else asked
    if isinstance(study, ItemStudy):
        mine = ItemClient(study, memory).report(_records(_lines(items), study.space), unknown=unknown)
        click.echo(mine.to_text())
        if not (as_json or quiet) and sys.stderr.isatty():
            for line in [*study.lines(), str(study.guarantee)]:
                click.echo(line, err=True)
        return
    client = LocalClient(study, memory)
    report = client.report(_records(_lines(items), study.query.space), unknown=unknown)
    click.echo(report.to_text())
    if not (as_json or quiet) and sys.stderr.isatty():
        unit = f" {study.query.unit}".rstrip()
        click.echo(f"Noise ± {study.noise.half_width:.3g}{unit} (95 %) on each number; {study.guarantee}", err=True)


@local.command(short_help="The mean of many reports.")
@click.argument("reports", nargs=-1, required=True)
@_study_options
@output_options
def aggregate(reports: tuple[str, ...], file: str, query: str | None, as_json: bool, quiet: bool) -> None:
    """Give the mean of REPORTS: files, patterns, folders or - for standard input, one JSON report on each line.

    For the query 'items' it is the histogram of the reports; for 'frequency' the unbiased estimate of how often each
    item occurs, the decoded one, and the error to expect. Reports of another study, malformed ones and second copies
    are refused, and counted by reason.

    \b
    Example:
      barrow local aggregate reports/ --study study.toml
    """  # noqa: D301  (click reads the backspace)
    study = _local_study(file, query)
    lines = _reports(reports)
    if sys.stderr.isatty() and not (quiet or as_json):
        lines = _counting(lines)
    result: LocalResult | ItemResult | FrequencyResult
    if isinstance(study, LocalStudy):
        means = LocalServer(study)
        means.add_all(lines)
        result = means.result()
    elif isinstance(study, ItemStudy):
        counts = ItemServer(study)
        counts.add_all(lines)
        result = counts.result()
    else:
        estimates = FrequencyServer(study)
        estimates.add_all(lines)
        result = estimates.frequencies()
    if as_json:
        click.echo(json.dumps(result.to_json(), ensure_ascii=False))
    elif isinstance(result, FrequencyResult):
        _show_frequencies(result, quiet)
    elif isinstance(result, ItemResult):
        _show_items(result, quiet)
    else:
        _show(result, quiet)


def _counting(lines: Iterator[str]) -> Iterator[str]:
    """The same lines, with their number on the screen."""
    for number, line in enumerate(lines, 1):
        yield line
        if number % 10_000 == 0:
            click.echo(f"\r{number:,} reports", err=True, nl=False)
    click.echo("\r", err=True, nl=False)


def _show(result: LocalResult, quiet: bool) -> None:
    unit = f" {result.unit}".rstrip()
    widths = result.half_widths or [None] * len(result.means)
    if result.histogram is not None:
        for label, share in result.histogram.items():
            click.echo(f"{label}: {share:.6g}")
        if quiet:
            return
        click.echo("These shares were decoded from the values along the tree (length times share below):")
    for name, mean, width in zip(result.outputs, result.means, widths, strict=True):
        spread = "" if width is None else f" ± {width:.3g}"
        click.echo(f"{name}: {mean:.6g}{spread}{unit}" + ("" if quiet else " (95 %)"))
    if quiet:
        return
    click.echo(f"From {result.n:,} reports; noise alone: ± {result.noise_half_width:.3g}{unit} (95 %).")
    refused = ", ".join(f"{count:,} {reason}" for reason, count in result.refused.items())
    if refused:
        click.echo(f"Refused: {refused}.")
    click.echo(f"Each person was promised {result.guarantee}.")


def _show_items(result: ItemResult, quiet: bool) -> None:
    for label, count in zip(result.labels, result.counts, strict=True):
        click.echo(f"{label}: {count}")
    if not quiet:
        _show_counted(result)


def _show_counted(result: ItemResult) -> None:
    click.echo(f"{sum(result.counts):,} reports on items, from {result.n:,} people.")
    refused = ", ".join(f"{count:,} {reason}" for reason, count in result.refused.items())
    if refused:
        click.echo(f"Refused: {refused}.")
    click.echo(f"Each person was promised {result.guarantee}.")


def _show_frequencies(result: FrequencyResult, quiet: bool) -> None:
    for i, (label, value) in enumerate(zip(result.labels, result.estimate, strict=True)):
        if result.histogram is None:
            click.echo(f"{label}: {value:.6g}")
        else:
            click.echo(f"{label}: {result.histogram[i]:.6g}" + ("" if quiet else f" (unbiased {value:.6g})"))
    if quiet:
        return
    unit = f" {result.unit}".rstrip()
    click.echo(
        f"The unbiased estimate is off by EMD {result.predicted_error:.3g}{unit} on average; by at most "
        f"{result.error_upper:.3g}{unit} on average, whatever the items."
    )
    if result.histogram is not None:
        known = "" if result.decoded_upper is None else f", by at most {result.decoded_upper:.3g}{unit} on average"
        click.echo(f"The first number is the histogram decoded from it ({result.decode}){known}.")
    if result.warning:
        click.echo(f"Warning: {result.warning}")
    _show_counted(result.counted)


def _lines(path: str | None) -> list[Any]:
    """One person's items; what cannot be read gets a constant text, because the text might repeat an item."""
    try:
        text = sys.stdin.read() if path is None or path == "-" else Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ParameterError(f"There is no file {path!r}.", allowed="a file of items", fix="check the path") from None
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"The file {path!r} cannot be read.", allowed="a file of items", fix="check it") from None
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        raise DataError(
            "Some lines are not JSON.",
            allowed='one item on each line: "a text", a number, or a list such as [40.7, -74.0]',
            fix="put texts in double quotes",
        ) from None


def _records(items: list[Any], space: Space) -> Any:
    """A product reads one sequence for each part; everything else reads the items as they are."""
    if not isinstance(space, Product):
        return items
    if any(not isinstance(item, list) or len(item) != len(space.parts) for item in items):
        raise DataError(
            "Some items do not have one part for each part of the space.",
            allowed=f"lists of {len(space.parts)} records",
            fix="write one list on each line",
        )
    return [[item[i] for item in items] for i in range(len(space.parts))]


def _reports(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if name == "-":
            yield from (line for line in sys.stdin if line.strip())
            continue
        path = Path(name)
        found = sorted(path.glob("*.json*")) if path.is_dir() else [Path(p) for p in sorted(glob.glob(name))]
        if not found:
            raise ParameterError(
                f"There are no reports at {name!r}.",
                allowed="files, patterns, folders of .json files, or - for standard input",
                fix="check the path",
            )
        for file in found:
            with open(file, encoding="utf-8", errors="replace") as lines:
                yield from (line for line in lines if line.strip())
