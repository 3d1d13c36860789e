"""Audits of a real release by drawing from it: what is surely too likely, with Clopper-Pearson bounds.

To see a privacy loss of epsilon takes about e^epsilon draws, so sampling is blind beyond epsilon = 3: there the exact
audits on tiny spaces have to do. Half of the draws choose an event that tells the two data sets apart, the other half
judge it, so that the choice costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, float_up
from barrow.promises import Guarantee
from barrow.spaces.space import Floats

MOST_EPSILON = 3.0
"""At a larger allowed privacy loss sampling sees next to nothing."""
_CUTS = 40


@dataclass(frozen=True)
class SampledFinding:
    """What sampling shows about one pair of neighbouring data sets.

    Attributes:
        epsilon: What the guarantee allows at the pair's distance.
        delta: The same.
        seen_lower: The privacy loss that the draws prove, with the stated confidence; 0 if they prove none.
        draws: How many draws of each data set there were.
        confidence: With what probability a release that keeps its guarantee is not blamed.
        passed: Whether the draws prove nothing beyond the guarantee.
        informative: Whether the allowed loss is small enough for sampling to see a violation.

    >>> SampledFinding(1.0, 0.0, 0.4, 1000, 0.999, True, True).passed
    True
    """

    epsilon: float
    delta: float
    seen_lower: float
    draws: int
    confidence: float
    passed: bool
    informative: bool

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


def audit_mechanism(
    draw: Callable[[Any], Any],
    guarantee: Guarantee,
    one: Any,
    other: Any,
    *,
    distance: Exact,
    draws: int = 4000,
    confidence: float = 0.9999,
) -> SampledFinding:
    """Draws a release of two neighbouring data sets many times, and looks for an event that tells them apart too well.

    Args:
        draw: Draws the release of a data set: a number or a vector of numbers. It is run 2 ``draws`` times.
        guarantee: What is promised.
        one: A data set.
        other: A neighbouring one.
        distance: Their earth mover's distance (of the one user who differs), rounded up.
        draws: How often each is drawn.
        confidence: A release that keeps its guarantee fails with at most the rest of the probability.

    >>> from barrow.accounting import price
    >>> from barrow.mechanisms import UserCounts, linear_noise
    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> line = Line(0, 10, step=1)
    >>> query = mean(line)
    >>> noise = linear_noise(query, 2, users=1)
    >>> def draw(user):
    ...     return noise.draw(UserCounts.of_users(line, [user]).center(query)).values
    >>> result = audit_mechanism(draw, price(noise.event), [0], [9], distance="9/10", draws=400)
    >>> result.passed, result.informative
    (True, True)
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 100:
        raise ParameterError(f"draws is {draws!r}.", allowed="a whole number, 100 or more", fix="draws=4000")
    w = float_up(exact(distance, "distance"))
    epsilon, delta = guarantee.epsilon_at(w), guarantee.definition.delta_at(w)
    samples = [np.array([np.ravel(draw(data)) for _ in range(draws)], dtype=np.float64) for data in (one, other)]
    half = draws // 2
    seen, broken = 0.0, False
    for a, b in ((0, 1), (1, 0)):
        statistic = _direction(samples[a][:half], samples[b][:half])
        first, second = statistic(samples[a]), statistic(samples[b])
        cut = _best_cut(first[:half], second[:half], epsilon, delta)
        hits = int((first[half:] >= cut).sum()), int((second[half:] >= cut).sum())
        error = (1.0 - confidence) / 4.0
        low = _lower(hits[0], draws - half, error)
        high = 1.0 - _lower(draws - half - hits[1], draws - half, error)
        if low > delta:
            seen = max(seen, math.log((low - delta) / high))
        broken |= low > math.exp(min(epsilon, 700.0)) * high + delta
    return SampledFinding(epsilon, delta, seen, draws, confidence, not broken, epsilon <= MOST_EPSILON)


def _direction(one: Floats, other: Floats) -> Callable[[Floats], Floats]:
    """The projection that separates the means best, each output in units of its spread."""
    spread = np.maximum(np.median(np.abs(other - np.median(other, axis=0)), axis=0), 1e-300)
    along = (np.median(one, axis=0) - np.median(other, axis=0)) / spread**2
    if not along.any():
        along = (one.mean(axis=0) - other.mean(axis=0)) / spread**2
    return lambda values: np.asarray(values @ along)


def _best_cut(one: Floats, other: Floats, epsilon: float, delta: float) -> float:
    """The threshold whose event is the most telling on the first half of the draws."""
    cuts = np.quantile(np.concatenate([one, other]), np.linspace(0.5 / _CUTS, 1.0 - 0.5 / _CUTS, _CUTS))
    best, chosen = -math.inf, float(cuts[0])
    for cut in cuts.tolist():
        p, q = float((one >= cut).mean()), float((other >= cut).mean())
        # How many standard deviations the first is above what the second allows.
        grown = math.exp(min(epsilon, 20.0))
        excess = p - grown * q - delta
        deviation = math.sqrt((p * (1 - p) + grown**2 * q * (1 - q) + 1e-9) / len(one))
        if excess / deviation > best:
            best, chosen = excess / deviation, cut
    return chosen


def _lower(hits: int, trials: int, error: float) -> float:
    """The Clopper-Pearson lower bound of a probability: it is above it with probability at most ``error``."""
    return 0.0 if hits == 0 else float(heavy.special.betaincinv(hits, trials - hits + 1, error))
