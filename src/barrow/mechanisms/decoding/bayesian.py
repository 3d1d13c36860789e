"""The iterative Bayesian update (accelerated expectation maximisation): the histogram that makes reports likeliest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.mechanisms.channel import Channel
from barrow.spaces.space import Floats

GAP = 0.1
"""The updates stop when no histogram is more than e^0.1 times as likely."""
MOST_UPDATES = 2000
_SHRINK = 0.01
"""A leap leaves every item at least this part of what the plain updates gave it: what is 0 would stay 0 for ever."""


@dataclass(frozen=True, eq=False)
class BayesianFit:
    """A histogram of nearly the largest likelihood, and how near.

    Attributes:
        histogram: The fitted histogram.
        updates: How many updates were made.
        log_likelihoods: The logarithm of the likelihood at the start and after every two updates; it never falls.
        gap_upper: No histogram has a log-likelihood larger than the last one by more than this.
    """

    histogram: Floats
    updates: int
    log_likelihoods: tuple[float, ...]
    gap_upper: float


def bayesian_update(
    channel: Channel,
    counts: ArrayLike,
    *,
    start: ArrayLike | None = None,
    gap: float = GAP,
    most_updates: int = MOST_UPDATES,
) -> BayesianFit:
    """Fits a histogram to counts of reports: each update re-weighs items by how well they explain the reports.

    Two updates are followed by a leap along their trend (Varadhan and Roland, 2008), which is taken back unless it
    makes the reports likelier. The log-likelihood is concave, so the best histogram is above the present one by at most
    N (max_x g_x - 1), with g the factors of the next update (docs/proofs/frequency.md): updates stop when that is at
    most ``gap``, or after ``most_updates``.

    It begins at ``start``, a histogram without zeros (the uniform one by default).
    """
    reports = np.asarray(counts, dtype=np.float64)
    if reports.shape != (channel.reports,) or not (reports >= 0).all() or not np.isfinite(reports).all():
        raise ParameterError(
            "The counts are not one number for each report.",
            allowed=f"{channel.reports} numbers of 0 or more",
            fix="the counts of an item-wise release",
        )
    if not reports.any():
        raise ParameterError("There are no reports.", allowed="at least one report", fix="check the counts")
    fit = _Likelihood(channel, reports)
    histogram = np.full(channel.items, 1.0 / channel.items) if start is None else _positive(start, channel.items)
    here = fit.at(histogram)
    results, updates = [here.value], 0
    while fit.gap(here) > gap and updates < most_updates:
        one = fit.at(here.updated)
        two = fit.at(one.updated)
        updates += 2
        leap = fit.at(_leap(here.histogram, one.histogram, two.histogram))
        here = leap if leap.value >= two.value else two
        results.append(here.value)
    return BayesianFit(here.histogram, updates, tuple(results), fit.gap(here))


@dataclass(frozen=True, eq=False)
class _Iterate:
    """A histogram, its log-likelihood, and the factors of its update."""

    histogram: Floats
    value: float
    factors: Floats

    @property
    def updated(self) -> Floats:
        grown = self.histogram * self.factors
        return np.asarray(grown / grown.sum())


class _Likelihood:
    def __init__(self, channel: Channel, reports: Floats) -> None:
        self._channel, self._total = channel, float(reports.sum())
        self._some = np.flatnonzero(reports)
        self._shares = reports[self._some] / self._total
        if not (channel.forward(np.full(channel.items, 1.0 / channel.items))[self._some] > 0.0).all():
            raise ParameterError(
                "Some reports are impossible with this randomiser.",
                allowed="reports that some item can give",
                fix="check that the counts are in the order of the randomiser's labels",
            )

    def at(self, histogram: Floats) -> _Iterate:
        expected = self._channel.forward(histogram)[self._some]
        ratio = np.zeros(self._channel.reports)
        ratio[self._some] = self._shares / expected
        value = self._total * float((self._shares * np.log(expected)).sum())
        return _Iterate(histogram, value, self._channel.backward(ratio))

    def gap(self, point: _Iterate) -> float:
        return self._total * max(0.0, float(point.factors.max()) - 1.0)


def _leap(zero: Floats, one: Floats, two: Floats) -> Floats:
    """Beyond two updates along their trend: zero + 2 s (one - zero) + s^2 (their change), with s = |step|/|change|."""
    step, change = one - zero, two - 2.0 * one + zero
    size = float(np.sqrt((change**2).sum()))
    times = max(1.0, float(np.sqrt((step**2).sum())) / size) if size > 0.0 else 1.0
    far = np.maximum(zero + 2.0 * times * step + times**2 * change, _SHRINK * two)
    return np.asarray(far / far.sum())


def _positive(start: ArrayLike, items: int) -> Floats:
    histogram = np.asarray(start, dtype=np.float64)
    if histogram.shape != (items,) or not (histogram > 0.0).all() or not np.isfinite(histogram).all():
        raise ParameterError(
            "The start is not a histogram without zeros.",
            allowed=f"{items} numbers above 0: an item that starts at 0 stays there",
            fix="0.9 * histogram + 0.1 / items",
        )
    return np.asarray(histogram / histogram.sum())
