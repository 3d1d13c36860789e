"""``barrow key``: the one kind of key that signs anything here."""

from __future__ import annotations

import click

from barrow.cli.main import tell
from barrow.cli.study_options import output_options
from barrow.ledger import SigningKey


@click.group()
def key() -> None:
    """Create a signing key, or show its fingerprint.

    Example:  barrow key new owner.key
    """


@key.command(short_help="Create a signing key.")
@click.argument("file", type=click.Path())
@output_options
def new(file: str, as_json: bool, quiet: bool) -> None:
    """Make a new Ed25519 key in FILE, which only you can read. Publish its fingerprint, never the file.

    Example:  barrow key new owner.key
    """
    _tell(SigningKey.new(file), file, as_json, quiet, f"Made {file}: keep it to yourself, and a copy in a safe place.")


@key.command(short_help="Show a key's fingerprint.")
@click.argument("file", type=click.Path())
@output_options
def show(file: str, as_json: bool, quiet: bool) -> None:
    """Show the fingerprint by which others know the key in FILE.

    Example:  barrow key show owner.key
    """
    _tell(SigningKey.read(file), file, as_json, quiet)


def _tell(key: SigningKey, file: str, as_json: bool, quiet: bool, *lines: str) -> None:
    told = {"key": file, "fingerprint": key.fingerprint, "public": key.public.hex()}
    tell(as_json, quiet, told, key.fingerprint, *lines, f"Its fingerprint, for others: {key.fingerprint}")
