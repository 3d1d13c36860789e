"""``barrow collect keys`` and ``invite``: what each party makes on its own machine."""

from __future__ import annotations

from pathlib import Path

import click

from barrow.cli.files import make_folder
from barrow.cli.numbers import Whole
from barrow.cli.terminal import Printer, output_options
from barrow.collect.card import read_card
from barrow.collect.issuer import Invitations, new_invitations
from barrow.collect.keys import ANOTHER, make_keys
from barrow.errors import ParameterError
from barrow.ledger.keys import write_private

KEYS = click.option("--keys", default="keys", show_default=True, type=click.Path(), help="The folder of private keys.")


@click.command(short_help="Create the keys of one party, on its own machine.")
@click.option(
    "--role",
    required=True,
    type=click.Choice(["analyser", "shuffler", "aggregator", "issuer", "front"]),
    help="Whose keys.",
)
@KEYS
@output_options
def keys(role: str, keys: str, output: Printer) -> None:
    """Create the keys of one party: a private file (0600) that stays here, and a public one for the author of the card.

    \b
    Example:
      barrow collect keys --role shuffler
      barrow collect init study.toml --public shuffler-0123456789abcdef.public
    """  # noqa: D301  (click reads the backspace)
    make_folder(Path(keys), 0o700)
    private, public = make_keys(keys, role)
    told = {"role": role, "private": str(private), "public": str(public)}
    lines = [f"Private: {private} (stays on this machine)", f"Public:  {public} (hand it to whoever makes the card)"]
    output.tell(told, str(public), *lines)


@click.command(short_help="Write invitations for a card, on the issuer's machine.")
@click.argument("card_file", metavar="CARD", type=click.Path())
@click.option(
    "--people", type=Whole(), default=0, metavar="N", help="How many; by default one for each person of the card."
)
@KEYS
@output_options
def invite(card_file: str, people: int, keys: str, output: Printer) -> None:
    """Write one-time codes that let people in, beside the issuer's key; each person gets one.

    \b
    Example:
      barrow collect invite card-0123456789abcdef.json --people 1000
    """  # noqa: D301  (click reads the backspace)
    result = read_card(Path(card_file))
    if result.counted != "tokens":
        raise ParameterError(
            "The card has no tokens: a front end lets people in.", allowed="a card with an issuer",
            fix="barrow collect init without --attested",
        )  # fmt: skip
    make_folder(Path(keys), 0o700)
    written = write_invitations(Path(keys), result.digest, people or int(result.people))
    told = {"card": result.digest, "people": people or int(result.people), "invitations": str(written)}
    output.tell(told, str(written), f"Wrote {told['people']:,} invitations to {written}: one for each person.")


def write_invitations(folder: Path, card: str, people: int) -> Path:
    """New codes in a text for whoever hands them out, and their digests for the issuer."""
    codes, name = new_invitations(people), f"invitations-{card[7:23]}"
    write_private(folder / f"{name}.txt", ("\n".join(codes) + "\n").encode(), fix=ANOTHER)
    invitations = Invitations(folder / f"{name}.db", card)
    invitations.invite(codes)
    invitations.close()
    return folder / f"{name}.txt"
