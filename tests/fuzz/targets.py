"""What is fuzzed: every place where a file, a message or a command line becomes a value.

Names of the upper layers are looked up when the harness starts, so that a parser that moved is still found.
"""

import json
import random
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import tomli_w

from barrow.accounting import price
from barrow.engines import Columns, Source
from barrow.engines.memory import MemoryEngine
from barrow.errors import BarrowError
from barrow.ledger import Budget, SpaceRef, budget_from_json
from barrow.numerics import exact
from barrow.policy import Policy, parse_epsilon, parse_share
from barrow.privacy import (
    DiscreteEmd,
    Emd,
    GaussianNoise,
    Guarantee,
    KNormNoise,
    PureRelease,
    SampledItems,
    ShuffledReports,
    UserLevel,
    UserLevelRelease,
    event_from_json,
)  # fmt: skip
from barrow.privacy.guarantees import definition_from_json, guarantee_from_json
from barrow.queries import query_from_spec
from barrow.randomisers import randomiser_from_spec
from barrow.spaces import (
    Circle,
    Clustered,
    Discrete,
    Earth,
    Embedding,
    Euclidean,
    Finite,
    Line,
    Product,
    Tree,
    parse_space,
    space_from_spec,
)  # fmt: skip
from barrow.spaces.units import parse_distance
from tests.fuzz.inputs import as_json, mutated, mutated_bytes, mutated_text, odd

Target = Callable[[random.Random, Path], None]

LINE = Line(0, 10, step=1, unit="km", cells=True)
SPACES = [
    LINE, Circle(24, unit="h", step=1), Discrete(["a", "b", "c"]), Euclidean([0, 0], [3, 4], step=1, unit="m"),
    Euclidean(center=[0, 0], radius=1, step=0.5), Earth(box=(40, -74, 41, -73), cell=20), Clustered.grid(2, 3, r=0.25),
    Tree.nested(["US/NY", "US/LA", "FR/Paris"], distances=[1, 0.25]), Embedding(["a", "b"], [[0.0, 1.0], [1.0, 0.0]]),
    Finite(["x", "y"], [[0, 1], [1, 0]]), Product([Line(0, 2, step=1), Circle(4, step=1)], weights=["1/2", "1/2"]),
]  # fmt: skip
QUERIES = [
    {"kind": "mean"}, {"kind": "distance_to", "point": 3}, {"kind": "density", "bandwidth": "2 km"},
    {"kind": "region_share", "center": 3, "radius": 2, "ramp": 1}, {"kind": "histogram"}, {"kind": "tree_edges"},
    {"kind": "function", "values": list(range(10)), "names": ["f"], "unit": "kg", "lipschitz": "100"},
    {"kind": "pyramid", "bandwidths": ["2 km", "cells"], "shares": ["1/2", "1/2"]},
]  # fmt: skip
RANDOMISERS = [
    "response", "exponential", {"kind": "gkrr"}, {"kind": "laplace"}, {"kind": "planar_laplace"}, {"kind": "tree"},
    {"kind": "matrix", "matrix": [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]},
    {"kind": "mapped", "inner": "response", "answers": ["x", "y", "x"]},
]  # fmt: skip
EVENTS = [
    KNormNoise("1/3", model="central", range_ratio="0.1"), GaussianNoise(3, delta="1e-9", model="local"),
    PureRelease(5, model="central", bounded=True), UserLevelRelease(1, delta="1e-9", model="central"),
    ShuffledReports("1.5", reports=10**4, items=10, delta="1e-6", model="shuffle", randomiser="krr:4"),
    SampledItems(samples=100, radius="0.01", delta="1e-6", inner=PureRelease(5, model="central", bounded=True)),
]  # fmt: skip
DEFINITIONS = [Emd(5), UserLevel(1, "1e-9"), DiscreteEmd("0.2", "1e-12", radius="0.01")]
STUDY = {
    "dataset": "visits", "users": 100, "model": "central",
    "space": {"kind": "line", "low": 0, "high": 10, "step": 1, "unit": "km"},
    "query": {"kind": "mean"}, "data": {"source": "visits.csv", "user": "uid", "items": ["x"]},
    "privacy": {"delta": "1e-9"}, "promise": [{"share": "1 of 30", "distance": "2 km", "epsilon": 0.5}],
}  # fmt: skip
REPORT = {"barrow": "local report", "version": 1, "study": "sha256:" + "0" * 64, "id": "0" * 32, "values": [1, 2, 3]}
CSV = b"uid,x,y\n1,3.5,a\n1,4,b\n2,0,a\n3,9.99,\n"


def _spaces(rng: random.Random, folder: Path) -> None:
    space = space_from_spec(mutated(rng.choice(SPACES).to_spec(), rng))
    if space.size is not None and space.size < 1000:
        _ = space.least_distance_lower, space.default_item, space.label(0)


def _space_text(rng: random.Random, folder: Path) -> None:
    texts = (
        "line(low=0, high=10, step=1, unit='km', cells=True)",
        "circle(period=24)",
        "earth(cell=10)",
        "discrete(labels=['a'])",
    )
    parse_space(mutated_text(rng.choice(texts), rng))


def _queries(rng: random.Random, folder: Path) -> None:
    query = query_from_spec(rng.choice(SPACES), mutated(rng.choice(QUERIES), rng))
    _ = query.lipschitz_upper(1), query.outputs, query.constant_proved


def _randomisers(rng: random.Random, folder: Path) -> None:
    spec = rng.choice(RANDOMISERS)
    changed = mutated(spec, rng)
    randomiser_from_spec(rng.choice(SPACES), rng.choice((1, "1/2", odd(rng))), changed)


def _events(rng: random.Random, folder: Path) -> None:
    event = event_from_json(mutated(rng.choice(EVENTS).to_json(), rng))
    if rng.random() < 0.2:
        price(event)


def _guarantees(rng: random.Random, folder: Path) -> None:
    definition = rng.choice(DEFINITIONS)
    if rng.random() < 0.5:
        definition_from_json(mutated(definition.to_json(), rng)).epsilon_at("1/2")
    else:
        told = Guarantee(definition, "pure", "x", UserLevel(1)).to_json()
        guarantee_from_json(mutated(told, rng))


def _numbers(rng: random.Random, folder: Path) -> None:
    text = mutated_text(rng.choice(("1 of 30", "2 %", "0.25", "1e-9", "5 km", "1000 mi", "eps 0.2")), rng)
    for read in (exact, parse_share, parse_epsilon, lambda t: parse_distance(t, LINE)):
        try:
            read(text)
        except BarrowError:
            continue


def _policies(rng: random.Random, folder: Path) -> None:
    rows = mutated([["1 of 30", "2 km", "0.5"]], rng)
    policy = Policy(rng.choice(SPACES), rows)
    _ = policy.alpha, policy.explain()


def _budgets(rng: random.Random, folder: Path) -> None:
    budget = Budget("visits", 1083, SpaceRef("line", "sha256:00", 10, "km"), Emd(250, "1e-9"))
    budget_from_json(mutated(budget.to_json(), rng))


def _csv(rng: random.Random, folder: Path) -> None:
    path = folder / "records.csv"
    path.write_bytes(mutated_bytes(CSV, rng))
    space = rng.choice((LINE, Discrete(["a", "b"])))
    column = "x" if space is LINE else "y"
    from barrow.engines.duckdb import DuckDBEngine

    DuckDBEngine().count(
        Source.parse(str(path)), Columns("uid", [column]), space, unknown=rng.choice(("error", "default"))
    )


def _columns(rng: random.Random, folder: Path) -> None:
    table = {"uid": mutated([1, 1, 2, 3], rng), "x": mutated([0.5, 3, 9, 2], rng)}
    MemoryEngine().count(Source.of(table), Columns("uid", ["x"]), LINE, unknown=rng.choice(("error", "default")))


def _study_file(read: Callable[[Path], Any]) -> Target:
    def target(rng: random.Random, folder: Path) -> None:
        path = folder / "study.toml"
        try:
            text = tomli_w.dumps(mutated(STUDY, rng))
        except (TypeError, ValueError, AttributeError):
            text = mutated_text(tomli_w.dumps(STUDY), rng)
        data = text.encode(errors="replace")
        path.write_bytes(data if rng.random() < 0.9 else mutated_bytes(data, rng))
        study = read(path)
        _ = study.alpha, repr(study)

    return target


def _made_release() -> dict[str, bytes]:
    """The files of a real release, so that mutations reach the inside of what reads them."""
    import barrow

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "visits.csv").write_bytes(b"uid,x\n1,3\n2,4\n")
        study = barrow.Study(LINE, ["1 of 30, 2 km, 0.5"], users=100, dataset="visits")
        ledger = barrow.Ledger.create(folder / "visits.ledger", study)
        data = barrow.read(str(folder / "visits.csv"), user="uid", item="x")
        study.release("mean", data, ledger=ledger, out=folder / "out")
        return {path.name: path.read_bytes() for path in (folder / "out").iterdir() if path.is_file()}


def _statement_file(read: Callable[[Path], Any]) -> Target:
    files = _made_release()
    said = json.loads(files["statement.json"])

    def target(rng: random.Random, folder: Path) -> None:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        text = as_json(mutated(said, rng)) if rng.random() < 0.7 else mutated_text(json.dumps(said), rng)
        (folder / "statement.json").write_bytes(text.encode(errors="replace"))
        read(folder)

    return target


def _report(read: Callable[[Any], Any]) -> Target:
    def target(rng: random.Random, folder: Path) -> None:
        changed = mutated(REPORT, rng)
        given = changed if isinstance(changed, dict) else as_json(changed)
        read(rng.choice((given, as_json(changed), mutated_text(json.dumps(REPORT), rng), mutated_bytes(b"{}", rng))))

    return target


def _found(*names: str) -> Any:
    """The first of several dotted names that exists."""
    for name in names:
        module, _, attribute = name.rpartition(".")
        try:
            owner = import_module(module)
        except ImportError:
            first, _, last = module.rpartition(".")
            owner = getattr(import_module(first), last, None) if first else None
        if owner is not None and hasattr(owner, attribute):
            return getattr(owner, attribute)
    return None


def targets() -> dict[str, Target]:
    """Every target by its name; the upper layers' ones where they are found."""
    known: dict[str, Target] = {
        "spaces": _spaces, "space text": _space_text, "queries": _queries, "randomisers": _randomisers,
        "events": _events, "guarantees": _guarantees, "numbers": _numbers, "policies": _policies, "budgets": _budgets,
        "csv": _csv, "columns": _columns,
    }  # fmt: skip
    study = _found("barrow.Study.read", "barrow.release.study.read_study")
    statement = _found("barrow.verify", "barrow.study.verify.verify", "barrow.release.verify.verify")
    report = _found("barrow.local.report.report_from_json", "barrow.local.report.read_report")
    if study is not None:
        known["study files"] = _study_file(study)
    if statement is not None:
        known["statements"] = _statement_file(statement)
    if report is not None:
        known["reports"] = _report(report)
    return known
