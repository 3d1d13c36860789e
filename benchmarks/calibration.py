"""Gaussian noise calibrated by its own price at the promises, beside the same noise calibrated to an alpha.

The mean of an embedding, priced by the one formula of plans and ledgers at both: the old way pays less than was
promised, and its noise is larger for nothing.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from barrow.accounting import epsilon_at
from barrow.mechanisms import AdditiveNoise, linear_noise
from barrow.planning.terms import Terms
from barrow.promises import Promise
from barrow.queries import mean
from barrow.spaces import Embedding
from benchmarks._timing import finish

USERS, WORDS, DELTA = 10_000, 300, Fraction(1, 10**9)
DIMENSIONS, PROMISES = (2, 10, 50), ("1 of 30, anywhere, 0.5", "1 of 10, anywhere, 1", "all, anywhere, 1")


def compared(dimensions: int, promise: str) -> dict[str, float]:
    """Both scales, what each costs at the promise, and how many times smaller the noise is."""
    points = np.random.default_rng(7).normal(size=(WORDS, dimensions))
    space = Embedding([f"w{i}" for i in range(WORDS)], points)
    terms = Terms(space, USERS, (Promise.parse(promise),), delta=DELTA)
    query = mean(space)
    ratio = Fraction(query.constants([2])[0].range_ratio)

    def noise(own_price: bool) -> AdditiveNoise:
        mu_for = terms.mu_for if own_price else None
        return linear_noise(query, terms.alpha_for(ratio), DELTA, noise="gaussian", users=USERS, mu_for=mu_for)

    (row,) = terms.policy.satisfied
    old, new = noise(False), noise(True)
    costs = [float(epsilon_at(one.event, row.share, row.reach, DELTA)) for one in (old, new)]
    best = linear_noise(query, terms.alpha_for(ratio), DELTA, users=USERS)  # any noise, with Gaussian noise as before
    return {
        "by_alpha": float(old.scale), "by_price": float(new.scale), "epsilon_by_alpha": costs[0],
        "epsilon_by_price": costs[1], "smaller": float(old.scale / new.scale),
        "best_half_width_before": best.half_width, "half_width": new.half_width,
        "half_width_smaller": best.half_width / new.half_width,
    }  # fmt: skip


def main() -> None:
    """Print a line for each promise and dimension, and all figures as JSON."""
    figures: dict[str, float] = {}
    print(f"{'promise':26} {'d':>3}  sigma by alpha  by price  smaller  (epsilon)        half width before  now")
    for promise in PROMISES:
        for d in DIMENSIONS:
            row = compared(d, promise)
            print(
                f"{promise:26} {d:3}  {row['by_alpha']:14.3g}  {row['by_price']:8.3g}  {row['smaller']:7.2f}  "
                f"({row['epsilon_by_alpha']:.3f}, {row['epsilon_by_price']:.3f})  "
                f"{row['best_half_width_before']:17.3g}  {row['half_width']:.3g}"
            )
            if promise == PROMISES[0]:
                figures |= {f"embedding_{d}_{name}": value for name, value in row.items()}
    finish(figures)


if __name__ == "__main__":
    main()
