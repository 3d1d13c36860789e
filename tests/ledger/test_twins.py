"""One budget for each data set: made once, under one name, and not copied."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from barrow.errors import ParameterError
from barrow.ledger import Budget, Ledger, Promises, sqlite
from barrow.ledger.errors import LedgerBusyError, MissingLedgerError, TwinLedgerError
from barrow.ledger.names import same_name, visible_name
from barrow.ledger.store import Other
from tests.ledger.helpers import budget, pay

ALIKE = ["visits", "Visits", "VISITS", " visits ", "ＶＩＳＩＴＳ", "ｖisits", "visitſ"]
HIDDEN = [
    "visits\u200b", "vis\u00adits", "\ufeffvisits", "visits\u2060", "vis\u034fits", "visits\u3164", "visits\x00",
    "visits\u202e", "visits\ufe0f",
]  # fmt: skip
MAKE = """
import sys
from barrow.ledger import Budget, Ledger, Promises

print("ready", flush=True)
sys.stdin.readline()
Ledger.create(sys.argv[1], Budget(sys.argv[2], 10, "line km", Promises([(1, 1, 1)])))
"""


def promised(name: str) -> Budget:
    return Budget(name, 10, "line km", Promises([(1, 1, 1)]))


@pytest.mark.parametrize("name", ALIKE)
def test_names_that_look_alike_are_one_data_set(tmp_path: Path, name: str) -> None:
    Ledger.create(tmp_path / "a.ledger", promised("visits"))
    with pytest.raises(MissingLedgerError, match="has a ledger already"):
        Ledger.create(tmp_path / "b.ledger", promised(name))
    assert Ledger.find(tmp_path, name) == str(tmp_path / "a.ledger")
    assert os.listdir(tmp_path) == ["a.ledger"]
    Ledger.create(tmp_path / "c.ledger", promised("visits 2"))


@pytest.mark.parametrize("name", HIDDEN)
def test_what_nobody_sees_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=r"invisible character U\+"):
        promised(name)
    assert same_name(name) == "visits"


def test_other_names_stay_what_they_are() -> None:
    names = ["visits", "visits-2", "visites", "Besuche 2026", "посещения", "来店", "visits.v2"]
    assert [visible_name(name) for name in names] == names
    assert len({same_name(name) for name in names}) == len(names)


def test_budgets_of_alpha_are_budgets_too(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "a.ledger", budget())
    for built in (budget(5), promised("visits")):
        with pytest.raises(MissingLedgerError, match="has a ledger already"):
            Ledger.create(tmp_path / "b.ledger", built)


def made_at_once(places: list[str], name: str = "visits") -> int:
    """How many of these creations succeed; all begin when all are ready."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", MAKE, place, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        for place in places
    ]  # fmt: skip
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in running:
        process.communicate()
    return sum(process.returncode == 0 for process in running)


def test_of_six_creations_at_once_one_succeeds(tmp_path: Path) -> None:
    assert made_at_once([str(tmp_path / f"{k}.ledger") for k in range(6)]) == 1
    assert len([name for name in os.listdir(tmp_path) if name.endswith(".ledger")]) == 1


def test_looking_and_making_are_under_one_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, look = [], sqlite.ledgers_in

    def locked() -> bool:
        handle = os.open(tmp_path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def looked(*places: Path) -> list[Other]:
        held.append(locked())
        return look(*places)

    monkeypatch.setattr(sqlite, "ledgers_in", looked)
    monkeypatch.setattr(sqlite, "_put_in_place", lambda draft, target: (held.append(locked()), os.link(draft, target)))
    Ledger.create(tmp_path / "a.ledger", promised("visits"))
    assert held == [True, True]
    assert not locked()
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(LedgerBusyError, match="makes a ledger in"):
        Ledger.create(tmp_path / "b.ledger", promised("others"))
    os.close(handle)
    Ledger.create(tmp_path / "b.ledger", promised("others"))


def test_a_copy_beside_it_stops_both_until_one_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    ledger = Ledger.create(path, budget())
    pay(ledger, "a", 1)
    shutil.copy(path, tmp_path / "copy of a")
    twin = Ledger.open(tmp_path / "copy of a")
    for one in (ledger, twin, Ledger.open(path)):
        with pytest.raises(TwinLedgerError, match=r"a\.ledger.*copy of a|copy of a.*a\.ledger"):
            pay(one, "b", 1)
        with pytest.raises(TwinLedgerError):
            one.resume("a")
        assert one.left().loss == 9  # reading is allowed, to see which is which
        assert one.verify().releases == 1
    (tmp_path / "copy of a").unlink()
    pay(ledger, "b", 1)


def test_other_names_of_one_file_are_no_twins_and_neither_are_drafts(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    ledger = Ledger.create(path, budget())
    (tmp_path / "link").symlink_to(path)
    shutil.copy(path, tmp_path / ".a.ledger.77-88.new")  # what a killed creation leaves
    (tmp_path / "damaged").write_bytes(path.read_bytes()[:600])
    Ledger.create(tmp_path / "c.ledger", promised("others"))
    pay(ledger, "a", 1)
    pay(Ledger.open(tmp_path / "link"), "b", 1)
    assert ledger.verify().releases == Ledger.open(path).verify().releases == 2


def test_looking_for_twins_never_opens_the_ledger_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To close a file ends all locks that this process has on it, those of SQLite's transaction included."""
    path = tmp_path / "a.ledger"
    ledger = Ledger.create(path, budget())
    (tmp_path / "link").symlink_to(path)
    shutil.copy(path, tmp_path / "apart")
    seen, look = [], sqlite.is_ledger_file
    monkeypatch.setattr(sqlite, "is_ledger_file", lambda file: (seen.append(file.name), look(file))[1])
    with pytest.raises(TwinLedgerError):
        pay(ledger, "a", 1)
    assert seen == ["apart"]
