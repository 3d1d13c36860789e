"""Kinds of other packages: never loaded by a name in somebody else's file, and said wherever they are used."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec import structs

import barrow as bw
from barrow.engines.base import Engine, engine_for
from barrow.engines.memory import MemoryEngine
from barrow.engines.source import ENGINES, Source
from barrow.errors import ParameterError
from barrow.local.client import Survey
from barrow.questions import Mean, Question, question_kinds
from barrow.registry import PluginError, Registry, package_of, usable
from barrow.spaces import Discrete, NoRecords, Product, Space, declared_spaces, space_from_spec, space_kinds
from barrow.spaces.spec import READY
from barrow.study.file import study_from_text

TABLE = {"uid": [f"u{i}" for i in range(20)], "age": [i * 5 for i in range(20)]}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package on the path, with a space, a question and an engine, that nobody has imported."""
    (tmp_path / "strange_kinds.py").write_text(
        "import barrow as bw\nfrom barrow.engines.memory import MemoryEngine\n"
        "class Odd(bw.Line):\n    kind = 'odd'\n"
        "class Middle(bw.Mean):\n    kind = 'middle'\n"
        "class Lines(MemoryEngine):\n    name = 'lines'\n"
    )
    told = tmp_path / "strange_kinds-1.5.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: strange-kinds\nVersion: 1.5\n")
    (told / "entry_points.txt").write_text(
        "[barrow.spaces]\nodd = strange_kinds:Odd\nline = strange_kinds:Odd\n"
        "[barrow.questions]\nmiddle = strange_kinds:Middle\n[barrow.engines]\nlines = strange_kinds:Lines\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield "strange_kinds"
    sys.modules.pop("strange_kinds", None)


def subclasses(root: type) -> set[type]:
    return {root, *(x for below in root.__subclasses__() for x in subclasses(below))}


@pytest.mark.parametrize(
    ("registry", "root", "name"),
    [(space_kinds(), Space, "kind"), (question_kinds(), Question, "kind"), (ENGINES, Engine, "name")],
    ids=["spaces", "questions", "engines"],
)
def test_the_tables_hold_every_class_that_has_a_name_by_this_name(registry, root, name):
    listed = {kind: registry[kind] for kind in registry.own}
    named = {x for x in subclasses(root) if x.__module__.startswith("barrow.") and vars(x).get(name)}
    own = {x for x in named if "<locals>" not in x.__qualname__}  # those of other tests
    assert set(listed.values()) == own
    if registry is not ENGINES:
        assert all(vars(cls)["kind"] == kind for kind, cls in listed.items())


def test_spaces_that_are_ready_are_made_by_name():
    box = {"trips": {"box": [40, -74, 41, -73], "cell": 50}}
    assert {name: space_from_spec({"kind": name, **box.get(name, {})}).kind for name in READY} == READY
    with pytest.raises(ParameterError, match="The space 'trips'") as told:
        space_from_spec({"kind": "trips"})
    assert told.value.fix == "see help(barrow.Product.trips)"


SPECS = [
    {"kind": "odd", "low": 0, "high": 9, "step": 1},
    {"kind": "product", "parts": [{"kind": "odd"}, {"kind": "hours"}]},
]


def test_a_name_in_plain_data_loads_nothing(installed):
    assert "odd" in space_kinds()
    assert "odd" in list(space_kinds())
    for spec in SPECS:
        with pytest.raises(
            PluginError, match=r"'odd' is not built in\. It belongs to strange-kinds 1\.5, which was not"
        ) as told:
            space_from_spec(spec)
    assert told.value.fix == "barrow --plugins … on the command line, or import strange_kinds in Python first"
    with pytest.raises(PluginError, match="'middle' is not built in"):
        bw.Study("line(low=0, high=9, step=1)", alpha=5, users=9, questions=["middle"])
    source = Source.parse("visits.lines")
    assert source.kind == "lines"
    with pytest.raises(PluginError, match="'lines' is not built in"):
        engine_for(source)
    assert installed not in sys.modules


def test_what_a_person_imported_or_a_command_asked_for_is_used(installed):
    with usable("installed"):
        odd = space_from_spec(SPECS[0])
    assert (odd.kind, odd.size) == ("odd", 10)
    assert space_from_spec(SPECS[0]) == odd  # imported by now
    assert engine_for("visits.lines").name == "lines"
    with usable("built in"), pytest.raises(PluginError, match="'odd' is not built in") as told:
        space_from_spec(SPECS[0])
    assert told.value.allowed.startswith("in other people's cards and studies: circle, clustered")


def test_no_package_takes_a_name_that_is_built_in(installed):
    with usable("installed"):
        assert space_from_spec({"kind": "line", "low": 0, "high": 1}).__class__ is bw.Line


def test_two_packages_with_one_name_are_refused(installed, tmp_path):
    other = tmp_path / "other_kinds-2.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other-kinds\nVersion: 2\n")
    (other / "entry_points.txt").write_text("[barrow.spaces]\nodd = other_kinds:Odd\n")
    importlib.invalidate_caches()
    with usable("installed"), pytest.raises(bw.ParameterError, match="Two packages have a kind of space 'odd'"):
        space_from_spec(SPECS[0])


def test_a_strangers_study_has_kinds_that_are_built_in(installed):
    text = 'alpha = 5\nusers = 9\n[space]\nkind = "{}"\nlow = 0\nhigh = 9\nstep = 1\n[[question]]\nkind = "{}"'
    assert study_from_text(text.format("line", "mean")).space.kind == "line"
    for odd in (("odd", "mean"), ("line", "middle")):
        with usable("installed"), pytest.raises(PluginError, match="is not built in"):
            study_from_text(text.format(*odd))
    assert installed not in sys.modules


@pytest.mark.parametrize("odd", ["space", "question", "product"])
def test_clients_refuse_what_other_packages_declare(installed, odd, tmp_path):
    import strange_kinds

    space = strange_kinds.Odd(0, 9, step=1) if odd != "question" else bw.Line(0, 9, step=1)
    space = Product([space, bw.Circle.hours(8)]) if odd == "product" else space
    study = bw.Study(space, alpha=5, users=9, model="local")
    middle = strange_kinds.Middle() if odd == "question" else "histogram"
    with pytest.raises(
        PluginError,
        match=r"A client must be able to prove its guarantee\. .* is declared by strange-kinds 1\.5, unproved",
    ):
        Survey(study, middle)


def test_it_is_said_in_plan_statement_and_ledger(installed, tmp_path):
    import strange_kinds

    study = bw.Study(strange_kinds.Odd(0, 99, step=1), ["all, anywhere, 1"], users=20, dataset="ages")
    ledger = bw.Ledger.create(tmp_path / "ages.ledger", study)
    middle = strange_kinds.Middle()
    words = [
        "The question 'middle' is declared by strange-kinds 1.5, unproved: ",
        "The space 'odd' is declared by strange-kinds 1.5",
    ]
    assert all(any(f"Warning   {w}" in line for line in str(study.plan(middle)).splitlines()) for w in words)
    released = study.release(middle, bw.read(TABLE, user="uid", item="age"), ledger=ledger, out=tmp_path / "out")
    text = " ".join((tmp_path / "out" / "statement.txt").read_text().split())
    assert all(word in text for word in words)
    paid = next(record for record in ledger.records() if record.kind == "reserve")
    assert [told[: len(word)] for told, word in zip(paid.data["parameters"]["declared"], words, strict=True)] == words
    assert all(check.holds for check in bw.verify(tmp_path / "out", ledger=ledger))
    forged = structs.replace(released.statement, not_covered=[])
    from barrow.study.restated import contradictions

    assert contradictions(released.statement) == []
    assert "not_covered" in contradictions(forged)
    without = {k: v for k, v in forged.parameters.items() if k != "declared"}
    assert "not_covered" in contradictions(structs.replace(forged, parameters=without))
    sys.modules.pop(installed)
    with pytest.raises(PluginError, match="'middle' is not built in"):
        bw.verify(tmp_path / "out")
    assert installed not in sys.modules


def test_an_engine_is_said_to_be_another_packages_word(installed):
    told = Source.parse("visits.lines").consequence
    assert told.startswith("The engine of 'lines' is declared by strange-kinds 1.5, unproved: its counts are")
    assert Source.parse("visits.lines").parameters["consequence"] == told
    assert Source.parse("lines://shelf/visits").path == "lines://shelf/visits"
    assert installed not in sys.modules
    with pytest.raises(bw.ParameterError, match="The address lines://… seems to hold a user or a secret") as error:
        Source.parse("lines://ann:hunter2@shelf/visits")
    assert "hunter2" not in str(error.value)


def test_classes_of_ones_own_program_are_named_by_their_module():
    class Mine(Discrete):
        kind: ClassVar[str] = "mine"

    space = NoRecords(Product([Mine(["a", "b"]), bw.Line(0, 1, step=0.5)]))
    (told,) = declared_spaces(space)
    assert told.startswith("The space 'mine' is declared by tests.test_registry (no version), unproved: its distances")
    assert (package_of(Mean), package_of(Mine)) == ("", "tests.test_registry (no version)")


def test_an_engine_that_reads_in_python_is_one_method(monkeypatch, tmp_path):
    @dataclass(frozen=True)
    class Words(MemoryEngine):
        name: ClassVar[str] = "words"

        def table(self, source):
            rows = [line.split() for line in Path(source.path).read_text().splitlines()]
            return {"uid": [row[0] for row in rows], "word": [row[1] for row in rows]}

    monkeypatch.setitem(ENGINES.added, "words", Words)
    path = tmp_path / "said.words"
    path.write_text("ann tea\nann coffee\nbob tea\n")
    engine = engine_for(path)
    counts = engine.count(path, bw.engines.base.Columns("uid", "word"), Discrete(["tea", "coffee"]))
    assert (counts.items.tolist(), counts.sizes.tolist(), counts.users) == ([0, 0, 1], [1, 2, 2], 2)
    with pytest.raises(bw.ParameterError, match="The words engine knows no SQL"):
        engine.columns(Source.parse(path, sql="SELECT uid FROM records"))


def test_a_registry_is_a_mapping():
    shelves = Registry("shelf", "barrow.shelves", {"plain": "fractions:Fraction"})
    shelves.added["long"] = int
    assert (sorted(shelves), len(shelves), "odd" in shelves, shelves.get("odd")) == (["long", "plain"], 2, False, None)
    assert shelves["long"] is int
    with usable("built in"), pytest.raises(PluginError, match="belongs to this program"):
        _ = shelves["long"]
