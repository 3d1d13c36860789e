"""Samples at nodes with the aggregators' noise along edges: price, draws, what is planned and what is added."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from barrow.accounting import price
from barrow.accounting.sampling import sampled_alpha_upper
from barrow.audit.summed import audit_samples
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.sampled_sums import _spread, inner_for, sampled_edge_noise, samples_for
from barrow.noise.source import SeededSource
from barrow.promises import Aggregation, SampledItems, SecureSum
from barrow.spaces import Circle, Discrete, Euclidean, Line, NeighbourGraph

SQUARE = Euclidean([0, 0], [1, 1], step=1 / 6)


def test_samples_on_a_triangle_keep_alpha_in_462_pairs():
    finding = audit_samples(3, 4, Fraction(2))
    assert (finding.pairs, finding.wrong) == (462, 0)
    assert finding.used > 0.4


@pytest.mark.parametrize("space", [SQUARE, Circle(24, step=1), Line(0, 10, step=1)])
@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(25), Fraction(200)])
def test_the_price_of_samples_is_within_alpha(space, alpha):
    noise = sampled_edge_noise(space, alpha, users=1000)
    event = noise.event
    assert isinstance(event, SampledItems)
    assert isinstance(event.inner, SecureSum)
    kept = price(event).definition.alpha
    assert Fraction(95, 100) * alpha < kept <= alpha
    # Every p is at least e^-t, and rational.
    t = np.array([float(noise.inner * Fraction(length) / noise.samples) for length in noise.plan.graph.lengths])
    assert (np.array([float(p) for p in noise.ratios]) >= np.exp(-t)).all()


def test_samples_that_lie_farther_apart_than_items_are_paid_for():
    """Items that two nodes carry are 1 apart along this path; their samples may be at its ends, 2 apart."""
    csr_array = pytest.importorskip("scipy.sparse").csr_array
    path = NeighbourGraph(3, [0, 1], [1, 2], [1.0, 1.0], csr_array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]))
    assert 2 <= _spread(Discrete(["a", "b"]), path) < 2 + 1e-9
    # Where samples are items nothing is paid for that, however roughly the reach of a large graph is known.
    large = Circle(2500, step=1)
    assert _spread(large, large.graph()) == 1


@pytest.mark.parametrize("samples", [10, 1023, 2**20 - 1])
def test_the_inner_alpha_is_rounded_down(samples):
    for alpha in (Fraction(1, 3), Fraction(25), Fraction(7 * samples)):
        inner = inner_for(alpha, samples)
        assert Fraction(sampled_alpha_upper(inner, samples)) <= alpha


def test_samples_are_of_the_persons_own_items_at_their_nodes():
    """Hats share an item between nodes: 40 answers of 16,383 samples in the exact shares, false alarm below 1e-6."""
    space = Line(0, 5, points=[0, 1, 3, 4])
    noise = sampled_edge_noise(space, 25, users=1000, spacing=2)
    query = noise.plan.query
    table = query.table.floats().toarray() * float(query.step)
    items = np.array([1, 1, 2, 3])
    drawn = np.array([noise.sample(query, items, source=SeededSource(i)) for i in range(40)])
    assert (drawn.sum(axis=1) == noise.samples).all()
    shares, total = table[items].mean(axis=0), int(drawn.sum())
    off = np.abs(drawn.sum(axis=0) - total * shares)
    assert (off <= 5.0 * np.sqrt(total * shares * (1 - shares))).all()
    assert off.sum() < np.abs(drawn.sum(axis=0) - total * np.roll(shares, 1)).sum() / 20
    nobody = noise.sample(query, np.zeros(0, dtype=np.int64), source=SeededSource(1))
    assert nobody[0] == noise.samples  # the default item is the first


def test_answers_have_one_sum():
    noise = sampled_edge_noise(SQUARE, 25, users=1000)
    form = noise.form
    assert set(form.most) == {noise.samples}
    assert [(len(g.members), g.floor, g.span) for g in form.groups] == [(noise.dimension, noise.samples, 0)]
    assert form.decode([noise.samples * 10] * noise.dimension, 10) == [Fraction(1)] * noise.dimension
    assert all(sum(noise.noise_share(source=SeededSource(i))) == 0 for i in range(5))


@pytest.mark.parametrize("people", [100, 10_000])
def test_what_is_planned_has_the_covariance_of_what_is_added(people):
    """Noise of all aggregators at the nodes, 300 times, with the sampling of evenly spread people beside it."""
    parties = Aggregation(2)
    noise = sampled_edge_noise(SQUARE, 25, users=people, parties=parties)
    draws = np.array(
        [
            np.sum([noise.noise_share(source=SeededSource(10 * i + k)) for k in range(parties.aggregators)], axis=0)
            for i in range(300)
        ]
    ) / (people * noise.samples)
    nodes = noise.dimension
    seen = float((draws**2).mean()) + (1 / nodes) * (1 - 1 / nodes) / (people * noise.samples)
    planned = float(noise.plan.covariance.diagonal().mean())
    assert 0.88 < seen / planned < 1.04
    half = math.sqrt(planned) * 1.96
    inside = float((np.abs(draws) <= noise.half_widths(noise.plan.reports)[None, :]).mean())
    assert 0.94 < inside < 0.97
    assert noise.mean_half_width(noise.plan.reports) > half * 0.9


def test_more_people_get_more_samples_and_keep_what_was_planned():
    numbers = [samples_for(n, Fraction(25), 0.1, Aggregation()) for n in (100, 10_000, 10**6)]
    assert numbers == sorted(numbers)
    assert numbers[0] == 1023
    fewer = sampled_edge_noise(SQUARE, 25, users=50, parties=Aggregation(planned=10_000))
    planned = sampled_edge_noise(SQUARE, 25, users=10_000)
    assert (fewer.samples, fewer.inner) == (planned.samples, planned.inner)
    assert fewer.half_width > 100 * planned.half_width


def test_a_map_errs_half_as_much_again_as_a_curators():
    kinds = {"users": 10_000, "spacing": None}
    central = histogram_noise(SQUARE, "edges", 25, **kinds)
    summed = histogram_noise(SQUARE, "edges", 25, model="aggregated", **kinds)
    summed_plan, plan = summed.along_edges.plan, central.along_edges.plan
    ratio = math.sqrt(summed_plan.covariance.diagonal().mean() / plan.covariance.diagonal().mean())
    assert 1.35 < ratio < 1.75
