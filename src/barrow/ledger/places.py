"""Where ledgers are: files of SQLite, or a Postgres database by its URL."""

from __future__ import annotations

import os
from pathlib import Path

from barrow.errors import LedgerError
from barrow.ledger.book import Book
from barrow.ledger.chain import Row
from barrow.ledger.errors import MissingLedgerError
from barrow.ledger.sqlite import SqliteStore, is_ledger_file
from barrow.ledger.store import Store

Where = str | os.PathLike[str]
"""A path."""


def open_store(where: Where) -> Store:
    """The store at ``where``."""
    return SqliteStore(where)


def create_store(where: Where, rows: list[Row]) -> Store:
    """A new store at ``where`` that holds ``rows``."""
    return SqliteStore.create(where, rows)


def is_there(where: Where) -> bool:
    """Whether there is anything at ``where``."""
    return os.path.lexists(where)


def find_ledger(place: Where, dataset: str) -> str | None:
    """The ledger of ``dataset`` in the folder ``place``; None if there is none.

    >>> find_ledger("/nowhere", "visits") is None
    True
    """
    folder = Path(place)
    try:
        files = sorted(file for file in folder.iterdir() if file.is_file() and is_ledger_file(file))
    except OSError:
        return None
    for file in files:
        try:
            if Book.read(SqliteStore(file).rows()).budget.dataset == dataset:
                return str(file)
        except LedgerError:  # A broken ledger is not this data set's, as far as anybody can tell.
            continue
    return None


def refuse_second(where: Where, dataset: str) -> None:
    """Refuse a second budget of ``dataset`` beside an old one, whatever its file is called."""
    found = find_ledger(Path(where).absolute().parent, dataset)
    if found is not None:
        raise MissingLedgerError(
            f"The data set {dataset!r} has a ledger already: {found!r}. It was not touched.",
            allowed="one budget for each data set: its promises are kept by all releases together",
            fix=f"join it: ledger = {found!r}, or name another data set if it is one",
        )
