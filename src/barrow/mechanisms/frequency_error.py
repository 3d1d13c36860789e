"""How far a frequency estimate will be from the truth, from public numbers alone.

The estimate v B of n users' histogram is unbiased, and its covariance is known exactly: with N reports, items of the
distribution q and reports of q A, it is (B^T diag(q A) B - diag(q))/N. Along the edges of a tree this gives the
expected error with no constant left open (docs/proofs/frequency.md).

The paper's bounds on clustered spaces (Section 6.2) speak of the same error, before decoding, in the norm dual to
Lipschitz functions. ``EstimateError.expected_upper`` is at most half of them where clusters are equal.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from barrow import heavy
from barrow.errors import ParameterError, one_of
from barrow.mechanisms.channel import Channel
from barrow.mechanisms.spans import SpanMoments, Spans, spans_of
from barrow.noise.source import SeededSource
from barrow.numerics import whole
from barrow.promises import Model
from barrow.spaces import Clustered, Space
from barrow.spaces.space import Floats
from barrow.transport import kr_norm

_DENSE = 2048
_MOST_DRAWS = 512
_HAIR = 1e-10
_HALF_NORMAL = math.sqrt(2.0 / math.pi)
_LOOSE = 1.0 + 2.0**-20
"""More than floats and the rounding of alpha0 to whole weights can lose."""


class EstimateError:
    """The error of the unbiased estimate, before any decoding: the norm dual to Lipschitz functions (EMD's).

    All numbers are normalised: 1 is the diameter of the space.

    Args:
        space: The public space.
        channel: The randomiser as a linear map.

    >>> from barrow.mechanisms.channel import channel_of
    >>> from barrow.randomisers import gkrr
    >>> from barrow.spaces import Clustered
    >>> space = Clustered.grid(10, 10, r=0.05)
    >>> error = EstimateError(space, channel_of(gkrr(space, 4)))
    >>> round(error.expected(10**6), 4), round(error.expected_upper(10**6), 4)
    (0.0113, 0.0141)
    """

    def __init__(self, space: Space, channel: Channel) -> None:
        self.space, self.channel = space, channel

    @cached_property
    def spans(self) -> Spans:
        """The edges along which the error is added up."""
        return spans_of(self.space)

    @cached_property
    def _moments(self) -> SpanMoments:
        return self.channel.moments(self.spans)

    def deviations(self, reports: int, reference: ArrayLike | None = None) -> Floats:
        """The standard deviation of the estimated mass below each edge; exact.

        >>> from barrow.mechanisms.channel import MatrixChannel
        >>> from barrow.spaces import Discrete
        >>> flip = EstimateError(Discrete(["a", "b"]), MatrixChannel(np.array([[0.75, 0.25], [0.25, 0.75]])))
        >>> flip.deviations(100).round(6).tolist()
        [0.086603]
        """
        distribution = self.distribution(reference)
        variance = self._moments.at(self.channel.forward(distribution)) - self.spans.masses(distribution)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) / _reports(reports)))

    def expected(self, reports: int, reference: ArrayLike | None = None) -> float:
        """The expected error when the items follow ``reference``, for many reports (the central limit theorem).

        Exact in the limit on line, tree, clustered and discrete spaces. On other spaces up to 2,048 items it is the
        mean of a fixed simulation with the exact covariance; on larger ones the bound along a tree.
        """
        single = self._uniform if reference is None else self._single(self.distribution(reference))
        return single / math.sqrt(_reports(reports))

    @cached_property
    def _uniform(self) -> float:
        return self._single(self.distribution(None))

    def _single(self, distribution: Floats) -> float:
        """The expected error, as if of one report: it falls with the square root of their number."""
        if self.spans.exact or self.space.items > _DENSE:
            return _HALF_NORMAL * float((self.spans.lengths * self.deviations(1, distribution)).sum())
        return self._simulated(distribution)

    def expected_upper(self, reports: int) -> float:
        """No data set has a larger expected error than this.

        The sum over edges of length times standard deviation is a concave function of the histogram, hence below its
        tangent at the even one, whose largest value is at a corner.
        """
        distribution = self.distribution(None)
        deviations = self.deviations(1, distribution)
        lengths = self.spans.lengths
        slopes = np.divide(lengths, 2.0 * deviations, out=np.zeros_like(lengths), where=deviations > 0.0)
        gradient = self.channel.backward(self._moments.weighted(slopes)) - self.spans.spread(slopes)
        top = float((lengths * deviations).sum()) + float(gradient.max() - gradient @ distribution)
        return top / math.sqrt(_reports(reports)) * (1.0 + 1e-9)

    def covariance(self, reports: int, reference: ArrayLike | None = None) -> Floats:
        """The exact covariance of the estimate, for spaces of at most 2,048 items.

        >>> from barrow.mechanisms.channel import MatrixChannel
        >>> from barrow.spaces import Discrete
        >>> flip = EstimateError(Discrete(["a", "b"]), MatrixChannel(np.array([[0.75, 0.25], [0.25, 0.75]])))
        >>> flip.covariance(100).round(6).tolist()
        [[0.0075, -0.0075], [-0.0075, 0.0075]]
        """
        if self.space.items > _DENSE:
            raise ParameterError(
                f"The covariance of {self.space.items:,} items is too large to hold.",
                allowed=f"at most {_DENSE:,} items",
                fix="deviations(), which needs no matrix on trees",
            )
        distribution = self.distribution(reference)
        inverse = self.channel.right_inverse()
        result = inverse.T @ (self.channel.forward(distribution)[:, None] * inverse) - np.diag(distribution)
        return np.asarray(result / _reports(reports))

    def _simulated(self, distribution: Floats) -> float:
        """The mean error over fixed normal draws with the covariance of a single report."""
        covariance, k = self.covariance(1, distribution), len(distribution)
        # The covariance is singular (masses add up to 1); a hair more on its diagonal lets it be factored.
        root = np.linalg.cholesky(covariance + np.eye(k) * (_HAIR * float(np.trace(covariance)) / k + _HAIR))
        draws = _MOST_DRAWS if self.space.geometry.has_sums else max(10, min(_MOST_DRAWS // 4, 20_000 // k))
        words = SeededSource(2024).words(draws * k).astype(np.float64)
        sample = heavy.special.ndtri((words + 0.5) * 2.0**-64).reshape(draws, k) @ root.T
        sample -= sample.mean(axis=1, keepdims=True)
        return float(np.mean(kr_norm(self.space, sample)))

    def distribution(self, reference: ArrayLike | None) -> Floats:
        """The histogram that is meant: ``reference``, checked, or the even one."""
        k = self.space.items
        if reference is None:
            return np.full(k, 1.0 / k)
        distribution = np.asarray(reference, dtype=np.float64)
        if (
            distribution.shape != (k,)
            or not (distribution >= 0.0).all()
            or not abs(float(distribution.sum()) - 1.0) <= 1e-9
        ):
            raise ParameterError(
                "The reference is not a histogram of the space.",
                allowed=f"{k} numbers of 0 or more with the sum 1",
                fix="leave it out for the even histogram, or decode an estimate first",
            )
        return distribution


def _reports(reports: int) -> int:
    return whole(reports, "reports", fix="reports=items * users")


def general_utility_upper(space: Clustered, channel: Channel, *, reports: int) -> float:
    """``thm:general-hist-utility`` (Theorem 6.5), for any channel on a clustered space and clusters of any sizes.

    r sqrt(k (|B^T|^2 - 1)/N) + sqrt(s (|P^T B^T|^2 - 1)/N), with the largest Euclidean norms of the rows of B and of B
    added up over clusters.

    >>> from barrow.mechanisms.channel import channel_of
    >>> from barrow.randomisers import gkrr
    >>> space = Clustered.grid(10, 10, r=0.05)
    >>> round(general_utility_upper(space, channel_of(gkrr(space, 4)), reports=10**6), 4)
    0.0283
    """
    k, every = space.items, np.arange(space.items)
    ends = np.append(space.starts[1:], k)
    rows = []
    for starts, stops in ((every, every + 1), (space.starts, ends)):
        spans = Spans(np.ones(len(starts)), starts, stops, every)
        rows.append(float(channel.moments(spans).weighted(np.ones(len(starts))).max()))
    inside, across = (max(0.0, row - 1.0) / reports for row in rows)
    return (space.r * math.sqrt(k * inside) + math.sqrt(len(ends) * across)) * _LOOSE


def gkrr_utility_upper(*, clusters: int, inside: int, r: float, alpha0: float, reports: int) -> float:
    """``thm:krr-utility`` (Theorem 6.6) and, with N the reports of all users, ``coro:krr-utility-central``.

    The space has s ``clusters`` of t items ``inside``, at the distance ``r`` there.

    >>> round(gkrr_utility_upper(clusters=10, inside=10, r=0.05, alpha0=4, reports=10**6), 4)
    0.0351
    """
    s, t, rate = _checked(clusters, inside, r, alpha0, reports)
    e, near = math.exp(rate), math.exp((1.0 - r) * rate)
    first = r * math.sqrt(s * t**3 / reports) * (e + s) / (near * math.expm1(r * rate))
    gap = math.expm1(rate) + (t - 1) * math.expm1((1.0 - r) * rate)
    second = s * t / math.sqrt(reports) * math.sqrt(s + 2.0 * math.expm1(rate)) / gap
    return (first + second) * _LOOSE


def gkrr_rate_upper(*, k: int, alpha0: float, reports: int) -> float:
    """The remarks' form: k^(3/2)/sqrt(N) times (4 + 2/alpha0), or (4 + 4 e^(-alpha0/2)) from alpha0 = 2 ln 2 on.

    With the alpha0 of ``eq:eps-amp`` and ``eq:eps-amp-central`` these are the paper's expressions after Theorem 6.6 and
    its corollary; those alpha0 themselves are not safe settings (docs/proofs/frequency.md). Between 1 and 2 ln 2, which
    the paper's cases leave out, the first form holds too.

    >>> round(gkrr_rate_upper(k=100, alpha0=4, reports=10**6), 3)
    4.541
    """
    _checked(1, k, 0.25, alpha0, reports)
    scale = math.sqrt(float(k) ** 3 / reports)
    if alpha0 >= 2.0 * math.log(2.0):
        return scale * (4.0 + 4.0 * math.exp(-alpha0 / 2.0)) * _LOOSE
    return scale * (4.0 + 2.0 / alpha0) * _LOOSE


def paper_remark_upper(
    *, k: int, items: int, users: int, alpha: float, delta: float, model: str = Model.LOCAL
) -> float:
    """The paper's closed expressions after Theorem 6.6 (local) and its corollary (central), to the letter.

    4 sqrt(k^3/(m n)) + 64 k^(3/2)/(alpha x) sqrt(ln(4 m e^alpha/delta)), with x = sqrt(n) locally and n centrally.
    They bound the error at the paper's asymptotic alpha0, which is not a certified setting: for comparison only.

    >>> round(paper_remark_upper(k=100, items=1000, users=10**4, alpha=25, delta=1e-9), 1)
    189.4
    """
    one_of(model, "model", ("central", "local"))
    weight = math.log(4.0 * items / delta) + alpha
    people = math.sqrt(users) if model == Model.LOCAL else float(users)
    return 4.0 * math.sqrt(k**3 / (items * users)) + 64.0 * math.sqrt(float(k) ** 3 * weight) / (alpha * people)


def _checked(clusters: int, inside: int, r: float, alpha0: float, reports: int) -> tuple[int, int, float]:
    for name, value in (("clusters", clusters), ("inside", inside), ("reports", reports)):
        whole(value, name)
    if not 0.0 < r < 0.5:
        raise ParameterError(f"r is {r!r}.", allowed="a number strictly between 0 and 1/2", fix="r=0.05")
    rate = float(alpha0)
    if not 0.0 < rate < 300.0:
        raise ParameterError(f"alpha0 is {alpha0!r}.", allowed="a number above 0 and below 300", fix="alpha0=4")
    return int(clusters), int(inside), rate
