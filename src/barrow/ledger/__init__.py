"""The ledger remembers what was spent: nothing is released that was not paid for, whatever crashes."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.ledger.anchors import Anchor
    from barrow.ledger.authority import Committed, Reservation, Staged, Verification
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
    from barrow.ledger.model import Amount, Budget, Charge, budget_from_json
    from barrow.ledger.postgres import PostgresStore
    from barrow.ledger.pricing import Price, emd_upper, price_at
    from barrow.ledger.promises import PromiseLimit, Promises
    from barrow.ledger.refs import Head, SpaceRef
    from barrow.ledger.sqlite import SqliteStore
    from barrow.ledger.store import Store, Transaction
    from barrow.ledger.table import Balance, Overview
else:
    __getattr__, __dir__ = lazily(__name__)
