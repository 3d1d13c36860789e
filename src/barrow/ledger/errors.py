"""What can go wrong with a budget; in every case nothing was released.

The tree::

    LedgerError
    ├── OverBudgetError     what is asked does not fit: Requested / Remaining / Difference and what would fit
    ├── AlreadyPaidError    the key of this release was used before: no fresh noise for an old payment
    ├── NotCoveredError     the budget is about another space, data set, number of users or definition
    ├── NotApprovedError    too few of the ledger's approvers have signed this release
    ├── FrozenLedgerError   an approver stopped all releases
    ├── NoAuthorityError    this object may not spend: it was forked, pickled, closed, or failed before
    ├── MissingLedgerError  there is no such file, or no way to make one
    ├── ForeignLedgerError  the file is not a ledger, or was written by a newer version
    ├── CorruptLedgerError  records were edited, swapped, dropped or cut off
    ├── LedgerBusyError     another process holds the ledger; try again
    └── LedgerIOError       the disk failed or is full: fatal for the object that saw it
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from barrow.errors import LedgerError
from barrow.ledger.budget import Amount, show_amount
from barrow.ledger.digits import show, typed_down


class OverBudgetError(LedgerError):
    """The release asks for more than is left; nothing was drawn or spent.

    >>> error = OverBudgetError.of(Amount(200, 0), Amount(129, "1e-9"), symbol="alpha", whose="'visits'")
    >>> print(error)
    This release does not fit the budget of 'visits'. Nothing was spent.
      Requested   alpha 200, delta 0
      Remaining   alpha 129, delta 1e-9
      Difference  alpha 71, delta 0
      allowed: alpha at most 129, delta at most 1e-9
      fix:     alpha=129 fits
    """

    requested: Amount
    remaining: Amount
    difference: Amount
    symbol: str

    @classmethod
    def of(
        cls, requested: Amount, remaining: Amount, *, symbol: str, whose: str, later: str | None = None
    ) -> OverBudgetError:
        """The error for ``requested`` when only ``remaining`` is left; ``later`` says when it renews."""
        difference = requested.less(remaining)
        lines = [f"This release does not fit the budget of {whose}. Nothing was spent."]
        for name, amount in (("Requested", requested), ("Remaining", remaining), ("Difference", difference)):
            lines.append(f"  {name:<11} {show_amount(amount, symbol)}")
        fits = []
        if difference.loss:
            fits.append(f"{symbol}={typed_down(remaining.loss)}" if remaining.loss else "")
        if difference.delta:
            fits.append(f"delta={typed_down(remaining.delta)}")
        fix = f"{' with '.join(fits)} fits" if all(fits) else "nothing: this budget is spent"
        most = f"{symbol} at most {typed_down(remaining.loss)}, delta at most {typed_down(remaining.delta)}"
        error = cls(
            "\n".join(lines),
            allowed=most,
            fix=fix + (f"; {later}" if later else ""),
        )
        error.requested, error.remaining, error.difference = requested, remaining, difference
        error.symbol = symbol
        return error

    @classmethod
    def of_promises(
        cls,
        rows: Sequence[tuple[str, Amount, Amount, Amount]],
        *,
        whose: str,
        later: str | None = None,
        symbol: str = "ε",
    ) -> OverBudgetError:
        """The error for promises: the change in words, what was used, its limit and what this release needs.

        >>> row = ("all data by 300 m", Amount("0.62", 0), Amount(1, 0), Amount("0.5", 0))
        >>> print(OverBudgetError.of_promises([row], whose="'visits'"))
        This release does not fit the promises of 'visits'. Nothing was spent.
          all data by 300 m: ε 0.62 of 1 used, this needs 0.5
          allowed: ε at most 0.38 there
          fix:     0.76 of what it asks for fits
        """
        lines = [f"This release does not fit the promises of {whose}. Nothing was spent."]
        over = [row for row in rows if not (row[1] + row[3]).fits(row[2])]
        short = [row for row in over if row[1].loss + row[3].loss > row[2].loss]
        for text, used, limit, needed in short:
            lines.append(
                f"  {text}: {symbol} {show(used.loss)} of {show(limit.loss)} used, this needs {show(needed.loss)}"
            )
        _, used, limit, needed = over[0]
        if used.delta + needed.delta > limit.delta:
            lines.append(f"  delta: {show(used.delta)} of {show(limit.delta)} used, this needs {show(needed.delta)}")
        lefts = [(limit.less(used), needed) for _, used, limit, needed in rows]
        shares = [left.loss / needed.loss for left, needed in lefts if needed.loss]
        shares += [left.delta / needed.delta for left, needed in lefts if needed.delta]
        most_of_it = Fraction(math.floor(min(shares) * 1000), 1000) or min(shares)
        fits = typed_down(most_of_it) if most_of_it else None
        most = " and ".join(dict.fromkeys(typed_down(limit.less(used).loss) for _, used, limit, _ in short or over))
        error = cls(
            "\n".join(lines),
            allowed=f"{symbol} at most {most} there"
            if short
            else f"delta at most {typed_down(limit.less(used).delta)}",
            fix=(f"{fits} of what it asks for fits" if fits else "nothing: a promise is spent")
            + (f"; {later}" if later else ""),
        )
        error.requested, error.remaining = needed, limit.less(used)
        error.difference, error.symbol = needed.less(error.remaining), "epsilon"
        return error

    def to_json(self) -> dict[str, object]:  # type: ignore[override]
        """Plain data with the three exact amounts.

        >>> error = OverBudgetError.of(Amount(2, 0), Amount(1, 0), symbol="alpha", whose="'visits'")
        >>> error.to_json()["difference"]
        {'alpha': '1', 'delta': '0'}
        """
        data: dict[str, object] = dict(super().to_json())
        for name in ("requested", "remaining", "difference"):
            data[name] = getattr(self, name).to_json(self.symbol)
        return data


class AlreadyPaidError(LedgerError):
    """A release with this key was paid before; its noise is never drawn again.

    ``seq`` is the record that paid, and ``outputs`` the digest of what was released, or None where the
    process ended before it could say so.

    >>> AlreadyPaidError.of("map-1", seq=2, when="2026-10-15T19:02:00Z", outputs=None).seq
    2
    """

    seq: int
    outputs: str | None

    @classmethod
    def of(cls, key: str, *, seq: int, when: str, outputs: str | None, resumable: bool = False) -> AlreadyPaidError:
        """The error for ``key``, paid by record ``seq``; ``resumable`` if it may go on without a second payment."""
        end = "and its result was recorded" if outputs else "but its result was never recorded"
        error = cls(
            f"The release {key!r} is already paid (record {seq}, {when}), {end}. No noise was drawn.",
            allowed="one draw of noise for each payment",
            fix="use the result that was released"
            if outputs
            else "ledger.resume(key, parameters): it goes on where it stopped, without a second payment"
            if resumable
            else "use the result if it exists; otherwise release under a new key, which pays again",
        )
        error.seq, error.outputs = seq, outputs
        return error

    def to_json(self) -> dict[str, object]:  # type: ignore[override]
        """Plain data with the record that paid.

        >>> AlreadyPaidError.of("map-1", seq=2, when="2026-10-15T19:02:00Z", outputs=None).to_json()["seq"]
        2
        """
        return {**super().to_json(), "seq": self.seq, "outputs": self.outputs}


class NotCoveredError(LedgerError):
    """The budget is about another space, data set, number of users or definition of privacy.

    >>> issubclass(NotCoveredError, LedgerError)
    True
    """


class NoAuthorityError(LedgerError):
    """This object may not spend: it was forked, copied, closed, or saw the disk fail.

    >>> issubclass(NoAuthorityError, LedgerError)
    True
    """


class NotApprovedError(LedgerError):
    """Too few of the ledger's approvers have signed this very release, or what they signed is over or used up.

    >>> issubclass(NotApprovedError, LedgerError)
    True
    """


class FrozenLedgerError(LedgerError):
    """An approver stopped all releases; enough of them together let them go on.

    >>> issubclass(FrozenLedgerError, LedgerError)
    True
    """


class TwinLedgerError(LedgerError):
    """Two ledgers of one data set lie in one folder or database; neither may spend until one is gone.

    >>> TwinLedgerError.exit_code
    1
    """


class MissingLedgerError(LedgerError):
    """There is no ledger at this path, or none can be made there.

    >>> issubclass(MissingLedgerError, LedgerError)
    True
    """


class ForeignLedgerError(LedgerError):
    """The file is something else, or a newer version of barrow wrote it.

    >>> issubclass(ForeignLedgerError, LedgerError)
    True
    """


class CorruptLedgerError(LedgerError):
    """Records were edited, swapped, dropped or cut off; ``seq`` is the first that does not hold, if known.

    >>> CorruptLedgerError.at(3, "its hash does not match").seq
    3
    """

    seq: int | None = None

    @classmethod
    def at(cls, seq: int, what: str) -> CorruptLedgerError:
        """The error for record ``seq``."""
        error = cls(
            f"Record {seq} of the ledger does not hold: {what}. Nothing was released.",
            allowed="the records exactly as they were written",
            fix="stop spending, find out who changed the file, and compare it with an anchored head",
        )
        error.seq = seq
        return error


class LedgerBusyError(LedgerError):
    """Another process held the ledger for too long; nothing was written, and trying again is safe.

    >>> issubclass(LedgerBusyError, LedgerError)
    True
    """


class LedgerIOError(LedgerError):
    """The disk failed, is full or is read-only. Fatal: after a failed fsync nobody knows what is on the disk.

    >>> issubclass(LedgerIOError, LedgerError)
    True
    """
