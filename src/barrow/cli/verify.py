"""``barrow verify``: does a folder hold what was released, and was it paid for?"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import click

from barrow.cli import work
from barrow.cli.study_options import DEFAULT
from barrow.cli.terminal import Printer, output_options
from barrow.errors import ParameterError

_SIGNS = {True: "✓", False: "✗", None: "–"}


@click.command()
@click.argument("folders", metavar="[FOLDER]…", nargs=-1, type=click.Path())
@click.option("--ledger", type=click.Path(), help="The ledger that it was paid from: a file, or postgresql://….")
@click.option("--head", metavar="LENGTH:HASH", help="A head of that ledger, kept elsewhere.")
@click.option("--anchor", type=click.Path(), help="A file with such a head.")
@click.option("--signer", metavar="FINGERPRINT", help="Whose key must have signed the head.json in the folder.")
@output_options
def verify(
    folders: tuple[str, ...],
    ledger: str | None,
    head: str | None,
    anchor: str | None,
    signer: str | None,
    output: Printer,
) -> None:
    """Check a release's files, numbers and words, and its entry in the ledger; exits with 1 if something is wrong.

    Without --ledger it checks what follows from the folder itself, and lists what only the ledger's owner can confirm.
    It opens no file and asks no server that you did not type. Without FOLDER it checks every release in this folder,
    with the ledger of its study.toml if that is a file in it.

    \b
    Example:
      barrow verify
      barrow verify visits-map --ledger visits.ledger --anchor visits.anchor
      barrow verify visits-map --signer sha256:66687aadf862bd77…
    """  # noqa: D301  (click reads the backspace)
    named, own = (list(folders), None) if folders else _released()
    place = ledger or own
    result = {folder: work.verify(folder, ledger=place, head=head, anchor=anchor, signer=signer) for folder in named}
    checks = [check for some in result.values() for check in some]
    good = not any(check.holds is False for check in checks)
    confirmed = all(check.holds for check in checks)
    rows = [
        {"folder": folder, "what": c.what, "holds": c.holds, "finding": c.finding}
        for folder, checks in result.items()
        for c in checks
    ]
    lines = []
    for folder, some in result.items():
        lines += [f"{folder}:"] if len(result) > 1 else []
        lines += [f"{_SIGNS[check.holds]} {check.what}: {check.finding}" for check in some]
    short = "does not hold" if not good else "holds" if confirmed else "holds as far as it can be checked here"
    output.tell({"holds": good, "confirmed": confirmed, "checks": rows}, short, *lines)
    if not good:
        raise SystemExit(1)


def _released() -> tuple[list[str], str | None]:
    """The releases in this folder, and the ledger of its study if that is a file in this folder too."""
    # NAME, PERIOD/NAME and, of several groupings, PERIOD/NAME/GROUPING.
    places = (place for depth in ("*", "*/*", "*/*/*") for place in Path("release").glob(f"{depth}/statement.json"))
    results = sorted(str(place.parent) for place in places)
    if not results:
        raise ParameterError(
            "No folder is named, and there is no release in this folder.",
            allowed="the folder of a release",
            fix="barrow verify release/map",
        )
    try:
        named = str(tomllib.loads(work.read_regular(Path(DEFAULT), 2**22).decode()).get("ledger"))
    except (OSError, ValueError):
        return results, None
    inside = os.path.basename(named) == named and os.path.isfile(named) and not os.path.islink(named)
    return results, named if inside else None
