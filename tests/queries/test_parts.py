"""What internal names do, each by one known answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.queries import density, mean
from barrow.queries.base import check_over, plain, step_argument
from barrow.queries.coordinates import direction, spectral_norm_upper
from barrow.queries.edges import hats, nearest_beyond, node_query, node_table, plain_spacing
from barrow.queries.holders import holders, with_no_records
from barrow.queries.lipschitz import PAIR_WORK, by_all_pairs, by_range, not_lipschitz, pair_work, range_by_pairs
from barrow.queries.multiscale import usual_constant
from barrow.queries.quantised import default_step, quantise, relative_slack, row_norms, vector_norm
from barrow.spaces import Circle, Discrete, Line, NoRecords, Tree, edge_tree


def test_check_over():
    check_over("people")
    with pytest.raises(ParameterError, match="A share of records counts a person as often"):
        check_over("records")


def test_step_argument():
    assert step_argument("1/3") == {"step": "1/3"}
    assert step_argument(None) == {}


def test_plain():
    assert plain((1, np.float64(2.5))) == [1, 2.5]


def test_spectral_norm_upper():
    assert round(spectral_norm_upper(np.array([[3.0, 0.0], [0.0, 4.0]])), 6) == 4.0


def test_direction():
    query = direction(Circle.hours())
    assert query.outputs == ("cosine", "sine")
    assert 3.13 < query.lipschitz_upper(2) <= math.pi


def test_node_query():
    three = Discrete(["a", "b", "c"])
    assert node_query(three, three.graph()) == hats(three)


def test_node_table():
    three = Discrete(["a", "b", "c"])
    assert node_table(three, three.graph()).integers.toarray().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]


def test_plain_spacing():
    assert plain_spacing((3, None)) == [3.0, None]


def test_holders():
    space = NoRecords(Line(0, 10, unit="km", step=1))
    found = holders(mean(space.inner), space)
    assert found.query.outputs == ("mean", "share of people with records")
    assert found.middles == (5.0,)
    assert round(found.weight, 9) == 5.0
    assert round(found.query.lipschitz_upper(1), 6) == 10.0


def test_with_no_records():
    space = NoRecords(Line(0, 10, unit="km", step=1))
    found = with_no_records(density(space.inner, bandwidth="5 km"), space)
    assert found.outputs[-1] == "no records"
    assert found.dimension == 4
    assert round(found.lipschitz_upper(1), 6) == 4.0


def test_pair_work():
    assert pair_work(10_000, 10) < PAIR_WORK


def test_by_all_pairs():
    found = by_all_pairs(Discrete(["a", "b"]), quantise(np.eye(2), step=1), [1.0])[1.0]
    assert round(found.lipschitz_upper, 9) == 2.0
    assert found.pair == (0, 1)


def test_range_by_pairs():
    assert round(range_by_pairs(quantise(np.array([[0.0, 0.0], [3.0, 4.0]])), 2.0), 9) == 5.0


def test_by_range():
    found = by_range(Discrete(["a", "b", "c"]), quantise(np.array([[0.0], [1.0], [5.0]])), [1.0])
    assert round(found[1.0].lipschitz_upper, 9) == 5.0


def test_not_lipschitz():
    assert (
        not_lipschitz(Discrete(["a", "b"]), 0, 1).problem
        == "The query is not Lipschitz: 'a' and 'b' are at distance 0, but it differs between them."
    )


def test_usual_constant():
    line = Line(0, 1, step=0.01)
    assert usual_constant(density(line, bandwidth="1/10"), 0.1) == 20.0


def test_quantise():
    assert quantise(np.array([[1.0], [3.0]])).step == Fraction(1, 2**48)


def test_default_step():
    assert default_step(0.9) == Fraction(1, 2**50)


def test_relative_slack():
    assert relative_slack(10) < 2e-14


def test_vector_norm():
    assert vector_norm(np.array([3.0, 4.0]), 2.0) == 5.0


def test_row_norms():
    assert row_norms(np.array([[3.0, -4.0]]), 1.0).tolist() == [7.0]


def test_nearest_beyond():
    tree = edge_tree(Tree([("a", "left", 1), ("b", "left", 2), ("left", "root", 2), ("c", "root", 3)], diameter=7))
    assert (nearest_beyond(tree)[0] * 7).round(9).tolist() == [4.0, 3.0, 2.0, 1.0]
