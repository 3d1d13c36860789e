"""Reads a ledger without barrow: plain SQL, its own hashing, its own sums."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path


@dataclass(frozen=True)
class Found:
    """What a ledger file says; ``flaw`` is None if every link holds."""

    paid: frozenset[str]
    spent: Fraction
    limit: Fraction
    length: int
    flaw: str | None

    @property
    def overspent(self) -> bool:
        return self.spent > self.limit


def look(path: Path) -> Found:
    """Read the file at ``path`` (recovering from a hot journal, as any reader does)."""
    try:
        connection = sqlite3.connect(path)
        try:
            whole = connection.execute("PRAGMA integrity_check").fetchone()[0]
            rows = connection.execute("SELECT seq, body, hash FROM records ORDER BY seq").fetchall()
            if not all(isinstance(body, str) and isinstance(digest, str) for _, body, digest in rows):
                raise sqlite3.DatabaseError("a record is not text")
        finally:
            connection.close()
    except sqlite3.Error as error:
        return Found(frozenset(), Fraction(0), Fraction(0), 0, str(error))
    return judge(rows, None if whole == "ok" else str(whole))


def judge(rows: list[tuple[int, str, str]], flaw: str | None = None) -> Found:
    """What ``rows`` say, with hashing and sums of its own."""
    previous = "0" * 64
    paid, spent, limit, promises = set(), Fraction(0), Fraction(0), list[dict[str, str]]()
    months: list[Counter[str]] = []
    for number, (seq, body, digest) in enumerate(rows, start=1):
        expected = hashlib.sha256(f"barrow ledger 1\n{previous}\n{body}".encode()).hexdigest()
        if seq != number or digest != expected:
            flaw = flaw or f"record {number}"
        previous = digest
        try:
            data = json.loads(body)
        except ValueError:
            continue  # Not counted as paid; its hash, or its place in the chain, is a flaw already.
        if data["kind"] == "init":
            limit = Fraction(data["budget"]["limit"].get("alpha", 1))
            promises = data["budget"]["limit"].get("promises", [])
            months = [Counter() for _ in promises]
        elif data["kind"] == "reserve":
            if data["key"] in paid:
                flaw = flaw or f"key {data['key']} twice"
            paid.add(data["key"])
            if not promises:
                spent += Fraction(data["amount"]["loss"])
            for month, charge in zip(months, data["charges"] or (), strict=bool(promises)):
                month["all"] += Fraction(charge)  # type: ignore[assignment]
                for label in data["reads"]["periods"]:
                    month[label] += Fraction(charge)  # type: ignore[assignment]
    for promise, month in zip(promises, months, strict=True):
        every = promise["scope"] == "every month"
        most = month["all"] if every else max((month[t] for t in month if t != "all"), default=Fraction(0))
        spent = max(spent, most / Fraction(promise["epsilon"]))  # the largest part of a promise, of 1
    if not rows:
        flaw = "empty"
    return Found(frozenset(paid), spent, limit, len(rows), flaw)
