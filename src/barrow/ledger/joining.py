"""Joining a ledger: a second study of a data set spends from the first one's budget, and never gets a fresh one.

What a ledger has promised stays promised: a study may not drop or loosen a promise, nor change the data set, its users
or its model. It may add or tighten one if it says so, and if what was spent keeps it already. A ledger of alpha
becomes one of promises when a study with promises joins it; everything that was spent is carried into each promise.

A study of another metric pays its worst case, so that no change there costs more than the smallest epsilon of all
promises: it may promise that much and no less. Every release makes the same check as joining (:func:`check_joined`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from barrow.errors import ParameterError
from barrow.ledger.book import Book
from barrow.ledger.budget import Amount, Budget, SpaceRef
from barrow.ledger.charges import PROMISES, AdditiveComposer, Charge, spent_by, worst_case
from barrow.ledger.digits import show
from barrow.ledger.errors import NotCoveredError
from barrow.ledger.promises import Price, PromiseLimit, Promises, cost_of, reach_upper


@dataclass(frozen=True)
class NewBudget:
    """The budget that continues a ledger, and what every earlier release costs in it."""

    budget: Budget
    carried: tuple[tuple[int, Price], ...]

    def to_json(self) -> dict[str, Any]:
        """What the record holds."""
        carried = [[seq, list(cost.epsilons), cost.delta] for seq, cost in self.carried]
        return {"budget": self.budget.to_json(), "carried": carried}


def joined(book: Book, asked: Budget, *, tighten: bool = False) -> NewBudget | None:
    """The budget that the ledger must take on for a study that asks for ``asked``; None if it has it already.

    Args:
        book: The ledger.
        asked: What the study promises.
        tighten: Whether promises may be added and tightened, for good.

    Raises:
        NotCoveredError: The study is about something else, or promises less, or more than can still be kept.
    """
    own = book.budget
    if asked == own or _alike(own, asked):
        return None
    for name, mine, theirs in _fixed(own, asked):
        if mine != theirs:
            raise _refused(
                f"The ledger of {own.dataset!r} is about {name} {mine!r}, the study about {theirs!r}.",
                "what the ledger was made for",
            )
    if asked.promised is None:
        raise _refused(
            f"The ledger of {own.dataset!r} has the budget {own.limit}, the study asks for {asked.limit}.",
            "the budget that was frozen when the ledger was made"
            + ("" if own.promises else ", or promises, into which it is carried"),
        )
    if own.promises and asked.metric != own.metric:
        _check_other_metric(own, asked.promised)
        return None
    if own.promises:
        merged = _merged(own, asked.promised)
        if merged == own.limit:
            return None
        if not tighten:
            raise _refused(
                f"The study promises more than the ledger of {own.dataset!r} keeps: {_added(own, merged)}.",
                "the promises of the ledger",
                "barrow ledger init … --tighten (tighten=True), which holds for every study and for good",
            )
        asked = replace_limit(asked, merged)
    new = NewBudget(asked, tuple((seq, _carry(book, seq, asked)) for seq in book.charges))
    _check_kept(book, new)
    return new


def check_joined(book: Book, asked: Budget, *, spaces: Sequence[SpaceRef] = ()) -> None:
    """Refuse a release of a study whose promises the ledger does not keep: its statement would say too little.

    Args:
        book: The ledger.
        asked: What the study promises; how the ledger is renewed is the ledger's own.
        spaces: The study's spaces.

    Raises:
        NotCoveredError: The study has not joined, or promises something else than it did then.
    """
    own = book.budget
    if asked.promised is None:
        return  # alpha itself: a statement says the alpha of its release, and the ledger charges that
    asked = Budget(asked.dataset, asked.users, str(asked.metric), asked.limit, items=asked.items, per=own.per)
    if not own.promises and _keeps(own, asked, spaces):
        return
    if joined(book, asked) is not None:
        raise _refused(
            f"The ledger of {own.dataset!r} has the budget {own.limit}, which does not keep the study's promises.",
            "a study that has joined the ledger",
            "barrow ledger init … --study study.toml, which carries what was spent into the promises",
        )


def _keeps(own: Budget, asked: Budget, spaces: Sequence[SpaceRef]) -> bool:
    """Whether a ledger of alpha that is spent in full keeps every promise of a study about its space."""
    if own.single is None or own.space is None or _fixed(own, asked) != _fixed(own, own):
        return False
    ref = next((space for space in spaces if own.space.digest == space.digest or space.pays_in(own.space)), own.space)
    more, slack = (0, 0) if own.user_level is None else (own.user_level.epsilon, own.user_level.delta)
    for promise in asked.promises:
        share, reach = reach_upper(promise, ref, str(asked.metric))
        epsilon, delta = own.single.within(share * reach)
        if epsilon + more > promise.epsilon or delta + slack > asked.limit.delta:
            return False
    return True


def _check_other_metric(own: Budget, asked: Promises) -> None:
    """A release of another metric costs its worst case at all promises: together no more than the smallest epsilon."""
    least = min(promise.epsilon for promise in own.promises)
    for promise in asked.promises:
        if promise.epsilon < least:
            raise _refused(
                f"The study promises “{promise}”; the ledger of {own.dataset!r} is about another metric, "
                f"{own.metric!r}, and keeps ε ≤ {show(least)} for every other change.",
                f"promises of ε = {show(least)} or more under another metric",
                f"raise the epsilon to {show(least)}, or use a space of the ledger's metric",
            )
    if asked.delta != own.limit.delta:
        raise _refused(
            f"The study promises δ ≤ {show(asked.delta)}; the ledger of {own.dataset!r} keeps {show(own.limit.delta)}.",
            "the delta that was frozen when the ledger was made",
        )


def _alike(own: Budget, asked: Budget) -> bool:
    """Whether the study asks for the same alpha about the same records, whatever people without records hold."""
    if own.space is None or asked.space is None or not asked.space.pays_in(own.space):
        return False
    return {**own.to_json(), "space": None} == {**asked.to_json(), "space": None}


def replace_limit(budget: Budget, limit: Promises) -> Budget:
    """``budget`` with other promises."""
    return Budget(budget.dataset, budget.users, str(budget.metric), limit, items=budget.items, per=budget.per)


def _fixed(own: Budget, asked: Budget) -> list[tuple[str, object, object]]:
    return [
        ("the data set", own.dataset, asked.dataset),
        ("a number of users of", own.users, asked.users),
        ("a number of items of", own.items, asked.items),
        ("the period", own.per, asked.per),
        ("the model", own.limit.model.value, asked.limit.model.value),
    ]


def _merged(own: Budget, asked: Promises) -> Promises:
    """The ledger's promises with what ``asked`` adds; refused if it drops or loosens one."""
    by_change = {promise.change: promise for promise in asked.promises}
    kept: list[PromiseLimit] = []
    for promise in own.promises:
        found = by_change.pop(promise.change, None)
        if found is None or found.epsilon > promise.epsilon:
            what = "drops the promise" if found is None else f"loosens to ε = {show(found.epsilon)} the promise"
            raise _refused(
                f"The study {what} “{promise}”, which the ledger of {own.dataset!r} keeps.",
                "every promise that was made about this data set, or a smaller epsilon",
            )
        kept.append(promise if found.epsilon == promise.epsilon else found)
    if asked.delta > own.limit.delta:
        raise _refused(
            f"The study loosens delta to {show(asked.delta)}; the ledger of {own.dataset!r} keeps "
            f"{show(own.limit.delta)}.",
            "the delta that was frozen when the ledger was made, or less",
        )
    return Promises([*kept, *by_change.values()], asked.delta, model=asked.model, bounded=asked.bounded)


def _added(own: Budget, merged: Promises) -> str:
    new = [f"“{promise}”" for promise in merged.promises if promise not in own.promises]
    if merged.delta < own.limit.delta:
        new.append(f"δ ≤ {show(merged.delta)}")
    return ", ".join(new)


def _carry(book: Book, seq: int, asked: Budget) -> Price:
    """What the release of record ``seq`` costs at each promise of ``asked``."""
    charge = book.charges[seq]
    ref = SpaceRef(**book.records[seq - 1].data["space"])
    own = {p.change: epsilon for p, epsilon in zip(book.budget.promises, charge.epsilons, strict=True)}
    try:
        if charge.account == "user":  # It was paid by its worst case, and is carried as that.
            worst = worst_case(charge.guarantee)
            cost = Price((worst.epsilon,) * len(asked.promises), worst.delta)
        else:
            delta = charge.guarantee.definition.parameters["delta"]
            cost = cost_of(charge.event, delta, ref, asked.promises, str(asked.metric))
    except ParameterError as error:
        raise _refused(
            f"What record {seq} costs at a promise is not known: {error.problem}", "other promises"
        ) from None
    # What was paid at a promise stays what it was; only promises that are new are priced anew.
    epsilons = tuple(own.get(p.change, eps) for p, eps in zip(asked.promises, cost.epsilons, strict=True))
    return Price(epsilons, max(charge.amount.delta, cost.delta))


def _check_kept(book: Book, new: NewBudget) -> None:
    """Promises that were broken before they were made are not made."""
    charges = [
        Charge(PROMISES, Amount(max(cost.epsilons), cost.delta), old.event, old.guarantee, old.period, cost.epsilons)
        for (_, cost), old in zip(new.carried, book.charges.values(), strict=True)
    ]
    for account, promise in zip(new.budget.accounts, new.budget.promises, strict=True):
        limit = new.budget.limit_of(account)
        for period in dict.fromkeys(charge.period for charge in charges):
            spent = AdditiveComposer().total(spent_by(charges, account, period), limit)
            if not spent.fits(limit):
                raise _refused(
                    f"The promise “{promise}” with δ {show(limit.delta)} cannot be made about "
                    f"{new.budget.dataset!r}: its releases have spent ε {show(spent.loss)} and "
                    f"δ {show(spent.delta)} there already.",
                    "promises that what was released still keeps",
                    "a larger epsilon or delta for this promise",
                )


def _refused(
    problem: str, allowed: str, fix: str = "mend the study, or name another data set if it is one"
) -> NotCoveredError:
    return NotCoveredError(problem + " Nothing was written.", allowed=allowed, fix=fix)
