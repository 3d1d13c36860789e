"""People without records: an item of their own, its distances, its graph, and means over those who hold records."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.mechanisms import UserCounts
from barrow.noise.source import SeededSource
from barrow.planning.notes import Severity, texts
from barrow.planning.terms import Terms
from barrow.promises import Promise
from barrow.queries import ClosedForm, density, function, mean, region_share, tree_edges
from barrow.queries.holders import holders, with_no_records
from barrow.questions import CircularMean, Density, Function, Histogram, Mean, Quantile, Spread, to_question
from barrow.questions.answer import Sample
from barrow.questions.fieller import laplace_pair_quantile
from barrow.questions.holders import plan_holders, ratio_of
from barrow.questions.plan_text import answer_json, own_notes
from barrow.questions.prices import charge, charges
from barrow.questions.releasing import summary
from barrow.spaces import Circle, Clustered, Discrete, Earth, Euclidean, Line, NoRecords, Product
from barrow.study import Study, read, verify
from barrow.study.about import ALL
from barrow.study.file import study_from_text, study_text
from barrow.study.parts import CellReader

LINE = Line(0, 100, unit="years", step=5, cells=True)
INNER = [
    LINE,
    Circle.hours(2),
    Euclidean([0, 0], [4, 2], step=0.5),
    Clustered.grid(3, 4, r=0.1),
    Discrete(["a", "b", "c"]),
    Earth(box=(40.5, -74.3, 41.0, -73.6), cell=15),
    Product([Line(0, 4, step=1, cells=True), Circle.hours(6)], weights=["1/2", "1/2"]),
]


@pytest.mark.parametrize("far", ["1", "3/4"])
@pytest.mark.parametrize("inner", INNER, ids=lambda s: s.kind)
def test_it_is_a_metric_and_its_graph_never_too_long(inner, far):
    space = NoRecords(inner, distance=far)
    apart = space.block()
    assert apart.max() <= 1.0
    assert (apart[-1, :-1] == float(Fraction(far))).all()
    assert (apart[:, None, :] <= apart[:, :, None] + apart[None, :, :] + 1e-12).all()
    graph = space.graph()
    k = space.items
    paths = graph.distances(range(k))[:, :k]
    assert (paths <= apart * (1 + 1e-12) + 1e-15).all()
    assert (apart <= paths * float(graph.stretch) * (1 + 1e-9) + 1e-12).all()


def test_a_spaced_graph_is_never_too_long_either():
    space = NoRecords(Line(0, 100, unit="years", step=1, cells=True))
    graph = space.graph(20)
    paths = graph.distances([graph.nodes - 1])[0]
    to_the_last = graph.weights @ paths
    assert graph.weights.shape == (101, graph.nodes)
    assert to_the_last[:-1].max() <= 1.0
    assert to_the_last[-1] == 0.0


@pytest.mark.parametrize("p", [1, 2, "inf"])
@pytest.mark.parametrize("far", ["1", "1/2"])
def test_the_pair_has_one_constant_for_all_pairs(p, far):
    space = NoRecords(LINE, distance=far)
    below, order = tree_edges(LINE), math.inf if p == "inf" else p
    weighed = [holders(below, space, p=order, ranged=ranged).query for ranged in (False, True)]
    shares = with_no_records(density(LINE, bandwidth="25 years"), space)
    for query in (holders(mean(LINE), space).query, shares, *weighed):
        table = query.table.integers.toarray() if query.table.sparse else query.table.integers
        rows = table * float(query.step)
        slope = span = 0.0
        for i, j in itertools.combinations(range(space.items), 2):
            size = float(np.linalg.norm(rows[i] - rows[j], ord=order))
            slope, span = max(slope, size / space.distance(i, j).item()), max(span, size)
        assert slope <= query.lipschitz_upper(p) * (1 + 1e-12)
        assert span <= query.range_upper(p) * (1 + 1e-12)
        assert query.lipschitz_upper(p) <= 1.6 * slope


def test_the_share_is_free_in_the_norm_that_is_asked_for():
    below = tree_edges(LINE)
    for p in (1, 2, "inf"):
        order = math.inf if p == "inf" else p
        pair = holders(below, NoRecords(LINE), p=order, ranged=True)
        assert pair.query.range_upper(p) == pytest.approx(below.range_upper(p), rel=1e-6)
        heavier = holders(below, NoRecords(LINE), p=1.0, ranged=True)
        assert p == 1 or heavier.query.range_upper(p) > 1.2 * pair.query.range_upper(p)


def test_the_share_is_free_where_no_records_are_far_away():
    pair = holders(mean(LINE), NoRecords(LINE))
    assert pair.query.lipschitz_upper(1) == pytest.approx(mean(LINE).lipschitz_upper(1), rel=1e-9)
    assert pair.weight == pytest.approx(52.5)  # 100 less the farthest cell's 47.5 from the middle


@pytest.mark.parametrize("s", [0.0, 0.2, 0.7, 0.999999, 1.0, 3.0])
def test_the_quantile_of_two_laplace_variables(s):
    t = laplace_pair_quantile(s)

    def tail(y):  # of the first, given the second
        outer = 0.5 * (math.exp(-abs(t - s * y)) if t > s * y else 2 - math.exp(-abs(t - s * y)))
        return outer * 0.5 * math.exp(-abs(y))

    middle = min(t / max(s, 1e-9), 50)
    spans = ((-60, 0), (0, middle), (middle, 60))
    result = 2 * sum(quad(tail, a, b, limit=200)[0] for a, b in spans)
    assert result == pytest.approx(0.05, rel=1e-4)


def planned(noise="laplace", users=50, alpha=3, question=None):
    terms = Terms(NoRecords(LINE), users, given=Fraction(alpha), delta=Fraction(1, 10**6))
    return (question or Mean(noise=noise)).plan(terms)


@pytest.mark.parametrize("noise", ["laplace", "l2", "gaussian"])
@pytest.mark.parametrize(("share", "at"), [(1.0, 95.0), (0.5, 20.0), (0.2, 50.0)])
def test_fiellers_interval_covers_the_truth_and_half_of_its_slack_would_not(noise, share, at):
    plan = planned(noise)
    truth = np.array([share * (at - plan.pair.middles[0]), share * plan.pair.weight])
    center = UserCounts.of_users(plan.terms.space, [[plan.terms.space.default_item]]).center(plan.query)
    source, draws = SeededSource(9), 600
    noises = [plan.noise.draw(center, source).values for _ in range(draws)]
    covered = half = 0
    for z in noises:
        row = plan.tables(Sample(truth + z))["values"][0]
        assert row["low_95"] >= plan.pair.middles[0] - plan.pair.reaches[0] - plan.measured.snapping_upper - 1e-9
        covered += row["low_95"] - 1e-9 <= at <= row["high_95"] + 1e-9
        t = at - plan.pair.middles[0]
        half += abs(z[0] - t * z[1] / plan.pair.weight) <= ratio_of(plan.pair, plan.noise, 0).slack(abs(t)) / 2
    spread = math.sqrt(0.05 * 0.95 / draws)
    assert covered / draws >= 0.95 - 3 * spread
    assert half / draws < 0.95 - 3 * spread


def test_an_interval_is_narrower_than_the_plain_one_and_cut_to_the_range():
    plan = planned(users=1000)
    wide = ratio_of(plan.pair, plan.noise, 0).slack(plan.pair.reaches[0])
    low, high = plan.ratio.interval(0.0, 1.0, plan.pair.reaches[0])
    assert 0 < high - low < 2 * wide  # at the middle the share's noise hardly counts
    row = plan.tables(Sample(np.array([plan.pair.reaches[0], plan.pair.weight])))["values"][0]
    assert row["high_95"] == pytest.approx(LINE.high)  # the last item, and what snapping moves


ENDS = [
    (Mean(noise="laplace"), 0.0, 0, 0.0),
    (Mean(noise="laplace"), 100.0, 0, 100.0),
    (Mean(noise="gaussian"), 0.0, 0, 0.0),
    (Mean(definition="user_level"), 100.0, 0, 100.0),
    (to_question({"kind": "distance", "to": 0}), 0.0, 0, 0.0),
    (to_question({"kind": "distance", "to": 0}), 100.0, 0, 100.0),
    (to_question({"kind": "region", "center": 0, "radius": "1 years", "ramp": "40 years"}), 0.0, 0, 1.0),
    (to_question({"kind": "region", "center": 0, "radius": "1 years", "ramp": "99 years"}), 100.0, 0, 0.0),
    (Spread(), 0.0, 0, 0.0),
    (Spread(), 100.0, 0, 100.0),
    (Spread(), 100.0, 1, 0.0),
]


@pytest.mark.parametrize(("question", "record", "row", "truth"), ENDS)
@pytest.mark.parametrize("holders_of_ten", [10, 6])
def test_intervals_cover_records_as_they_are_at_both_ends(question, record, row, truth, holders_of_ten):
    """Everybody's records lie at an end of the space, half a cell from its last item."""
    terms = Terms(NoRecords(LINE), 2000, (Promise("all", "20 years", "1"),), delta=Fraction(1, 10**6))
    plan = question.plan(terms)
    item, people = int(LINE.encode([record])[0]), 200 * holders_of_ten
    center = plan.statistics(
        Counts([item], [1], [people], users=people).with_users(2000, plan.terms.space.default_item)
    )
    source, draws = SeededSource(5), 200
    rows = [plan.tables(Sample(plan.noise.draw(center, source).values))["values"][row] for _ in range(draws)]
    covered = sum(one["low_95"] <= truth <= one["high_95"] for one in rows)
    assert covered >= 170  # of 200 at 95 % or more: fewer come once in a million runs
    if question.kind == "mean":  # the items themselves are half a cell away, and would not do
        half = LINE.snapping_upper * LINE.diameter
        assert sum(one["low_95"] + half <= truth <= one["high_95"] - half for one in rows) == 0
    if question.kind == "region":
        assert all(0.0 <= one["low_95"] <= one["high_95"] <= 1.0 for one in rows)


@pytest.mark.parametrize("missing", ["no records", "default item"])
def test_a_declared_constant_is_somebodys_word_wherever_people_without_records_are(missing, tmp_path, monkeypatch):
    monkeypatch.setattr("barrow.queries.tables.PAIR_WORK", 1.0)
    monkeypatch.setattr("barrow.queries.query.PAIR_WORK", 1.0)
    space = Euclidean(center=[0, 0], radius=1, step=1 / 8, unit="km")
    path = tmp_path / "places.csv"
    path.write_text("uid,x,y\n" + "".join(f"{i},{0.01 * i},0\n" for i in range(40)))
    question = {"kind": "function", "values": space.points[:, 0].tolist(), "lipschitz": 2.2, "definition": "emd"}
    study = Study(
        space, ["all, 200 m, 1"], users=50, dataset="places", questions=[question], missing=missing,
        data=read(str(path), user="uid", item=["x", "y"]), ledger=str(tmp_path / "places.ledger"),
    )  # fmt: skip
    plan = study.plan()
    assert plan.constant[:2] == (False, "declared")
    (told,) = texts(own_notes(plan), Severity.UNPROVED)
    assert "is not proved" in told
    assert told in str(plan)
    assert answer_json(plan)["constant"]["proved"] is False
    ledger = Ledger.create(str(study.ledger), study)
    result = study.release()
    assert "declared in the study and is not proved" in " ".join(result.text.split())
    assert result.statement.parameters["constant"] == "declared"
    reserved = next(record.data for record in ledger.records() if record.kind == "reserve")
    assert reserved["parameters"]["constant"] == "declared"
    pair = holders(Function(question["values"], lipschitz=2.2).query(space), NoRecords(space))
    for p in (1, 2, "inf", 3):
        assert not pair.query.constants([p])[0].proved


def test_a_declared_constant_bounds_no_range(monkeypatch):
    """User-level DP goes by the range, which is known without anybody's word."""
    monkeypatch.setattr("barrow.queries.tables.PAIR_WORK", 1.0)
    monkeypatch.setattr("barrow.queries.query.PAIR_WORK", 1.0)
    monkeypatch.setattr("barrow.queries.tables._spots", lambda items: [])
    space = Euclidean(center=[0, 0], radius=1, step=1 / 8)
    values = np.zeros((space.items, 2))
    values[:4] = [[1, 0], [0, 1], [1, 1], [0, 0]]
    query = replace(
        function(space, values, lipschitz={1: 100}), closed_form=ClosedForm(lambda p: 1.2, method="declared")
    )
    assert query.range_upper(1) >= 2.0  # 1.2 was a lie: the values differ by 2
    with pytest.raises(ParameterError, match="not Lipschitz with the constant declared"):
        function(space, values[:, 0], lipschitz=0.5)  # what an output ranges over is looked at, too


@pytest.mark.parametrize("definition", ["auto", "user_level"])
def test_a_mean_over_holders_is_compared_with_user_level_dp(definition, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = Study(LINE, ["1 of 10, 10 years, 0.5", "all, 5 years, 1"], users=400, dataset="a", missing="no records")
    plan = study.plan(Mean(definition=definition))
    assert plan.chosen.user_level == (definition == "user_level")
    assert plan.half_width == pytest.approx(
        ratio_of(plan.pair, plan.noise, 0).slack(plan.pair.reaches[0]) + plan.measured.snapping_upper, rel=1e-12
    )
    other = study.plan(Mean(definition="emd" if plan.chosen.user_level else "user_level"))
    assert plan.comparison.at_promises.error == pytest.approx(other.half_width)
    times = max(plan.half_width, other.half_width) / min(plan.half_width, other.half_width)
    assert f"{times:.2f} times {'less' if plan.chosen.user_level else 'the'} error" in str(plan)
    ledger = Ledger.create("a.ledger", study)
    data = read({"uid": list(range(300)), "age": [30] * 300}, user="uid", item="age")
    result = study.release(plan.question, data, ledger=ledger, out="out")
    assert all(check.holds for check in verify("out", ledger="a.ledger"))
    row = result.tables["values"][0]
    assert abs(row["value"] - 30) < 3 * (row["high_95"] - row["low_95"]) + 1


@pytest.mark.parametrize("missing", ["no records", "default item"])
@pytest.mark.parametrize("question", [Quantile(), CircularMean()], ids=lambda q: q.kind)
def test_what_is_read_off_is_compared_with_user_level_dp_by_itself(question, missing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space, name, unit = (LINE, "age", "years") if question.kind == "quantile" else (Circle.hours(), "hour", "hours")
    promises = [f"1 of 10, 3 {unit}, 0.5", f"all, 2 {unit}, 1"]
    study = Study(space, promises, users=400, dataset="a", missing=missing)
    both = {one: study.plan(replace(question, definition=one)) for one in ("emd", "user_level")}
    assert [plan.chosen.user_level for plan in both.values()] == [False, True]
    plan = study.plan(question)
    better = min(both.values(), key=lambda each: each.error)
    assert plan.error <= 1.05 * better.error
    assert plan.comparison.chosen.error == plan.error
    other = both["emd" if plan.chosen.user_level else "user_level"]
    assert plan.comparison.at_promises.error == pytest.approx(other.error)
    assert plan.comparison.line in str(plan)
    assert set(charges(both["user_level"])) == {Fraction(1, 2)}
    data = read({"uid": list(range(300)), name: [10] * 300}, user="uid", item=name)
    ledger = Ledger.create("a.ledger", study)
    result = study.release(replace(question, definition="user_level"), data, ledger=ledger, out="out")
    assert all(check.holds for check in verify("out", ledger="a.ledger"))
    row = result.tables["values"][0]
    if missing == "no records":
        assert not row["determined"] or row["low_95"] - 1 <= 10 <= row["high_95"] + 1


def test_what_may_have_no_holders_is_not_determined():
    plan = planned(users=20, alpha=1)
    row = plan.tables(Sample(np.array([0.0, 0.0])))["values"][0]
    assert row["value"] is None
    assert not row["determined"]
    assert (row["low_95"], row["high_95"]) == (LINE.low, LINE.high)
    assert "not determined" in summary(plan, Sample(np.array([0.0, 0.0])))[0]


def people(missing=60):
    rng = np.random.default_rng(3)
    held = 400 - missing
    return read({"uid": list(range(held)), "age": rng.uniform(20, 60, held).tolist()}, user="uid", item="age")


@pytest.mark.parametrize("question", [Mean(), Histogram(), Density(bandwidth="25 years")])
def test_releases_tell_the_share_and_never_a_found_count(tmp_path, question):
    promises = ["all, 20 years, 1", "all, no records, 9"]
    study = Study(LINE, promises, users=400, dataset="d", data=people(), missing="no records", questions=[question])
    ledger = Ledger.create(tmp_path / "d.ledger", study)
    assert [p.text for p in ledger.budget.promises] == ["all data by 20 years", "all data or no records"]
    result = study.release(ledger=ledger, out=tmp_path / "out")
    statement = json.loads((tmp_path / "out" / "statement.json").read_text())
    assert statement["people"] == 400
    exact = {key: value for key, value in statement.items() if key not in ("ledger", "files", "parameters", "summary")}
    # How many people have records; the digits may occur in those of a digest, or of an error drawn by chance.
    assert re.search(r"(?<![\w.])340(?![\w.])", json.dumps(exact)) is None
    assert "340 people" not in result.text
    assert "no records" in statement["missing_people"]
    assert "hidden at ε" in result.text
    assert any("no records at all" in row["if"] for row in statement["protected"])
    assert all(check.holds for check in verify(tmp_path / "out", ledger=ledger))
    if isinstance(question, Mean):
        assert (tmp_path / "out" / "people.csv").exists()
        assert abs(result.rows()[0]["value"] - 40) < 6
    else:
        (missing,) = csv.DictReader((tmp_path / "out" / "no_records.csv").read_text().splitlines())
        assert next(iter(missing.values())) == "no records"
        assert abs(float(missing["share"]) - 60 / 400) < 0.05
        assert all("no records" not in str(row) for row in result.rows())


def test_studies_are_written_and_read_back():
    study = Study(LINE, ["all, 20 years, 1"], users=10, missing="no records")
    text = study_text(study)
    assert 'missing = "no records"' in text
    assert study.compare("mean").choice.name == "laplace"
    assert study_from_text(text) == study
    assert study.space == LINE
    assert study.space_of(Mean()) == NoRecords(LINE)
    named = Study(NoRecords(LINE), alpha=1, users=10, missing="default item")
    assert named.space_of(Mean()) == LINE
    nearer = Study(NoRecords(LINE, distance="1/2"), alpha=1, users=10)
    assert study_from_text(study_text(nearer)).space_of(Mean()) == nearer.space == NoRecords(LINE, distance="1/2")


def test_left_out_each_question_takes_what_suits_it():
    """Maps, histograms and means tell people without records apart; reports on items do so by name only."""
    study = Study(LINE, ["all, 20 years, 1"], users=10)
    assert "missing" not in study_text(study)
    assert study_from_text(study_text(study)) == study
    assert eval(repr(study)) == study
    assert study.missing is None
    assert study.space == LINE
    apart = ["mean", "quantile", "histogram", "density(bandwidth='20 years')", "histogram(mechanism='cells')"]
    whole = ["items(items=2)", "frequency(items=2)", "histogram(mechanism='tree')", "histogram(mechanism='multiscale')"]
    for request, space in [*((a, NoRecords(LINE)) for a in apart), *((a, LINE) for a in whole)]:
        question = to_question(request)
        assert study.space_of(question) == study.terms(question).space == space
        assert study.replace(missing="default item").space_of(question) == LINE
        assert study.replace(missing="no records").space_of(question) == NoRecords(LINE)
        if question.kind in ("mean", "histogram"):
            assert study.replace(model="local").space_of(question) == LINE
    assert Study(Line(0, 100), alpha=1).space_of(Mean()) == Line(0, 100)  # without a grid there are promises only


def test_a_question_that_cannot_know_them_is_refused_where_the_study_insists(monkeypatch):
    monkeypatch.setattr(Mean, "missing", ("default item",))
    study = Study(LINE, alpha=1, users=10)
    assert study.space_of(Mean()) == LINE
    with pytest.raises(ParameterError, match="cannot treat people without records separately"):
        study.replace(missing="no records").terms(Mean())
    with pytest.raises(ParameterError, match="cannot treat people without records separately"):
        study.replace(space=NoRecords(LINE)).terms(Mean())


def test_the_missing_are_where_nobody_else_is():
    """With a default item the first cell holds everybody without records; with an item of their own it does not."""
    for missing, first in (("default item", 60 / 400), ("no records", 0.0)):
        study = Study(LINE, alpha=5000, users=400, data=people(), missing=missing)
        plan = study.plan(Histogram(mechanism="cells"))
        counts = study.data.count(study.data.validate(plan.terms.space), plan.terms.space, 400)
        exact = plan.statistics(counts)
        shares = [float(exact.exact_entry(j)) for j in range(len(exact))]
        assert shares[0] == pytest.approx(first)
        if missing == "no records":
            assert shares[-1] == pytest.approx(60 / 400)


def test_what_cannot_be_is_refused():
    with pytest.raises(ParameterError, match="missing is 'nobody'"):
        Study(LINE, alpha=1, users=10, missing="nobody")
    with pytest.raises(ParameterError, match="everybody who takes part reports"):
        Study(LINE, alpha=1, users=10, missing="no records", model="local")
    with pytest.raises(ParameterError, match="of the largest one"):
        NoRecords(LINE, distance="1/4")
    with pytest.raises(ParameterError, match="already"):
        NoRecords(NoRecords(LINE))
    with pytest.raises(ParameterError, match="not about the records"):
        holders(region_share(Circle.hours(), center=3, radius="1 h", ramp="1 h"), NoRecords(LINE))


def _covered(plan, rows, items, seed, draws=300):
    """Draws of the released values of people who hold one item each (None for no records), and the truth's rows."""
    space, source = plan.terms.space, SeededSource(seed)
    missing = space.items - 1
    center = UserCounts.of_users(space, [[missing if x is None else x] for x in items]).center(plan.query)
    samples = (plan.noise.draw(center, source).values for _ in range(draws))
    return [rows(plan.tables(Sample(raw))) for raw in samples]


@pytest.mark.parametrize("far", ["1", "1/2"])
def test_quantiles_over_holders_are_those_of_their_items_and_the_others_do_not_count(far):
    space = NoRecords(LINE, distance=far)
    plan = Quantile(of=["0.1", "0.5", "0.9"]).plan(Terms(space, 400, given=Fraction(25)))
    held = [1] * 40 + [5] * 160 + [15] * 40
    result = _covered(plan, lambda tables: tables, held + [None] * 160, 5)
    true = [LINE.geometry.places[1], LINE.geometry.places[5], LINE.geometry.places[15]]
    true = [float(np.ravel(x)[0]) for x in true]
    inside = [
        all(row["low_95"] <= t <= row["high_95"] for row, t in zip(each["values"], true, strict=True))
        for each in result
    ]
    assert np.mean(inside) >= 0.95 - 0.03
    widths = np.mean([[row["high_95"] - row["low_95"] for row in each["values"]] for each in result], axis=0)
    assert widths.max() < 60.0  # of 100: intervals that say something
    # Counting those without records as holders would move the 0.9-quantile by a factor 0.6: it is ruled out mostly.
    wrong = float(np.ravel(LINE.geometry.places[0])[0])
    assert np.mean([each["values"][1]["low_95"] > wrong for each in result]) > 0.9
    shares = [each["people"][0] for each in result]
    assert np.mean([row["low_95"] <= 0.6 <= row["high_95"] for row in shares]) >= 0.95 - 0.03
    assert plan.description.startswith("the quantiles 0.1, 0.5, 0.9 of the items of people with records")


def test_a_quantile_of_nobody_is_not_determined():
    plan = Quantile().plan(Terms(NoRecords(LINE), 100, given=Fraction(5)))
    nobody = plan.decoded(plan.mechanism.matrix @ np.append(np.zeros(LINE.items), 1.0))
    (row,) = plan.tables(nobody)["values"]
    assert row["value"] is None
    assert not row["determined"]
    assert row["low_95"] <= 0.0
    assert row["high_95"] >= 100.0
    assert "not determined" in summary(plan, nobody)[0]


def test_circular_means_over_holders_turn_with_their_items_and_spread_by_their_share():
    circle = Circle.hours()
    plan = CircularMean().plan(Terms(NoRecords(circle), 2000, given=Fraction(25)))
    held = [6] * 500 + [7] * 300 + [8] * 200
    angles = 2 * np.pi * circle.points[held] / 24
    x, y = np.cos(angles).mean(), np.sin(angles).mean()
    mean = np.arctan2(y, x) / (2 * np.pi) * 24
    spread = math.sqrt(-2 * math.log(math.hypot(x, y))) * 12 / math.pi
    result = _covered(plan, lambda tables: tables["values"], held + [None] * 1000, 7)
    assert np.mean([low["low_95"] <= mean <= low["high_95"] for low, _ in result]) >= 0.95 - 0.03
    assert np.mean([row["low_95"] <= spread <= row["high_95"] for _, row in result]) >= 0.95 - 0.03
    # Without the share of holders the direction would be half as long, and the spread far too large.
    short = math.sqrt(-2 * math.log(0.5 * math.hypot(x, y))) * 12 / math.pi
    assert np.mean([row["high_95"] is not None and row["high_95"] < short for _, row in result]) > 0.9
    nobody = plan.tables(Sample(np.zeros(3)))["values"]
    assert [row["value"] for row in nobody] == [None, None]


def test_files_ask_quantiles_and_circular_means_over_holders(tmp_path):
    file = tmp_path / "ages.csv"
    file.write_text("uid,age\n" + "".join(f"{i},{20 + i % 50}\n" for i in range(300)))
    study = Study(
        LINE, ["all, anywhere, 1"], users=400, dataset="ages", questions="quantile", missing="no records",
        data=read(str(file), user="uid", item="age"),
    )  # fmt: skip
    done = study.release(ledger=Ledger.create(tmp_path / "ages.ledger", study), out=tmp_path / "out")
    (row,) = done.tables["values"]
    assert row["low_95"] <= 45 <= row["high_95"]
    assert "each person with records counting once" in Quantile.released(done.statement)


@pytest.mark.parametrize("asked", ["items(items=2)", "items(samples=3)"])
def test_items_of_people_without_records_are_no_records_each_time(asked, tmp_path):
    space = Discrete(["a", "b"])
    data = read({"uid": [1, 1, 2, 2], "x": ["a", "a", "a", "b"]}, user="uid", item="x")
    study = Study(space, alpha=3, delta="1e-6", users=5, dataset="d", missing="no records", data=data)
    plan = study.plan(asked)
    m = plan.itemwise.items
    assert study.replace(missing=None).plan(asked).terms.space == space
    if plan.question.samples is None:
        (counts,) = CellReader(data, [ALL]).cells(data.engine(), plan.terms.space).values()
    else:
        counts = data.sample(data.engine(), plan.terms.space, 5, m)
    pooled = plan.statistics(counts)
    assert pooled.private
    assert pooled.counts.sum() == 5 * m
    assert pooled.counts[-1] == 3 * m


@pytest.mark.parametrize("question", ["mean", "histogram", "quantile"])
def test_plans_say_where_people_without_records_are_counted(question):
    def line(**options):
        plan = Study(LINE, ["all, 20 years, 1"], users=400, **options).plan(question)
        (result,) = [line for line in str(plan).splitlines() if line.startswith("Missing")] or [""]
        return plan, result

    assert str(line()[0]) == str(line(missing="no records")[0])
    plan, text = line(missing="default item")
    assert LINE.label(LINE.default_item) == "2.5"
    assert "'2.5'" in text
    assert 'missing = "no records"' in text
    assert answer_json(plan)["missing_people"] in text
    at_forty = Line(0, 100, unit="years", step=5, cells=True, default=40)
    named = Study(at_forty, ["all, 20 years, 1"], users=400, missing="default item").plan(question)
    assert f"'{at_forty.label(at_forty.default_item)}'" in str(named)
    plan, text = line(missing="no records")
    assert "'no records', 100 years from every other" in text
    assert "missing =" not in text
    hidden = float(charge(plan, Fraction(1), Fraction(1)))
    assert f"hidden at ε = {hidden:.3g}" in text
    if question != "quantile":
        plan, text = line(model="local")
        assert text == ""
        assert answer_json(plan)["missing_people"] is None


def test_plan_holders():
    space = NoRecords(Line(0, 100, unit="years", step=1))
    plan = plan_holders(Mean(), Terms(space, 1000, given=Fraction(25)))
    assert plan.description == "the mean over people with records of the mean of their items (years)"
    assert round(plan.error, 2) == 0.52


def test_laplace_pair_quantile():
    assert round(laplace_pair_quantile(0.0), 6) == 2.995732
    assert round(laplace_pair_quantile(1.0), 4) == 4.113
