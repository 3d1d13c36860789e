"""``barrow region``: an interval for the share of any region, from a finished release."""

from __future__ import annotations

import json
from typing import Any

import click

from barrow.cli.study_options import DEFAULT, output_options, study_option
from barrow.errors import ParameterError
from barrow.study import Study
from barrow.study.region import items_inside, polygon_inside
from barrow.study.result import Release


@click.command()
@click.argument("folder", type=click.Path())
@study_option
@click.option("--within", type=click.Path(), help="A GeoJSON file with a polygon; cells count by their middles.")
@click.option("--items", help="Labels of items, with commas between them; with semicolons, if labels have commas.")
@click.option("--level", type=float, default=0.05, show_default=True, help="How often the interval may miss.")
@output_options
def region(
    folder: str, file: str | None, within: str | None, items: str | None, level: float, as_json: bool, quiet: bool
) -> None:
    """The share of people's items in a region, with its interval; it costs nothing.

    \b
    Example:
      barrow region visits-map --within harbour.geojson
    """  # noqa: D301  (click reads the backspace)
    if (within is None) == (items is None):
        raise ParameterError(
            "A region is given by a polygon or by items.", allowed="one of the two", fix="--within region.geojson"
        )
    space = Study.read(file or DEFAULT).space
    inside: Any = polygon_inside(space, within) if within else items_inside(space, _labels(items or ""))
    found = Release.read(folder).region(inside, space=space, level=level)
    if as_json:
        row = {
            "share": found.estimate,
            "low": found.low,
            "high": found.high,
            "level": level,
            "items": int(inside.sum()),
        }
        click.echo(json.dumps(row))
    elif quiet:
        click.echo(f"{found.low:.6g} {found.high:.6g}")
    else:
        click.echo(f"{int(inside.sum()):,} items: {100 * found.estimate:.4g} % of people's items")
        click.echo(f"between {100 * found.low:.4g} % and {100 * found.high:.4g} % ({100 * (1 - level):.4g} % interval)")
        click.echo("The interval holds for a region that was chosen without looking at the release.")


def _labels(text: str) -> list[str]:
    """Labels of a list.

    >>> _labels("a,b"), _labels("0.5,0.5;0.5,1.5")
    (['a', 'b'], ['0.5,0.5', '0.5,1.5'])
    """
    parts = text.split(";") if ";" in text else text.split(",")
    return [part.strip() for part in parts if part.strip()]
