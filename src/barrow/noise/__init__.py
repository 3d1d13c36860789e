"""The only door to randomness: exactly rounded noise from a cryptographic source.

What is released is a function of the ideal real mechanism's output, for every input (docs/proofs/exact-noise.md).
Counts of randomised items have exactly the stated distribution (docs/proofs/exact-counts.md).
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.noise.additive.graph_noise import edge_grid, rounded_edges
    from barrow.noise.additive.rounded import rounded_gaussian, rounded_knorm, rounded_laplace
    from barrow.noise.additive.values import Center, RoundedValues, default_grid
    from barrow.noise.counts.binomial import exact_binomial, exact_multinomials
    from barrow.noise.counts.uniform_int import uniform_below, uniform_places
    from barrow.noise.source import RandomSource, SystemSource, system_source
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".additive.graph_noise": "edge_grid rounded_edges",
            ".additive.rounded": "rounded_gaussian rounded_knorm rounded_laplace",
            ".additive.values": "Center RoundedValues default_grid",
            ".counts.binomial": "exact_binomial exact_multinomials",
            ".counts.uniform_int": "uniform_below uniform_places",
            ".source": "RandomSource SystemSource system_source",
        },
    )
