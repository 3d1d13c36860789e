"""Formats and texts that others keep change on purpose only; ledgers of every version stay readable."""

from __future__ import annotations

import shutil

import pytest

from barrow.ledger import Ledger
from barrow.ledger.state import _KINDS, RECORD_VERSION
from barrow.study import read_statement, verify
from barrow.study.prose import statement_text
from tests.fuzz.forgeries import KINDS
from tests.golden.formats import FOLDER, TEXTS, statement, statement_of_parts

CHANGED = (
    "A format or a text that others keep has changed. If that is meant: raise its version number, run "
    "scripts/golden --write, and add a line to CHANGELOG.md, all in one commit."
)
LEDGERS = sorted((FOLDER / "ledgers").iterdir())


def check(name: str, text: str) -> None:
    assert text == (FOLDER / name).read_text(encoding="utf-8"), CHANGED


@pytest.mark.parametrize("name", TEXTS)
def test_formats(name):
    check(name, TEXTS[name]())


@pytest.mark.parametrize("kind", KINDS)
def test_statements(kind):
    data, words = statement(kind)
    check(f"statements/{kind}.json", data)
    check(f"statements/{kind}.txt", words)


def test_a_statement_about_a_month_by_region():
    data, words = statement_of_parts()
    check("statements/month_by_region.json", data)
    check("statements/month_by_region.txt", words)


def test_there_is_a_ledger_of_this_version():
    assert str(RECORD_VERSION) in {place.name for place in LEDGERS}


@pytest.mark.parametrize("place", LEDGERS, ids=lambda place: place.name)
def test_ledgers_stay_readable_and_their_folders_verify(place, tmp_path):
    copy = shutil.copytree(place, tmp_path / "golden")
    ledger = Ledger.open(copy / "ages.ledger")
    assert ledger.verify().releases == 3
    assert {record.kind for record in ledger.records()} == {
        kind for version, kind in _KINDS if str(version) == place.name
    }
    assert all(check.holds for check in verify(copy / "mean", ledger=ledger))
    assert statement_text(read_statement(copy / "mean")).startswith("We released the mean")
