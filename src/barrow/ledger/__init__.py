"""The ledger remembers what was spent: nothing is released that was not paid for, whatever crashes."""

from barrow.ledger.authority import Reservation, Verification
from barrow.ledger.book import Record
from barrow.ledger.budget import AdditiveComposer, Composer
from barrow.ledger.composers import COMPOSERS, QuadratureComposer, composer_named, price_together
from barrow.ledger.errors import (
    AlreadyPaidError,
    CorruptLedgerError,
    ForeignLedgerError,
    LedgerBusyError,
    LedgerIOError,
    MissingLedgerError,
    NoAuthorityError,
    NotCoveredError,
    OverBudgetError,
)
from barrow.ledger.ledger import Ledger
from barrow.ledger.model import Amount, Budget, Charge, Head, SpaceRef, budget_from_json
from barrow.ledger.sqlite import SqliteStore
from barrow.ledger.store import Store, Transaction
from barrow.ledger.table import Overview

__all__ = [
    "COMPOSERS",
    "AdditiveComposer",
    "AlreadyPaidError",
    "Amount",
    "Budget",
    "Charge",
    "Composer",
    "CorruptLedgerError",
    "ForeignLedgerError",
    "Head",
    "Ledger",
    "LedgerBusyError",
    "LedgerIOError",
    "MissingLedgerError",
    "NoAuthorityError",
    "NotCoveredError",
    "OverBudgetError",
    "Overview",
    "QuadratureComposer",
    "Record",
    "Reservation",
    "SpaceRef",
    "SqliteStore",
    "Store",
    "Transaction",
    "Verification",
    "budget_from_json",
    "composer_named",
    "price_together",
]
