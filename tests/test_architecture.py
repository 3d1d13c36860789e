"""The page on architecture names files and folders that exist, and walks that releases and reports really take."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import barrow as bw
from barrow.cli.main import cli
from barrow.questions import Plan, Question, question_kinds
from barrow.spaces import Space
from barrow.spaces.spec import space_kinds

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "barrow"
STEPS = ("_counted", "statistics", "draw", "tables", "value_files")
"""What study/release.py calls with records, statistics or noisy values; nothing else is given any."""
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"## {title}")[2].partition("\n## ")[0]


def files_in(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+/[\w/]+\.py)`", text))


def passed_by(run: Callable[[], object], within: Callable[[FrameType], bool] = lambda frame: True) -> set[str]:
    """The files of the package in which something is called meanwhile."""
    found: set[str] = set()

    def look(frame, event, argument):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(SOURCE)) and within(frame):
            found.add(Path(name).relative_to(SOURCE).as_posix())

    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def of_records(frame: FrameType | None) -> bool:
    """Whether it works on what records are, or on what is computed from them before it is released."""
    while frame is not None and frame.f_code.co_name != "<module>":
        above = frame.f_back
        if above and frame.f_code.co_name in STEPS and above.f_code.co_filename.endswith("study/release.py"):
            return True
        frame = above
    return False


def test_every_name_on_the_page_exists():
    names = re.findall(r"`((?:[a-z_]+/)+(?:[\w]+\.py)?|tests/[\w/.]+)`", PAGE)
    assert len(names) > 50
    for name in names:
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name


def test_the_sentence_and_the_law_have_every_folder():
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} | {"errors", "progress"}
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
    walk, _, histogram = section("The walk of one record").partition("A histogram takes the same way")
    assert files_in(walk) <= passed_by(lambda: (release("release", "mean", "--quiet"), bw.verify("release/mean")))
    assert files_in(histogram) <= passed_by(lambda: release("release", "histogram", "--quiet"))
    for question, most in (("mean", 40), ("histogram", 55)):
        again = ["release", question, "--key", f"{question} again", "--out", f"again/{question}", "--quiet"]
        trusted = passed_by(lambda again=again: release(*again), of_records)
        assert {"engines/duckdb/engine.py", "mechanisms/statistics.py", "noise/source.py"} < trusted
        assert len(trusted) <= most, sorted(trusted)


def test_a_report_takes_the_walk(tmp_path):
    study = bw.Study("line(low=0, high=20, step=1)", alpha=20, users=2, model="local")
    shuffled = bw.Study("discrete(labels=['a', 'b'])", alpha=6, users=1, delta="1e-6", model="shuffle")

    def walk() -> None:
        report = bw.Client(study, "histogram", memory=tmp_path / "me.json").report([3, 4])
        server = bw.Server(study, "histogram")
        server.add(report.to_text())
        server.result()
        from barrow.local import mix

        one = bw.Client(shuffled, "items(items=2)", memory=tmp_path / "you.json")
        mix(one.survey, one.messages(["a", "b"]))
        items = shuffled.replace(model="local")
        counted = bw.Server(items, "items(items=2)")
        counted.add_all([bw.Client(items, "items(items=2)", memory=tmp_path / "him.json").report(["a", "a"]).to_text()])

    assert files_in(section("The walk of one report")) <= passed_by(walk)


def kinds_below(*roots: type) -> set[str]:
    """The names of all classes below these; what stands for them all is no kind."""
    found: set[str] = set()
    for root in roots:
        found |= {cls.__name__ for cls in root.__subclasses__()} | kinds_below(*root.__subclasses__())
    return found


def asks_of_kinds(source: str, kinds: set[str]) -> list[str]:
    """Where a source asks of what kind a question, a plan or a query is."""

    def last(node: ast.AST) -> str:
        return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""

    def about(node: ast.AST) -> bool:
        return re.fullmatch(r"_?(\w+_)?(question|plan|query)", last(node)) is not None

    found = []
    for node in ast.walk(ast.parse(source)):
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
            found.append(ast.unparse(node))
    return found


def test_nothing_outside_questions_asks_of_what_kind_one_is():
    question_kinds()
    kinds = kinds_below(Question, Plan)
    assert {"Mean", "Linear", "LinearPlan", "ItemsPlan", "SubsetsPlan"} <= kinds
    planted = [
        "isinstance(plan, LinearPlan)", "isinstance(x, (int, questions.Histogram))", "isinstance(q, Linear | Items)",
        "hasattr(plan, 'made')", "getattr(self.plan, 'versus', None)", "plan.query.kind == 'density'",
        "question.kind in ('mean', 'items')", "type(plan) is LinearPlan",
        "match plan:\n    case LinearPlan():\n        pass",
    ]  # fmt: skip
    assert [text for text in planted if not asks_of_kinds(text, kinds)] == []
    fine = ["isinstance(x, Question)", "space.kind == 'line'", "getattr(row, 'x')", "plan.question.kind", "kind == 'a'"]
    assert [text for text in fine if asks_of_kinds(text, kinds)] == []
    assert in_folders(kinds, lambda folder: folder not in ("questions", "queries")) == {}


def test_the_page_and_the_service_do_not_ask_of_what_kind_a_space_is():
    space_kinds()
    kinds = kinds_below(Space)
    assert asks_of_kinds("isinstance(space, Earth | Line)", kinds)
    assert in_folders(kinds, lambda folder: folder in ("web", "collect", "report", "local", "audit", "demo")) == {}


def in_folders(kinds: set[str], wanted: Callable[[str], bool]) -> dict[str, list[str]]:
    """What asks of kinds in each file of some folders."""
    files = (path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
    found = {
        path.as_posix(): asks_of_kinds((SOURCE / path).read_text(encoding="utf-8"), kinds)
        for path in files
        if wanted(path.parts[0])
    }
    return {name: asked for name, asked in found.items() if asked}
