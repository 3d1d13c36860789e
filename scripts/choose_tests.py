"""Which tests ``scripts/test --quick`` runs for what has changed, nearest first: one path for each line.

First changed test files; then the tests of the folders in which something changed, those that name a changed module
before the others, and their doctests; then tests elsewhere that name one. What starts a server, a browser
or Spark comes last. What else imports the folders is left out, and said so on standard error.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PACKAGE = "src/barrow/"
_ELSEWHERE = 30
"""How many files of other folders are looked at: to collect more takes longer than is quick."""
_HEAVY = ("spark", "browser", "page", "postgres", "faults", "jupyter", "slow", "load")
"""In the names of test files that start something large."""


def changed_files(base: str = "main") -> list[str]:
    """Files that differ from where this branch left ``base``; on ``base`` itself, from the last commit."""

    def git(*words: str) -> list[str]:
        command = ["git", *words]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()  # noqa: S603

    left = git("merge-base", base, "HEAD")
    since = left[0] if left and left != git("rev-parse", "HEAD") else "HEAD"
    return sorted({*git("diff", "--name-only", since), *git("ls-files", "--others", "--exclude-standard")})


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules of the package that a file imports, and what it imports from them."""
    texts: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("barrow."):
            texts |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            texts |= {name.name for name in node.names if name.name.startswith("barrow.")}
    return frozenset(texts)


def importers(folder: str) -> list[str]:
    """The folders that import one, from the one that does so in the most files."""
    counter: Counter[str] = Counter()
    for path in (ROOT / _PACKAGE).glob("*/**/*.py"):
        own = path.relative_to(ROOT / _PACKAGE).parts[0]
        counter[own] += own != folder and folder in {module.split(".")[1] for module in imported(path)}
    return [name for name, files in counter.most_common() if files]


def chosen(changed: Iterable[str]) -> tuple[list[str], list[str]]:
    """Files for pytest, nearest first, and the folders of tests that are left out though they import what changed."""
    names = [name for name in changed if name.endswith(".py") and (ROOT / name).exists()]
    tests = [name for name in names if name.startswith("tests/") and Path(name).name.startswith("test_")]
    modules = [name for name in names if name.startswith(_PACKAGE)]
    dotted = {name[4:].removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in modules}
    own = list(dict.fromkeys(name.removeprefix(_PACKAGE).partition("/")[0].removesuffix(".py") for name in modules))
    beside = [name.split("/")[1] for name in names if name.startswith("tests/") and name.count("/") > 1]
    others = list(dict.fromkeys(other for folder in own for other in importers(folder) if other not in own))
    order = [*tests]
    for folder in dict.fromkeys([*own, *beside]):
        files = _files(f"tests/{folder}")
        order += [
            *_near_first(files, dotted),
            f"{_PACKAGE}{folder}",
            f"{_PACKAGE}{folder}.py",
            f"tests/test_{folder}.py",
        ]
    if modules:
        order.append("tests/test_architecture.py")
    elsewhere = [name for folder in others for name in _files(f"tests/{folder}")]
    order += [name for name in elsewhere if dotted & imported(ROOT / name)][:_ELSEWHERE]
    if any(name.endswith(".md") for name in changed):
        order.append("tests/test_docs.py")
    subset = [name for name in dict.fromkeys(order) if (ROOT / name).exists()]
    return sorted(subset, key=_is_heavy), [f"tests/{folder}" for folder in others]


def _is_heavy(name: str) -> bool:
    return name.startswith("tests/") and any(word in name for word in _HEAVY)


def _near_first(files: Sequence[str], dotted: set[str]) -> list[str]:
    return sorted(files, key=lambda name: not dotted & imported(ROOT / name))


def _files(folder: str) -> list[str]:
    """The files of tests in a folder."""
    return [file.relative_to(ROOT).as_posix() for file in sorted((ROOT / folder).rglob("test_*.py"))]


def main(changed: Iterable[str]) -> None:
    """Print one path for each line, and nothing at all where nothing changed: a shell reads the lines."""
    nearest, left_out = chosen(changed)
    for name in nearest:
        print(name)
    if left_out:
        print(f"of these only tests that name what changed: {', '.join(left_out)}", file=sys.stderr)


if __name__ == "__main__":
    main(changed_files())
