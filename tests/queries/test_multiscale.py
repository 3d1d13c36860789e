"""Multiscale densities: the joint constant, plain data, words and errors."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts, linear_noise
from barrow.mechanisms.histograms import histogram_noise
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.queries import density, dyadic_bandwidths, histogram, multiscale, query_from_spec
from barrow.queries.lipschitz import by_all_pairs
from barrow.queries.multiscale import usual_constant
from barrow.spaces import Circle, Discrete, Earth, Euclidean, Hexagons, Line
from barrow.transport import measure_of

SQUARE = Euclidean([0, 0], [1, 1], step=1 / 16)
SPACES = [
    Line(0, 100, unit="km", step=2, cells=True),
    Circle(24, unit="h", step=0.5),
    Euclidean([0], [1], step=1 / 40),
    SQUARE,
    Euclidean([0, 0, 0], [1, 1, 0.5], step=1 / 8),
    Euclidean(center=[0, 0], radius=1, step=0.13),
    Earth(box=(40.5, -74.3, 41.0, -73.6), cell=4),
    Earth(box=(-60, -180, 75, 180), cell=1200),
]


def brute(query, p=1.0):
    """The largest quotient over all pairs of items, from the table's integers."""
    values = query.table.integers.toarray().astype(np.float64) * float(query.step)
    far = query.space.block()
    best = 0.0
    for i in range(len(values)):
        gap = np.linalg.norm(values[i + 1 :] - values[i], ord=p, axis=1)
        best = max(best, float((gap / far[i, i + 1 :]).max(initial=0.0)))
    return best


@pytest.mark.parametrize("space", SPACES, ids=lambda s: f"{s.kind}-{s.items}")
@pytest.mark.parametrize("cells", [True, False])
def test_the_joint_constant_is_the_largest_over_all_pairs(space, cells):
    names = dyadic_bandwidths(space)[0 if space.kind != "earth" else 1 :]
    query = multiscale(space, bandwidths=names if cells else names[:-1])
    for p in (1, 2, "inf"):
        order = math.inf if p == "inf" else float(p)
        real, result = brute(query, order), query.lipschitz_upper(p)
        assert real <= result * (1 + 1e-12)
        assert result <= real * (1 + 1e-9), "near pairs were visited, so it should be the largest itself"
        assert not real <= 0.99 * result  # a constant 1% too small would be caught
    total = sum(level.weight * level.query.lipschitz_upper(1) for level in query.levels)
    assert query.lipschitz_upper(1) <= total * (1 + 1e-9)


def test_hexagons():
    pytest.importorskip("h3")
    space = Hexagons.around(40.7, -74, resolution=7, rings=9)
    query = multiscale(space, bandwidths=["15 km", "8 km", "cells"])
    assert brute(query) <= query.lipschitz_upper(1) * (1 + 1e-12)
    assert query.lipschitz_upper(1) <= brute(query) * (1 + 1e-9)
    built = histogram_noise(space, "multiscale", 100, users=1000)
    flat = np.full(space.items, 1 / space.items)
    sample = built.noise.draw(Center.from_integers(np.zeros(built.query.dimension, dtype=np.int64)), SeededSource(0))
    assert measure_of(space).distance(built.decode(built.matrix @ flat + sample.values) - flat) < 0.05


def test_cells_and_hats_are_steepest_at_different_pairs():
    query = multiscale(Euclidean([0, 0], [1, 1], step=1 / 32), bandwidths=["0.176777", "cells"])
    total = sum(level.weight * level.query.lipschitz_upper(1) for level in query.levels)
    assert query.lipschitz_upper(1) < 0.95 * total


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.integers(10, 90), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(1, 9), min_size=5, max_size=5),
    st.booleans(),
)
def test_any_levels_and_shares(widths, parts, cells):
    space = Euclidean([0, 0], [1, 0.6], step=0.05)
    # Two cells are 0.1 wide, 0.0858 of the diagonal.
    names = [str(Fraction(w, 100)) for w in widths] + (["cells"] if cells else [])
    shares = [Fraction(x, sum(parts[: len(names)])) for x in parts[: len(names)]]
    query = multiscale(space, bandwidths=names, shares=shares)
    every = by_all_pairs(space, query.table, [1.0])[1.0]
    assert every.lipschitz_upper / (1 + 1e-9) <= query.lipschitz_upper(1) <= every.lipschitz_upper * (1 + 1e-9)
    # What stops the search early holds for every pair.
    values = query.table.integers.toarray() * float(query.step)
    far = space.block()
    quotient = np.abs(values[:, None, :] - values[None, :, :]).sum(axis=2) / np.where(far > 0, far, np.inf)
    for radius in (0.05, 0.1, 0.3, 0.7):
        assert quotient[far >= radius].max(initial=0.0) <= query._beyond(1.0, radius)


def test_a_fine_grid_is_no_worse_than_paper():
    space = Euclidean([0, 0], [1, 1], step=1 / 90)
    query = multiscale(space, bandwidths=["1/4", "1/20"])
    assert query.lipschitz_upper(1) <= query.closed_form.bound(1.0) * (1 + 1e-6)
    some = query.table.integers[::37].toarray() * float(query.step)
    far = space.block(np.arange(0, space.items, 37), np.arange(0, space.items, 37))
    for i in range(0, len(some), 9):
        gap = np.abs(some - some[i]).sum(axis=1)
        assert (gap <= query.lipschitz_upper(1) * far[i] + 1e-12).all()


def test_values_are_weighted_densities():
    query = multiscale(SQUARE, bandwidths=["0.3", "cells"], shares=["1/4", "3/4"])
    coarse, fine = query.levels
    assert max(coarse.weight, fine.weight) == 1.0
    # Shares become weights by 2 sqrt(2)/h and 2/d_min.
    wanted = (0.25 * 0.3 / math.sqrt(8)) / (0.75 * SQUARE.least_distance_lower / 2)
    assert coarse.weight / fine.weight == pytest.approx(wanted, rel=1e-9)
    dense = query.table.integers.toarray() * float(query.step)
    for level, single in ((coarse, density(SQUARE, bandwidth="0.3")), (fine, histogram(SQUARE))):
        part = single.table.integers.toarray() * float(single.step) * level.weight
        assert np.abs(dense[:, level.outputs] - part).max() <= query.rounding_upper
    assert query.outputs[0].startswith("0.3: ")
    assert query.outputs[-1].startswith("cells: ")
    assert len(query.outputs) == query.dimension


def test_equal_shares_by_default_and_plain_data():
    query = multiscale(SQUARE, bandwidths=["0.4", "0.2", "cells"])
    assert query.to_spec()["shares"] == ["1/3", "1/3", "1/3"]
    again = query_from_spec(SQUARE, json.loads(json.dumps(query.to_spec())))
    assert again == query
    assert again.lipschitz_upper(1) == query.lipschitz_upper(1)
    assert multiscale(SQUARE, bandwidths=["0.4", "0.2", "cells"], shares=["0.2", "0.4", "0.4"]) != query


def test_it_is_released_like_any_linear_query():
    query = multiscale(SQUARE, bandwidths=["0.4", "cells"])
    noise = linear_noise(query, 25, users=50)
    answer = noise.draw(UserCounts.of_users(SQUARE, [[0, 5], [17]], users=50).center(query))
    assert answer.values.shape == (query.dimension,)
    assert answer.private
    assert float(noise.scale) == pytest.approx(query.lipschitz_upper(1) / (25 * 50))
    assert noise.event.range_ratio <= 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bandwidths": ["0.05"]}, "at least two cells"),
        ({"bandwidths": ["0.4", "0.01"]}, "bandwidth=0.125"),
        ({"bandwidths": ["1.5"]}, "beyond the largest"),
        ({"bandwidths": ["0.4", "2/5"]}, "occurs twice"),
        ({"bandwidths": []}, "a list of 1 to 16"),
        ({"bandwidths": "0.4"}, "a list of 1 to 16"),
        ({"bandwidths": ["0.4", "0.2"], "shares": ["0.5", "0.6"]}, "sum 1"),
        ({"bandwidths": ["0.4", "0.2"], "shares": ["1.5", "-0.5"]}, "above 0"),
        ({"bandwidths": ["0.4", "0.2"], "shares": ["1", "0"]}, "leave out"),
        ({"bandwidths": ["0.4", "0.2"], "shares": ["1"]}, "one share for each"),
        ({"bandwidths": ["4 km"]}, "0 and 1|bare number"),
    ],
)
def test_bad_input_is_refused_with_what_to_type(arguments, words):
    with pytest.raises(ParameterError, match=words) as caught:
        multiscale(SQUARE, **arguments)
    assert caught.value.fix


def test_what_the_error_says_to_type_works():
    with pytest.raises(ParameterError) as caught:
        multiscale(SQUARE, bandwidths=["0.4", "0.2"], shares=["2", "6"])
    assert caught.value.fix == 'shares=["0.25", "0.75"]'
    assert multiscale(SQUARE, bandwidths=["0.4", "0.2"], shares=["0.25", "0.75"]).dimension > 0
    with pytest.raises(ParameterError, match="needs places"):
        multiscale(Discrete(["a", "b"]), bandwidths=["1"])
    with pytest.raises(ParameterError, match="step"):
        multiscale(Euclidean([0, 0], [1, 1]), bandwidths=["1/2"])


@pytest.mark.parametrize("space", SPACES[:4], ids=lambda s: f"{s.kind}-{s.items}")
def test_one_density_finer_than_the_grid_is_refused_kindly(space):
    width = f"{0.5 * space.diameter / space.items ** (1 / getattr(space, 'dimension', 1)):.6g} {space.unit}".strip()
    with pytest.raises(ParameterError, match="at least two cells") as caught:
        density(space, bandwidth=width)
    assert "bandwidth=" in caught.value.fix


@pytest.mark.parametrize("space", SPACES, ids=lambda s: f"{s.kind}-{s.items}")
def test_dyadic_bandwidths_are_accepted(space):
    names = dyadic_bandwidths(space)
    assert names[-1] == "cells"
    assert len(names) == len(set(names))
    for name in names[1:]:
        multiscale(space, bandwidths=[name])


def test_usual_constant():
    line = Line(0, 1, step=0.01)
    assert usual_constant(density(line, bandwidth="1/10"), 0.1) == 20.0
