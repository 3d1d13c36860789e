from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from barrow.errors import ParameterError
from barrow.noise.source import SeededSource
from barrow.randomisers import gkrr, randomised_response, tree_response
from barrow.randomisers.pooled import PooledStops
from barrow.randomisers.randomiser import TOTAL
from barrow.randomisers.shape import star_shape
from barrow.spaces import Clustered, Discrete, Tree
from tests.randomisers.helpers import exact_row

UNEVEN = Clustered({"a": ["1", "2", "3"], "b": ["4"], "c": ["5", "6"]}, r=0.3)
DEEP = Tree.nested(["A/x/1", "A/x/2", "A/y/3", "B/z/4", "B/z/5", "B/z/6"], distances=[1, 0.5, 0.2])


@pytest.mark.parametrize(
    ("channel", "size"),
    [
        (gkrr(UNEVEN, 2), 40),
        (gkrr(UNEVEN, 2), 3000),
        (gkrr(UNEVEN, 2), 10**7),
        (tree_response(DEEP, 3), 3000),
        (tree_response(DEEP, 3), 10**6),
        (randomised_response(Discrete(list("abcdef")), 1), 10**5),
    ],
)
def test_means_and_covariances_are_those_of_the_rows(channel, size):
    """The histogram is a sum of independent multinomials: its exact means and covariances, and a wrong one is seen."""
    held = np.array([3, 1, 0, 5, 2, 1]) * size
    rows = np.array([[float(q) for q in exact_row(channel, x)] for x in range(6)])
    mean = held @ rows
    covariance = np.diag(mean) - (rows * held[:, None]).T @ rows
    source, rounds = SeededSource(size), 2000
    draws = np.array([channel.from_counts(held, source=source) for _ in range(rounds)])
    assert (draws.sum(axis=1) == held.sum()).all()
    root = np.linalg.cholesky(np.linalg.inv(covariance[:5, :5]))
    z = (draws - mean)[:, :5] @ root  # five independent standard coordinates, nearly normal
    for way in range(5):
        assert abs(z[:, way].mean()) < 5 / np.sqrt(rounds)
    squares = (z**2).sum(axis=1)
    assert stats.kstest(squares, stats.chi2(5).cdf).pvalue > 1e-6
    assert stats.kstest(squares * 1.15, stats.chi2(5).cdf).pvalue < 1e-6
    moved = (draws - mean * 1.0)[:, :5] @ root + 0.15
    assert max(abs(moved[:, way].mean()) for way in range(5)) > 5 / np.sqrt(rounds)


def test_more_items_than_64_bits_hold_are_refused():
    with pytest.raises(ParameterError, match="at most 2\\^62"):
        gkrr(UNEVEN, 2).from_counts([2**61, 2**61, 1, 2**60, 0, 0])
    result = gkrr(UNEVEN, 2).from_counts([2**59, 0, 1, 2**60, 0, 0], source=SeededSource(1))
    assert result.sum() == 2**59 + 1 + 2**60


def test_pooled_stops_of():
    quarters = np.array([TOTAL // 4, TOTAL, TOTAL])
    pooled_stops = PooledStops.of(star_shape(2, Fraction(1)), [TOTAL // 4, 3 * TOTAL // 4, 3 * TOTAL // 4], quarters)
    assert pooled_stops.stay.q.tolist() == [0.75, 0.75]
    assert pooled_stops.share.tolist() == [0.25]
