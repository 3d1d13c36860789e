"""The one simulator of errors: noise as a release has it, from a seeded source, decoded, measured in EMD, and snapping.

Everything in it is public: the truth is a reference distribution, so that equal arguments give equal numbers. What is
predicted is the distance from the *raw* records, which nothing has snapped to a grid (docs/proofs/snapping.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from barrow.noise.simulation import SeededSource
from barrow.numerics import whole
from barrow.progress import track
from barrow.spaces import Space
from barrow.spaces.base import Floats
from barrow.transport import measure_of

_SEED = 20241014
_DRAWS, _FEW_DRAWS, _MANY_ITEMS, _HUGE = 8, 4, 500, 2000
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
        mean: The mean EMD from raw records, in the space's units.
        standard_error: Of that mean.
        draws: How many releases were simulated.
        method: How the EMD was measured, see :func:`barrow.transport.measure_of`.
        decoded: The mean EMD from snapped records: noise and decoding without snapping.

    >>> Simulated(0.01, 0.001, 12, "exact", 0.01).mean
    0.01
    """

    mean: float
    standard_error: float
    draws: int
    method: str
    decoded: float


def raw_error(decoded: float, snapping: float) -> float:
    """About how far a histogram is from raw records that is ``decoded`` off from the snapped ones.

    It is at least what snapping moves and what is left of the error without it, and at most their sum: where cells are
    full of records both act across each other, and neither is far larger (docs/proofs/snapping.md).

    >>> raw_error(3.0, 4.0)
    5.0
    """
    return math.hypot(decoded, snapping)


def simulate(made: Simulable, reference: Floats, draws: int | None = None) -> Simulated:
    """The mean EMD between raw records that follow ``reference`` and what ``made`` would release about them.

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
    space, measure = made.space, measure_of(made.space)
    default = _DRAWS if space.items < _MANY_ITEMS else _FEW_DRAWS if space.items <= _HUGE else 2
    count = default if draws is None else whole(draws, "draws", least=1, most=10_000)
    source, moved = SeededSource(_SEED), float(reference @ space.snapping_means)
    decoded = [
        measure.distance(made.simulated(reference, source) - reference)
        for _ in track(range(count), "simulating releases")
    ]
    errors = [raw_error(error, moved) for error in decoded]
    spread = float(np.std(errors, ddof=1)) / count**0.5 if count > 1 else float("nan")
    size = space.diameter
    return Simulated(
        float(np.mean(errors)) * size, spread * size, count, measure.method, float(np.mean(decoded)) * size
    )
