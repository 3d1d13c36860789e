"""Where ledgers are: files of SQLite, or a Postgres database by its URL."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, urlencode

from barrow.errors import BarrowError
from barrow.ledger.book import Book
from barrow.ledger.chain import Row
from barrow.ledger.errors import MissingLedgerError
from barrow.ledger.postgres import SCHEMES, PostgresStore
from barrow.ledger.sqlite import SqliteStore, is_ledger_file
from barrow.ledger.store import Store

Where = str | os.PathLike[str]
"""A path, or ``postgresql://user@host/database?ledger=NAME``."""


def is_url(where: Where) -> bool:
    """Whether ``where`` is a database."""
    return isinstance(where, str) and where.startswith(SCHEMES)


def open_store(where: Where) -> Store:
    """The store at ``where``."""
    return PostgresStore(str(where)) if is_url(where) else SqliteStore(where)


def create_store(where: Where, rows: list[Row]) -> Store:
    """A new store at ``where`` that holds ``rows``."""
    return PostgresStore.create(str(where), rows) if is_url(where) else SqliteStore.create(where, rows)


def is_there(where: Where) -> bool:
    """Whether there is anything at ``where``."""
    if is_url(where):
        return PostgresStore.address(str(where))[1] in PostgresStore.names(str(where))
    return os.path.lexists(where)


def find_ledger(place: Where, dataset: str) -> str | None:
    """The ledger of ``dataset`` in the folder or database ``place``; None if there is none."""
    for where in _all_in(place):
        try:  # The first record says it, even where a later one is broken.
            if Book.read(open_store(where).rows()[:1]).budget.dataset == dataset:
                return where
        except BarrowError:  # Not this data set's, as far as anybody can tell.
            continue
    return None


def _all_in(place: Where) -> list[str]:
    if is_url(place):
        url = str(place)
        base = PostgresStore.address(url if "ledger=" in url else f"{url}{'&' if '?' in url else '?'}ledger=any")[0]
        joint = "&" if "?" in base else "?"
        return [f"{base}{joint}{urlencode({'ledger': name}, quote_via=quote)}" for name in PostgresStore.names(url)]
    try:
        return sorted(str(file) for file in Path(place).iterdir() if file.is_file() and is_ledger_file(file))
    except OSError:
        return []


def refuse_second(where: Where, dataset: str) -> None:
    """Refuse a second budget of ``dataset`` beside an old one, whatever it is called."""
    found = find_ledger(where if is_url(where) else Path(where).absolute().parent, dataset)
    if found is not None:
        raise MissingLedgerError(
            f"The data set {dataset!r} has a ledger already: {found!r}. It was not touched.",
            allowed="one budget for each data set: its promises are kept by all releases together",
            fix=f"join it: ledger = {found!r}, or name another data set if it is one",
        )
