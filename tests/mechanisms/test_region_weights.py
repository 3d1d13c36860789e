"""Regions on coarse nodes: weights that hold them, worst cases at the border, the range of all that fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks._intervals_truth import released
from scipy.optimize import linprog
from scipy.stats import binom
from tests.thorough import often

from barrow.mechanisms import region_weights
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.mechanisms.edge_intervals import half_width, node_weights
from barrow.mechanisms.histogram_regions import ReleasedShares
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.region_weights import best_end
from barrow.noise.source import SeededSource
from barrow.spaces import Earth, Euclidean, Line, NoRecords

TOWN = Earth(box=(40.0, -74.0, 40.4, -73.4), cell=2)
SPACE = NoRecords(TOWN)
SPACING = TOWN.diameter / 9
PLACES = TOWN.geometry.points


def within(south, west, north, east):
    lat, lon = PLACES.T
    return np.append((lat > south) & (lat < north) & (lon > west) & (lon < east), False)


REGIONS = [within(40.1, -73.8, 40.3, -73.6), within(40.15, -73.75, 40.22, -73.66), within(40.0, -74.0, 40.2, -73.4)]


@pytest.mark.parametrize(
    ("space", "spacing", "region"),
    [(SPACE, SPACING, region) for region in REGIONS]
    + [(NoRecords(Line(0, 40, step=1)), 4.0, (np.arange(42) > 9) & (np.arange(42) < 23))]
    + [(Euclidean([0, 0], [12, 12], step=1), 3.0, np.arange(144) % 12 < 5)],
)
def test_an_end_is_one_of_weights_that_hold_the_region(space, spacing, region, monkeypatch):
    region = region[: space.items]
    plan = edge_histogram(space, 60, users=2000, spacing=spacing)
    truth = np.random.default_rng(7).dirichlet(np.full(space.items, 0.05))
    values = np.asarray(plan.decoder.weights.T @ truth)
    combined, seen = region_weights._Border.combined, []

    def watched(self, held, ends, values, widths):
        part, more = combined(self, held, ends, values, widths)
        weights = part @ held
        weights[self.nodes] += more
        seen.append((weights, part, more, held, ends, widths))
        return part, more

    monkeypatch.setattr(region_weights._Border, "combined", watched)
    for here in (region, ~region):
        end, wide, cut = best_end(plan, values, here, 0.05)
        weights, part, more, held, ends, widths = seen[-1]
        assert (np.asarray(plan.decoder.weights @ weights) - here).min() > -1e-6
        assert (np.asarray(plan.decoder.weights @ held.T).T - here).min() > -1e-6
        assert part.min() >= 0.0
        assert part.sum() == pytest.approx(1.0)
        assert end <= ends.min() + 1e-6  # never wider than the best of the fixed ones
        assert end >= float(weights @ values) + np.abs(more) @ widths  # the noise of what is added counts in full
        # One side of each fixed one, and both of each node: half of the miss rate in all.
        rates = [passed(plan, one, e - float(one @ values)) for one, e in zip(held, ends, strict=True)]
        assert sum(rates) <= 0.05 / 4
        assert wide >= half_width(plan, held[0], 0.05)
        assert wide > 0.0
        assert cut == np.count_nonzero(held[0][plan.graph.heads] != held[0][plan.graph.tails])
    assert len(seen) == 2


def passed(plan, weights, beyond, draws=40_000):
    """How often one side is passed, by simulation of the edges: a lower estimate by six deviations."""
    rng = np.random.default_rng(1)
    graph = plan.graph
    change = weights[graph.heads] - weights[graph.tails]
    if plan.faces is not None:
        return 0.0  # cycles have tests of their own
    noise = (rng.laplace(size=(draws, graph.edges)) / graph.lengths * float(plan.scale)) @ change
    rate = float((noise > beyond).mean())
    return max(0.0, rate - 6.0 * np.sqrt(max(rate, 1e-4) / draws))


def worst(region, above):
    """Nearly everybody just inside, or just outside, where neighbours are as near as can be."""
    plan = edge_histogram(SPACE, 300, users=3000, spacing=SPACING)
    inner, outer = node_weights(plan, region)
    shared = np.asarray(plan.decoder.weights @ (inner != outer).astype(float)) > 0.5
    chosen = shared & (region if above else ~region)
    return 0.9 * chosen / chosen.sum() + 0.1 / SPACE.items


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("above", [True, False])
def test_ends_hold_where_everybody_is_at_the_border(region, above):
    built = histogram_noise(SPACE, "edges", 300, users=3000, spacing=SPACING)
    truth = worst(region, above)
    clean, source, held = np.asarray(built.matrix @ truth), SeededSource(4), 0
    law = ReleasedShares.of(SPACE, built, clean)
    draws = often(10, 40)
    for _ in range(draws):
        result = replace(law, shares=released(built, clean, source)).region(region)
        held += result.low <= truth[region].sum() <= result.high
        assert result.estimate - result.noise - result.border <= result.low + 1e-12
        assert result.high <= result.estimate + result.noise + result.border + 1e-12
    assert held >= draws - int(binom.isf(1e-6, draws, 0.05))
    soft = np.asarray(built.noise.plan.decoder.weights @ node_weights(built.noise.plan, region)[0])
    assert abs(float(truth @ soft) - truth[region].sum()) > 3 * result.noise  # without the border all would miss


@pytest.mark.parametrize("region", REGIONS)
def test_without_noise_ends_are_those_of_all_that_fits(region):
    """The range of q(R) over all q with the same node values, by a linear programme of its own."""
    built = histogram_noise(SPACE, "edges", 10**7, users=10**6, spacing=SPACING)
    carried = built.noise.plan.graph.weights
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.where(region, 1.0, 0.2))
    clean = np.asarray(built.matrix @ truth)
    result = ReleasedShares.of(SPACE, built, clean).region(region)
    ends = [
        sign * linprog(sign * region.astype(float), A_eq=carried.T.tocsr(), b_eq=carried.T @ truth, method="highs").fun
        for sign in (1, -1)
    ]
    assert result.low <= ends[0] + 1e-6
    assert result.high >= ends[1] - 1e-6
    assert result.high - result.low <= ends[1] - ends[0] + 1e-3  # no weights do better, and none are missing
    assert result.noise < 1e-3
    assert result.border == pytest.approx((result.high - result.low) / 2, abs=2e-3)


@pytest.mark.parametrize("shape", [0.02, 0.3])
def test_the_noise_that_is_said_is_the_spread_of_what_is_said(shape):
    """Within a factor of three of how much decoded shares differ between releases; the rest is the border's."""
    built = histogram_noise(SPACE, "edges", 300, users=3000, spacing=SPACING)
    truth = np.random.default_rng(2).dirichlet(np.full(SPACE.items, shape))
    clean, source = np.asarray(built.matrix @ truth), SeededSource(8)
    law = ReleasedShares.of(SPACE, built, clean)
    raws = [released(built, clean, source) for _ in range(40)]
    decoded = np.array([built.decode(raw) for raw in raws])
    for region in REGIONS:
        result = replace(law, shares=raws[0], decoded=decoded[0]).region(region)
        spread = 1.96 * float(decoded[:, region].sum(axis=1).std())
        assert spread / 3.0 < result.noise < 3.0 * spread
        assert result.low <= truth[region].sum() <= result.high


def test_regions_that_were_looked_for_hold_in_several_pieces_too():
    space = Euclidean([0, 0], [16, 16], step=1)
    built = histogram_noise(space, "edges", 400, users=5000)
    truth = np.random.default_rng(5).dirichlet(np.full(256, 0.2))
    clean, source = np.asarray(built.matrix @ truth), SeededSource(6)
    law = ReleasedShares.of(space, built, clean)
    missed = 0
    for _ in range(40):
        here = replace(law, shares=released(built, clean, source))
        largest = np.argsort(-here.shares)[:5]  # whoever looks takes what is largest by its noise
        region = np.isin(np.arange(256), largest)
        result = here.region(region, looked=True)
        missed += not result.low <= truth[region].sum() <= result.high
        assert result.low > 0.0
    assert missed <= 12
