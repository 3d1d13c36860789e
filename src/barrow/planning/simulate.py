"""The one simulator of decoded errors: noise as a release has it, from a seeded source, decoded, and measured in EMD.

Everything in it is public: the truth is a reference distribution, so that equal arguments give equal numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from barrow.mechanisms.pyramid_errors import signed_distance
from barrow.noise.simulation import SeededSource
from barrow.numerics import whole
from barrow.progress import track
from barrow.spaces import Space
from barrow.spaces.base import Floats

_SEED = 20241014
_DRAWS, _FEW_DRAWS, _MANY_ITEMS, _HUGE = 12, 4, 500, 20_000
"""Errors of many items average out, so that few draws are enough."""


class Simulable(Protocol):
    """What can be simulated: a mechanism that gives histograms."""

    @property
    def space(self) -> Space:
        """The public space."""

    def simulated(self, reference: Floats, source: SeededSource) -> Floats:
        """One decoded histogram, if everybody's items followed ``reference``."""


@dataclass(frozen=True)
class Simulated:
    """A simulated error.

    Attributes:
        mean: The mean EMD, in the space's units.
        standard_error: Of that mean.
        draws: How many releases were simulated.
        method: How the EMD was computed: ``"exact"``, or which bound.

    >>> Simulated(0.01, 0.001, 12, "exact").mean
    0.01
    """

    mean: float
    standard_error: float
    draws: int
    method: str


def simulate(made: Simulable, reference: Floats, draws: int | None = None) -> Simulated:
    """The mean EMD between ``reference`` and what ``made`` would release if it were the truth.

    Args:
        made: The mechanism.
        reference: A public distribution, see :func:`barrow.planning.reference_distribution`.
        draws: How many releases to simulate; fewer for large spaces by default.

    >>> from barrow.mechanisms.histograms import histogram_noise
    >>> from barrow.spaces import Clustered
    >>> made = histogram_noise(Clustered.grid(5, 4, r=0.02), "tree", 25, users=1000)
    >>> 0.0 < simulate(made, np.full(20, 0.05)).mean < 0.01
    True
    """
    space = made.space
    default = _DRAWS if space.items < _MANY_ITEMS else _FEW_DRAWS if space.items <= _HUGE else 1
    count = default if draws is None else whole(draws, "draws", least=1, most=10_000)
    source, errors, method = SeededSource(_SEED), [], "exact"
    for _ in track(range(count), "simulating releases"):
        error, method = signed_distance(space, made.simulated(reference, source) - reference)
        errors.append(error * space.diameter)
    spread = float(np.std(errors, ddof=1)) / count**0.5 if count > 1 else float("nan")
    return Simulated(float(np.mean(errors)), spread, count, method)
