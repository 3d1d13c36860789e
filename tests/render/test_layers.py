"""What else a picture of released values could show: simulated from them alone, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.questions.answer import Sample
from barrow.questions.comparing import by_user_level
from barrow.questions.releasing import noisy_values
from barrow.questions.value_tables import values_of
from barrow.render import released
from barrow.render.figures import matrix
from barrow.render.figures.layers import FigureLayer, layered
from barrow.render.figures.readings import Readings, class_edges
from barrow.render.layers import layers_of
from barrow.render.released import values_figure
from barrow.study import Study, make_statement

LINE = "line(low=0, high=60, step=5, unit='min', cells=True)"
PROMISES = ["1 of 30, 10 min, 0.5", "all, anywhere, 4"]


def planned(question, space=LINE, promises=PROMISES, **more):
    study = Study(space, promises, users=5000, **more)
    return study, study.plan(question)


def histogram(plan):
    """What an exact release would hold."""
    truth = np.linspace(2.0, 1.0, plan.terms.space.items)
    return plan.tables(plan.decoded(np.asarray(plan.mechanism.matrix @ (truth / truth.sum()))))


def test_draws_scatter_about_the_release_as_the_noise_does():
    """The spread of many draws is that which intervals say; user-level DP scatters more."""
    study, plan = planned("histogram(mechanism='cells')", promises=["all, 10 min, 0.5"])
    tables = histogram(plan)
    first, *_ = layers_of(plan, make_statement(study, plan).answer, tables)
    assert first.name == "Another draw"
    assert len(first.frames) == 3
    shares = values_of(tables["values"])
    far = max(float(np.abs(frame - shares).max()) for frame in first.frames)
    assert 0.0 < far < 6 * plan.mechanism.half_width
    assert not np.array_equal(first.frames[0], first.frames[1])
    again = layers_of(plan, make_statement(study, plan).answer, tables)
    assert all(np.array_equal(a, b) for a, b in zip(first.frames, again[0].frames, strict=True))


def test_user_level_dp_is_a_layer_where_something_else_was_released():
    study, plan = planned("histogram")
    facts, tables = make_statement(study, plan).answer, histogram(plan)
    names = [layer.name for layer in layers_of(plan, facts, tables)]
    assert names == (["Another draw"] if plan.chosen.user_level else ["Another draw", "User-level DP"])
    other = by_user_level(plan)
    assert (other is None) == plan.chosen.user_level
    assert layers_of(None, facts, tables) == []


@pytest.mark.parametrize("question", ["mean", "distance(to=20)"])
def test_a_mean_is_drawn_again_with_its_interval(question):
    study, plan = planned(question)
    true = noisy_values(plan, plan.tables(Sample(_center(plan))))
    assert true == pytest.approx(_center(plan), rel=1e-9)
    tables = plan.tables(Sample(true))
    statement = make_statement(study, plan)
    layers = layers_of(plan, statement.answer, tables)
    assert len(layers[0].frames) == len(layers[0].ends) == 1
    low, high = layers[0].ends[0]
    assert low[0] < layers[0].frames[0][0] < high[0]
    figure = values_figure(statement, tables, study.space, layers=layers)
    assert figure.svg.count("data-frame") == 0  # one draw needs no frames
    assert figure.svg.count('class="off"') == 1 + (len(layers) > 1)


def _center(plan):
    people = np.full(plan.terms.space.items, 1.0 / plan.terms.space.items)
    return np.asarray(plan.query.table.floats().T @ people).ravel() * float(plan.query.step)


def test_layers_outline_the_release_on_bars_and_not_on_maps():
    for space, outlined in ((LINE, True), ("earth(box=(48.7, 2, 49, 2.6), cell=8)", False)):
        study, plan = planned("histogram", space, ["all, anywhere, 4"])
        tables, statement = histogram(plan), make_statement(study, plan)
        layers = layers_of(plan, statement.answer, tables)
        svg = values_figure(statement, tables, plan.terms.space, layers=layers).svg
        assert ("Outlined: what was released." in svg) is outlined
        assert "Another draw" in svg


def test_a_matrix_keeps_its_layers_and_has_classes_as_wide_as_its_intervals():
    """Draws that hide nothing have a shorter key; the classes are those of the release, not of exact draws."""
    rows, columns, count = ["Mon", "Tue"], [str(k) for k in range(12)], 24
    values = np.linspace(0.0, 0.09, count)
    sure = Readings.of(values, low=np.maximum(values - 0.01, 0.0), high=values + 0.01)
    layer = FigureLayer("Another draw", "Noise.", [np.linspace(0.02, 0.08, count)])
    exact = [Readings.of(frame) for frame in layer.frames]
    shared = Readings.together([sure, *released._alike(layer, sure)])
    first = matrix(rows, columns, values, low=sure.low, high=sure.high, scale=shared)
    again = matrix(rows, columns, layer.frames[0], scale=shared)
    assert first.height == again.height
    assert "data-layer" in layered(first, [(layer, [again])]).svg
    assert np.diff(class_edges(shared)).min() >= 0.02 - 1e-12
    assert np.diff(class_edges(exact[0])).min() < 0.02
