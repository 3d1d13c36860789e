"""What people's own reports say is shown as a release is: the same picture, intervals and report."""

from __future__ import annotations

import re

import numpy as np
import pytest

import barrow
from barrow.local.client import Survey
from barrow.local.mixing import mix
from barrow.local.report import Report, message_of
from barrow.local.server import Server
from barrow.mechanisms.user_level.local import local_subsets
from barrow.noise.source import SeededSource
from barrow.questions.collecting import for_people
from barrow.render.layers import layers_of
from barrow.render.report import collected_report, report_html
from barrow.spaces import Clustered, Discrete, Line
from barrow.study import Study
from barrow.study.prose import explain

LINE = "line(low=0, high=60, step=10, unit='min', cells=True)"
PROMISES = ["all, 20 min, 30", "all, anywhere, 60"]


def collected(question, *, space=LINE, promises=PROMISES, people=60, model="local"):
    survey = Survey(Study(space, promises, users=people, dataset="phones", model=model), question)
    server, rng = Server(survey), np.random.default_rng(5)
    items = [rng.integers(0, 3, 2) for _ in range(people)]
    if model == "local":
        for i, ids in enumerate(items):
            server.add(Report(survey.digest, f"{i:032x}", tuple(map(int, survey.channel.report(ids)))))
    else:
        kinds = survey.channel.message_kinds
        texts = [message_of(survey.digest, int(v), kinds) for ids in items for v in survey.channel.report(ids)]
        server.open(mix(survey, texts))
    return server.result()


@pytest.mark.parametrize("question", ["mean", "histogram", "frequency(items=2)", "items(items=2)"])
def test_local_results_have_the_report_of_a_release(question):
    result = collected(question)
    assert result.plot().title == barrow.plot(result).title
    assert 'class="bw' in result.plot().svg
    page = report_html(collected_report(result))
    assert "What anyone can learn about one person" in page
    assert "Nobody: each person" in page
    assert "whoever collected them answers for that" in page
    assert "barrow verify" not in page  # there is no folder, and no ledger
    assert "The budget" not in page
    if "items" not in question[:5]:
        assert "95\u00a0% interval" in page
        assert {"low_95", "half_width_95"} & set(result.tables["values"][0])


def test_bars_of_counted_reports_begin_at_0_and_are_called_by_their_ends():
    result = collected("items(items=2)")
    assert {"0 reports", "number of reports"} <= set(re.findall(r">([^<>]+)</text>", result.plot().svg))
    assert "share of people" not in result.plot().svg
    assert re.search(r"<td[^>]*>0 to 10 min</td>", report_html(collected_report(result)))


def test_another_draw_of_decoded_shares_is_nowhere_below_0():
    result = collected("frequency(items=2)", model="shuffle", promises=["all, 20 min, 2", "all, anywhere, 4"])
    assert min(row["unbiased"] for row in result.tables["values"]) < 0.0
    layer, *_ = layers_of(result.plan, result.statement.answer, result.tables)
    assert min(float(np.min(frame)) for frame in layer.frames) >= 0.0
    assert "0 %" in re.findall(r">([^<>]+)</text>", result.plot().svg)


def test_shuffled_results_too():
    result = collected("frequency(items=2)", model="shuffle", promises=["all, 20 min, 2", "all, anywhere, 4"])
    assert "low_95" in result.tables["values"][0]
    assert "mixed with those of all others" in report_html(collected_report(result))
    assert "text/html" in result._repr_mimebundle_()


def test_sets_have_intervals_and_a_statement():
    result = collected("histogram(mechanism='subset')", space=Discrete("abcd"), promises=["all, anywhere, 2"])
    assert type(result.plan).__name__ == "SubsetsAnswer"
    row = result.tables["values"][0]
    assert row["low_95"] <= row["unbiased"] <= row["high_95"]
    assert "a set of items or groups" in " ".join(explain(result.statement).split())


@pytest.mark.parametrize(("space", "levels"), [(Discrete("abcdef"), False), (Clustered.grid(3, 4, r=0.25), True)])
def test_deviations_of_sets_are_those_that_are_seen(space, levels):
    """By simulation: 400 draws see a deviation to 3.6 %; six of these are a false alarm below one in a million."""
    users, shares = 500, np.linspace(1.0, 3.0, space.items)
    built, source = local_subsets(space, 2, users=users, levels=levels), SeededSource(11)
    pool = (1000 * shares).astype(int)
    seen = np.std([built.simulate(pool, source) for _ in range(400)], axis=0)
    said = built.deviations(pool / pool.sum())
    assert np.abs(seen / said - 1.0).max() < 6 * 0.036
    assert abs(np.mean(seen / said) - 1.0) < 0.05


def test_fewer_reports_than_planned_have_the_wider_interval_everywhere():
    """The page's sentence, the statement and the values say the same: 3 of 40 people reported."""
    study = Study(Line(0, 100, step=5, unit="years"), alpha=400, users=40, model="local", questions=["mean"])
    plan = study.plan("mean")
    fewer = for_people(plan, 3)
    assert fewer.half_width == plan.noise.mean_half_width(3) + plan.moved > plan.half_width
    assert for_people(plan, 40).half_width == plan.half_width


def test_a_warning_is_said_once_and_asks_for_nothing_impossible():
    page = collected_report(collected("items(items=2)", promises=["all, anywhere, 0.001"]))
    told = [text for text in page.warnings if "nearly useless" in text]
    assert len(told) == 1
    assert "histogram of the same people" in told[0]
    assert "e+0" not in told[0]
