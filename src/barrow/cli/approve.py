"""``barrow approve``: read, check and sign a proposal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from barrow.cli.approvers import END
from barrow.cli.files import write_new
from barrow.cli.terminal import Printer, output_options
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.ledger.keys import SigningKey
from barrow.study.proposal import Proposal


@click.command()
@click.argument("proposal", type=click.Path())
@click.option("--by", help="Your name among the ledger's approvers.")
@click.option("--key", type=click.Path(), help="Your key, made by barrow key new.")
@click.option("--expires", metavar="DATE", help="Sign for a shorter time: a date, or '7 days'.")
@click.option("--ledger", type=click.Path(), help="Record the approval in this ledger right away.")
@click.option("--out", type=click.Path(path_type=Path), help="The approval's file.  [default: beside the proposal]")
@output_options
def approve(
    proposal: str,
    by: str | None,
    key: str | None,
    expires: str | None,
    ledger: str | None,
    out: Path | None,
    output: Printer,
) -> None:
    """Read PROPOSAL, check that its numbers follow from what would be drawn, and with --by and --key sign it.

    Without them it prints the proposal and signs nothing. The signature is good for exactly these releases, each of
    them once, from this ledger, until the end.

    \b
    Example:
      barrow approve proposal
      barrow approve proposal --by ana --key ana.key
    """  # noqa: D301  (click reads the backspace)
    if (by is None) != (key is None):
        raise ParameterError(
            "A proposal is signed with a name and a key.",
            allowed="--by NAME and --key FILE, or neither",
            fix=f"barrow approve {proposal} --by ana --key ana.key",
        )
    read = Proposal.read(proposal)
    releases = [{"question": r.question, "periods": r.periods, "digest": r.digest} for r in read.releases]
    told: dict[str, Any] = {"proposal": read.digest, "ledger": read.ledger, "expires": read.expires}
    told["releases"] = releases
    lines = read.lines()
    if by is None or key is None:
        lines += ["", f"Nothing was signed. Next: barrow approve {proposal} --by NAME --key FILE"]
        output.tell(told, read.digest, *lines)
        return
    signed = read.approve(by=by, key=SigningKey.read(key), expires=expires)
    state = None if ledger is None else Ledger.open(ledger)
    if state is not None and state.consent is not None:
        state.consent.quorum.check(by, SigningKey.read(key))
    folder = Path(proposal) if Path(proposal).is_dir() else Path(proposal).parent
    place = out or folder / f"{by}{END}"
    write_new(place, [signed.content], f"--out {Path(place).with_name(f'{by}-2{END}')}")
    lines += ["", f"Signed by {by} until {signed.wire.expires[:10]}: wrote {place}."]
    if state is None:
        lines.append(f"Next, where the ledger is: barrow ledger accept {place}")
    else:
        state.accept(signed)
        lines.append(f"Recorded in {ledger}.")
    more = {"by": by, "out": str(place), "expires": signed.wire.expires, "recorded": state is not None}
    output.tell({**told, **more}, str(place), *lines)
