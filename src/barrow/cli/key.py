"""``barrow key``: the one kind of key that signs anything here."""

from __future__ import annotations

from pathlib import Path

import click

from barrow.cli.files import write_new
from barrow.cli.terminal import Printer, output_options
from barrow.ledger.approvals import Approver
from barrow.ledger.keys import SigningKey


@click.group()
def key() -> None:
    """Create a signing key, show its fingerprint, or write its public half.

    Example:  barrow key new owner.key
    """


@key.command(short_help="Create a signing key.")
@click.argument("file", type=click.Path())
@output_options
def new(file: str, output: Printer) -> None:
    """Make a new Ed25519 key in FILE, which only you can read. Publish its fingerprint, never the file.

    Example:  barrow key new owner.key
    """
    _tell(SigningKey.new(file), file, output, f"Wrote {file}. Keep it secret, and keep a copy in a safe place.")


@key.command(short_help="Show a key's fingerprint.")
@click.argument("file", type=click.Path())
@output_options
def show(file: str, output: Printer) -> None:
    """Show the fingerprint by which others know the key in FILE.

    Example:  barrow key show owner.key
    """
    _tell(SigningKey.read(file), file, output)


@key.command(short_help="Write a key's public half, for a ledger's list of approvers.")
@click.argument("file", type=click.Path())
@click.option("--name", required=True, help="The approver's name, as ledgers and statements will say it.")
@click.option("--out", type=click.Path(path_type=Path), help="A new file.  [default: NAME.pub]")
@output_options
def public(file: str, name: str, out: Path | None, output: Printer) -> None:
    """Write the public half of the key in FILE, with a name: whoever makes a ledger lists it under --approvers.

    Example:  barrow key public ana.key --name ana --out ana.pub
    """
    approver = Approver(name, SigningKey.read(file).public)
    place = out or Path(f"{name}.pub")
    write_new(place, [approver.content], "--out another.pub")
    told = {"out": str(place), "name": name, "fingerprint": approver.fingerprint}
    words = f"Wrote {place}: give it to whoever creates the ledger, and tell them the fingerprint by another channel."
    output.tell(told, str(place), words, f"Its fingerprint: {approver.fingerprint}")


def _tell(key: SigningKey, file: str, output: Printer, *lines: str) -> None:
    told = {"key": file, "fingerprint": key.fingerprint, "public": key.public.hex()}
    output.tell(told, key.fingerprint, *lines, f"Its fingerprint, for others: {key.fingerprint}")
