"""``barrow region``: intervals for the shares of regions, from a finished release or from collected reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np

from barrow.cli.study_options import DEFAULT, study_option
from barrow.cli.terminal import Printer, echo, echo_json, output_options
from barrow.errors import ParameterError, plain_file
from barrow.local.client import Survey
from barrow.mechanisms.edge_intervals import Mask
from barrow.mechanisms.histogram_regions import ReleasedShares, checked_confidence
from barrow.numerics.exact import PERCENT, at_least, at_most, exact, nearest_float
from barrow.promises import Model
from barrow.questions.answer import number
from barrow.questions.merging import region_rows
from barrow.questions.releasing import released_shares
from barrow.render.report.merged import region_names
from barrow.study import Study
from barrow.study.region import polygon_inside
from barrow.study.result import Release

_LITTLE = 1e-9
"""What is less is rounding."""


@click.command()
@click.argument("released", metavar="FOLDER", type=click.Path())
@study_option
@click.option("--within", multiple=True, type=click.Path(), help="A GeoJSON file with a polygon; may be repeated.")
@click.option(
    "--items",
    multiple=True,
    help="Labels with commas between them, or semicolons if they have commas; may be repeated.",
)
@click.option("--confidence", "typed", default="0.95", show_default=True, help="Confidence level of the intervals.")
@click.option("--looked", is_flag=True, help="The region was chosen after looking at the release: a wider interval.")
@click.option("--question", "question", help="The question, if a local study has several.")
@output_options
def region(
    released: str,
    file: str | None,
    within: tuple[str, ...],
    items: tuple[str, ...],
    typed: str,
    looked: bool,
    question: str | None,
    output: Printer,
) -> None:
    """Estimate the share of people's items in regions, with intervals; it costs nothing.

    FOLDER is a release, or the file that barrow local aggregate --json printed. The intervals of several regions hold
    simultaneously. A polygon stands for the cells whose centres it contains; where it cuts cells, a second interval is
    for the polygon itself. Without a region the command lists those that differ clearly from the noise.

    \b
    Example:
      barrow region visits-map --within harbour.geojson
    """  # noqa: D301  (click reads the backspace)
    confidence = nearest_float(exact(typed, "--confidence"))
    miss = checked_confidence(confidence, "--confidence 0.95")
    if Path(released).is_file():
        shares = _collected(released, Study.read(file or DEFAULT), question)
    else:
        release = Release.read(released)
        own = file is None and release.space is not None  # a small space stands in the statement
        shares = release.shares(None if own else Study.read(file or DEFAULT).space)
    if not within and not items:
        _list(shares, confidence, output)
        return
    rows: list[tuple[str, Mask, Mask | None]] = [(name, *polygon_inside(shares.space, name)) for name in within]
    rows += [(text, shares.marked(_labels(text, shares.space.labels)), None) for text in items]
    each = 1.0 - miss / len(rows)
    told = [_told(shares, name, inside, cut, each, looked) for name, inside, cut in rows]
    if output.as_json:
        many = {"confidence": confidence}
        echo_json({**told[0], **many} if len(told) == 1 else {**many, "regions": told})
        return
    for row in told:
        _say(row, output.quiet)
    if not output.quiet:
        held = "The interval holds" if len(told) == 1 else "The intervals hold all at once"
        chosen = "even for regions chosen by looking" if looked else "for regions chosen without looking at the release"
        echo(f"{held} with probability {100 * confidence:.4g} %, {chosen}.")


def _list(shares: ReleasedShares, confidence: float, output: Printer) -> None:
    """The regions that stand out from the noise, the largest first."""
    rows = region_rows(shares.space.records_space, shares.merged(confidence))[0]
    names = [] if output.quiet or output.as_json else region_names(rows, shares.space)
    if output.as_json:
        echo_json({"confidence": confidence, "regions": rows})
        return
    for row in rows if output.quiet else []:
        echo(f"{row['low_95']:.6g} {row['high_95']:.6g}")
    for row, name in zip(rows, names, strict=bool(names)):
        low, high = (number(row, end) for end in ("low_95", "high_95"))
        echo(f"{name}: from {at_least(low, PERCENT)} to {at_most(high, PERCENT)}")
    if not output.quiet:
        many = f"{len(rows):,} regions stand" if len(rows) != 1 else "1 region stands"
        echo(f"{many} out from the noise; all intervals hold simultaneously with probability {100 * confidence:.4g} %.")


def _told(shares: ReleasedShares, name: str, inside: Any, cut: Any, confidence: float, looked: bool) -> dict[str, Any]:
    """A region's interval as plain data; of a polygon that cuts cells also the one for the polygon itself."""
    result = shares.region(inside, confidence, looked=looked)
    row = {"region": name, "items": int(inside.sum()), "share": result.estimate, "low": result.low, "high": result.high}
    row |= {"noise": result.noise, "border": result.border}
    if cut is not None and cut.any():
        itself = shares.region(inside & ~cut, confidence, outer=inside | cut, looked=looked)
        row |= {"cut": int(cut.sum()), "low_of_polygon": itself.low, "high_of_polygon": itself.high}
    return row


def _say(row: dict[str, Any], quiet: bool) -> None:
    if quiet:
        echo(f"{row['low']:.6g} {row['high']:.6g}")
        return
    echo(f"{row['region']}: {_percent(row, 'share')} of people's items, in {row['items']:,} items")
    border = f", and up to ± {_percent(row, 'border', 2)} by records near the border" if row["border"] > _LITTLE else ""
    echo(f"  noise ± {_percent(row, 'noise', 2)}{border}: between {_percent(row, 'low')} and {_percent(row, 'high')}")
    if "cut" in row:
        ends = f"between {_percent(row, 'low_of_polygon')} and {_percent(row, 'high_of_polygon')}"
        echo(f"  the polygon cuts {row['cut']:,} cells; inside it lie {ends}")


def _percent(row: dict[str, Any], name: str, digits: int = 4) -> str:
    return f"{100 * row[name]:.{digits}g} %"


def _collected(path: str, study: Study, question: str | None) -> ReleasedShares:
    """The shares in the output of ``barrow local aggregate --json``."""
    survey = Survey(study.replace(model="local", missing=None) if study.model is Model.CENTRAL else study, question)
    try:
        data = msgspec.json.decode(plain_file(path, "The file").read_bytes())
        means, people, digest = np.array(data["means"], dtype=np.float64), int(data["n"]), data["study"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise ParameterError(
            f"The file {path!r} holds no means of reports.",
            allowed="a folder of a release, or what barrow local aggregate --json printed",
            fix="barrow local aggregate --json reports/ > collected.json",
        ) from None
    shares = released_shares(survey.plan, means, people)
    if digest != survey.digest or shares is None:
        raise ParameterError(
            "The reports belong to another study or question, or are no histogram of these cells.",
            allowed="a histogram of this study",
            fix="--study and --question as they were asked",
        )
    return shares


def _labels(text: str, known: Sequence[str]) -> list[str]:
    """Labels of a list; a label with commas may stand alone."""
    parts = text.split(";") if ";" in text else [text] if text in known else text.split(",")
    return [part.strip() for part in parts if part.strip()]
