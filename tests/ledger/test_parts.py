"""The small parts of a ledger, each by one known answer."""

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from barrow.ledger import AdditiveComposer, Amount, Budget, Charge, Head, LedgerIOError, Promises, SpaceRef
from barrow.ledger.anchors import Anchor, check_head, move_anchor
from barrow.ledger.book import Book, make_row
from barrow.ledger.budget import show_amount
from barrow.ledger.charges import as_limit, charge_for, running_totals, spent_by, worst_case
from barrow.ledger.digits import typed_down
from barrow.ledger.errors import CorruptLedgerError
from barrow.ledger.joining import joined, replace_limit
from barrow.ledger.ledger import Ledger, first_row, is_url, open_store
from barrow.ledger.opened import moment_of, next_period, period_of, stamp
from barrow.ledger.promises import PromiseLimit, promises_from_json, reach_upper
from barrow.ledger.sqlite import SqliteStore, is_ledger_file, raise_translated
from barrow.ledger.store import GENESIS, Row, canonical, digest, link, lost_rows
from barrow.ledger.table import Overview, balances, overview
from barrow.privacy import Emd, Guarantee, PureRelease
from barrow.privacy.definitions import DiscreteEmd
from barrow.render import plot

GRID = SpaceRef("line", "sha256:00", 10, "km")
ALPHA = Budget("visits", 3, GRID, Emd(25))
PROMISED = Budget("visits", 3, "earth km", Promises([(1, 1, 1)]))


def charge(loss, period=None):
    made = Guarantee(Emd(loss, model="central"), "pure", "def:emd-dp")
    return Charge("main", Amount(loss, 0), PureRelease(loss, model="central"), made, period)


def test_rows_follow_each_other():
    stamped = {"when": "2026-10-15T19:02:00Z", "who": "ana", "barrow": "0.1.0"}
    first = make_row(None, "period", {"period": "2026-10"}, **stamped)
    second = make_row(first, "period", {"period": "2026-11"}, **stamped)
    assert (second.seq, second.hash) == (2, link(first.hash, second.body))
    assert link(GENESIS, "{}") != link(GENESIS, "{} ")
    assert digest({})[:14] == "sha256:44136fa"
    assert lost_rows([Row(3, "{}", ""), Row(5, "{}", "")], after=2) == 5
    assert stamp(moment_of("2026-10-15T19:02:00Z")) == "2026-10-15T19:02:00Z"


def test_heads_and_anchors(tmp_path):
    book = Book.read([first_row(PROMISED)])
    check_head(book, book.head)
    with pytest.raises(CorruptLedgerError, match="the anchored head counts 2 records, so this is an older copy"):
        check_head(book, Head(2, "ab" * 32))
    move_anchor(book, tmp_path / "head")
    assert Anchor.read(tmp_path / "head").head == book.head


def test_who_pays_and_how_much():
    budget = Budget("visits", 1083, GRID, Emd(250, "1e-9", model="central"))
    made = Guarantee(Emd(121, model="local"), "knorm", "lemma:lin")
    asked = PureRelease(121, model="local")
    paid = charge_for(budget, asked, made, space=GRID, dataset="visits", users=1083)
    assert (paid.account, paid.amount.loss) == ("main", 121)
    assert worst_case(Guarantee(Emd(5, model="central"), "pure", "def:emd-dp")).epsilon == 5
    each = [charge(1, period) for period in ("2026-10", "2026-11")]
    assert [len(spent_by(each, "main", period)) for period in ("2026-11", None)] == [1, 2]
    totals = running_totals(ALPHA, [charge("1/3")] * 3, AdditiveComposer())
    assert [str(total.loss) for total in totals] == ["1/3", "2/3", "1"]
    assert show_amount(Amount(25, "1e-12"), "alpha") == "alpha 25, delta 1e-12"


def test_joining_and_promises():
    book = Book.read([first_row(PROMISED)])
    assert joined(book, PROMISED) is None
    tighter = joined(book, replace_limit(PROMISED, Promises([(1, 1, "0.5")])), tighten=True)
    assert tighter.budget.promises[0].epsilon == Fraction(1, 2)
    kept = Promises([(1, "0.3", 1), (1, None, 5)], delta="1e-9")
    assert promises_from_json(kept.to_json()) == kept


def test_what_people_see():
    plain = Book.read([first_row(ALPHA)])
    assert overview(plain, AdditiveComposer(), None).sentences() == ["Budget: alpha 25 of 25 and delta 0 of 0 left."]
    assert plot(Overview(ALPHA, "additive", None, (), (), Head(1, "ab" * 32))) is None
    found = balances(Book.read([first_row(PROMISED)]), AdditiveComposer(), None)
    assert [(b.text, b.left.loss) for b in found] == [("all data by 1", 1)]


def test_places(tmp_path):
    assert is_url("postgresql://db.example/stats?ledger=visits")
    assert not is_url("visits.ledger")
    SqliteStore.create(str(tmp_path / "a.ledger"), [Row(1, "{}", "00")])
    assert open_store(str(tmp_path / "a.ledger")).rows()[0].seq == 1
    assert is_ledger_file(tmp_path / "a.ledger")
    assert not is_ledger_file(Path(__file__))
    assert not Ledger.exists("/nowhere/at.all")
    assert Ledger.find("/nowhere", "visits") is None


def test_an_unknown_failure_counts_as_a_failed_disk():
    with pytest.raises(LedgerIOError, match=r"^Writing the ledger 'a\.ledger' failed: disk I/O error\."):
        raise_translated(sqlite3.OperationalError("disk I/O error"), "a.ledger")


def test_as_limit():
    assert (
        str(as_limit(Emd(25, model="local"), DiscreteEmd(1, radius="0.01", model="central")))
        == "(ε=0.25, δ=0, r=0.01)-discrete EMD-DP (central)"
    )


def test_row():
    assert Row(1, "{}", link(GENESIS, "{}")).seq == 1


def test_canonical():
    assert canonical({"b": Fraction(1, 3), "a": [1, None, True, "é"]}) == '{"a":[1,null,true,"\\u00e9"],"b":"1/3"}'


def test_typed_down():
    assert typed_down(Fraction(129)) == "129"
    assert typed_down(Fraction(1, 3)) == "0.333333333333"
    assert typed_down(Fraction(0)) == "0"


def test_period_of():
    assert period_of("2026-10-15T19:02:00Z", "month") == "2026-10"
    assert period_of("2027-01-01T00:00:00Z", "week") == "2026-W53"


def test_next_period():
    assert next_period("2026-12-15T19:02:00Z", "month") == "2027-01-01T00:00:00Z"
    assert next_period("2026-10-15T19:02:00Z", "week") == "2026-10-19T00:00:00Z"


def test_reach_upper():
    grid = SpaceRef("earth", "sha256:00", 30, "km", "earth km", "1/100")
    assert reach_upper(PromiseLimit("1/10", "0.3", 1), grid, "earth km") == (Fraction(1, 10), Fraction(3, 100))
    assert reach_upper(PromiseLimit("1/10", "0.3", 1), grid, "line years") == (Fraction(1, 1), Fraction(1, 1))
