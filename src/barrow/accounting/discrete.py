"""Group privacy in steps of a radius: Fact ``ref:group`` with the exact sum (docs/proofs/group-privacy.md)."""

from __future__ import annotations

from dataclasses import dataclass

from barrow.numerics import Exact
from barrow.privacy import DiscreteEmd, group_delta_upper
from barrow.privacy.definitions import share


@dataclass(frozen=True)
class GroupPrivacy:
    """What discrete EMD-DP says at a distance: (epsilon, delta), rounded up, after ``steps`` steps.

    >>> group_privacy_upper(DiscreteEmd(1, 0, radius="0.1", model="central"), "0.25").steps
    3
    """

    steps: int
    epsilon: float
    delta: float


def group_privacy_upper(definition: DiscreteEmd, distance: Exact) -> GroupPrivacy:
    """After j steps: epsilon j and delta (e^(j epsilon) - 1)/(e^epsilon - 1), with j = ceil(distance/r).

    >>> group_privacy_upper(DiscreteEmd("0.2", "1e-12", radius="0.01"), "0.025")
    GroupPrivacy(steps=3, epsilon=0.6000000000000001, delta=3.713227455801455e-12)
    """
    w = share(distance, "distance")
    steps = definition.steps_at(w)
    delta = group_delta_upper(definition.epsilon, definition.delta, steps)
    return GroupPrivacy(steps, definition.epsilon_at(w), delta)
