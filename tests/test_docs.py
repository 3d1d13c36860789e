"""The documentation runs and says what is: its Python, its studies, its command lines, its links, its proofs' files."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
import re
import shlex
import tomllib
from importlib import import_module
from pathlib import Path

import click
import duckdb
import pytest

from barrow.cli.main import _COMMANDS, cli
from barrow.cli.study_options import with_numbers
from barrow.errors import ParameterError
from barrow.promises.policy import to_promise
from barrow.questions import to_question
from barrow.study.file import read_study

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
PROOFS = sorted((ROOT / "docs" / "proofs").glob("[a-z]*.md"))
FILES = [path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)

pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))


@pages
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind, block in _FENCE.findall(page.read_text()):
        if kind == "python" and ">>> " not in block:  # a script to be saved: it runs before what is typed
            exec(compile(block, str(page), "exec"), {})
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pages
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        built = (
            page.parent / target
        ).resolve().parent == ROOT / "docs" / "reference"  # those the build of the site checks
        if "://" not in target and not built:
            assert (page.parent / target).exists(), target


def commands(text: str) -> list[str]:
    """The command lines of a page: those of its blocks of code, and those between backquotes."""
    lines = [line for kind, block in _FENCE.findall(text) if kind != "python" for line in _joined(block).splitlines()]
    shown = [line.removeprefix("$ ").strip() for line in lines]
    inline = re.findall(r"`(barrow [^`\n]+)`", _FENCE.sub("", text))
    return [line for line in shown + inline if re.match(r"barrow [a-z-]", line) and not line[-1].isspace()]


def _joined(block: str) -> str:
    return re.sub(r"\\\n\s*", " ", block)


def check_command(line: str) -> None:
    """Raises if the command line names a command or an option that there is none of, or lacks a value."""
    words = [word.strip("[]") for word in shlex.split(line, comments=True)][1:]
    for stop in (">", "|", "then"):  # the shell's, or the sentence's
        words = words[: words.index(stop)] if stop in words else words
    command: click.Command = cli
    context = click.Context(cli, info_name="barrow")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        result = command.get_command(context, name)
        if result is None:
            raise click.UsageError(f"No such command: {name}")
        command, context = result, click.Context(result, info_name=name, parent=context)
    given, _, _ = command.make_parser(context).parse_args([word for word in words if word not in ("…", "", "...")])
    for text in with_numbers(given).get("questions") or []:
        to_question(text)
    for text in given.get("promises") or []:
        to_promise(text)


@pages
def test_command_lines_exist(page):
    for line in commands(page.read_text()):
        try:
            check_command(line)
        except (click.ClickException, ParameterError, ValueError) as error:
            pytest.fail(f"{line}: {error}")


@pytest.mark.parametrize(
    "line",
    [
        "barrow realese",
        "barrow plan --tims 3",
        "barrow ledger shwo x",
        "barrow plan --times",
        "barrow plan --question density",
        "barrow plan --promise all",
    ],
)
def test_wrong_command_lines_are_seen(line):
    (result,) = commands(f"```console\n$ {line}\n```\n")
    with pytest.raises((click.ClickException, ParameterError)):
        check_command(result)


def studies(text: str) -> list[str]:
    """The studies of a page; what is a part of one is completed."""
    results = []
    for block in (block for kind, block in _FENCE.findall(text) if kind == "toml"):
        given = tomllib.loads(block)
        rest = "" if "dataset" in given else 'dataset = "x"\nusers = 100\nalpha = 3\ndelta = 1e-9\n'
        space = "" if "space" in given else '[space]\nkind = "clustered"\nshape = [3, 4]\nr = 0.1\n'
        results.append(rest + block + "\n" + space)
    return results


@pages
def test_studies_are_read(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    duckdb.sql("SELECT * FROM (VALUES ('cat', 0.0, 1.0), ('dog', 1.0, 1.0)) AS t(word, x, y)").write_parquet(
        "words.parquet"
    )
    for number, text in enumerate(studies(page.read_text())):
        (tmp_path / f"{number}.toml").write_text(text)
        assert read_study(tmp_path / f"{number}.toml").space.items > 0


@pytest.mark.parametrize("page", PROOFS, ids=lambda p: p.stem)
def test_proofs_name_their_code_and_their_second_route(page):
    line = page.read_text().splitlines()[2]
    code, _, tests = line.removeprefix("Code: ").partition(". Second route: ")
    for text, folder in ((code, ROOT / "src" / "barrow"), (tests, ROOT)):
        names = re.findall(r"`([\w/]+\.py)`", text)
        assert names, line
        assert all((folder / name).exists() for name in names), line


@pages
def test_files_and_names_that_a_page_gives_exist(page):
    text = page.read_text()
    for name in re.findall(r"`([\w/]+\.py)`", text):
        assert any(str(path).endswith("/" + name) for path in FILES), name
    for name in re.findall(r"`(barrow(?:\.\w+)+)", text):
        pkgutil.resolve_name(name)
    for name in re.findall(r"scripts/bench ([a-z]+)", text):
        assert name == "all" or (ROOT / "benchmarks" / f"{name}.py").exists(), name


def test_the_index_of_proofs_lists_every_page():
    index = (ROOT / "docs" / "proofs" / "README.md").read_text()
    assert sorted(set(re.findall(r"\]\(([\w-]+\.md)\)", index))) == [page.name for page in PROOFS]


_UNSEEN = re.compile(r"UserCounts|item_wise\(|\.draw\(|from_counts|from_items|(?<!study)\.release\(")


@pages
def test_no_page_teaches_a_release_that_no_ledger_sees(page):
    for example in doctest.DocTestParser().get_examples(page.read_text()):
        assert not _UNSEEN.search(example.source), example.source  # study.release refuses to go without a ledger


def test_proof_pages_that_the_code_names_exist():
    for path in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"docs/[\w/-]+\.md", path.read_text()):
            assert (ROOT / name).exists(), f"{path.name} names {name}"


def test_every_command_has_a_docs_section():
    text = "".join(page.read_text() for page in PAGES)
    for name in _COMMANDS:
        assert f"barrow {name}" in text


def glossary_names(text: str) -> set[str]:
    """The names of the Python library that the tables of the glossary list."""
    return set(re.findall(r"^\| `(\w+)` \| \S", text.partition("## Names in `barrow`")[2], re.MULTILINE))


def public_names() -> set[str]:
    """Classes, functions and constants that users may import; submodules and the version are no names of things."""
    listed: set[str] = set()
    for package in ("barrow", "barrow.spaces", "barrow.questions", "barrow.testing"):
        module = import_module(package)
        names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
        listed |= {name for name in names if not inspect.ismodule(getattr(module, name))}
    return listed - {"__version__"}


def test_the_glossary_lists_every_public_name():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert len(public_names()) > 90
    assert glossary_names(text) == public_names()
    assert glossary_names(text.replace("| `Study` |", "| Study |")) == public_names() - {"Study"}


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "how-to").glob("*.md")), ids=lambda page: page.name)
def test_every_how_to_shows_its_result(page):
    shown = re.findall(r"!\[([^\]]+)\]\(\.\./(pictures/[\w-]+\.svg)\)", page.read_text())
    assert shown
    assert all(len(alt.split()) > 2 and (ROOT / "docs" / file).is_file() for alt, file in shown)


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.name)
def test_formulas_are_whole(page):
    """A dollar opens what another one closes, in every paragraph."""
    for paragraph in re.sub(r"`[^`]*`", "", page.read_text()).split("\n\n"):
        assert paragraph.count("$") % 2 == 0, paragraph[:80]
    assert "$" in page.read_text()


PROSE = re.compile(
    r"^```.*?^```|\$\$.*?\$\$|\$`[^`\n]+`\$|`[^`\n]+`|\$(?!\s)[^$\n]+?(?<!\s)\$|\]\([^)\s]*\)|^#[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
"""What is no prose of a page: code, formulas, links, headings."""
TYPED = re.compile(
    r"[\w)\]}]\^|<=|>=|!=|->|\|\||\w_\{|\w_\w\b|[αβγδεηθκλμνξπρστφχψωΦΣℓ∞≤≥≠√∫]"
    r"|\b(?:alpha|beta|gamma(?! function)|delta|epsilon|sigma|lambda|tau|rho|phi|mu)0?\b|\b(?:ln|exp|sqrt)[ (]"
)
"""What a formula that was typed as text looks like."""


@pytest.mark.parametrize("page", PROOFS, ids=lambda p: p.stem)
def test_formulas_of_proofs_are_written_as_tex(page):
    prose = PROSE.sub("", page.read_text())
    assert len(prose) > 500
    assert not [prose[max(0, m.start() - 30) : m.end() + 20] for m in TYPED.finditer(prose)]


@pytest.mark.parametrize("text", ["an alpha of 3", "d(x, y) <= 1", "2^-53", "of x_i", "sqrt(2)", "ε", "x -> y"])
def test_typed_formulas_are_seen(text):
    assert TYPED.search(text)


@pages
def test_formulas_are_read_alike_by_every_reader_of_markdown(page):
    """Between single dollars some readers apply Markdown first, which must find nothing there; others are $`so`$."""
    text = re.sub(
        r"^```.*?^```|\$\$.*?\$\$|\$`[^`\n]+`\$|`[^`\n]+`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    for formula in re.findall(r"\$(?!\s)([^$\n]+?)(?<!\s)\$", text):
        assert not re.search(r"[^\w\s]_|\\[^a-zA-Z]|\*|<\w|\|", formula), formula
