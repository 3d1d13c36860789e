"""The server: adds up reports of one study, refuses all others, and gives the mean with its uncertainty."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from barrow.errors import ParameterError
from barrow.local.report import Report, read_for
from barrow.local.study import LocalStudy
from barrow.mechanisms import NoiseDistribution
from barrow.mechanisms.decoding import decode
from barrow.numerics import float_up
from barrow.privacy import Guarantee

_MANY = 30
"""The mean of so many reports is taken as normal, for decoding only."""
_NEVER = 1e-18
"""A value that an honest report holds with less than this probability is refused."""


@dataclass(frozen=True)
class LocalResult:
    """The mean over those who reported, and how sure it is.

    Attributes:
        study: The digest of the study.
        n: How many reports were counted.
        outputs: The names of the outputs.
        unit: Their unit.
        means: The mean of the reports, one for each output: an unbiased estimate of the mean over these n people.
        noise_half_width: 95% half width from noise alone: how far the means are from those of these n people.
        half_widths: 95% half widths from noise and from who happened to report, for the mean of the people that the n
            were drawn from; by the spread of the reports themselves. None below two reports.
        refused: How many reports were refused, by reason.
        guarantee: What each person was promised.
        public: What is public.
        histogram: For a question along a tree, the histogram decoded from the means, a share for each item.

    >>> LocalResult.__dataclass_params__.frozen
    True
    """

    study: str
    n: int
    outputs: tuple[str, ...]
    unit: str
    means: tuple[float, ...]
    noise_half_width: float
    half_widths: tuple[float, ...] | None
    refused: Mapping[str, int]
    guarantee: Guarantee
    public: tuple[str, ...]
    histogram: Mapping[str, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "study": self.study,
            "n": self.n,
            "outputs": list(self.outputs),
            "unit": self.unit,
            "means": list(self.means),
            "noise_half_width_95": self.noise_half_width,
            "half_width_95": None if self.half_widths is None else list(self.half_widths),
            "refused": dict(self.refused),
            "guarantee": self.guarantee.to_json(),
            "public": list(self.public),
            **({} if self.histogram is None else {"histogram": dict(self.histogram)}),
        }


class LocalServer:
    """The collecting side of a local study; it sees noisy reports only.

    Args:
        study: The public study.

    >>> from barrow.queries import distance_to
    >>> from barrow.spaces import Line
    >>> study = LocalStudy(distance_to(Line(0, 10, unit="km", step=1), 3), alpha=25)
    >>> server = LocalServer(study)
    >>> server.add(Report(study.digest, "0" * 32, (4000,))), server.add("hello"), server.n
    (None, 'malformed', 1)
    """

    def __init__(self, study: LocalStudy) -> None:
        self.study = study
        self.refused: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._sums = [0] * study.query.dimension
        self._squares = [0] * study.query.dimension
        self._limits = _limits(study)

    @property
    def n(self) -> int:
        """How many reports were counted."""
        return len(self._seen)

    def add(self, report: Report | str | bytes | Mapping[str, Any]) -> str | None:
        """Counts one report; or refuses it, counts the refusal and returns its reason.

        Reasons are ``"malformed"``, ``"another version"``, ``"another study"``, ``"repeated"`` and
        ``"impossible value"`` (farther out than honest noise ever gets).
        """
        reason = self._add(report)
        if reason is not None:
            self.refused[reason] += 1
        return reason

    def add_all(self, reports: Iterable[Report | str | bytes | Mapping[str, Any]]) -> None:
        """Counts many reports."""
        for report in reports:
            self.add(report)

    def _add(self, received: Report | str | bytes | Mapping[str, Any]) -> str | None:
        report = read_for(self.study.digest, received)
        if isinstance(report, str):
            return report
        if len(report.values) != self.study.query.dimension:
            return "malformed"
        if report.id in self._seen:
            return "repeated"
        if any(not low <= v <= high for v, (low, high) in zip(report.values, self._limits, strict=True)):
            return "impossible value"
        self._seen.add(report.id)
        for j, value in enumerate(report.values):
            self._sums[j] += value
            self._squares[j] += value * value
        return None

    def result(self) -> LocalResult:
        """The mean of all reports so far, with 95% half widths and the guarantee."""
        if self.n == 0:
            raise ParameterError("No report has been counted.", allowed="at least one", fix="server.add(report) first")
        query, noise, n = self.study.query, self.study.noise, self.n
        means = tuple(float(total * noise.grid / n) for total in self._sums)
        return LocalResult(
            self.study.digest,
            n,
            query.outputs,
            query.unit,
            means,
            noise_half_width(self.study, n),
            self._half_widths() if n > 1 else None,
            dict(self.refused),
            self.study.guarantee,
            self.study.public,
            self._decoded(means) if query.kind == "tree_edges" else None,
        )

    def _decoded(self, means: tuple[float, ...]) -> dict[str, float]:
        """The histogram that mean edge values speak for; they are all that it sees."""
        space, noise = self.study.query.space, self.study.noise
        law = "gaussian" if noise.p is None or self.n >= _MANY else "laplace"
        shares = decode(space, means, variances=noise.deviation**2 / self.n, law=law)
        return dict(zip(space.labels, shares.tolist(), strict=True))

    def _half_widths(self) -> tuple[float, ...]:
        """Student's interval from the spread of the reports, which holds both noise and people."""
        from scipy.special import stdtrit

        n, grid = self.n, self.study.noise.grid
        t = float(stdtrit(n - 1, 0.975))
        widths = []
        for total, square in zip(self._sums, self._squares, strict=True):
            variance = Fraction(n * square - total * total, n * (n - 1)) * grid * grid
            widths.append(t * math.sqrt(float_up(variance) / n) + self.study.query.rounding_upper)
        return tuple(widths)


def noise_half_width(study: LocalStudy, n: int) -> float:
    """The 95% half width of the mean of n reports from noise alone, predicted before any is collected.

    The larger of the normal one and the exact one of a single report divided by sqrt(n): the laws used here have
    heavier tails than the normal law, less so the more reports are averaged.

    >>> from barrow.queries import distance_to
    >>> from barrow.spaces import Line
    >>> study = LocalStudy(distance_to(Line(0, 10, unit="km", step=1), 3), alpha=25)
    >>> round(noise_half_width(study, 10_000), 4)
    0.012
    """
    noise = study.noise
    normal = NoiseDistribution(None, 1).quantile(0.05) * noise.deviation
    single = noise.distribution.quantile(0.05) * float_up(noise.scale) + float_up(noise.grid) / 2.0
    return max(normal, single) / math.sqrt(n) + study.query.rounding_upper


def _limits(study: LocalStudy) -> list[tuple[int, int]]:
    """The least and the largest integer that an honest report holds, for each output."""
    from scipy.special import gammainccinv

    table, noise = study.query.table, study.noise
    if noise.p is None or noise.p == "1" or noise.dimension == 1:
        far = noise.distribution.quantile(_NEVER)
    else:
        far = float(gammainccinv(noise.dimension, _NEVER))  # no coordinate exceeds the norm
    reach = Fraction(far) * noise.scale + noise.grid
    low = table.integers.min(axis=0)
    high = table.integers.max(axis=0)
    lows, highs = (x.toarray().ravel().tolist() if table.sparse else x.tolist() for x in (low, high))
    return [
        (math.floor((a * table.step - reach) / noise.grid), math.ceil((b * table.step + reach) / noise.grid))
        for a, b in zip(lows, highs, strict=True)
    ]
