"""The nine definitions of privacy: Table 1 of the paper, and central unbounded EMD-DP, which it lacks.

| unit | model | size of a user's data | definition | class |
|---|---|---|---|---|
| item | local | - | (alpha, delta)-d_X-DP | :class:`ItemMetric` |
| user | local | unbounded | (epsilon, delta)-user-level DP | :class:`UserLevel` |
| user | central | unbounded | (epsilon, delta)-user-level DP | :class:`UserLevel` |
| EMD | local | bounded | (alpha, delta)-bounded EMD-DP | :class:`Emd` |
| EMD | local | unbounded | (alpha, delta)-unbounded EMD-DP | :class:`Emd` |
| EMD | local | unbounded | (epsilon, delta, r)-discrete EMD-DP | :class:`DiscreteEmd` |
| EMD | central | bounded | (alpha, delta)-bounded EMD-DP | :class:`Emd` |
| EMD | central | unbounded | (alpha, delta)-unbounded EMD-DP (docs/proofs/central-unbounded.md) | :class:`Emd` |
| EMD | central | unbounded | (epsilon, delta, r)-discrete EMD-DP | :class:`DiscreteEmd` |

A definition is a promise about every pair of neighbours: at distance w the outputs are (epsilon_at(w), delta_at(w))-
indistinguishable. ``model`` says where the noise is added. In the shuffle and the central model neighbours are
collections of n users that differ in the data of one user, and n is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import Field, dataclass, fields
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar, Literal

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, exact_text, float_up, whole

Distance = Literal["item", "user", "EMD"]
Symbol = Literal["alpha", "epsilon"]


class Model(StrEnum):
    """Who adds the noise: each user (local), users and a shuffler, aggregators of shares, a curator (central).

    >>> Model("central").value
    'central'
    """

    LOCAL = "local"
    SHUFFLE = "shuffle"
    AGGREGATED = "aggregated"
    CENTRAL = "central"

    @classmethod
    def _missing_(cls, value: object) -> Model:
        raise ParameterError(
            f"model is {value!r}.", allowed="'local', 'shuffle', 'aggregated' or 'central'", fix="model='central'"
        )

    def __repr__(self) -> str:
        return f"Model.{self.name}"


def to_model(value: str) -> Model:
    """The model called ``value``."""
    return Model(value)


def positive(value: Exact, name: str) -> Fraction:
    """``value`` as an exact number above 0."""
    number = exact(value, name)
    if number <= 0:
        raise ParameterError(f"{name} is {value}.", allowed="a number above 0", fix=f"{name}=1")
    return number


def probability(value: Exact, name: str = "delta") -> Fraction:
    """``value`` as an exact number in [0, 1)."""
    number = exact(value, name)
    if not 0 <= number < 1:
        raise ParameterError(f"{name} is {value}.", allowed="a number in [0, 1)", fix=f"{name}=1e-12")
    return number


def share(value: Exact, name: str) -> Fraction:
    """``value`` as an exact number in (0, 1].

    >>> share("1/30", "radius")
    Fraction(1, 30)
    """
    number = exact(value, name)
    if not 0 < number <= 1:
        raise ParameterError(f"{name} is {value}.", allowed="a number in (0, 1]", fix=f"{name}=1")
    return number


def _share_or_none(value: Exact | None, name: str) -> Fraction | None:
    return None if value is None else share(value, name)


_READERS: dict[str, Callable[..., object]] = {
    **dict.fromkeys(("alpha", "alpha0", "epsilon", "mu"), positive),
    **dict.fromkeys(("items", "reports", "samples"), whole),
    **dict.fromkeys(("least_distance", "range_ratio"), _share_or_none),
    "delta": probability,
    "radius": share,
    "model": lambda value, name: to_model(value),
    "bounded": lambda value, name: bool(value),
}
"""How a public number is read and checked, by its name: the same in every definition and event."""


def take(value: object, **given: object) -> None:
    """Set fields of a frozen value, each read and checked as what is called so always is.

    >>> built = Emd.__new__(Emd)
    >>> take(built, alpha="1/3", model="local")
    >>> built.alpha, built.model
    (Fraction(1, 3), Model.LOCAL)
    """
    vars(value).update({name: _READERS[name](number, name) for name, number in given.items()})


class Definition:
    """What all nine definitions share: a unit of distance, a model, boundedness, and the map from w to (eps, delta).

    ``loss`` is the alpha or the epsilon, and ``symbol`` says which; ``_called`` is what follows its numbers in words;
    ``radius`` is None but for discrete EMD-DP.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    distance: ClassVar[Distance]
    symbol: ClassVar[Symbol]
    label: ClassVar[str]
    _called: ClassVar[str]
    delta: Fraction
    model: Model
    bounded: bool
    radius: Fraction | None = None

    @property
    def loss(self) -> Fraction:
        """Alpha, or epsilon.

        >>> Emd(25).loss, UserLevel("0.5").loss
        (Fraction(25, 1), Fraction(1, 2))
        """
        return self.parameters[self.symbol]

    def user_level(self, largest_distance: Fraction = Fraction(1)) -> UserLevel:
        """The user-level DP that it implies if no two users are farther apart than ``largest_distance``."""
        raise ParameterError(f"{self} promises nothing about a whole user.")

    def discrete(self, radius: Fraction) -> DiscreteEmd:
        """The discrete EMD-DP of a radius that it implies."""
        raise ParameterError(f"{self} promises nothing about a whole user.")

    def within(self, emd: Exact) -> tuple[Fraction, Fraction]:
        """What it alone says of every EMD up to ``emd``: (epsilon, delta), exact.

        A release costs what its event says (:meth:`barrow.promises.Event.epsilon_at`); a limit has no event.

        >>> Emd(6, "1e-9").within("1/30")
        (Fraction(1, 5), Fraction(1, 1000000000))
        >>> DiscreteEmd("0.1", radius="1/10").within("1/4")  # three steps
        (Fraction(3, 10), Fraction(0, 1))
        """
        implied = self.discrete(share(emd, "emd"))
        return implied.epsilon, implied.delta

    def _unbounded(self) -> None:
        if self.bounded:
            raise ParameterError(
                f"{self} holds for data sets of one public size; discrete EMD-DP is about all sizes.",
                allowed="an unbounded definition, or the reduction by sampling",
                fix="release the mean over users, or sample a fixed number of items from each user",
            )

    @property
    def parameters(self) -> dict[str, Fraction]:
        """The numbers of the definition by name, exact.

        >>> UserLevel("0.5").parameters
        {'epsilon': Fraction(1, 2), 'delta': Fraction(0, 1)}
        """
        return {f.name: v for f in fields(self) if isinstance(v := getattr(self, f.name), Fraction)}

    def epsilon_at(self, w: Exact) -> float:
        """The epsilon, rounded up, for two neighbours at distance ``w``: alpha * w, or epsilon whatever ``w``."""
        distance = _distance(w)
        return float_up(self.loss * distance if self.symbol == "alpha" else self.loss)

    def delta_at(self, w: Exact) -> float:
        """The delta, rounded up, for two neighbours at distance ``w``; it does not shrink with ``w``."""
        _distance(w)
        return float_up(self.delta)

    def __str__(self) -> str:
        letters = {"alpha": "α", "epsilon": "ε", "delta": "δ", "radius": "r"}
        numbers = ", ".join(f"{letters[name]}={float(value):.6g}" for name, value in self.parameters.items())
        size = "bounded" if self.bounded else "unbounded"
        return f"({numbers})-{self._called.format(size=size)} ({self.model.value})"

    def to_json(self) -> dict[str, object]:
        """Plain data; numbers as exact text.

        >>> Emd(alpha=25, model="central").to_json()["alpha"]
        '25'
        """
        data: dict[str, object] = {"definition": type(self).__name__}
        for field in fields(self):
            value = getattr(self, field.name)
            data[field.name] = exact_text(value) if isinstance(value, Fraction) else value
        return {k: (v.value if isinstance(v, Model) else v) for k, v in data.items()}


def _distance(w: Exact) -> Fraction:
    return share(w, "w") if w != 0 else Fraction(0)


@dataclass(frozen=True, init=False)
class ItemMetric(Definition):
    """(alpha, delta)-d_X-DP of one item (Definition ``def:metric-dp``).

    >>> ItemMetric(2, delta=0).epsilon_at("1/2")
    1.0
    """

    alpha: Fraction
    delta: Fraction
    distance: ClassVar[Distance] = "item"
    symbol: ClassVar[Symbol] = "alpha"
    _called: ClassVar[str] = "d_X-DP for one item"
    model = Model.LOCAL
    bounded = True

    def __init__(self, alpha: Exact, delta: Exact = 0) -> None:
        take(self, alpha=alpha, delta=delta)

    def delta_at(self, w: Exact) -> float:
        """delta, whatever ``w``."""
        return float_up(self.delta) if _distance(w) else 0.0


@dataclass(frozen=True, init=False)
class UserLevel(Definition):
    """(epsilon, delta)-user-level DP (``def:user-level-dp-local``, ``def:user-level-central-dp``).

    ``bounded=True`` protects changes that keep the number of items; the paper's definitions are unbounded.

    >>> UserLevel(1, model="central").epsilon_at("1/10")
    1.0
    """

    epsilon: Fraction
    delta: Fraction
    model: Model
    bounded: bool
    distance: ClassVar[Distance] = "user"
    symbol: ClassVar[Symbol] = "epsilon"
    label: ClassVar[str] = "def:user-level-central-dp"
    _called: ClassVar[str] = "{size} user-level DP"

    def __init__(self, epsilon: Exact, delta: Exact = 0, *, model: str = Model.CENTRAL, bounded: bool = False) -> None:
        take(self, epsilon=epsilon, delta=delta, model=model, bounded=bounded)

    def user_level(self, largest_distance: Fraction = Fraction(1)) -> UserLevel:
        """Itself."""
        return self

    def discrete(self, radius: Fraction) -> DiscreteEmd:
        """The same epsilon at every radius."""
        self._unbounded()
        return DiscreteEmd(self.epsilon, self.delta, radius=radius, model=self.model)

    def within(self, emd: Exact) -> tuple[Fraction, Fraction]:
        """Its own two numbers."""
        share(emd, "emd")
        return self.epsilon, self.delta


@dataclass(frozen=True, init=False)
class Emd(Definition):
    """(alpha, delta)-EMD-DP, bounded or unbounded, in any model (``def:emd-dp``, ``def:emd-dp-central``).

    >>> g = Emd(alpha=25, delta="1e-12", model="central")
    >>> g.epsilon_at("1/100"), g.delta_at("1/100") >= 1e-12
    (0.25, True)
    >>> print(g)
    (α=25, δ=1e-12)-unbounded EMD-DP (central)
    """

    alpha: Fraction
    delta: Fraction
    model: Model
    bounded: bool
    distance: ClassVar[Distance] = "EMD"
    symbol: ClassVar[Symbol] = "alpha"
    label: ClassVar[str] = "def:emd-dp"
    _called: ClassVar[str] = "{size} EMD-DP"

    def __init__(self, alpha: Exact, delta: Exact = 0, *, model: str = Model.CENTRAL, bounded: bool = False) -> None:
        take(self, alpha=alpha, delta=delta, model=model, bounded=bounded)

    def user_level(self, largest_distance: Fraction = Fraction(1)) -> UserLevel:
        """Alpha times the largest distance (Section 8 of the paper)."""
        return UserLevel(self.alpha * largest_distance, self.delta, model=self.model, bounded=self.bounded)

    def discrete(self, radius: Fraction) -> DiscreteEmd:
        """Alpha times the radius."""
        self._unbounded()
        return DiscreteEmd(self.alpha * radius, self.delta, radius=radius, model=self.model)

    def within(self, emd: Exact) -> tuple[Fraction, Fraction]:
        """Alpha times the distance."""
        return self.alpha * share(emd, "emd"), self.delta


@dataclass(frozen=True, init=False)
class DiscreteEmd(Definition):
    """(epsilon, delta, r)-discrete EMD-DP (``def:discrete-emd-dp-local``, ``def:discrete-emd-dp-central``).

    Every change of EMD at most r is protected at (epsilon, delta); larger ones by group privacy in steps of r.
    With j = ceil(w/r) steps the delta is the exact geometric sum delta (e^{j eps} - 1)/(e^eps - 1): the paper's
    Fact ``ref:group`` and its Table 1 are each unsafe somewhere (docs/proofs/group-privacy.md).

    >>> g = DiscreteEmd("0.2", "1e-12", radius="0.01", model="central")
    >>> g.epsilon_at("0.005"), g.epsilon_at("0.025")
    (0.2, 0.6000000000000001)
    """

    epsilon: Fraction
    delta: Fraction
    radius: Fraction
    model: Model
    distance: ClassVar[Distance] = "EMD"
    symbol: ClassVar[Symbol] = "epsilon"
    label: ClassVar[str] = "def:discrete-emd-dp-central"
    _called: ClassVar[str] = "discrete EMD-DP"
    bounded = False

    def __init__(self, epsilon: Exact, delta: Exact = 0, *, radius: Exact, model: str = Model.CENTRAL) -> None:
        take(self, epsilon=epsilon, delta=delta, radius=radius, model=model)

    def steps_at(self, w: Exact) -> int:
        """How many steps of length r reach distance ``w``; at least one.

        >>> DiscreteEmd(1, radius="1/3").steps_at(1)
        3
        """
        return max(1, math.ceil(_distance(w) / self.radius))

    def epsilon_at(self, w: Exact) -> float:
        """Epsilon * ceil(w/r), rounded up."""
        return float_up(self.epsilon * self.steps_at(w))

    def delta_at(self, w: Exact) -> float:
        """The geometric sum of group privacy, rounded up; at most 1."""
        return group_delta_upper(self.epsilon, self.delta, self.steps_at(w))

    def user_level(self, largest_distance: Fraction = Fraction(1)) -> UserLevel:
        """By group privacy."""
        epsilon, delta = self._in_steps(largest_distance)
        return UserLevel(epsilon, delta, model=self.model)

    def discrete(self, radius: Fraction) -> DiscreteEmd:
        """By group privacy, where the radius is larger; else the same numbers."""
        epsilon, delta = self._in_steps(radius)
        return DiscreteEmd(epsilon, delta, radius=radius, model=self.model)

    def _in_steps(self, w: Fraction) -> tuple[Fraction, Fraction]:
        steps = self.steps_at(w)
        delta = group_delta_upper(self.epsilon, self.delta, steps)
        if not delta < 1.0 or math.isnan(delta):
            raise ParameterError(
                "Group privacy over this many steps gives a delta of 1, which is no guarantee.",
                allowed="a smaller delta, a smaller epsilon or a larger radius",
                fix="reduce delta, or ask about a shorter distance",
            )
        return self.epsilon * steps, exact(delta, "delta") if steps > 1 else self.delta


def group_delta_upper(epsilon: Exact, delta: Exact, steps: int) -> float:
    """Delta * (e^{j eps} - 1)/(e^eps - 1) for j steps, rounded up, at most 1 (docs/proofs/group-privacy.md).

    >>> group_delta_upper(1, 0, 50), group_delta_upper("0.01", "1/1024", 1)
    (0.0, 0.0009765625)
    """
    eps, total = exact(epsilon, "epsilon"), probability(delta)
    if steps < 1:
        raise ParameterError(f"steps is {steps}.", allowed="a whole number, 1 or more", fix="steps=1")
    if total == 0:
        return 0.0
    if steps == 1:
        return float_up(total)
    if eps * steps > 700:
        return 1.0
    # Rounding outwards: the arguments by one unit each, the two expm1, the quotient and the product by a few.
    ratio = math.expm1(float_up(eps * steps)) / math.expm1(math.nextafter(float(eps), 0.0))
    return min(1.0, float_up(total) * ratio * (1.0 + 2.0**-48))
