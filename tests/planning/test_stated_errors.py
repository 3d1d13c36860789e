"""What is said about errors: before a release at several public references, after it by the release itself."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks._airports import airports, flights

import barrow as bw
from barrow.mechanisms.multiscale import mixed_reference
from barrow.noise.source import SeededSource
from barrow.numerics.exact import near
from barrow.planning.after import between, own_error, single_items, too_coarse
from barrow.planning.candidates import useless
from barrow.planning.histograms import error_at, noise_within
from barrow.planning.references import most_error, other_references
from barrow.planning.simulate import reference_distribution
from barrow.questions import Histogram
from barrow.questions.histogram_answer import HistogramAnswer
from barrow.questions.plan_text import answer_json, plan_lines, warnings
from barrow.spaces import Clustered, Discrete, Euclidean, Line, NoRecords, Product
from barrow.spaces.grids import snapping_means
from barrow.study import Study
from barrow.transport import measure_of
from barrow.web.example import simulated
from tests.mechanisms.test_screened import skewed

LINE = Line(0, 301, unit="min", step=1, cells=True)
PLACES = "earth(box=(40.5, -74.3, 41.0, -73.6), cell=1)"


def planned(space, promises, users, **request) -> HistogramAnswer:
    plan = bw.Study(space, promises, users=users).plan(Histogram(**request))
    assert isinstance(plan, HistogramAnswer)
    return plan


# Before.


@pytest.mark.parametrize("space", [LINE, NoRecords(LINE), Euclidean([0, 0], [1, 1], step=1 / 8)])
def test_references_are_unlike_each_other(space):
    results = [reference_distribution(space), *other_references(space)]
    assert len(results) == 5
    measure = measure_of(space)
    for i, one in enumerate(results):
        assert one.shape == (space.items,)
        assert one.sum() == pytest.approx(1)
        assert (one >= 0).all()
        for other in results[:i]:
            assert measure.distance(one - other) > 0.01
    assert [a.tolist() for a in other_references(space)] == [
        a.tolist() for a in results[1:]
    ]  # equal arguments, equal numbers
    if space.no_records_distance is not None:
        assert all(one[-1] == pytest.approx(0.05) for one in results)


def test_the_largest_error_over_the_references_is_said():
    """By name: what is expected at each of them, and levels a quarter more."""
    requests: list[tuple[float, int]] = []

    def error(reference, draws):
        requests.append((float(reference.max()), draws))
        return 2.0 if reference.max() == pytest.approx(1 / 301) else 0.5

    assert most_error("cells", LINE, 1.0, error) == 2.0
    assert most_error("levels", LINE, 1.0, error) == 2.5
    assert most_error("cells", LINE, 3.0, error) == 3.0
    assert [draws for _, draws in requests] == [10] * 4 + [4] * 4 + [10] * 4
    large = Line(0, 3000, step=1, cells=True)
    assert most_error("edges", large, 1.0, lambda reference, draws: 5.0 if (reference > 0.002).any() else 9.0) == 5.0


def test_a_plan_says_about_and_at_most_about():
    plan = planned(LINE, ["all, anywhere, 3"], 300)
    assert plan.error < plan.error_most < 3 * plan.error
    told = answer_json(plan)["answer"]["histogram"]
    assert told["emd_most"] == plan.error_most
    text = next(line for line in plan_lines(plan) if line.startswith("Error"))
    assert f"about {near(plan.error, plan.error_unit)}, at most about {near(plan.error_most, plan.error_unit)}" in text


@pytest.mark.parametrize("users", [300, 3000])
def test_skewed_people_are_within_what_was_said(users):
    """The truth is no reference: 1.2 times "at most about" holds, and "about" is of the right size."""
    plan = planned(LINE, ["all, anywhere, 3"], users)
    truth = np.append(0.97 * skewed(), 0.03)
    measure = measure_of(plan.terms.space)
    true = (
        np.mean([measure.distance(simulated(plan, truth, seed) - truth) for seed in range(40)])
        * plan.terms.space.diameter
    )
    assert true <= 1.2 * plan.error_most
    assert 0.25 <= true / plan.error <= 1.25


@pytest.mark.parametrize("users", [300, 3000])
@pytest.mark.parametrize("shape", [0.5, 1.0])
def test_names_are_within_what_was_said(users, shape):
    """On a tree neighbours are not alike: a reference in the order of names would say half of the error."""
    sizes = np.random.default_rng(4).integers(2, 14, 30)
    space = Clustered({f"g{i}": [f"g{i} {j}" for j in range(size)] for i, size in enumerate(sizes)}, r=0.1)
    plan = bw.Study(space, alpha=25, users=users).plan("histogram")
    assert isinstance(plan, HistogramAnswer)
    sample = np.random.default_rng(5).gamma(shape, 1.0, space.items)
    truth = np.append(sample / sample.sum(), 0.0)
    measure = measure_of(plan.terms.space)
    true = (
        np.mean([measure.distance(simulated(plan, truth, seed) - truth) for seed in range(40)])
        * plan.terms.space.diameter
    )
    assert 0.6 <= true / plan.error <= 1.25
    assert true <= 1.2 * plan.error_most


def test_rough_weights_are_like_an_even_draw_of_all_distributions():
    space = Discrete([str(i) for i in range(2000)])
    result = np.sort(reference_distribution(space, "rough")) * 2000
    even = -np.log1p(-(np.arange(2000) + 0.5) / 2000)  # quantiles of exponential weights
    assert np.abs(result - even)[:1900].max() < 0.25
    assert reference_distribution(space).tolist() == reference_distribution(space, "rough").tolist()


def test_predictions_of_few_items_are_sure():
    """Errors of one release differ by several times: eight of them are not enough where a few items hold noise."""
    plan = planned(LINE, ["all, anywhere, 3"], 300, mechanism="cells")
    best = plan.candidates[0]
    assert best.standard_error is not None
    assert best.standard_error / best.error < 0.1
    again = np.mean([error_at(plan.target, best.mechanism, plan.target.reference * f, 80) for f in (1.0, 1.0 + 1e-12)])
    assert 0.75 < best.error / again < 1.33


def test_a_plan_that_may_be_useless_warns_and_says_what_would_help():
    """What counts is the largest error: half of a guess is reached by it before it is by the usual one."""
    assert useless(0.19, 0.4, "km") == []
    assert "at most about 0.21 km" in useless(0.19, 0.4, "km", 0.21)[0]
    weak = planned(LINE, ["all, anywhere, 0.1"], 40)
    assert weak.error_most > weak.uniform_guess / 2
    assert "nearly useless" in warnings(weak)[0]
    assert "times as many people" in warnings(weak)[0]
    assert warnings(planned(LINE, ["all, anywhere, 3"], 3000)) == []


@pytest.mark.parametrize(
    "question", ["histogram", "frequency(samples=5)", "items(samples=5)", "mean", "histogram(samples=5)"]
)
def test_every_kind_warns_before_spending(question):
    if question == "histogram(samples=5)":
        study = bw.Study(LINE, ["all, anywhere, 0.1"], users=40, model="local")
        result = study.plan("histogram")
    else:
        model = "local" if "samples" in question else "central"
        result = bw.Study(LINE, ["all, anywhere, 0.05"], users=20, model=model).plan(question)
    assert any("useless" in text or "more than a uniform guess" in text for text in warnings(result)), warnings(result)


@pytest.mark.parametrize(
    ("question", "missing", "users", "enough"),
    [
        ("mean", "default item", 18, 80),
        ("mean", "no records", 30, 80),
        ("density(bandwidth='60 min')", "default item", 40, 200),
    ],
)
def test_a_linear_answer_is_useless_from_half_of_a_guess_on(question, missing, users, enough):
    """A guess in the middle of all answers errs by half of their range at most, and half of that is the limit."""

    def planned_by(people: int) -> Any:
        return bw.Study(LINE, ["all, anywhere, 0.5"], users=people, missing=missing).plan(question)

    weak, strong = planned_by(users), planned_by(enough)
    whole = weak.query.table.range_upper(float("inf"))
    assert whole / 4 <= weak.half_width < whole / 2
    assert "nearly useless" in warnings(weak)[0]
    assert strong.half_width < whole / 4
    assert warnings(strong) == []


def test_what_would_help_is_no_more_people_where_it_is_snapping():
    """Errors are said with what snapping adds; only the rest falls as people come."""

    def planned_by(people: int, question: str) -> Any:
        return bw.Study(Line(0, 100, unit="km", step=20), ["all, anywhere, 0.5"], users=people).plan(question)

    weak = planned_by(10, "mean")
    assert 0 < weak.moved < weak.half_width / 2
    more = int(re.search(r"About ([0-9,]+) people", warnings(weak)[0])[1].replace(",", ""))
    assert planned_by(more, "mean").half_width == pytest.approx(25.0, rel=0.01)
    steep = "region(center=50, radius='20 km', ramp='15 km')"
    assert "finer cells would help, more people would not" in warnings(planned_by(1000, steep))[0]
    assert planned_by(10**9, steep).half_width > 1 / 4


def test_reports_are_useless_from_half_of_a_guess_on():
    weak, strong = (
        bw.Study(LINE, [f"all, anywhere, {epsilon}"], users=100, model="local").plan("items(items=1)")
        for epsilon in (4, 10)
    )
    guess = weak.itemwise.randomiser.uniform_guess
    assert guess / 2 < weak.choice.distortion < 0.9 * guess
    assert "nearly useless" in warnings(weak)[0]
    assert strong.choice.distortion < guess / 2
    assert warnings(strong) == []


@pytest.mark.parametrize("space", [Euclidean([0, 0], [1, 1], step=1 / 16), Product([Line(0, 15, step=1)] * 2)])
def test_places_are_predicted_where_no_cell_is_like_the_next(space):
    """Between towns a smooth reference would flatter decoders; one that is rough alone has no towns."""
    result = reference_distribution(space)
    graph = space.graph()
    near = np.abs(result[graph.tails] - result[graph.heads]).sum() / (result[graph.tails] + result[graph.heads]).sum()
    smooth = mixed_reference(space)
    alike = np.abs(smooth[graph.tails] - smooth[graph.heads]).sum()
    alike /= (smooth[graph.tails] + smooth[graph.heads]).sum()
    assert near > 1.1 * alike
    blocks = np.bincount(np.arange(256) // 64 * 4 + np.arange(256) % 16 // 4, result, 16)
    assert blocks.max() > 1.5 / 16
    assert blocks.min() < 0.6 / 16


def test_a_line_is_predicted_at_towns_and_single_cells():
    assert np.allclose(reference_distribution(LINE), mixed_reference(LINE))


# After.


def releases(plan: HistogramAnswer, truth: np.ndarray, count: int) -> list[np.ndarray]:
    return [simulated(plan, truth, 1000 + seed) for seed in range(count)]


def ratio(plan: HistogramAnswer, truth: np.ndarray, count: int = 40, few: int = 10) -> float:
    """The mean of what releases say of themselves over their true mean error."""
    result = releases(plan, truth, count)
    measure = measure_of(plan.terms.space)
    snapped = float(truth @ snapping_means(plan.terms.space))
    true = (
        np.mean([np.hypot(measure.distance(shares - truth), snapped) for shares in result]) * plan.terms.space.diameter
    )
    text = np.mean([own_error(plan.target, plan.mechanism, shares, plan.error).about for shares in result[:few]])
    return float(text / true)


@pytest.mark.parametrize("users", [300, 3000])
def test_a_line_says_its_own_error(users):
    plan = planned(LINE, ["all, anywhere, 3"], users, mechanism="cells", definition="user_level")
    assert 0.67 <= ratio(plan, np.append(skewed(), 0.0)) <= 1.5


def test_what_a_coarse_graph_says_of_itself_lies_in_the_range_that_it_gives():
    study = Study("line(low=0, high=100, step=5, unit='years', cells=True)", ["all, 10 years, 1"], users=3000,
                  model="local")  # fmt: skip
    plan = study.plan("histogram")
    low, high = between(plan.target, plan.mechanism, plan.target.reference)
    for predicted in (low / 2.0, (low + high) / 2.0, 2.0 * high):
        own = own_error(plan.target, plan.mechanism, plan.target.reference, predicted)
        assert own.between is not None
        assert own.between[0] <= own.about <= own.between[1]


def test_flights_say_their_own_error():
    """The bundled flights on their tree, and on the airports as they are for user-level DP."""
    tree = airports()
    shares, _ = flights(tree)
    plan = planned(tree, ["all, 0.05, 0.5"], 4000)
    truth = np.append(shares, 0.0) if plan.terms.space.items > tree.items else shares
    assert 0.67 <= ratio(plan, truth) <= 1.5
    twice = np.mean([own_error(plan.target, replace(plan.mechanism, noise=plan.mechanism.noise), truth, 0.0).about])
    # It is about this release, and not what was planned: with ten times the people it says a tenth or so.
    more = planned(tree, ["all, 0.05, 0.5"], 40_000)
    assert own_error(more.target, more.mechanism, truth, 0.0).about < 0.4 * twice


def test_coarse_nodes_say_between_which_errors():
    """Cells finer than nodes: the plan's number, and two maps that fit the released values equally well."""
    plan = planned(PLACES, ["1/30, 10 km, 0.5", "all, 300 m, 0.5"], 1083)
    assert plan.mechanism.noise.plan.graph.weights is not None
    shares = simulated(plan, plan.target.reference, 1)
    lone = single_items(plan.mechanism, shares)
    assert lone is not None
    nodes = plan.mechanism.matrix
    assert (lone > 0).sum() <= plan.mechanism.noise.dimension
    # The values at the nodes are about the same, so that what was released cannot tell the two maps apart.
    far = np.abs(nodes @ (lone - shares)).sum()
    assert far < 0.5 * np.abs(nodes @ (plan.target.reference - np.full(len(shares), 1 / len(shares)))).sum()
    result = own_error(plan.target, plan.mechanism, shares, plan.error)
    assert result.about == plan.error
    assert result.between is not None
    low, high = result.between
    assert low < 0.8 * high
    # People who all are in few places, and people who are spread out, are both within it, about.
    for truth in (lone, shares):
        measure, moved = measure_of(plan.terms.space, 5000), float(truth @ snapping_means(plan.terms.space))
        true = np.mean([np.hypot(measure.distance(simulated(plan, truth, i) - truth), moved) for i in range(3)])
        assert 0.8 * low <= true * plan.terms.space.diameter <= 1.25 * high


def test_nodes_that_are_too_coarse_are_said_beforehand():
    plan = planned(
        "line(low=0, high=2000, step=1, unit='min')", ["all, 20 min, 0.5"], 3000, mechanism="edges", definition="emd"
    )
    assert too_coarse(plan.target, plan.mechanism) is None
    assert not any("too coarse" in text for text in warnings(plan))
    # The same nodes where there is next to no noise: they, and not the noise, are what is wrong.
    spacing = plan.query.arguments["spacing"]
    target = replace(plan.target, terms=replace(plan.terms, users=3_000_000), spacing=spacing)
    built = noise_within(target, "edges")
    result = too_coarse(target, built)
    assert result is not None
    assert result[1] > 10 * result[0]
    there = replace(plan, target=target, chosen=replace(plan.chosen, mechanism=built), terms=target.terms)
    assert any("Nodes are too coarse" in text for text in warnings(there))


def test_errors_of_large_spaces_are_measured_on_a_coarser_grid():
    """As predictions are: the same error within a third, in a fraction of the time."""
    plan = planned("earth(box=(40.5, -74.3, 41.0, -73.6), cell=0.45)", ["1/30, 10 km, 0.5", "all, 300 m, 0.5"], 1083)
    assert plan.terms.space.items > 12_000
    result = error_at(plan.target, plan.mechanism, plan.target.reference, 2)
    assert result == pytest.approx(plan.error, rel=0.35)
    low, high = between(plan.target, plan.mechanism, plan.mechanism.simulated(plan.target.reference, SeededSource(1)))
    assert 0 < low <= high < plan.uniform_guess
