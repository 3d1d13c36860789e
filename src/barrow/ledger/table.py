"""A ledger for people: one line for each payment, and what is left. Plain values, drawn elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from barrow.ledger.book import Book
from barrow.ledger.budget import Composer, running_totals, spent_by
from barrow.ledger.digits import show
from barrow.ledger.model import Account, Amount, Budget, Head


@dataclass(frozen=True)
class Line:
    """One payment: ``left`` is what its account had left in its period afterwards.

    >>> amount, left = Amount(121, 0), Amount(129, 0)
    >>> Line(2, "2026-10-15T19:02:00Z", "heatmap", "map-1", "main", None, amount, "ana", left, None).left.loss
    Fraction(129, 1)
    """

    seq: int
    when: str
    what: str
    key: str
    account: Account
    period: str | None
    amount: Amount
    who: str
    left: Amount
    outputs: str | None


@dataclass(frozen=True)
class Balance:
    """One account: the limit (in each period), spent and left now, and the total over all periods.

    >>> Balance("main", "alpha", Amount(3, 0), Amount(2, 0), Amount(1, 0), total=Amount(5, 0), periods=2).total.loss
    Fraction(5, 1)
    """

    account: Account
    symbol: str
    limit: Amount
    spent: Amount
    left: Amount
    total: Amount
    periods: int


@dataclass(frozen=True)
class Overview:
    """Everything that ``barrow ledger show`` shows.

    >>> from barrow.ledger.model import SpaceRef
    >>> from barrow.privacy import Emd
    >>> budget = Budget("visits", 3, SpaceRef("line", "sha256:00", 10, "km"), Emd(25))
    >>> print(Overview(budget, "additive", None, (), (), Head(1, "ab" * 32)).title)
    visits: 3 users, line space sha256:00… (1 = 10 km), (α=25, δ=0)-unbounded EMD-DP (central)
    """

    budget: Budget
    composer: str
    period: str | None
    balances: tuple[Balance, ...]
    lines: tuple[Line, ...]
    head: Head

    def to_json(self) -> dict[str, Any]:
        """Plain data; amounts as exact text."""
        return {
            "budget": self.budget.to_json(),
            "composer": self.composer,
            "period": self.period,
            "accounts": {
                b.account: {
                    "limit": b.limit.to_json(b.symbol),
                    "spent": b.spent.to_json(b.symbol),
                    "left": b.left.to_json(b.symbol),
                    "total_over_all_periods": b.total.to_json(b.symbol),
                    "periods_used": b.periods,
                }
                for b in self.balances
            },
            "releases": [
                {
                    "seq": line.seq,
                    "when": line.when,
                    "what": line.what,
                    "key": line.key,
                    "account": line.account,
                    "period": line.period,
                    **line.amount.to_json(self.budget.symbol_of(line.account)),
                    "who": line.who,
                    "left": line.left.to_json(self.budget.symbol_of(line.account)),
                    "outputs": line.outputs,
                }
                for line in self.lines
            ],
            "head": {"length": self.head.length, "hash": self.head.hash},
        }

    @property
    def title(self) -> str:
        """What the budget is bound to, in one line."""
        b = self.budget
        size = "" if b.items is None else f", {b.items} items each"
        return f"{b.dataset}: {b.users} users{size}, {b.space}, {b.limit}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The heads of the table's columns."""
        symbol = {"alpha": "α", "epsilon": "ε"}[self.budget.symbol]
        period = ("period",) if self.budget.per else ()
        paid_by = ("paid by",) if self.budget.user_level else ()
        return ("#", "when (UTC)", *period, "what", *paid_by, symbol, "δ", "who", "left", "result")

    def cells(self) -> list[tuple[str, ...]]:
        """The table's rows, as text."""
        rows = []
        for line in self.lines:
            user = line.account == "user"
            mark = "ε " if user and self.budget.symbol == "alpha" else ""
            rows.append(
                (
                    str(line.seq),
                    line.when[:16].replace("T", " "),
                    *((line.period or "",) if self.budget.per else ()),
                    line.what,
                    *(("user level" if user else "main",) if self.budget.user_level else ()),
                    mark + show(line.amount.loss),
                    show(line.amount.delta),
                    line.who,
                    mark + show(line.left.loss) + (f", δ {show(line.left.delta)}" if line.left.delta else ""),
                    "released" if line.outputs else "paid, no result recorded",
                )
            )
        return rows

    def sentences(self) -> list[str]:
        """What is left, and what the periods add up to, in words."""
        texts = []
        for b in self.balances:
            name = "User-level budget" if b.account == "user" else "Budget"
            span = f" in {self.period} (a budget per {self.budget.per})" if self.budget.per else ""
            texts.append(
                f"{name}: {b.symbol} {show(b.left.loss)} of {show(b.limit.loss)} and "
                f"delta {show(b.left.delta)} of {show(b.limit.delta)} left{span}."
            )
            if self.budget.per:
                texts.append(
                    f"  Total over all periods: {b.symbol} {show(b.total.loss)}, delta {show(b.total.delta)} "
                    f"in {b.periods} period{'s' * (b.periods != 1)}. This total, not the budget per "
                    f"{self.budget.per}, is what holds for people whose data are in more than one period."
                )
        return texts

    def to_html(self) -> str:
        """A table for notebooks."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.cells())
        words = "".join(f"<p>{escape(text.strip())}</p>" for text in self.sentences())
        return (
            f"<div><p><b>{escape(self.title)}</b></p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>{words}</div>"
        )


def overview(book: Book, composer: Composer, period: str | None) -> Overview:
    """The overview of ``book`` in ``period``.

    >>> from barrow.ledger.budget import AdditiveComposer
    >>> from barrow.ledger.ledger import first_row
    >>> from barrow.ledger.model import SpaceRef
    >>> from barrow.privacy import Emd
    >>> row = first_row(Budget("visits", 3, SpaceRef("line", "sha256:00", 10, "km"), Emd(25)))
    >>> overview(Book.read([row]), AdditiveComposer(), None).sentences()
    ['Budget: alpha 25 of 25 and delta 0 of 0 left.']
    """
    budget = book.budget
    charges = list(book.charges.values())
    balances = []
    for account in budget.accounts:
        limit = budget.limit_of(account)
        spent = composer.total(spent_by(charges, account, period), limit)
        total = composer.total(spent_by(charges, account, None), limit)
        periods = len({c.period for c in charges if c.account == account})
        balances.append(Balance(account, budget.symbol_of(account), limit, spent, limit.less(spent), total, periods))
    lines = []
    totals = running_totals(budget, charges, composer)
    for (seq, charge), so_far in zip(book.charges.items(), totals, strict=True):
        record, limit = book.records[seq - 1], budget.limit_of(charge.account)
        lines.append(
            Line(
                seq=seq,
                when=record.when,
                what=record.data["what"],
                key=record.data["key"],
                account=charge.account,
                period=charge.period,
                amount=charge.amount,
                who=record.who,
                left=limit.less(so_far),
                outputs=book.outputs.get(seq),
            )
        )
    return Overview(budget, composer.name, period, tuple(balances), tuple(lines), book.head)
