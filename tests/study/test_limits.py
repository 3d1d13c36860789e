"""Integers at their limits through the real pipeline: files with weights, engines, plans and statistics."""

import csv
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barrow.audit import BUGS, audit_all
from barrow.audit.limits import PEOPLE, RECORDS, WEIGHT, exact_answer, limit_crowds
from barrow.engines import Columns, Counts, DuckDBEngine, MemoryEngine
from barrow.errors import DataError, ParameterError
from barrow.ledger import Budget, SpaceRef
from barrow.mechanisms import UserCounts, linear_noise
from barrow.promises import Emd
from barrow.queries import function, mean, region_share, tree_edges
from barrow.queries.holders import holders
from barrow.queries.quantised import Quantised
from barrow.spaces import Clustered, Line, NoRecords
from barrow.study import Study, read

INCOMES = Line(0, 1_000_000, unit="EUR", step=1000)
STEEP = {"kind": "region", "center": 100_000, "radius": "20000 EUR", "ramp": "1000 EUR"}
QUESTIONS = [
    STEEP,
    {"kind": "mean"},
    {"kind": "histogram", "mechanism": "tree"},
    {"kind": "histogram", "mechanism": "edges"},
    {"kind": "histogram", "mechanism": "cells"},
    {"kind": "density", "bandwidth": "100000 EUR"},
]


def _plan(question, users, space=INCOMES, **options):
    study = Study(space, ["all, 20000 EUR, 1"], users=users, questions=[question], **options)
    return study.plan(study.questions[0].label)


def _same(plan, counts, rows, users, outputs=5):
    """The statistic against sums of Python's integers over ``rows`` (person, item, weight)."""
    held = {}
    for person, item, weight in rows:
        held.setdefault(person, {}).setdefault(item, 0)
        held[person][item] += weight
    entries = [(i, sum(one.values()), w) for one in held.values() for i, w in one.items()]
    triples = ([e[0] for e in entries], [e[1] for e in entries], [e[2] for e in entries], users)
    center, query = plan.statistics(counts), plan.query
    errors = np.broadcast_to(center.absolute, (query.dimension,))
    for j in sorted({round(x) for x in np.linspace(0, query.dimension - 1, outputs)}):
        true = exact_answer(query, triples, j)
        assert center.exact_entry(j) == true
        assert abs(Fraction(float(center.approximation[j])) - true) <= Fraction(float(errors[j]))


@cache
def _known_plan(users, number):
    return _plan(QUESTIONS[number], users)


WEIGHTS = st.one_of(st.sampled_from([1, WEIGHT, WEIGHT - 1, 10**8]), st.integers(1, WEIGHT))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 1000), WEIGHTS), min_size=1, max_size=40),
    users=st.sampled_from([100, PEOPLE]),
    number=st.integers(0, len(QUESTIONS) - 1),
)
def test_files_with_the_largest_weights_are_added_up_as_by_python(tmp_path, rows, users, number):
    path, plan = tmp_path / "incomes.csv", _known_plan(users, number)
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["uid", "income", "w"], *((u, 1000 * x, w) for u, x, w in rows)])
    columns = Columns("uid", "income", weight="w")
    counts = DuckDBEngine().count(path, columns, plan.terms.space, users=users)
    table = {
        name: np.array(column) for name, column in zip(("uid", "income", "w"), zip(*rows, strict=True), strict=True)
    }
    table["income"] = 1000 * table["income"]
    assert counts == MemoryEngine().count(table, columns, plan.terms.space, users=users)
    _same(plan, counts, rows, users)


@settings(max_examples=60, deadline=None)
@given(
    people=st.lists(
        st.tuples(st.integers(0, 1000), st.integers(0, 61), st.integers(0, 35)), min_size=1, max_size=6,
        unique_by=lambda x: x[:2],
    ),
    odd=st.integers(0, 1),
    number=st.integers(0, len(QUESTIONS) - 1),
)  # fmt: skip
def test_aggregated_counts_are_added_up_as_by_python(people, odd, number):
    """So many people of a size, all at one item: up to 2^35 people, and up to 2^62 records
    with those of people who are missing."""
    entries, left = {}, PEOPLE
    for item, size_bits, people_bits in people:
        size = max(1, 2**size_bits - odd)
        many = min(2**people_bits, left, (RECORDS - PEOPLE - sum(entries.values())) // size)
        if many > 0:
            entries[item, size] = entries.get((item, size), 0) + many * size
            left -= many
    if not entries:
        entries, left = {(0, 1): 1}, PEOPLE - 1
    keys = sorted(entries)
    values = [entries[key] for key in keys]
    counts = Counts([i for i, _ in keys], [m for _, m in keys], values, users=PEOPLE - left)
    plan = _known_plan(PEOPLE, number)
    center, query = plan.statistics(counts.with_users(PEOPLE, plan.terms.space.default_item)), plan.query
    triples = ([i for i, _ in keys], [m for _, m in keys], values, PEOPLE)
    for j in {0, query.dimension // 2, query.dimension - 1}:
        assert center.exact_entry(j) == exact_answer(query, triples, j)


@pytest.mark.parametrize("ramp", ["100000 EUR", "1000 EUR", "200 EUR", "20 EUR", "1 EUR"])
def test_a_weight_alone_does_not_move_the_statistic(ramp):
    """100 people; one person's only record stands for 1 or for as many as may be: the data sets are at distance 0."""
    line = Line(0, 1_000_000, unit="EUR", step=1000)
    space = NoRecords(line)
    query = holders(region_share(line, center=100_000, radius="20000 EUR", ramp=ramp), space).query
    scale = linear_noise(query, 1, users=100).scale
    results = [
        UserCounts.of(space, item=[100, 900], size=[1, w], count=[99, w], users=100).center(query)
        for w in (1, 10**8, WEIGHT, 2**40, 2**61)
    ]
    for center in results[1:]:
        for j in range(query.dimension):
            assert center.exact_entry(j) == results[0].exact_entry(j)
            assert abs(center.approximation[j] - results[0].approximation[j]) <= 1e-9 * float(scale)


def test_a_share_of_very_many_people_is_right():
    line = Line(0, 1_000_000, unit="EUR", step=1000)
    pair = holders(region_share(line, center=100_000, radius="20000 EUR", ramp="1000 EUR"), NoRecords(line))
    for people in (2**28, PEOPLE):
        held = UserCounts.of(NoRecords(line), item=[100], size=[1], count=[people - 1], users=people)
        share = held.center(pair.query).exact_entry(pair.query.dimension - 1) / Fraction(pair.weight)
        assert share == Fraction(people - 1, people)


@pytest.mark.parametrize("ramp", [10, 20, 1000])
def test_the_steepest_functions_are_planned(ramp):
    line = Line(0, 1_000_000, unit="EUR", step=10)
    question = {"kind": "region", "center": 50_000, "radius": "20000 EUR", "ramp": f"{ramp} EUR"}
    plan = _plan(question, 1000, line)
    assert plan.query.table.integers.max() <= 2**50
    assert plan.pair.weight >= 1.0  # the share still gets less noise than the value, whose range is 1
    assert plan.query.lipschitz_upper(1) == pytest.approx(plan.pair.inner.lipschitz_upper(1), rel=1e-5)


@pytest.mark.parametrize("made", [
    lambda line: region_share(line, center=0, radius="1 EUR", ramp="1 EUR"),
    lambda line: mean(line),
    lambda line: tree_edges(line),
    lambda line: function(line, np.sin(np.arange(line.items) * 1e6)[:, None] * [1.0, 1e-6, 1e6]),
])  # fmt: skip
@pytest.mark.parametrize("p", [1, 2, "inf"])
@pytest.mark.parametrize("ranged", [False, True])
def test_constants_hold_on_the_coarser_grid(made, p, ranged):
    """All pairs of items and people without records, in exact arithmetic but for norms."""
    line = Line(0, 60, unit="EUR", step=1)
    inner = made(line)
    space = NoRecords(line)
    query = holders(inner, space, p=float(p), ranged=ranged).query
    rows = query.table.floats() * float(query.step)
    far = space.block(np.arange(space.items))
    gaps = np.linalg.norm(rows[:, None, :] - rows[None, :, :], ord=float(p), axis=2)
    result = query.constants([p])[0]
    assert gaps.max() <= result.range_upper * (1 + 1e-12)
    assert (gaps <= result.lipschitz_upper * far * (1 + 1e-12)).all()
    table = inner.table.integers.toarray() if inner.table.sparse else inner.table.integers
    errors = np.abs(rows[:-1, :-1] - (table * float(inner.step) - np.array(holders(inner, space).middles)))
    assert errors.max() <= query.rounding_upper


def test_what_is_above_a_limit_is_refused_before_anything_is_read(tmp_path):
    missing = read(str(tmp_path / "not there.csv"), user="uid", item="income")
    with pytest.raises(ParameterError, match=r"users is 68719476737.*\n.*1 to 68,719,476,736"):
        Study(INCOMES, ["all, 1000 EUR, 1"], users=PEOPLE + 1, questions=["mean"], data=missing)
    with pytest.raises(ParameterError, match="users is"):
        linear_noise(mean(INCOMES), 1, users=PEOPLE + 1)
    with pytest.raises(ParameterError, match="users is"):
        Budget("incomes", PEOPLE + 1, SpaceRef("line", "sha256:00", 10, "km"), Emd(1, model="central"))
    assert Study(INCOMES, ["all, 1000 EUR, 1"], users=PEOPLE, questions=["mean"]).users == PEOPLE


def test_weights_beyond_the_limit_are_refused_in_constant_words(tmp_path):
    path = tmp_path / "incomes.csv"
    path.write_text(f"uid,income,w\nx,1000,{WEIGHT + 1}\n")
    columns = Columns("uid", "income", weight="w")
    with pytest.raises(DataError, match="weight that is not a whole number"):
        DuckDBEngine().count(path, columns, INCOMES)
    with pytest.raises(DataError, match=r"more records than can be added up.*\n.*2\^62"):
        Counts([0, 1], [1, RECORDS], [1, RECORDS], users=2)


def test_samples_of_rows_with_the_largest_weights_are_whole(tmp_path):
    path, rows = tmp_path / "incomes.csv", 64
    path.write_text("uid,income,w\n" + "".join(f"{i % 3},{1000 * i},{WEIGHT}\n" for i in range(rows)))
    sample = DuckDBEngine().sample(path, Columns("uid", "income", weight="w"), INCOMES, samples=1000, users=PEOPLE)
    assert sum(sample.counts.tolist()) == 1000 * PEOPLE
    assert sample.counts.tolist()[0] >= 1000 * (PEOPLE - 3)


@pytest.mark.parametrize("values", [[[2**50 + 1]], [[-(2**50) - 1]], [[-(2**63)]]])
def test_a_table_beyond_its_bits_is_refused_in_one_place(values):
    with pytest.raises(ParameterError, match=r"within 2\^50"):
        Quantised(np.array(values), Fraction(1), 0.0)
    with pytest.raises(ParameterError, match="type float64"):
        Quantised(np.array(values, dtype=np.float64), Fraction(1), 0.0)
    Quantised(np.array([[2**50], [-(2**50)]]), Fraction(1), 0.0)


def test_the_audit_drives_integers_to_their_limits_and_sees_wrong_ones():
    verdict = audit_all(only=["limits"], planted=True)
    summary = verdict.summary()
    assert verdict.passed
    assert summary["limits"] >= 250
    assert summary["undetected"] == 0
    assert summary["planted"] == summary["planted_caught"] == len([bug for bug in BUGS if bug.case == "limits"]) >= 9


def test_the_crowds_of_the_audit_reach_the_limits():
    crowds = dict(limit_crowds(Clustered.grid(2, 2, r=0.25).items))
    assert max(users for *_, users in crowds.values()) == PEOPLE
    assert max(sum(count) for _, _, count, _ in crowds.values()) == RECORDS
