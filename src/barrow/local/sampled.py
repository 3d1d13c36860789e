"""Item-wise studies of people who hold any number of items: each client draws s of them before it randomises.

How many items a person holds is hidden. The report is one on exactly s items, so that servers need not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from barrow.accounting import price
from barrow.local.items import ItemStudy
from barrow.local.plain import check_kind
from barrow.mechanisms import ItemReports, Reduced, item_wise, reduced
from barrow.numerics import Exact, exact_text
from barrow.planning import Goal, ReductionChoice, choose_reduction
from barrow.policy import Policy
from barrow.privacy import Guarantee
from barrow.privacy.definitions import probability
from barrow.spaces import Space, space_from_spec
from barrow.spaces.base import Ids

SAMPLED_STUDY_VERSION = 1
_KIND = "sampled item study"
_KEYS = {"barrow", "version", "space", "randomiser", "samples", "radius", "users", "model", "delta", "goals"}


class SampledStudy(ItemStudy):
    """What everybody in an item-wise study agrees on whose people hold any number of items; all public.

    Args:
        space: The space of items.
        goals: A policy, or goals: an epsilon for changes up to each radius.
        delta: The probability with which they may fail.
        samples: s, how many items each client draws, with replacement, and reports on.
        radius: Where the guarantee is stated; that of the goal that binds by default.
        model: ``"local"`` or ``"shuffle"``.
        users: n, for the shuffle model.
        randomiser: A kind or plain data; the one that suits the space by default.

    >>> from barrow.spaces import Discrete
    >>> study = SampledStudy(Discrete(["a", "b"]), [Goal("0.1", 3)], "1e-6", samples=40)
    >>> study.guarantee.definition.radius, study.mechanism.items
    (Fraction(1, 10), 40)
    >>> sampled_study_from_json(study.to_json()).digest == study.digest
    True
    """

    choice: ReductionChoice

    def __init__(
        self,
        space: Space,
        goals: Policy | Sequence[Goal],
        delta: Exact,
        *,
        samples: int,
        radius: Exact | None = None,
        model: str = "local",
        users: int | None = None,
        randomiser: Mapping[str, Any] | str | None = None,
    ) -> None:
        self._check_model(model)
        n = users if model == "shuffle" else None
        found = choose_reduction(
            space, goals, delta, samples=samples, users=n, model=model, radius=radius, randomiser=randomiser
        )
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "delta", probability(delta))
        object.__setattr__(self, "alpha", min(goal.alpha for goal in found.goals))
        object.__setattr__(self, "choice", found)
        object.__setattr__(self, "_randomiser", randomiser)

    @property
    def reduced(self) -> Reduced:
        """What each client draws: s items, and a report on them."""
        return self.choice.mechanism

    def randomise(self, items: Ids) -> ItemReports:
        """The reports of one person, who may hold any number of items; none stands for the public default item."""
        return self.reduced.randomise(items)

    def guarantee_for(self, users: int) -> Guarantee:
        """What holds if the reports of ``users`` people are mixed, and not of as many as was planned."""
        made = self.mechanism
        here = item_wise(made.randomiser, items=made.items, users=users, model="shuffle", delta=made.delta)
        return price(reduced(here, radius=self.reduced.radius, delta=self.delta).event)

    @property
    def _asked(self) -> tuple[str, str]:
        asked = ", ".join(
            f"epsilon {float(goal.epsilon):.6g} up to {float(goal.radius):.6g}" for goal in self.choice.goals
        )
        items = self.mechanism.items
        return (
            f"that each person draws {items:,} items with replacement; how many a person holds is hidden",
            f"the goals ({asked} of the diameter, as the average move of all data) and delta = {float(self.delta):.6g}",
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data that :func:`sampled_study_from_json` reads back."""
        made = self.mechanism
        return {
            "barrow": _KIND,
            "version": SAMPLED_STUDY_VERSION,
            "space": self.space.to_spec(),
            "randomiser": self._randomiser_spec,
            "samples": made.items,
            "radius": None if self.reduced.radius is None else exact_text(self.reduced.radius),
            "users": made.users,
            "model": made.model.value,
            "delta": exact_text(self.delta),
            "goals": [[exact_text(goal.radius), exact_text(goal.epsilon)] for goal in self.choice.goals],
        }


def sampled_study_from_json(data: Mapping[str, Any]) -> SampledStudy:
    """The study that plain data describe.

    >>> sampled_study_from_json({"barrow": "something else"})
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: This is not a sampled item study of version 1.
      allowed: exactly the keys barrow, delta, goals, model, radius, randomiser, samples, space, users, version
      fix:     write it with SampledStudy(...).to_json()
    """
    check_kind(data, _KIND, SAMPLED_STUDY_VERSION, _KEYS, "SampledStudy")
    return SampledStudy(
        space_from_spec(data["space"]),
        [Goal(radius, epsilon) for radius, epsilon in data["goals"]],
        data["delta"],
        samples=data["samples"],
        radius=data["radius"],
        users=data["users"],
        model=data["model"],
        randomiser=data["randomiser"],
    )
