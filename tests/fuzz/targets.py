"""What is fuzzed: every place where a file, a message or a command line becomes a value."""

import atexit
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from barrow.accounting import price
from barrow.collect import ClientBudget, read_card
from barrow.collect.admission import Gate
from barrow.collect.batches import read_batch as read_sealed
from barrow.collect.batches import write_batch
from barrow.collect.keys import public_bytes
from barrow.engines import Columns, Source
from barrow.engines.memory import MemoryEngine
from barrow.errors import BarrowError, ParameterError
from barrow.ledger import Budget, Ledger, SpaceRef
from barrow.ledger.budget import budget_from_json
from barrow.local.client import Survey
from barrow.local.mixing import mix, read_batch
from barrow.local.report import message_of, report_from_json, value_of
from barrow.local.server import Server
from barrow.numerics import exact
from barrow.promises import (
    DiscreteEmd,
    Emd,
    GaussianNoise,
    Guarantee,
    KNormNoise,
    Policy,
    PureRelease,
    SampledItems,
    ShuffledReports,
    UserLevel,
    UserLevelRelease,
    event_from_json,
    parse_epsilon,
    parse_share,
)  # fmt: skip
from barrow.promises.guarantees import definition_from_json, guarantee_from_json
from barrow.queries import query_from_spec
from barrow.questions import to_question
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
from barrow.spaces.spec import parse_distance
from barrow.study import Study, explain, read, read_statement, read_study, statement_text, verify
from barrow.study.file import study_from_spec
from tests.collect.vectors import FOLDER, resigned
from tests.collect.world import key
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
    {"kind": "multiscale", "bandwidths": ["2 km", "cells"], "shares": ["1/2", "1/2"]},
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
    "dataset": "visits", "users": 100, "model": "central", "ledger": "visits.ledger", "delta": 1e-9,
    "space": {"kind": "line", "low": 0, "high": 10, "step": 1, "unit": "km"},
    "data": {"source": "visits.csv", "user": "uid", "items": ["x"], "outside": "default", "version": "2026-10"},
    "promise": [{"share": "1 of 30", "distance": "2 km", "epsilon": 0.5}],
    "question": [
        {"name": "map", "kind": "density", "bandwidth": "2 km", "fraction": 0.5}, {"name": "all", "kind": "mean"},
    ],
}  # fmt: skip
OLD_STUDY = {
    "dataset": "visits", "users": 100, "space": STUDY["space"], "query": {"kind": "mean"},
    "privacy": {"alpha": "25", "delta": "1e-9", "user_epsilon": "1"}, "data": {"source": "visits.csv", "user": "uid"},
}  # fmt: skip
QUESTIONS: list[Any] = [
    {"kind": "mean"}, {"kind": "density", "bandwidth": "2 km", "fraction": "1/3"}, {"kind": "histogram"},
    {"kind": "distance", "to": 3}, {"kind": "region", "center": 3, "radius": "2 km", "ramp": "1 km"},
    {"kind": "items", "items": 3}, {"kind": "frequency", "items": 3}, {"kind": "similarity", "to": 3},
    {"kind": "function", "values": list(range(11)), "unit": "kg", "lipschitz": "100"},
]  # fmt: skip
QUESTION_TEXTS = (
    "mean", "density(bandwidth='2 km')", "histogram(levels=3)", "region(center=3, radius='2 km', ramp='1 km')",
    "items(items=3, output='list')", "distance(to=3, fraction='1/2', name='x')", "frequency(items=2)",
)  # fmt: skip
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
    for parse in (exact, parse_share, parse_epsilon, lambda t: parse_distance(t, LINE)):
        try:
            parse(text)
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


def _study_file(rng: random.Random, folder: Path) -> None:
    path, study = folder / "study.toml", rng.choice((STUDY, STUDY, OLD_STUDY))
    try:
        text = tomli_w.dumps(mutated(study, rng))
    except (TypeError, ValueError, AttributeError):
        text = mutated_text(tomli_w.dumps(study), rng)
    data = text.encode(errors="replace")
    path.write_bytes(data if rng.random() < 0.9 else mutated_bytes(data, rng))
    _look(read_study(path), rng, folder)


def _study_spec(rng: random.Random, folder: Path) -> None:
    _look(study_from_spec(mutated(rng.choice((STUDY, STUDY, OLD_STUDY)), rng)), rng, folder)


def _look(study: Study, rng: random.Random, folder: Path) -> None:
    """What every command does with a study before it reads a record."""
    _ = repr(study), study.to_spec()
    if rng.random() < 0.2:
        _ = study.alpha, [question.label for question in study.questions]
    if rng.random() < 0.1:
        path = folder / "again.toml"
        path.unlink(missing_ok=True)
        study.write(path)


def _statements(rng: random.Random, folder: Path) -> None:
    """A real release, with its statement changed: read, verified, explained, and put in words."""
    place, folder = _released(), folder / "released"  # by itself: a file that is not part of a release is named
    folder.mkdir(exist_ok=True)
    told = json.loads((place / "statement.json").read_text())
    text = as_json(mutated(told, rng)) if rng.random() < 0.75 else mutated_text(json.dumps(told), rng)
    for file in place.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "statement.json").write_bytes(text.encode(errors="surrogatepass"))
    statement = read_statement(folder)
    checks = verify(folder, ledger=place.parent / "ages.ledger") if rng.random() < 0.9 else verify(folder)
    if as_json(msgspec.to_builtins(statement)) != as_json(told) and all(check.holds for check in checks):
        raise AssertionError("a changed statement was verified")
    _ = statement_text(statement), explain(statement)


@cache
def _released() -> Path:
    """A release to begin with."""
    folder = Path(tempfile.mkdtemp(prefix="barrow-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    people = {"uid": [1, 2, 3], "x": [2, 3, 4]}
    study = Study(LINE, ["all, 2 km, 0.5"], users=3, dataset="ages", data=read(people, user="uid", item="x"))
    Ledger.create(folder / "ages.ledger", study)
    return study.release("mean", ledger=folder / "ages.ledger", out=folder / "mean").folder


def _reports(rng: random.Random, folder: Path) -> None:
    changed = mutated(REPORT, rng)
    odd_ones = (changed, as_json(changed), mutated_text(json.dumps(REPORT), rng), mutated_bytes(b"{}", rng))
    report_from_json(rng.choice(odd_ones))


@cache
def _surveys() -> tuple[Survey, Survey]:
    told: dict[str, Any] = {"space": "discrete(labels=['a', 'b', 'c'])", "alpha": 6, "users": 2}
    return (
        Survey(Study(**told, delta="1e-6", model="shuffle"), "items(items=2)"),
        Survey(Study(**told, model="local"), "frequency(items=2)"),
    )


def _messages(rng: random.Random, folder: Path) -> None:
    survey = _surveys()[0]
    line = message_of(survey.digest, 2, 3)
    result = value_of(survey.digest, mutated_text(line, rng), 3)
    result = value_of(survey.digest, mutated_bytes(line.encode(), rng), 3) if isinstance(result, str) else result
    if isinstance(result, str):
        raise ParameterError("refused", allowed="a message", fix="send one")


def _batches(rng: random.Random, folder: Path) -> None:
    survey = _surveys()[0]
    good = [message_of(survey.digest, value, 3) for value in (0, 1, 2, 2)]
    lines = list(mix(survey, good).lines(3))
    for _ in range(rng.choice((1, 1, 3))):
        place = rng.randrange(len(lines))
        if place == 0 and rng.random() < 0.7:
            lines[0] = as_json(mutated(json.loads(next(iter(mix(survey, good).lines(3)))), rng))
        else:
            lines[place] = mutated_text(lines[place], rng)
    read_batch(survey, lines if rng.random() < 0.8 else mutated_text("\n".join(lines), rng).splitlines())


def _servers(rng: random.Random, folder: Path) -> None:
    """A server takes whatever it gets, and says how many it refused."""
    survey = _surveys()[1]
    report = {**REPORT, "study": survey.digest}
    changed = [mutated(report, rng) for _ in range(3)]
    server = Server(survey)
    server.add_all([rng.choice((one, as_json(one), mutated_text(json.dumps(report), rng))) for one in changed])


def _questions(rng: random.Random, folder: Path) -> None:
    if rng.random() < 0.5:
        question = to_question(mutated_text(rng.choice(QUESTION_TEXTS), rng))
    else:
        question = to_question(mutated(rng.choice(QUESTIONS), rng))
    _ = question.label, question.to_spec(), repr(question)
    if rng.random() < 0.3:
        space = rng.choice(SPACES)
        Study(space, alpha=5, users=100, questions=[question]).plan()


@cache
def _card_files() -> list[dict[str, Any]]:
    return [json.loads((FOLDER / "cards" / f"{name}.json").read_text()) for name in ("gkrr", "k-rr-local")]


def _cards(rng: random.Random, folder: Path) -> None:
    """Changed cards; half of them signed again, so that what lies behind the signature is reached."""
    data = mutated(rng.choice(_card_files()), rng)
    if isinstance(data, dict) and rng.random() < 0.5:
        try:
            data = resigned(data)
        except (TypeError, ValueError, UnicodeEncodeError):
            return
    card = read_card(
        rng.choice((data, as_json(data), mutated_text(as_json(data), rng).encode("utf-8", "replace"))) or "{}"
    )
    card.check_time()
    _ = card.name, card.epsilon


@cache
def _let_in_line() -> tuple[str, Any]:
    known = json.loads((FOLDER / "admission.json").read_text())
    return known["line"], read_card(FOLDER / "cards" / known["report_card"])


def _sealed_batches(rng: random.Random, folder: Path) -> None:
    place = folder / "sealed.batch"
    place.unlink(missing_ok=True)
    write_batch(place, [bytes(128)] * 4, key("shuffler"), card="sha256:0", name="0", count=4, people_of=2, size=128)
    place.write_bytes(mutated_bytes(place.read_bytes(), rng))
    result = read_sealed(place)
    for _ in result.items():
        pass
    result.signed_by(public_bytes(key("shuffler")))


def _admissions(rng: random.Random, folder: Path) -> None:
    """Lines of a collector that were changed: none of them is let in."""
    line, card = _let_in_line()
    changed = mutated_text(line, rng)
    if Gate(card).report(changed) is not None and changed.rstrip("\n") != line:
        raise AssertionError("a changed line was let in")


def _wallets(rng: random.Random, folder: Path) -> None:
    budget = ClientBudget(folder / "me.cards")
    table = {"card": "sha256:0", "epsilon": "1/2", "sent": [0]}
    data = {"barrow": "card wallet", "version": 2, "limit": "3", "surveys": {"sha256:1": table}}
    text = as_json(mutated(data, rng))
    (folder / "me.cards").write_text(text if rng.random() < 0.7 else mutated_text(text, rng), errors="replace")
    _ = budget.limit, budget.spent, budget.left
    budget.reserve("sha256:2", "sha256:0", Fraction(1, 2))


def targets() -> dict[str, Target]:
    """Every target by its name."""
    return {
        "spaces": _spaces, "space text": _space_text, "queries": _queries, "randomisers": _randomisers,
        "events": _events, "guarantees": _guarantees, "numbers": _numbers, "policies": _policies, "budgets": _budgets,
        "csv": _csv, "columns": _columns, "study files": _study_file, "study specs": _study_spec,
        "statements": _statements, "reports": _reports, "messages": _messages, "batches": _batches,
        "servers": _servers, "questions": _questions, "cards": _cards, "sealed batches": _sealed_batches,
        "admissions": _admissions, "wallets": _wallets,
    }  # fmt: skip
