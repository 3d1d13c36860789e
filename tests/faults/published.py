"""What a release left behind, read without barrow: the ledger by plain SQL, the files by their own digests."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import sqlite3
import stat
from dataclasses import dataclass
from pathlib import Path

CANARY = "canary-7f3a"
"""Every id of a person begins with it."""
VALUE = "73.90625"
"""A private value, exact in binary, that no noise will give."""
USERS = 30
OWN = {"records.csv"}
"""The private records themselves."""


def study_in(folder: Path) -> None:
    """A study with records, and a ledger that holds exactly one release."""
    from barrow.ledger import Ledger
    from barrow.spaces import Line
    from barrow.study import Study, read

    with open(folder / "records.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["uid", "x"])
        for user in range(USERS):
            writer.writerows([f"{CANARY}-{user}", VALUE if number else user] for number in range(3))
    study = Study(
        Line(0, 100, step=0.015625, unit="km"), ["all, 5 km, 0.5"], users=USERS, dataset="trips", questions=["mean"],
        data=read(str(folder / "records.csv"), user="uid", item="x"), ledger=str(folder / "trips.ledger"),
    )  # fmt: skip
    Ledger.create(folder / "trips.ledger", study)
    study.write(folder / "study.toml")


@dataclass(frozen=True)
class Seen:
    """What ledger and folder say after a run."""

    paid: int
    staged: str | None
    committed: str | None
    published: str | None

    @property
    def unpaid(self) -> bool:
        """Whether values are out that the ledger has not committed."""
        return self.published is not None and self.published != self.committed


def look_at(folder: Path) -> Seen:
    """Read the ledger's records and what is published."""
    connection = sqlite3.connect(folder / "trips.ledger")
    try:
        rows = [json.loads(body) for (body,) in connection.execute("SELECT body FROM records ORDER BY seq")]
    finally:
        connection.close()
    data = {kind: [_digests(row) for row in rows if row["kind"] == kind] for kind in ("staged", "commit")}
    if len(data["staged"]) > 1 or len(data["commit"]) > 1:
        return Seen(2, "twice", "twice", None)
    published = folder / "release" / "mean"
    return Seen(
        sum(row["kind"] == "reserve" for row in rows),
        next(iter(data["staged"]), None),
        next(iter(data["commit"]), None),
        _content(published) if published.exists() else None,
    )


def _digests(row: dict[str, object]) -> str:
    return f"{row['outputs']} {row['statement']}"


def _content(folder: Path) -> str:
    """The two digests that the ledger keeps, computed here."""
    parts: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for file in folder.iterdir():
        parts[file.name.startswith("statement.")][file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return " ".join("sha256:" + hashlib.sha256(json.dumps(p, sort_keys=True).encode()).hexdigest() for p in parts)


def judge(before: Seen, after: Seen, code: int) -> bool:
    """Whether a release was lost: the same command must publish it, paid once, and as it was staged."""
    whole = code == 0 and after.paid == 1 and after.published is not None and after.published == after.committed
    same = all(value in (None, after.published) for value in (before.staged, before.committed, before.published))
    return not (whole and same)


def leaks(folder: Path, text: str, *, after: bool) -> int:
    """Files and messages that hold ids or values of people.

    Before the second run a file in a folder of the owner's alone may hold them, for a killed process cannot remove it;
    after it none may. What is drawn and not published lies in folders of the owner's alone, and after it nowhere.
    """
    count = int(_private(text.encode()))
    for name, _, files in os.walk(folder):
        place = Path(name)
        closed = any(stat.S_IMODE(p.stat().st_mode) == 0o700 for p in (place, *place.parents) if folder in p.parents)
        if place.name.endswith("staged"):
            count += after or not closed
        for file in files:
            if file not in OWN and _private((place / file).read_bytes()):
                count += after or not closed
    return count


def _private(content: bytes) -> bool:
    return CANARY.encode() in content or VALUE.encode() in content
