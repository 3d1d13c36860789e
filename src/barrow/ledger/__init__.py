"""The ledger remembers what was spent: nothing is released that was not paid for, whatever crashes."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.ledger.budget import Budget, SpaceRef
    from barrow.ledger.ledger import Ledger
    from barrow.ledger.promises import PromiseLimit, Promises
    from barrow.ledger.table import Overview
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".budget": "Budget SpaceRef",
            ".ledger": "Ledger",
            ".promises": "PromiseLimit Promises",
            ".table": "Overview",
        },
    )
