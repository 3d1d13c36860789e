"""The only door to randomness: exactly rounded noise from a cryptographic source.

What is released is a function of the ideal real mechanism's output, for every input
(docs/proofs/exact-noise.md). Counts of randomised items have exactly the stated law (docs/proofs/exact-counts.md).
"""

from barrow.noise.center import Center
from barrow.noise.counts import exact_binomial, exact_multinomials, fair_halves, uniform_multinomials
from barrow.noise.even import uniform_below
from barrow.noise.grid import RoundedValues, default_grid
from barrow.noise.places import uniform_places
from barrow.noise.rounded import rounded_gaussian, rounded_knorm, rounded_laplace
from barrow.noise.source import Source, SystemSource, system_source

__all__ = [
    "Center",
    "RoundedValues",
    "Source",
    "SystemSource",
    "default_grid",
    "exact_binomial",
    "exact_multinomials",
    "fair_halves",
    "rounded_gaussian",
    "rounded_knorm",
    "rounded_laplace",
    "system_source",
    "uniform_below",
    "uniform_multinomials",
    "uniform_places",
]
