"""Who may spend: a reservation is good for one draw, in one process; and what a check of a ledger found."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Any, NoReturn

from barrow.ledger.errors import NoAuthorityError
from barrow.ledger.model import Charge
from barrow.ledger.refs import Head


class Reservation:
    """The right to draw the noise of one paid release, once, in the process that paid.

    It cannot be copied or pickled, and a forked child cannot use it. ``lease`` is the record that gave the right.

    >>> from barrow.ledger.model import Amount
    >>> from barrow.privacy import Emd, Guarantee, PureRelease
    >>> charge = Charge("main", Amount(5, 0), PureRelease(5, model="central"), Guarantee(Emd(5), "pure", "def:emd-dp"))
    >>> reservation = Reservation("ledger-1", 2, "map-1", charge)
    >>> reservation.take()
    >>> reservation.take()
    Traceback (most recent call last):
    ...
    barrow.ledger.errors.NoAuthorityError: The noise of 'map-1' was already drawn once. Nothing was spent or released.
      fix:     pay again, under a new key
    """

    __slots__ = ("_lock", "_pid", "_taken", "charge", "key", "lease", "ledger", "seq")

    def __init__(self, ledger: str, seq: int, key: str, charge: Charge, *, lease: int | None = None) -> None:
        self.ledger, self.seq, self.key, self.charge = ledger, seq, key, charge
        self.lease = seq if lease is None else lease
        self._pid, self._taken, self._lock = os.getpid(), False, threading.Lock()

    @property
    def taken(self) -> bool:
        """Whether the noise was drawn, or is being drawn, in this process."""
        return self._taken

    def take(self) -> None:
        """Use the right: call it right before the noise is drawn. A second call is refused."""
        if os.getpid() != self._pid:
            refuse("This reservation was made in another process.", "reserve in the process that draws the noise")
        with self._lock:
            if self._taken:
                refuse(f"The noise of {self.key!r} was already drawn once.", "pay again, under a new key")
            self._taken = True

    def __reduce__(self) -> NoReturn:
        refuse("A reservation cannot be copied or pickled.", "reserve where the noise is drawn")


@dataclass(frozen=True)
class _Drawn:
    """A paid release that was drawn, with the digests of its values and of its whole statement."""

    ledger: str
    seq: int
    key: str
    charge: Charge
    outputs: str
    statement: str | None


class Staged(_Drawn):
    """A release that was drawn and written down, and not yet committed: these values may be shown, and no others.

    >>> Staged.__dataclass_fields__["outputs"].type
    'str'
    """


class Committed(_Drawn):
    """A release that is done.

    >>> Committed.__dataclass_fields__["statement"].type
    'str | None'
    """


@dataclass(frozen=True)
class Verification:
    """What :meth:`Ledger.verify` found to hold.

    ``anchored`` says whether a head that was kept elsewhere was compared, and ``within_limits`` whether what
    was spent was checked against the budget (None where another composer let it through).

    >>> Verification(Head(3, "ab" * 32), 1, 0, True, True).to_json()["anchored"]
    True
    """

    head: Head
    releases: int
    uncommitted: int
    anchored: bool
    within_limits: bool | None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "valid": True,
            "length": self.head.length,
            "hash": self.head.hash,
            "releases": self.releases,
            "uncommitted": self.uncommitted,
            "anchored": self.anchored,
            "within_limits": self.within_limits,
        }


def whoami() -> str:
    """The user of the operating system, for the record."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return os.environ.get("USERNAME") or os.environ.get("USER") or "unknown"


def refuse(problem: str, fix: str) -> NoReturn:
    """Raise the error of an object that may not spend."""
    raise NoAuthorityError(f"{problem} Nothing was spent or released.", fix=fix)
