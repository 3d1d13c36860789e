"""The values of a ledger: amounts, what a budget is bound to, charges, the head of the chain. All frozen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from barrow.errors import ParameterError
from barrow.ledger.digits import show
from barrow.ledger.period import to_per
from barrow.numerics import Exact, exact, exact_text, whole
from barrow.privacy import Definition, DiscreteEmd, Emd, Event, Guarantee, UserLevel, definition_from_json
from barrow.spaces.base import Space

Account = Literal["main", "user"]
"""Which budget pays: the one of the space and definition, or the separate user-level one."""


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
        return Amount(self.loss + other.loss, self.delta + other.delta)

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
        return Amount(max(self.loss - spent.loss, Fraction(0)), max(self.delta - spent.delta, Fraction(0)))

    def to_json(self, symbol: str) -> dict[str, str]:
        """Plain data; ``symbol`` is ``"alpha"`` or ``"epsilon"``.

        >>> Amount("1/3", 0).to_json("alpha")
        {'alpha': '1/3', 'delta': '0'}
        """
        return {symbol: exact_text(self.loss), "delta": exact_text(self.delta)}


@dataclass(frozen=True)
class SpaceRef:
    """A space by its digest, with what a person needs to recognise it.

    >>> SpaceRef("line", "sha256:00", 10, "km").diameter
    Fraction(10, 1)
    """

    kind: str
    digest: str
    diameter: Fraction
    unit: str

    def __init__(self, kind: str, digest: str, diameter: Exact, unit: str) -> None:
        for name, text in (("kind", kind), ("digest", digest), ("unit", unit)):
            object.__setattr__(self, name, str(text))
        object.__setattr__(self, "diameter", exact(diameter, "diameter"))

    @classmethod
    def of(cls, space: Space | SpaceRef) -> SpaceRef:
        """The reference to ``space``.

        >>> ref = SpaceRef("line", "sha256:00", 10, "km")
        >>> SpaceRef.of(ref) is ref
        True
        """
        if isinstance(space, SpaceRef):
            return space
        return cls(space.kind, space.digest, Fraction(space.diameter), space.unit)

    def to_json(self) -> dict[str, str]:
        """Plain data.

        >>> SpaceRef("line", "sha256:00", 10, "km").to_json()["diameter"]
        '10'
        """
        return {
            "kind": self.kind,
            "digest": self.digest,
            "diameter": exact_text(self.diameter),
            "unit": self.unit,
        }

    def __str__(self) -> str:
        return f"{self.kind} space {self.digest[:15]}… (1 = {show(self.diameter)} {self.unit})".replace(" )", ")")


@dataclass(frozen=True)
class Budget:
    """How much may be spent, and exactly about what.

    Args:
        dataset: The name of the data set.
        users: n, the public number of users.
        space: The space of items (a :class:`~barrow.spaces.base.Space` or a :class:`SpaceRef`).
        limit: The definition with its numbers: ``Emd`` (alpha and delta) or ``DiscreteEmd`` (epsilon and
            delta at one radius).
        items: m, the public number of items of each user, where ``limit`` is bounded.
        per: ``"day"``, ``"week"``, ``"month"`` or ``"year"`` for data that are collected anew; else None.
        user_level: A separate budget that pays for releases about other spaces or definitions by their
            user-level worst case; None refuses them.
        composition: How the charges of the main budget add up: ``"additive"``, or ``"quadrature"`` for many small
            releases of additive noise (EMD-DP with delta above 0 only).

    >>> b = Budget("visits", 1083, SpaceRef("line", "sha256:00", 10, "km"), Emd(250, "1e-9", model="central"))
    >>> b.symbol, b.limit_of("main").loss
    ('alpha', Fraction(250, 1))
    >>> budget_from_json(b.to_json()) == b
    True
    """

    dataset: str
    users: int
    space: SpaceRef
    limit: Emd | DiscreteEmd
    items: int | None
    per: str | None
    user_level: UserLevel | None
    composition: str

    def __init__(
        self,
        dataset: str,
        users: int,
        space: Space | SpaceRef,
        limit: Definition,
        *,
        items: int | None = None,
        per: str | None = None,
        user_level: Definition | None = None,
        composition: str = "additive",
    ) -> None:
        if not isinstance(dataset, str) or not dataset.strip():
            raise ParameterError(f"dataset is {dataset!r}.", allowed="a name", fix="dataset='visits-2026-10'")
        if not isinstance(limit, Emd | DiscreteEmd):
            raise ParameterError(
                f"limit is {limit!r}.",
                allowed="Emd(alpha, delta, model=…) or DiscreteEmd(epsilon, delta, radius=…, model=…)",
                fix="limit=Emd(25, '1e-9', model='central')",
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
        object.__setattr__(self, "dataset", dataset.strip())
        object.__setattr__(self, "users", whole(users, "users"))
        object.__setattr__(self, "space", SpaceRef.of(space))
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "items", None if items is None else whole(items, "items"))
        object.__setattr__(self, "per", None if per is None else to_per(per))
        object.__setattr__(self, "user_level", user_level)
        object.__setattr__(self, "composition", composition)
        if composition not in ("additive", "quadrature"):
            raise ParameterError(
                f"composition is {composition!r}.", allowed="'additive' or 'quadrature'", fix="composition='additive'"
            )
        if composition == "quadrature" and not (isinstance(limit, Emd) and limit.delta > 0):
            raise ParameterError(
                f"composition is 'quadrature' for the budget {limit}.",
                allowed="a budget of EMD-DP with delta above 0",
                fix="delta=1e-9, or composition='additive'",
            )

    @property
    def symbol(self) -> str:
        """What the main budget counts: ``"alpha"``, or ``"epsilon"`` for discrete EMD-DP."""
        return "alpha" if isinstance(self.limit, Emd) else "epsilon"

    def symbol_of(self, account: Account) -> str:
        """What ``account`` counts: ``"alpha"`` or ``"epsilon"``."""
        return self.symbol if account == "main" else "epsilon"

    @property
    def accounts(self) -> tuple[Account, ...]:
        """The budgets that exist: always ``"main"``, and ``"user"`` where there is a user-level one."""
        return ("main",) if self.user_level is None else ("main", "user")

    def limit_of(self, account: Account) -> Amount:
        """The most that ``account`` may spend (in each period, where there are periods)."""
        limit = self.limit if account == "main" else self.user_level
        if limit is None:
            return Amount(0, 0)
        return Amount(limit.alpha if isinstance(limit, Emd) else limit.epsilon, limit.delta)

    def to_json(self) -> dict[str, Any]:
        """Plain data that :func:`budget_from_json` reads back."""
        return {
            "dataset": self.dataset,
            "users": self.users,
            "space": self.space.to_json(),
            "limit": self.limit.to_json(),
            "items": self.items,
            "per": self.per,
            "user_level": None if self.user_level is None else self.user_level.to_json(),
            "composition": self.composition,
        }


def budget_from_json(data: Mapping[str, Any]) -> Budget:
    """The budget that ``data`` describes.

    >>> budget_from_json({})
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The budget has the fields [].
      allowed: the fields that Budget.to_json() writes
      fix:     install the version of barrow that wrote it
    """
    names = {"dataset", "users", "space", "limit", "items", "per", "user_level", "composition"}
    if set(data) != names:
        raise ParameterError(
            f"The budget has the fields {sorted(data)}.",
            allowed="the fields that Budget.to_json() writes",
            fix="install the version of barrow that wrote it",
        )
    user_level = data["user_level"]
    return Budget(
        data["dataset"],
        data["users"],
        SpaceRef(**data["space"]),
        definition_from_json(data["limit"]),
        items=data["items"],
        per=data["per"],
        user_level=None if user_level is None else definition_from_json(user_level),
        composition=data["composition"],
    )


@dataclass(frozen=True)
class Charge:
    """What one release cost: who paid, how much, and the event that a better accountant may price again.

    >>> from barrow.privacy import PureRelease
    >>> e, g = PureRelease(5, model="central"), Guarantee(Emd(5, model="central"), "pure", "def:emd-dp")
    >>> Charge("main", Amount(5, 0), e, g).amount.loss
    Fraction(5, 1)
    """

    account: Account
    amount: Amount
    event: Event
    guarantee: Guarantee
    period: str | None = None


_HEAD = re.compile(r"(\d+):([0-9a-f]{64})")


@dataclass(frozen=True)
class Head:
    """Length and head hash of the chain: kept elsewhere, it shows later that nothing was cut off.

    >>> head = Head(3, "ab" * 32)
    >>> Head.parse(str(head)) == head
    True
    """

    length: int
    hash: str

    @classmethod
    def parse(cls, text: str) -> Head:
        """The head written as ``LENGTH:HASH``.

        >>> Head.parse("3")
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: The head is '3'.
          allowed: LENGTH:HASH, as 'barrow ledger head' prints it
          fix:     --head 3:<64 hexadecimal digits>
        """
        match = _HEAD.fullmatch(text.strip())
        if match is None or int(match[1]) < 1:
            raise ParameterError(
                f"The head is {text!r}.",
                allowed="LENGTH:HASH, as 'barrow ledger head' prints it",
                fix="--head 3:<64 hexadecimal digits>",
            )
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.length}:{self.hash}"


def show_amount(amount: Amount, symbol: str) -> str:
    """Both numbers of ``amount`` in one line.

    >>> show_amount(Amount(25, "1e-12"), "alpha")
    'alpha 25, delta 1e-12'
    """
    return f"{symbol} {show(amount.loss)}, delta {show(amount.delta)}"
