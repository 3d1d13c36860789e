"""Does a folder of results hold what was released, and was it paid for?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.release.outputs import digest_of
from barrow.release.statement import STATEMENT_VERSION, statement_text


@dataclass(frozen=True)
class Check:
    """One thing that was checked, and whether it holds.

    >>> Check("values.csv", True, "as released").holds
    True
    """

    what: str
    holds: bool
    finding: str


def read_statement(path: str | Path) -> dict[str, Any]:
    """The statement in a file, or in a folder of results.

    >>> read_statement("nowhere")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no statement at 'nowhere'.
      allowed: statement.json, or a folder that holds it
      fix:     give the folder that barrow release wrote
    """
    file = Path(path) / "statement.json" if Path(path).is_dir() else Path(path)
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        said = None
        problem = f"There is no statement at {str(path)!r}."
    except ValueError:
        said = None
        problem = f"The file {str(file)!r} is not JSON."
    else:
        problem = f"The file {str(file)!r} is not a statement of version {STATEMENT_VERSION}."
    if not isinstance(said, dict) or said.get("statement") != STATEMENT_VERSION:
        raise ParameterError(
            problem,
            allowed="statement.json, or a folder that holds it",
            fix="give the folder that barrow release wrote",
        )
    return said


def verify(folder: str | Path, *, ledger: str | Path | None = None) -> list[Check]:
    """Check the digests of all files, the words against the numbers, and the ledger's entry.

    >>> import tempfile
    >>> verify(tempfile.mkdtemp())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no statement at ...
    """
    place = Path(folder)
    said = read_statement(place)
    checks = []
    contents: dict[str, bytes] = {}
    for file in said["files"]:
        name = Path(file["name"]).name
        try:
            contents[name] = (place / name).read_bytes()
        except OSError:
            checks.append(Check(name, False, "missing"))
            continue
        same = hashlib.sha256(contents[name]).hexdigest() == file["sha256"]
        checks.append(Check(name, same, "as the statement says" if same else "changed since the release"))
    words = place / "statement.txt"
    same = words.is_file() and words.read_text(encoding="utf-8").strip() == statement_text(said)
    checks.append(
        Check("statement.txt", same, "says what statement.json says" if same else "differs from statement.json")
    )
    checks.append(_paid(said, contents, ledger))
    return checks


def _paid(said: Mapping[str, Any], contents: Mapping[str, bytes], ledger: str | Path | None) -> Check:
    entry = said["ledger"]
    path = ledger or entry.get("ledger")
    if path is None:
        return Check("ledger", False, "the statement names no ledger file; give it with --ledger")
    book = Ledger.open(path)
    book.verify()
    records = book.records()
    number = int(entry["entry"])
    record = records[number - 1] if 0 < number <= len(records) else None
    if record is None or record.kind != "reserve" or record.data.get("key") != entry["key"]:
        return Check("ledger", False, "has no such entry")
    if record.data["parameters"] != said["parameters"] or record.data["guarantee"] != said["guarantee"]:
        return Check("ledger", False, "was charged for other parameters")
    committed = [r.data["outputs"] for r in records if r.kind == "commit" and r.data["reserve"] == number]
    if committed != [digest_of(contents)]:
        return Check("ledger", False, "recorded other values than these files hold")
    return Check("ledger", True, f"entry {number} paid for these values")
