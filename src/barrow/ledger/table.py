"""A ledger for people: one line for each payment and what is left."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from html import escape
from operator import add

from barrow.display import paragraphs_html, table_html
from barrow.errors import ParameterError
from barrow.ledger.budget import Account, Amount, Budget
from barrow.ledger.cells import Groups, cells_of, tally, worst_atom
from barrow.ledger.charges import (
    Charge,
    Composer,
    Totals,
    account_total,
    limits_at,
    loss_at,
    running_totals,
    spent_at,
    spent_by,
    square_at,
    totals_at,
    used_at,
    worst_case,
)
from barrow.ledger.digits import show
from barrow.ledger.state import LedgerState
from barrow.ledger.store import ChainHead
from barrow.numerics import exact_text, float_up
from barrow.promises import Event, Scope
from barrow.promises.periods import Window

_AmountOf = Callable[[Charge], Fraction]
_LETTERS = {"alpha": "α", "epsilon": "ε"}
_BEFORE = {
    "record": "seq", "when": "when", "period": "reads", "group": "groups", "question": "question", "what": "what",
    "key": "key", "folder": "folder", "account": "account",
}  # fmt: skip
_AFTER = {"who": "who", "result": "result", "outputs": "outputs"}
"""The columns of the table for spreadsheets, before and after what was paid, by the attributes of a payment."""


@dataclass(frozen=True)
class Payment:
    """One payment: ``left`` is what its account had left afterwards (of promises: the least, where it was charged).

    ``reads`` and ``groups`` say in words which periods and which people it was about; all where they are empty.

    >>> amount, left = Amount(121, 0), Amount(129, 0)
    >>> Payment(2, "2026-10-15T19:02:00Z", "heatmap", "map-1", "main", amount, "ana", left, None).left.loss
    Fraction(129, 1)
    """

    seq: int
    when: str
    what: str
    key: str
    account: Account
    amount: Amount
    who: str
    left: Amount
    outputs: str | None
    epsilons: tuple[Fraction, ...] = ()
    question: str | None = None
    folder: str | None = None
    staged: bool = False
    reads: str = ""
    groups: str = ""

    @property
    def result(self) -> str:
        """What became of it, in words."""
        if self.outputs:
            return "released"
        return "drawn, not yet released" if self.staged else "paid, no result recorded"


@dataclass(frozen=True)
class Balance:
    """One account or promise: the limit, what is spent and what is left.

    Of a promise about some periods ``spent`` is in the costliest of them; ``periods`` has each one, and ``repeated``
    what the same change in all of them costs. Where a share is kept for quadrature, ``square`` is what is left there.

    >>> Balance("main", "alpha", Amount(3, 0), Amount(2, 0), Amount(1, 0)).left.loss
    Fraction(1, 1)
    """

    account: Account
    symbol: str
    limit: Amount
    spent: Amount
    left: Amount
    text: str | None = None
    periods: Mapping[str, Fraction] = field(default_factory=dict)
    repeated: Fraction | None = None
    square: Fraction | None = None


@dataclass(frozen=True)
class Overview:
    """Everything that ``barrow ledger show`` shows.

    >>> from barrow.ledger.budget import SpaceRef
    >>> from barrow.promises import Emd
    >>> budget = Budget("visits", 3, SpaceRef("line", "sha256:00", 10, "km"), Emd(25))
    >>> print(Overview(budget, "additive", (), (), ChainHead(1, "ab" * 32)).title)
    visits: 3 people, line space sha256:00… (1 = 10 km), (α=25, δ=0)-unbounded EMD-DP (central)
    """

    budget: Budget
    composer: str
    balances: tuple[Balance, ...]
    lines: tuple[Payment, ...]
    head: ChainHead
    worst: Amount | None = None
    approval: tuple[str, ...] = ()

    @property
    def periods(self) -> dict[str, list[Fraction | None]]:
        """For each period that a release met, what a change in it alone has cost at each promise about periods."""
        labels = sorted({label for b in self.balances for label in b.periods})
        return {label: [b.periods.get(label) for b in self.balances] for label in labels}

    def to_json(self) -> dict[str, object]:
        """Plain data; amounts as exact text."""
        return {
            "budget": self.budget.to_json(),
            "composer": self.composer,
            "accounts": {
                b.account: {
                    "limit": b.limit.to_json(b.symbol),
                    "spent": b.spent.to_json(b.symbol),
                    "left": b.left.to_json(b.symbol),
                }
                for b in self.balances
            },
            "promises": [
                {
                    "promise": b.text,
                    "used": exact_text(b.spent.loss),
                    "of": exact_text(b.limit.loss),
                    "in_all_periods": None if b.repeated is None else exact_text(b.repeated),
                }
                for b in self.balances
                if b.text is not None
            ],
            "periods": [
                {"period": label, "used": [None if used is None else exact_text(used) for used in row]}
                for label, row in self.periods.items()
            ],
            "worst_case": None if self.worst is None else self.worst.to_json("epsilon"),
            "releases": [
                {
                    "seq": line.seq,
                    "when": line.when,
                    "what": line.what,
                    "question": line.question,
                    "key": line.key,
                    "folder": line.folder,
                    "account": line.account,
                    "reads": line.reads or None,
                    "groups": line.groups or None,
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
            **({"approval": list(self.approval)} if self.approval else {}),
        }

    @property
    def title(self) -> str:
        """What the budget is bound to, in one line."""
        b = self.budget
        size = "" if b.items is None else f", {b.items} items each"
        metric = re.sub(r"(sha256:[0-9a-f]{8})[0-9a-f]+", r"\1…", b.metric or "")  # of labels: their digest
        return f"{b.dataset}: {b.users:,} people{size}, {b.space or metric}, {b.limit}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The heads of the table's columns."""
        about = [head for head in ("period", "group") if any(self._texts(line)[head] for line in self.lines)]
        if self.budget.promises:
            each = tuple(f"ε {number}" for number in range(1, len(self.budget.promises) + 1))
            return ("#", "when (UTC)", *about, "question", "key", *each, "δ", "who", "folder", "result")
        paid_by = ("paid by",) if self.budget.user_level else ()
        return ("#", "when (UTC)", *about, "what", *paid_by, _LETTERS[self.budget.symbol], "δ", "who", "left", "result")

    def cells(self) -> list[tuple[str, ...]]:
        """The table's rows, as text."""
        heads = self.columns
        return [tuple(texts[head] for head in heads) for texts in map(self._texts, self.lines)]

    def _texts(self, line: Payment) -> dict[str, str]:
        """What a column shows of a payment, by its head."""
        mark = "ε " if line.account == "user" and self.budget.symbol == "alpha" else ""
        rest = f", δ {show(line.left.delta)}" if line.left.delta else ""
        each = {f"ε {number}": show(epsilon) for number, epsilon in enumerate(line.epsilons, start=1)}
        return each | {
            "#": str(line.seq),
            "when (UTC)": line.when[:16].replace("T", " "),
            "period": line.reads,
            "group": line.groups,
            "what": line.what,
            "question": line.question or line.what,
            "key": line.key,
            "paid by": "user level" if line.account == "user" else "main",
            _LETTERS[self.budget.symbol]: mark + show(line.amount.loss),
            "δ": show(line.amount.delta),
            "who": line.who,
            "folder": line.folder or "",
            "left": mark + show(line.left.loss) + rest,
            "result": line.result,
        }

    def used_by(self, what: str = "who") -> dict[str, tuple[Fraction, ...]]:
        """What each promise (or account) has paid for each person (``"who"``) or question, added up."""
        result: dict[str, tuple[Fraction, ...]] = {}
        for line in self.lines:
            name = line.who if what == "who" else line.question or line.what
            paid = line.epsilons or tuple(
                line.amount.loss if line.account == account else Fraction(0) for account in self.budget.accounts
            )
            before = result.get(name, (Fraction(0),) * len(paid))
            result[name] = tuple(map(add, before, paid))
        return result

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
        out = io.StringIO()
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow([*_BEFORE, *texts, "delta", *_AFTER])
        for line in self.lines:
            before, after = ([getattr(line, name) for name in names.values()] for names in (_BEFORE, _AFTER))
            paid = map(float_up, (*(line.epsilons or (line.amount.loss,)), line.amount.delta))
            rows.writerow(map(_plain, (*before, *paid, *after)))
        return out.getvalue()

    def sentences(self) -> list[str]:
        """What is left, in each period, what everything adds up to, and who must approve, in words."""
        if self.budget.promises:
            return [*self._promise_sentences(), *self.approval]
        texts = []
        for b in self.balances:
            name = "User-level budget" if b.account == "user" else "Budget"
            texts.append(
                f"{name}: {b.symbol} {show(b.left.loss)} of {show(b.limit.loss)} and "
                f"delta {show(b.left.delta)} of {show(b.limit.delta)} left."
            )
        return [*texts, *self.approval]

    def _promise_sentences(self) -> list[str]:
        texts = []
        for b, promise in zip(self.balances, self.budget.promises, strict=True):
            where = "" if promise.scope is None or not b.periods else f" in the costliest {_costliest(promise.scope)}"
            texts.append(f"{b.text}: ε {show(b.spent.loss)} of {show(b.limit.loss)} used{where}.")
        last, promised = self.balances[-1], self.budget.promised
        if promised is not None and promised.quadrature is not None:
            whole = promised.adding == 0
            adding, share = ("nothing", "All") if whole else (show(promised.adding), show(promised.quadrature.share))
            texts.append(
                f"{share} of every promise is kept for releases that add up in quadrature (the root of the sum of the "
                f"squares of their μ), {adding} for releases whose ε add."
            )
        if last.limit.delta:
            texts.append(f"delta: {show(last.spent.delta)} of {show(last.limit.delta)} used.")
        for label, row in self.periods.items():
            used = [f"{b.text}: ε {show(u)}" for b, u in zip(self.balances, row, strict=True) if u is not None]
            texts.append(f"  {label}: {'; '.join(used)}.")
        for b in self.balances:
            if b.repeated is not None and b.periods:
                texts.append(
                    f"The same change in all of these periods, {b.text}: ε {show(b.repeated)}. Facts that are the "
                    f"same in every period, such as a home, are protected by this sum only."
                )
        if self.worst is not None and self.periods:
            texts.append(
                f"Worst case: everything about a person different in all periods: ε {show(self.worst.loss)}, "
                f"delta {show(self.worst.delta)}."
            )
        if any(promise.share < 1 and promise.scope is None for promise in self.budget.promises):
            texts.append(
                f"Shares are of all records that a person has in {self.budget.dataset!r}; a release about records "
                f"selected by a query or a period is charged its worst case."
            )
        if any(promise.scope is not None for promise in self.budget.promises):
            texts.append("Records are assumed to stay in their period; shares are of each period's own records.")
        return texts

    def to_html(self) -> str:
        """A table for notebooks."""
        words = paragraphs_html(text.strip() for text in self.sentences())
        return f"<div><p><b>{escape(self.title)}</b></p>{table_html(self.columns, self.cells())}{words}</div>"


def overview(state: LedgerState, composer: Composer) -> Overview:
    """The overview of ``state``."""
    budget = state.budget
    charges = list(state.charges.values())
    lines = []
    for (seq, charge), left in zip(state.charges.items(), _lefts(budget, charges, composer), strict=True):
        record = state.records[seq - 1]
        lines.append(
            Payment(
                seq=seq,
                when=record.when,
                what=record.data["what"],
                key=record.data["key"],
                account=charge.account,
                amount=charge.amount,
                who=record.who,
                left=left,
                outputs=state.outputs.get(seq),
                epsilons=charge.epsilons,
                question=record.data["question"],
                folder=record.data["folder"],
                staged=seq in state.staged,
                reads="" if charge.reads is None else charge.reads.text,
                groups=", ".join(f"{name} {' '.join(held)}" for name, held in charge.groups.items()),
            )
        )
    worst = _worst(budget, charges)
    approval = () if state.consent is None else tuple(state.consent.sentences())
    return Overview(budget, composer.name, balances(state, composer), tuple(lines), state.head, worst, approval)


def balances(state: LedgerState, composer: Composer) -> tuple[Balance, ...]:
    """Each account's limit, what is spent and what is left."""
    budget, charges, results = state.budget, list(state.charges.values()), []
    for account in budget.accounts:
        limit, spent = budget.limit_of(account), account_total(budget, charges, account, composer)
        results.append(Balance(account, budget.symbol_of(account), limit, spent, limit.less(spent)))
    for number, promise in enumerate(budget.promises):
        periods, repeated = _by_period(budget, charges, number), None
        if promise.scope is not None:
            repeated = _jointly(budget, charges, number, lambda held, amount, _: sum(map(amount, held), Fraction(0)))
        results[number] = replace(results[number], text=promise.text, periods=periods, repeated=repeated)
    return tuple(results)


def remaining(state: LedgerState, reads: Window | None, groups: Groups) -> tuple[Balance, ...]:
    """What is left at each promise for a release that reads a window and is about some groups."""
    budget, charges, results = state.budget, list(state.charges.values()), []
    request = _Asked(reads, groups)
    quadratic = budget.promised is not None and budget.promised.quadrature is not None
    for number, promise in enumerate(budget.promises):
        limit, used = limits_at(budget, number), totals_at(budget, charges, number, request)
        square = max(Fraction(0), limit.square - used.square) if quadratic else None
        left = limit.adding.less(used.adding)
        account = budget.accounts[number]
        results.append(Balance(account, "epsilon", limit.adding, used.adding, left, promise.text, square=square))
    return tuple(results)


@dataclass(frozen=True)
class _Asked:
    """A release that is not paid for yet; of any kind, so that it is charged in full wherever it is."""

    reads: Window | None
    groups: Groups
    event: Event = field(default_factory=Event)


def _by_period(budget: Budget, charges: Sequence[Charge], number: int) -> dict[str, Fraction]:
    """What a change in each period alone has cost at a promise, for the costliest atom."""
    scope = budget.promises[number].scope
    labels = sorted({label for charge in charges for label in cells_of(scope, charge)})

    def at(label: str, held: Sequence[Charge], amount: _AmountOf, squares: bool) -> Fraction:
        result = tally(scope, held, amount, squares=squares)
        return result.everywhere + result.cells.get(label, Fraction(0))

    return {label: _jointly(budget, charges, number, partial(at, label)) for label in labels}


def _jointly(
    budget: Budget,
    charges: Sequence[Charge],
    number: int,
    added: Callable[[Sequence[Charge], _AmountOf, bool], Fraction],
) -> Fraction:
    """What payments cost together at a promise: what is added of their epsilons, and of their squares the root."""

    def worst(amount: _AmountOf, squares: bool) -> Fraction:
        return worst_atom(budget.groups, charges, lambda held: added(held, amount, squares))

    adding, square = worst(partial(loss_at, number), False), worst(partial(square_at, number), True)
    return Totals(Amount(adding, 0), square).amount(budget, number).loss


def _worst(budget: Budget, charges: Sequence[Charge]) -> Amount | None:
    """What everything together costs if all data of a person had been different; None where a release has no bound."""
    try:
        bounds = {id(charge): worst_case(charge.guarantee) for charge in charges}
    except ParameterError:
        return None
    return Amount(
        worst_atom(budget.groups, charges, lambda held: sum((bounds[id(c)].epsilon for c in held), Fraction(0))),
        worst_atom(budget.groups, charges, lambda held: sum((bounds[id(c)].delta for c in held), Fraction(0))),
    )


def _costliest(scope: Scope) -> str:
    return scope.unit if scope.periods == 1 else f"{scope.periods} {scope.unit}s"


def _lefts(budget: Budget, charges: list[Charge], composer: Composer) -> list[Amount]:
    """What was left after each charge: of its account, or of the promise that had least, where it was charged."""
    if not budget.promises:
        totals = running_totals(budget, charges, composer)
        return [budget.limit_of(c.account).less(total) for c, total in zip(charges, totals, strict=True)]
    each = []
    for number, account in enumerate(budget.accounts):
        if any(c.squares for c in charges):
            totals = [spent_at(budget, charges[: i + 1], number) for i in range(len(charges))]
        elif any(c.reads or c.groups for c in charges):
            totals = [used_at(budget, charges[: i + 1], number, c) for i, c in enumerate(charges)]
        else:
            totals = running_totals(budget, spent_by(charges, account), composer)
        each.append([budget.limit_of(account).less(total) for total in totals])
    return [min(lefts, key=lambda left: left.loss) for lefts in zip(*each, strict=True)]


def _plain(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell
