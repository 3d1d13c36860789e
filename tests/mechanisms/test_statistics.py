"""Exact statistics against fractions, and their float bounds."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import DataError, ParameterError
from barrow.mechanisms import UserCounts
from barrow.queries import density, function, histogram, mean
from barrow.spaces import Discrete, Euclidean, Line

LINE = Line(-2, 10, step=1, default=3, cells=True)
BOX = Euclidean([0, 0], [1, 1], step=0.2)


def by_fractions(query, users, n):
    table = query.table.integers.toarray() if query.table.sparse else query.table.integers
    sums = [Fraction(0)] * query.dimension
    filled = [list(u) or [query.space.default_item] for u in users]
    filled += [[query.space.default_item]] * (n - len(users))
    for user in filled:
        for j in range(query.dimension):
            sums[j] += Fraction(sum(int(table[x, j]) for x in user), len(user))
    return [s * query.step / n for s in sums]


QUERIES = [
    mean(LINE),
    histogram(LINE),
    density(LINE, bandwidth="0.3"),
    function(LINE, np.random.default_rng(3).normal(size=(12, 3)) * [1, 1e6, 1e-6]),
]


@pytest.mark.parametrize("query", QUERIES, ids=repr)
@given(
    users=st.lists(st.lists(st.integers(0, 11), max_size=5), max_size=6),
    missing=st.integers(0, 3),
)
@settings(max_examples=40, deadline=None)
def test_centers_are_the_exact_means_over_users(query, users, missing):
    n = max(1, len(users) + missing)
    center = UserCounts.of_users(LINE, users, users=n).center(query)
    for j, truth in enumerate(by_fractions(query, users, n)):
        assert center.exact_entry(j) == truth
        error = np.broadcast_to(center.absolute, (query.dimension,))[j]
        assert abs(Fraction(float(center.approximation[j])) - truth) <= Fraction(float(error))


@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_many_users_of_many_sizes_stay_exact_and_nearly_so_in_floats(query):
    rng = np.random.default_rng(8)
    users = [rng.integers(0, 12, size=int(m)).tolist() for m in rng.integers(1, 200, size=300)]
    center = UserCounts.of_users(LINE, users, users=320).center(query)
    truth = by_fractions(query, users, 320)
    largest = np.abs(query.table.floats()).max() * float(query.step)
    for j, value in enumerate(truth):
        assert center.exact_entry(j) == value
        error = float(np.broadcast_to(center.absolute, (query.dimension,))[j])
        assert abs(Fraction(float(center.approximation[j])) - value) <= Fraction(error)
        assert error <= 2e-13 * largest  # far below any noise, so that exact entries are rarely asked for


def test_triples_in_any_order_and_any_split_give_the_same_center():
    rng = np.random.default_rng(9)
    item = rng.integers(0, 25, size=40)
    counts = UserCounts.of(BOX, item=item, size=np.full(40, 2), count=np.full(40, 1), users=20)
    order = rng.permutation(40)
    again = UserCounts.of(BOX, item=item[order], size=np.full(40, 2), count=np.full(40, 1), users=20)
    distinct, often = np.unique(item, return_counts=True)
    merged = UserCounts.of(BOX, item=distinct, size=np.full(len(distinct), 2), count=often, users=20)
    query = mean(BOX)
    for j in range(2):
        assert counts.center(query).exact_entry(j) == again.center(query).exact_entry(j)
        assert counts.center(query).exact_entry(j) == merged.center(query).exact_entry(j)
        assert counts.center(query).approximation[j] == again.center(query).approximation[j]


def test_billions_of_records_do_not_overflow():
    space = Line(0, 1e6, points=[0, 1e6])
    query = mean(space)
    counts = UserCounts.of(space, item=[1], size=[1], count=[2**36], users=2**36)
    assert counts.center(query).exact_entry(0) == 10**6
    half = UserCounts.of(space, item=[1], size=[2], count=[2**36], users=2**36)  # the others hold the default, 0
    assert half.center(query).exact_entry(0) == 10**6 // 2
    below = Line(-1e6, 0, points=[-1e6, 0])
    least = UserCounts.of(below, item=[0], size=[1], count=[2**36], users=2**36)
    assert least.center(mean(below)).exact_entry(0) == -(10**6)


def test_missing_users_hold_the_default_item():
    center = UserCounts.of(LINE, item=[], size=[], count=[], users=5).center(mean(LINE))
    assert float(center.exact_entry(0)) == pytest.approx(LINE.points[LINE.default_item], abs=1e-9)


@pytest.mark.parametrize(
    "triples",
    [
        {"item": [12], "size": [1], "count": [1]},
        {"item": [-1], "size": [1], "count": [1]},
        {"item": [0], "size": [0], "count": [1]},
        {"item": [0], "size": [1], "count": [0]},
        {"item": [0], "size": [2], "count": [3]},
        {"item": [0, 1], "size": [1], "count": [1]},
        {"item": [0.5], "size": [1], "count": [1]},
        {"item": [0], "size": [1], "count": [float("nan")]},
        {"item": [0], "size": [1], "count": [2**62 + 1]},
        {"item": [[0]], "size": [[1]], "count": [[1]]},
    ],
)
def test_triples_that_are_not_counts_get_one_constant_text(triples):
    with pytest.raises(DataError, match="not those of users with whole data sets"):
        UserCounts.of(LINE, users=10, **triples)


def test_more_users_than_public_is_an_error_without_a_number():
    with pytest.raises(DataError) as error:
        UserCounts.of_users(LINE, [[0]] * 7, users=5)
    assert "7" not in str(error.value)


@pytest.mark.parametrize("users", [0, -1, 2.5, True, None, 2**36 + 1])
def test_the_number_of_users_is_a_whole_number(users):
    with pytest.raises(ParameterError, match="users is"):
        UserCounts.of(LINE, item=[], size=[], count=[], users=users)


def test_another_space_is_refused_and_nothing_private_is_shown():
    counts = UserCounts.of_users(LINE, [[7]])
    with pytest.raises(ParameterError, match="another space"):
        counts.center(histogram(Discrete(["a", "b"])))
    assert repr(counts) == "UserCounts(users=1)"
