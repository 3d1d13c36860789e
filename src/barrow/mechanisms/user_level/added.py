"""Items that were added to a space, such as "no records", in histograms of user-level DP: an output of their own each.

An added item answers 0 to whatever is asked about the others, and one output more tells it from them. The weight of
that output is the largest that leaves the range of the query as it is (docs/proofs/user-level.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from barrow.numerics import float_up
from barrow.queries import Query
from barrow.queries.base import ClosedForm
from barrow.queries.quantised import Quantised, relative_slack, row_norms
from barrow.spaces import Space
from barrow.spaces.base import Floats

_UP = 1.0 + 2.0**-40
_LEAST = 1e-3
"""Where less is left to the other items it hardly matters how they share it."""


def with_added(query: Query, space: Space, p: float) -> Query:
    """``query`` on ``space``, whose last items were added to the query's space; only its range is ever asked for.

    Args:
        query: A query without negative values on the innermost space.
        space: The space with the added items.
        p: The norm that noise is for: 1 or 2.
    """
    from scipy.sparse import block_diag, csr_array

    table, known = query.table, query.space.items
    added, step, slack = space.items - known, float_up(query.step), 1.0 + relative_slack(query.dimension)

    def size(order: float) -> float:
        """The largest norm of the values of an item, rounded up."""
        return float(row_norms(table.floats(), order).max()) * step * slack

    free = float(max(query.range_upper(p) ** p - size(p) ** p, 0.0) ** (1.0 / p))
    # Where an item is nearly as far from 0 as from any other, an output that says something costs a little.
    weight = max(1, math.floor(max(free, size(p) / 2.0) * (1.0 + 2.0**-30) / step))
    alone = csr_array(weight * np.eye(added, dtype=np.int64))
    whole = Quantised(csr_array(block_diag([table.integers, alone], format="csr")), query.step, table.error_upper)

    def span(order: float) -> float:
        """From an item to an added one, and from one of these to another."""
        own = weight * step
        if math.isinf(order):
            return max(query.range_upper(order), own) * _UP
        far = max(size(order) ** order, own**order) + own**order
        return float(max(query.range_upper(order), far ** (1.0 / order))) * _UP

    return Query(
        space,
        query.kind,
        query.unit,
        query.description,
        whole,
        {**query.arguments, "added": [weight] * added},
        ClosedForm(lambda order: span(order) / space.least_distance_lower, range_bound=span, quantised=True),
        lambda: [*query.outputs, *(space.label(item) for item in range(known, space.items))],
    )


def without_added(values: Floats, added: int, decode: Callable[[Floats, float], Floats]) -> Floats:
    """The histogram of released values: shares of the added items as they are, what is left by the others' decoder.

    Args:
        values: What was released, times the factors that make shares of the added items' outputs.
        added: How many of the last ones are theirs.
        decode: From the values of the other outputs, as if nobody held an added item, to a histogram; the second
            argument says how many times larger their noise has become.
    """
    if not added:
        return decode(values, 1.0)
    own = np.maximum(values[-added:], 0.0)
    own = own / max(1.0, float(own.sum()))
    left = max(0.0, 1.0 - float(own.sum()))
    times = 1.0 / max(left, _LEAST)
    found = np.maximum(decode(values[:-added] * times, times), 0.0)
    return np.append(found * (left / found.sum()), own)
