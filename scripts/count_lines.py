"""scripts/lines [--at COMMIT] [--json] [FOLDER]: lines of code by folder of src/barrow, or of another folder.

Docstrings (also those below attributes), comments and blank lines are not counted; any line that holds another token
is. With --at the files are read from a commit, so that two counts can be compared.

    scripts/lines --at HEAD~100 --json
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import subprocess
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(source: str) -> int:
    """How many lines of a source hold code."""
    told = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _SILENT:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - told)


def sources(folder: str, commit: str | None) -> Iterator[tuple[str, str]]:
    """The Python files of a folder, as their path within it and their text."""
    if commit is None:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT / folder).as_posix(), path.read_text(encoding="utf-8")
        return
    command = ["git", "archive", commit, folder]
    packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout  # noqa: S603
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".py") else None
            if file is not None:
                yield Path(member.name).relative_to(folder).as_posix(), file.read().decode()


def counted(folder: str, commit: str | None = None) -> dict[str, int]:
    """Lines of code of each folder, and of the files beside them."""
    counter: Counter[str] = Counter()
    for name, source in sources(folder, commit):
        counter[name.partition("/")[0] if "/" in name else "."] += code_lines(source)
    return dict(sorted(counter.items()))


def main(arguments: list[str] | None = None) -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="src/barrow", help="src/barrow unless told otherwise")
    parser.add_argument("--at", metavar="COMMIT", help="count the files of this commit")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        result = counted(options.folder.rstrip("/"), options.at)
    except subprocess.CalledProcessError as error:
        parser.error(error.stderr.decode().strip())
    if not result:
        parser.error(f"no Python files in {options.folder!r}")
    total = sum(result.values())
    if options.json:
        print(json.dumps({"folder": options.folder, "at": options.at, "lines": result, "total": total}))
        return
    width = max(map(len, [*result, "total"]))
    for name, lines in [*result.items(), ("total", total)]:
        print(f"{name:<{width}}  {lines:>7,}")


if __name__ == "__main__":
    main()
