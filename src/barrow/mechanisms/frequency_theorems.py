"""The paper's bounds on the error of frequency estimation on clustered spaces (Section 6.2), as upper bounds.

They speak of the expected error of the unbiased estimate, before decoding, in the norm dual to Lipschitz functions.
``EstimateError.expected_upper`` is at most half of them where clusters are equal (docs/proofs/frequency.md).
"""

from __future__ import annotations

import math

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.channel import Channel
from barrow.mechanisms.spans import Spans
from barrow.numerics import whole
from barrow.spaces import Clustered

_LOOSE = 1.0 + 2.0**-20
"""More than floats and the rounding of alpha0 to whole weights can lose."""


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


def paper_remark_upper(*, k: int, items: int, users: int, alpha: float, delta: float, model: str = "local") -> float:
    """The paper's closed expressions after Theorem 6.6 (local) and its corollary (central), to the letter.

    4 sqrt(k^3/(m n)) + 64 k^(3/2)/(alpha x) sqrt(ln(4 m e^alpha/delta)), with x = sqrt(n) locally and n centrally.
    They bound the error at the paper's asymptotic alpha0, which is not a certified setting: for comparison only.

    >>> round(paper_remark_upper(k=100, items=1000, users=10**4, alpha=25, delta=1e-9), 1)
    189.4
    """
    if model not in ("local", "central"):
        raise ParameterError(f"model is {model!r}.", allowed="'local' or 'central'", fix="model='central'")
    weight = math.log(4.0 * items / delta) + alpha
    people = math.sqrt(users) if model == "local" else float(users)
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
