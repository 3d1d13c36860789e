"""Joining a ledger: a second study of a data set spends from the first one's budget, and never gets a fresh one.

What a ledger has promised stays promised: a study may not drop or loosen a promise, nor change the data set, its users
or its model. It may add or tighten one if it says so, and if what was spent keeps it already. A ledger of alpha
becomes one of promises when a study with promises joins it; everything that was spent is carried into each promise.

A promise is kept by one about the same change with a stronger scope: no scope, then every month, any 3 months, any
month. A study may go up this order and never down. A calendar and groupings may be added, because what was spent
before was about all periods and everybody.

A study of another metric pays its worst case, so that no change there costs more than the smallest epsilon of all
promises whose scope is as strong: it may promise that much and no less. Every release makes the same check as joining
(:func:`check_joined`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from barrow.errors import ParameterError
from barrow.ledger.budget import Amount, Budget, SpaceRef
from barrow.ledger.charges import PROMISES, Charge, spent_at, totals_at, worst_case
from barrow.ledger.digits import show
from barrow.ledger.errors import NotCoveredError
from barrow.ledger.promises import Price, PromiseLimit, Promises, cost_of, exposure_at
from barrow.ledger.quadrature import Quadrature
from barrow.ledger.state import LedgerState
from barrow.promises import implies


@dataclass(frozen=True)
class NewBudget:
    """The budget that continues a ledger, and what every earlier release costs in it."""

    budget: Budget
    carried: tuple[tuple[int, Price], ...]

    def to_json(self) -> dict[str, object]:
        """What the record holds."""
        carried = [[seq, list(cost.epsilons), cost.delta] for seq, cost in self.carried]
        return {"budget": self.budget.to_json(), "carried": carried}


def joined(state: LedgerState, request: Budget, *, tighten: bool = False) -> NewBudget | None:
    """The budget that the ledger must take on for a study that asks for ``request``; None if it has it already.

    Args:
        state: The ledger.
        request: What the study promises.
        tighten: Whether promises may be added and tightened, for good.

    Raises:
        NotCoveredError: The study is about something else, or promises less, or more than can still be kept.
    """
    own = state.budget
    if request == own or _alike(own, request):
        return None
    for name, mine, theirs in _fixed(own, request):
        if mine != theirs:
            raise _refused(
                f"The ledger of {own.dataset!r} is about {name} {mine!r}, the study about {theirs!r}.",
                "what the ledger was made for",
            )
    if request.promised is None:
        raise _refused(
            f"The ledger of {own.dataset!r} has the budget {own.limit}, the study asks for {request.limit}.",
            "the budget that was frozen when the ledger was made"
            + ("" if own.promises else ", or promises, into which it is carried"),
        )
    if own.promised is not None:
        merged = own.promised
        if request.metric != own.metric:
            _check_other_metric(own, request.promised)
        else:
            merged = _merged(own, request.promised)
        if merged != own.limit and not tighten:
            raise _refused(
                f"The study promises more than the ledger of {own.dataset!r} keeps: {_added(own, merged)}.",
                "the promises of the ledger",
                "barrow ledger init … --tighten (tighten=True), which holds for every study and cannot be undone",
            )
        _check_split(state, request.promised, merged)
        request = _continued(own, request, merged)
        if request == own:
            return None
    new = NewBudget(request, tuple((seq, _carry(state, seq, request)) for seq in state.charges))
    _check_unchanged(state, new)
    return new


def _check_split(state: LedgerState, request: Promises, merged: Promises) -> None:
    """What is kept for quadrature was fixed when the ledger was made, and what was paid there stays there."""
    own = state.budget.promised
    mine = None if own is None else own.quadrature
    if request.quadrature is not None and (mine is None or mine.share != request.quadrature.share):
        raise _refused(
            f"The study keeps {show(request.quadrature.share)} of every promise for quadrature, the ledger of "
            f"{state.budget.dataset!r} {'nothing' if mine is None else show(mine.share)}.",
            "what was fixed when the ledger was made",
            "leave --composition out",
        )
    if merged != own and any(charge.squares for charge in state.charges.values()):
        raise _refused(
            f"The ledger of {state.budget.dataset!r} has releases in quadrature, so its promises cannot change.",
            "the promises that were made before the first of them",
        )


def priced_at(state: LedgerState, promises: Sequence[PromiseLimit]) -> tuple[Amount, ...]:
    """What all releases cost together at promises that need not be in the budget; they add there."""
    own = state.budget
    metric = own.metric or (None if own.space is None else own.space.metric) or "unknown"
    request = Budget(
        own.dataset, own.users, metric, Promises(promises, own.limit.delta, model=own.limit.model),
        calendar=own.calendar, groups=own.groups,
    )  # fmt: skip
    charges = _recharged(state, [(seq, _carry(state, seq, request)) for seq in state.charges])
    return tuple(spent_at(request, charges, number) for number in range(len(promises)))


def _recharged(state: LedgerState, carried: Sequence[tuple[int, Price]]) -> list[Charge]:
    """Every release with what it costs in another budget, added."""
    return [
        replace(
            state.charges[seq],
            account=PROMISES,
            amount=Amount(max(cost.epsilons), cost.delta),
            epsilons=cost.epsilons,
            squares=(),
        )
        for seq, cost in carried
    ]


def check_joined(state: LedgerState, request: Budget, *, spaces: Sequence[SpaceRef] = ()) -> None:
    """Refuse a release of a study whose promises the ledger does not keep: its statement would say too little.

    Args:
        state: The ledger.
        request: What the study promises; how the ledger is renewed is the ledger's own.
        spaces: The study's spaces.

    Raises:
        NotCoveredError: The study has not joined, or promises something else than it did then.
    """
    own = state.budget
    if request.promised is None:
        return  # alpha itself: a statement says the alpha of its release, and the ledger charges that
    request = Budget(
        request.dataset, request.users, str(request.metric), request.limit, items=request.items,
        calendar=request.calendar, groups=request.groups,
    )  # fmt: skip
    if not own.promises and _keeps(own, request, spaces):
        return
    if joined(state, request) is not None:
        raise _refused(
            f"The ledger of {own.dataset!r} has the budget {own.limit}, which does not keep the study's promises.",
            "a study that has joined the ledger",
            "barrow ledger init … --study study.toml, which carries what was spent into the promises",
        )


def _keeps(own: Budget, request: Budget, spaces: Sequence[SpaceRef]) -> bool:
    """Whether a ledger of alpha that is spent in full keeps every promise of a study about its space."""
    if own.single is None or own.space is None or _fixed(own, request) != _fixed(own, own):
        return False
    ref = next((space for space in spaces if own.space.digest == space.digest or space.pays_in(own.space)), own.space)
    more, slack = (0, 0) if own.user_level is None else (own.user_level.epsilon, own.user_level.delta)
    for promise in request.promises:
        seen = exposure_at(promise, ref, str(request.metric))
        epsilon, delta = own.single.within(seen.share * seen.reach)
        if epsilon + more > promise.epsilon or delta + slack > request.limit.delta:
            return False
    return True


def _check_other_metric(own: Budget, request: Promises) -> None:
    """A release of another metric costs its worst case at all promises: together no more than the smallest epsilon."""
    for promise in request.promises:
        enough = [subset.epsilon for subset in own.promises if implies(subset.scope, promise.scope)]
        if not enough or promise.epsilon < min(enough):
            least = f"ε ≤ {show(min(enough))}" if enough else "nothing"
            raise _refused(
                f"The study promises “{promise}”; the ledger of {own.dataset!r} is about another metric, "
                f"{own.metric!r}, and keeps {least} for every other change.",
                f"promises of ε = {show(min(enough))} or more under another metric" if enough else "a weaker scope",
                (f"raise the epsilon to {show(min(enough))}, or " if enough else "")
                + "use a space of the ledger's metric",
            )
    if request.delta != own.limit.delta:
        raise _refused(
            f"The study promises δ ≤ {show(request.delta)}; the ledger of {own.dataset!r} keeps "
            f"{show(own.limit.delta)}.",
            "the delta that was frozen when the ledger was made",
        )


def _alike(own: Budget, request: Budget) -> bool:
    """Whether the study asks for the same alpha about the same records, whatever people without records hold."""
    if own.space is None or request.space is None or not request.space.pays_in(own.space):
        return False
    return {**own.to_json(), "space": None} == {**request.to_json(), "space": None}


def _continued(own: Budget, request: Budget, limit: Promises) -> Budget:
    """The ledger's budget with other promises, and with the study's calendar and groupings where it has none."""
    return Budget(
        own.dataset, own.users, str(own.metric), limit, items=own.items, calendar=own.calendar or request.calendar,
        groups={**request.groups, **own.groups},
    )  # fmt: skip


def _fixed(own: Budget, request: Budget) -> list[tuple[str, object, object]]:
    zones = [None if b.calendar is None else b.calendar.zone for b in (own, request)]
    return [
        ("the data set", own.dataset, request.dataset),
        ("a number of users of", own.users, request.users),
        ("a number of items of", own.items, request.items),
        ("the time zone", zones[0] or zones[1], zones[1] or zones[0]),
        ("the model", own.limit.model.value, request.limit.model.value),
        *((f"the groups of {name!r}", own.groups.get(name, sizes), sizes) for name, sizes in request.groups.items()),
    ]


def _merged(own: Budget, request: Promises) -> Promises:
    """The ledger's promises with what ``request`` adds; refused if it drops or loosens one."""
    by_change = {promise.change: promise for promise in request.promises}
    limits: list[PromiseLimit] = []
    for promise in own.promises:
        result = by_change.pop(promise.change, None)
        if result is None and any(_keeps_promise(stronger, promise) for stronger in request.promises):
            result = promise
        if result is None or result.epsilon > promise.epsilon:
            what = "drops the promise" if result is None else f"loosens to ε = {show(result.epsilon)} the promise"
            raise _refused(
                f"The study {what} “{promise}”, which the ledger of {own.dataset!r} keeps.",
                "every promise that was made about this data set, or a smaller epsilon",
            )
        limits.append(promise if result.epsilon == promise.epsilon else result)
    if request.delta > own.limit.delta:
        raise _refused(
            f"The study loosens delta to {show(request.delta)}; the ledger of {own.dataset!r} keeps "
            f"{show(own.limit.delta)}.",
            "the delta that was frozen when the ledger was made, or less",
        )
    account = None if own.promised is None else own.promised.quadrature
    built = Promises([*limits, *by_change.values()], request.delta, model=request.model, bounded=request.bounded)
    if account is None or (built.delta, [p.epsilon for p in built.promises]) == (
        own.limit.delta,
        [p.epsilon for p in own.promises],
    ):
        return _with_account(built, account)
    return _with_account(built, account.share)


def _with_account(request: Promises, account: Quadrature | Fraction | None) -> Promises:
    return Promises(request.promises, request.delta, model=request.model, bounded=request.bounded, quadrature=account)


def _keeps_promise(stronger: PromiseLimit, weaker: PromiseLimit) -> bool:
    """Whether a promise about the same change implies another, by its scope and epsilon."""
    alike = (stronger.move, stronger.presence, stronger.group) == (weaker.move, weaker.presence, weaker.group)
    return alike and stronger.epsilon <= weaker.epsilon and implies(stronger.scope, weaker.scope)


def _added(own: Budget, merged: Promises) -> str:
    new = [f"“{promise}”" for promise in merged.promises if promise not in own.promises]
    if merged.delta < own.limit.delta:
        new.append(f"δ ≤ {show(merged.delta)}")
    return ", ".join(new)


def _carry(state: LedgerState, seq: int, request: Budget) -> Price:
    """What the release of record ``seq`` costs at each promise of ``request``."""
    charge = state.charges[seq]
    ref = SpaceRef(**state.records[seq - 1].data["space"])
    own = {p.change: epsilon for p, epsilon in zip(state.budget.promises, charge.epsilons, strict=True)}
    try:
        if charge.account == "user":  # It was paid by its worst case, and is carried as that.
            worst = worst_case(charge.guarantee)
            cost = Price((worst.epsilon,) * len(request.promises), worst.delta)
        else:
            delta = charge.guarantee.definition.parameters["delta"]
            cost = cost_of(charge.event, delta, ref, request.promises, str(request.metric), charge.reads)
    except ParameterError as error:
        raise _refused(
            f"What record {seq} costs at a promise is not known: {error.problem}", "other promises"
        ) from None
    # What was paid at a promise stays what it was; only promises that are new are priced anew.
    epsilons = tuple(own.get(p.change, eps) for p, eps in zip(request.promises, cost.epsilons, strict=True))
    return Price(epsilons, max(charge.amount.delta, cost.delta))


def _check_unchanged(state: LedgerState, new: NewBudget) -> None:
    """Promises that were broken before they were made are not made."""
    charges = _recharged(state, new.carried)
    if any(old.squares for old in state.charges.values()):
        return  # the promises are those that were kept before
    for number, promise in enumerate(new.budget.promises):
        limit = new.budget.limit_of(new.budget.accounts[number])
        spent = spent_at(new.budget, charges, number)
        if not totals_at(new.budget, charges, number).fits(new.budget, number):
            raise _refused(
                f"The promise “{promise}” with δ {show(limit.delta)} cannot be made about "
                f"{new.budget.dataset!r}: its releases have spent ε {show(spent.loss)} and "
                f"δ {show(spent.delta)} there already.",
                "promises that what was released still keeps",
                "a larger epsilon or delta for this promise",
            )


def _refused(
    problem: str, allowed: str, fix: str = "correct the study, or name another data set if it is one"
) -> NotCoveredError:
    return NotCoveredError(problem + " Nothing was written.", allowed=allowed, fix=fix)
