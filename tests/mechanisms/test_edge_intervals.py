"""Sums of edge noises, intervals of regions, and the least possible errors: each by a second route."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import gammainccinv
from tests.thorough import often

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.mechanisms.edge_intervals import (
    RegionInterval,
    any_region_miss,
    chosen_region_interval,
    half_width,
    node_weights,
    noise_of,
    simple_region_miss,
)
from barrow.mechanisms.edge_noise import node_half_widths
from barrow.mechanisms.edge_sums import EdgeSum, _log_equal_tail, equal_half_width, laplace_half_widths
from barrow.mechanisms.floors import noise_floor_lower, worst_case_floor_lower
from barrow.mechanisms.region_weights import region_interval
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.spaces import Clustered, Euclidean, Line
from barrow.transport import emd

SQUARE = Euclidean([0, 0], [1, 1], step=1 / 8)


def drawn(plan, source):
    return plan.draw(Center.from_integers(np.zeros(plan.graph.nodes, dtype=np.int64)), source).values


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_the_weights_of_equal_scales_are_those_of_partial_fractions(k):
    weights = [Fraction(math.comb(2 * k - j - 1, k - 1), 2 ** (2 * k - j)) for j in range(1, k + 1)]
    assert sum(weights) == Fraction(1, 2)
    for x in (0.0, 0.5, 3.0, 11.0):
        gamma = [math.exp(-x) * sum(x**i / math.factorial(i) for i in range(j)) for j in range(1, k + 1)]
        exact = sum(float(w) * g for w, g in zip(weights, gamma, strict=True))
        assert math.exp(_log_equal_tail(k, x)) == pytest.approx(exact)


def test_half_widths_of_equal_scales_are_those_on_paper():
    known = {1: 2.996, 2: 4.113, 4: 5.693, 8: 7.947, 16: 11.163, 64: 22.21}
    for k, width in known.items():
        assert equal_half_width(k, 0.05) == pytest.approx(width, abs=5e-3)
    # All 278,784 rectangles of 32 x 32, by perimeter.
    for k, width in {4: 21.2, 8: 26.3, 16: 34.0, 32: 45.2, 64: 61.6}.items():
        assert equal_half_width(k, 0.05 / 278_784) == pytest.approx(width, abs=0.06)


@pytest.mark.parametrize("scales", [[1.0] * 8, [4.0, 4.0, *[0.1] * 30], [0.3, 1.0, 2.0, 5.0]])
def test_the_convolution_is_safe_and_close(scales):
    noise = EdgeSum(np.array(scales))
    # Distinct scales that hardly differ force the convolution, and may only be wider.
    result = EdgeSum(np.array(scales) * (1.0 + 1e-7 * np.arange(len(scales)))).half_width(0.05)
    sample = np.abs(np.random.default_rng(1).laplace(size=(400_000, len(scales))) @ np.array(scales))
    missed = float((sample > result).mean())
    assert 0.047 < missed <= 0.0505
    assert noise.deviation**2 == pytest.approx(2 * sum(s * s for s in scales))
    if len(set(scales)) == 1:
        assert noise.half_width(0.05) <= result <= 1.01 * noise.half_width(0.05)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(0.05, 5.0), min_size=1, max_size=6), st.integers(0, 5), st.floats(1.0, 3.0))
def test_larger_scales_are_never_narrower(scales, which, factor):
    """Peakedness (Birnbaum): rounding a scale up is safe."""
    wider = list(scales)
    wider[which % len(scales)] *= factor
    low, high = (EdgeSum(np.array(s)).half_width(0.05) for s in (scales, wider))
    assert low <= high * 1.005


CLASSES = {
    "one": ([1, 0, 0, 0], lambda t: (3 + t**2) / (3 * (1 + t**2) ** 2)),
    "adjacent": ([1, 1, 0, 0], lambda t: (3 + t**2) / (3 * (1 + t**2) ** 2)),
    "diagonal": ([1, 0, 1, 0], lambda t: (3 - t**2) / (3 * (1 + t**2) ** 3)),
    "three": ([1, 1, 1, 0], lambda t: (3 + t**2) / (3 * (1 + t**2) ** 2)),
}


@pytest.mark.parametrize("name", CLASSES)
def test_the_part_of_a_unit_cycle_has_the_characteristic_function_on_paper(name):
    nodes, paper = CLASSES[name]
    change = np.roll(nodes, -1) - np.array(nodes)
    noise = EdgeSum(np.zeros(0), change[None, :].astype(float), np.ones((1, 4)))
    for t in (0.0, 0.4, 1.0, 2.5):
        total = 0.0
        for share, signed, _ in noise._mixtures:
            total += share @ np.prod(1.0 / (1.0 - 1j * t * signed), axis=1)
        assert total == pytest.approx(paper(t), abs=1e-12)
    second = -(paper(1e-3) - 2 * paper(0.0) + paper(-1e-3)) / 1e-6
    assert noise.deviation**2 == pytest.approx(second, rel=1e-4)


def test_intervals_of_faces_cover_what_they_say():
    plan = edge_histogram(SQUARE, 25, users=1000)
    rng = np.random.default_rng(3)
    regions = []
    for _ in range(12):
        a, b = np.sort(rng.integers(0, 9, 2)), np.sort(rng.integers(0, 9, 2))
        mask = np.zeros((8, 8), dtype=bool)
        mask[a[0] : max(a[1], a[0] + 1), b[0] : max(b[1], b[0] + 1)] = True
        if not mask.all() and mask.any():
            regions.append(mask.ravel())
    widths = [half_width(plan, node_weights(plan, mask)[0]) for mask in regions]
    source = SeededSource(4)
    noise = np.stack([drawn(plan, source) for _ in range(2500)])
    missed = [(np.abs(noise @ mask) > wide).mean() for mask, wide in zip(regions, widths, strict=True)]
    assert 0.043 < np.mean(missed) < 0.054
    assert max(missed) < 0.07
    # A wrong scale is noticed.
    assert np.mean([(np.abs(noise @ m) > 0.8 * w).mean() for m, w in zip(regions, widths, strict=True)]) > 0.08
    deviations = [noise_of(plan, m.astype(float)).deviation for m in regions]
    covariance = plan.covariance
    for mask, deviation in zip(regions, deviations, strict=True):
        assert deviation**2 == pytest.approx(float(mask @ (covariance @ mask)), rel=1e-9)


def test_coarse_nodes_hold_a_region_between_inner_and_outer_weights():
    line = Line(0, 1, step=1 / 32)
    plan = edge_histogram(line, 25, users=200, spacing=1 / 8)
    region = np.arange(5, 20)
    inner, outer = node_weights(plan, region)
    mask = np.zeros(32)
    mask[region] = 1.0
    hats = plan.decoder.weights
    assert (hats @ inner <= mask + 1e-12).all()
    assert (hats @ outer >= mask - 1e-12).all()
    truth = np.random.default_rng(1).dirichlet(np.full(32, 0.2))
    source = SeededSource(2)
    held, times = 0, often(100, 300)
    for _ in range(times):
        result = region_interval(plan, hats.T @ truth + drawn(plan, source), region)
        held += result.low <= truth[region].sum() <= result.high
    assert held >= 0.95 * times


def test_nodes_without_items_take_the_side_that_cuts_less():
    from barrow.spaces.spanners import star_graph

    space = Clustered.grid(2, 3, r=0.2)
    plan = edge_histogram(space, 5, users=100, graph=star_graph(space))
    for region, expected in (([0], 1), ([0, 1, 2, 3, 4], 1), ([0, 1], 2)):
        inner, outer = node_weights(plan, region)
        assert (inner == outer).all()
        assert len(noise_of(plan, inner).scales) == expected


def test_all_simple_regions_of_a_tiny_grid_are_counted():
    square = Euclidean([0, 0], [1, 1], step=1 / 3)
    plan = edge_histogram(square, 25, users=1000, blocks="edges")
    values = plan.draw(UserCounts.of_users(square, [[4]], users=1000).center(plan.query)).values
    counts: dict[int, int] = {}
    for bits in product([False, True], repeat=9):
        mask = np.array(bits)
        if mask.all() or not mask.any() or not mask[0]:
            continue  # a region and its outside have one boundary
        try:
            chosen_region_interval(plan, values, mask)
        except ParameterError:
            continue
        k = len(noise_of(plan, mask.astype(float)).scales)
        counts[k] = counts.get(k, 0) + 1
    assert sum(counts.values()) > 50
    for k, number in counts.items():
        allowed = (plan.graph.edges / k + 4) * 3.0 ** (k - 1)
        assert number <= allowed
        assert number * simple_region_miss(plan, k) <= 0.05 * 6 / (math.pi * k) ** 2 * (1 + 1e-12)
    # The figures on paper: perimeters of 32 x 32, in scales.
    large = edge_histogram(Euclidean([0, 0], [1, 1], step=1 / 32), 25, users=1000, blocks="edges")
    for k, width in {4: 21.7, 8: 33.3, 16: 55.0, 32: 96.9, 64: 179.0}.items():
        assert equal_half_width(k, simple_region_miss(large, k)) == pytest.approx(width, rel=0.01)


def test_bad_regions_are_refused():
    line = Line(0, 1, step=1 / 8)
    plan = edge_histogram(line, 25, users=1000)
    for call in (
        lambda: region_interval(plan, np.zeros(8), np.ones(3, dtype=bool)),
        lambda: region_interval(plan, np.zeros(8), [3], miss=0.0),
        lambda: simple_region_miss(plan, 1),
        lambda: half_width(plan, [1.0]),
    ):
        with pytest.raises(ParameterError):
            call()


def test_the_flow_of_the_noise_has_the_gamma_distribution():
    plan = edge_histogram(SQUARE, 25, users=1000)
    source = SeededSource(5)
    from barrow.transport.graph_flow import cheapest_flow

    g = plan.graph
    costs = [cheapest_flow(g, drawn(plan, source)).upper for _ in range(60)]
    # The cost of the drawn flow is a Gamma variate, and the cheapest flow costs no more.
    assert max(costs) <= gammainccinv(plan.freedom, 0.05) * float(plan.scale) + float(plan.grid) / 2 * g.nodes
    assert np.mean(costs) <= plan.noise_cost_upper


def test_no_noise_is_below_the_floor():
    rng = np.random.default_rng(0)
    source = SeededSource(6)
    for space, blocks in ((SQUARE, "faces"), (SQUARE, "edges"), (Line(0, 1, step=1 / 16), "edges")):
        plan = edge_histogram(space, 25, users=1000, blocks=blocks)
        uniform = np.full(space.items, 1 / space.items)
        sizes = []
        for _ in range(40):
            noise = drawn(plan, source)[: space.items]
            sizes.append(float(emd(space, uniform + noise - noise.mean(), uniform)))
        floor = noise_floor_lower(space.items, 25, users=1000)
        assert np.mean(sizes) >= floor * (1 - 3 / math.sqrt(40 * space.items))
        assert np.mean(np.square(sizes)) >= noise_floor_lower(space.items, 25, users=1000, moment=2) * 0.9
    del rng


def line_floor(rate, points=None):
    """On [0, 1] the largest of (1/k)/(1 + exp(rate/k^2)); on equally spaced points k divides their number minus 1."""
    most = int(3 * math.sqrt(rate)) + 4 if points is None else points - 1
    ks = [k for k in range(1, most + 1) if points is None or (points - 1) % k == 0]
    return max(1 / k / (1 + math.exp(min(700, rate / k**2))) for k in ks)


def square_floor(rate, side=None):
    """On [0, 1]^2 the largest of h/(1 + exp(2 rate h/k^2)), h = 1/(sqrt2 k), k even; on cells k divides the side."""
    most = int(4 * rate ** (1 / 3)) + 4 if side is None else side
    ks = [k for k in range(2, most + 1, 2) if side is None or side % k == 0]
    return max(1 / (math.sqrt(2) * k) / (1 + math.exp(min(700, math.sqrt(2) * rate / k**3))) for k in ks)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_line_floor_is_the_optimum_over_all_mechanisms(k):
    """A linear programme: mechanisms from 2^k populations to distribution functions on a lattice of outcomes."""
    rate = 2.0 * k * k
    sigmas = list(product([0, 1], repeat=k))
    # By symmetry outcomes may be restricted to the populations themselves.
    size = len(sigmas)
    far = np.array([[sum(a != b for a, b in zip(s, t, strict=True)) / k**2 for t in sigmas] for s in sigmas])
    rows = []
    for i, j in product(range(size), repeat=2):
        if sum(a != b for a, b in zip(sigmas[i], sigmas[j], strict=True)) == 1:
            for o in range(size):
                row = np.zeros(size * size)
                row[i * size + o], row[j * size + o] = 1.0, -math.exp(rate / k**2)
                rows.append(row)
    equal = np.kron(np.eye(size), np.ones(size))
    result = linprog(far.ravel() / size, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=equal, b_eq=np.ones(size))
    assert result.fun == pytest.approx((1 / k) / (1 + math.exp(rate / k**2)), rel=1e-6)
    assert line_floor(rate) >= result.fun * (1 - 1e-6)


def test_floors_are_those_on_paper_and_scale():
    assert line_floor(1e8) * 1e4 == pytest.approx(0.2779, abs=2e-4)
    assert square_floor(1e9) * 1e3 == pytest.approx(0.1889, abs=5e-4)
    assert square_floor(2.5e5) == pytest.approx(0.0030, abs=5e-5)
    line = Line(0, 1, points=np.linspace(0, 1, 101))
    assert worst_case_floor_lower(line, 25, users=400) >= line_floor(1e4, points=101) * (1 - 1e-6)
    grid = Euclidean([0, 0], [1, 1], step=1 / 32)
    assert worst_case_floor_lower(grid, 25, users=1000) >= square_floor(2.5e4, side=32) * (1 - 1e-6)
    assert noise_floor_lower(1, 25, users=10) == 0.0
    with pytest.raises(ParameterError):
        noise_floor_lower(10, 25, users=0)
    with pytest.raises(ParameterError):
        worst_case_floor_lower(line, 0, users=10)


@pytest.mark.parametrize("reports", [1, 3])
def test_the_series_agrees_with_numerical_inversion(reports):
    """Gil-Pelaez's integral for the tail of Laplace variables and a rectangle's cycle: the level is kept, closely."""
    from scipy.integrate import quad

    from barrow.noise.additive.graph_noise import cones

    scales, turn, lengths = np.array([0.7, 1.3]), np.array([1.0, -1.0, 0.5, -0.5]), (1.0, 2.0, 1.0, 2.0)
    noise = EdgeSum(scales, turn[None, :], np.array([lengths]), reports=reports)
    signs, weights = cones(lengths)
    share = np.array([float(w) for w in weights]) / sum(weights)

    def phi(t):
        t = t / reports
        cycle = sum(
            s * np.prod(1 / (1 - 1j * t * np.array(c) * turn / lengths)) for s, c in zip(share, signs, strict=True)
        )
        assert abs(cycle.imag) < 1e-12
        return float((cycle.real * np.prod(1 / (1 + (scales * t) ** 2))) ** reports)

    for level in (0.3, 0.05, 1e-3):
        x = noise.half_width(level)
        tail = 1 - 2 / math.pi * quad(lambda t, x=x: phi(t) * math.sin(t * x) / t, 0, 200, limit=2000)[0]
        assert 0.995 * level - 1e-6 < tail <= level + 1e-6


def test_region_interval():
    assert RegionInterval(0.2, 0.4, 0.3, 4).around(0.5).estimate == 0.4


def test_noise_of():
    plan = edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1)
    # one boundary, of length 1/4
    assert noise_of(plan, [1, 1, 0, 0]).scales.round(6).tolist() == [4.0]


def test_half_width():
    plan = edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1000)
    # ln 20 times 0.004
    assert round(half_width(plan, [1, 1, 0, 0]), 6) == 0.011983


def test_region_interval_of_edge_intervals():
    line = Line(0, 8, step=1, cells=True)
    plan = edge_histogram(line, 25, users=1000)
    sample = plan.draw(UserCounts.of_users(line, [[0, 1, 6]] * 1000).center(plan.query))
    result = region_interval(plan, sample.values, [0, 1, 2, 3])
    assert result.boundary == 1
    assert 0.6 < result.low < result.high < 0.7
    assert round(result.high - result.low, 3) == 0.002


def test_simple_region_miss():
    plan = edge_histogram(Euclidean([0, 0], [1, 1], step=1 / 8), 25, users=1000)
    assert simple_region_miss(plan, 8) < 1e-7


def test_any_region_miss():
    assert any_region_miss(10, 2) < 0.05 / 45


def test_node_half_widths():
    plan = edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1000)
    # one edge, or two
    assert node_half_widths(plan).round(5).tolist() == [0.01198, 0.01646, 0.01646, 0.01198]


def test_laplace_half_widths():
    assert laplace_half_widths(np.array([[1.0, 1.0], [1.0, 2.0]]), 0.05).round(2).tolist() == [4.11, 6.55]


def test_equal_half_width():
    assert [round(equal_half_width(k, 0.05), 3) for k in (1, 2, 4, 16, 64)] == [2.996, 4.113, 5.693, 11.163, 22.211]


def test_node_weights():
    inner, outer = node_weights(edge_histogram(Line(0, 8, step=1), 1, users=1, spacing=4), [0, 1, 2, 3, 4])
    assert inner.tolist() == [1.0, 0.0, 0.0]
    assert outer.tolist() == [1.0, 1.0, 0.0]
