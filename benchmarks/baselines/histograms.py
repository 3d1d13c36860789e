"""Histograms under ordinary user-level DP: one small interface for every baseline (docs/user-level.md).

All users hold the same public number m of items. The truth is the mean over users, which is then the pooled histogram.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import DataError, ParameterError
from barrow.mechanisms.additive import AdditiveNoise
from barrow.mechanisms.statistics import UserCounts
from barrow.mechanisms.user_level.noise import axis_candidates
from barrow.mechanisms.user_level.subsets import uniform_subsets
from barrow.noise import RandomSource, exact_multinomials, rounded_gaussian, uniform_below
from barrow.noise.source import checked_source
from barrow.numerics import Exact
from barrow.promises import Model, UserLevelRelease
from barrow.queries import histogram
from barrow.spaces import Space
from benchmarks.baselines.channels import LocalChannel
from benchmarks.baselines.edges import (
    MEAN_ABSOLUTE,
    Edges,
    Floats,
    Integers,
    checked_reference,
    sum_to_one,
)


@dataclass(frozen=True, eq=False)
class HistogramAnswer:
    """An unbiased estimate of the histogram, of sum 1; entries may be negative.

    Attributes:
        values: One number for each item.
        event: What was done.
        private: Whether the randomness was the system's.

    >>> from barrow.spaces import Discrete
    >>> answer = laplace_histogram(Discrete(["a", "b"]), 1, users=3).estimate([[0], [1], [1]])
    >>> answer.values.shape, answer.private
    ((2,), True)
    """

    values: Floats
    event: UserLevelRelease
    private: bool


class HistogramBaseline(ABC):
    """What all histogram baselines have.

    Attributes:
        name: What it is called.
        space: The public space.
        users: n, public.
        event: What it is priced by.
    """

    name: str
    space: Space
    users: int
    event: UserLevelRelease

    @abstractmethod
    def estimate(self, data: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """From the items of all users: n rows of m item ids."""

    @abstractmethod
    def estimate_pooled(self, held: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """From how often each item occurs among all users, where users are not told apart: for simulations.

        Where users draw some of their items for their reports, these are then drawn from the pool with replacement, as
        if users had independent items; otherwise the law is that of :meth:`estimate`.
        """

    @abstractmethod
    def run_variances(self, edges: Edges, reference: Floats) -> Floats:
        """The variance of the estimate's mass on each run of items, if every user's histogram is ``reference``."""

    @property
    def model(self) -> Model:
        """Who adds the noise."""
        return self.event.model

    def variances(self, reference: ArrayLike | None = None) -> Floats:
        """The variance of the estimate of each item.

        >>> from barrow.spaces import Discrete
        >>> result = laplace_histogram(Discrete(["a", "b"]), 1, users=100).variances()
        >>> [round(float(v), 6) for v in result]  # 2 (2/100)^2 and half of it, since the sum is known
        [0.0004, 0.0004]
        """
        k = self.space.items
        return self.run_variances(Edges.of_items(k), checked_reference(reference, k))

    def edge_variances(self, reference: ArrayLike | None = None) -> Floats:
        """The variance on each edge of the space's tree, in the order of ``Edges.of(space)``."""
        return self.run_variances(Edges.of(self.space), checked_reference(reference, self.space.items))

    def predicted_emd(self, reference: ArrayLike | None = None) -> float:
        """The expected EMD between estimate and truth: over edges, length times E|error|, errors taken as normal.

        Args:
            reference: A public guess of the histogram; the even one by default.
        """
        edges = Edges.of(self.space)
        spread = np.sqrt(self.run_variances(edges, checked_reference(reference, self.space.items)))
        return float(edges.lengths @ (self._mean_absolute(edges) * spread))

    def _mean_absolute(self, edges: Edges) -> Floats:
        """E|error| in units of the deviation, on each run."""
        return np.full(len(edges.lengths), MEAN_ABSOLUTE)

    def _rows(self, data: ArrayLike) -> Integers:
        result = np.asarray(data)
        if result.ndim != 2 or len(result) != self.users or result.shape[1] < 1 or result.dtype.kind not in "iu":
            raise DataError(
                "The data are not rows of item ids, one row of the same length for each of the public users.",
                allowed="a table of users x items",
                fix="numpy.array([[0, 1], [1, 1]]) for two users with two items each",
            )
        return self.space._ids(result)

    def _pooled(self, data: ArrayLike) -> Integers:
        return np.bincount(self._rows(data).ravel(), minlength=self.space.items).astype(np.int64)

    def _user_counts(self, held: ArrayLike) -> UserCounts:
        counts = self._held(held)
        some = np.flatnonzero(counts)
        size = int(counts.sum()) // self.users
        return UserCounts.of(self.space, item=some, size=np.full(len(some), size), count=counts[some], users=self.users)

    def _held(self, held: ArrayLike) -> Integers:
        counts = np.asarray(held)
        if (
            counts.shape != (self.space.items,)
            or counts.dtype.kind not in "iu"
            or (counts < 0).any()
            or int(counts.sum()) % self.users
            or not counts.any()
        ):
            raise DataError(
                "The counts are not those of users who all hold the same number of items.",
                allowed="a whole number for each item, with a multiple of the public number of users as their sum",
                fix="numpy.bincount(ids, minlength=space.items)",
            )
        return counts.astype(np.int64)


class NoiseHistogram(HistogramBaseline):
    """A histogram with additive noise, which needs no more than pooled counts.

    Attributes:
        noise: The calibrated noise.
    """

    noise: AdditiveNoise

    @property
    def event(self) -> UserLevelRelease:  # type: ignore[override]
        """The noise's event."""
        return _user_level(self.noise)

    def estimate(self, data: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """From the pooled counts, which are all it needs."""
        return self.estimate_pooled(self._pooled(data), source=source)


@dataclass(frozen=True, eq=False)
class CentralHistogram(NoiseHistogram):
    """The pooled histogram with noise from a curator, moved to the sum 1.

    Attributes:
        space: The public space.
        users: n.
        noise: The calibrated noise.

    >>> from barrow.spaces import Clustered
    >>> baseline = laplace_histogram(Clustered.grid(10, 10, r=0.05), "1.25", users=10**4)
    >>> baseline.name, round(baseline.predicted_emd(), 5)
    ('Laplace histogram', 0.00294)
    """

    space: Space
    users: int
    noise: AdditiveNoise

    @property
    def name(self) -> str:  # type: ignore[override]
        """The noise's name, and histogram."""
        return f"{self.noise.name} histogram"

    def estimate_pooled(self, held: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """The same: the pooled counts are all it needs."""
        counts = self._user_counts(held)
        sample = self.noise.draw(counts.center(histogram(self.space)), source)
        return HistogramAnswer(sum_to_one(np.asarray(sample.values)), self.event, sample.private)

    def run_variances(self, edges: Edges, reference: Floats) -> Floats:
        """On t items, t (1 - t/k) times the variance of one entry."""
        t = edges.widths.astype(np.float64)
        return np.asarray(self.noise.deviation**2 * t * (1.0 - t / self.space.items))

    def _mean_absolute(self, edges: Edges) -> Floats:
        """Sums of few Laplace variables are not normal: E|sum of t| = 2 t binom(2t, t)/4^t scales."""
        if self.noise.name != "Laplace":
            return super()._mean_absolute(edges)
        t = np.minimum(edges.widths, self.space.items - edges.widths).astype(np.float64)
        from scipy.special import gammaln

        t = np.maximum(t, 1.0)
        mean = 2.0 * t * np.exp(gammaln(2.0 * t + 1.0) - 2.0 * gammaln(t + 1.0) - t * math.log(4.0))
        return np.asarray(mean / np.sqrt(2.0 * t))


@dataclass(frozen=True, eq=False)
class LocalHistogram(HistogramBaseline):
    """Each user reports r of their m items, drawn without replacement, each through a channel of its own epsilon0.

    That r reports keep (epsilon, delta) is for an accountant to say: ``benchmarks.baselines.planning`` asks it.

    Attributes:
        space: The public space.
        users: n.
        items: m, how many items each user holds; public.
        reports: r, from 1 to m.
        channel: The randomiser of one item.
        event: What all reports of a user together are priced by.

    >>> from benchmarks.baselines import SubsetSelection
    >>> from barrow.promises import UserLevelRelease
    >>> from barrow.spaces import Clustered
    >>> space = Clustered.grid(10, 10, r=0.05)
    >>> event = UserLevelRelease("1.25", model="local")
    >>> one = LocalHistogram(space, 10**4, 1000, 1, SubsetSelection(100, "1.25"), event)
    >>> one.name, round(one.predicted_emd(), 3)
    ('subset selection, 1 of 1,000 items', 0.199)
    """

    space: Space
    users: int
    items: int
    reports: int
    channel: LocalChannel
    event: UserLevelRelease

    def __post_init__(self) -> None:
        if not 1 <= self.reports <= self.items:
            raise ParameterError(
                f"reports is {self.reports!r}.", allowed="from 1 to the number of items", fix="reports=1"
            )
        if self.channel.items != self.space.items:
            raise ParameterError(
                f"The channel is for {self.channel.items} items, and the space has {self.space.items}.",
                allowed="as many",
                fix="make the channel with space.items",
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """The channel's name, and how many items are reported."""
        part = "all" if self.reports == self.items else f"{self.reports:,} of"
        return f"{self.channel.name}, {part} {self.items:,} items"

    def chosen(self, data: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """How often each item is among those that users drew for their reports (private: for simulation)."""
        rows = self._rows(data)
        if rows.shape[1] != self.items:
            raise DataError(
                "Some users do not hold exactly the public number of items.",
                allowed="exactly that many items for every user",
                fix="draw that many items from each user beforehand",
            )
        if self.reports < self.items:
            origin = checked_source(source)
            if self.reports == 1:
                place = uniform_below(np.full(len(rows), self.items), source=origin)
                rows = rows[np.arange(len(rows)), place]
            else:
                rows = rows[uniform_subsets(len(rows), self.items, self.reports, origin)]
        return np.bincount(rows.ravel(), minlength=self.space.items).astype(np.int64)

    def estimate(self, data: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """The estimate from all reports of all users."""
        origin = checked_source(source)
        return self._decoded(self.chosen(data, source=origin), origin)

    def estimate_pooled(self, held: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """With r = m the law of :meth:`estimate`; with r < m the reported items are drawn from the pool."""
        origin = checked_source(source)
        counts = self._held(held)
        if self.reports < self.items:
            counts = exact_multinomials([self.users * self.reports], [counts], source=origin)[0]
        return self._decoded(counts, origin)

    def _decoded(self, counts: Any, source: RandomSource) -> HistogramAnswer:
        tally = self.channel.tally(counts, source=source)
        values = self.channel.decode(tally, self.users * self.reports)
        return HistogramAnswer(values, self.event, source.private)

    def run_variances(self, edges: Edges, reference: Floats) -> Floats:
        """The channel's noise and the drawing of r of m items, over n r reports; an upper bound if users differ."""
        mass = edges.masses(reference)
        drawing = mass * (1.0 - mass) * ((self.items - self.reports) / max(self.items - 1, 1))
        return np.asarray(
            (self.channel.noise_variances(edges, reference) + drawing) / (float(self.users) * self.reports)
        )


@dataclass(frozen=True, eq=False)
class LocalNoiseHistogram(NoiseHistogram):
    """Each user adds Gaussian noise to their own histogram; the estimate is the mean.

    What is drawn is the sum of all users' noise at once: the same law but for each report's rounding to its grid.

    Attributes:
        space: The public space.
        users: n.
        noise: The noise of one user.

    >>> from barrow.spaces import Discrete
    >>> local_gaussian_histogram(Discrete(["a", "b"]), 1, "1e-6", users=100).name
    'Gaussian histogram of each user'
    """

    space: Space
    users: int
    noise: AdditiveNoise

    @property
    def name(self) -> str:  # type: ignore[override]
        """Gaussian histogram of each user."""
        return f"{self.noise.name} histogram of each user"

    def estimate_pooled(self, held: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """The same: the pooled counts are all it needs."""
        counts = self._held(held)
        shares = counts / counts.sum()
        scale = self.noise.scale / Fraction(math.sqrt(self.users))
        sample = rounded_gaussian(np.zeros(self.space.items), scale, source=source)
        return HistogramAnswer(sum_to_one(shares + np.asarray(sample.values)), self.event, sample.private)

    def run_variances(self, edges: Edges, reference: Floats) -> Floats:
        """On t items, t (1 - t/k) times the variance of one entry, over n users."""
        t = edges.widths.astype(np.float64)
        return np.asarray(self.noise.deviation**2 / self.users * t * (1.0 - t / self.space.items))


def _user_level(noise: AdditiveNoise) -> UserLevelRelease:
    event = noise.event
    if not isinstance(event, UserLevelRelease):
        raise ParameterError(
            "The noise was not calibrated for user-level DP.", allowed="user_level_noise", fix="laplace_histogram(...)"
        )
    return event


def laplace_histogram(space: Space, epsilon: Exact, *, users: int) -> CentralHistogram:
    """Laplace noise of scale 2/(n epsilon) on each share: (epsilon, 0)-user-level DP (the paper's baseline, doubled).

    >>> from barrow.spaces import Discrete
    >>> round(float(laplace_histogram(Discrete(["a", "b"]), 2, users=100).noise.scale), 9)
    0.01
    """
    return CentralHistogram(space, users, axis_candidates(histogram(space), epsilon, noise="laplace", users=users)[0])


def gaussian_histogram(space: Space, epsilon: Exact, delta: Exact, *, users: int) -> CentralHistogram:
    """Gaussian noise of deviation sqrt(2)/(n mu) on each share, mu by the analytic calibration.

    >>> from barrow.spaces import Discrete
    >>> round(float(gaussian_histogram(Discrete(["a", "b"]), 1, "1e-6", users=100).noise.scale), 6)
    0.059746
    """
    noise = axis_candidates(histogram(space), epsilon, delta, noise="gaussian", users=users)[0]
    return CentralHistogram(space, users, noise)


def local_gaussian_histogram(space: Space, epsilon: Exact, delta: Exact, *, users: int) -> LocalNoiseHistogram:
    """Gaussian noise of deviation sqrt(2)/mu on each user's histogram: what many composed reports tend to.

    >>> from barrow.spaces import Discrete
    >>> round(float(local_gaussian_histogram(Discrete(["a", "b"]), 1, "1e-6", users=9).noise.scale), 4)
    5.9746
    """
    noise = axis_candidates(histogram(space), epsilon, delta, noise="gaussian", model="local")[0]
    return LocalNoiseHistogram(space, users, noise)
