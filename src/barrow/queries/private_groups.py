"""Means within groups that are part of the record and hidden: one query whose noise does not grow with their number.

A record is a label and an item, at the weighted sum of both distances (:class:`barrow.spaces.Product`). In the block of
the record's group the query holds f(x) minus its middle and a weight, and 0 in every other block: its mean over people
is the sum S_g and c times the share p_g for every group, and the mean within g is the middle plus S_g/p_g. There is one
Lipschitz constant for all blocks (docs/proofs/private-groups.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics import TABLE_BITS, exact_text, float_down
from barrow.queries.holders import about_middle
from barrow.queries.quantised import Quantised
from barrow.queries.query import ClosedForm, Query
from barrow.spaces import Space

_UP = 1.0 + 2.0**-38


@dataclass(frozen=True, eq=False)
class GroupMeans:
    """A query about records in groups, as sums and shares of every group.

    Attributes:
        query: For each group the sums of f - middle, one for each output of f, and ``weight`` times the group's share.
        inner: The query about items within a group.
        labels: The public groups.
        middles: The middle of each output's values, which is subtracted.
        reaches: How far from it values may be.
        weight: c, what shares are multiplied by.
    """

    query: Query
    inner: Query
    labels: tuple[str, ...]
    middles: tuple[float, ...]
    reaches: tuple[float, ...]
    weight: float


def group_means(space: Space, inner: Query, *, guess: float = 0.5, weight: float | None = None) -> GroupMeans:
    """Means of ``inner`` within each group of a product of labels and items.

    Each person counts in a group with the share of their records there; people without records count in none.

    Args:
        space: ``Groups(labels, items)`` or ``Product([Discrete(labels), items], weights)``, perhaps with an item for
            people without records.
        inner: The query about items, on the second part.
        guess: How far the means are expected to be from the middle, as a share of the largest distance from it: any
            guess is sound, and a good one makes the intervals narrow in the 1-norm.
        weight: c itself, in place of a guess.

    >>> from barrow.queries import mean
    >>> from barrow.spaces import Discrete, Line, Product
    >>> ages = Line(0, 100, step=1, unit="years", whole=True)
    >>> space = Product([Discrete(["a", "b", "c"]), ages], weights=["1/2", "1/2"])
    >>> pair = group_means(space, mean(ages))
    >>> pair.query.dimension, round(pair.query.lipschitz_upper(1), 1)  # max(100, 2 (50 + 31.5)) per 1/2
    (6, 326.0)
    """
    groups, items, far, near = _parts(space, inner)
    moved, middle, half = about_middle(inner, space.items, "a coarser grid, or fewer groups")
    if not 0.0 < guess <= 1.0:
        raise ParameterError(f"guess is {guess}.", allowed="a number above 0 and at most 1", fix="guess=0.5")
    away = None if space.no_records_distance is None else float_down(space.no_records_distance)
    step = inner.step

    def size(p: float) -> float:
        """A: the largest p-norm of f - middle over the items."""
        return float(np.linalg.norm(moved.astype(np.float64), ord=p, axis=1).max()) * float(step) * _UP

    # c = (A t^2)^(1/3) at t = guess A; more where that leaves the constant in the 1-norm as it is.
    free = far * inner.lipschitz_upper(1) / near / 2.0 - size(1.0)
    wanted = float(half.max()) * float(step) * guess ** (2.0 / 3.0) if weight is None else weight
    whole_weight = min(max(1, int(max(wanted, free) / float(step))), 2**TABLE_BITS)
    c = float(whole_weight * step)

    def lipschitz(p: float) -> float:
        known = [inner.lipschitz_upper(p) / near, apart_upper(size(p), c, p) / far]
        return max([*known, *([] if away is None else [_one_block(size(p), c, p) / away])]) * _UP

    block = np.append(moved, np.full((items.items, 1), whole_weight, dtype=np.int64), axis=1)
    table = heavy.sparse.csr_array(heavy.sparse.kron(heavy.sparse.eye_array(groups.items, dtype=np.int64), block))
    if away is not None:
        nothing = heavy.sparse.csr_array((1, table.shape[1]), dtype=np.int64)
        table = heavy.sparse.csr_array(heavy.sparse.vstack([table, nothing]))
    labels = tuple(str(label) for label in groups.labels)
    query = Query(
        space,
        "group_means",
        inner.unit,
        inner.description.replace("over people", "over people, within each group,", 1),
        Quantised(heavy.sparse.csr_array(table.astype(np.int64)), step, inner.table.error_upper),
        {"inner": inner.to_spec(), "weight": exact_text(whole_weight * step)},
        ClosedForm(
            lipschitz,
            range_bound=lambda p: max(inner.range_upper(p), apart_upper(size(p), c, p)) * _UP,
            quantised=True,
            rests_on=inner,
        ),
        lambda: [
            name for label in labels for name in (*(f"{x} in {label}" for x in inner.outputs), f"share in {label}")
        ],
    )
    unit = float(step)
    return GroupMeans(query, inner, labels, tuple((middle * unit).tolist()), tuple((half * unit).tolist()), c)


def apart_upper(size: float, weight: float, p: float) -> float:
    """The largest p-norm of the difference of two items of different groups: two blocks change.

    >>> apart_upper(3.0, 1.0, 1.0), apart_upper(3.0, 1.0, math.inf)
    (8.0, 3.0)
    """
    return _one_block(size, weight, p) * (1.0 if math.isinf(p) else 2.0 ** (1.0 / p))


def _one_block(size: float, weight: float, p: float) -> float:
    """The largest p-norm of an item's values."""
    return max(size, weight) if math.isinf(p) else float((size**p + weight**p) ** (1.0 / p))


def _parts(space: Space, inner: Query) -> tuple[Space, Space, float, float]:
    """The labels, the items, and the weights of both distances, rounded down."""
    parts: tuple[tuple[Space, Fraction], ...] = space.geometry.parts
    good = len(parts) == 2 and parts[0][0].geometry.equidistant and parts[1][0] == inner.space
    if not good:
        raise ParameterError(
            "The space is not labels of groups beside the items of the query.",
            allowed="a product of labels and the query's own space",
            fix="Product([Discrete(['a', 'b']), query.space], weights=['1/2', '1/2'])",
        )
    (groups, far), (items, near) = parts
    return groups, items, float_down(far), float_down(near)
