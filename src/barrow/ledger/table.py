"""A ledger for people: one line for each payment and what is left."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from operator import add
from typing import Any

from barrow.ledger.book import Book
from barrow.ledger.budget import Account, Amount, Budget
from barrow.ledger.charges import Charge, Composer, running_totals, spent_by
from barrow.ledger.digits import show
from barrow.ledger.store import Head
from barrow.numerics import exact_text, float_up


@dataclass(frozen=True)
class Line:
    """One payment: ``left`` is what its account had left in its period afterwards (of a promise: the least).

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
    epsilons: tuple[Fraction, ...] = ()
    question: str | None = None
    folder: str | None = None
    staged: bool = False

    @property
    def result(self) -> str:
        """What became of it, in words."""
        if self.outputs:
            return "released"
        return "drawn, not yet released" if self.staged else "paid, no result recorded"


@dataclass(frozen=True)
class Balance:
    """One account or promise: the limit (in each period), spent and left now, and the total over all periods.

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
    text: str | None = None


@dataclass(frozen=True)
class Overview:
    """Everything that ``barrow ledger show`` shows.

    >>> from barrow.ledger.budget import SpaceRef
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
            "promises": [
                {"promise": b.text, "used": exact_text(b.spent.loss), "of": exact_text(b.limit.loss)}
                for b in self.balances
                if b.text is not None
            ],
            "releases": [
                {
                    "seq": line.seq,
                    "when": line.when,
                    "what": line.what,
                    "question": line.question,
                    "key": line.key,
                    "folder": line.folder,
                    "account": line.account,
                    "period": line.period,
                    **line.amount.to_json(self.budget.symbol_of(line.account)),
                    "epsilons": [exact_text(epsilon) for epsilon in line.epsilons],
                    "who": line.who,
                    "left": line.left.to_json(self.budget.symbol_of(line.account)),
                    "result": line.result,
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
        return f"{b.dataset}: {b.users} users{size}, {b.space or b.metric}, {b.limit}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The heads of the table's columns."""
        symbol = {"alpha": "α", "epsilon": "ε"}[self.budget.symbol]
        period = ("period",) if self.budget.per else ()
        if self.budget.promises:
            each = tuple(f"ε {number}" for number in range(1, len(self.budget.promises) + 1))
            return ("#", "when (UTC)", *period, "question", "key", *each, "δ", "who", "folder", "result")
        paid_by = ("paid by",) if self.budget.user_level else ()
        return ("#", "when (UTC)", *period, "what", *paid_by, symbol, "δ", "who", "left", "result")

    def cells(self) -> list[tuple[str, ...]]:
        """The table's rows, as text."""
        if self.budget.promises:
            return [self._promised(line) for line in self.lines]
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
                    line.result,
                )
            )
        return rows

    def _promised(self, line: Line) -> tuple[str, ...]:
        return (
            str(line.seq),
            line.when[:16].replace("T", " "),
            *((line.period or "",) if self.budget.per else ()),
            line.question or line.what,
            line.key,
            *map(show, line.epsilons),
            show(line.amount.delta),
            line.who,
            line.folder or "",
            line.result,
        )

    def used_by(self, what: str = "who") -> dict[str, tuple[Fraction, ...]]:
        """What each promise (or account) has paid for each person (``"who"``) or question, over all periods."""
        found: dict[str, tuple[Fraction, ...]] = {}
        for line in self.lines:
            name = line.who if what == "who" else line.question or line.what
            paid = line.epsilons or tuple(
                line.amount.loss if line.account == account else Fraction(0) for account in self.budget.accounts
            )
            before = found.get(name, (Fraction(0),) * len(paid))
            found[name] = tuple(map(add, before, paid))
        return found

    def spent_by(self, what: str) -> list[str]:
        """What each person (``"who"``) or question spent, in words."""
        names = [p.text for p in self.budget.promises] or [self.budget.symbol_of(a) for a in self.budget.accounts]
        return [
            f"{who}: " + ", ".join(f"{name}: {show(paid)}" for name, paid in zip(names, amounts, strict=True)) + "."
            for who, amounts in self.used_by(what).items()
        ]

    def to_csv(self) -> str:
        """One row for each payment, for spreadsheets: amounts as decimals, rounded up; promises at the head."""
        texts = [f"epsilon: {p.text}" for p in self.budget.promises] or [self.budget.symbol]
        heads = ["record", "when", "period", "question", "what", "key", "folder", "account", *texts, "delta", "who"]
        out = io.StringIO()
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow([*heads, "result", "outputs"])
        for line in self.lines:
            names = [line.seq, line.when, line.period, line.question, line.what, line.key, line.folder, line.account]
            paid = line.epsilons or (line.amount.loss,)
            numbers = [*map(float_up, paid), float_up(line.amount.delta)]
            rows.writerow([_plain(cell) for cell in (*names, *numbers, line.who, line.result, line.outputs)])
        return out.getvalue()

    def sentences(self) -> list[str]:
        """What is left, and what the periods add up to, in words."""
        if self.budget.promises:
            return self._promise_sentences()
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

    def _promise_sentences(self) -> list[str]:
        span = f" in {self.period} (a budget per {self.budget.per})" if self.budget.per else ""
        texts = [f"{b.text}: ε {show(b.spent.loss)} of {show(b.limit.loss)} used{span}." for b in self.balances]
        last = self.balances[-1]
        if last.limit.delta:
            texts.append(f"delta: {show(last.spent.delta)} of {show(last.limit.delta)} used{span}.")
        if any(promise.share < 1 for promise in self.budget.promises):
            texts.append(
                f"Shares are of all records that a person has in {self.budget.dataset!r}; a release about records "
                "that a query selects pays its worst case."
            )
        if self.budget.per:
            totals = ", ".join(f"{b.text}: ε {show(b.total.loss)}" for b in self.balances)
            texts.append(
                f"  Total over all {last.periods} periods: {totals}, delta {show(last.total.delta)}. This total "
                "is what holds for people whose data are in more than one period."
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
    """The overview of ``book`` in ``period``."""
    budget = book.budget
    charges = list(book.charges.values())
    lines = []
    for (seq, charge), left in zip(book.charges.items(), _lefts(budget, charges, composer), strict=True):
        record = book.records[seq - 1]
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
                left=left,
                outputs=book.outputs.get(seq),
                epsilons=charge.epsilons,
                question=record.data["question"],
                folder=record.data["folder"],
                staged=seq in book.staged,
            )
        )
    return Overview(budget, composer.name, period, balances(book, composer, period), tuple(lines), book.head)


def balances(book: Book, composer: Composer, period: str | None) -> tuple[Balance, ...]:
    """Each account's limit, what is spent and what is left."""
    budget, charges, found = book.budget, list(book.charges.values()), []
    for number, account in enumerate(budget.accounts):
        limit = budget.limit_of(account)
        spent = composer.total(spent_by(charges, account, period), limit)
        total = composer.total(spent_by(charges, account, None), limit)
        periods = len({c.period for c in spent_by(charges, account, None)})
        text = budget.promises[number].text if budget.promises else None
        symbol = budget.symbol_of(account)
        found.append(Balance(account, symbol, limit, spent, limit.less(spent), total, periods, text))
    return tuple(found)


def _lefts(budget: Budget, charges: list[Charge], composer: Composer) -> list[Amount]:
    """What was left after each charge: of its account, or of the promise that had least."""
    if not budget.promises:
        totals = running_totals(budget, charges, composer)
        return [budget.limit_of(c.account).less(total) for c, total in zip(charges, totals, strict=True)]
    each = []
    for account in budget.accounts:
        totals = running_totals(budget, spent_by(charges, account, None), composer)
        each.append([budget.limit_of(account).less(total) for total in totals])
    return [min(lefts, key=lambda left: left.loss) for lefts in zip(*each, strict=True)]


def _plain(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell
