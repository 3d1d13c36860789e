"""Does a folder of results hold what was released, and was it paid for?

With a ledger its commit record says what must hold. Without one, everything that follows from the folder itself is
checked, and what only the ledger's owner can confirm is said to be unchecked, unless a head that they signed confirms
it. Nothing is opened, and nobody is asked, that was not typed: a statement may be a stranger's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from barrow.errors import BarrowError, ParameterError, path_text
from barrow.ledger import Ledger
from barrow.ledger.errors import CorruptLedgerError, MissingLedgerError
from barrow.ledger.keys import read_fingerprint
from barrow.ledger.published import FILE as HEAD
from barrow.ledger.published import PublishedHead
from barrow.ledger.state import Record
from barrow.ledger.store import ChainHead
from barrow.questions.statement import Statement
from barrow.registry import PluginError
from barrow.study.folders import ReleaseFolder, read_part
from barrow.study.prose import kind_of, statement_text
from barrow.study.restated import contradictions, owner_only, paid_otherwise
from barrow.study.statement import (
    STATEMENT_VERSION,
    approved_by,
    library,
    parse_statement,
    space_of,
    statement_digest,
    write_statement,
)

FORGED = (BarrowError, KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
"""What a forged statement may make the parsers raise."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and whether it holds; None where nobody can say from here.

    >>> Check("values.csv", True, "as the statement says").holds
    True
    """

    what: str
    holds: bool | None
    finding: str


def read_statement(path: str | os.PathLike[str]) -> Statement:
    """The statement in a file, or in a folder of results; whatever is malformed is refused.

    >>> read_statement("nowhere")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no statement at 'nowhere'.
      allowed: statement.json, or a folder that holds it
      fix:     give the folder that barrow release wrote
    """
    text, wanted = path_text(path, "The folder of the release"), "statement.json, or a folder that holds it"
    fix = "give the folder that barrow release wrote"
    file, content = read_part(text, "statement.json", "statement", allowed=wanted, fix=fix)
    return parse_statement(content, f"The file {str(file)!r}")


def verify(
    folder: str | os.PathLike[str],
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    head: ChainHead | str | None = None,
    anchor: str | os.PathLike[str] | None = None,
    signer: str | None = None,
) -> list[Check]:
    """Check a folder of results; all checks hold only where a ledger, or a signer that you name, confirms it.

    Args:
        folder: The folder.
        ledger: The ledger that it was paid from. The one that the statement names is never opened by itself.
        head: With a ledger: a head, ``LENGTH:HASH``, that was kept elsewhere and must be part of its chain.
        anchor: With a ledger: a file with such a head.
        signer: The fingerprint of the key that must have signed the folder's ``head.json``.

    >>> import tempfile
    >>> verify(tempfile.mkdtemp())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no statement at ...
    """
    if ledger is None and not (head is None and anchor is None):
        raise ParameterError(
            "A head is given, but no ledger to compare it with.",
            allowed="head or anchor together with ledger; signer without one",
            fix="--ledger visits.ledger, or leave --head and --anchor out",
        )
    wanted = None if signer is None else read_fingerprint(signer)
    statement = read_statement(folder)
    _refuse_plugins(statement)
    place = Path(folder) if Path(folder).is_dir() else Path(folder).parent
    result, state = ReleaseFolder(place, statement), None if ledger is None else _opened(ledger)
    paid = [] if state is None else [_paid(result, statement, state, head, anchor)]
    published = _published(result, state if any(check.holds for check in paid) else None, wanted)
    by_ledger = any(check.holds for check in paid)
    checks = [
        *_files(result),
        _agree(result, by_ledger=by_ledger),
        Check("statement.json", *_whole(result, statement)),
        Check("statement.txt", *_words(result, statement, by_ledger=by_ledger)),
        Check("numbers", *_numbers(statement, by_ledger=by_ledger)),
        *paid,
        *published,
    ]
    confirmed = any(check.holds for check in (*paid, *published))
    return checks if confirmed or paid else [*checks, _unconfirmed(statement, published)]


def _refuse_plugins(statement: Statement) -> None:
    """A folder may be a stranger's: what it names of other packages is not loaded."""
    try:
        kind_of(statement)
        space_of(statement)
    except PluginError:
        raise
    except FORGED:  # which the checks say
        return


def _files(folder: ReleaseFolder) -> list[Check]:
    checks = [Check(name, False, finding) for name, finding in folder.odd.items()]
    return checks + [
        Check(name, not changed, "changed since the release" if changed else "as the statement says")
        for name, changed in folder.changed().items()
    ]


def _agree(folder: ReleaseFolder, *, by_ledger: bool) -> Check:
    wrong = folder.disagreeing()
    if wrong:
        return Check("tables", False, f"{', '.join(wrong)}: not what the Parquet tables hold")
    if not by_ledger and folder.statement.library == library():  # another version may say the same in other words
        wrong = folder.misleading()
    if wrong:
        return Check("tables", False, f"{', '.join(wrong)}: not what the statement and the tables say")
    return Check("tables", True, "CSV and Parquet files hold the same values")


def _whole(folder: ReleaseFolder, statement: Statement) -> tuple[bool, str]:
    """Its digest is that of the rest, and it is written as statements are, to the byte."""
    same = folder.files.get("statement.json") == write_statement(statement)
    whole = same and statement.digest == statement_digest(statement)
    return whole, "whole" if whole else "changed since it was written"


def _words(folder: ReleaseFolder, statement: Statement, *, by_ledger: bool) -> tuple[bool, str]:
    if by_ledger:
        return True, "as the ledger recorded it"
    if statement.statement < STATEMENT_VERSION:
        return False, f"has the words of version {statement.statement}, which only the ledger confirms: type --ledger"
    try:
        same = folder.files["statement.txt"].decode() == statement_text(statement) + "\n"
    except FORGED:
        same = False
    return same, "says what statement.json says" if same else "differs from statement.json"


def _numbers(statement: Statement, *, by_ledger: bool) -> tuple[bool, str]:
    """The guarantee follows from the event, and what is promised from the guarantee, the parameters and the space."""
    try:
        wrong = contradictions(statement, recorded=by_ledger)
    except FORGED:
        wrong = ["some of them"]
    return not wrong, f"do not follow: {', '.join(wrong)}" if wrong else "follow from the mechanism and its parameters"


def _opened(ledger: Ledger | str | os.PathLike[str]) -> Ledger:
    try:
        return ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    except MissingLedgerError as error:  # whoever checks a release has no use for a new ledger
        raise MissingLedgerError(
            error.problem,
            allowed="the ledger that the release was paid from",
            fix="leave --ledger out: what follows from the folder itself is checked without it",
        ) from None


def _paid(
    folder: ReleaseFolder,
    statement: Statement,
    ledger: Ledger,
    head: ChainHead | str | None,
    anchor: str | os.PathLike[str] | None,
) -> Check:
    """What the commit record says: it alone knows which statement and which values were paid for."""
    try:
        ledger.verify(head)
        if anchor is not None:
            ledger.continues(anchor)
        records = ledger.records()
    except CorruptLedgerError as error:
        return Check("ledger", False, error.problem)
    commits = [record for record in records if record.kind == "commit"]
    recorded = next((c for c in commits if c.data["statement"] == folder.digests.statement), None)
    if recorded is None:
        known = any(c.data["outputs"] == folder.digests.outputs for c in commits)
        return Check(
            "ledger", False, f"recorded {'another statement for these values' if known else 'no such release'}"
        )
    return Check("ledger", *_recorded(folder, statement, ledger, records, recorded))


def _recorded(
    folder: ReleaseFolder, statement: Statement, ledger: Ledger, records: Sequence[Record], commit: Record
) -> tuple[bool, str]:
    paid = records[commit.data["reserve"] - 1]
    if commit.data["outputs"] != folder.digests.outputs:
        return False, "recorded other values than those in these files"
    try:
        later = statement.statement == STATEMENT_VERSION  # earlier payments named less
        other = later and bool(paid_otherwise(statement, paid.data))
    except FORGED:
        other = True
    if other or any(paid.data[name] != getattr(statement, name) for name in ("parameters", "guarantee", "event")):
        return False, "was charged for another release than the statement describes"
    entry = statement.ledger
    if entry is None or (entry.entry, entry.key) != (paid.seq, paid.data["key"]):
        return False, "has it under another entry"
    if entry.approved != approved_by(ledger, paid.seq):
        return False, "has approvals by other people than the statement names"
    names = ", ".join(row.by for row in entry.approved)
    signed = f", approved by {names}, whose signatures hold" if names else ""
    return True, f"entry {paid.seq} paid for these values and this statement{signed}"


def _published(folder: ReleaseFolder, ledger: Ledger | None, wanted: str | None) -> list[Check]:
    """What a signed head in the folder says."""
    content = folder.files.get(HEAD)
    if content is None:
        return (
            [] if wanted is None else [Check("head", False, f"the folder has no {HEAD}, so the release is not signed")]
        )
    try:
        signed = PublishedHead.parse(content)
    except ParameterError as error:
        return [Check("head", False, error.problem)]
    if not signed.holds(folder.digests):
        return [Check("head", False, "does not hold this release: it is older, of another ledger, or this was changed")]
    if ledger is not None and not ledger.published(signed):
        return [Check("head", False, "is not a head of this ledger, or claims releases that it does not hold")]
    if wanted is None:
        return [Check("head", None, f"holds this release, signed by an unknown key: {signed.signer}")]
    if signed.signer != wanted:
        return [Check("head", False, f"was signed by another key: {signed.signer}")]
    return [Check("head", True, f"holds this release, signed on {signed.when[:10]} by {signed.signer}")]


def _unconfirmed(statement: Statement, published: Sequence[Check]) -> Check:
    try:
        open_to_doubt = owner_only(statement)
    except FORGED:
        open_to_doubt = list(statement.__struct_fields__)
    named = None if statement.ledger is None else statement.ledger.ledger
    where = "" if named is None else f" The statement names {named!r}, which was not opened."
    unknown = "ask them for their fingerprint, and type --signer" if published else "ask them for a signed head"
    return Check(
        "ledger",
        None,
        f"not checked. Only the ledger's owner can confirm that these values were drawn and charged, and what the "
        f"statement "
        f"says about {', '.join(open_to_doubt)}.{where} Type --ledger, or {unknown}",
    )
