"""Frequency estimation as the paper compares it: GKRR at each accountant's alpha0, its baselines, and stronger ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from barrow.accounting.blanket import blanket_alpha0_lower, parse_randomiser
from barrow.accounting.flow import flow_alpha0_lower
from barrow.accounting.theorem import theorem_alpha0_lower
from barrow.mechanisms import EstimateError, FrequencyEstimator, MatrixChannel, channel_of, item_wise
from barrow.mechanisms.frequency import whole_counts
from barrow.mechanisms.user_level.noise import user_level_noise
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.planning.histograms import HistogramTarget, histogram_candidates
from barrow.planning.simulate import reference_distribution
from barrow.planning.terms import Terms
from barrow.planning.user_level import user_level_histograms
from barrow.promises import Model
from barrow.queries import histogram
from barrow.randomisers import gkrr
from barrow.spaces import Clustered
from barrow.spaces.space import Floats
from barrow.transport import kr_norm

_NEAR = 0.005
"""A crossover is found to this relative accuracy of the errors."""

METHODS = ("theorem", "flow", "blanket")
"""Accountants of the paper's mechanism."""


@dataclass(frozen=True)
class Setting:
    """The clustered space, how many people hold how many items, and what is promised."""

    clusters: int = 5
    inside: int = 4
    r: str = "0.02"
    users: int = 1000
    items: int = 10**5
    alpha: float = 25.0
    delta: str = "1e-9"
    epsilon: float = 1.0
    model: str = "central"

    @property
    def k(self) -> int:
        """Items of the space."""
        return self.clusters * self.inside

    @property
    def reports(self) -> int:
        """N: the reports of everybody, which the error depends on."""
        return self.items * self.users

    @cached_property
    def space(self) -> Clustered:
        """The public space."""
        return Clustered.grid(self.clusters, self.inside, r=float(self.r))

    @cached_property
    def truth(self) -> Floats:
        """The public histogram at which errors are measured: the i-th item has weight 1/i."""
        return reference_distribution(self.space, "zipf")

    @property
    def name(self) -> str:
        """In a few words."""
        return f"{self.model} {self.clusters} x {self.inside}"

    def alpha0(self, method: str) -> float | None:
        """The largest alpha0 that a method certifies for (alpha, delta)."""
        mixed = self.items if self.model == "local" else self.reports
        return _alpha0(method, self.alpha, mixed, self.items, self.delta, f"{self.clusters}x{self.inside}:{self.r}")

    def expected(self, alpha0: float) -> float:
        """The expected EMD of the unbiased estimate (before decoding), exact in the limit of many reports."""
        return self._single(alpha0) / math.sqrt(self.reports)

    def _single(self, alpha0: float) -> float:
        return _single(self.clusters, self.inside, self.r, alpha0)

    def simulated(self, alpha0: float, draws: int, seed: int) -> tuple[float, float]:
        """The mean EMD before and after decoding, by drawing all reports ``draws`` times."""
        built = item_wise(gkrr(self.space, Fraction(alpha0)), items=self.items, users=self.users)
        estimator, source = FrequencyEstimator(built), SeededSource(seed)
        held = whole_counts(self.truth, self.reports)
        truth, raw, decoded = held / self.reports, [], []
        for _ in range(draws):
            counts = built.randomiser.from_counts(held, source=source)
            raw.append(float(np.asarray(kr_norm(self.space, estimator.estimate(counts) - truth))))
            decoded.append(float(np.asarray(kr_norm(self.space, estimator.decode(counts) - truth))))
        return float(np.mean(raw)), float(np.mean(decoded))

    def paper_baseline(self, draws: int, seed: int) -> float:
        """The baseline that the paper compares with: Hadamard response as printed, or Laplace with scale 2/(n eps)."""
        if self.model == "local":
            return self.hadamard(self.printed_budget)
        return self.laplace(draws, seed)

    def laplace(self, draws: int, seed: int) -> float:
        """``lem:lap-freq``, with scale 2/(n eps): the mean EMD, simulated."""
        noise = user_level_noise(histogram(self.space), Fraction(self.epsilon), noise="laplace", users=self.users)
        source, truth = SeededSource(seed), self.truth
        center = Center.from_fractions([Fraction(float(x)) for x in truth])
        results = []
        for _ in range(draws):
            sample = np.maximum(np.asarray(noise.draw(center, source).values, dtype=np.float64), 0.0)
            share = sample / sample.sum() if sample.sum() > 0 else truth
            results.append(float(np.asarray(kr_norm(self.space, share - truth))))
        return float(np.mean(results))

    @property
    def printed_budget(self) -> float:
        """The paper's eps/sqrt(m ln(m/delta)) for each report; too large for some randomisers."""
        return self.epsilon / math.sqrt(self.items * math.log(self.items / float(self.delta)))

    def hadamard(self, budget: float) -> float:
        """``lem:local-hist-utility-baseline``: Hadamard response on every item, each with ``budget``."""
        return _hadamard(self.clusters, self.inside, self.r, budget) / math.sqrt(self.reports)

    def hadamard_once(self) -> float:
        """Hadamard response on one drawn item of each person, with all of epsilon."""
        return _hadamard(self.clusters, self.inside, self.r, self.epsilon) / math.sqrt(self.users)

    def strongest(self, draws: int) -> tuple[str, float]:
        """The most accurate user-level DP that barrow knows, by its name and simulated EMD."""
        result = user_level_histograms(
            self.space,
            Fraction(self.epsilon),
            Fraction(self.delta),
            users=self.users,
            model=self.model,
            reference="zipf",
            draws=draws,
        )[0]
        return result.name, result.error

    def best(self) -> tuple[str, float]:
        """The most accurate EMD-DP histogram that barrow knows, by its name and simulated EMD."""
        terms = Terms(
            self.space, self.users, given=Fraction(self.alpha), delta=Fraction(self.delta), model=Model(self.model)
        )
        result = histogram_candidates(HistogramTarget(terms, self.truth, None))[0][0]
        return result.name, result.error


@lru_cache(maxsize=2000)
def _alpha0(method: str, alpha: float, mixed: int, items: int, delta: str, shape: str) -> float | None:
    rate = Fraction(alpha)
    if method == "theorem":
        return theorem_alpha0_lower(rate, reports=mixed, items=items, delta=delta)
    if method == "flow":
        near = shape.rpartition(":")[2]
        return flow_alpha0_lower(rate, reports=mixed, items=items, delta=delta, least_distance=near)
    return blanket_alpha0_lower(rate, parse_randomiser(f"gkrr:{shape}"), reports=mixed, items=items, delta=delta)


@lru_cache(maxsize=2000)
def _single(clusters: int, inside: int, r: str, alpha0: float) -> float:
    space = Clustered.grid(clusters, inside, r=float(r))
    return EstimateError(space, channel_of(gkrr(space, Fraction(alpha0)))).expected(
        1, reference_distribution(space, "zipf")
    )


def hadamard_matrix(k: int, epsilon: float) -> Floats:
    """Hadamard response as the paper describes it: A = q1 + q2 H, entries in the ratio e^epsilon."""
    from scipy.linalg import hadamard

    size = 1 << k.bit_length()
    rows = hadamard(size)[1 : k + 1].astype(np.float64)
    weights = np.where(rows > 0, math.exp(epsilon), 1.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@lru_cache(maxsize=200)
def _hadamard(clusters: int, inside: int, r: str, epsilon: float) -> float:
    space = Clustered.grid(clusters, inside, r=float(r))
    return EstimateError(space, MatrixChannel(hadamard_matrix(clusters * inside, epsilon))).expected(
        1, reference_distribution(space, "zipf")
    )


def crossover(error: Callable[[float], float | None], target: float, least: float, most: float = 1e4) -> float | None:
    """The smallest alpha from ``least`` on with an error of at most ``target``; None if there is none below ``most``.

    >>> round(crossover(lambda alpha: 10 / alpha, 1.0, 0.5), 1)
    10.0
    """

    def off(alpha: float) -> float:
        result = error(alpha)
        return math.inf if result is None else math.log(result / target)

    here, far = least, off(least)
    if far <= 0.0:
        return least
    low, high = least, math.inf
    # Errors are nearly powers of alpha: the next guess follows the last two, and stays between what is known.
    guess, slope = min(most, here * math.exp(min(far, 4.0))), -1.0
    for _ in range(40):
        now = off(guess)
        if abs(now) <= _NEAR:
            return guess
        if now > 0.0:
            low = guess
        else:
            high = guess
        if low >= most * (1.0 - 1e-9):
            return None
        if high <= low * (1.0 + _NEAR):
            return high
        if math.isfinite(now) and math.isfinite(far) and guess != here:
            slope = min(-0.2, max(-3.0, (now - far) / math.log(guess / here)))
        here, far = guess, now
        step = guess * math.exp(-now / slope) if math.isfinite(now) else guess * 4.0
        least_step, most_step = low * (1.0 + _NEAR / 2), min(most, high * (1.0 - _NEAR / 2))
        guess = min(max(step, least_step), most_step) if most_step > least_step else high
    return high if math.isfinite(high) else None
