"""Workloads from records to statement: what is released, what follows from it, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import barrow as bw
from barrow.engines import MemoryEngine
from barrow.errors import ParameterError
from barrow.mechanisms import Strategy
from barrow.questions import to_question
from barrow.questions.density import ShapedDensityAnswer
from barrow.questions.shaped import StrategyAnswer
from barrow.spaces import Euclidean, Line
from barrow.web.example import simulated

LINE = Line(0, 60, unit="km", step=1)
PLACES = [{"kind": "region", "center": c, "radius": "4 km", "ramp": "6 km"} for c in (5, 20, 30, 50)]
XY = (("x", 7), ("y", 13))
TABLE = {"uid": [i % 40 for i in range(200)], "item": [(i * i) % 61 for i in range(200)]}


def study(*questions: object, **options: object) -> bw.Study:
    data = bw.read(TABLE, user="uid", item="item")
    given = {"users": 50, "dataset": "rides", "missing": "default item", **options}
    return bw.Study(LINE, ["all, 6 km, 0.5"], data=data, questions=list(questions), **given)  # type: ignore[arg-type]


def test_what_is_released_is_the_strategy_and_the_answers_follow(tmp_path):
    request = study({"kind": "workload", "parts": PLACES, "noise": "gaussian"}, delta="1e-6")
    plan = request.plan()
    assert isinstance(plan, StrategyAnswer)
    assert isinstance(plan.noise, Strategy)
    counts = bw.read(TABLE, user="uid", item="item").count(MemoryEngine(), LINE, 50)
    center = plan.statistics(counts)
    single = [request.replace(questions=[part]).plan() for part in PLACES]
    true = np.array([float(one.statistics(counts).exact_entry(0)) for one in single])
    off = (
        plan.strategy.read(np.array([float(center.exact_entry(i)) for i in range(plan.strategy.query.dimension)]))
        - true
    )
    assert np.abs(off).max() < 1e-9
    errors = np.array([plan.draw(center).values - true for _ in range(300)])
    # At most 5 % of answers miss their half widths; 6 deviations of 300 draws for each of 4 answers.
    assert ((np.abs(errors) > plan.widths).mean(axis=0) < 0.05 + 6 * (0.05 * 0.95 / 300) ** 0.5).all()
    ledger = bw.Ledger.create(tmp_path / "rides.ledger", request)
    release = request.release(ledger=ledger, out=tmp_path / "out")
    rows = release.tables["values"]
    assert [row["output"] for row in rows] == list(plan.query.outputs)
    assert len({row["half_width_95"] for row in rows}) > 1
    assert release.statement.answer.outputs == 4
    assert " %" in (tmp_path / "out" / "statement.txt").read_text()


def test_rectangles_of_a_map_are_released_round_its_faces(tmp_path):
    square, below = Euclidean([0, 0], [1, 1], step=1 / 7), np.triu(np.ones((7, 7)))
    prefixes = np.kron(below, below)[:, :-1].T
    table = {"uid": [i % 40 for i in range(200)], **{n: [(i * k % 97) / 97 for i in range(200)] for n, k in XY}}
    request = bw.Study(
        square,
        ["all, 0.1, 0.5"],
        data=bw.read(table, user="uid", item=["x", "y"]),
        questions=[{"kind": "workload", "parts": [{"kind": "function", "values": row} for row in prefixes.tolist()]}],
        users=50,
        missing="default item",
        dataset="walks",
    )
    plan = request.plan()
    assert isinstance(plan, StrategyAnswer)
    assert plan.strategy.name == "shaped edge K-norm"
    assert plan.constant == (True, "graph", None)
    counts = request.data.count(MemoryEngine(), square, 50)
    center = plan.statistics(counts)
    nodes = np.array([float(center.exact_entry(v)) for v in range(square.items)])
    errors = np.array([plan.draw(center).values - prefixes @ nodes for _ in range(60)])
    missed = (np.abs(errors) > plan.strategy.half_widths()).mean(axis=0)
    assert (missed < 0.05 + 6 * (0.05 * 0.95 / 60) ** 0.5).all()
    assert np.sqrt((errors**2).mean()) > 0.5 * plan.strategy.rms
    ledger = bw.Ledger.create(tmp_path / "walks.ledger", request)
    release = request.release(ledger=ledger, out=tmp_path / "out")
    assert release.statement.answer.noise.distribution == "shaped edge K-norm"
    checks = bw.verify(tmp_path / "out", ledger=tmp_path / "walks.ledger")
    assert checks
    assert all(check.holds for check in checks)


def test_together_is_better_than_one_by_one():
    together = study({"kind": "workload", "parts": PLACES}).plan()
    alone = [study(*[{**part, "name": f"r{i}"} for i, part in enumerate(PLACES)]).plan(f"r{i}") for i in range(4)]
    assert together.half_width < 0.75 * max(one.half_width for one in alone)


def test_plain_data_and_texts_are_the_same_question():
    one = to_question({"kind": "workload", "parts": ["distance(to=3)", {"kind": "distance", "to": 7}]})
    assert to_question(one.to_spec()) == one
    assert one.parts[0] == {"kind": "distance", "to": 3}
    assert not one.traits.in_percent
    assert to_question({"kind": "workload", "parts": PLACES}).traits.in_percent


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"parts": []}, "not a list of questions"),
        ({"parts": "mean"}, "not a list of questions"),
        ({"parts": ["histogram"]}, "of the kind 'histogram'"),
        ({"parts": [{"kind": "mean", "noise": "laplace"}]}, "a noise, a definition or a fraction"),
        ({"parts": ["density(bandwidth='auto')"]}, "is 'auto'"),
        ({"parts": ["mean"], "definition": "user_level"}, "'user_level'"),
    ],
)
def test_what_is_no_workload_is_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        to_question({"kind": "workload", **options})


def test_units_models_and_large_spaces_are_refused_in_words():
    with pytest.raises(ParameterError, match="different units: shares, km"):
        study({"kind": "workload", "parts": [PLACES[0], "mean"]}).plan()
    with pytest.raises(ParameterError, match="in which a curator holds the data"):
        study({"kind": "workload", "parts": PLACES}, model="local").plan()
    large = bw.Study(
        Euclidean([0, 0], [1, 1], step=1 / 200), alpha=5, users=50, dataset="map", missing="default item",
        questions=[{"kind": "workload", "parts": ["mean", "function(values=[0])"]}],
    )  # fmt: skip
    with pytest.raises(ParameterError):
        large.plan()


INTERVALS = [
    (3, 33),
    (7, 9),
    (7, 32),
    (23, 35),
    (1, 3),
    (13, 17),
    (19, 25),
    (6, 10),
    (28, 30),
    (1, 4),
    (16, 18),
    (21, 36),
]


def test_a_function_of_several_values_gets_shaped_noise_where_that_is_better():
    cells = Line(0, 40, step=1, cells=True)
    values = [[float(a <= x < b) for a, b in INTERVALS] for x in range(40)]
    asked = bw.Study(cells, ["all, 0.05, 0.5"], users=2000, missing="default item", questions=[bw.Function(values)])
    plan = asked.plan()
    assert isinstance(plan, StrategyAnswer)
    assert plan.noise.name.startswith("shaped")
    assert plan.half_width * 1.05 < min(other.error for other in plan.others)
    named = asked.replace(questions=[bw.Function(values, noise="laplace")]).plan()
    assert not isinstance(named, StrategyAnswer)
    single = asked.replace(questions=[bw.Function([row[:1] for row in values])]).plan()
    assert not isinstance(single, StrategyAnswer)
    people = np.full(40, 1 / 40)
    spread = np.array([simulated(plan, people, seed) for seed in range(200)])
    true = np.array(values).T @ people
    assert np.abs(spread.mean(axis=0) - true).max() < 6 * plan.strategy.deviation / 200**0.5


def test_a_density_gets_shaped_noise_where_that_is_better(tmp_path):
    flat = Euclidean([0, 0], [3, 0.3], step=0.1)
    table = {"uid": list(range(30)), "x": [0.05 + 0.1 * (i % 30) for i in range(30)], "y": [0.15] * 30}
    asked = bw.Study(
        flat, alpha=5, delta="0.2", users=30, dataset="strip", missing="default item",
        data=bw.read(table, user="uid", item=["x", "y"]), questions=[bw.Density(bandwidth="0.2")],
    )  # fmt: skip
    plan = asked.plan()
    assert isinstance(plan, ShapedDensityAnswer)
    assert plan.half_width * 1.05 < min(other.error for other in plan.others)
    assert plan.expected.values > 0
    release = asked.release(ledger=bw.Ledger.create(tmp_path / "strip.ledger", asked), out=tmp_path / "out")
    rows = release.tables["values"]
    assert len(rows) == plan.query.dimension
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    assert {round(row["half_width_95"], 12) for row in rows} <= {round(float(w), 12) for w in plan.widths}
    plain = bw.Study(flat, alpha=5, users=30, missing="default item", questions=[bw.Density(bandwidth="0.2")]).plan()
    assert not isinstance(plain, ShapedDensityAnswer)
