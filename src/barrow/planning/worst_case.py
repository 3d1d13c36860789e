"""EMD-DP at a worst case, for comparisons on large spaces: planned on a coarser grid that shows as much.

Where the spacing of nodes is wider than the coarser cells, finer items change the error by what cells hide and hardly
else, so that a grid of a thousand items says in a part of a second what the whole space says in seconds.
"""

from __future__ import annotations

from dataclasses import replace

from barrow.planning.candidates import Candidate
from barrow.planning.histograms import HistogramTarget, histogram_candidates
from barrow.planning.simulate import stand_in

LEAST_ITEMS = 1000
"""The first coarser grid has about so many items; each one after it four times as many."""


def edges_by_stand_in(target: HistogramTarget, least: int = LEAST_ITEMS) -> Candidate:
    """Noise along edges for ``target``, on the first coarser grid whose cells are finer than its nodes.

    It is there to be compared with: its error is that of the space itself, its mechanism is not.

    Args:
        target: What is wanted: a promise about everything, which costs the same on every grid.
        least: How many items the first grid has.

    >>> from fractions import Fraction
    >>> from barrow.planning.simulate import reference_distribution
    >>> from barrow.planning.terms import Terms
    >>> from barrow.promises import Promise
    >>> from barrow.spaces import Line
    >>> line = Line(0, 100, step=0.01, cells=True)
    >>> terms = Terms(line, 1000, (Promise("all", "anywhere", "1"),))
    >>> result = edges_by_stand_in(HistogramTarget(terms, reference_distribution(line)))
    >>> result.mechanism.space.items, result.guarantee.epsilon_at(1) <= 1.0
    (1000, True)
    """
    space = target.terms.space
    while True:
        here = stand_in(space, target.reference, 1, least)
        terms = replace(target.terms, space=here.space)
        result = histogram_candidates(replace(target, terms=terms, reference=here.reference), only="edges")[0][0]
        if here.space is space or result.mechanism.query.arguments.get("spacing") is not None:
            return result
        least *= 4
