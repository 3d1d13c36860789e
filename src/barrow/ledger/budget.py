"""A budget: how much may be spent, as exact amounts, about which space, data set and users. All frozen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from barrow.errors import ParameterError, one_of, plain_table, reading
from barrow.ledger.digits import show
from barrow.ledger.names import visible_name
from barrow.ledger.promises import PromiseLimit, Promises, promises_from_json
from barrow.numerics import Exact, checked_people, digest_of, exact, exact_text, whole
from barrow.promises import Definition, DiscreteEmd, Emd, RecordMap, UserLevel, definition_from_json
from barrow.promises.definitions import share as share_of
from barrow.promises.periods import Calendar
from barrow.spaces.augmented import with_no_records
from barrow.spaces.space import Space

Account = str
"""Which budget pays: ``"main"`` (a space and a definition), ``"user"`` (the separate user-level one), or
``"promise 1"``, ``"promise 2"``, … of a budget of promises, which every release pays from at once."""


@dataclass(frozen=True)
class Amount:
    """A privacy loss (an alpha, or an epsilon where the budget counts in epsilon) and a delta, both exact.

    >>> Amount("0.1", 0) + Amount("0.2", "1e-9") == Amount("0.3", "1e-9")
    True
    """

    loss: Fraction
    delta: Fraction

    def __init__(self, loss: Exact, delta: Exact) -> None:
        for name, value in (("loss", exact(loss, "loss")), ("delta", exact(delta, "delta"))):
            if value < 0:
                raise ParameterError(f"{name} is {value}.", allowed="a number, 0 or more", fix=f"{name}=0")
            object.__setattr__(self, name, value)

    def __add__(self, other: Amount) -> Amount:
        return amounts_sum((self, other))

    def fits(self, limit: Amount) -> bool:
        """Whether neither number is above ``limit``; exact, without tolerance.

        >>> Amount("1/3", 0).fits(Amount("0.333333333333333333", 0))
        False
        """
        return self.loss <= limit.loss and self.delta <= limit.delta

    def less(self, spent: Amount) -> Amount:
        """What is left of this amount after ``spent``; never below 0.

        >>> Amount(1, 0).less(Amount("0.25", 0)).loss
        Fraction(3, 4)
        """
        return _amount(max(self.loss - spent.loss, Fraction(0)), max(self.delta - spent.delta, Fraction(0)))

    def to_json(self, symbol: str) -> dict[str, str]:
        """Plain data; ``symbol`` is ``"alpha"`` or ``"epsilon"``.

        >>> Amount("1/3", 0).to_json("alpha")
        {'alpha': '1/3', 'delta': '0'}
        """
        return {symbol: exact_text(self.loss), "delta": exact_text(self.delta)}


def amounts_sum(amounts: Iterable[Amount]) -> Amount:
    """The sum, exactly, however long its denominator."""
    each = list(amounts)
    return _amount(sum((a.loss for a in each), Fraction(0)), sum((a.delta for a in each), Fraction(0)))


def _amount(loss: Fraction, delta: Fraction) -> Amount:
    built = Amount.__new__(Amount)
    vars(built).update(loss=loss, delta=delta)
    return built


@dataclass(frozen=True)
class SpaceRef:
    """A space by its digest, with what a person needs to recognise it.

    Args:
        kind: The kind of space.
        digest: Its digest.
        diameter: How many units count as 1.
        unit: The unit of distance.
        metric: The distance between records, by name; None if it is not known.
        snapping: rho, by which the way from record to item may move a record, as a share of the diameter; None if
            it is not known, or if that way is not 1-Lipschitz up to 2 rho: then every move counts as the largest.
        filtered: Whether a release sees only some of a person's records: then every share counts as all of them.
        no_records: h, how far "no records" is from every item, as a share of the diameter; 1 where nobody knows.
        group: How far another hidden group of records is, as a share of the diameter; 0 where groups are not read,
            None where nobody knows.
        alike: Digests of spaces in whose budgets the alpha of a release about this one counts as it is; not written
            down. See :meth:`of`.

    >>> SpaceRef("line", "sha256:00", 10, "km").diameter
    Fraction(10, 1)
    """

    kind: str
    digest: str
    diameter: Fraction
    unit: str
    metric: str | None
    snapping: Fraction | None
    filtered: bool
    no_records: Fraction
    group: Fraction | None
    alike: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    def __init__(
        self,
        kind: str,
        digest: str,
        diameter: Exact,
        unit: str,
        metric: str | None = None,
        snapping: Exact | None = None,
        filtered: bool = False,
        no_records: Exact = 1,
        group: Exact | None = None,
    ) -> None:
        near = None if group is None else share_of(group, "group") if group != "0" and group else Fraction(0)
        vars(self).update(kind=str(kind), digest=str(digest), unit=str(unit), filtered=bool(filtered), group=near)
        vars(self).update(metric=None if metric is None else str(metric), diameter=exact(diameter, "diameter"))
        vars(self).update(snapping=None if snapping is None else exact(snapping, "snapping"))
        vars(self).update(no_records=share_of(no_records, "no_records"))
        if self.diameter <= 0 or (self.snapping is not None and self.snapping < 0):
            raise ParameterError(
                f"The diameter is {diameter} and the snapping {snapping}.",
                allowed="a diameter above 0, a snapping of 0 or more",
                fix="SpaceRef.of(space)",
            )

    @classmethod
    def of(
        cls,
        space: Space | SpaceRef,
        records: RecordMap = RecordMap.CONTRACTION,
        number: str | None = None,
        *,
        ungrouped: bool = False,
    ) -> SpaceRef:
        """The reference to ``space``, whose items ``records`` become; ``ungrouped`` where hidden groups are not read.

        Where each person's records became one ``number``, distances are between numbers and not between records: the
        metric is another one, so that promises about records pay the worst case, and those about the number theirs.

        A space X and X with the item "no records" differ in what people without records hold, and a release about the
        one pays in alpha of the other (docs/proofs/no-records.md, section 6): on the items of X distances are the same,
        so alpha-EMD-DP with the item is alpha-EMD-DP without it, and hiding presence costs at most alpha h <= alpha;
        and where h = 1, counting "no records" as a default item moves nobody farther than the item is.

        >>> ref = SpaceRef("line", "sha256:00", 10, "km")
        >>> SpaceRef.of(ref) is ref
        True
        """
        if isinstance(space, SpaceRef):
            return space
        if not isinstance(space, Space):
            raise ParameterError(f"The space is a {type(space).__name__}.", allowed="a space", fix="Line(0, 100)")
        diameter, snapping = Fraction(space.diameter), Fraction(space.snapping_upper)  # as they are, not as they print
        near, filtered = records is RecordMap.CONTRACTION, records is RecordMap.FILTER
        apart = Fraction(1) if space.no_records_distance is None else space.no_records_distance
        rho = snapping if near else None

        def named(digest: str) -> str:
            return digest if number is None else digest_of({"space": digest, "number": number})

        metric = space.metric_name if number is None else f"{space.metric_name}, {number}"
        group = Fraction(0) if ungrouped else space.geometry.group_distance
        built = cls(space.kind, named(space.digest), diameter, space.unit, metric, rho, filtered, apart, group)
        if space.size is not None:
            both = (space.records_space, with_no_records(space.records_space))
            vars(built).update(alike=frozenset(named(each.digest) for each in both))
        return built

    def pays_in(self, other: SpaceRef) -> bool:
        """Whether the alpha of a release about this space counts as it is in a budget about ``other``.

        Never behind a filter: two versions of a person that are near each other may be far apart in what it leaves.

        >>> from barrow.spaces import Line, NoRecords
        >>> line = Line(0, 10, step=5)
        >>> bare, more, near = map(SpaceRef.of, (line, NoRecords(line), NoRecords(line, distance="1/2")))
        >>> bare.pays_in(more), more.pays_in(bare), near.pays_in(bare), bare.pays_in(near)
        (True, True, True, False)
        """
        return not self.filtered and (other.digest == self.digest or other.digest in self.alike)

    def to_json(self) -> dict[str, object]:
        """Plain data.

        >>> SpaceRef("line", "sha256:00", 10, "km").to_json()["diameter"]
        '10'
        """
        names = ("kind", "digest", "diameter", "unit", "metric", "snapping", "filtered", "group", "no_records")
        unsaid = {"filtered": False, "no_records": 1}  # by default, as None is of the others
        given = {name: getattr(self, name) for name in names if getattr(self, name) != unsaid.get(name)}
        return {name: exact_text(value) if isinstance(value, Fraction) else value for name, value in given.items()}

    @property
    def records(self) -> RecordMap:
        """How records become its items.

        >>> SpaceRef("line", "sha256:00", 10, "km").records.value
        'jumps'
        """
        if self.filtered:
            return RecordMap.FILTER
        return RecordMap.JUMPS if self.snapping is None else RecordMap.CONTRACTION

    def __str__(self) -> str:
        return f"{self.kind} space {self.digest[:15]}… (1 = {show(self.diameter)} {self.unit})".replace(" )", ")")


@dataclass(frozen=True)
class Budget:
    """How much may be spent, and exactly about what.

    Args:
        dataset: The name of the data set.
        users: n, the public number of users.
        space: The space of items (a :class:`~barrow.spaces.space.Space` or a :class:`SpaceRef`); for promises its
            metric is enough, by name, because any grid of that metric may be released about.
        limit: ``Promises`` (the epsilon of each change, and delta); or the definition with its numbers: ``Emd`` (alpha
            and delta) or ``DiscreteEmd`` (epsilon and delta at one radius).
        items: m, the public number of items of each user, where ``limit`` is bounded.
        calendar: How time is divided, where promises have scopes or releases read windows of periods.
        groups: Public groupings of the people by name: how many people are in each group. Each person is in one group
            of a grouping, so that the sizes of each add up to ``users``.
        user_level: A separate budget that pays for releases about other spaces or definitions by their
            user-level worst case; None refuses them.
        composition: How charges add up: ``"additive"``, or ``"quadrature"`` for many small releases of additive noise
            (with delta above 0). In a budget of promises a share of each may be kept for either:
            ``Promises(quadrature="9/10")``.

    >>> b = Budget("visits", 1083, SpaceRef("line", "sha256:00", 10, "km"), Emd(250, "1e-9", model="central"))
    >>> b.symbol, b.limit_of("main").loss
    ('alpha', Fraction(250, 1))
    >>> budget_from_json(b.to_json()) == b
    True
    >>> b = Budget("visits", 1083, "earth km", Promises([(1, "0.3", 1)], delta="1e-9"))
    >>> b.metric, b.accounts, b.limit_of("promise 1").loss
    ('earth km', ('promise 1',), Fraction(1, 1))

    ``per`` is what budgets of earlier versions were renewed by: a period of the clock. They are read, not spent from.
    """

    dataset: str
    users: int
    space: SpaceRef | None
    metric: str | None
    limit: Emd | DiscreteEmd | Promises
    items: int | None
    user_level: UserLevel | None
    composition: str
    calendar: Calendar | None
    groups: Mapping[str, Mapping[str, int]]
    per: str | None = None

    def __init__(
        self,
        dataset: str,
        users: int,
        space: Space | SpaceRef | str,
        limit: Definition | Promises,
        *,
        items: int | None = None,
        user_level: Definition | None = None,
        composition: str = "additive",
        calendar: Calendar | None = None,
        groups: Mapping[str, Mapping[str, int]] | None = None,
    ) -> None:
        if not isinstance(dataset, str) or not dataset.strip():
            raise ParameterError(f"dataset is {dataset!r}.", allowed="a name", fix="dataset='visits-2026-10'")
        if not isinstance(limit, Emd | DiscreteEmd | Promises):
            raise ParameterError(
                f"limit is {limit!r}.",
                allowed="Promises([…], delta), Emd(alpha, delta, model=…) or DiscreteEmd(epsilon, delta, radius=…)",
                fix="limit=Promises([PromiseLimit(1, '0.3', 1)], '1e-9')",
            )
        if user_level is not None and not isinstance(user_level, UserLevel):
            raise ParameterError(
                f"user_level is {user_level!r}.",
                allowed="UserLevel(epsilon, delta) or nothing",
                fix="omit it",
            )
        if limit.bounded != (items is not None):
            raise ParameterError(
                f"limit is {'bounded' if limit.bounded else 'unbounded'} and items is {items!r}.",
                allowed="items=m for a bounded definition, and no items for an unbounded one",
                fix="Emd(…, bounded=True) with items=1000, or neither",
            )
        if composition == "quadrature" and isinstance(limit, Promises) and limit.quadrature is None:
            limit = Promises(limit.promises, limit.delta, model=limit.model, bounded=limit.bounded, quadrature=1)
        if isinstance(limit, Promises) and limit.quadrature is not None:
            composition = "quadrature"
        vars(self).update(dataset=visible_name(dataset), users=checked_people(users), limit=limit)
        about = {"space": _space(space), "metric": None} if self.promised is None else {"metric": _metric(space)}
        vars(self).update({"space": None, **about}, items=None if items is None else whole(items, "items"))
        vars(self).update(user_level=user_level, calendar=calendar, groups=_groups(groups or {}, self.users))
        if calendar is None and any(promise.scope is not None for promise in self.promises):
            raise ParameterError(
                "A promise is about periods, and the budget has no calendar.",
                allowed="a unit of time and a time zone",
                fix='[data] time = "at", period = "month", zone = "UTC"; in Python calendar=Calendar("month", "UTC")',
            )
        if self.promised is not None and user_level is not None:
            raise ParameterError(
                "A budget of promises has a separate user-level budget.",
                allowed="promises alone: user-level releases pay their epsilon at every promise",
                fix="omit user_level",
            )
        vars(self).update(composition=composition)
        one_of(composition, "composition", ("additive", "quadrature"))
        if (composition == "quadrature" and not (limit.symbol == "alpha" or self.promised)) or (
            composition == "quadrature" and not limit.delta > 0
        ):
            raise ParameterError(
                f"composition is 'quadrature' for the budget {limit}.",
                allowed="a budget of promises or of EMD-DP with delta above 0",
                fix="delta=1e-9, or composition='additive'",
            )

    @property
    def promised(self) -> Promises | None:
        """The limit, where it is promises."""
        return self.limit if isinstance(self.limit, Promises) else None

    @property
    def single(self) -> Definition | None:
        """The limit, where it is one definition."""
        return None if isinstance(self.limit, Promises) else self.limit

    @property
    def promises(self) -> tuple[PromiseLimit, ...]:
        """The promises; none where the budget is an alpha or an epsilon."""
        return () if self.promised is None else self.promised.promises

    @property
    def symbol(self) -> str:
        """What the main budget counts: ``"alpha"``, or ``"epsilon"`` for promises and discrete EMD-DP."""
        return self.limit.symbol

    def symbol_of(self, account: Account) -> str:
        """What ``account`` counts: ``"alpha"`` or ``"epsilon"``."""
        return self.symbol if account == "main" else "epsilon"

    @property
    def accounts(self) -> tuple[Account, ...]:
        """The budgets that exist: one for each promise; or ``"main"``, and ``"user"`` where there is one."""
        if self.promises:
            return tuple(f"promise {number}" for number in range(1, len(self.promises) + 1))
        return ("main",) if self.user_level is None else ("main", "user")

    def limit_of(self, account: Account) -> Amount:
        """The most that ``account`` may spend."""
        if self.promises:
            return Amount(self.promises[self.number_of(account)].epsilon, self.limit.delta)
        limit = self.single if account == "main" else self.user_level
        return Amount(0, 0) if limit is None else Amount(limit.loss, limit.delta)

    def __repr__(self) -> str:
        names = ("items", "user_level", "composition", "calendar", "groups")
        rest = [(name, value) for name in names if (value := getattr(self, name)) not in (None, "additive", {})]
        options = "".join(f", {name}={value!r}" for name, value in rest)
        return f"Budget({self.dataset!r}, {self.users}, {self.space or self.metric!r}, {self.limit!r}{options})"

    def number_of(self, account: Account) -> int:
        """The place of ``account`` among the promises, from 0.

        >>> Budget("visits", 3, "earth km", Promises([(1, "0.3", 1)])).number_of("promise 1")
        0
        """
        if account not in self.accounts:
            raise ParameterError(
                f"The account is {account!r}.", allowed=", ".join(map(repr, self.accounts)), fix="ledger.balances()"
            )
        return self.accounts.index(account)

    def to_json(self) -> dict[str, object]:
        """Plain data that :func:`budget_from_json` reads back."""
        return {
            "dataset": self.dataset,
            "users": self.users,
            "space": self.metric if self.space is None else self.space.to_json(),
            "limit": self.limit.to_json(),
            "items": self.items,
            "user_level": None if self.user_level is None else self.user_level.to_json(),
            "composition": self.composition,
            "calendar": None if self.calendar is None else {"unit": self.calendar.unit, "zone": self.calendar.zone},
            "groups": {name: dict(sizes) for name, sizes in self.groups.items()},
            **({} if self.per is None else {"per": self.per}),
        }


def budget_from_json(data: Mapping[str, object]) -> Budget:
    """The budget that ``data`` describes.

    >>> budget_from_json({})
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The budget has the fields [].
      allowed: the fields that Budget.to_json() writes
      fix:     install the version of barrow that wrote it
    """
    names = {"dataset", "users", "space", "limit", "items", "user_level", "composition"}
    data = plain_table(data, "The budget")
    if not names <= set(data) <= {*names, "calendar", "groups", "per"}:
        raise ParameterError(
            f"The budget has the fields {sorted(data)}.",
            allowed="the fields that Budget.to_json() writes",
            fix="install the version of barrow that wrote it",
        )
    user_level, limit, space = data["user_level"], data["limit"], data["space"]
    calendar, per = data.get("calendar"), data.get("per")
    with reading("The budget", fix="install the version of barrow that wrote it"):
        budget = Budget(
            data["dataset"],
            data["users"],
            space if isinstance(space, str) else SpaceRef(**space),
            promises_from_json(limit) if limit["definition"] == "Promises" else definition_from_json(limit),
            items=data["items"],
            user_level=None if user_level is None else definition_from_json(user_level),
            composition=data["composition"],
            calendar=None if calendar is None else Calendar(**calendar),
            groups=data.get("groups"),
        )
    vars(budget).update(per=None if per is None else str(per))
    return budget


def _groups(groups: Mapping[str, Mapping[str, int]], users: int) -> dict[str, dict[str, int]]:
    """The groupings, each of which holds every person once."""
    result = {
        str(name): {str(label): whole(n, "a group") for label, n in sizes.items()} for name, sizes in groups.items()
    }
    for name, sizes in result.items():
        if sum(sizes.values()) != users:
            raise ParameterError(
                f"The groups of {name!r} hold {sum(sizes.values())} people, the data set {users}.",
                allowed="sizes that add up to the number of users: everybody is in one group",
                fix="sizes of all groups, and one for everybody else",
            )
    return result


def _space(space: Space | SpaceRef | str) -> SpaceRef:
    if isinstance(space, str):
        raise ParameterError(
            f"The space is the name {space!r}.",
            allowed="a space: alphas and radii are about one grid",
            fix="Budget(…, space=Line(0, 100, step=1), …)",
        )
    return SpaceRef.of(space)


def _metric(space: Space | SpaceRef | str) -> str:
    metric = space if isinstance(space, str) else SpaceRef.of(space).metric
    if metric is None or not 0 < len(metric.strip()) <= 200:
        raise ParameterError(
            f"The metric is {metric!r}.", allowed="a name, e.g. 'earth km', or a space", fix="space.metric_name"
        )
    return metric.strip()


def show_amount(amount: Amount, symbol: str) -> str:
    """Both numbers of ``amount`` in one line."""
    return f"{symbol} {show(amount.loss)}, delta {show(amount.delta)}"
