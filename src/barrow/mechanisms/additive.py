"""Calibrated additive noise: its distribution, scale, grid, event and predicted error.

Noise with density proportional to exp(-||x||_p) in d dimensions is G Y: G is Gamma(d+1), Y uniform in the unit ball of
the p-norm, and |Y_1|^p is Beta(1/p, 1 + (d-1)/p) (docs/proofs/linear.md). What its distribution says claims accuracy,
not privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.mechanisms.edge_sums import laplace_half_widths
from barrow.noise import Center, RandomSource, RoundedValues, rounded_gaussian, rounded_knorm
from barrow.numerics import Exact, checked_people, exact, exact_text, float_down, float_up
from barrow.numerics.search import gauss_legendre, root
from barrow.promises import Event, Model
from barrow.queries import Quantised, norm_order

_NAMES = {"laplace": "1", "l1": "1", "l2": "2", "linf": "inf"}
CONFIDENCE = 0.95
NEVER = 1e-18
"""A value that an honest report holds with less than this probability is refused."""
_FEW = 50
"""Up to this shape a gamma tail is a short sum; above it the compiled function is quicker and as exact."""
_ROUNDED = 2e-3
"""Which share of an interval's misses is left for the rounding of many answers."""


@lru_cache(maxsize=1024)
def _quantile(noise: NoiseDistribution, share: float) -> float:
    """The quantile where it has no formula; plans ask for the same few again and again."""
    if noise.p is None:
        result = root(lambda t: math.erfc(t) - share, 0.0, 40.0, rtol=1e-13) * math.sqrt(2.0)
    else:
        # No output exceeds the norm, Gamma(d), which exceeds this less often (Boucheron, Lugosi, Massart 2.4).
        rare = -math.log(share)
        high = noise.dimension + math.sqrt(2.0 * noise.dimension * rare) + rare + 1.0
        result = root(lambda t: noise.tail(t) - share, 0.0, high, xtol=1e-10, rtol=1e-12)
    return result * (1.0 + 1e-9)


def gamma_tail(shape: int, x: float) -> float:
    """P(G > x) for G ~ Gamma(shape): fewer than ``shape`` events of a Poisson process until x.

    >>> round(gamma_tail(3, 2.0), 12) == round(5.0 * math.exp(-2.0), 12)
    True
    """
    if shape > _FEW:
        return float(heavy.special.gammaincc(shape, x))
    terms = 1.0
    for k in range(shape - 1, 0, -1):
        terms = 1.0 + terms * x / k
    return terms * math.exp(-x)


def gamma_quantile(shape: int, share: float) -> float:
    """What G ~ Gamma(shape) exceeds with probability ``share``, rounded up.

    >>> round(gamma_quantile(1, 0.05), 6)
    2.995732
    """
    if shape > _FEW:
        return float(heavy.special.gammainccinv(shape, share)) * (1.0 + 1e-9)
    rare = -math.log(share)
    high = shape + math.sqrt(2.0 * shape * rare) + rare + 1.0
    return root(lambda x: gamma_tail(shape, x) - share, 0.0, high, rtol=1e-13) * (1.0 + 1e-9)


@dataclass(frozen=True)
class NoiseDistribution:
    """The noise of scale 1 on ``dimension`` outputs: K-norm of order ``p``, or Gaussian where ``p`` is None.

    >>> round(NoiseDistribution(1.0, 5).quantile(0.05), 6)  # Laplace: ln 20
    2.995732
    >>> round(NoiseDistribution(None, 1).quantile(0.05), 6)
    1.959964
    """

    p: float | None
    dimension: int

    @property
    def laplace(self) -> bool:
        """Whether every output has Laplace noise of its own."""
        return self.p is not None and (self.p == 1.0 or self.dimension == 1)

    @property
    def _independent(self) -> bool:
        return self.p is None or self.p == 1.0 or self.dimension == 1

    def tail(self, t: float) -> float:
        """The probability that one output is off by more than ``t``."""
        if self.p is None:
            return math.erfc(t / math.sqrt(2.0))
        if self._independent:
            return math.exp(-t)

        d = self.dimension
        if self.p == math.inf:
            # P(G U > t) = P(G > t) - t E[1/G; G > t], G ~ Gamma(d+1), U uniform.
            return gamma_tail(d + 1, t) - t / d * gamma_tail(d, t)
        spread = 14.0 * math.sqrt(d + 1.0)
        low, high = max(t, d + 1.0 - spread), max(t, d + 1.0) + spread + 80.0
        nodes, weights = gauss_legendre(300)
        g = low + (high - low) * (nodes + 1.0) / 2.0
        pdf = np.exp(d * np.log(g) - g - math.lgamma(d + 1))
        share = np.clip((t / g) ** self.p, 0.0, 1.0)
        if self.p == 2.0 and d == 2:  # of a disc
            part = np.sqrt(share)
            beyond = (np.arccos(part) - part * np.sqrt(1.0 - share)) * (2.0 / math.pi)
        else:
            beyond = heavy.special.betainc(1.0 + (d - 1.0) / self.p, 1.0 / self.p, 1.0 - share)
        return float((weights * pdf * beyond).sum() * (high - low) / 2.0)

    def quantile(self, share: float) -> float:
        """The distance beyond which one output is off with probability ``share``, rounded up."""
        if not 0.0 < share < 1.0:
            raise ParameterError(f"share is {share!r}.", allowed="a number in (0, 1)", fix="share=0.05")
        if self.p is not None and self._independent:
            return -math.log(share) * (1.0 + 1e-9)
        return _quantile(self, share)

    def simultaneous_quantile(self, share: float) -> float:
        """The distance beyond which any output is off with probability at most ``share``.

        >>> round(NoiseDistribution(math.inf, 3).simultaneous_quantile(0.05), 6)  # the norm itself is Gamma(3)
        6.295794
        """
        d = self.dimension
        if self._independent:
            return self.quantile(-math.expm1(math.log1p(-share) / d))
        norm = gamma_quantile(d, share)
        return norm if self.p == math.inf else min(norm, self.quantile(share / d))

    @property
    def deviation(self) -> float:
        """The standard deviation of one output.

        >>> round(NoiseDistribution(1.0, 4).deviation ** 2, 9), round(NoiseDistribution(math.inf, 1).deviation ** 2, 9)
        (2.0, 2.0)
        """
        if self.p is None:
            return 1.0
        if self._independent:
            return math.sqrt(2.0)
        d, q = self.dimension, self.p
        if q == math.inf:
            return math.sqrt((d + 1.0) * (d + 2.0) / 3.0)
        a, c = 1.0 / q, 1.0 + (d - 1.0) / q
        log_moment = math.lgamma(3.0 * a) + math.lgamma(a + c) - math.lgamma(a) - math.lgamma(3.0 * a + c)
        return math.sqrt((d + 1.0) * (d + 2.0) * math.exp(log_moment))


@runtime_checkable
class StatedNoise(Protocol):
    """Noise whose scale and grid are said otherwise than it is planned as."""

    @property
    def stated(self) -> tuple[Fraction, Fraction]:
        """Scale and grid of the mean over people, as a statement says them."""


class CalibratedNoise(Protocol):
    """What every calibrated noise on a query has; everything in it is public."""

    @property
    def name(self) -> str:
        """What the noise is called."""

    @property
    def scale(self) -> Fraction:
        """Its exact scale."""

    @property
    def grid(self) -> Fraction:
        """The public grid of the answer."""

    @property
    def event(self) -> Event:
        """What drawing it will cause."""

    @property
    def half_width(self) -> float:
        """What one output is off by with probability at most 5 %."""

    @property
    def simultaneous_half_width(self) -> float:
        """What no output is off by more than, with probability at least 95 %."""

    @property
    def deviation(self) -> float:
        """The largest standard deviation of an output."""

    def draw(self, center: Center, source: RandomSource | None = None) -> RoundedValues:
        """``center`` plus noise, exactly rounded to the grid."""


AnyNoise = TypeVar("AnyNoise", bound=CalibratedNoise)


@dataclass(frozen=True)
class AdditiveNoise:
    """Noise for one query, ready to draw; everything in it is public.

    Attributes:
        p: The order of the norm as text (``"1"``, ``"2"``, ``"inf"``, ``"3/2"``); None for Gaussian noise.
        dimension: The number of outputs.
        scale: The exact scale: of exp(-||x||_p/scale), or the standard deviation.
        grid: The public grid of the answer.
        sensitivity_upper: What the scale was calibrated to: a Lipschitz constant, or a range.
        rounding_upper: How far quantising f may move an output.
        event: What drawing it will cause.

    >>> from barrow.mechanisms import linear_noise
    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> noise = linear_noise(mean(Line(0, 100, step=1)), 25, users=1000)
    >>> noise.name, round(float(noise.scale), 9), round(noise.half_width, 4)
    ('Laplace', 0.004, 0.012)
    """

    p: str | None
    dimension: int
    scale: Fraction
    grid: Fraction
    sensitivity_upper: float
    rounding_upper: float
    event: Event

    @property
    def name(self) -> str:
        """What the noise is called."""
        if self.p is None:
            return "Gaussian"
        if self.p == "1" or self.dimension == 1:
            return "Laplace"
        return f"l{self.p} K-norm"

    @property
    def distribution(self) -> NoiseDistribution:
        """The distribution at scale 1."""
        return NoiseDistribution(None if self.p is None else norm_order(self.p), self.dimension)

    @property
    def half_width(self) -> float:
        """What one output is off by with probability at most 5%, rounding of the answer and of f included."""
        return self._width(self.distribution.quantile(1.0 - CONFIDENCE))

    @property
    def simultaneous_half_width(self) -> float:
        """What no output is off by more than, with probability at least 95%."""
        return self._width(self.distribution.simultaneous_quantile(1.0 - CONFIDENCE))

    @property
    def deviation(self) -> float:
        """The standard deviation of one output, rounding to the grid included."""
        grid = float(self.grid)
        return math.sqrt((self.distribution.deviation * float_up(self.scale)) ** 2 + grid * grid / 12.0)

    def mean_half_width(self, reports: int, level: float = 1.0 - CONFIDENCE) -> float:
        """What the mean of independent answers, each with this noise, is off by with probability at most ``level``.

        Proved for Laplace and Gaussian noise (docs/proofs/linear.md, Section 3). For other norms the larger of the
        normal one and the one of a single answer divided by sqrt(n): their tails are heavier than the normal ones, less
        so the more answers are averaged, which is checked and not proved.

        >>> from barrow.mechanisms import linear_noise
        >>> from barrow.queries import distance_to
        >>> from barrow.spaces import Line
        >>> noise = linear_noise(distance_to(Line(0, 10, unit="km", step=1), 3), 25, model="local")
        >>> round(noise.mean_half_width(10_000), 4), noise.mean_half_width(1) == noise.half_width
        (0.0111, True)
        """
        if reports == 1:
            return self._width(self.distribution.quantile(level))
        scale, root = float_up(self.scale), math.sqrt(reports)
        rounded = _ROUNDED * level
        if self.p is None:
            width = self.distribution.quantile(level - rounded) * scale / root
        elif self.distribution.laplace:
            width = float(laplace_half_widths(np.ones((1, 1)), level - rounded, reports)[0]) * scale
        else:
            single = self.distribution.quantile(level) * scale + float_up(self.grid) / 2.0
            normal = NoiseDistribution(None, 1).quantile(level)
            return max(normal * self.deviation, single) / root + self.rounding_upper
        return width + self.mean_rounding_upper(reports, rounded) + self.rounding_upper

    def mean_rounding_upper(self, reports: int, level: float = 1e-4) -> float:
        """What rounding moves the mean of so many answers by, but for that probability (Laplace and Gaussian).

        >>> from barrow.mechanisms import linear_noise
        >>> from barrow.queries import mean
        >>> from barrow.spaces import Line
        >>> noise = linear_noise(mean(Line(0, 1, step=0.1)), 1, model="local", grid="1/4")
        >>> noise.mean_rounding_upper(1) == 0.125, noise.mean_rounding_upper(10**9) < 0.0003
        (True, True)
        """
        grid, scale = float_up(self.grid), float_down(self.scale)
        bias = grid**3 / (100.0 * scale**2)
        return min(grid / 2.0, grid / 2.0 * math.sqrt(2.0 * math.log(2.0 / level) / reports) + bias)

    def _width(self, quantile: float) -> float:
        return quantile * float_up(self.scale) + float_up(self.grid) / 2.0 + self.rounding_upper

    def limits(self, table: Quantised) -> list[tuple[int, int]]:
        """The least and the largest integer that an honest report holds, for each output."""
        if self.p is None or self.distribution.laplace:
            far = self.distribution.quantile(NEVER)
        else:
            far = gamma_quantile(self.dimension, NEVER)  # no coordinate exceeds the norm
        return table.limits(Fraction(far) * self.scale + self.grid, self.grid)

    def draw(self, center: Center, source: RandomSource | None = None) -> RoundedValues:
        """``center`` plus noise, exactly rounded to the grid."""
        if self.p is None:
            return rounded_gaussian(center, self.scale, grid=self.grid, source=source)
        return rounded_knorm(center, self.scale, self.p, grid=self.grid, source=source)


def wanted_norms(noise: str | Exact, dimension: int, delta: Fraction) -> list[str | None]:
    """The norms to consider (None for Gaussian noise)."""
    word = noise.strip().lower() if isinstance(noise, str) else noise
    if word == "auto":
        pure: list[str | None] = ["1"] if dimension == 1 else ["1", "2", "inf"]
        return pure + ([None] if delta > 0 else [])
    if word == "gaussian":
        if delta == 0:
            raise ParameterError(
                "delta is 0, but Gaussian noise has no pure guarantee.",
                allowed="a number strictly between 0 and 1",
                fix="delta=1e-9, or noise='auto'",
            )
        return [None]
    if isinstance(word, str) and word in _NAMES:
        return [_NAMES[word]]
    try:
        order = norm_order(word)
    except ParameterError:
        raise ParameterError(
            f"noise is {noise!r}.",
            allowed="'auto', 'laplace', 'l2', 'linf', 'gaussian', or the order p of a norm, 1 or more",
            fix="noise='auto'",
        ) from None
    return ["inf" if order == math.inf else exact_text(exact(word))]


def checked_model(model: str, users: int | None) -> tuple[Model, int]:
    """The model, and the number by which a user's influence is divided."""
    if model == Model.LOCAL:
        return Model.LOCAL, 1
    if model != Model.CENTRAL:
        raise ParameterError(
            f"model is {str(model)!r}.",
            allowed="'local' (each user adds noise) or 'central' (a curator adds noise to the mean over users)",
            fix="model='central'",
        )
    return Model.CENTRAL, checked_people(users)


def by_predicted_error(candidates: Iterable[AnyNoise], model: Model) -> list[AnyNoise]:
    """Best first, by the predicted error of one output.

    Central: its 95% half width. Local: its standard deviation, which is what remains when many reports are averaged.
    """
    if model is Model.LOCAL:
        return sorted(candidates, key=lambda noise: noise.deviation)
    return sorted(candidates, key=lambda noise: noise.half_width)
