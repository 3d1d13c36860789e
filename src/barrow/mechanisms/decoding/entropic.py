"""Mixtures of bumps that fit noisy values, entropy keeping to broad bumps what the noise does not contradict.

With noise of covariance C on the values y of a mixture c, which are M c without noise, the mixture minimises

    (y - M c)^T C^+ (y - M c)/2 + strength KL(c || prior).

Its dual is smooth, has no constraints, and holds C itself instead of its inverse: with c(v) proportional to
prior exp(M'v/strength) it is the least of v^T C v/2 - v.y + strength log sum prior exp(M'v/strength). Proofs in
docs/proofs/multiscale.md, Section 3, for C = 1, and docs/proofs/edge-decoding.md, Section 3, for any C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow.mechanisms.decoding.descent import descend, inner
from barrow.spaces.base import Floats

MOST_STEPS = 3000


@dataclass(frozen=True, eq=False)
class EntropicFit:
    """A mixture, and how near to the exact minimiser it is.

    Attributes:
        weights: What the mixture is, as the decoder reads it: the histogram over the items.
        dual: The v that it was found by.
        gap: What the objective is above its minimum by.
        steps: How many steps were taken.
    """

    weights: Floats
    dual: Floats
    gap: float
    steps: int


@dataclass(frozen=True, eq=False)
class EntropicDual:
    """The dual for one set of values and C = 1, solved for one strength after the other.

    Args:
        y: The noisy values.
        spread: From a mixture to the histogram over the items.
        gather: Its transpose.
        forward: From the histogram to what the values are without noise.
        backward: Its transpose.
        prior: Weights of the bumps, above 0.
        longest: The largest squared length of a column of ``forward``: it sets the first step.
    """

    y: Floats
    spread: Callable[[Floats], Floats]
    gather: Callable[[Floats], Floats]
    forward: Callable[[Floats], Floats]
    backward: Callable[[Floats], Floats]
    prior: Floats
    longest: float = 1.0
    rounds: ClassVar[tuple[int, ...]] = (MOST_STEPS,)
    """After so many steps the units are chosen anew, where they depend on the mixture."""
    memory: ClassVar[int] = 20
    """How many past steps are remembered."""

    @cached_property
    def logs(self) -> Floats:
        """Of the prior."""
        return np.log(self.prior)

    def covaried(self, v: Floats) -> Floats:
        """C v."""
        return v

    def units(self, strength: float, outputs: Floats) -> Any:
        """In these units the dual's curvature is about 1 in the directions that matter most."""
        return math.sqrt(strength / max(strength, self.longest))

    def gap(self, gradient: Floats, units: Any, strength: float) -> float:
        """What the objective is above its minimum by: half the squared gradient, by C^+."""
        return 0.5 * inner(gradient, gradient)

    def fit(self, strength: float, tolerance: float, start: Floats | None = None) -> EntropicFit:
        """The mixture for one strength, within ``tolerance`` of the exact one in total variation."""
        here = np.zeros(self.y.size) if start is None else start
        # KL(c || c*) is at most gap/strength, and total variation at most sqrt(KL/2) (Pinsker).
        enough = 2.0 * strength * tolerance**2
        best: dict[str, Any] = {}
        steps = 0
        for most in self.rounds:
            best, taken = self._round(here, strength, enough, most)
            steps, here = steps + taken, best["v"]
            if best["gap"] <= enough:
                break
        weights = np.maximum(best["weights"], 0.0)
        return EntropicFit(weights / weights.sum(), best["v"], best["gap"], steps)

    def _round(self, here: Floats, strength: float, enough: float, most: int) -> tuple[dict[str, Any], int]:
        """Steps in the units of where it begins: the best point found, and how many steps there were."""
        units = self.units(strength, self.forward(self._dual(here, strength)[1]))
        last: dict[str, Any] = {}

        def objective(x: Floats) -> tuple[float, Floats]:
            v = units * x
            value, weights, gradient = self._dual(v, strength)
            last.update(v=v, weights=weights, gap=self.gap(gradient, units, strength))
            return value / strength, gradient * (units / strength)

        first = here / units
        objective(first)
        best = dict(last)

        def near_enough() -> bool:
            if last["gap"] < best["gap"]:
                best.update(last)
            return bool(best["gap"] <= enough)

        if best["gap"] <= enough:
            return best, 0
        # It cannot fail: whatever it stops at has a gap.
        return best, descend(objective, first, enough=near_enough, most=most, memory=self.memory)

    def mixture(self, v: Floats, strength: float) -> Floats:
        """c(v)."""
        exponent = self.gather(self.backward(v)) / strength + self.logs
        raw = np.exp(exponent - exponent.max())
        return np.asarray(raw / raw.sum())

    def _dual(self, v: Floats, strength: float) -> tuple[float, Floats, Floats]:
        """The dual objective, the weights c(v) spread over the items, and the gradient."""
        exponent = self.gather(self.backward(v)) / strength + self.logs
        top = float(exponent.max())
        raw = np.exp(exponent - top)
        total = float(raw.sum())
        weights = self.spread(raw / total)
        curved = self.covaried(v)
        value = 0.5 * inner(v, curved) - inner(v, self.y) + strength * (top + math.log(total))
        return value, weights, curved - self.y + self.forward(weights)
