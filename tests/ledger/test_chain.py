"""Edits, swaps, drops, cuts and forgeries are seen; and what the chain alone cannot see is known."""

from __future__ import annotations

import json
from copy import copy
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from barrow.errors import ParameterError
from barrow.ledger import Budget, Ledger, Promises
from barrow.ledger.anchors import Anchor, check_head, move_anchor
from barrow.ledger.errors import CorruptLedgerError, ForeignLedgerError
from barrow.ledger.ledger import first_row
from barrow.ledger.opened import stamp
from barrow.ledger.state import LedgerState, Record, make_row
from barrow.ledger.store import GENESIS, ChainHead, Row, canonical, digest, link, lost_rows
from tests.faults import tamper
from tests.ledger.helpers import OUTPUTS, MemoryStore, budget, pay


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    ledger = Ledger.create(tmp_path / "a.ledger", budget())
    for key in "abc":
        ledger.commit(pay(ledger, key, 1), OUTPUTS)
    return ledger._store.rows()


@pytest.mark.parametrize("change", tamper.ANCHORED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seq", [3, tamper.RELEASES + 1])
def test_with_an_anchor_everything_is_seen(change: Any, seq: int) -> None:
    assert tamper.detected(change, seq, anchored=True)


@pytest.mark.parametrize("change", tamper.INSIDE, ids=lambda f: f.__name__)
def test_inside_the_chain_no_anchor_is_needed(change: Any) -> None:
    assert tamper.detected(change, 4, anchored=False)


@pytest.mark.parametrize("change", [tamper.cut, tamper.forge])
def test_what_only_an_anchor_shows(change: Any) -> None:
    """The control: these pass without an anchor, which is why the head must be kept elsewhere."""
    assert not tamper.detected(change, tamper.RELEASES, anchored=False)


def told(state: LedgerState) -> dict[str, Any]:
    """Everything that a state says, as values that later changes to it leave alone."""
    return {name: value if name == "consent" else copy(value) for name, value in vars(state).items()}


def test_a_state_that_is_extended_stays_as_it_was(tmp_path: Path, rows: list[Row]) -> None:
    """Whoever holds a state, and an append that fails half-way, sees nothing of what comes after it."""
    store = MemoryStore(rows)
    ledger = Ledger(store)
    ledger.abandon(pay(ledger, "d", 1))
    ledger.stage(pay(ledger, "e", 1), OUTPUTS)
    pay(ledger, "f", 1, resumable=True)
    ledger.resume("f", folder="elsewhere")
    every = store.rows()
    assert {json.loads(row.body)["kind"] for row in every} >= {"reserve", "resumed", "abandoned", "staged", "commit"}
    for seq in range(1, len(every)):
        before = LedgerState.read(every[:seq])
        known = told(before)
        assert told(before.extended(every[seq:])) == told(LedgerState.read(every)) != known
        with pytest.raises(CorruptLedgerError):
            before.extended([*every[seq:], every[0]])
        assert told(before) == known


def relinked(rows: list[Row], at: int, **changes: Any) -> list[Row]:
    """The rows with one body changed and every hash made anew, so that only meaning can give it away."""
    result, previous = [], GENESIS
    for row in rows:
        body = row.body
        if row.seq == at:
            body = canonical({**json.loads(body), **changes})
        previous = link(previous, body)
        result.append(Row(row.seq, body, previous))
    return result


@pytest.mark.parametrize(
    ("at", "changes", "error"),
    [
        (1, {"kind": "reserve"}, CorruptLedgerError),
        (1, {"budget": {}}, CorruptLedgerError),
        (2, {"v": 4}, ForeignLedgerError),
        (2, {"v": 1}, CorruptLedgerError),
        (2, {"reads": {"periods": ["2026-13"], "pool": "records", "weights": None}}, CorruptLedgerError),
        (2, {"groups": {"region": ["north"]}}, CorruptLedgerError),
        (2, {"v": True}, ForeignLedgerError),
        (2, {"kind": "refund"}, ForeignLedgerError),
        (2, {"kind": "period"}, ForeignLedgerError),
        (2, {"seq": 9}, CorruptLedgerError),
        (2, {"extra": 1}, CorruptLedgerError),
        (2, {"account": "third"}, CorruptLedgerError),
        (2, {"parameters": {"x": 1}}, CorruptLedgerError),
        (2, {"when": "2000-01-01T00:00:00Z"}, CorruptLedgerError),
        (2, {"amount": {"loss": "-5", "delta": "0"}}, ParameterError),
        (2, {"event": {"event": "Teleport", "version": 1}}, ParameterError),
        (4, {"key": "a"}, CorruptLedgerError),
        (5, {"reserve": 2}, CorruptLedgerError),
        (5, {"reserve": 6}, CorruptLedgerError),
        (5, {"reserve": 2.0}, CorruptLedgerError),
        (2, {"when": 2100}, CorruptLedgerError),
        (2, {"key": ["a"]}, CorruptLedgerError),
        (2, {"amount": "9"}, CorruptLedgerError),
        (2, {"amount": {"loss": "9"}}, CorruptLedgerError),
        (2, {"event": None}, CorruptLedgerError),
        (2, {"resumable": "no"}, CorruptLedgerError),
    ],
)
def test_records_that_make_no_sense(rows: list[Row], at: int, changes: dict[str, Any], error: Any) -> None:
    assert LedgerState.read(relinked(rows, at)).head.length == len(rows)
    with pytest.raises(error):
        LedgerState.read(relinked(rows, at, **changes))


def test_overspending_is_seen_even_in_a_whole_chain(rows: list[Row]) -> None:
    forged = relinked(rows, 2, amount={"loss": "9", "delta": "0"})
    with pytest.raises(CorruptLedgerError, match="more was spent"):
        Ledger(MemoryStore(forged)).verify()


@pytest.mark.parametrize("body", ["", "[]", "3", "{}", '{"v":1}', '{"v": 1,"kind":"init"}', "{", "NaN", "[" * 10**5])
def test_bodies_that_are_no_records(body: str) -> None:
    with pytest.raises((CorruptLedgerError, ForeignLedgerError)):
        Record.of(Row(1, body, "h"))


def test_a_name_in_another_encoding_is_read_again(tmp_path: Path) -> None:
    """The system gives such names to Python as lone surrogates; ledgers that hold them are not lost."""
    ledger = Ledger.create(tmp_path / "a.ledger", budget())
    ledger.commit(pay(ledger, "a", 1, folder="caf\udce9"), OUTPUTS)
    assert Ledger.open(tmp_path / "a.ledger").records()[1].data["folder"] == "caf\udce9"


def test_a_second_beginning(rows: list[Row]) -> None:
    body = canonical({**json.loads(rows[0].body), "seq": len(rows) + 1, "when": "2099-01-01T00:00:00Z"})
    with pytest.raises(CorruptLedgerError, match="second ledger"):
        LedgerState.read([*rows, Row(len(rows) + 1, body, link(rows[-1].hash, body))])
    with pytest.raises(CorruptLedgerError, match="no record"):
        LedgerState.read([])
    with pytest.raises(CorruptLedgerError, match="beginning"):
        LedgerState.read(rows[1:])


def test_canonical_text_is_unique() -> None:
    assert canonical({"b": 1, "a": Fraction(1, 3)}) == canonical({"a": "1/3", "b": 1}) == '{"a":"1/3","b":1}'
    assert canonical((1, 2.5, None, True)) == "[1,2.5,null,true]"
    for bad in (float("nan"), float("inf"), {1: 2}, {1, 2}, b"x", object()):
        with pytest.raises(ParameterError):
            canonical({"x": bad})


PROMISED = Budget("visits", 3, "earth km", Promises([(1, 1, 1)]))


def test_rows_follow_each_other():
    stamped = {"when": "2026-10-15T19:02:00Z", "who": "ana", "barrow": "0.1.0"}
    first = make_row(None, "abandoned", {"reserve": 2}, **stamped)
    second = make_row(first, "abandoned", {"reserve": 3}, **stamped)
    assert (second.seq, second.hash) == (2, link(first.hash, second.body))
    assert link(GENESIS, "{}") != link(GENESIS, "{} ")
    assert digest({})[:14] == "sha256:44136fa"
    assert lost_rows([Row(3, "{}", ""), Row(5, "{}", "")], after=2) == 5
    assert stamp(datetime(2026, 10, 15, 19, 2, tzinfo=UTC)) == "2026-10-15T19:02:00Z"


def test_heads_and_anchors(tmp_path):
    state = LedgerState.read([first_row(PROMISED)])
    check_head(state, state.head)
    with pytest.raises(CorruptLedgerError, match="the anchored head counts 2 records, so this is an older copy"):
        check_head(state, ChainHead(2, "ab" * 32))
    move_anchor(state, tmp_path / "head")
    assert Anchor.read(tmp_path / "head").head == state.head


def test_canonical():
    assert canonical({"b": Fraction(1, 3), "a": [1, None, True, "é"]}) == '{"a":[1,null,true,"\\u00e9"],"b":"1/3"}'
