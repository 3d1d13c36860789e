"""The page on architecture names files and folders that exist, and walks that releases and reports really take.

And what a space knows is asked of the space: no file outside ``spaces/`` tests of which kind one is. JSON is read by
msgspec.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import FrameType

import pytest

import barrow as bw
from barrow.cli.main import cli
from barrow.questions import Answer, Question, cache
from barrow.questions.histogram_answer import HistogramAnswer
from barrow.questions.linear import LinearAnswer
from barrow.spaces import Space
from barrow.spaces.spec import space_kinds

MOST_IMPORTS_INSIDE = 86
"""It was 307."""
ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "barrow"
parsed = lru_cache(None)(ast.parse)
"""Many tests read all sources."""


@lru_cache(None)
def asking(source: str) -> list[ast.AST]:
    """The parts of a source that can ask of what kind something is."""
    kinds = (ast.Call, ast.Compare, ast.Subscript, ast.Match, ast.MatchClass)
    return [node for node in ast.walk(parsed(source)) if isinstance(node, kinds)]


STEPS = ("_statistics", "statistics", "draw", "tables", "value_files")
"""What study/release.py calls with records, statistics or noisy values; nothing else is given any."""
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"## {title}")[2].partition("\n## ")[0]


def files_in(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+/[\w/]+\.py)`", text))


def passed_by(run: Callable[[], object], begins: Callable[[FrameType], bool] | None = None) -> set[str]:
    """The files of the package in which something is called meanwhile; with ``begins``, only below what it says.

    A module that is imported on the way is not below it.
    """
    files: set[str] = set()
    inside: list[tuple[FrameType, bool]] = [] if begins else [(sys._getframe(), True)]

    def look(frame, event, argument):
        code = frame.f_code
        if event == "return" and inside and inside[-1][0] is frame:
            inside.pop()
        if event != "call":
            return
        if begins and (code.co_name == "<module>" or begins(frame)):
            inside.append((frame, code.co_name != "<module>"))
        if inside and inside[-1][1] and code.co_flags & inspect.CO_OPTIMIZED:  # no body of a module or a class
            files.add(code.co_filename)

    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
    return {Path(name).relative_to(SOURCE).as_posix() for name in files if name.startswith(str(SOURCE))}


def of_records(frame: FrameType) -> bool:
    """Whether it is given what records are, or what is computed from them before it is released."""
    above = frame.f_back
    return frame.f_code.co_name in STEPS and above is not None and above.f_code.co_filename.endswith("study/release.py")


def test_every_name_on_the_page_exists():
    names = re.findall(r"`((?:[a-z_]+/)+(?:[\w]+\.py)?|tests/[\w/.]+)`", PAGE)
    assert len(names) > 50
    for name in names:
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name


def test_the_sentence_and_the_law_have_every_folder():
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} | {
        "display",
        "errors",
        "heavy",
        "progress",
        "registry",
        "remembered",
    }
    sentence = section("The sentence the folders spell")
    named = {word.lower() for word in re.findall(r"\*(\w+)\*", sentence)}
    law = next(line for line in sentence.splitlines() if line.startswith("`cli"))
    assert named == folders
    assert set(re.findall(r"\w+", law)) == folders


def test_a_mean_takes_the_walk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"uid": [1, 1, 2, 3], "age": [20, 30, 40, 50]}), "ages.parquet")
    space = "line(low=0, high=100, step=1, unit='years')"
    flags = ["--users", "3", "--dataset", "ages", "--space", space, "--promise", "all, 5 years, 0.5"]
    ask = [
        "--user",
        "uid",
        "--item",
        "age",
        "--question",
        "mean(fraction=0.25)",
        "--question",
        "histogram(fraction=0.25)",
    ]

    def release(*words: str) -> None:
        cli.main(args=[*words], standalone_mode=False)

    release("init", "ages.parquet", *ask, *flags, "--quiet")
    monkeypatch.setattr(cache, "_QUERIES", cache.Cache(6))  # made anew, as in a process of its own
    walk, _, histogram = section("The walk of one record").partition("A histogram takes the same way")
    passed = {name: passed_by(lambda name=name: release("release", name, "--quiet")) for name in ("mean", "histogram")}
    assert files_in(walk) <= passed["mean"] | passed_by(lambda: bw.verify("release/mean", ledger="ages.ledger"))
    assert files_in(histogram) <= passed["histogram"]
    for question, most, in_all in (("mean", 36, 130), ("histogram", 47, 165)):
        assert len(passed[question]) <= in_all, sorted(passed[question])
        again = ["release", question, "--key", f"{question} again", "--out", f"again/{question}", "--quiet"]
        trusted = passed_by(lambda again=again: release(*again), of_records)
        assert {"engines/duckdb/engine.py", "mechanisms/statistics.py", "noise/source.py"} < trusted
        assert len(trusted) <= most, sorted(trusted)


COUNTED = """
import sys
from pathlib import Path
import barrow as bw

source, calls = str(Path(bw.__file__).parent), [0]
library = str(Path(bw.__file__).with_name("_compiled.py"))  # products of scipy, by a shorter way

def look(frame, event, argument):
    code = frame.f_code
    ours = code.co_filename.startswith(source) and code.co_filename != library
    calls[0] += event == "call" and ours and code.co_name != "<module>"

def counted(run):
    calls[0] = 0
    sys.setprofile(look)
    run()
    sys.setprofile(None)
    print(calls[0])

space, promises = "line(low=0, high=100, step=1, unit='years')", ["all, 5 years, 0.5"]
study = bw.Study(space, promises=promises, users=2000)
counted(lambda: study.plan("histogram"))

import pyarrow as pa
import pyarrow.parquet as pq
from barrow.cli.main import cli

pq.write_table(pa.table({"uid": [1, 1, 2, 3], "age": [20, 30, 40, 50]}), "ages.parquet")
where = ["--user", "uid", "--item", "age", "--dataset", "ages", "--users", "3", "--space", space, "--quiet"]
asked = ["--promise", promises[0], "--question", "mean(fraction=0.25)"]
cli.main(["init", "ages.parquet", *where, *asked], standalone_mode=False)
counted(lambda: cli.main(["release", "mean", "--quiet"], standalone_mode=False))
"""
"""How many functions of the package are called, module bodies aside, in a process that has planned nothing yet."""


def test_a_plan_and_a_release_call_few_functions(tmp_path):
    """Noise decides by some hundreds what a release draws and writes, rarely by more: the least of three counts."""
    counts = []
    for attempt in range(3):
        (place := tmp_path / str(attempt)).mkdir()
        result = subprocess.run([sys.executable, "-c", COUNTED], cwd=place, capture_output=True, text=True, check=True)
        counts.append(tuple(int(line) for line in result.stdout.splitlines() if line.isdecimal()))
        if counts[-1][1] <= 15_000:
            break
    plan, release = min(counts, key=lambda pair: pair[1])
    assert 1_000 < plan <= 60_000
    assert 1_000 < release <= 15_000


def test_a_report_takes_the_walk(tmp_path):
    study = bw.Study("line(low=0, high=20, step=1)", alpha=20, users=2, model="local")
    shuffled = bw.Study("discrete(labels=['a', 'b'])", alpha=6, users=1, delta="1e-6", model="shuffle")

    def walk() -> None:
        report = bw.Client(study, "histogram", memory=tmp_path / "me.json").report([3, 4])
        server = bw.Server(study, "histogram")
        server.add(report.to_text())
        server.result()
        from barrow.local.mixing import mix

        one = bw.Client(shuffled, "items(items=2)", memory=tmp_path / "you.json")
        mix(one.survey, one.messages(["a", "b"]))
        items = shuffled.replace(model="local")
        counted = bw.Server(items, "items(items=2)")
        counted.add_all([bw.Client(items, "items(items=2)", memory=tmp_path / "him.json").report(["a", "a"]).to_text()])

    assert files_in(section("The walk of one report")) <= passed_by(walk)


def members(cls: type) -> set[str]:
    """What a class has from here: methods, properties and fields, inherited ones too; no double underscores."""
    own = [each for each in cls.__mro__ if each.__module__.startswith("barrow")]
    names = {name for each in own for name in (*vars(each), *vars(each).get("__annotations__", {}))}
    return {name for name in names if not name.startswith("__")} - {"_abc_impl"}


@pytest.mark.parametrize(("cls", "most"), [(Answer, 14), (Question, 16), (Space, 24)])
def test_the_three_bases_have_few_members(cls, most):
    result = members(cls)
    assert len({name for name in result if not name.startswith("_")}) <= most, sorted(result)
    assert len(result) <= 2 * most

    class Fat(cls):  # one more member is seen, wherever it is inherited from
        __module__ = "barrow.fat"
        more: int

        def further(self):
            """One more."""

    assert members(Fat) - result == {"more", "further"}


def test_a_histograms_answer_is_no_linear_answer():
    assert not issubclass(HistogramAnswer, LinearAnswer)


def kinds_below(*roots: type) -> set[str]:
    """The names of all classes below these; what stands for them all is no kind."""
    texts: set[str] = set()
    for root in roots:
        texts |= {cls.__name__ for cls in root.__subclasses__()} | kinds_below(*root.__subclasses__())
    return texts


def asks_of_kinds(source: str, kinds: set[str]) -> list[str]:
    """Where a source asks of what kind a question, a plan or a query is."""

    def last(node: ast.AST) -> str:
        return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""

    def about(node: ast.AST) -> bool:
        return re.fullmatch(r"_?(\w+_)?(question|plan|query)", last(node)) is not None

    results = []
    for node in asking(source):
        name = last(node.func) if isinstance(node, ast.Call) else ""
        if name in ("isinstance", "issubclass"):
            wrong = bool({last(each) for each in ast.walk(node.args[1])} & kinds)
        elif name in ("hasattr", "getattr", "type"):
            wrong = about(node.args[0])
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            wrong = any(last(side) == "kind" and about(side.value) for side in sides if isinstance(side, ast.Attribute))
            wrong = wrong and not any(isinstance(side, ast.Call) for side in sides)  # the list of all kinds
        else:
            wrong = isinstance(node, ast.MatchClass) and last(node.cls) in kinds
        if wrong:
            results.append(ast.unparse(node))
    return results


def test_nothing_outside_questions_asks_of_what_kind_one_is():
    for path in (SOURCE / "questions").glob("*.py"):
        import_module(f"barrow.questions.{path.stem}")
    kinds = kinds_below(Question, Answer)
    assert {"Mean", "Linear", "LinearAnswer", "ItemsAnswer", "SubsetsAnswer"} <= kinds
    planted = [
        "isinstance(plan, LinearAnswer)", "isinstance(x, (int, questions.Histogram))", "isinstance(q, Linear | Items)",
        "hasattr(plan, 'made')", "getattr(self.plan, 'versus', None)", "plan.query.kind == 'density'",
        "question.kind in ('mean', 'items')", "type(plan) is LinearAnswer",
        "match plan:\n    case LinearAnswer():\n        pass",
    ]  # fmt: skip
    assert [text for text in planted if not asks_of_kinds(text, kinds)] == []
    fine = ["isinstance(x, Question)", "space.kind == 'line'", "getattr(row, 'x')", "plan.question.kind", "kind == 'a'"]
    assert [text for text in fine if asks_of_kinds(text, kinds)] == []
    assert in_folders(kinds, lambda folder: folder not in ("questions", "queries")) == {}


def in_folders(kinds: set[str], wanted: Callable[[str], bool]) -> dict[str, list[str]]:
    """What asks of kinds in each file of some folders."""
    files = (path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
    result = {
        path.as_posix(): asks_of_kinds((SOURCE / path).read_text(encoding="utf-8"), kinds)
        for path in files
        if wanted(path.parts[0])
    }
    return {name: request for name, request in result.items() if request}


SPACES_ARE_CALLED = re.compile(r".*space|part|inner|innermost|held|bare")


@lru_cache
def kinds_of_spaces() -> tuple[set[str], set[str]]:
    """The names of all classes of spaces below the most general one, and of their kinds in plain data."""
    kinds, classes, waiting = set(dict(space_kinds())), set(), [Space]
    while waiting:
        waiting += (below := waiting.pop().__subclasses__())
        classes |= {kind.__name__ for kind in below if kind.__module__.startswith("barrow.")}
    return classes, kinds


def asked_kinds(source: str) -> Iterator[int]:
    """Lines where a file asks of which kind a space is: by class, by type, by the name of its kind, by attributes."""
    classes, kinds = kinds_of_spaces()

    def called(node: ast.AST) -> str:
        return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""

    def space(node: ast.AST) -> bool:
        return SPACES_ARE_CALLED.fullmatch(called(node)) is not None

    def kind(node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == "kind" and space(node.value)

    def typed(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and called(node.func) == "type" and space(node.args[0])

    for node in asking(source):
        below = [*ast.iter_child_nodes(node)]
        if isinstance(node, ast.Call) and called(node.func) in ("isinstance", "issubclass"):
            result = any(called(name) in classes for name in ast.walk(node.args[1]))
        elif isinstance(node, ast.Call) and called(node.func) in ("hasattr", "getattr"):
            result = space(node.args[0])
        elif isinstance(node, ast.Compare):
            words = {word.value for word in ast.walk(node) if isinstance(word, ast.Constant)}
            result = any(map(typed, below)) or (any(map(kind, below)) and bool(words & kinds))
        elif isinstance(node, ast.Subscript):
            result = typed(node.slice) or kind(node.slice)
        elif isinstance(node, ast.Match):
            result = typed(node.subject) or kind(node.subject)
        else:
            result = isinstance(node, ast.MatchClass) and called(node.cls) in classes
        if result:
            yield node.lineno if not isinstance(node, ast.Match) else node.subject.lineno


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(space, Line)",
        "isinstance(study.space.records_space, bw.Earth | Hexagons)",
        "issubclass(kind, (Tree, Discrete))",
        "space.kind == 'line'",
        "'earth' != self.space.kind",
        "part.kind in ('circle', 'week')",
        "CLOSED_FORMS[type(space)]",
        "type(self.space) in CLOSED_FORMS",
        "hasattr(space, 'step')",
        "getattr(self.space, 'box', None)",
        "match space:\n    case Product(parts=parts): pass",
        "match space.kind:\n    case 'line': pass",
    ],
)
def test_tests_for_kinds_of_spaces_are_found(line):
    assert list(asked_kinds(line))


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(space, Space)",
        "isinstance(formula, Cells)",
        "source.kind == 'duckdb'",
        "self.made.kind == 'tree'",
        "f'{space.kind} space'",
        "type(space).__name__",
    ],
)
def test_other_tests_are_not(line):
    assert not list(asked_kinds(line))


def test_a_space_is_asked_and_not_told_apart():
    """A new kind of space is one file in ``spaces/``."""
    result = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        lines = [] if name.startswith("spaces/") else sorted(set(asked_kinds(path.read_text(encoding="utf-8"))))
        if lines:
            result[name] = lines
    assert result == {}


def imports_inside(text: str) -> int:
    """How many imports stand inside functions; what type checkers read alone does not count."""

    def count(node: ast.AST, inside: bool) -> int:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return sum(count(below, inside) for below in node.orelse)
        here = inside and isinstance(node, ast.Import | ast.ImportFrom)
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        return here + sum(count(below, inside) for below in ast.iter_child_nodes(node))

    return count(parsed(text), False)


def test_few_imports_stand_inside_functions():
    """For libraries that are heavy or optional, and what must load late; ``barrow.heavy`` is the door to most."""
    planted = "import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    import c\n    def g():\n        from d import e"
    assert imports_inside(planted) == 2
    assert sum(imports_inside(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")) < MOST_IMPORTS_INSIDE


READ_BY_JSON = {"ledger/state.py", "web/child.py", "web/releasing.py"}
"""Paths are in what these read. Python has those of other encodings with lone surrogates, which msgspec refuses."""


def reads_json(text: str) -> bool:
    """Whether a source parses JSON by anything but msgspec."""
    known = {name: f"json.{name}" for name in ("loads", "load", "JSONDecoder")} | {"json": "request.json"}
    return any(
        (isinstance(node, ast.Attribute) and node.attr in known and ast.unparse(node) in known.values())
        or (isinstance(node, ast.ImportFrom) and node.module == "json")
        or (isinstance(node, ast.Import) and any(name.asname and name.name == "json" for name in node.names))
        for node in ast.walk(parsed(text))
    )


@pytest.mark.parametrize(
    "line",
    ["json.loads(x)", "read = json.load", "from json import loads", "import json as j", "f = await request.json()"],
)
def test_other_parsers_are_found(line):
    text = line if "await" not in line else f"async def f(): {line}"
    assert reads_json(text)
    assert not reads_json("import json\njson.dumps(msgspec.json.decode(x))")


def test_json_is_read_by_msgspec():
    sources = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert {name for name, text in sources.items() if reads_json(text)} == READ_BY_JSON


def classes_by_name(files: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """The places where each class name is defined, private and nested classes included."""
    places: dict[str, list[str]] = {}
    for where, text in files:
        for node in ast.walk(parsed(text)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{where}:{node.lineno}")
    return places


def test_one_class_name_is_one_class():
    texts = ((str(path.relative_to(SOURCE)), path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py")))
    places = classes_by_name(texts)
    assert len(places) > 400
    assert {name: result for name, result in places.items() if len(result) > 1} == {}


def test_a_class_name_that_occurs_twice_is_seen():
    texts = iter([("a.py", "class A:\n    class _B: ..."), ("b.py", "def f():\n    class _B: ...")])
    assert classes_by_name(texts) == {"A": ["a.py:1"], "_B": ["a.py:2", "b.py:2"]}


def test_no_file_name_occurs_four_times():
    names = Counter(path.name for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    assert len(names) > 300
    assert {name: count for name, count in names.items() if count > 3} == {}


CHANGES = {"linear_change", "person_change"}
"""How much of a promised change a mechanism shows: its price needs it, and what is calibrated by that price."""


def test_one_function_says_what_a_release_costs_at_a_promise():
    """Events say it, or the accountants in place of those without a closed form; everybody else asks them."""
    named, stated, used = [], set(), set()
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(parsed(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name == "price":
                named.append(name)
            if isinstance(node, ast.FunctionDef) and node.name == "epsilon_at":
                stated |= {name} if {"share", "reach", "delta"} <= {one.arg for one in node.args.args} else set()
            used |= {name} if isinstance(node, ast.Name) and node.id in CHANGES else set()
    assert named == ["accounting/pricing.py"]
    assert stated == {"promises/events.py", "accounting/pricing.py", "accounting/shuffled.py"}
    assert used == {"promises/events.py", "planning/linear.py", "planning/terms.py"}
