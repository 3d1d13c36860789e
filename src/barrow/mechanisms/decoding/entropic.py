"""Mixtures of bumps that fit noisy values, entropy keeping to broad bumps what the noise does not contradict.

With noise of covariance C on the values y of a mixture c, which are M c without noise, the mixture minimises

    (y - M c)^T C^+ (y - M c)/2 + strength KL(c || prior).

Its dual is smooth, has no constraints, and holds C itself instead of its inverse: with c(v) proportional to
prior exp(M'v/strength) it is the least of v^T C v/2 - v.y + strength log sum prior exp(M'v/strength). Proofs in
docs/proofs/multiscale.md, Section 3, for C = 1, and docs/proofs/edge-decoding.md, Section 3, for any C.

It is found by limited-memory quasi-Newton descent. scipy's L-BFGS-B solves tiny linear systems in every step, and
threaded linear algebra can make that ten times slower where other work runs; without constraints the two-loop recursion
needs inner products and two triangular systems of at most 20 unknowns only, and these are not threaded.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import ClassVar, NamedTuple

import numpy as np

from barrow.spaces.space import Floats

_HALVINGS = 40
MOST_STEPS = 3000
_UNTHREADED = 4096
"""BLAS takes one thread for inner products of so many numbers, and einsum longer."""


@cache
def _blas() -> ModuleType:
    """The routines of BLAS, loaded when something is decoded."""
    from barrow._compiled import compiled

    return compiled("scipy.linalg", "_fblas")


def _solve(lower: Floats, right: Floats, *, transposed: bool = False) -> Floats:
    """The solution of a triangular system, by the routine of BLAS that never uses threads."""
    return np.asarray(_blas().dtrsv(lower, right, lower=1, trans=int(transposed)))


class _DualPoint(NamedTuple):
    """Where a descent is: the dual, its mixture, and what the objective is above its minimum by."""

    v: Floats
    weights: Floats
    gap: float


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

    def units(self, strength: float, outputs: Floats) -> float | Floats:
        """In these units the dual's curvature is about 1 in the directions that matter most."""
        return math.sqrt(strength / max(strength, self.longest))

    def gap(self, gradient: Floats, units: float | Floats, strength: float) -> float:
        """What the objective is above its minimum by: half the squared gradient, by C^+."""
        return 0.5 * inner(gradient, gradient)

    def fit(self, strength: float, tolerance: float, start: Floats | None = None) -> EntropicFit:
        """The mixture for one strength, within ``tolerance`` of the exact one in total variation."""
        here = np.zeros(self.y.size) if start is None else start
        # KL(c || c*) is at most gap/strength, and total variation at most sqrt(KL/2) (Pinsker).
        enough = 2.0 * strength * tolerance**2
        steps = 0
        for most in self.rounds:
            best, taken = self._round(here, strength, enough, most)
            steps, here = steps + taken, best.v
            if best.gap <= enough:
                break
        weights = np.maximum(best.weights, 0.0)
        return EntropicFit(weights / weights.sum(), best.v, best.gap, steps)

    def _round(self, here: Floats, strength: float, enough: float, most: int) -> tuple[_DualPoint, int]:
        """Steps in the units of where it begins: the best point found, and how many steps there were."""
        units = self.units(strength, self.forward(self._dual(here, strength)[1]))
        last = best = _DualPoint(here, here, math.inf)

        def objective(x: Floats) -> tuple[float, Floats]:
            nonlocal last
            v = units * x
            value, weights, gradient = self._dual(v, strength)
            last = _DualPoint(v, weights, self.gap(gradient, units, strength))
            return value / strength, gradient * (units / strength)

        def near_enough() -> bool:
            nonlocal best
            if last.gap < best.gap:
                best = last
            return bool(best.gap <= enough)

        first = here / units
        objective(first)
        best = last
        if best.gap <= enough:
            return best, 0
        # It cannot fail: whatever it stops at has a gap.
        steps = descend(objective, first, enough=near_enough, most=most, memory=self.memory)
        return best, steps

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
        value = inner(v, 0.5 * curved - self.y) + strength * (top + math.log(total))
        return value, weights, curved - self.y + self.forward(weights)


def inner(a: Floats, b: Floats) -> float:
    """The inner product in one thread: on cores that are shared, waiting for others costs more than it saves."""
    return float(a @ b if a.size <= _UNTHREADED else np.einsum("i,i", a, b))


def descend(
    objective: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    enough: Callable[[], bool],
    most: int,
    memory: int = 20,
) -> int:
    """Goes down from ``start`` until ``enough()``; the objective remembers what it saw. Returns the steps taken."""
    x = start
    value, gradient = objective(x)
    past = _Past(memory, x.size)
    for step in range(1, most + 1):
        direction = -past.newton(gradient)
        slope = inner(direction, gradient)
        if not slope < 0.0:
            past = _Past(memory, x.size)
            direction = -gradient
            slope = inner(direction, gradient)
            if not slope < 0.0:
                return step
        length = 1.0 if past.known else min(1.0, 1.0 / float(np.sqrt(-slope)))
        for _ in range(_HALVINGS):
            ahead = x + length * direction
            result, turned = objective(ahead)
            if result <= value + 1e-4 * length * slope:
                break
            length /= 2.0
        else:
            return step  # rounding hides any further descent
        past.add(ahead - x, turned - gradient)
        x, value, gradient = ahead, result, turned
        if enough():
            return step
    return most


class _Past:
    """The last steps, how the gradient changed in each, and the inner products of all these.

    The two-loop recursion needs nothing but inner products. It runs on the coefficients of what is stored, so Newton's
    step is two passes over one table, however many steps are remembered.
    """

    def __init__(self, memory: int, size: int) -> None:
        self.pairs = np.zeros((memory, 2, size))
        self.products = np.zeros((2 * memory, 2 * memory))
        self.known: deque[int] = deque(maxlen=memory)
        """The rows in use, oldest first."""

    def add(self, moved: Floats, change: Floats) -> None:
        """Remembers a step in place of the oldest, unless the gradient hardly grew along it."""
        if not inner(moved, change) > 1e-12 * inner(change, change):
            return
        memory = len(self.pairs)
        row = len(self.known) if len(self.known) < memory else self.known[0]
        self.known.append(row)
        pair = self.pairs[row]
        pair[0], pair[1] = moved, change
        used = 2 * len(self.known)
        along = np.einsum("in,jn->ij", self.pairs.reshape(2 * memory, -1)[:used], pair)
        self.products[:used, 2 * row : 2 * row + 2] = along
        self.products[2 * row : 2 * row + 2, :used] = along.T

    def newton(self, gradient: Floats) -> Floats:
        """The inverse Hessian that the past steps speak for, times the gradient."""
        used = 2 * len(self.known)
        if not used:
            return gradient
        table = self.pairs.reshape(len(self.products), -1)[:used]
        along = np.einsum("in,n->i", table, gradient)
        moved = 2 * np.array(self.known)
        turned = moved + 1
        # The two loops are two triangular systems: their matrix holds each step times the changes at later ones.
        later = self.products[moved[:, None], turned]
        curved = later.diagonal()
        taken = _solve(later.T, along[moved], transposed=True)
        scale = curved[-1] / self.products[turned[-1], turned[-1]]
        changes = np.einsum("ij,j->i", self.products[turned[:, None], turned], taken)
        weights = np.empty(used)
        weights[moved] = _solve(later.T, curved * taken - scale * (along[turned] - changes))
        weights[turned] = -scale * taken
        return np.asarray(scale * gradient + np.einsum("i,in->n", weights, table))
