"""One budget for each data set: two ledgers of one data set are refused.

A second ledger is a second budget, whether it was made beside the first or is a copy of it. What can be seen is what
lies in the same folder or database.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from barrow.ledger.errors import MissingLedgerError, TwinLedgerError
from barrow.ledger.names import same_name
from barrow.ledger.store import Other


def twins_of(dataset: str, others: Iterable[Other]) -> list[str]:
    """Those of ``others`` that are about ``dataset``; one that cannot be read is nobody's, as far as anybody can tell.

    >>> twins_of("visits", [Other("a", '{"budget": {"dataset": "Visits"}}'), Other("b", "{}")])
    ['a']
    """
    return sorted(other.where for other in others if _dataset(other.first) == same_name(dataset))


def refuse_second(dataset: str, others: Iterable[Other]) -> None:
    """Refuse to make a ledger of ``dataset`` beside an old one, whatever it is called."""
    result = twins_of(dataset, others)
    if result:
        raise MissingLedgerError(
            f"The data set {dataset!r} has a ledger already: {result[0]!r}. It was not touched.",
            allowed="one budget for each data set: its promises are kept by all releases together",
            fix=f"join it: ledger = {result[0]!r}, or name another data set if it is one",
        )


def refuse_twins(dataset: str, own: str, others: Iterable[Other]) -> None:
    """Refuse to spend from either of two ledgers of ``dataset``."""
    result = twins_of(dataset, others)
    if result:
        raise TwinLedgerError(
            f"There are two ledgers of the data set {dataset!r}: {', '.join(map(repr, [own, *result]))}. "
            "Nothing was spent.",
            allowed="one ledger: a copy beside it is a second budget",
            fix="find the one with the last release (barrow ledger show), and move the others away",
        )


def _dataset(first: str) -> str | None:
    try:
        return same_name(str(msgspec.json.decode(first)["budget"]["dataset"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
