"""What is guaranteed, and what one definition implies in terms of another.

A :class:`Guarantee` is a definition with its numbers, the theorem behind it, and the worst case. A :class:`Conversion`
is an implied definition with safe constants, and the label of the statement that it rests on. Proofs are in
docs/proofs/definitions.md and docs/proofs/group-privacy.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from barrow.errors import ParameterError, plain_table, reading
from barrow.numerics import Exact, whole
from barrow.promises.definitions import (
    Definition,
    DiscreteEmd,
    Emd,
    ItemMetric,
    Model,
    UserLevel,
    share,
    to_model,
)

_DEFINITIONS: dict[str, type[Definition]] = {k.__name__: k for k in (ItemMetric, UserLevel, Emd, DiscreteEmd)}


@dataclass(frozen=True)
class Guarantee:
    """What a release promises, as a function of public parameters only.

    Args:
        definition: One of the nine definitions, with its numbers.
        method: Which accountant gave it, in one word (e.g. ``"gaussian"``, ``"flow_strong"``).
        theorem: The label of the theorem or proof page that it rests on.
        worst_case: The user-level DP that holds as well, for a user whose whole data change; None where nothing
            better is known than alpha times the diameter (docs/proofs/worst-case.md).

    >>> g = Guarantee(Emd(121, model="central"), "knorm", "lemma:lin", UserLevel("1.06", model="central"))
    >>> print(g)
    (α=121, δ=0)-unbounded EMD-DP (central) by knorm [lemma:lin];
    worst case (ε=1.06, δ=0)-unbounded user-level DP (central)
    >>> g.epsilon_at("1/2")  # 60.5 by alpha * w, but never more than the worst case
    1.06
    """

    definition: Definition
    method: str
    theorem: str
    worst_case: UserLevel | None = None

    @property
    def alpha(self) -> Fraction | None:
        """The alpha of EMD-DP; None where the definition is another one."""
        return self.definition.alpha if isinstance(self.definition, Emd) else None

    @property
    def delta(self) -> Fraction:
        """The delta of the definition, exact."""
        delta: Fraction = self.definition.parameters["delta"]
        return delta

    def epsilon_at(self, w: str | float) -> float:
        """The epsilon at EMD ``w``: the definition's, or the worst case's where that is smaller at no larger delta."""
        value = self.definition.epsilon_at(w)
        worst = self.worst_case
        if worst is None or worst.delta_at(w) > self.definition.delta_at(w):
            return value
        return min(value, worst.epsilon_at(w))

    def to_json(self) -> dict[str, object]:
        """Plain data that :func:`guarantee_from_json` reads back.

        >>> Guarantee(UserLevel(1), "laplace", "lem:lap-freq").to_json()["theorem"]
        'lem:lap-freq'
        """
        return {
            "definition": self.definition.to_json(),
            "method": self.method,
            "theorem": self.theorem,
            "worst_case": None if self.worst_case is None else self.worst_case.to_json(),
        }

    def __str__(self) -> str:
        text = f"{self.definition} by {self.method} [{self.theorem}]"
        return text if self.worst_case is None else f"{text}; worst case {self.worst_case}"


def definition_from_json(data: Mapping[str, Any]) -> Definition:
    """The definition that ``data`` describes.

    >>> definition_from_json(Emd(25, model="local").to_json()) == Emd(25, model="local")
    True
    """
    rest = plain_table(data, "The definition")
    kind = _DEFINITIONS.get(str(rest.pop("definition", None)))
    if kind is None:
        raise ParameterError(
            f"The definition {data.get('definition')!r} is not known.",
            allowed=", ".join(_DEFINITIONS),
            fix="install the version of barrow that wrote it",
        )
    with reading(f"The {kind.__name__} definition", fix="install the version of barrow that wrote it"):
        return kind(**rest)


def guarantee_from_json(data: Mapping[str, Any]) -> Guarantee:
    """The guarantee that ``data`` describes.

    >>> g = Guarantee(UserLevel(1), "laplace", "lem:lap-freq")
    >>> guarantee_from_json(g.to_json()) == g
    True
    """
    data = plain_table(data, "The guarantee")
    worst = data.get("worst_case")
    parsed = None if worst is None else definition_from_json(worst)
    if parsed is not None and not isinstance(parsed, UserLevel):
        raise ParameterError("The worst case is not user-level DP.", allowed="UserLevel or nothing", fix="omit it")
    with reading("The guarantee"):
        return Guarantee(definition_from_json(data["definition"]), str(data["method"]), str(data["theorem"]), parsed)


@dataclass(frozen=True)
class Conversion:
    """An implied definition and the label of the statement that implies it.

    >>> to_user_level(Emd(3, model="local")).theorem
    'sec:interpret'
    """

    definition: Definition
    theorem: str


def to_user_level(definition: Definition, *, largest_distance: Exact = 1) -> Conversion:
    """The user-level DP that a definition implies (d_max translation of Section 8; group privacy if discrete).

    No EMD between the data of two users exceeds ``largest_distance``, at most 1 (the normalised diameter).

    >>> print(to_user_level(Emd(25, "1e-12", model="central")).definition)
    (ε=25, δ=1e-12)-unbounded user-level DP (central)
    >>> print(to_user_level(DiscreteEmd("0.2", 0, radius="0.3", model="local")).definition)
    (ε=0.8, δ=0)-unbounded user-level DP (local)
    """
    implied = definition.user_level(share(largest_distance, "largest_distance"))
    if definition.distance == "user":
        return Conversion(implied, definition.label)
    return Conversion(implied, "sec:interpret" if definition.radius is None else "ref:group")


def to_emd(definition: UserLevel, *, items: int, least_distance: Exact) -> Conversion:
    """The bounded EMD-DP that user-level DP implies for ``items`` items per user (d_min translation of Section 8).

    Two different data sets of m items are at least d_min/m apart (``lem:bvn``), so alpha = epsilon m/d_min. Without
    a public size there is no least EMD, and no alpha: then use :func:`to_discrete`.

    >>> to_emd(UserLevel(1, model="central"), items=10, least_distance="0.05").definition.alpha
    Fraction(200, 1)
    """
    d_min = share(least_distance, "least_distance")
    implied = Emd(
        definition.epsilon * whole(items, "items") / d_min, definition.delta, model=definition.model, bounded=True
    )
    return Conversion(implied, "sec:interpret")


def to_discrete(definition: Definition, *, radius: Exact) -> Conversion:
    """The discrete EMD-DP of a given radius that a definition implies.

    >>> to_discrete(Emd(25, model="central"), radius="0.01").definition.epsilon
    Fraction(1, 4)
    >>> to_discrete(DiscreteEmd(1, 0, radius="0.1", model="central"), radius="0.25").definition.epsilon
    Fraction(3, 1)
    """
    implied = definition.discrete(share(radius, "radius"))
    by_group = definition.radius is not None and implied.epsilon != definition.loss
    return Conversion(implied, "ref:group" if by_group else implied.label)


def to_bounded(definition: Definition) -> Conversion:
    """The same numbers for data sets of one size: fewer pairs of neighbours, so nothing is lost.

    >>> to_bounded(Emd(25, model="local")).definition.bounded
    True
    """
    return Conversion(replace(definition, bounded=True), definition.label)


def to_model_of(definition: Definition, model: str) -> Conversion:
    """The same numbers in a model of more trust: local implies shuffle implies aggregated implies central.

    Users add their noise independently, so when one user's data change only that user's report does.

    >>> to_model_of(Emd(25, model="local"), "central").definition.model.value
    'central'
    """
    order = list(Model)
    target = to_model(model)
    if order.index(target) < order.index(definition.model):
        raise ParameterError(
            f"A {definition.model.value} guarantee says nothing in the {target.value} model.",
            allowed="local to shuffle to aggregated to central",
            fix=f"model={definition.model.value!r}",
        )
    return Conversion(replace(definition, model=target), "docs/proofs/definitions.md")


def emd_rate_from(definition: DiscreteEmd) -> Fraction:
    """2 epsilon/r: at every w >= r the epsilon of group privacy is at most this times w (remark after ``ref:group``).

    It is a reading, not a definition: below r the epsilon stays at epsilon, so no alpha holds at every w.

    >>> emd_rate_from(DiscreteEmd("0.2", 0, radius="0.01"))
    Fraction(40, 1)
    """
    return 2 * definition.epsilon / definition.radius


def item_to_emd(definition: ItemMetric, *, items: int, model: str = Model.LOCAL) -> Conversion:
    """Bounded EMD-DP of releasing all ``items`` outputs of an item randomiser, by composition: (alpha0 m, delta0 m).

    sum_i alpha0 d(x_i, x'_i) = alpha0 m w along the best matching (``lem:bvn``), and deltas add; no smaller delta is
    true of all randomisers (docs/proofs/approximate.md).

    >>> item_to_emd(ItemMetric("0.025"), items=1000).definition.alpha
    Fraction(25, 1)
    >>> item_to_emd(ItemMetric("0.025", "1e-15"), items=1000).definition.delta == Fraction(1, 10**12)
    True
    """
    count = whole(items, "items")
    slack = definition.delta * count
    if slack >= 1:
        raise ParameterError(
            f"The item randomiser has delta = {float(definition.delta):g}, and {count:,} items.",
            allowed="a delta below 1/items",
            fix="a randomiser with a smaller delta",
        )
    return Conversion(Emd(definition.alpha * count, slack, model=to_model(model), bounded=True), "lem:bvn")
