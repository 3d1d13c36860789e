"""Noise along edges: exact node sums by mpmath, one number for both ends, the cones of cycles, wrong ones rejected."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial import ConvexHull

from barrow.errors import ParameterError
from barrow.noise import Center, edge_grid, rounded_edges
from barrow.noise.additive.graph_noise import NodeSums, cones, cycle_moments, cycle_signs, weighted
from barrow.noise.additive.rounded import Rounder
from barrow.noise.additive.variates import Exponential, SymmetricVariates
from barrow.noise.source import SeededSource
from tests.noise.conftest import ScriptedSource, laplace_variate

FAIR, FALSE = 1e-4, 1e-9
CYCLES = [(1.0, 1.0, 1.0, 1.0), (1.0, 4.0, 1.0, 4.0), (0.3, 0.7, 0.9, 0.4), (0.1, 0.2, 0.3, 2.0)]


def _grid(rows, columns):
    ids = np.arange(rows * columns).reshape(rows, columns)
    tails = np.concatenate([ids[:-1].ravel(), ids[:, :-1].ravel()])
    heads = np.concatenate([ids[1:].ravel(), ids[:, 1:].ravel()])
    return tails, heads


def _random_graph(rng, nodes, extra):
    tree = [(int(rng.integers(0, v)), v) for v in range(1, nodes)]
    more = [tuple(rng.choice(nodes, 2, replace=False).tolist()) for _ in range(extra)]
    tails, heads = np.array(tree + more).T
    return tails, heads, rng.uniform(0.01, 2.0, len(tails))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), extension=st.integers(0, 2**64 - 1), coarse=st.integers(0, 30))
def test_nodes_are_rounded_as_high_precision_says(seed, extension, coarse):
    """The whole computation again at 700 bits, from the limits of the uniforms."""
    rng = np.random.default_rng(seed)
    tails, heads, lengths = _random_graph(rng, 6, 4)
    words = rng.integers(0, 2**64, len(tails), dtype=np.uint64)
    words[0] = rng.integers(0, 2**20)  # a tiny uniform
    center = [Fraction(int(x), 997) for x in rng.integers(-1000, 1000, 6)]
    scale = Fraction(int(rng.integers(1, 1000)), 10**6)
    grid = min(scale / Fraction(float(lengths.max())), Fraction(2) ** (-20 - coarse))
    result = rounded_edges(center, tails, heads, lengths, scale, grid=grid, source=ScriptedSource(words, extension))
    with mpmath.workprec(700):
        sums = [mpmath.mpf(0)] * 6
        for edge, word in enumerate(words.tolist()):
            size = Fraction(float(lengths[edge]))
            eta = laplace_variate(word, extension) * size.denominator / size.numerator
            sums[heads[edge]] += eta
            sums[tails[edge]] -= eta
        ratio = scale / grid
        shifts = [q / grid + Fraction(1, 2) for q in center]
        expected = [
            int(mpmath.floor(mpmath.mpf(s.numerator) / s.denominator + x * ratio.numerator / ratio.denominator))
            for s, x in zip(shifts, sums, strict=True)
        ]
    assert result.integers.tolist() == expected


def test_nodes_at_a_boundary_are_decided_by_more_bits():
    """A value is put 2^-200 cells on either side of a boundary: floats cannot tell, the bits can."""
    words, extension = np.array([3 * 2**61, 2**64 - 2**62], dtype=np.uint64), 2**63 + 12345
    with mpmath.workprec(700):
        z = [laplace_variate(int(w), extension) for w in words]
        inner = Fraction(int(mpmath.floor((z[0] / 0.5 - z[1] / 0.25) * 2**400)), 2**400)
    scale, grid = Fraction(1, 1000), Fraction(1, 2**40)
    for side in (-1, 1):
        middle = (Fraction(5, 2) + Fraction(side, 2**200)) * grid - scale * inner
        source = ScriptedSource(words, extension)
        result = rounded_edges([0, middle, 0], [0, 1], [1, 2], [0.5, 0.25], scale, grid=grid, source=source)
        assert result.integers[1] == (3 if side > 0 else 2)
        assert source.extensions > 2


def test_wider_bounds_change_nothing():
    """Bounds 2000 times as wide send many nodes to ball arithmetic, and none comes back different."""
    tails, heads = _grid(60, 60)
    lengths = np.random.default_rng(0).uniform(0.01, 0.02, len(tails))
    center = Center.from_integers(np.random.default_rng(1).integers(0, 50, 3600), 90000)
    scale = Fraction(1, 25000)
    grid = edge_grid(scale, float(lengths.max()))
    results = []
    for inflate in (1.0, 2000.0):
        source = SeededSource(5)
        sums = NodeSums(3600, tails, heads, lengths, SymmetricVariates(Exponential(), source.words(len(tails)), source))
        sums = replace(sums, inflate=inflate)
        rounder = Rounder(center, scale, grid)
        open_nodes = rounder._by_floats(sums, 0, 3600)[1].size
        rounder.add(sums, 0, 3600)
        results.append((open_nodes, rounder.integers()))
    assert results[0][0] <= 2
    assert results[1][0] > 5
    assert np.array_equal(results[0][1], results[1][1])


def test_floats_are_within_their_bound_of_balls():
    rng = np.random.default_rng(2)
    tails, heads, lengths = _random_graph(rng, 400, 600)
    heads[:300], tails[:300] = np.arange(1, 301), 0  # a node with many edges is summed without rounding
    source = SeededSource(8)
    factors = rng.integers(-1, 2, len(tails)).astype(float)
    sample = SymmetricVariates(Exponential(), source.words(len(tails)), source)
    sums = NodeSums(400, tails, heads, lengths, sample, factors)
    rough = sums.approximate()
    for node in range(0, 400, 7):
        assert abs(float(sums.ball(node, 160).mid()) - rough.values[node]) <= rough.error[node]
    assert rough.error.max() < 1e-8


def test_both_ends_use_one_number():
    """What is added at heads is subtracted at tails: values of 2,500 nodes add up, within half a cell each."""
    tails, heads = _grid(50, 50)
    lengths = np.full(len(tails), 0.02)
    result = rounded_edges(np.zeros(2500, dtype=int), tails, heads, lengths, 1, source=SeededSource(3))
    assert np.abs(result.values).max() > 100
    assert abs(result.integers.sum()) <= 2500 / 2
    # Rounding errors are independent: their sum is far below what two separate draws for an edge would leave.
    assert abs(result.integers.sum()) < 6 * math.sqrt(2500 / 12)


@pytest.mark.parametrize("length", [0.5, 0.001])
def test_scale_of_an_edge(length):
    """Pairs of nodes with one edge each: the head's value is Laplace with scale 1/length."""
    count = 250_000
    tails, heads = np.arange(count), np.arange(count) + count
    result = rounded_edges(
        np.zeros(2 * count, dtype=int), tails, heads, np.full(count, length), "0.25", source=SeededSource(4)
    )
    values = result.values[count:] * length * 4
    assert np.array_equal(result.integers[:count], -result.integers[count:])
    assert stats.kstest(values, stats.laplace.cdf).pvalue > FAIR
    for factor in (0.95, 1.05):
        assert stats.kstest(values * factor, stats.laplace.cdf).pvalue < FALSE


def norm(z, lengths):
    """||z|| of a cycle: the least sum of l |f - c| over the constants c, by trying every median."""
    flow = np.cumsum(z, axis=-1)
    return np.min([(np.abs(flow - flow[..., [k]]) * lengths).sum(axis=-1) for k in range(len(lengths))], axis=0)


@pytest.mark.parametrize("lengths", [*CYCLES, (1.0, 2.0, 1.5), (0.2, 0.3, 0.4, 0.5, 0.6)])
def test_every_flow_is_in_exactly_one_cone(lengths):
    rng = np.random.default_rng(7)
    signs, weights = cones(lengths)
    assert all(w > 0 for w in weights)
    exact = [Fraction(x) for x in lengths]
    for _ in range(300):
        flow = [Fraction(int(x)) for x in rng.integers(-(10**6), 10**6, len(lengths))]
        inside = []
        for row in signs:
            k = row.index(0)
            shifted = [f - flow[k] for f in flow]
            if all((f > 0) == (s > 0) and f != 0 for f, s in zip(shifted, row, strict=True) if s):
                inside.append((k, sum(x * abs(f) for x, f in zip(exact, shifted, strict=True))))
        assert len(inside) == 1
        least = min(sum(x * abs(f - c) for x, f in zip(exact, flow, strict=True)) for c in flow)
        assert inside[0][1] == least


@pytest.mark.parametrize("lengths", [*CYCLES[:3], (1.0, 2.0, 1.5), (0.2, 0.3, 0.4, 0.5, 0.6)])
def test_cones_fill_the_unit_ball(lengths):
    """The ball is the hull of unit flows along single edges; its volume is the sum of the cones' simplices."""
    size = len(lengths)
    corners = []
    for i, length in enumerate(lengths):
        z = np.zeros(size)
        z[i], z[(i + 1) % size] = -1 / length, 1 / length
        corners += [z[:-1], -z[:-1]]
    volume = ConvexHull(np.array(corners)).volume
    signs, _ = cones(lengths)
    simplices = sum(math.prod(1 / lengths[i] for i in range(size) if row[i]) for row in signs)
    assert simplices / math.factorial(size - 1) == pytest.approx(volume, rel=1e-9)


def draw_cycles(lengths, count, seed=9):
    """Node values of many separate cycles, in units of the scale."""
    size = len(lengths)
    start = np.arange(count)[:, None] * size
    tails, heads = (start + np.arange(size)).ravel(), (start + (np.arange(size) + 1) % size).ravel()
    cycles = np.arange(count * size).reshape(count, size)
    result = rounded_edges(
        np.zeros(count * size, dtype=int), tails, heads, np.tile(lengths, count), 1,
        cycles=cycles, turns=np.ones((count, size), dtype=int), source=SeededSource(seed),
    )  # fmt: skip
    return result.values.reshape(count, size)


@pytest.mark.parametrize("lengths", CYCLES)
def test_the_norm_of_a_cycle_is_gamma_distributed(lengths):
    z = draw_cycles(lengths, 40_000)
    # D subtracts at the tail: node i has f_(i-1) - f_i, so that running sums are -f up to a constant.
    size = norm(z, np.array(lengths))
    assert np.abs(z.sum(axis=1)).max() < 1e-4
    assert stats.kstest(size, stats.gamma(3).cdf).pvalue > FAIR
    for factor in (0.95, 1.05):
        assert stats.kstest(size * factor, stats.gamma(3).cdf).pvalue < FALSE


def _direction(lengths, count, seed):
    """z_1^2/||z||^2 by rejection from a box: no cones are used."""
    rng, results = np.random.default_rng(seed), []
    reach = [1 / min(lengths[i - 1], lengths[i]) for i in range(3)]
    while sum(map(len, results)) < count:
        x = rng.uniform(-1, 1, (10**6, 3)) * reach
        z = np.column_stack([x, -x.sum(axis=1)])
        size = norm(z, np.array(lengths))
        results.append((z[:, 0] ** 2 / size**2)[size < 1])
    return np.concatenate(results)[:count]


def test_a_rectangle_has_the_right_directions_and_uniform_cones_are_caught(monkeypatch):
    lengths = (1.0, 4.0, 1.0, 4.0)
    right = _direction(lengths, 30_000, 1)

    def ours():
        z = draw_cycles(lengths, 30_000, 11)
        return z[:, 0] ** 2 / norm(z, np.array(lengths)) ** 2

    assert stats.ks_2samp(ours(), right).pvalue > FAIR
    import barrow.noise.additive.graph_noise as edges

    wrong = cones(lengths)[0], (1,) * 12
    monkeypatch.setattr(edges, "cones", lambda _: wrong)
    sample = ours()
    assert stats.ks_2samp(sample, right).pvalue < FALSE
    assert abs(sample.mean() - 0.153) < 0.004
    assert abs(right.mean() - 0.172) < 0.004


def test_moments_of_cycles():
    """Against values that were found by summing over cones by hand."""

    def covariance(lengths):
        moments = np.array(cycle_moments(lengths))
        turn = np.roll(np.eye(len(lengths)), 1, axis=0) - np.eye(len(lengths))
        return turn @ moments @ turn.T

    assert covariance((1.0, 1.0, 1.0, 1.0))[0] == pytest.approx([10 / 3, -5 / 3, 0, -5 / 3])
    assert sorted(covariance((1.0, 2.0, 1.0, 2.0))[0]) == pytest.approx(sorted([23 / 10, -39 / 20, 3 / 20, -1 / 2]))
    assert covariance((1.0, 1.0, 1.0))[0] == pytest.approx([10 / 3, -5 / 3, -5 / 3])
    z = draw_cycles((1.0, 2.0, 1.0, 2.0), 200_000)
    assert np.cov(z.T) == pytest.approx(covariance((1.0, 2.0, 1.0, 2.0)), abs=0.05)


def test_a_long_edge_is_ignored():
    signs, _ = cones((0.1, 0.2, 0.3, 2.0))
    assert {row.index(0) for row in signs} == {3}
    assert len(signs) == 8


def test_turns_say_which_way_an_edge_is_passed():
    """The same cycle with one edge named the other way: the noise at nodes has the same distribution."""
    count = 30_000
    first = np.arange(count)[:, None] * 4
    tails, heads = first + np.array([0, 2, 2, 3]), first + np.array([1, 1, 3, 0])
    turns = np.tile([1, -1, 1, 1], (count, 1))
    lengths = np.tile((1.0, 2.0, 1.0, 2.0), count)
    cycles = np.arange(4 * count).reshape(count, 4)

    def draw(ways):
        result = rounded_edges(
            np.zeros(4 * count, dtype=int), tails.ravel(), heads.ravel(), lengths, 1,
            cycles=cycles, turns=ways, source=SeededSource(12),
        )  # fmt: skip
        return norm(result.values.reshape(count, 4), np.array((1.0, 2.0, 1.0, 2.0)))

    assert stats.kstest(draw(turns), stats.gamma(3).cdf).pvalue > FAIR
    assert stats.kstest(draw(np.ones_like(turns)), stats.gamma(3).cdf).pvalue < FALSE


@pytest.mark.parametrize("weights", [(1, 1, 1), (5, 1, 2, 9), (10**20, 1, 10**20 + 7), tuple(range(1, 13))])
def test_weighted_draws_are_exact_at_every_boundary(weights):
    """Words around each threshold, extended by zeros or ones, land where exact fractions say."""
    total = sum(weights)
    sums = list(itertools.accumulate(weights))
    for s in sums[:-1]:
        for word in {(s << 64) // total + shift for shift in (-1, 0, 1)}:
            for extension in (0, 2**64 - 1, 2**63):
                result = weighted(np.array([word], dtype=np.uint64), weights, ScriptedSource([], extension))[0]
                number = (Fraction(word) + Fraction(extension, 2**64 - 1)) / 2**64
                if all(number != Fraction(x, total) for x in sums):
                    assert result == sum(number >= Fraction(x, total) for x in sums[:-1])


def test_cones_are_drawn_with_their_weights():
    lengths = np.tile((1.0, 4.0, 1.0, 4.0), (60_000, 1))
    signs, weights = cones((1.0, 4.0, 1.0, 4.0))
    result = cycle_signs(lengths, SeededSource(2))
    counts = np.array([(result == row).all(axis=1).sum() for row in signs])
    expected = np.array(weights) / sum(weights) * len(lengths)
    assert counts.sum() == len(lengths)
    assert stats.chisquare(counts, expected).pvalue > FAIR
    assert stats.chisquare(counts, np.full(12, len(lengths) / 12)).pvalue < FALSE


def test_a_hundred_thousand_nodes_take_less_than_half_a_second():
    tails, heads = _grid(316, 317)
    lengths = np.full(len(tails), 1 / 500)
    center = Center.from_integers(np.arange(316 * 317) % 7, 10**6)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        rounded_edges(center, tails, heads, lengths, "1/25000")
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.5


GOOD = {"center": [0, 0], "tails": [0], "heads": [1], "lengths": [0.5], "scale": 1}
WRONG = {
    "no edges": ({"tails": [], "heads": [], "lengths": []}, "no edges"),
    "ends": ({"tails": [0, 1]}, "not as many ends"),
    "node": ({"heads": [2]}, "without a value"),
    "negative": ({"heads": [-1]}, "no end"),
    "zero": ({"lengths": [0.0]}, "not above 0"),
    "nan": ({"lengths": [math.nan]}, "not above 0"),
    "scale": ({"scale": 0}, "scale is 0"),
    "coarse": ({"grid": 3}, "grid is 3"),
    "no grid": ({"grid": 0}, "grid is 0"),
    "source": ({"source": 7}, "no source"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused(name):
    change, pattern = WRONG[name]
    arguments = GOOD | change
    with pytest.raises(ParameterError, match=pattern):
        rounded_edges(
            arguments.pop("center"), arguments.pop("tails"), arguments.pop("heads"), arguments.pop("lengths"),
            arguments.pop("scale"), **arguments,
        )  # fmt: skip


def test_values_from_a_seed_are_marked():
    assert not rounded_edges([0, 0], [0], [1], [1.0], 1, source=SeededSource(1)).private
    assert rounded_edges([0, 0], [0], [1], [1.0], 1).private


def test_node_sums():
    source = SeededSource(1)
    sample = SymmetricVariates(Exponential(), source.words(2), source)
    sums = NodeSums(3, np.array([0, 1]), np.array([1, 2]), np.array([0.5, 0.25]), sample)
    assert abs(sums.approximate().values.sum()) < 1e-12


def test_cones():
    signs, weights = cones((1.0, 1.0, 1.0, 1.0))
    assert len(signs) == 12
    assert set(weights) == {1}
    assert sorted(cones((1.0, 2.0, 1.0, 2.0))[1]) == [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]


def test_cycle_moments():
    assert [round(x, 9) for x in cycle_moments((1.0, 1.0, 1.0, 1.0))[0]] == [
        1.5,
        -0.166666667,
        -0.166666667,
        -0.166666667,
    ]


def test_cycle_signs():
    signs = cycle_signs(np.ones((5, 4)), SeededSource(1))
    assert (signs == 0).sum(axis=1).tolist() == [1, 1, 1, 1, 1]


def test_weighted():
    assert weighted(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), (1, 1, 2), SeededSource(1)).tolist() == [0, 2, 2]
