"""Approvers on the command line: who they are, and what they do with a ledger: accept, freeze, unfreeze."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from barrow.cli import work
from barrow.cli.main import tell
from barrow.cli.numbers import Whole
from barrow.cli.study_options import DEFAULT, output_options
from barrow.errors import ParameterError

Command = TypeVar("Command", bound=Callable[..., Any])
END = ".approval.json"
"""How the names of approvals' files end."""


def approver_options(command: Command) -> Command:
    """``--approvers`` and ``--need`` of commands that make ledgers."""
    command = click.option("--need", type=Whole(1, 50), help="How many of the approvers must agree; all by default.")(
        command
    )
    return click.option(
        "--approvers",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        help="Pay only for what approvers have signed: a file of barrow key public; repeat it for each of them.",
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
def accept(approvals: tuple[Path, ...], file: str, as_json: bool, quiet: bool) -> None:
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
    tell(as_json, quiet, {"accepted": told, "ledger": file}, None, *words, *need)


@click.command(short_help="Stop all releases, as one approver.")
@known_ledger
@click.option("--why", required=True, help="The reason, for everybody to read.")
@_BY
@_KEY
@output_options
def freeze(file: str, why: str, by: str, key: str, as_json: bool, quiet: bool) -> None:
    """Stop all releases from the ledger until enough approvers lift it. What was drawn and not shown stays hidden.

    Example:  barrow ledger freeze nyc.ledger --why "The data set is wrong." --by ana --key ana.key
    """
    record = work.Ledger.open(file).freeze(why, by=by, key=key)
    words = f"{file} is frozen: nothing is released until enough approvers have lifted it."
    tell(as_json, quiet, {"frozen": True, "record": record.seq, "by": by, "why": why}, None, words)


@click.command(short_help="Let releases go on, as one of enough approvers.")
@known_ledger
@_BY
@_KEY
@output_options
def unfreeze(file: str, by: str, key: str, as_json: bool, quiet: bool) -> None:
    """Sign that releases may go on; they do when as many approvers have signed as every release needs.

    Example:  barrow ledger unfreeze nyc.ledger --by bo --key bo.key
    """
    state = work.Ledger.open(file)
    record: work.Record | None = state.unfreeze(by=by, key=key)
    consent = state.consent
    frozen = consent is not None and consent.freeze is not None
    signed = "" if consent is None else f"{len(consent.lifting)} of {consent.quorum.need} have lifted it"
    words = f"{file} is still frozen: {signed}." if frozen else f"{file} is no longer frozen: {signed}."
    tell(as_json, quiet, {"frozen": frozen, "record": None if record is None else record.seq, "by": by}, None, words)
