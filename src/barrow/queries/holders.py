"""Queries where some people hold no records: a sum over those who do beside their share, and shares beside theirs.

Both have one Lipschitz constant for all outputs (docs/proofs/no-records.md): that of the query itself, or what it takes
to hide whether a person holds records at all, whichever is larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics import TABLE_BITS, float_down
from barrow.queries.quantised import Quantised
from barrow.queries.query import ClosedForm, Query
from barrow.spaces import Space
from barrow.spaces.space import Ids

MOST_ENTRIES = 2 * 10**7
_UP = 1.0 + 2.0**-40
_COARSER = 2.0**-20
"""What a coarser grid may add to a constant, as a share of it."""


@dataclass(frozen=True, eq=False)
class Holders:
    """A query about people with records, as sums over them and their share.

    Attributes:
        query: The sums of f - middle, one for each output of f, and ``weight`` times the share of holders.
        inner: The query about records.
        middles: The middle of each output's values, which is subtracted.
        reaches: How far from it values may be.
        weight: What the share is multiplied by.
    """

    query: Query
    inner: Query
    middles: tuple[float, ...]
    reaches: tuple[float, ...]
    weight: float


def holders(inner: Query, space: Space, *, p: float = 1.0, ranged: bool = False) -> Holders:
    """The pair for the mean of ``inner`` over people with records: its sum over all people, and their share.

    The weight of the share is the largest that leaves the constant of ``inner`` as it is in the p-norm, and at least
    half the range of an output; where it would be beyond 2^50 steps, steps are made coarser, or it is 2^50 of them.
    Any weight is sound; it says how much of the noise the share gets.

    Args:
        inner: The query about records.
        space: The space with the item for people without records.
        p: The norm in which the share is to cost nothing.
        ranged: Whether it is the range that is left as it is, for user-level DP, and not the Lipschitz constant.
    """
    if space.no_records_distance is None or space.records_space.digest != inner.space.digest:
        raise ParameterError(
            "The query is not about the records of this space.",
            allowed="a query on the inner space",
            fix="NoRecords(query.space)",
        )
    table, middle, half = about_middle(inner, space.records_space.items, "a coarser grid, or missing = 'default item'")
    moved = Quantised(table, inner.step, inner.table.error_upper)
    near, closest = float_down(space.no_records_distance), space.records_space.least_distance_lower

    def size(p: float) -> float:
        """The largest p-norm of f - middle over the items."""
        return float(np.linalg.norm(moved.floats(), ord=p, axis=1).max()) * float(moved.step) * _UP

    bound = inner.range_upper(p) if ranged else inner.lipschitz_upper(p) * near
    left = bound if math.isinf(p) else max(bound**p - size(p) ** p, 0.0) ** (1.0 / p)
    weight = max(left, size(math.inf), float(inner.step))
    # A coarser grid makes room for the weight, as far as that adds next to nothing to the constant.
    bits = math.frexp(weight / float(inner.step))[1] - TABLE_BITS
    while bits > 0 and (moved.coarser(bits).moved_upper(moved, p) / closest) > inner.lipschitz_upper(p) * _COARSER:
        bits -= 1
    moved = moved.coarser(bits)
    whole_weight = min(max(1, math.floor(Fraction(weight) / moved.step)), 2**TABLE_BITS)
    weight = float(whole_weight * moved.step)

    def away(p: float) -> float:
        """The largest p-norm of a holder's values."""
        if math.isinf(p):
            return max(size(p), weight) * _UP
        return float((size(p) ** p + weight**p) ** (1.0 / p)) * _UP

    def rounding(p: float) -> float:
        """What the coarser grid adds to the difference of two items' values."""
        return moved.moved_upper(inner.table, p)

    table = np.zeros((space.items, inner.dimension + 1), dtype=np.int64)
    table[:-1, :-1], table[:-1, -1] = moved.integers, whole_weight
    query = Query(
        space,
        "holders",
        inner.unit,
        inner.description.replace("over people", "over people with records", 1),
        replace(moved, integers=table),
        {"inner": inner.to_spec(), "weight": whole_weight},
        ClosedForm(
            lambda p: max(inner.lipschitz_upper(p) + rounding(p) / closest, away(p) / near) * _UP,
            range_bound=lambda p: max(inner.range_upper(p) + rounding(p), away(p)) * _UP,
            quantised=True,
            rests_on=inner,
        ),
        lambda: [*inner.outputs, "share of people with records"],
    )
    unit = float(inner.step)
    return Holders(query, inner, tuple((middle * unit).tolist()), tuple((half * unit).tolist()), weight)


def about_middle(inner: Query, items: int, fix: str) -> tuple[Ids, Ids, Ids]:
    """A query's integers less their middle, the middle of each output, and how far from it they are at most."""
    if items * inner.dimension > MOST_ENTRIES:
        raise ParameterError(
            f"The query has {inner.dimension:,} outputs on {items:,} items.",
            allowed=f"at most {MOST_ENTRIES:,} values",
            fix=fix,
        )
    table = inner.table.integers.toarray() if inner.table.sparse else inner.table.integers
    values = np.asarray(table, dtype=np.int64)
    low, high = values.min(axis=0), values.max(axis=0)
    middle = (high + low) // 2
    return values - middle, middle, np.maximum(high - middle, middle - low)


def with_no_records(inner: Query, space: Space) -> Query:
    """Shares that sum to 1 over the records' outputs, and the share of people without records as one more output."""
    near, one = float_down(space.no_records_distance or Fraction(1)), round(1 / inner.step)
    rows: Any = inner.table.integers
    table = heavy.sparse.csr_array(
        heavy.sparse.block_diag([rows, heavy.sparse.csr_array(np.array([[one]], dtype=np.int64))], format="csr")
    )

    largest = float(np.abs(rows).sum(axis=1).max()) * float(inner.step) * _UP  # 1, but for quantising

    def away(p: float) -> float:
        """The p-norm of an item's shares is at most their sum, and "no records" has an output of its own."""
        return (max(largest, 1.0) if math.isinf(p) else (largest**p + 1.0) ** (1.0 / p)) * _UP

    return Query(
        space,
        inner.kind,
        inner.unit,
        inner.description,
        Quantised(table, inner.step, inner.table.error_upper),
        {**inner.arguments, "no_records": True},
        ClosedForm(
            lambda p: max(inner.lipschitz_upper(p), away(p) / near) * _UP,
            range_bound=lambda p: max(inner.range_upper(p), away(p)) * _UP,
            quantised=True,
            rests_on=inner,
        ),
        lambda: [*inner.outputs, "no records"],
        inner.places,
    )
