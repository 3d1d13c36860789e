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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import NotRequired, Protocol, TypedDict, Unpack

from barrow import accounting
from barrow.errors import ParameterError, check_options, reading
from barrow.ledger.budget import Account, Amount, Budget, SpaceRef, amounts_sum
from barrow.ledger.cells import Groups, Paid, cells_of, tally, worst_atom
from barrow.ledger.errors import NotCoveredError
from barrow.ledger.promises import Price, Promises, cost_of, exposure_at
from barrow.ledger.quadrature import square_of
from barrow.numerics import Exact, exact
from barrow.promises import Definition, Event, Guarantee, UserLevel, event_from_json, to_bounded, to_model_of
from barrow.promises.periods import Window
from barrow.spaces.space import Space

PROMISES = "promises"
"""The account that a charge to a budget of promises names."""


@dataclass(frozen=True)
class Charge:
    """What one release cost: who paid, how much, and the event that a better accountant may price again.

    In a budget of promises ``epsilons`` is the cost at each of them, and ``amount`` the largest, with the delta.
    ``reads`` is the window of periods that it read (None: everything), ``groups`` the groups of people in it. Where it
    is paid in quadrature ``squares`` has the square of its mu at each promise, and only these count.

    >>> from barrow.promises import Emd, PureRelease
    >>> e, g = PureRelease(5, model="central"), Guarantee(Emd(5, model="central"), "pure", "def:emd-dp")
    >>> Charge("main", Amount(5, 0), e, g).amount.loss
    Fraction(5, 1)
    """

    account: Account
    amount: Amount
    event: Event
    guarantee: Guarantee
    epsilons: tuple[Fraction, ...] = ()
    reads: Window | None = None
    groups: Groups = field(default_factory=dict)
    squares: tuple[Fraction, ...] = ()


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

    >>> from barrow.promises import Emd, PureRelease
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
        if not charges:
            return Amount(0, 0)
        if charges[0].account != "main":  # a user-level budget: epsilons, which do not shrink with w
            return AdditiveComposer().total(charges, limit)
        return Amount(accounting.adaptive_alpha_upper([charge.event for charge in charges], limit.delta), limit.delta)


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


class ReleaseFacts(TypedDict):
    """What a ledger is told about a release, to say what it costs.

    ``event`` is what the mechanism will do, ``guarantee`` what an accountant says about it, ``space`` what the
    guarantee is about, ``dataset`` and ``users`` whom; ``items`` is m, for which a bounded guarantee was computed;
    ``charges`` are the epsilons at the promises of the budget, rounded up, where the caller knows them better than
    :func:`barrow.ledger.promises.cost_of` does, never for a release that reads a window; ``reads`` is the window of
    periods that it reads (all records by default), ``groups`` the groups of people that it is about, by grouping
    (everybody where one is not named).
    """

    event: Event | Mapping[str, object]
    guarantee: Guarantee
    space: Space | SpaceRef
    dataset: str
    users: int
    items: NotRequired[int | None]
    charges: NotRequired[Sequence[Exact] | Price | None]
    reads: NotRequired[Window | None]
    groups: NotRequired[Mapping[str, Sequence[str]] | None]


def charge_for(budget: Budget, **release: Unpack[ReleaseFacts]) -> Charge:
    """Who pays for a release, and how much."""
    check_options("A release", ReleaseFacts.__annotations__, release)
    with reading("The release", allowed="event, guarantee, space, dataset and users", fix="name each of them"):
        told, guarantee, space = release["event"], release["guarantee"], SpaceRef.of(release["space"])
        dataset, users = release["dataset"], release["users"]
    event = event_from_json(told.to_json() if isinstance(told, Event) else told)
    charges, reads = release.get("charges"), release.get("reads")
    about = groups_of(budget, release.get("groups"))
    _check_calendar(budget, reads)
    if dataset != budget.dataset or not (users == budget.users or _are_the_people(users, budget, about)):
        raise NotCoveredError(
            f"The release is about {users} users of {dataset!r}, the budget about {budget.users} of "
            f"{budget.dataset!r}.",
            allowed="the data set and the number of users that the budget was made for",
            fix="use that data set's own ledger, or make one: barrow ledger init",
        )
    definition = guarantee.definition
    if definition.bounded and definition.distance != "item":
        _check_items(budget, release.get("items"))
    if budget.promised is not None:
        paid = _promised(budget, budget.promised, event, guarantee, space, charges, reads)
        return replace(paid, reads=reads, groups=about)
    if charges is not None or budget.space is None or budget.single is None:
        raise ParameterError(
            "Charges are given for promises, but the budget is an alpha or an epsilon.",
            allowed="charges with a budget of promises",
            fix="omit charges",
        )
    reason = ""
    if space.pays_in(budget.space) and reads is None:
        try:
            own = as_limit(_at_radius(budget.single, event, definition), budget.single)
            return Charge("main", Amount(own.loss, own.delta), event, guarantee, groups=about)
        except ParameterError as error:
            reason = error.problem
    elif reads is not None:
        reason = (
            f"The release is about the records of {reads.text}, but alpha is about all records of a person, and one "
            f"record of many may be the only one there. Promises with a scope, such as in any month, are kept by "
            f"periods."
        )
    elif space.filtered:
        reason = (
            "The release sees only the records that its query selects, but alpha is about all records of a person, "
            "and one record of many may be the only one selected."
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
    return Charge("user", Amount(worst.loss, worst.delta), event, guarantee, reads=reads, groups=about)


def groups_of(budget: Budget, groups: Mapping[str, Sequence[str]] | None) -> dict[str, tuple[str, ...]]:
    """The groups that a release is about, if the budget has them; a grouping whose groups are all named says nothing.

    >>> budget = Budget("visits", 3, "earth km", Promises([(1, 1, 1)]), groups={"region": {"north": 1, "south": 2}})
    >>> groups_of(budget, {"region": ["north"]}), groups_of(budget, {"region": ["south", "north"]})
    ({'region': ('north',)}, {})
    """
    result: dict[str, tuple[str, ...]] = {}
    for name, labels in (groups or {}).items():
        known = budget.groups.get(name)
        if known is None or isinstance(labels, str) or not labels or not set(labels) <= set(known):
            raise NotCoveredError(
                f"The release is about {name!r} {', '.join(map(repr, labels))}, which the ledger of "
                f"{budget.dataset!r} does not know.",
                allowed=", ".join(f"{n}: {', '.join(sizes)}" for n, sizes in budget.groups.items()) or "no groups",
                fix="barrow ledger init … --study study.toml, which joins the ledger with the study's groups",
            )
        if set(labels) != set(known):
            result[name] = tuple(label for label in known if label in set(labels))
    return result


def _are_the_people(users: int, budget: Budget, groups: Groups) -> bool:
    """Whether the groups hold so many people; of two groupings at once nobody has said how many, but not more."""
    held = [sum(budget.groups[name][label] for label in labels) for name, labels in groups.items()]
    return users in held if len(held) == 1 else 0 < users <= min(held, default=0)


def _check_calendar(budget: Budget, reads: Window | None) -> None:
    if reads is not None and budget.calendar is None:
        raise NotCoveredError(
            f"The release is about {reads.text}, and the ledger of {budget.dataset!r} has no calendar.",
            allowed="releases about all records",
            fix="barrow ledger init … --study study.toml with [data] time, period and zone, which joins the ledger",
        )


def _promised(
    budget: Budget,
    limit: Promises,
    event: Event,
    guarantee: Guarantee,
    space: SpaceRef,
    charges: Sequence[Exact] | Price | None,
    reads: Window | None,
) -> Charge:
    definition, metric = guarantee.definition, str(budget.metric)
    try:
        if definition.distance == "item":
            raise ParameterError(f"{definition} is about one item, a promise about a person.")
        to_model_of(definition, limit.model)
        cost = None if charges is None else _given(charges, definition, limit)
        if cost is None or space.metric != metric or space.filtered or reads is not None:
            # Of another metric, behind a filter or in a window, nobody but the ledger says how large a change is.
            own = cost_of(event, definition.delta, space, limit.promises, metric, reads)
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
        price = Price(tuple(exact(charge, "a charge") for charge in charges.epsilons), exact(charges.delta, "delta"))
    else:
        price = Price(tuple(exact(charge, "a charge") for charge in charges), definition.delta)
    if len(price.epsilons) != len(limit.promises) or min(price.epsilons, default=-1) < 0 or price.delta < 0:
        raise ParameterError(
            f"There are {len(price.epsilons)} charges for {len(limit.promises)} promises, or one is below 0.",
            fix="charges: one epsilon for each of ledger.budget.promises, in their order",
        )
    return price


def _at_radius(limit: Definition, event: Event, definition: Definition) -> Definition:
    """What a release of samples promises in the budget's terms: the same release, priced at its radius or in alpha."""
    there = event.at(limit.radius)
    if there == event:
        return definition
    return accounting.price(there).definition


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


def spent_by(charges: Sequence[Charge], account: Account) -> list[Charge]:
    """The charges of one account; of a promise, each with its epsilon there."""
    if not account.startswith("promise "):
        return [c for c in charges if c.account == account]
    number = int(account.removeprefix("promise ")) - 1
    return [replace(c, account=account, amount=Amount(c.epsilons[number], c.amount.delta)) for c in charges]


def loss_at(number: int, charge: Charge) -> Fraction:
    """What a payment adds to the epsilons of a promise: nothing where it is paid in quadrature."""
    return Fraction(0) if charge.squares else charge.epsilons[number]


def _delta_of(charge: Charge) -> Fraction:
    return Fraction(0) if charge.squares else charge.amount.delta


def square_at(number: int, charge: Charge) -> Fraction:
    """What it adds to the squares of a promise."""
    return charge.squares[number] if charge.squares else Fraction(0)


@dataclass(frozen=True)
class Totals:
    """What releases cost at a promise, in both of its accounts: sums, and the sum of squares in quadrature.

    >>> Totals(Amount("0.1", 0), Fraction(1, 100)).square
    Fraction(1, 100)
    """

    adding: Amount
    square: Fraction

    def fits(self, budget: Budget, number: int) -> bool:
        """Whether neither account holds more than it may."""
        limit = limits_at(budget, number)
        return self.adding.fits(limit.adding) and self.square <= limit.square

    def amount(self, budget: Budget, number: int) -> Amount:
        """Both together as an epsilon, rounded up, and a delta."""
        account = None if budget.promised is None else budget.promised.quadrature
        if account is None or not self.square:
            return self.adding
        epsilon = account.epsilon_upper(number, self.square, budget.promises[number].epsilon)
        return self.adding + Amount(epsilon, account.delta)


def limits_at(budget: Budget, number: int) -> Totals:
    """The most that each account of a promise may hold."""
    promised, limit = budget.promised, budget.limit_of(budget.accounts[number])
    if promised is None or promised.quadrature is None:
        return Totals(limit, Fraction(0))
    part = promised.adding
    return Totals(Amount(limit.loss * part, limit.delta * part), promised.quadrature.mus[number] ** 2)


def totals_at(budget: Budget, charges: Sequence[Charge], number: int, paid: Paid | None = None) -> Totals:
    """What all releases cost at a promise, in its costliest periods, for the costliest atom of people.

    With ``paid``, what counts already against such a release: it fits where this and its price do.
    """
    scope = budget.promises[number].scope
    within = None if paid is None else paid.groups

    def worst(amount: Callable[[Charge], Fraction], squares: bool = False, whole: bool = False) -> Fraction:
        labels = None if paid is None else list(cells_of(scope, paid, squares=squares))

        def cost(held: Sequence[Charge]) -> Fraction:
            result = tally(scope, held, amount, squares=squares, whole=whole)
            return result.total if labels is None else result.used(labels)

        return worst_atom(budget.groups, charges, cost, within)

    quadratic = any(charge.squares for charge in charges)
    return Totals(
        Amount(worst(partial(loss_at, number)), worst(_delta_of, whole=True)),
        worst(partial(square_at, number), True) if quadratic else Fraction(0),
    )


def spent_at(budget: Budget, charges: Sequence[Charge], number: int) -> Amount:
    """What all releases together cost at a promise, as an epsilon and a delta."""
    return totals_at(budget, charges, number).amount(budget, number)


def keeps_promises(budget: Budget, charges: Sequence[Charge]) -> bool:
    """Whether every promise is kept, account by account."""
    return all(totals_at(budget, charges, i).fits(budget, i) for i in range(len(budget.promises)))


def used_at(budget: Budget, charges: Sequence[Charge], number: int, paid: Paid) -> Amount:
    """What counts already, at a promise, against a release like ``paid`` that adds."""
    return totals_at(budget, charges, number, paid).adding


def ways_to_pay(budget: Budget, charge: Charge, space: SpaceRef) -> list[Charge]:
    """The charge in each account that can take it, the better one first: chosen from public numbers alone."""
    promised = budget.promised
    if promised is None or promised.quadrature is None:
        return [charge]
    seen = [exposure_at(one, space, str(budget.metric), charge.reads) for one in promised.promises]
    squares = [square_of(charge.event, one) for one in seen]
    if any(square is None for square in squares):
        return [charge]
    quadratic = replace(charge, squares=tuple(square for square in squares if square is not None))
    if charge.event.needs_delta or promised.adding == 0:
        return [quadratic, charge]
    return [charge, quadratic]


def account_total(budget: Budget, charges: Sequence[Charge], account: Account, composer: Composer) -> Amount:
    """What an account has spent, for the costliest atom of people; a promise adds up in its own two accounts."""
    if budget.promises:
        return spent_at(budget, charges, budget.number_of(account))
    own, limit = spent_by(charges, account), budget.limit_of(account)
    return Amount(
        worst_atom(budget.groups, own, lambda held: composer.total(held, limit).loss),
        worst_atom(budget.groups, own, lambda held: composer.total(held, limit).delta),
    )


def running_totals(budget: Budget, charges: Sequence[Charge], composer: Composer) -> list[Amount]:
    """After each charge, the total of its account.

    Sums are carried along; any other composer, and groups, are asked about each beginning, in quadratic time.
    """
    totals: list[Amount] = []
    sums: dict[Account, Amount] = {}
    for number, charge in enumerate(charges, start=1):
        if isinstance(composer, AdditiveComposer) and not any(c.groups for c in charges):
            sums[charge.account] = sums.get(charge.account, Amount(0, 0)) + charge.amount
            totals.append(sums[charge.account])
        else:
            totals.append(account_total(budget, charges[:number], charge.account, composer))
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

    >>> from barrow.promises import KNormNoise
    >>> result = price_together([KNormNoise("0.2", model="central")] * 20, Fraction(1, 10**6))
    >>> {name: round(float(alpha), 2) for name, alpha in result.items()}
    {'additive': 4.0, 'quadrature': 5.59, 'together': 3.69}
    """
    if not events:
        return {"additive": Fraction(0), "quadrature": Fraction(0), "together": Fraction(0)}
    ways: dict[str, Callable[[], Fraction]] = {
        "additive": lambda: sum((accounting.price(e).definition.parameters["alpha"] for e in events), Fraction(0)),
        "quadrature": lambda: accounting.adaptive_alpha_upper(events, delta),
        "together": lambda: accounting.compose(events, delta).definition.parameters["alpha"],
    }
    result: dict[str, Fraction | None] = {}
    for name, way in ways.items():
        try:
            result[name] = way()
        except (ParameterError, KeyError):
            result[name] = None
    return result
