"""``barrow verify``: does a folder hold what was released, and was it paid for?"""

from __future__ import annotations

from pathlib import Path

import click

from barrow.cli.main import tell
from barrow.cli.study_options import DEFAULT, output_options
from barrow.errors import ParameterError
from barrow.study import read_study
from barrow.study import verify as verify_folder


@click.command()
@click.argument("folders", metavar="[FOLDER]…", nargs=-1, type=click.Path())
@click.option("--ledger", type=click.Path(), help="The ledger, if it is not where the statement says.")
@output_options
def verify(folders: tuple[str, ...], ledger: str | None, as_json: bool, quiet: bool) -> None:
    """Check the digests of a release's files, its words, and its entry in the ledger; exits with 1 if one fails.

    Without FOLDER, every release of the study in this folder.

    \b
    Example:
      barrow verify
      barrow verify visits-map
    """  # noqa: D301  (click reads the backspace)
    named = folders or _released()
    found = {folder: verify_folder(folder, ledger=ledger) for folder in named}
    good = all(check.holds for checks in found.values() for check in checks)
    rows = [
        {"folder": folder, "what": c.what, "holds": c.holds, "finding": c.finding}
        for folder, checks in found.items()
        for c in checks
    ]
    lines = []
    for folder, checks in found.items():
        lines += [f"{folder}:"] if len(found) > 1 else []
        lines += [f"{'✓' if check.holds else '✗'} {check.what}: {check.finding}" for check in checks]
    tell(as_json, quiet, {"holds": good, "checks": rows}, "holds" if good else "does not hold", *lines)
    if not good:
        raise SystemExit(1)


def _released() -> list[str]:
    """The folders that hold releases of the study in this folder."""
    named = read_study(DEFAULT).questions if Path(DEFAULT).is_file() else ()
    found = [str(Path("release") / question.label) for question in named]
    found = [folder for folder in found if Path(folder).is_dir()]
    if not found:
        raise ParameterError(
            f"No folder is named, and no release of a {DEFAULT} is in this folder.",
            allowed="the folder of a release",
            fix="barrow verify release/map",
        )
    return found
