"""The error to expect of a decoded histogram along a tree, at a public reference distribution."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms import TreeHistogram
from barrow.mechanisms.decoding import decode, edge_values
from barrow.noise import Center, rounded_gaussian
from barrow.noise.simulation import SeededSource
from barrow.planning.references import Reference, reference_distribution
from barrow.spaces.base import Floats

_SEED = 20241014


@dataclass(frozen=True)
class DecodedError:
    """The simulated error of a decoded histogram.

    Attributes:
        mean: The mean EMD between decoded histogram and reference, over the repetitions.
        standard_error: Of that mean.
        repeats: How often it was simulated.

    >>> DecodedError(0.001, 0.0001, 20).repeats
    20
    """

    mean: float
    standard_error: float
    repeats: int


def decoded_error(
    plan: TreeHistogram, *, reference: Reference = "uniform", repeats: int = 20, how: str = "auto"
) -> DecodedError:
    """The mean EMD error of the decoded histogram if the truth were ``reference``; a simulation with a fixed seed.

    The undecoded error does not depend on the data; what decoding gains does, so a distribution has to be named. A
    uniform one is the kindest to the default decoder: say ``"zipf"`` or give public weights if it is far from it.

    Args:
        plan: The mechanism.
        reference: ``"uniform"``, ``"zipf"``, public weights for all items, or weights by label.
        repeats: How often noise is simulated.
        how: The decoder.

    >>> from barrow.mechanisms import tree_histogram
    >>> from barrow.spaces import Clustered
    >>> plan = tree_histogram(Clustered.grid(10, 10, r=0.05), 25, users=10_000)
    >>> found = decoded_error(plan, reference="zipf", repeats=5)
    >>> 0.0003 < found.mean < plan.nearest_error_upper
    True
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 2:
        raise ParameterError(f"repeats is {repeats!r}.", allowed="a whole number, 2 or more", fix="repeats=20")
    tree = plan.tree
    truth = edge_values(tree, reference_distribution(plan.space, reference))
    source = SeededSource(_SEED)
    errors = []
    for _ in range(repeats):
        found = decode(tree, truth + simulated_noise(plan, source), how=how, variances=plan.variance, law=plan.law)
        errors.append(float(np.abs(edge_values(tree, found) - truth).sum()))
    return DecodedError(float(np.mean(errors)), float(np.std(errors, ddof=1) / repeats**0.5), repeats)


def simulated_noise(plan: TreeHistogram, source: SeededSource) -> Floats:
    """The noise of the values that are decoded; the mean of 30 or more reports is drawn as a Gaussian.

    >>> from barrow.mechanisms import tree_histogram
    >>> from barrow.spaces import Discrete
    >>> len(simulated_noise(tree_histogram(Discrete(list("abc")), 25, users=100), SeededSource(1)))
    3
    """
    zeros = np.zeros(plan.tree.edges)
    if plan.reports >= 30:
        return rounded_gaussian(zeros, Fraction(plan.variance**0.5), source=source).values
    drawn = [plan.noise.draw(Center.of(zeros), source).values for _ in range(plan.reports)]
    return np.asarray(np.mean(drawn, axis=0))
