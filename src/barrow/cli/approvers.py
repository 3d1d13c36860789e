"""Approvers on the command line: who they are, how that changes, and how they accept, freeze and unfreeze."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from barrow.cli import work
from barrow.cli.numbers import Whole
from barrow.cli.study_options import DEFAULT
from barrow.cli.terminal import Printer, output_options
from barrow.errors import ParameterError

Command = TypeVar("Command", bound=Callable[..., Any])
END = ".approval.json"
"""How the names of approvals' files end."""


def approver_options(command: Command) -> Command:
    """``--approvers`` and ``--need`` of commands that make ledgers."""
    command = click.option("--need", type=Whole(1, 50), help="How many approvers must sign; all by default.")(command)
    return click.option(
        "--approvers",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        help="Allow only releases that approvers have signed. FILE is made by barrow key public; may be repeated.",
    )(command)


def quorum_of(approvers: tuple[str, ...], need: int | None) -> work.Quorum | None:
    """Who must agree to releases, as it was typed; None if nobody."""
    if not approvers and need is None:
        return None
    return work.Quorum([work.Approver.read(file) for file in approvers], len(approvers) if need is None else need)


def of_study(context: click.Context, parameter: click.Parameter, file: str | None) -> str:
    """The ledger named, or that of the study in this folder."""
    if file is not None:
        return file
    if not Path(DEFAULT).is_file():
        raise ParameterError(
            f"No ledger is named, and there is no {DEFAULT} in this folder.",
            allowed="the file or the address of a ledger",
            fix=f"{context.command_path} visits.ledger",
        )
    named = work.read_study(DEFAULT).ledger
    if named is None:
        raise ParameterError(
            f"{DEFAULT} names no ledger.", allowed="ledger = … in it", fix=f"{context.command_path} visits.ledger"
        )
    return str(named)


known_ledger = click.argument("file", required=False, metavar="[LEDGER]", callback=of_study)
"""The ledger that a command is about; by default the study's."""
_BY = click.option("--by", required=True, help="Your name among the ledger's approvers.")
_KEY = click.option("--key", required=True, type=click.Path(), help="Your key, made by barrow key new.")


@click.command(short_help="Record approvals that were signed elsewhere.")
@click.argument("approvals", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="APPROVAL…")
@click.option("--ledger", "file", callback=of_study, help="The ledger.  [default: the study's]")
@output_options
def accept(approvals: tuple[Path, ...], file: str, output: Printer) -> None:
    """Record each APPROVAL, a file of barrow approve or a folder of them, if its signature holds.

    Example:  barrow ledger accept proposal --ledger nyc.ledger
    """
    files = [one for place in approvals for one in (sorted(place.glob(f"*{END}")) if place.is_dir() else [place])]
    if not files:
        raise ParameterError(
            "There is no approval in the folder.",
            allowed=f"files of barrow approve, NAME{END}",
            fix="barrow approve proposal --by ana --key ana.key",
        )
    read, state = [work.Approval.read(one) for one in files], work.Ledger.open(file)
    for approval in read:
        state.accept(approval)
    consent = state.consent
    told = [{"by": a.wire.by, "proposal": a.wire.proposal, "expires": a.wire.expires} for a in read]
    words = [
        f"{a.wire.by} approved until {a.wire.expires[:10]}: "
        + "; ".join(f"{r.question} {', '.join(r.periods)}".strip() for r in a.wire.releases)
        for a in read
    ]
    need = [] if consent is None else consent.sentences()
    output.tell({"accepted": told, "ledger": file}, None, *words, *need)


@click.command(short_help="Stop all releases, as one approver.")
@known_ledger
@click.option("--why", required=True, help="The reason, for everybody to read.")
@_BY
@_KEY
@output_options
def freeze(file: str, why: str, by: str, key: str, output: Printer) -> None:
    """Stop all releases from the ledger until enough approvers lift it. What was drawn and not shown stays hidden.

    Example:  barrow ledger freeze nyc.ledger --why "The data set is wrong." --by ana --key ana.key
    """
    record = work.Ledger.open(file).freeze(why, by=by, key=key)
    words = f"{file} is frozen: nothing is released until enough approvers unfreeze it."
    output.tell({"frozen": True, "record": record.seq, "by": by, "why": why}, None, words)


@click.command(short_help="Allow releases again, as one approver.")
@known_ledger
@_BY
@_KEY
@output_options
def unfreeze(file: str, by: str, key: str, output: Printer) -> None:
    """Sign that releases may go on; they do when as many approvers have signed as every release needs.

    Example:  barrow ledger unfreeze nyc.ledger --by bo --key bo.key
    """
    state = work.Ledger.open(file)
    record: work.Record | None = state.unfreeze(by=by, key=key)
    consent = state.consent
    frozen = consent is not None and consent.freeze is not None
    signed = "" if consent is None else f"{len(consent.lifting)} of {consent.quorum.need} approvers have signed"
    words = f"{file} is still frozen: {signed}." if frozen else f"{file} is no longer frozen: {signed}."
    output.tell({"frozen": frozen, "record": None if record is None else record.seq, "by": by}, None, words)


@click.command("approvers", short_help="Show who approves releases, or sign a new list.")
@known_ledger
@approver_options
@click.option("--by", help="Your name among the ledger's approvers.")
@click.option("--key", type=click.Path(), help="Your key, made by barrow key new.")
@output_options
def change(
    file: str, approvers: tuple[str, ...], need: int | None, by: str | None, key: str | None, output: Printer
) -> None:
    """Show who approves releases; with --approvers, --need, --by and --key sign a new list of approvers.

    The new list holds when as many of the present approvers have signed it as every release needs. Approvals of those
    who are no longer on it stop counting.

    Example:  barrow ledger approvers nyc.ledger --approvers bo.pub --approvers dee.pub --need 2 --by ana --key ana.key
    """
    state, quorum = work.Ledger.open(file), quorum_of(approvers, need)
    given = [part is not None for part in (quorum, by, key)]
    if any(given) and not all(given):
        raise ParameterError(
            "Other approvers are named in full, and signed with a name and a key.",
            allowed="--approvers FILE for each, --need K, --by NAME and --key FILE; or none of them",
            fix=f"barrow ledger approvers {file} --approvers bo.pub --approvers dee.pub --need 2 --by bo --key bo.key",
        )
    record: work.Record | None = None
    if quorum is not None and by is not None and key is not None:
        record = state.change_approvers(quorum, by=by, key=key)
    consent = state.consent
    told = {} if consent is None else consent.quorum.to_json()
    changing = {} if consent is None else consent.changing
    pending = [{**new.to_json(), "signed": sorted(who)} for new, who in changing.items()]
    words = ["Nobody approves: the ledger was made without approvers."] if consent is None else consent.sentences()
    output.tell({**told, "pending": pending, "record": None if record is None else record.seq}, None, *words)
