"""Charges: which budget pays for a release, how much, and how charges add up. Pure, exact, without tolerance.

Numbers are added only where they mean the same: one space, one data set, one number of users, one definition.
What is asked is first turned into the budget's own definition, and only by implications of the promise:

- a model of less trust pays in one of more trust (local, shuffle, central; never backwards);
- an unbounded guarantee pays in a bounded budget (never backwards), a bounded one only for the same m;
- unbounded EMD-DP, user-level DP and discrete EMD-DP pay in a discrete budget, at its radius; samples are priced there
  anew, because steps of another radius would cost more;
- samples pay in alpha: a bounded release of alpha on s samples is unbounded EMD-DP with alpha e^(alpha/s), whatever
  radius its statement names (docs/proofs/sampling.md).

A discrete guarantee alone, whose inner release is not known, never pays in alpha: below its radius the epsilon need not
shrink.

Everything else is paid by its user-level worst case (docs/proofs/budget.md) out of the separate
user-level budget, where there is one, and is refused where there is none.

A budget of promises counts the epsilon of each promise instead: any grid of its metric pays there, at its own price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from barrow.errors import ParameterError
from barrow.ledger.budget import Account, Amount, Budget, SpaceRef, amounts_sum
from barrow.ledger.errors import NotCoveredError
from barrow.ledger.promises import Price, Promises, cost_of
from barrow.numerics import Exact, exact
from barrow.privacy import Definition, Event, Guarantee, UserLevel, to_bounded, to_model_of

PROMISES = "promises"
"""The account that a charge to a budget of promises names."""


@dataclass(frozen=True)
class Charge:
    """What one release cost: who paid, how much, and the event that a better accountant may price again.

    In a budget of promises ``epsilons`` is the cost at each of them, and ``amount`` the largest, with the delta.

    >>> from barrow.privacy import Emd, PureRelease
    >>> e, g = PureRelease(5, model="central"), Guarantee(Emd(5, model="central"), "pure", "def:emd-dp")
    >>> Charge("main", Amount(5, 0), e, g).amount.loss
    Fraction(5, 1)
    """

    account: Account
    amount: Amount
    event: Event
    guarantee: Guarantee
    period: str | None = None
    epsilons: tuple[Fraction, ...] = ()


class Composer(Protocol):
    """How charges of one account add up. A tighter one prices ``charge.event`` of all of them together.

    ``total`` must be monotone (one more charge never makes it smaller) and valid for adaptive releases.

    >>> isinstance(AdditiveComposer().name, str)
    True
    """

    @property
    def name(self) -> str:
        """One word that is written into every record that this composer let through."""

    def total(self, charges: Sequence[Charge], limit: Amount) -> Amount:
        """An upper bound on the joint loss of ``charges``, which will be compared with ``limit``."""


class AdditiveComposer:
    """Losses add and deltas add: basic composition, valid for every definition and any adaptive choice.

    >>> from barrow.privacy import Emd, PureRelease
    >>> g = Guarantee(Emd("1/3", model="central"), "pure", "def:emd-dp")
    >>> charge = Charge("main", Amount("1/3", 0), PureRelease("1/3", model="central"), g)
    >>> AdditiveComposer().total([charge] * 3, Amount(1, 0)).loss
    Fraction(1, 1)
    """

    name = "additive"

    def total(self, charges: Sequence[Charge], limit: Amount) -> Amount:
        """The sums of the losses and of the deltas."""
        return amounts_sum(charge.amount for charge in charges)


class QuadratureComposer:
    """Losses of additive noise and other pure releases add in quadrature, at the budget's delta.

    For many small releases this leaves room for far more than sums do; for few it is worse. It is proved for releases
    chosen from earlier outputs (docs/proofs/adaptive.md), and it refuses shuffled and sampled ones.

    >>> QuadratureComposer().name
    'quadrature'
    """

    name = "quadrature"

    def total(self, charges: Sequence[Charge], limit: Amount) -> Amount:
        """The joint alpha at the limit's delta, rounded up."""
        from barrow.accounting import adaptive_alpha_upper  # opening a ledger that adds needs no accountant

        if not charges:
            return Amount(0, 0)
        if charges[0].account != "main":  # a user-level budget: epsilons, which do not shrink with w
            return AdditiveComposer().total(charges, limit)
        return Amount(adaptive_alpha_upper([charge.event for charge in charges], limit.delta), limit.delta)


COMPOSERS: dict[str, type[Composer]] = {"additive": AdditiveComposer, "quadrature": QuadratureComposer}
"""Composers by name."""


def composer_named(name: str) -> Composer:
    """The composer called ``name``.

    >>> composer_named("additive").name
    'additive'
    """
    if name not in COMPOSERS:
        raise ParameterError(
            f"The composition is {name!r}.", allowed=", ".join(COMPOSERS), fix="--composition additive"
        )
    return COMPOSERS[name]()


def charge_for(
    budget: Budget,
    event: Event,
    guarantee: Guarantee,
    *,
    space: SpaceRef,
    dataset: str,
    users: int,
    items: int | None = None,
    charges: Sequence[Exact] | Price | None = None,
) -> Charge:
    """Who pays for a release with ``guarantee``, and how much.

    ``charges`` are the epsilons at the promises of the budget, where the caller knows them better than
    :func:`barrow.ledger.promises.cost_of` does.
    """
    if (dataset, users) != (budget.dataset, budget.users):
        raise NotCoveredError(
            f"The release is about {users} users of {dataset!r}, the budget about {budget.users} of "
            f"{budget.dataset!r}.",
            allowed="the data set and the number of users that the budget was made for",
            fix="use that data set's own ledger, or make one: barrow ledger init",
        )
    definition = guarantee.definition
    if definition.bounded and definition.distance != "item":
        _check_items(budget, items)
    if budget.promised is not None:
        return _promised(budget, budget.promised, event, guarantee, space, charges)
    if charges is not None or budget.space is None or budget.single is None:
        raise ParameterError(
            "Charges are given for promises, but the budget is an alpha or an epsilon.",
            allowed="charges with a budget of promises",
            fix="omit charges",
        )
    reason = ""
    if space.pays_in(budget.space):
        try:
            own = as_limit(_at_radius(budget.single, event, definition), budget.single)
            return Charge("main", Amount(own.loss, own.delta), event, guarantee)
        except ParameterError as error:
            reason = error.problem
    elif space.filtered:
        reason = (
            "The release sees only the records that its query selects, and alpha is about all records of a person: "
            "one of many may be all that is selected."
        )
    else:
        reason = f"The release is about the {space}, the budget about the {budget.space}."
    if budget.user_level is None:
        raise NotCoveredError(
            f"{reason} Alphas of different records, spaces or definitions are never added.",
            allowed=f"releases about the {budget.space} that imply {budget.limit}",
            fix=_another_ledger(definition, budget),
        )
    try:
        worst = as_limit(worst_case(guarantee), budget.user_level)
    except ParameterError as error:
        raise NotCoveredError(
            f"{reason} Its user-level worst case cannot be charged either: {error.problem}",
            allowed=f"releases that imply {budget.user_level}",
            fix="release in the model and with the boundedness of the budget",
        ) from None
    return Charge("user", Amount(worst.loss, worst.delta), event, guarantee)


def _promised(
    budget: Budget,
    limit: Promises,
    event: Event,
    guarantee: Guarantee,
    space: SpaceRef,
    charges: Sequence[Exact] | Price | None,
) -> Charge:
    definition, metric = guarantee.definition, str(budget.metric)
    try:
        if definition.distance == "item":
            raise ParameterError(f"{definition} is about one item, a promise about a person.")
        to_model_of(definition, limit.model)
        cost = None if charges is None else _given(charges, definition, limit)
        if cost is None or space.metric != metric or space.filtered:
            # Of another metric, or behind a filter, a change is the largest there is, whatever its caller computed.
            own = cost_of(event, definition.delta, space, limit.promises, metric)
            cost = own if cost is None else _larger(cost, own)
    except ParameterError as error:
        raise NotCoveredError(
            error.problem,
            allowed=f"releases in the {limit.model.value} model that say what they cost at each promise: of "
            f"{metric!r} by their own grid, of other metrics their user-level worst case",
            fix=error.fix or "use a space of the budget's metric, or omit charges",
        ) from None
    return Charge(PROMISES, Amount(max(cost.epsilons), cost.delta), event, guarantee, epsilons=cost.epsilons)


def _larger(one: Price, other: Price) -> Price:
    return Price(tuple(map(max, one.epsilons, other.epsilons)), max(one.delta, other.delta))


def _given(charges: Sequence[Exact] | Price, definition: Definition, limit: Promises) -> Price:
    """What the caller computed, checked in form; nobody here can check the mathematics."""
    if isinstance(charges, Price):
        made = Price(tuple(exact(charge, "a charge") for charge in charges.epsilons), exact(charges.delta, "delta"))
    else:
        made = Price(tuple(exact(charge, "a charge") for charge in charges), definition.delta)
    if len(made.epsilons) != len(limit.promises) or min(made.epsilons, default=-1) < 0 or made.delta < 0:
        raise ParameterError(
            f"There are {len(made.epsilons)} charges for {len(limit.promises)} promises, or one is below 0.",
            fix="charges: one epsilon for each of ledger.budget.promises, in their order",
        )
    return made


def _at_radius(limit: Definition, event: Event, definition: Definition) -> Definition:
    """What a release of samples promises in the budget's terms: the same release, priced at its radius or in alpha."""
    there = event.at(limit.radius)
    if there == event:
        return definition
    from barrow.accounting import price  # opening a ledger needs no accountant

    return price(there).definition


def _another_ledger(definition: Definition, budget: Budget) -> str:
    separate = "make a ledger with a separate user-level budget: barrow ledger init … --user-epsilon 1"
    if definition.radius is None or budget.limit.radius is not None:
        return separate
    return f"charge the event itself (samples pay in alpha), not its discrete guarantee alone; or {separate}"


def worst_case(guarantee: Guarantee) -> UserLevel:
    """The user-level DP of a release: what it says itself, or alpha times the diameter, or group privacy."""
    if guarantee.worst_case is not None:
        return guarantee.worst_case
    return guarantee.definition.user_level()


def as_limit(definition: Definition, limit: Definition) -> Definition:
    """``definition`` in the terms of ``limit``, by implications only; ParameterError where there is none."""
    if definition.distance == "item":
        raise ParameterError(f"{definition} is about one item, the budget about a user.")
    implied = to_model_of(definition, limit.model).definition
    if limit.radius is not None:
        implied = implied.discrete(limit.radius)  # also at the same radius, where it is the identity
    elif implied.radius is None and limit.bounded and not implied.bounded:
        implied = to_bounded(implied).definition
    if type(implied) is type(limit) and implied.bounded == limit.bounded:
        return implied
    raise ParameterError(f"{definition} says nothing in terms of the budget, {limit}.")


def spent_by(charges: Sequence[Charge], account: Account, period: str | None) -> list[Charge]:
    """The charges of one account in one period (all periods if None)."""
    within = [c for c in charges if period is None or c.period == period]
    if not account.startswith("promise "):
        return [c for c in within if c.account == account]
    number = int(account.removeprefix("promise ")) - 1
    return [replace(c, account=account, amount=Amount(c.epsilons[number], c.amount.delta)) for c in within]


def running_totals(budget: Budget, charges: Sequence[Charge], composer: Composer) -> list[Amount]:
    """After each charge, the total of its account in its period.

    Sums are carried along; any other composer is asked about each beginning, which takes quadratic time.
    """
    totals: list[Amount] = []
    groups: dict[tuple[Account, str | None], list[Charge]] = {}
    sums: dict[tuple[Account, str | None], Amount] = {}
    for charge in charges:
        group = (charge.account, charge.period)
        if isinstance(composer, AdditiveComposer):
            sums[group] = sums.get(group, Amount(0, 0)) + charge.amount
            totals.append(sums[group])
        else:
            groups.setdefault(group, []).append(charge)
            totals.append(composer.total(groups[group], budget.limit_of(charge.account)))
    return totals


def _check_items(budget: Budget, items: int | None) -> None:
    if items is None or items != budget.items:
        raise NotCoveredError(
            f"The release holds for users of {items or 'an unnamed number of'} items each, the budget for "
            f"{'any number' if budget.items is None else budget.items}.",
            allowed="a bounded release of the budget's m, or an unbounded release",
            fix="items=m of the budget, or an unbounded mechanism",
        )


def price_together(events: Sequence[Event], delta: Fraction) -> dict[str, Fraction | None]:
    """Alpha of all ``events`` together at a total ``delta``, by every way of composing; None where one does not apply.

    ``"together"`` holds for releases whose parameters were fixed beforehand, the others however they were chosen.

    >>> from barrow.privacy import KNormNoise
    >>> found = price_together([KNormNoise("0.2", model="central")] * 20, Fraction(1, 10**6))
    >>> {name: round(float(alpha), 2) for name, alpha in found.items()}
    {'additive': 4.0, 'quadrature': 5.59, 'together': 3.69}
    """
    from barrow.accounting import adaptive_alpha_upper, compose, price

    if not events:
        return {"additive": Fraction(0), "quadrature": Fraction(0), "together": Fraction(0)}
    ways: dict[str, Callable[[], Fraction]] = {
        "additive": lambda: sum((price(e).definition.parameters["alpha"] for e in events), Fraction(0)),
        "quadrature": lambda: adaptive_alpha_upper(events, delta),
        "together": lambda: compose(events, delta).definition.parameters["alpha"],
    }
    found: dict[str, Fraction | None] = {}
    for name, way in ways.items():
        try:
            found[name] = way()
        except (ParameterError, KeyError):
            found[name] = None
    return found
