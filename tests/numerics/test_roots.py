"""Roots, nodes and what sorting tells, against scipy and numpy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from barrow.errors import ParameterError
from barrow.numerics.search import among, distinct, gauss_legendre, median, root


@given(st.floats(1e-12, 0.999), st.sampled_from([1.0, 2.0, 0.3]))
def test_a_root_is_that_of_another_solver(share, power):
    def tail(t):
        return math.exp(-(t**power)) - share

    high = (-math.log(share) + 1.0) ** (1.0 / power) + 1.0
    assert root(tail, 0.0, high) == pytest.approx(optimize.brentq(tail, 0.0, high, xtol=1e-13), abs=3e-12, rel=1e-13)


def test_the_bracket_holds_where_interpolation_fails():
    """A step has no slope, and a zero may be at an end."""
    assert root(lambda x: -1.0 if x < 0.3 else 1.0, 0.0, 1.0) == pytest.approx(0.3, abs=1e-11)
    assert root(lambda x: x, 0.0, 1.0) == 0.0
    assert root(lambda x: 1.0 - x, 0.0, 1.0) == 1.0
    with pytest.raises(ParameterError, match="same sign"):
        root(lambda x: x + 1.0, 0.0, 1.0)


@pytest.mark.parametrize("count", [1, 2, 5, 30, 300])
def test_nodes_are_those_of_numpy(count):
    nodes, weights = gauss_legendre(count)
    others = np.polynomial.legendre.leggauss(count)
    assert nodes == pytest.approx(others[0], abs=1e-14)
    assert weights == pytest.approx(others[1], abs=1e-13)


@given(st.lists(st.integers(-3, 3)), st.lists(st.integers(-3, 3)))
def test_what_sorting_tells_is_that_of_numpy(some, known):
    for kind in (np.int64, np.float64):
        values, others = np.array(some, dtype=kind), np.array(known, dtype=kind)
        assert distinct(values).tolist() == np.unique(values).tolist()
        assert distinct(values).dtype == kind
        assert among(values, others).tolist() == np.isin(values, others).tolist()
        if some:
            assert median(values) == np.median(values)
