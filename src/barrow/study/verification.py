"""Does a folder of results hold what was released, and was it paid for?"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from barrow.accounting import price
from barrow.errors import BarrowError, ParameterError, path_text, plain_file
from barrow.ledger import Ledger
from barrow.policy import odds_upper
from barrow.privacy import event_from_json
from barrow.study.outputs import digest_of
from barrow.study.schemas import Statement
from barrow.study.statement import STATEMENT_VERSION, statement_text

_DIGESTED = 2
"""From this version on the ledger holds a digest of the statement."""
_LARGEST = 2**26


@dataclass(frozen=True)
class Check:
    """One thing that was checked, and whether it holds.

    >>> Check("values.csv", True, "as released").holds
    True
    """

    what: str
    holds: bool
    finding: str


def read_statement(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The statement in a file, or in a folder of results; whatever is malformed is refused.

    >>> read_statement("nowhere")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no statement at 'nowhere'.
      allowed: statement.json, or a folder that holds it
      fix:     give the folder that barrow release wrote
    """
    place = Path(path_text(path, "The folder of the release"))
    file = plain_file(place / "statement.json" if place.is_dir() else place, "The statement")
    problem, said = f"There is no statement at {str(path)!r}.", None
    try:
        if file.stat().st_size <= _LARGEST:
            content = file.read_bytes()
            problem = f"The file {str(file)!r} is not a statement"
            said = msgspec.json.decode(content)
            found = msgspec.convert(said, Statement)
            if not 1 <= found.statement <= STATEMENT_VERSION:
                problem, said = f"The file {str(file)!r} is a statement of another version.", None
        else:
            problem = f"The file {str(file)!r} is too large for a statement."
    except OSError:
        said = None
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError) as error:
        said, problem = None, f"{problem}: {str(error)[:200]}."
    if said is None:
        raise ParameterError(
            problem,
            allowed="statement.json, or a folder that holds it",
            fix="give the folder that barrow release wrote",
        )
    plain: dict[str, Any] = said
    return plain


def verify(folder: str | os.PathLike[str], *, ledger: Ledger | str | os.PathLike[str] | None = None) -> list[Check]:
    """Check the digests of all files, the statement's numbers and words, and the ledger's entry.

    >>> import tempfile
    >>> verify(tempfile.mkdtemp())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no statement at ...
    """
    said = read_statement(folder)
    place = Path(folder)
    checks = []
    contents: dict[str, bytes] = {}
    for file in said["files"]:
        name = Path(file["name"]).name
        try:
            contents[name] = plain_file(place / name, "The file").read_bytes()
        except OSError:
            checks.append(Check(name, False, "missing"))
            continue
        same = hashlib.sha256(contents[name]).hexdigest() == file["sha256"]
        checks.append(Check(name, same, "as the statement says" if same else "changed since the release"))
    checks.append(_numbers(said))
    if said["statement"] == STATEMENT_VERSION:
        checks.append(_words(place, said))
    checks.append(_paid(place, said, contents, ledger))
    return checks


def _words(place: Path, said: Mapping[str, Any]) -> Check:
    words = place / "statement.txt"
    try:
        same = words.is_file() and words.read_text(encoding="utf-8").strip() == statement_text(said)
    except (BarrowError, OSError, ValueError):
        same = False
    return Check("statement.txt", same, "says what statement.json says" if same else "differs from statement.json")


def _numbers(said: Mapping[str, Any]) -> Check:
    """The guarantee follows from the event, and every epsilon and probability from the guarantee."""
    try:
        guarantee = price(event_from_json(said["event"]))
        promised = guarantee.definition.parameters.get("alpha")
        stated = said["guarantee"]["definition"].get("alpha")
        holds = (
            str(guarantee.definition) == said["definition"]
            or (promised is not None and stated is not None and promised <= type(promised)(stated))
        ) and all(
            abs(row["odds"] - odds_upper(row["epsilon"], row.get("delta", said["delta"]))) < 1e-12
            for row in [*said["protected"], said["worst_case"]]
        )
        holds = holds and all(
            row["epsilon"] <= row.get("epsilon_promised", row["epsilon"]) for row in said["protected"]
        )
        holds = holds and said["worst_case"]["epsilon"] >= guarantee.epsilon_at(1) * (1 - 1e-12)
    except (BarrowError, KeyError, TypeError, ValueError, AttributeError, OverflowError):  # whoever wrote it
        holds = False
    return Check(
        "numbers", holds, "follow from what was drawn" if holds else "do not follow from the event that is stated"
    )


def _paid(
    place: Path,
    said: Mapping[str, Any],
    contents: Mapping[str, bytes],
    ledger: Ledger | str | os.PathLike[str] | None,
) -> Check:
    entry = said["ledger"]
    path = ledger if ledger is not None else entry.get("ledger")
    if path is None:
        return Check("ledger", False, "the statement names no ledger file; give it with --ledger")
    book = path if isinstance(path, Ledger) else Ledger.open(path)
    book.verify()
    records = book.records()
    number = int(entry["entry"])
    record = records[number - 1] if 0 < number <= len(records) else None
    if record is None or record.kind != "reserve" or record.data.get("key") != entry["key"]:
        return Check("ledger", False, "has no such entry")
    if record.data["parameters"] != said["parameters"] or record.data["guarantee"] != said["guarantee"]:
        return Check("ledger", False, "was charged for other parameters")
    committed = [r.data for r in records if r.kind == "commit" and r.data["reserve"] == number]
    if [data["outputs"] for data in committed] != [digest_of(contents)]:
        return Check("ledger", False, "recorded other values than these files hold")
    if said["statement"] >= _DIGESTED:
        pair = [plain_file(place / name, "The file") for name in ("statement.json", "statement.txt")]
        if any(not file.is_file() for file in pair):
            return Check("ledger", False, "recorded a statement in words that is missing here")
        if committed[0].get("statement") != digest_of({file.name: file.read_bytes() for file in pair}):
            return Check("ledger", False, "recorded another statement than this one")
    return Check("ledger", True, f"entry {number} paid for these values and this statement")
