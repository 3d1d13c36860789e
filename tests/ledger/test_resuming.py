"""Reservations that go on after a crash, and anchors that older copies do not pass."""

from __future__ import annotations

import itertools
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.ledger.anchors import Anchor
from barrow.ledger.errors import (
    AlreadyPaidError,
    CorruptLedgerError,
    LedgerIOError,
    MissingLedgerError,
    NoAuthorityError,
)
from barrow.ledger.opened import Committed, Reservation, Staged
from barrow.ledger.store import ChainHead
from tests.ledger.helpers import OUTPUTS, budget, pay

STATEMENT = "sha256:" + "5" * 64


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ledger"


def apart(folder: Path) -> Path:
    """Another folder: a copy beside a ledger is a twin, from which nobody spends."""
    result = folder / "apart"
    result.mkdir(exist_ok=True)
    return result


def reserved(path: Path, **options: Any) -> Reservation:
    return pay(Ledger.create(path, budget()), "map", 1, parameters={"cell": 1}, resumable=True, **options)


def test_nothing_staged_is_drawn_again_without_a_second_charge(path: Path) -> None:
    first = reserved(path)
    first.take()
    ledger = Ledger.open(path)
    again = ledger.resume("map", {"cell": 1})
    assert isinstance(again, Reservation)
    assert (again.seq, again.charge.amount.loss) == (first.seq, 1)
    again.take()
    assert ledger.left().loss == 9
    # Whoever held the right before has lost it: its values never become the release.
    with pytest.raises(NoAuthorityError, match="resumed by another process"):
        ledger.stage(first, OUTPUTS)
    staged = ledger.stage(again, OUTPUTS, STATEMENT)
    record = ledger.commit(staged)
    assert record.data == {"reserve": 2, "outputs": OUTPUTS, "statement": STATEMENT}
    assert [r.kind for r in ledger.records()] == ["init", "reserve", "resumed", "staged", "commit"]
    assert ledger.verify().uncommitted == 0
    assert ledger.left().loss == 9


def test_two_processes_that_draw_stage_once(path: Path) -> None:
    first = reserved(path)
    one, two = Ledger.open(path), Ledger.open(path)
    one.stage(first, OUTPUTS)
    result = two.resume("map", {"cell": 1})
    assert isinstance(result, Staged)
    with pytest.raises(NoAuthorityError, match="was staged before"):
        two.stage(first, STATEMENT)
    with pytest.raises(NoAuthorityError, match="other values"):
        two.commit(first, STATEMENT)


def test_what_was_staged_is_published_and_never_drawn_again(path: Path) -> None:
    ledger = Ledger.open(path) if path.exists() else None
    paid = reserved(path)
    ledger = Ledger.open(path)
    ledger.stage(paid, OUTPUTS, STATEMENT)
    for _ in range(3):
        staged = Ledger.open(path).resume("map", {"cell": 1})
        assert isinstance(staged, Staged)
        assert (staged.outputs, staged.statement) == (OUTPUTS, STATEMENT)
    with pytest.raises(NoAuthorityError, match="other values"):
        ledger.commit(staged, STATEMENT)
    ledger.commit(staged)
    done = ledger.resume("map", {"cell": 1})
    assert isinstance(done, Committed)
    assert (done.outputs, done.statement) == (OUTPUTS, STATEMENT)
    with pytest.raises(ParameterError, match="committed before"):
        ledger.commit(paid, OUTPUTS)
    assert ledger.commit(staged).seq == Ledger.open(path).commit(staged).seq == 4  # two may publish the same
    assert ledger.head().length == 4
    with pytest.raises(AlreadyPaidError, match="use the result that was released"):
        pay(ledger, "map", 1)
    assert ledger.left().loss == 9


def test_paying_again_points_to_resuming(path: Path) -> None:
    reserved(path)
    with pytest.raises(AlreadyPaidError, match="without a second payment"):
        pay(Ledger.open(path), "map", 1)


def test_what_was_given_up_is_never_drawn_again(path: Path) -> None:
    paid = reserved(path)
    paid.take()
    assert paid.taken
    ledger = Ledger.open(path)
    assert ledger.abandon(paid).kind == "abandoned"
    with pytest.raises(AlreadyPaidError, match="under a new key"):
        ledger.resume("map", {"cell": 1})
    with pytest.raises(NoAuthorityError, match="was given up"):
        ledger.stage(paid, OUTPUTS)
    with pytest.raises(NoAuthorityError, match="was given up"):
        ledger.abandon(paid)
    assert Ledger.open(path).left().loss == 9
    other = pay(ledger, "map-2", 1, resumable=True)
    ledger.stage(other, OUTPUTS)
    with pytest.raises(NoAuthorityError, match="staged before"):
        ledger.abandon(other)


def test_resume_asks_for_the_same_parameters(path: Path) -> None:
    reserved(path)
    ledger = Ledger.open(path)
    assert ledger.resume("other", {"cell": 1}) is None
    for parameters in ({"cell": 2}, {}, None):
        with pytest.raises(ParameterError, match="other parameters"):
            ledger.resume("map", parameters)
    assert ledger.head().length == 2


def test_what_may_have_been_shown_is_not_resumed(path: Path) -> None:
    ledger = Ledger.create(path, budget())
    paid = pay(ledger, "map", 1)
    with pytest.raises(AlreadyPaidError, match="never recorded"):
        ledger.resume("map")
    ledger.commit(paid, OUTPUTS)
    assert isinstance(ledger.resume("map"), Committed)


def test_a_resumable_release_is_staged_before_it_is_committed(path: Path) -> None:
    paid = reserved(path)
    ledger = Ledger.open(path)
    with pytest.raises(NoAuthorityError, match="was not staged"):
        ledger.commit(paid, OUTPUTS)
    ledger.stage(paid, OUTPUTS)
    ledger.commit(paid, OUTPUTS)


def odds(fails_on: int | None, epsilon: float = 0.5) -> float:
    """The largest likelihood ratio of what is seen: how often a release was resumed, and what came out at last.

    The release is randomised response; the process dies with probability 1/2 whatever it drew, or always (at most
    twice) when it drew ``fails_on``.
    """
    draw = [math.exp(epsilon) / (1 + math.exp(epsilon)), 1 / (1 + math.exp(epsilon))]
    worst = 0.0
    for attempts, shown in itertools.product(range(3), range(2)):
        seen = []
        for chances in (draw, draw[::-1]):
            if fails_on is None:
                broken, subset = 0.5, chances[shown] * (0.5 if attempts < 2 else 1)
            else:
                broken, subset = chances[fails_on], chances[shown] * (attempts == 2 or shown != fails_on)
            seen.append(broken**attempts * subset)
        if min(seen) > 0:
            worst = max(worst, *(a / b for a, b in (seen, seen[::-1])))
    return worst


def test_faults_that_know_nothing_of_the_values_cost_nothing() -> None:
    assert odds(None) == pytest.approx(math.exp(0.5))


def test_faults_that_depend_on_the_values_would_cost_a_release_each() -> None:
    assert odds(1) == pytest.approx(math.exp(1.5))


# Anchors.


def test_an_older_copy_is_not_spent_from(path: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "elsewhere" / "a.anchor"
    anchor.parent.mkdir()
    ledger = Ledger.create(path, budget(), anchor=anchor)
    pay(ledger, "a", 1)
    shutil.copy(path, apart(tmp_path) / "backup")
    pay(ledger, "b", 1)
    assert Anchor.read(anchor).head == ledger.head() == ChainHead(3, ledger.head().hash)
    shutil.copy(apart(tmp_path) / "backup", path)
    restored = Ledger.open(path)  # the path of the anchor is in the ledger itself
    assert restored._anchor == anchor
    assert restored.left().loss == 9  # reading is allowed
    for spend in (lambda: pay(restored, "c", 1), lambda: restored.resume("a")):
        with pytest.raises(CorruptLedgerError, match="older copy"):
            spend()
    with pytest.raises(CorruptLedgerError, match="older copy"):
        restored.verify(Anchor.read(anchor).head)
    assert restored.head().length == 2


def test_another_chain_of_the_same_length_is_refused(path: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "a.anchor"
    ledger = Ledger.create(path, budget(), anchor=anchor)
    shutil.copy(path, apart(tmp_path) / "backup")
    pay(ledger, "a", 1)
    shutil.copy(apart(tmp_path) / "backup", path)
    hidden = anchor.rename(tmp_path / "hidden")
    with pytest.raises(MissingLedgerError, match="no anchor"):
        pay(Ledger.open(path), "b", 1)
    other = Ledger.open(path, anchor=tmp_path / "new.anchor")
    other.anchor(tmp_path / "new.anchor")
    pay(other, "b", 1)
    hidden.rename(anchor)
    with pytest.raises(CorruptLedgerError, match="not the record of the anchored head"):
        pay(Ledger.open(path), "c", 1)


def test_anchors_of_other_ledgers_and_broken_ones(path: Path, tmp_path: Path, monkeypatch: Any) -> None:
    ledger, other = Ledger.create(path, budget()), Ledger.create(apart(tmp_path) / "b.ledger", budget())
    anchor = tmp_path / "b.anchor"
    assert other.anchor(anchor) == other.head()
    monkeypatch.setenv("BARROW_LEDGER_ANCHOR", str(anchor))
    with pytest.raises(CorruptLedgerError, match="another ledger"):
        pay(Ledger.open(path), "a", 1)
    with pytest.raises(CorruptLedgerError, match="another ledger"):
        ledger.anchor(anchor)
    pay(Ledger.open(apart(tmp_path) / "b.ledger"), "a", 1)
    assert Anchor.read(anchor).head.length == 2
    for text in ("", "barrow anchor 1 0f 3:ab", "x" * 5000, "barrow anchor 1 0f 0:" + "a" * 64):
        anchor.write_text(text)
        with pytest.raises((MissingLedgerError, ParameterError)):
            pay(Ledger.open(apart(tmp_path) / "b.ledger"), "b", 1)
    pay(ledger, "a", 1)  # an object that was opened before the variable was set has no anchor


def test_an_anchor_never_goes_back(path: Path, tmp_path: Path) -> None:
    anchor = tmp_path / "a.anchor"
    ledger = Ledger.create(path, budget())
    old = Ledger.open(path)
    pay(ledger, "a", 1)
    ledger.anchor(anchor)
    shutil.copy(path, apart(tmp_path) / "backup")
    pay(ledger, "b", 1)
    ledger.anchor(anchor)
    assert old.anchor(anchor).length == 3  # it reads the newest records first
    shutil.copy(apart(tmp_path) / "backup", path)
    with pytest.raises(CorruptLedgerError, match="older copy"):
        Ledger.open(path).anchor(anchor)
    assert Anchor.read(anchor).head.length == 3


def test_an_anchor_that_cannot_be_written_is_fatal_and_the_payment_stays(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "usb"
    folder.mkdir()
    ledger = Ledger.create(path, budget(), anchor=folder / "a.anchor")

    def unplug(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("barrow.ledger.store.os.replace", unplug)
        with pytest.raises(LedgerIOError, match="stays paid"):
            pay(ledger, "a", 1)
    with pytest.raises(NoAuthorityError, match="saw the disk fail"):
        pay(ledger, "b", 1)
    fresh = Ledger.open(path)
    assert fresh.left().loss == 9
    pay(fresh, "b", 1)
    assert [p.name for p in folder.iterdir()] == ["a.anchor"]
