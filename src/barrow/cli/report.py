"""``barrow report``: several releases of one study on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from barrow.cli import work
from barrow.cli.pages import write_page
from barrow.cli.study_options import DEFAULT, study_option
from barrow.cli.terminal import Printer, output_options
from barrow.errors import BarrowError, ParameterError
from barrow.render import report as pages


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(), metavar="FOLDER…")
@study_option
@click.option("--out", type=click.Path(), default="report.html", show_default=True, help="A new file for the page.")
@click.option("--outline", type=click.Path(), help="GeoJSON to draw on maps instead of the bundled coasts.")
@click.option("--ledger", type=click.Path(), help="The ledger, if it is not where the statements say.")
@click.option("--open", "opened", is_flag=True, help="Open the page in a browser.")
@output_options
def report(
    folders: tuple[str, ...],
    file: str | None,
    out: str,
    outline: str | None,
    ledger: str | None,
    opened: bool,
    output: Printer,
) -> None:
    """Write one page about releases of a study: results, accuracy, and what anyone can learn from them together.

    With the study (study.toml in this folder by default) accuracy is compared; without it the page has what the folders
    hold.

    \b
    Example:
      barrow report release/map release/distance --out both.html --open
    """  # noqa: D301  (click reads the backspace)
    named = file is not None or Path(DEFAULT).is_file()
    study = work.Study.read(file or DEFAULT) if named else None
    releases = [_released(folder, study, file is not None) for folder in folders]
    place = ledger or next((result for r in releases if (result := pages.ledger_of(r.statement)) is not None), None)
    parts: dict[str, Any] = {}
    if place is not None:
        parts = pages.ledger_parts(work.Ledger.open(place).overview())
    built = pages.release_report(releases, outline=outline, thorough=True, **parts)
    wrote = write_page(lambda: built, out, opened, out)
    many = f"Wrote {wrote}: {len(releases)} release{'s' * (len(releases) > 1)}."
    output.tell({"report": wrote, "releases": len(releases)}, wrote, many)


def _released(folder: str, study: Any, must: bool) -> Any:
    """A release with its plan, where the study is the one that it was made from."""
    release = work.Release.read(folder)
    plan = None
    if study is not None:
        try:
            plan = study.plan(release.statement.name)
            same = work.parameters_of(study, plan) == release.statement.parameters
        except BarrowError:
            same = False
        if must and not same:
            raise ParameterError(
                f"The release in {folder!r} was not made from this study.",
                allowed="the study file of the releases, unchanged",
                fix="leave --study out",
            )
        plan = plan if same else None
    return pages.Released(release.statement, release.tables, plan=plan, folder=folder)
