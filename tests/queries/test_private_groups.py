"""Means in private groups: one constant for all groups, against every pair of items; a smaller one is broken."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.queries import distance_to, mean
from barrow.queries.private_groups import GroupMeans, group_means
from barrow.spaces import Discrete, Euclidean, Line, Product

AGES = Line(0, 4, step=1, unit="years", whole=True)
PLANE = Euclidean([0, 0], [2, 1], step=1, unit="km")
WEIGHTS = (("1/2", "1/2"), ("1/3", "2/3"), ("1/5", "4/5"), ("9/10", "1/10"))
NORMS = (1.0, 2.0, math.inf)


def built(weights: tuple[str, str], labels: int = 3, guess: float = 0.5) -> list[GroupMeans]:
    names = [f"g{i}" for i in range(labels)]
    return [
        group_means(Product([Discrete(names), inner.space], weights=list(weights)), inner, guess=guess)
        for inner in (mean(AGES), distance_to(AGES, 1), mean(PLANE))
    ]


def norm(row: np.ndarray, p: float) -> float:
    return float(np.abs(row).max()) if math.isinf(p) else float((np.abs(row) ** p).sum() ** (1.0 / p))


def planted(pair: GroupMeans, p: float, far: float) -> float:
    """(A^p + c^p)^(1/p)/D_G, as for people without records: it forgets that both blocks change."""
    values = pair.inner.table.floats() * float(pair.inner.step) - np.array(pair.middles)
    size = max(norm(row, p) for row in values)
    return (max(size, pair.weight) if math.isinf(p) else (size**p + pair.weight**p) ** (1.0 / p)) / far


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_constant_covers_every_pair_is_attained_and_a_smaller_one_is_broken(weights):
    broken = 0
    for pair in [*built(weights, guess=0.2), *built(weights, guess=1.0)]:
        query, space = pair.query, pair.query.space
        values = query.table.integers.toarray() * float(query.step)
        far = np.asarray(space.block())
        for p in NORMS:
            ell = query.lipschitz_upper("inf" if math.isinf(p) else int(p))
            span = query.range_upper("inf" if math.isinf(p) else int(p))
            steepest = 0.0
            for a, b in itertools.combinations(range(space.items), 2):
                moved = norm(values[a] - values[b], p)
                assert moved <= span * (1 + 1e-9)
                steepest = max(steepest, moved / far[a, b])
            assert steepest <= ell * (1 + 1e-9)
            if pair.inner.dimension == 1:  # in the plane no two items are as far apart as the box is wide
                assert steepest >= ell * (1 - 1e-6)  # no constant below it would do
            inside = pair.inner.lipschitz_upper("inf" if math.isinf(p) else int(p)) / float(Fraction(weights[1]))
            wrong = max(inside, planted(pair, p, float(Fraction(weights[0]))))
            broken += steepest > wrong * (1 + 1e-9)
    assert broken > 0 or weights[0] == "9/10"  # where groups are far, the constant is that of the items


def test_it_does_not_depend_on_the_number_of_groups():
    for few, many in zip(built(("1/2", "1/2"), 2), built(("1/2", "1/2"), 9), strict=True):
        for p in (1, 2, "inf"):
            assert few.query.lipschitz_upper(p) == pytest.approx(many.query.lipschitz_upper(p))


def test_sums_and_shares_give_the_mean_within_each_group_by_shares_of_records():
    inner = mean(AGES)
    space = Product([Discrete(["a", "b", "c"]), AGES], weights=["1/2", "1/2"])
    pair = group_means(space, inner)
    people = [[(0, 4), (1, 2)], [(0, 0)], [(0, 1), (0, 3), (1, 4), (1, 4)]]
    ids = [[g * AGES.items + x for g, x in held] for held in people]
    center = UserCounts.of_users(space, ids).center(pair.query)
    values = [float(center.exact_entry(i)) for i in range(pair.query.dimension)]
    for g in range(3):
        total, share = values[2 * g], values[2 * g + 1] / pair.weight
        weights = [sum(h == g for h, _ in held) / len(held) for held in people]
        assert share == pytest.approx(sum(weights) / 3)
        sums = [sum(x for h, x in held if h == g) / len(held) for held in people]
        if sum(weights):
            assert pair.middles[0] + total / share == pytest.approx(sum(sums) / sum(weights))


def test_spaces_without_groups_are_refused():
    inner = mean(AGES)
    for space in (AGES, Product([AGES, Discrete(["a", "b"])], weights=["1/2", "1/2"])):
        with pytest.raises(ParameterError, match="not labels of groups"):
            group_means(space, inner)
    with pytest.raises(ParameterError, match="guess is 0"):
        group_means(Product([Discrete(["a", "b"]), AGES], weights=["1/2", "1/2"]), inner, guess=0)
