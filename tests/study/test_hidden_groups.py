"""Answers within hidden groups of records: from a study file to a verified release; coverage, prices and refusals."""

from __future__ import annotations

import csv
import itertools
import math
from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from msgspec import structs

from barrow.errors import DataError, ParameterError
from barrow.ledger import Ledger, PromiseLimit, SpaceRef
from barrow.ledger.promises import cost_of, promises_from_json
from barrow.promises import Grouping, KNormNoise, Promise
from barrow.queries.ramps import line_ramps
from barrow.questions import Mean
from barrow.questions.answer import Sample
from barrow.questions.grouped import GroupedAnswer
from barrow.questions.grouped_histogram import GroupedHistogramAnswer
from barrow.questions.grouped_quantiles import GroupedQuantilesAnswer
from barrow.questions.prices import charges
from barrow.render.report.page import report_html
from barrow.render.report.release import Released, release_report
from barrow.spaces import Groups, Line, NoRecords, parse_distance
from barrow.study import Study, read
from barrow.study.about import About
from barrow.study.file import study_from_text, study_text
from barrow.study.parts import CellReader
from barrow.study.restated import contradictions
from barrow.study.verification import verify
from tests.thorough import often

LABELS = ("a", "b", "c", "d")
LINE = Line(0, 50, unit="km", step=1, whole=True)
GROUPING = Grouping("department", column="dept", labels=LABELS, distance="20 km")
PROMISES = ("1 of 10, 5 km, 0.5", "1 of 10, another group, 0.5")
SHARES = (0.9, 0.09, 0.01, 0.0)
"""Skewed, sparse, and a group without any records."""
USERS = 20_000


def make_study(**more) -> Study:
    return Study(LINE, PROMISES, **{"users": USERS, "groups": [GROUPING], "dataset": "visits", **more})


def truth(seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """The exact shares of (group, item), and the median of each group: skewed inside each group too."""
    rng = np.random.default_rng(seed)
    rows = []
    for share in SHARES:
        inside = rng.exponential(1.0, LINE.items) * np.exp(-np.arange(LINE.items) / rng.uniform(4, 20))
        rows.append(share * inside / inside.sum())
    return np.array(rows), np.asarray(LINE.geometry.places).ravel()


def drawn(plan, exact: np.ndarray, rng: np.random.Generator) -> Sample:
    """What a release would show, by another source of noise."""
    values = np.asarray(plan.query.table.integers.toarray() * float(plan.query.step)).T @ exact
    return Sample(values + rng.laplace(0.0, float(plan.noise.scale), len(values)), private=False)


def covered(plan, exact: np.ndarray, true: dict[str, float], draws: int, shrink: float = 1.0) -> int:
    """How often the intervals of all groups with records hold at once."""
    rng, hits = np.random.default_rng(11), 0
    for _ in range(draws):
        rows = plan.tables(drawn(plan, exact, rng))["values"]
        good = True
        for row in rows:
            if row["group"] not in true:
                continue
            low, high = row["low_95"], row["high_95"]
            middle = (low + high) / 2
            good &= middle - shrink * (middle - low) <= true[row["group"]] <= middle + shrink * (high - middle)
        hits += good
    return hits


def test_intervals_hold_for_all_groups_at_once_on_skewed_and_sparse_ones():
    study, (shares, points) = make_study(), truth()
    exact = np.append(shares.ravel(), 0.0)
    draws = often(300, 5000)
    allowed = draws * 0.95 - 4 * math.sqrt(draws * 0.05)
    mean = study.plan("mean", by="department")
    assert isinstance(mean, GroupedAnswer)
    true = {label: float(row @ points / row.sum()) for label, row in zip(LABELS, shares, strict=True) if row.sum()}
    assert covered(mean, exact, true, draws) >= allowed
    assert covered(mean, exact, true, draws, shrink=0.4) < allowed  # the test can fail
    median = study.plan("median", by="department")
    assert isinstance(median, GroupedQuantilesAnswer)
    halves = {
        label: float(points[np.searchsorted(np.cumsum(row) / row.sum(), 0.5)])
        for label, row in zip(LABELS, shares, strict=True)
        if row.sum()
    }
    assert covered(median, exact, halves, draws // 2) >= allowed / 2 - 4


def test_a_group_without_records_is_not_determined_and_is_printed():
    shares, _ = truth()
    for question, kind in (("mean", GroupedAnswer), ("median", GroupedQuantilesAnswer)):
        plan = make_study().plan(question, by="department")
        assert isinstance(plan, kind)
        rng, lost = np.random.default_rng(3), 0
        for _ in range(60):
            tables = plan.tables(drawn(plan, np.append(shares.ravel(), 0.0), rng))
            (row,) = [row for row in tables["values"] if row["group"] == "d"]
            lost += row["value"] is None and not row["determined"] and row["high_95"] - row["low_95"] >= 50
            assert {row["group"] for row in tables["groups"]} == set(LABELS)
        assert lost >= 52  # its share may be above 0 with probability 5 % at most


def test_shares_within_groups_lie_in_their_intervals():
    shares, _ = truth()
    plan = make_study().plan("histogram", by="department")
    assert isinstance(plan, GroupedHistogramAnswer)
    exact, rng, missed, shown = np.append(shares.ravel(), 0.0), np.random.default_rng(7), 0, 0
    matrix = plan.mechanism.matrix
    for _ in range(often(3, 100)):
        values = np.asarray(matrix @ exact) + rng.laplace(0.0, float(plan.noise.scale), matrix.shape[0])
        rows = plan.tables(Sample(values, private=False))["values"]
        for row, true in zip(rows, shares.ravel(), strict=True):
            total = shares[LABELS.index(row["group"])].sum()
            assert row["determined"] or row["share"] is None
            if row["determined"] and total:
                shown += 1
                missed += not row["low_95"] - 1e-12 <= true / total <= row["high_95"] + 1e-12
    assert plan.mechanism.kind == "cells"  # whose noise is what was drawn here
    assert missed <= 0.05 * shown + 3
    (empty,) = [
        row for row in plan.tables(Sample(np.asarray(matrix @ exact), private=False))["groups"] if row["group"] == "d"
    ]
    assert empty["low_95"] == 0.0
    assert empty["error_about"] is None


def test_the_noise_does_not_grow_with_the_number_of_groups():
    scales = []
    for count in (2, 5, 40):
        grouping = Grouping("department", labels=[f"g{i}" for i in range(count)], distance="20 km")
        scales.append(make_study(groups=[grouping]).plan("mean", by="department").noise.scale)
    assert max(scales) <= min(scales) * (1 + Fraction(1, 10**9))


def test_distances_of_groups_add_and_promises_mean_what_they_meant():
    far = Groups(LABELS, LINE, distance="2/5", name="department")
    assert (far.unit, far.diameter, far.metric_name) == ("km", 70.0, LINE.metric_name)
    for a, b in itertools.product(range(0, far.items, 17), repeat=2):
        (g, x), (h, y) = divmod(a, LINE.items), divmod(b, LINE.items)
        true = LINE.distance(x, y).item() * 50 + 20 * (g != h)
        assert far.distance(a, b).item() * 70 == pytest.approx(true, abs=1e-9)
    for space in (far, NoRecords(far)):
        assert parse_distance("5 km", space) == Fraction(1, 14)
        assert parse_distance("another group", space) == Fraction(2, 7)
        assert parse_distance("0.1 of the largest distance", space) == Fraction(1, 14)  # of the items, as in the study
        # The ledger, which keeps promises about the items' metric, charges what the plan does.
        ref = SpaceRef.of(space)
        assert SpaceRef(**ref.to_json()).group == ref.group == Fraction(2, 7)
        event = KNormNoise(6, model="central")
        for text in PROMISES:
            limit = PromiseLimit.of(Promise.parse(text), LINE)
            assert limit.change == PromiseLimit.of(Promise.parse(text), space).change
            (paid,) = cost_of(event, Fraction(0), ref, [limit], LINE.metric_name).epsilons
            assert 0 < paid <= Fraction(1, 2)
            if limit.group:  # where nobody says how far groups are, or under another metric, it may be anywhere
                bare = cost_of(event, Fraction(0), SpaceRef.of(LINE), [limit], LINE.metric_name).epsilons[0]
                assert bare > paid
                assert cost_of(event, Fraction(0), ref, [limit], "line years").epsilons[0] >= bare
    again = make_study().budget.limit
    assert promises_from_json(again.to_json()) == again


def test_ramps_have_the_constant_that_is_said_and_bracket_shares():
    for count in (1, 3, 50):
        query = line_ramps(LINE, count)
        table = query.table.floats() * float(query.step)
        distances = np.asarray(LINE.block()) + np.eye(LINE.items)
        steep = np.abs(table[:, None, :] - table[None, :, :]).sum(axis=2) / distances
        assert 50.0 * (1 - 1e-9) <= steep.max() <= query.lipschitz_upper(1) <= 50.0 * (1 + 1e-9)
        assert np.abs(table).sum(axis=1).max() <= query.range_upper(1)


def records(folder, *, people: int = 400, odd: str = "", timed: bool = False):
    rng = np.random.default_rng(2)
    rows = []
    for user in range(people):
        for _ in range(int(rng.integers(1, 5))):
            label = str(rng.choice(LABELS[:3], p=[0.6, 0.3, 0.1]))
            rows.append([user, label, int(rng.integers(0, 51)), f"2026-{int(rng.integers(1, 4)):02d}-15"])
    if odd:
        rows[7][1] = odd
    path = folder / "visits.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["uid", "dept", "km", "at"], *rows])
    if not timed:
        return rows, read(path, user="uid", items=["km"])
    columns = dict(zip(("uid", "dept", "km"), map(list, zip(*(row[:3] for row in rows), strict=True)), strict=True))
    frame = {**columns, "at": [date.fromisoformat(row[3]) for row in rows]}
    return rows, read(frame, user="uid", items=["km"], time="at", period="month", zone="UTC")


def by_hand(rows, people: int) -> dict[tuple[str, str], Fraction]:
    """For each group the mean over people of the share of their records in it, and of the sum of these, exactly."""
    held: dict[int, list] = {}
    for user, label, km, _ in rows:
        held.setdefault(user, []).append((label, LINE.encode([km])[0]))
    result: dict[tuple[str, str], Fraction] = {}
    for label in LABELS:
        weights = [[(Fraction(1, len(mine)), item) for name, item in mine if name == label] for mine in held.values()]
        result[label, "share"] = sum((w for mine in weights for w, _ in mine), Fraction(0)) / people
        points = np.asarray(LINE.geometry.places).ravel()
        result[label, "sum"] = sum((w * Fraction(points[i]) for mine in weights for w, i in mine), Fraction(0)) / people
    return result


def test_a_release_counts_as_by_hand_and_is_verified(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, data = records(tmp_path)
    study = make_study(users=450, data=data, questions=[{"kind": "mean", "by": "department"}])
    assert study_from_text(study_text(study.replace(data=None))).groups == study.groups
    within = study.within(GROUPING)
    plan = study.plan("mean")
    engine = within.data.validate(plan.terms.space, About())
    (sums,) = CellReader(within.data, [About()]).sums(engine, plan.terms.space).values()
    center = plan.statistics(sums.with_users(450, plan.terms.space.default_item))
    expected = by_hand(rows, 450)
    for i, label in enumerate(LABELS):
        share = expected[label, "share"] * Fraction(plan.pair.weight)
        assert abs(center.exact_entry(2 * i + 1) - share) <= Fraction(1, 2**60)
        middle = expected[label, "sum"] - expected[label, "share"] * Fraction(plan.pair.middles[0])
        assert float(center.exact_entry(2 * i)) == pytest.approx(float(middle), abs=1e-9)
    ledger = Ledger.create("visits.ledger", study)
    done = study.release("mean", ledger=ledger, out="mean")
    assert [row["group"] for row in done.rows()] == list(LABELS)
    assert "hidden like its item" in done.statement.not_covered[0]
    assert "had been in another group" in (tmp_path / "mean" / "statement.txt").read_text()
    assert all(check.holds for check in verify("mean", ledger=ledger))
    assert contradictions(done.statement) == []
    facts = done.statement.answer.hidden_groups
    for forged in (structs.replace(facts, distance=10.0), structs.replace(facts, labels=["a", "b"]), None):
        answer = structs.replace(done.statement.answer, hidden_groups=forged)
        assert "answer.hidden_groups" in contradictions(structs.replace(done.statement, answer=answer))
    page = report_html(release_report([Released(done.statement, done.tables, plan=plan)]))
    assert "All comparisons together hold" in page or "No two values differ" in page
    paid = [balance.spent.loss for balance in ledger.balances()]
    assert paid == [charge for charge in paid if 0 < charge <= Fraction(1, 2)]


def test_months_and_hidden_groups_go_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _rows, data = records(tmp_path, timed=True)
    promises = [f"{text}, in any month" for text in PROMISES]
    study = Study(
        LINE, promises, users=450, dataset="visits", data=data, groups=[GROUPING],
        questions=[{"kind": "mean", "by": "department"}],
    )  # fmt: skip
    ledger = Ledger.create("visits.ledger", study)
    done = study.release("mean", ledger=ledger, out="mean", period="2026-02")
    assert done.rows()[0]["period"] == "2026-02"
    assert done.rows()[0]["group"] == "a"
    assert contradictions(done.statement) == []
    assert [balance.spent.loss for balance in ledger.balances()][1] <= Fraction(1, 2)


def test_what_has_no_meaning_is_refused_in_words(tmp_path):
    with pytest.raises(ParameterError, match="as public groups of people have"):
        Grouping("x", sizes={"a": 1}, labels=["a", "b"], distance=1)
    for wrong in ({"labels": ["a"], "distance": 1}, {"labels": ["a", "a"], "distance": 1}, {"labels": ["a", "b"]}):
        with pytest.raises(ParameterError, match="hidden grouping"):
            Grouping("x", **wrong)
    with pytest.raises(ParameterError, match="beyond the largest"):
        make_study(groups=[Grouping("x", labels=LABELS, distance="400 km")])
    with pytest.raises(ParameterError, match="no hidden groups"):
        make_study(groups=[])
    with pytest.raises(ParameterError, match="gives alpha"):
        Study(LINE, alpha=5, users=9, groups=[GROUPING])
    with pytest.raises(ParameterError, match="asked by hidden groups"):
        make_study(questions=[{"kind": "density", "bandwidth": "5 km", "by": "department"}])
    with pytest.raises(ParameterError, match="asked by hidden groups"):
        make_study().plan("spread", by="department")
    with pytest.raises(ParameterError, match="a question of its own"):
        make_study().plan({"kind": "histogram", "quantiles": ["0.5"]}, by="department")
    with pytest.raises(ParameterError, match="user-level"):
        make_study().plan({"kind": "mean", "definition": "user_level"}, by="department")
    _rows, _data = records(tmp_path, people=20)
    for outside in ("default", "nearest"):
        with pytest.raises(ParameterError, match="a record without a group"):
            make_study(data=read(tmp_path / "visits.csv", user="uid", items=["km"], outside=outside))


def test_a_label_that_is_not_in_the_list_is_refused_in_constant_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = set()
    for odd in ("secret department", "zzz9"):
        _, data = records(tmp_path, people=30, odd=odd)
        study = make_study(users=40, data=data, questions=[{"kind": "mean", "by": "department"}])
        (tmp_path / "visits.ledger").unlink(missing_ok=True)
        ledger = Ledger.create("visits.ledger", study)
        with pytest.raises(DataError) as caught:
            study.release("mean", ledger=ledger, out="mean")
        assert odd not in str(caught.value)
        assert "in no group of the public list" in str(caught.value)
        assert not any(balance.spent.loss for balance in ledger.balances())
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_what_does_not_read_the_group_costs_nothing_at_another_group(tmp_path):
    """The same law in both versions, in every window; what reads the group, or might, pays by its distance."""
    table = {"uid": [1, 1, 2, 2], "km": [0, 1, 2, 3], "dept": list("abba"), "at": ["2026-01-03"] * 4}
    groups = [Grouping("dept", labels=["a", "b"], distance="1 km")]
    line, times = Line(0, 3, step=1, unit="km", whole=True), {"time": "at", "period": "month", "zone": "UTC"}
    promises = ["all, 1 km, 2, in any month", "all, another group, 1/2, in any month", "all, another group, 1/2"]

    asked = Study(
        line, promises, users=3, dataset="d", groups=groups, missing="default item", periods=3,
        data=read(table, user="uid", item="km", **times), ledger=str(tmp_path / "d.ledger"),
    )  # fmt: skip
    least = Fraction(1, 10**12)
    plan = asked.plan("mean", period="2026-01")
    assert charges(plan) == (2, least, least)
    ledger = Ledger.create(tmp_path / "d.ledger", asked)
    asked.release("mean", period="2026-01", out=tmp_path / "mean")
    assert [balance.spent.loss for balance in ledger.balances()] == [2, least, least]
    assert all(check.holds for check in verify(tmp_path / "mean", ledger=tmp_path / "d.ledger"))
    by_group = asked.plan(Mean(by="dept"), period="2026-01")
    assert min(charges(by_group)[1:]) > Fraction(1, 10)
    # An item that is the group's column: nobody knows how far it moves.
    renamed = asked.replace(groups=[Grouping("dept", "km", labels=["a", "b"], distance="1 km")])
    assert min(charges(renamed.plan("mean", period="2026-01"))[1:]) > least
    with pytest.raises(ParameterError, match="reads nothing of the hidden groups"):
        asked.replace(promises=promises[2:]).plan("mean")


def test_a_query_may_make_anything_of_the_group(tmp_path):
    (tmp_path / "v.csv").write_text("uid,km,dept\n1,0,a\n2,3,b\n")
    line = Line(0, 3, step=1, unit="km", whole=True)
    groups = [Grouping("dept", labels=["a", "b"], distance="1 km")]
    promises = ["all, 1 km, 2", "all, another group, 2"]
    for sql, unseen in ((None, True), ("SELECT uid, km FROM records", False)):
        data = read(str(tmp_path / "v.csv"), user="uid", item="km", sql=sql)
        plan = Study(line, promises, users=3, data=data, groups=groups, missing="default item").plan("mean")
        assert plan.terms.ungrouped is unseen
        assert (charges(plan)[1] == Fraction(1, 10**12)) is unseen
