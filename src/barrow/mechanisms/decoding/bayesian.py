"""The iterative Bayesian update: the histogram that makes the reports likeliest, by expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.mechanisms.channel import Channel
from barrow.spaces.base import Floats

GAP = 0.1
"""The update stops when no histogram is more than e^0.1 times as likely."""
MOST_UPDATES = 2000


@dataclass(frozen=True, eq=False)
class BayesianFit:
    """A histogram of nearly the largest likelihood, and how near.

    Attributes:
        histogram: The fitted histogram.
        updates: How many updates were made.
        log_likelihoods: The logarithm of the likelihood before each update and after the last; it never falls.
        gap_upper: No histogram has a log-likelihood larger than the last one by more than this.

    >>> from barrow.mechanisms.channel import MatrixChannel
    >>> fit = bayesian_update(MatrixChannel(np.array([[0.75, 0.25], [0.25, 0.75]])), [3, 1])
    >>> fit.histogram.round(2).tolist(), fit.gap_upper <= GAP
    ([0.87, 0.13], True)
    """

    histogram: Floats
    updates: int
    log_likelihoods: tuple[float, ...]
    gap_upper: float


def bayesian_update(
    channel: Channel, counts: ArrayLike, *, gap: float = GAP, most_updates: int = MOST_UPDATES
) -> BayesianFit:
    """Fits a histogram to counts of reports: each update re-weighs items by how well they explain the reports.

    It starts from the even histogram. The log-likelihood is concave, so the best histogram is above the present one by
    at most N (max_x g_x - 1), with g the factors of the next update (docs/proofs/frequency.md): the updates stop when
    that is at most ``gap``, or after ``most_updates``.

    Args:
        channel: The randomiser as a linear map.
        counts: How often each report occurs.
        gap: The largest loss of log-likelihood at which to stop.
        most_updates: The most updates.

    >>> from barrow.mechanisms.channel import channel_of
    >>> from barrow.randomisers import gkrr
    >>> from barrow.spaces import Clustered
    >>> bayesian_update(channel_of(gkrr(Clustered.grid(2, 2, r=0.1), 20)), [70, 10, 10, 10]).histogram.round(2).tolist()
    [0.79, 0.01, 0.1, 0.1]
    """
    reports = np.asarray(counts, dtype=np.float64)
    if reports.shape != (channel.reports,) or not (reports >= 0).all() or not np.isfinite(reports).all():
        raise ParameterError(
            "The counts are not one number for each report.",
            allowed=f"{channel.reports} numbers of 0 or more",
            fix="the counts of an item-wise release",
        )
    total = float(reports.sum())
    if total <= 0.0:
        raise ParameterError("There are no reports.", allowed="at least one report", fix="check the counts")
    some = np.flatnonzero(reports)
    shares = reports[some] / total
    law = np.full(channel.items, 1.0 / channel.items)
    found: list[float] = []
    ratio = np.zeros(channel.reports)
    left = np.inf
    for updates in range(most_updates + 1):
        expected = channel.forward(law)[some]
        found.append(float(total * (shares * np.log(expected)).sum()))
        ratio[some] = shares / expected
        factors = channel.backward(ratio)
        left = total * max(0.0, float(factors.max()) - 1.0)
        if left <= gap or updates == most_updates:
            break
        law = law * factors
        law /= law.sum()
    return BayesianFit(law, updates, tuple(found), left)
