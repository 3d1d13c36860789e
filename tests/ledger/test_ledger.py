"""The life of a ledger: pay, release, commit; crash, fork, clock, disk."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import sqlite3
import threading
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow._version import __version__
from barrow.errors import ParameterError
from barrow.ledger import Budget, Ledger, Promises, SpaceRef
from barrow.ledger import sqlite as sqlite_module
from barrow.ledger.budget import Amount
from barrow.ledger.charges import AdditiveComposer, Charge
from barrow.ledger.digits import typed_down
from barrow.ledger.errors import (
    AlreadyPaidError,
    CorruptLedgerError,
    LedgerIOError,
    NoAuthorityError,
    NotCoveredError,
    OverBudgetError,
)
from barrow.ledger.ledger import first_row, is_url, open_store
from barrow.ledger.sqlite import SqliteStore, is_ledger_file
from barrow.ledger.state import LedgerState
from barrow.ledger.store import ChainHead, Row, digest
from barrow.ledger.table import Overview, balances, overview
from barrow.promises import Emd, GaussianNoise, Guarantee, UserLevel
from barrow.render import plot
from tests.ledger.helpers import EARTH, LINE, OUTPUTS, Clock, budget, guarantee, pay


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ledger"


def test_a_release_from_beginning_to_end(path: Path) -> None:
    ledger = Ledger.create(path, budget(), clock=Clock(2026, 10, 15, 19, 2))
    reservation = pay(ledger, "map-1", "1/3", "1e-9", parameters={"cell": "1 km", "r": Fraction(1, 3)})
    assert Ledger.open(path).left() == Amount(10 - Fraction(1, 3), Fraction("1e-6") - Fraction("1e-9"))
    reservation.take()
    ledger.commit(reservation, OUTPUTS)
    init, reserve, commit = Ledger.open(path).records()
    assert [r.kind for r in (init, reserve, commit)] == ["init", "reserve", "commit"]
    assert reserve.when == "2026-10-15T19:02:00Z"
    assert reserve.barrow == __version__
    assert reserve.who
    assert reserve.data["event"]["version"] == 1
    assert reserve.data["guarantee"] == guarantee("1/3", "1e-9").to_json()
    assert reserve.data["parameters"] == {"cell": "1 km", "r": "1/3"}
    assert reserve.data["parameters_digest"] == digest({"cell": "1 km", "r": "1/3"})
    assert reserve.data["amount"] == {"loss": "1/3", "delta": "1e-9"}
    assert commit.data == {"reserve": 2, "outputs": OUTPUTS, "statement": None}


def test_the_last_crumb_is_exact(path: Path) -> None:
    ledger = Ledger.create(path, budget(alpha="0.3"))
    for key in "abc":
        pay(ledger, key, "0.1")  # 0.1 + 0.1 + 0.1 > 0.3 in floats
    assert ledger.left().loss == 0
    with pytest.raises(OverBudgetError) as caught:
        pay(ledger, "d", Fraction(1, 10**50))
    assert caught.value.difference.loss == Fraction(1, 10**50)
    assert len(ledger.records()) == 4


def test_delta_is_a_budget_too(path: Path) -> None:
    ledger = Ledger.create(path, budget(delta="2e-9"))
    pay(ledger, "a", 1, "1.5e-9")
    with pytest.raises(OverBudgetError, match="delta"):
        pay(ledger, "b", 1, "1e-9")
    pay(ledger, "c", 1, "0.5e-9")
    assert ledger.left().delta == 0


@given(st.lists(st.fractions(min_value=Fraction(1, 100), max_value=5), min_size=1, max_size=12))
@settings(deadline=None, max_examples=15)
def test_never_more_than_the_limit(tmp_path_factory: pytest.TempPathFactory, amounts: list[Fraction]) -> None:
    ledger = Ledger.create(tmp_path_factory.mktemp("l") / "a.ledger", budget(alpha=10))
    spent = Fraction(0)
    for number, amount in enumerate(amounts):
        if spent + amount <= 10:
            pay(ledger, str(number), amount)
            spent += amount
        else:
            with pytest.raises(OverBudgetError) as caught:
                pay(ledger, str(number), amount)
            assert caught.value.remaining.loss == 10 - spent
    assert ledger.left().loss == 10 - spent


def test_what_would_fit_fits(path: Path) -> None:
    ledger = Ledger.create(path, budget(alpha=1))
    pay(ledger, "a", "1/3")
    with pytest.raises(OverBudgetError) as caught:
        pay(ledger, "b", 1)
    pay(ledger, "b", str(caught.value.fix).removeprefix("alpha=").removesuffix(" fits"))


def test_the_same_key_is_never_paid_or_drawn_twice(path: Path) -> None:
    ledger = Ledger.create(path, budget())
    reservation = pay(ledger, "map-1", 1)
    with pytest.raises(AlreadyPaidError, match="already paid") as caught:
        pay(ledger, "map-1", 1)
    assert (caught.value.seq, caught.value.outputs) == (2, None)
    assert "new key" in str(caught.value.fix)
    ledger.commit(reservation, OUTPUTS)
    with pytest.raises(AlreadyPaidError, match="result was recorded") as caught:
        pay(Ledger.open(path), "map-1", 2)
    assert caught.value.outputs == OUTPUTS
    assert pickle.loads(pickle.dumps(caught.value)).to_json() == caught.value.to_json()
    assert ledger.left().loss == 9
    # Also when nothing is left: the answer is "already paid", not "over budget".
    pay(ledger, "rest", 9)
    with pytest.raises(AlreadyPaidError):
        pay(ledger, "map-1", 1)


def test_commit_only_what_was_reserved(path: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    ledger, other = Ledger.create(path, budget()), Ledger.create(tmp_path / "b" / "b.ledger", budget())
    reservation = pay(ledger, "a", 1)
    pay(other, "a", 1)
    with pytest.raises(ParameterError, match="not made in this ledger"):
        other.commit(reservation, OUTPUTS)
    ledger.commit(reservation, OUTPUTS)
    with pytest.raises(ParameterError, match="committed before"):
        ledger.commit(reservation, OUTPUTS)
    assert (len(ledger.records()), len(other.records())) == (3, 2)


def test_a_crash_leaves_it_spent(path: Path) -> None:
    pay(Ledger.create(path, budget()), "a", 4)
    ledger = Ledger.open(path)
    assert ledger.left().loss == 6
    assert ledger.verify().uncommitted == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"key": ""}, ParameterError),
        ({"key": 3}, ParameterError),
        ({"key": "k" * 501}, ParameterError),
        ({"what": " "}, ParameterError),
        ({"event": {"event": "Teleport", "version": 1}}, ParameterError),
        ({"event": {"event": "PureRelease", "version": 99}}, ParameterError),
        ({"parameters": {"x": float("nan")}}, ParameterError),
        ({"parameters": {"x": object()}}, ParameterError),
        ({"parameters": {3: "x"}}, ParameterError),
        ({"space": EARTH}, NotCoveredError),
        ({"users": 1}, NotCoveredError),
        ({"dataset": "x"}, NotCoveredError),
        ({"guarantee": guarantee(100)}, OverBudgetError),
    ],
)
def test_bad_releases_write_nothing(path: Path, options: dict[str, Any], error: type[Exception]) -> None:
    ledger = Ledger.create(path, budget())
    before = path.read_bytes()
    with pytest.raises(error):
        pay(ledger, **{"key": "a", "alpha": 1, **options})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["a.ledger"]
    pay(ledger, "a", 1)


def test_what_could_not_be_read_back_is_not_written(path: Path) -> None:
    class Odd(Guarantee):
        def to_json(self) -> dict[str, object]:
            return {**super().to_json(), "definition": {"definition": "Teleport"}}

    ledger = Ledger.create(path, budget())
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="Teleport"):
        pay(ledger, "a", 1, guarantee=Odd(Emd(1), "pure", "def:emd-dp"))
    assert path.read_bytes() == before
    pay(ledger, "a", 1)
    assert Ledger.open(path).verify().releases == 1


def test_the_separate_user_level_budget(path: Path) -> None:
    ledger = Ledger.create(path, budget(alpha=2, user_level=UserLevel("1.5", "1e-9")))
    pay(ledger, "line", 2)
    worst = Guarantee(Emd(50), "knorm", "lemma:lin", UserLevel("0.5"))
    for key in "abc":
        assert pay(ledger, key, 50, guarantee=worst, space=EARTH).charge.account == "user"
    with pytest.raises(OverBudgetError, match="user level") as caught:
        pay(ledger, "d", 50, guarantee=worst, space=EARTH)
    assert caught.value.symbol == "epsilon"
    with pytest.raises(OverBudgetError, match="budget of 'visits'\\."):
        pay(ledger, "e", "1/100")
    assert ledger.left("user").loss == 0
    assert ledger.verify().within_limits


class TestClock:
    def test_a_clock_set_back_is_not_believed(self, path: Path) -> None:
        clock = Clock(2026, 11, 30)
        ledger = Ledger.create(path, budget(alpha=2), clock=clock)
        pay(ledger, "a", 1)
        clock.set(1970, 1, 2)
        pay(ledger, "b", 1)
        assert [r.when[:10] for r in ledger.records()] == ["2026-11-30"] * 3

    def test_time_changes_nothing(self, path: Path) -> None:
        clock = Clock(2026, 10, 15)
        ledger = Ledger.create(path, budget(alpha=1), clock=clock)
        pay(ledger, "a", 1)
        clock.set(2096, 1, 1)
        with pytest.raises(OverBudgetError):
            pay(ledger, "b", 1)


class Quadratic:
    """A composer that is tighter than addition: deltas are spent on adding in quadrature; prices events."""

    name = "quadratic"

    def total(self, charges: Sequence[Charge], limit: Amount) -> Amount:
        squares = sum((c.event.mu**2 for c in charges if isinstance(c.event, GaussianNoise)), Fraction(0))
        return Amount(squares / 2, limit.delta if charges else 0)


def test_a_better_accountant_plugs_in(path: Path) -> None:
    gaussian = {
        "event": GaussianNoise(1, delta="1e-9", model="central"),
        "guarantee": guarantee(4, "1e-7"),
    }
    ledger = Ledger.create(path, budget(alpha=5, delta="1e-6"), composer=Quadratic())
    for key in "abcdefghij":
        pay(ledger, key, 4, **gaussian)
    with pytest.raises(OverBudgetError):
        pay(ledger, "k", 4, **gaussian)
    assert ledger.verify().within_limits is True
    assert {r.data["composer"] for r in ledger.records() if r.kind == "reserve"} == {"quadratic"}
    # Read by addition the same ledger is far over: it refuses everything, and does not claim to have checked.
    plain = Ledger.open(path)
    assert plain.left() == Amount(0, 0)
    with pytest.raises(OverBudgetError):
        pay(plain, "k", Fraction(1, 1000))
    assert plain.verify().within_limits is None


def test_what_was_left_after_each_payment_by_either_way(path: Path) -> None:
    """Sums carried along equal sums made anew, over two accounts."""

    class Plain:
        name = "plain"

        def total(self, charges: Sequence[Charge], limit: Amount) -> Amount:
            total = Amount(0, 0)
            for charge in charges:
                total += charge.amount
            return total

    clock = Clock(2026, 10, 1)
    ledger = Ledger.create(path, budget(user_level=UserLevel(5)), clock=clock)
    for number in range(12):
        clock.set(2026, 10 + number // 5, 2)
        pay(ledger, str(number), Fraction(1, 2 + number), space=EARTH if number % 3 == 0 else LINE)
    assert ledger.overview().lines == Ledger.open(path, composer=Plain(), clock=clock).overview().lines


class TestAuthority:
    def test_no_copies(self, path: Path) -> None:
        ledger = Ledger.create(path, budget())
        for thing in (ledger, pay(ledger, "a", 1)):
            for make in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(NoAuthorityError, match="cannot be copied"):
                    make(thing)

    def test_noise_is_drawn_once(self, path: Path) -> None:
        reservation = pay(Ledger.create(path, budget()), "a", 1)
        reservation.take()
        with pytest.raises(NoAuthorityError, match="already drawn"):
            reservation.take()

    def test_threads_take_once(self, path: Path) -> None:
        reservation, taken = pay(Ledger.create(path, budget()), "a", 1), []

        def take() -> None:
            try:
                reservation.take()
                taken.append(1)
            except NoAuthorityError:
                pass

        threads = [threading.Thread(target=take) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert taken == [1]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    def test_a_fork_may_not_spend(self, path: Path) -> None:
        ledger = Ledger.create(path, budget())
        reservation = pay(ledger, "a", 1)

        def child(answers: Any) -> None:
            for attempt in (
                lambda: pay(ledger, "b", 1),
                reservation.take,
                lambda: ledger.commit(reservation, OUTPUTS),
                lambda: pay(Ledger.open(path), "c", 1) and None,
                lambda: ledger.head(),
            ):
                try:
                    attempt()
                    answers.put("done")
                except NoAuthorityError as error:
                    answers.put(error.problem)

        context = multiprocessing.get_context("fork")
        answers = context.Queue()
        process = context.Process(target=child, args=(answers,))
        process.start()
        results = [answers.get(timeout=600) for _ in range(5)]
        process.join(30)
        assert ["another process" in text for text in results] == [True, True, True, False, False]
        assert results[3:] == [
            "done",
            "done",
        ]  # Opened anew it may spend, and reading is free.
        assert ledger.left().loss == 8
        reservation.take()
        ledger.commit(reservation, OUTPUTS)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    def test_a_fork_waits_for_a_transaction(self, path: Path) -> None:
        """Otherwise the child could inherit, and on its exit roll back, the parent's open transaction."""
        ledger, inside, order = Ledger.create(path, budget()), threading.Event(), []
        store = ledger._store

        def hold() -> None:
            with store.transaction():
                inside.set()
                threading.Event().wait(0.3)
                order.append("transaction ends")

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait(10)
        child = os.fork()
        if child == 0:
            os._exit(0)
        order.append("forked")
        os.waitpid(child, 0)
        thread.join()
        assert order == ["transaction ends", "forked"]


class TestFailingDisk:
    def fail(self, monkeypatch: pytest.MonkeyPatch, on: str, message: str) -> None:
        real = sqlite3.connect

        class Failing(sqlite3.Connection):
            def execute(self, sql: str, *rest: Any) -> Any:
                if sql.startswith(on):
                    raise sqlite3.OperationalError(message)
                return super().execute(sql, *rest)

        monkeypatch.setattr(sqlite_module.sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Failing))

    @pytest.mark.parametrize("message", ["disk I/O error", "database or disk is full", "something new"])
    @pytest.mark.parametrize("on", ["INSERT", "COMMIT", "BEGIN"])
    def test_is_fatal(self, path: Path, monkeypatch: pytest.MonkeyPatch, on: str, message: str) -> None:
        ledger = Ledger.create(path, budget())
        self.fail(monkeypatch, on, message)
        with pytest.raises(LedgerIOError, match="fatal") as caught:
            pay(ledger, "a", 1)
        assert message in caught.value.problem
        monkeypatch.undo()
        with pytest.raises(NoAuthorityError, match="saw the disk fail"):
            pay(ledger, "b", 1)
        with pytest.raises(NoAuthorityError, match="saw the disk fail"):
            ledger.commit(None, OUTPUTS)  # type: ignore[arg-type]
        again = Ledger.open(path)
        assert again.verify().releases == 0
        pay(again, "a", 1)

    def test_while_making(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fail(monkeypatch, "COMMIT", "database or disk is full")
        with pytest.raises(LedgerIOError, match="full"):
            Ledger.create(path, budget())
        assert os.listdir(path.parent) == []

    def test_fsync_of_the_folder(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def no(handle: int) -> None:
            raise OSError(5, "Input/output error")

        ledger = Ledger.create(path, budget())
        apart = path.with_name("apart")
        apart.mkdir()
        monkeypatch.setattr(os, "fsync", no)
        with pytest.raises(LedgerIOError, match="fsync of the folder failed"):
            Ledger.create(apart / "b.ledger", budget())
        with pytest.raises(LedgerIOError, match="fsync of the folder failed"):
            pay(ledger, "a", 1)
        monkeypatch.undo()
        with pytest.raises(NoAuthorityError, match="saw the disk fail"):
            pay(ledger, "a", 1)
        assert Ledger.open(path).verify().releases == 0


class TestReading:
    def test_head_and_verify(self, path: Path) -> None:
        ledger = Ledger.create(path, budget())
        heads = [ledger.head()]
        for key in "abc":
            pay(ledger, key, 1)
            heads.append(ledger.head())
        for head in heads:
            assert ledger.verify(head).anchored
            assert ledger.verify(str(head)).head == heads[-1]
        with pytest.raises(CorruptLedgerError, match="is gone"):
            ledger.verify(ChainHead(99, "0" * 64))
        with pytest.raises(CorruptLedgerError, match="anchored head"):
            ledger.verify(ChainHead(2, "0" * 64))
        for text in ("", "3", "0:" + "0" * 64, "3:xyz", "-1:" + "0" * 64):
            with pytest.raises(ParameterError, match="The head is"):
                ledger.verify(text)

    def test_two_ledgers_never_have_the_same_head(self, tmp_path: Path) -> None:
        clock = Clock(2026, 1, 1)
        for name in "ab":
            (tmp_path / name).mkdir()
        a, b = (Ledger.create(tmp_path / name / "ledger", budget(), clock=clock) for name in "ab")
        assert a.head() != b.head()

    def test_an_older_copy_put_back_is_noticed_by_an_open_ledger(self, path: Path) -> None:
        ledger = Ledger.create(path, budget())
        old = path.read_bytes()
        pay(ledger, "a", 1)
        path.write_bytes(old)
        with pytest.raises(CorruptLedgerError, match="cut off since"):
            pay(ledger, "b", 1)

    def test_export_can_be_checked_without_barrow(self, path: Path) -> None:
        import hashlib

        ledger = Ledger.create(path, budget())
        ledger.commit(pay(ledger, "a", 1), OUTPUTS)
        exported = json.loads(json.dumps(ledger.export()))
        previous = "0" * 64
        for record in exported["records"]:
            text = f"barrow ledger 1\n{previous}\n{record['body']}"
            previous = hashlib.sha256(text.encode()).hexdigest()
            assert previous == record["hash"]
        assert exported["head"] == {"length": 3, "hash": previous}

    def test_html(self, path: Path) -> None:
        ledger = Ledger.create(path, budget(alpha=10, user_level=UserLevel(1)))
        pay(ledger, "a", 1, what="<b>map</b>")
        pay(ledger, "b", "0.5", space=EARTH)
        html = ledger._repr_html_()
        assert "&lt;b&gt;map&lt;/b&gt;" in html
        assert "<b>map" not in html
        assert "user level" in html
        assert "ε 0.5" in html
        assert "a.ledger" in repr(ledger)


GRID = SpaceRef("line", "sha256:00", 10, "km")


ALPHA = Budget("visits", 3, GRID, Emd(25))


PROMISED = Budget("visits", 3, "earth km", Promises([(1, 1, 1)]))


def test_what_people_see():
    plain = LedgerState.read([first_row(ALPHA)])
    assert overview(plain, AdditiveComposer()).sentences() == ["Budget: alpha 25 of 25 and delta 0 of 0 left."]
    assert plot(Overview(ALPHA, "additive", (), (), ChainHead(1, "ab" * 32))) is None
    result = balances(LedgerState.read([first_row(PROMISED)]), AdditiveComposer())
    assert [(b.text, b.left.loss) for b in result] == [("all data by 1", 1)]


def test_places(tmp_path):
    assert is_url("postgresql://db.example/stats?ledger=visits")
    assert not is_url("visits.ledger")
    SqliteStore.create(str(tmp_path / "a.ledger"), [Row(1, "{}", "00")])
    assert open_store(str(tmp_path / "a.ledger")).rows()[0].seq == 1
    assert is_ledger_file(tmp_path / "a.ledger")
    assert not is_ledger_file(Path(__file__))
    assert not Ledger.exists("/nowhere/at.all")
    assert Ledger.find("/nowhere", "visits") is None


def test_typed_down():
    assert typed_down(Fraction(129)) == "129"
    assert typed_down(Fraction(1, 3)) == "0.333333333333"
    assert typed_down(Fraction(0)) == "0"
