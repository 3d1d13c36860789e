"""Noise along edges in plans: chosen where it errs less, its spacing fixed beforehand, its half widths kept."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.mechanisms.edge_histogram import edge_histogram, spacings
from barrow.mechanisms.edge_intervals import half_width
from barrow.mechanisms.edge_noise import EdgeNoise, node_half_widths
from barrow.mechanisms.histograms import histogram_noise
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.planning.histograms import HistogramTarget, histogram_candidates, noise_within
from barrow.planning.node_spacing import best_spacing
from barrow.planning.simulate import reference_distribution, simulate
from barrow.planning.terms import Terms
from barrow.promises import Model, Promise
from barrow.questions import Histogram
from barrow.questions.collecting import collected
from barrow.questions.histogram_help import floors
from barrow.questions.plan_text import answer_lines, details
from barrow.spaces import Circle, Clustered, Earth, Euclidean, Finite, Line, Product
from barrow.spaces.grids import coarser
from barrow.transport import kr_norm, measure_of

_SQUARE = Euclidean([0, 0], [1, 1], step=1 / 12)
_POINTS = np.random.default_rng(3).random((40, 2))
_FINITE = Finite([f"p{i}" for i in range(40)], np.sqrt(((_POINTS[:, None] - _POINTS[None]) ** 2).sum(-1)))


def _terms(space, users=1000, alpha=25, **more):
    return Terms(space, users, given=Fraction(alpha), **more)


@pytest.mark.parametrize("space", [_SQUARE, Circle.hours(), _FINITE], ids=["box", "circle", "finite"])
def test_it_is_chosen_where_it_errs_less(space):
    target = HistogramTarget(_terms(space), reference_distribution(space))
    result, _ = histogram_candidates(target)
    assert result[0].name == "edges"
    assert all(result[0].error < other.error for other in result[1:])
    assert "cells" in {other.name for other in result}


def test_trees_keep_their_own_noise():
    result, cannot = histogram_candidates(
        HistogramTarget(_terms(Clustered.grid(3, 3, r=0.1)), reference_distribution(Clustered.grid(3, 3, r=0.1)))
    )
    assert result[0].name == "tree"
    assert "tree" in cannot["edges"]
    with pytest.raises(ParameterError, match="is a tree"):
        Histogram(mechanism="edges").plan(_terms(Clustered.grid(3, 3, r=0.1)))


def test_fewer_people_get_coarser_nodes_and_the_choice_is_public():
    reference = reference_distribution(_SQUARE)

    def nodes(users):
        def make(space, gap):
            return histogram_noise(space, "edges", 25, users=users, spacing=gap)

        first, again = best_spacing(_SQUARE, reference, make), best_spacing(_SQUARE, reference, make)
        assert first == again
        return make(_SQUARE, first).noise.dimension

    results = [nodes(users) for users in (30, 30_000)]
    assert results[0] < results[1] == 144


def test_the_chosen_spacing_is_hardly_worse_than_the_best_in_hindsight():
    reference = reference_distribution(_SQUARE)

    def make(space, gap):
        return histogram_noise(space, "edges", 25, users=300, spacing=gap)

    errors = {gap: simulate(make(_SQUARE, gap), reference).decoded for gap in spacings(_SQUARE)}
    assert errors[best_spacing(_SQUARE, reference, make)] < 1.2 * min(errors.values())
    assert max(errors.values()) > 1.5 * min(errors.values())  # so that the choice matters


@pytest.mark.parametrize("model", ["central", "local"])
@pytest.mark.parametrize(
    "space",
    [Line(0, 9, step=1), _SQUARE, Euclidean([0, 0], [3, 1], step=1 / 4), Earth(box=(45, 5, 48, 9), cell=80), _FINITE],
    ids=["line", "square", "box", "earth", "finite"],
)
def test_half_widths_of_all_nodes_agree_with_those_of_single_ones(space, model):
    plan = edge_histogram(space, 25, users=1000, model=model)
    result = node_half_widths(plan)
    for node in range(0, plan.graph.nodes, max(1, plan.graph.nodes // 12)):
        single = half_width(plan, np.eye(plan.graph.nodes)[node])
        assert 0.996 * single < result[node] < 1.01 * single


def test_half_widths_cover_what_is_drawn():
    noise = EdgeNoise(edge_histogram(_SQUARE, 25, users=1000))
    zero, source = Center.from_integers(np.zeros(144, dtype=np.int64)), SeededSource(11)
    sample = np.array([noise.draw(zero, source).values for _ in range(400)])
    inside = (np.abs(sample) <= noise.half_widths(1)).mean()
    assert 0.945 < inside < 0.957
    narrow = (np.abs(sample) <= 0.9 * noise.half_widths(1)).mean()
    assert narrow < 0.945  # a tenth less would not do
    assert (np.abs(sample) <= noise.simultaneous_half_width).all(axis=1).mean() > 0.93
    assert (np.abs(sample) <= noise.reaches_upper(1e-18)).all()


def test_simulated_means_of_reports_have_the_covariance_of_the_noise():
    noise = EdgeNoise(edge_histogram(Euclidean([0, 0], [2, 1], step=1 / 2), 5, users=64, model="local"))
    source = SeededSource(5)
    sample = np.array([noise.mean_draw(64, source) for _ in range(2500)])
    ours, wanted = np.cov(sample.T), noise.plan.covariance.toarray()
    assert np.abs(ours - wanted).max() < 0.09 * wanted.max()
    few = np.array([noise.mean_draw(16, source) for _ in range(500)])
    assert np.abs(np.cov(few.T) / 4.0 - wanted).max() < 0.2 * wanted.max()


def test_promises_that_the_graph_cannot_show_buy_accuracy():
    line = Line(0, 10, step=1)
    terms = Terms(line, 1000, (Promise("all", "anywhere", "1"),))
    built = noise_within(HistogramTarget(terms, reference_distribution(line), spacing=None), "edges")
    assert built.event.alpha >= terms.alpha
    assert built.event.alpha * built.event.range_ratio <= Fraction(1)


def test_local_reports_are_nodes_and_other_numbers_of_people_keep_the_spacing():
    line = Line(0, 40, step=1)
    histogram, terms = Histogram(mechanism="edges"), _terms(line, 400, 60, model=Model.LOCAL)
    plan, channel = histogram.plan(terms), histogram.channel(terms)
    reports = [channel.report(np.array([7, 8])) for _ in range(390)]
    assert {len(report) for report in reports} == {plan.query.dimension}
    collector = channel.collector()
    for report in reports:
        collector.add(report)
    got = collected(plan, collector)
    assert abs(sum(row["share"] for row in got.tables["values"]) - 1.0) < 1e-9
    near = sum(row["share"] for row in got.tables["values"][4:12])
    assert near > 0.6
    assert len(got.tables["unbiased"]) == plan.query.dimension


def test_a_central_release_is_near_the_truth():
    plan = Histogram().plan(_terms(_SQUARE, 5_000))
    counts = UserCounts.of_users(_SQUARE, [[5], [70, 71]], users=5_000)
    truth = np.zeros(144)
    default = _SQUARE.default_item
    truth[5] += 1 / 5_000
    truth[[70, 71]] += 0.5 / 5_000
    truth[default] += 1 - 2 / 5_000
    sample = plan.draw(counts.center(plan.query))
    assert sample.private
    assert plan.chosen.name == "edges"
    assert kr_norm(_SQUARE, sample.shares - truth) < 0.02
    rows = plan.tables(sample)["unbiased"]
    assert len(rows) == plan.query.dimension
    held = plan.mechanism.matrix @ truth
    assert np.mean([row["low_95"] - 1e-12 <= x <= row["high_95"] for row, x in zip(rows, held, strict=True)]) > 0.85


def test_large_spaces_are_measured_along_neighbours():
    space = Euclidean([0, 0], [1, 1], step=1 / 45)  # above what is solved over all pairs
    rng = np.random.default_rng(1)
    difference = rng.dirichlet(np.ones(2025)) - rng.dirichlet(np.ones(2025))
    result, method = measure_of(space).distance(difference), measure_of(space).method
    exact = kr_norm(space, difference)
    assert method == "near items"
    assert exact * (1 - 1e-9) <= result <= 1.03 * exact


def test_plans_say_how_far_from_the_least_they_are():
    plan = Histogram(mechanism="edges").plan(_terms(_SQUARE, 30))
    assert 1.0 <= floors(plan)["noise"] < 1.6
    assert floors(plan)["method"] > 1.0
    assert any("times what any method must have" in line for line in answer_lines(plan))
    tree = Histogram().plan(_terms(Clustered.grid(3, 3, r=0.1)))
    assert floors(tree)["noise"] >= 1.0
    assert details(plan)["times_the_least"] == floors(plan)


def test_reports_hold_no_more_numbers_than_asked():
    space = Euclidean([0, 0], [1, 1], step=1 / 8)
    terms = Terms(space, 10**4, given=Fraction(200), model=Model.LOCAL)
    target = HistogramTarget(terms, reference_distribution(space), report_values=30)
    assert noise_within(target, "edges").noise.dimension == 25
    with pytest.raises(ParameterError, match="report would hold 64 numbers"):
        noise_within(target, "cells")
    assert noise_within(replace(target, terms=replace(terms, model=Model.CENTRAL)), "cells").noise.dimension == 64


def test_best_spacing():
    line, flat = Line(0, 256, step=1, cells=True), np.full(256, 1 / 256)
    few, many = (lambda at, s, n=n: histogram_noise(at, "edges", 25, users=n, spacing=s) for n in (20, 10**6))
    assert best_spacing(line, flat, few) is not None
    assert best_spacing(line, np.eye(256)[9], many) is None


def test_products_of_fine_cells_get_coarse_nodes():
    """With few people nodes are apart in both parts; what is predicted there is what the space itself shows."""
    space = Product.trips(box=(40.5, -74.3, 41, -73.6), cell=10)
    reference = reference_distribution(space)

    def make(at, gap):
        return histogram_noise(at, "edges", 20, users=60, spacing=gap)

    spacing = best_spacing(space, reference, make)
    chosen, finest = make(space, spacing), make(space, None)
    assert all(gap is not None for gap in spacing)
    assert chosen.noise.dimension < space.items / 4
    assert simulate(chosen, reference, 1).decoded < simulate(finest, reference, 1).decoded


def test_a_coarser_product_is_coarser_in_every_part():
    space = Product.trips(box=(40.5, -74.3, 41, -73.6), cell=5)
    large, home = coarser(space, 2000)
    assert large.items <= 2000
    assert large.parts[0].items == large.parts[1].items
    assert home.max() == large.items - 1
    assert large.distance(home[[0, 17]], home[[9000, 4]]) == pytest.approx(space.distance([0, 17], [9000, 4]), abs=0.15)


@pytest.mark.parametrize("gap", [True, 0, "coarse", [], [5, "auto"], [5, 0], [True, 5]])
def test_spacings_that_are_none_are_refused(gap):
    with pytest.raises(ParameterError, match="spacing is"):
        Histogram(mechanism="edges", spacing=gap)


def test_products_take_a_spacing_for_each_part():
    space = Product([Line(0, 12, step=1, cells=True), Circle.hours(2)])
    terms = Terms(space, 100, given=Fraction(5))
    question = Histogram(mechanism="edges", spacing=(5, "items"))
    assert question.spacing == [5, "items"]
    answer = question.plan(terms)
    assert answer.query.arguments == {"spacing": [5.0, None]}
    assert answer.query.dimension == 4 * 12
