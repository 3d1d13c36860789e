"""``barrow sample``: synthetic records from a finished release."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from barrow.cli.study_options import DEFAULT, study_option
from barrow.cli.terminal import Printer, output_options
from barrow.numerics import whole
from barrow.numerics.exact import near
from barrow.study import Study
from barrow.study.result import Release
from barrow.study.synthetic import Within


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path())
@click.option("--rows", default="1000", show_default=True, help="How many records.")
@click.option("--out", type=click.Path(), required=True, help="A new file, .csv or .parquet.")
@click.option(
    "--within",
    type=click.Choice(["uniform", "centre"]),
    default="uniform",
    show_default=True,
    help="Where in its cell a record lies: anywhere, or in the middle.",
)
@click.option("--times", is_flag=True, help="Write hours of the day as clock times, times since 1970 as timestamps.")
@study_option
@output_options
def sample(folder: str, rows: str, out: str, within: str, times: bool, file: str | None, output: Printer) -> None:
    """Draw synthetic records from a released histogram or map; it costs nothing.

    The records are independent draws from published values and belong to nobody. They have the columns of the study's
    records. A text beside the file says how far off they are and what is lost.

    \b
    Example:
      barrow sample release/histogram --rows 1000 --out rows.parquet
    """  # noqa: D301  (click reads the backspace)
    release = Release.read(folder)
    space = release.space
    if space is None and (file is not None or Path(DEFAULT).exists()):
        space = Study.read(file or DEFAULT).space
    count = whole(rows, "--rows", fix="--rows 1000")
    records = release.sample(count, within=cast(Within, within), space=space, times=times)
    note = records.write(out)
    unit = f" {records.unit}".rstrip()
    told = {"file": out, "text": str(note), "rows": len(records), "columns": list(records.columns),
            "distance": records.distance, "unit": records.unit}  # fmt: skip
    lines = [*records.text.splitlines(), f"Wrote {out} and {note}."]
    output.tell(told, f"{near(records.distance)}{unit}", *lines)
