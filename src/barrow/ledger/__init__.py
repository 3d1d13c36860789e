"""The ledger remembers what was spent: nothing is released that was not paid for, whatever crashes."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.ledger.anchors import Anchor
    from barrow.ledger.approvals import Approval, Approver, ProposedRelease, Quorum, release_digest
    from barrow.ledger.budget import Amount, Budget, SpaceRef, budget_from_json
    from barrow.ledger.charges import AdditiveComposer, Charge, composer_named, price_together
    from barrow.ledger.errors import (
        AlreadyPaidError,
        CorruptLedgerError,
        ForeignLedgerError,
        FrozenLedgerError,
        LedgerBusyError,
        LedgerIOError,
        MissingLedgerError,
        NoAuthorityError,
        NotApprovedError,
        NotCoveredError,
        OverBudgetError,
        TwinLedgerError,
    )
    from barrow.ledger.keys import SigningKey, fingerprint_of, read_fingerprint
    from barrow.ledger.ledger import Ledger
    from barrow.ledger.opened import Committed, Reservation, Staged
    from barrow.ledger.postgres import PostgresStore
    from barrow.ledger.promises import Price, PromiseLimit, Promises
    from barrow.ledger.published import PublishedHead
    from barrow.ledger.sqlite import SqliteStore
    from barrow.ledger.state import Record
    from barrow.ledger.store import ChainHead
    from barrow.ledger.table import Overview
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".anchors": "Anchor",
            ".approvals": "Approval Approver ProposedRelease Quorum release_digest",
            ".budget": "Amount Budget SpaceRef budget_from_json",
            ".charges": "AdditiveComposer Charge composer_named price_together",
            ".errors": "AlreadyPaidError CorruptLedgerError ForeignLedgerError FrozenLedgerError LedgerBusyError "
            "LedgerIOError MissingLedgerError NoAuthorityError NotApprovedError NotCoveredError OverBudgetError "
            "TwinLedgerError",
            ".keys": "SigningKey fingerprint_of read_fingerprint",
            ".ledger": "Ledger",
            ".opened": "Committed Reservation Staged",
            ".postgres": "PostgresStore",
            ".promises": "Price PromiseLimit Promises",
            ".published": "PublishedHead",
            ".sqlite": "SqliteStore",
            ".state": "Record",
            ".store": "ChainHead",
            ".table": "Overview",
        },
    )
