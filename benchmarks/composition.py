"""What several releases under the same promises gain if they add up in quadrature: ``scripts/bench composition``.

One promise about all data anywhere (w = 1), epsilon 0.5, delta 1e-9, by the planner's own terms. The first table has
the noise of Gaussian releases in quadrature against epsilon/k, delta/k for each, and that of Laplace noise that adds;
the second from how many releases on Gaussian noise is smaller, by the constant of the answer in the 1-norm over that in
the 2-norm (1 for one number). A ledger takes exactly k releases. The last line is one JSON object.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from fractions import Fraction

from barrow.ledger import Budget, Ledger, PromiseLimit, Promises, SpaceRef
from barrow.ledger.errors import OverBudgetError
from barrow.planning.terms import Terms, in_quadrature
from barrow.promises import GaussianNoise, Promise
from barrow.spaces import Line
from benchmarks._timing import finish

EPSILON, DELTA, ONE = "0.5", Fraction(1, 10**9), Fraction(1)
MANY = (1, 2, 3, 4, 8, 12, 50, 365)
RATIOS = (1, 2, 4, 10)


def _alone(delta: Fraction = DELTA) -> Terms:
    return Terms(Line(0, 100, step=1, unit="km"), 1000, (Promise("all", "anywhere", EPSILON),), delta=delta)


def _mus(releases: int, delta: Fraction = DELTA) -> tuple[float, float, float]:
    """Alpha of pure noise that adds, mu of Gaussian noise that adds, and mu in quadrature, of each of so many."""
    one = replace(_alone(delta), fraction=Fraction(1, releases))
    adding = replace(one, delta=delta / releases)
    best = adding if releases == 1 else in_quadrature(one, delta)
    return float(adding.alpha_for(ONE)), float(adding.mu_for(ONE)), float(best.mu_for(ONE))


def gains() -> dict[str, float]:
    """The gain for k releases."""
    print(f"epsilon {EPSILON}, delta {float(DELTA):g}; standard deviations in units of the answer's constant")
    print(f"{'k':>4} {'Laplace, adding':>16} {'Gaussian, adding':>17} {'in quadrature':>14} {'gain':>6}")
    figures = {}
    for releases in MANY:
        alpha, mu, together = _mus(releases)
        print(
            f"{releases:>4} {math.sqrt(2) / alpha:>16.4g} {1 / mu:>17.4g} {1 / together:>14.4g} {together / mu:>6.2f}"
        )
        figures[f"gain_{releases}"] = round(together / mu, 4)
    return figures


def crossings() -> dict[str, float]:
    """The least k from which Gaussian noise in quadrature is smaller than Laplace noise that adds."""
    print("\nfrom how many releases on Gaussian noise in quadrature is smaller than Laplace noise that adds")
    print("  delta " + "".join(f"{f'1-norm/2-norm {ratio}':>19}" for ratio in RATIOS))
    figures = {}
    for delta in (Fraction(1, 10**6), DELTA, Fraction(1, 10**12)):
        results = []
        for ratio in RATIOS:
            many = 1
            while True:
                alpha, _, mu = _mus(many, delta)
                if 1 / mu < ratio * math.sqrt(2) / alpha:
                    break
                many += 1
            results.append(many)
            figures[f"crossing_{float(delta):g}_{ratio}"] = float(many)
        print(f"{float(delta):>7g} " + "".join(f"{many:>19}" for many in results))
    return figures


def ledger(releases: int = 8) -> dict[str, float]:
    """A ledger takes so many releases of the planned noise, and no more."""
    subset = Promises([PromiseLimit(1, None, EPSILON)], DELTA, quadrature=1)
    space = SpaceRef.of(_alone().space)
    noise, taken = GaussianNoise(Fraction(_mus(releases)[2]), delta=DELTA, model="central"), 0
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(f"{folder}/a.ledger", Budget("people", 1000, str(space.metric), subset))
        try:
            while True:
                ledger.reserve(
                    key=str(taken), what="mean", event=noise, guarantee=noise.guarantee(), space=space,
                    dataset="people", users=1000,
                )  # fmt: skip
                taken += 1
        except OverBudgetError:
            spent = ledger.balances()[0].spent
    print(f"\na ledger in quadrature took {taken} of {releases} planned releases: epsilon {float(spent.loss):.6g}")
    return {"taken": float(taken), "planned": float(releases), "epsilon_spent": float(spent.loss)}


def main() -> None:
    """Prints every section, then all figures as one line of JSON."""
    finish({**gains(), **crossings(), **ledger()})


if __name__ == "__main__":
    main()
