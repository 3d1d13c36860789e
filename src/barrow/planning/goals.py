"""Promises as goals of the reduction: an epsilon for every radius; and how a study asks for sampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact_text
from barrow.policy import Policy
from barrow.privacy.definitions import positive, share

MOST_SAMPLES = 10**7


@dataclass(frozen=True)
class Goal:
    """Changes up to an EMD of ``radius`` are to be protected at ``epsilon``.

    Args:
        radius: r in (0, 1], as a share of the space's diameter.
        epsilon: The largest acceptable epsilon.

    >>> Goal("0.008", "0.2").alpha
    Fraction(25, 1)
    """

    radius: Fraction
    epsilon: Fraction

    def __init__(self, radius: Exact, epsilon: Exact) -> None:
        object.__setattr__(self, "radius", share(radius, "radius"))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))

    @property
    def alpha(self) -> Fraction:
        """epsilon/radius: the alpha that would keep it if everybody held equally many items."""
        return self.epsilon / self.radius


def goals_of(policy: Policy, *, part: Exact = 1) -> tuple[Goal, ...]:
    """One goal for each promise of a policy, snapping included.

    Args:
        policy: The promises.
        part: The share of each epsilon that this release may take.

    >>> from barrow.spaces import Discrete
    >>> goals_of(Policy(Discrete(["a", "b"]), ["1/10, 1, 0.5", "all, 1, 3"]))
    (Goal(radius=Fraction(1, 10), epsilon=Fraction(1, 2)), Goal(radius=Fraction(1, 1), epsilon=Fraction(3, 1)))
    """
    whole = share(part, "part")
    return tuple(Goal(kept.emd, kept.promise.epsilon * whole) for kept in policy.kept)


def goals_for(
    policy: Policy | None, *, alpha: Exact | None = None, radius: Exact | None = None, part: Exact = 1
) -> tuple[Goal, ...]:
    """The goals of a study: one for each promise, or alpha times the radius at the radius that it names.

    Args:
        policy: The promises, if the study makes some.
        alpha: Its alpha, if it gives one instead.
        radius: The radius of sampling; needed with alpha, because no alpha holds at every distance (``sec:reduct``).
        part: The share of the promises that this release may take.

    >>> goals_for(None, alpha=25, radius="0.01")
    (Goal(radius=Fraction(1, 100), epsilon=Fraction(1, 4)),)
    """
    if policy is not None:
        return goals_of(policy, part=part)
    if radius is None or alpha is None:
        raise ParameterError(
            "Sampling protects changes up to a radius, and the study names neither promises nor a radius.",
            allowed="promises (share, distance, epsilon), or alpha with a radius in (0, 1] of the diameter",
            fix='[query]\nradius = "0.01", or a [[promise]] table instead of alpha',
        )
    place = share(radius, "radius")
    return (Goal(place, positive(alpha, "alpha") * place * share(part, "part")),)


@dataclass(frozen=True)
class Sampling:
    """How many items are drawn from each person, and where the release's own guarantee is stated.

    Args:
        samples: s.
        radius: r in (0, 1] of the diameter; None for that of the promise that binds.

    >>> Sampling(200).to_spec()
    {'samples': 200}
    """

    samples: int
    radius: Fraction | None = None

    def __post_init__(self) -> None:
        checked_samples(self.samples)
        if self.radius is not None:
            share(self.radius, "radius")

    def to_spec(self) -> dict[str, Any]:
        """The keys of the study's ``[query]`` table."""
        placed = {} if self.radius is None else {"radius": exact_text(self.radius)}
        return {"samples": self.samples, **placed}


def sampling_of(query: Mapping[str, Any]) -> tuple[dict[str, Any], Sampling | None]:
    """A study's ``[query]`` table without ``samples`` and ``radius``, with ``items = samples``, and what they say.

    >>> sampling_of({"kind": "items", "samples": 200, "radius": "0.01"})
    ({'kind': 'items', 'items': 200}, Sampling(samples=200, radius=Fraction(1, 100)))
    >>> sampling_of({"kind": "items", "items": 30})
    ({'kind': 'items', 'items': 30}, None)
    >>> sampling_of({"kind": "items", "items": 30, "samples": 200})
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The query gives items = 30 and samples = 200.
      allowed: items (everybody holds exactly so many), or samples (so many are drawn from each person)
      fix:     remove items
    """
    rest = {key: value for key, value in query.items() if key not in ("samples", "radius")}
    if "samples" not in query:
        if "radius" in query:
            raise ParameterError(
                "The query gives a radius, but no samples.",
                allowed="samples, and radius beside it",
                fix="samples = 1000, or remove radius",
            )
        return rest, None
    if "items" in query:
        raise ParameterError(
            f"The query gives items = {query['items']} and samples = {query['samples']}.",
            allowed="items (everybody holds exactly so many), or samples (so many are drawn from each person)",
            fix="remove items",
        )
    radius = None if query.get("radius") is None else share(query["radius"], "radius")
    asked = Sampling(checked_samples(query["samples"]), radius)
    return {**rest, "items": asked.samples}, asked


def checked_goals(goals: Policy | Sequence[Goal]) -> tuple[Goal, ...]:
    """The goals of a policy, or goals as they are; at least one.

    >>> len(checked_goals([Goal("0.1", 1)]))
    1
    """
    found = goals_of(goals) if isinstance(goals, Policy) else tuple(goals)
    if not found or not all(isinstance(goal, Goal) for goal in found):
        raise ParameterError(
            "There are no promises to keep.",
            allowed="a policy, or at least one goal",
            fix='Policy(space, ["1/30, 1000 mi, 0.2"]), or [Goal("0.01", "0.2")]',
        )
    return found


def checked_samples(samples: object) -> int:
    """A number of samples, from 1 to 10^7.

    >>> checked_samples(200)
    200
    """
    if isinstance(samples, bool) or not isinstance(samples, int) or not 1 <= samples <= MOST_SAMPLES:
        raise ParameterError(
            f"samples is {samples!r}.",
            allowed=f"a whole number from 1 to {MOST_SAMPLES:,}: how many items are drawn from each person",
            fix="samples = 1000",
        )
    return samples
