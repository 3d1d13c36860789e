"""A guarantee: a definition with its numbers, the theorem behind it, and the worst case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barrow.errors import ParameterError, plain_table, reading
from barrow.privacy.definitions import Definition, DiscreteEmd, Emd, ItemMetric, UserLevel

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
