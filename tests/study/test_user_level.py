"""User-level DP as a candidate: chosen where it errs less, released, charged at every promise, and said so."""

from __future__ import annotations

import csv
import itertools
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import LedgerError, ParameterError
from barrow.ledger import Ledger
from barrow.local.client import LocalClient, Survey
from barrow.local.server import Server
from barrow.mechanisms.user_level.ball import BallNoise
from barrow.mechanisms.user_level.histograms import user_level_histogram
from barrow.mechanisms.user_level.levels import grouped
from barrow.mechanisms.user_level.noise import QueryNoise
from barrow.planning.candidates import ALIKE, preferred
from barrow.promises import UserLevel
from barrow.questions import Function, Histogram, Mean
from barrow.questions.plan_text import answer_json, plan_lines
from barrow.questions.prices import charges
from barrow.questions.subsets import SubsetsAnswer
from barrow.spaces import Circle, Clustered, Discrete, Earth, Elsewhere, Euclidean, Line, Product, Tree
from barrow.study import Study, explain, read, read_statement, statement_text, verify

PLACE = Euclidean([0, 0], [20, 20], step=2.5, unit="km")
WHERE_WHEN = Product([PLACE, Circle.hours(6)], weights=["1/2", "1/2"])
PROMISES = ["all, anywhere, 1", "1/10, 0.2, 2"]


def study(**options):
    return Study(WHERE_WHEN, PROMISES, users=200, dataset="visits", **options)


def records(people=200):
    rng = np.random.default_rng(5)
    return {
        "uid": list(range(people)),
        "x": rng.uniform(0, 20, people).tolist(),
        "y": rng.uniform(0, 20, people).tolist(),
        "hour": rng.uniform(0, 24, people).tolist(),
    }


def test_a_product_of_place_and_hour_where_user_level_dp_wins(tmp_path):
    data = read(records(), user="uid", item=["x", "y", "hour"])
    request = study(questions=["histogram"], data=data)
    plan = request.plan()
    own, baseline = plan.own[0], plan.baselines[0]
    assert plan.chosen is baseline
    assert baseline.error * ALIKE < own.error
    assert "times the error" in plan.comparison.line
    assert isinstance(plan.guarantee.definition, UserLevel)
    assert plan.alpha is None
    assert charges(plan) == (Fraction(1), Fraction(1))  # the smallest epsilon, at every promise
    line = next(text for text in plan_lines(plan) if text.startswith("Against"))
    assert "EMD-DP at the promises" in line
    assert "at the same worst case (ε = 1)" in line
    assert answer_json(plan)["versus"]["released"]["user_level"]

    ledger = Ledger.create(tmp_path / "visits.ledger", request)
    result = request.release(ledger=ledger, out=tmp_path / "out")
    statement = read_statement(tmp_path / "out")
    assert statement.alpha is None
    assert [row.epsilon for row in statement.protected] == [1.0, 1.0]
    assert "user-level DP" in statement_text(statement)
    assert "α" not in statement_text(statement)
    assert "user-level DP" in explain(statement)
    assert all(check.holds for check in verify(tmp_path / "out", ledger=ledger))
    shares = [row["share"] for name in ("values", "no_records") for row in result.tables[name]]
    assert float(np.sum(shares)) == pytest.approx(1.0)
    reserve = next(record for record in ledger.records() if record.kind == "reserve")
    assert [Fraction(x) for x in reserve.data["charges"]] == [1, 1]
    with pytest.raises(LedgerError):  # the first promise is used up
        request.release(ledger=ledger, out=tmp_path / "again", key="again")


HELD = {
    "line": (Line(0, 40, step=1, unit="years"), "1/10, 5 years, 0.5"),
    "circle": (Circle.hours(2), "1/2, 3 hours, 0.5"),
    "square": (Euclidean([0, 0], [6, 6], step=1, unit="km"), "1/5, 3 km, 0.5"),
    "earth": (Earth(box=[40.5, -74.3, 41.0, -73.7], cell=12), "1/5, 10 km, 0.5"),
    "tree": (Tree.nested([f"{i}/{j}" for i in range(4) for j in range(5)], distances=[1, 0.2]), "1/2, 0.4, 0.5"),
    "clustered": (Clustered.grid(4, 3, r=0.1), "1/10, 0.5, 0.5"),
    "product": (Product([PLACE, Circle.hours(12)], weights=["1/2", "1/2"]), "1/2, 0.5, 0.5"),
    "elsewhere": (Elsewhere(Line(0, 24, step=1, cells=True, unit="h")), "1/3, 5 h, 0.5"),
}


@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("missing", ["no records", "default item"])
def test_a_plan_and_a_comparison_have_the_same_rival(name, missing):
    """At the promises and at the same worst case, people without records among the items or not."""
    space, promise = HELD[name]
    study = Study(space, [promise], users=400, missing=missing)
    plan, table = study.plan("histogram"), study.compare("histogram")
    assert [c.name for c in table.baselines[0].candidates][: len(plan.baselines)] == [c.name for c in plan.baselines]
    assert table.baselines[0].error == plan.baselines[0].error
    assert table.choice.error == plan.own[0].error
    times = float(table.baselines[0].error / table.choice.error)
    assert table.ratio == times
    data = plan.comparison.to_json()
    assert data["at_the_promises"]["error"] / data["released"]["error"] == pytest.approx(times)
    assert data["at_the_same_worst_case"]["error"] == min(table.baselines[-1].error, table.choice.error)
    assert table.better.name == plan.chosen.name
    assert not any("barrow compare" in line for line in plan_lines(plan) if not line.startswith("Not tried"))


def test_people_without_records_are_in_a_user_level_release(tmp_path):
    """A promise about everything and many items: user-level DP errs less, and is released with its own item."""
    space = Clustered.grid(10, 10, r=0.05)
    people = {"uid": list(range(500)), "item": [f"{i % 4}/{i % 10}" for i in range(500)]}
    data = read(people, user="uid", item="item")
    study = Study(space, ["all, anywhere, 2"], users=1000, dataset="v", missing="no records")
    study = study.replace(questions=["histogram"], data=data)
    plan = study.plan()
    assert plan.chosen.user_level
    assert plan.chosen.name in ("levels", "tree")
    assert study.compare("histogram").better.user_level
    ledger = Ledger.create(tmp_path / "v.ledger", study)
    study.release(ledger=ledger, out=tmp_path / "out")
    statement = read_statement(tmp_path / "out")
    assert statement.alpha is None
    assert all(check.holds for check in verify(tmp_path / "out", ledger=ledger))
    with (tmp_path / "out" / "no_records.csv").open() as file:
        share = float(next(csv.DictReader(file))["share"])
    assert abs(share - 0.5) < 12 * 2 / (1000 * 2)  # the noise on it has the scale 2/(n epsilon)


def test_a_question_may_insist_on_either_definition():
    free, emd, user = (study().plan(Histogram(definition=word)) for word in ("auto", "emd", "user_level"))
    assert free.chosen.user_level
    assert user.chosen.user_level
    assert not emd.chosen.user_level
    assert emd.comparison is None
    assert study().plan(Histogram(mechanism="levels")).chosen.name == "levels"
    near = Study(Line(0, 100, step=1, unit="years"), ["all, 1 years, 1"], users=100)
    assert not near.plan("mean").chosen.user_level
    forced = near.plan(Mean(definition="user_level"))
    assert forced.chosen.user_level
    assert charges(forced) == (1,)
    assert "less error" in forced.comparison.line


@pytest.mark.parametrize("kind", [Mean, Histogram])
def test_what_cannot_be_is_refused_with_words(kind):
    with pytest.raises(ParameterError, match="definition is 'dp'") as wrong:
        kind(definition="dp")
    assert "user_level" in wrong.value.allowed
    with pytest.raises(ParameterError, match="makes no promises"):
        Study(Line(0, 10, step=1), alpha=2, users=10).plan(kind(definition="user_level"))


def test_what_snapping_hides_decides_nothing():
    """Where so much of the error is snapping: EMD-DP is released, and the line says so."""
    plan = Study(WHERE_WHEN, PROMISES, users=300).plan("histogram")
    own, baseline = plan.own[0], plan.baselines[0]
    assert baseline.decoded * ALIKE < own.decoded
    assert own.error < baseline.error * ALIKE
    assert plan.chosen is own
    assert "about the same error" in plan.comparison.line


def test_about_the_same_error_leaves_emd_dp():
    plan = Study(Line(0, 100, step=1, unit="years"), ["all, anywhere, 1"], users=100).plan("mean")
    assert plan.baselines[0].error == pytest.approx(plan.own[0].error, rel=1e-6)
    assert preferred(plan.own, plan.baselines) is plan.chosen is plan.own[0]


@pytest.mark.parametrize(
    "space",
    [WHERE_WHEN, PLACE, Circle(24, step=0.5), Product([Discrete("abcd"), Circle.hours()], weights=["1/2", "1/2"])],
)
def test_groups_hold_every_item_once_and_replacing_a_person_moves_two(space):
    result = grouped(space)
    assert sorted(result.order.tolist()) == list(range(space.items))
    built = user_level_histogram(space, "levels", 1, users=10)
    rows = (built.query.table.integers.toarray() * float(built.query.step)).tolist()
    far = max(float(np.abs(np.subtract(a, b)).sum()) for a, b in itertools.combinations(rows, 2))
    assert far <= built.query.range_upper(1) == pytest.approx(2.0, rel=1e-9)
    assert float(built.noise.scale) == pytest.approx(2.0 / 10)
    truth = np.random.default_rng(1).dirichlet(np.ones(space.items))
    many = user_level_histogram(space, "levels", 1, users=10**9)  # hardly any noise
    assert np.abs(many.decode(many.matrix @ truth) - truth).max() < 1e-4


def test_groups_are_of_near_items():
    result = grouped(WHERE_WHEN)
    spans = zip(result.tree.starts.tolist(), result.tree.ends.tolist(), strict=True)
    apart = [WHERE_WHEN.block(result.order[a:b], result.order[a:b]).mean() for a, b in spans if b - a > 1]
    assert max(apart) < WHERE_WHEN.block().mean() / 2


def test_two_outputs_may_be_answered_in_the_norm_of_their_polytope(tmp_path):
    corner = Function(values=[[0, 0], [1, 0], [0, 1]], names=["a", "b"])
    named = {"users": 30, "dataset": "d", "questions": [corner], "missing": "default item"}
    study = Study(Discrete(["p", "q", "r"]), ["all, anywhere, 1"], **named)
    plan = study.plan()
    assert isinstance(plan.noise, QueryNoise)
    assert plan.chosen.user_level
    data = read({"uid": list(range(30)), "item": ["p", "q", "r"] * 10}, user="uid", item="item")
    result = study.replace(data=data).release(ledger=Ledger.create(tmp_path / "d.ledger", study), out=tmp_path / "out")
    assert np.abs(np.asarray(result.values) - 1 / 3).max() < 20 * plan.noise.half_width
    assert all(check.holds for check in verify(tmp_path / "out", ledger=tmp_path / "d.ledger"))


def test_people_may_report_points_of_a_half_sphere(tmp_path):
    survey = Survey(
        Study(
            Line(0, 10, step=1, unit="km", cells=True),
            ["all, anywhere, 1"],
            users=300,
            model="local",
            questions=["mean"],
        )
    )
    assert isinstance(survey.plan.noise, BallNoise)
    server = Server(survey)
    for person in range(300):
        server.add(LocalClient(survey, memory=tmp_path / f"{person}.json").report([2.5]))
    result = server.result()
    assert result.n == 300
    row = result.tables["values"][0]
    assert abs(row["value"] - 2.5) < 3 * row["half_width_95"]
    low, high = survey.plan.noise.limits(survey.plan.query.table)[0]
    collector = survey.collector()
    assert collector.refusal([low]) is None
    assert collector.refusal([high + 1]) == "impossible value"


def test_people_may_report_sets_of_groups(tmp_path):
    space = Clustered.grid(4, 3, r=0.1)
    survey = Survey(Study(space, ["all, anywhere, 3"], users=300, model="local", questions=["histogram"]))
    plan = survey.plan
    assert isinstance(plan, SubsetsAnswer)
    assert plan.chosen.user_level
    assert charges(plan) == (3,)
    assert "EMD-DP at the promises" in "\n".join(plan_lines(plan))
    server = Server(survey)
    for person in range(300):
        server.add(LocalClient(survey, memory=tmp_path / f"{person}.json").report(ids=[person % 2]))
    result = server.result()
    shares = np.array([row["share"] for row in result.tables["values"]])
    assert result.n == 300
    assert shares.sum() == pytest.approx(1.0)
    assert shares[:3].sum() > 0.6  # everybody is in the first cluster
    sets = survey.collector()
    size = plan.mechanism.channels[0].subset
    good = [0, *range(size), *[-1] * (sets.length - 1 - size)]
    assert sets.refusal(good) is None
    for wrong in ([9, *good[1:]], [0, *good[1:-1], 99], [0, -1, *good[2:]]):
        assert sets.refusal(wrong) == "impossible value"
    with pytest.raises(ParameterError, match="people randomise themselves"):
        plan.statistics(None)


@pytest.mark.parametrize("missing", ["no records", "default item"])
@pytest.mark.parametrize(
    ("space", "promise", "question"),
    [
        ("line(low=0, high=100, step=2, unit='years')", "all, 5 years, 0.5", "mean"),
        ("line(low=0, high=100, step=2, unit='years')", "all, 5 years, 0.5", "median"),
        ("line(low=0, high=100, step=2, unit='years')", "all, 5 years, 0.5", "density(bandwidth='20 years')"),
        ("hours", "all, 1 h, 0.5", "circular_mean"),
        ("earth(box=(40, -75, 41, -73), cell=10)", "all, 3 km, 0.5", "distance(to=[40.7, -74.0])"),
    ],
)
def test_plans_and_comparisons_of_linear_questions_say_the_same_ratio(space, promise, question, missing):
    study = Study(space, [promise], users=2000, missing=missing)
    result = study.plan(question).comparison
    own, other = result.chosen.error, result.at_promises.error
    times = own / other if result.chosen.user_level else other / own
    assert study.compare(question).ratio == pytest.approx(times, rel=1e-6)
