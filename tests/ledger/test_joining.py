"""A second study of a data set: it joins, or is refused; ledgers of alpha are carried over into promises."""

from __future__ import annotations

import json
import os
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from barrow.errors import LedgerError
from barrow.ledger import Budget, Ledger, PromiseLimit, Promises, SpaceRef
from barrow.ledger.budget import Amount
from barrow.ledger.errors import (
    AlreadyPaidError,
    CorruptLedgerError,
    MissingLedgerError,
    NotCoveredError,
    OverBudgetError,
)
from barrow.ledger.joining import joined
from barrow.ledger.ledger import first_row
from barrow.ledger.promises import promises_from_json
from barrow.ledger.sqlite import SqliteStore
from barrow.ledger.state import LedgerState
from barrow.ledger.store import GENESIS, Row, canonical, link
from barrow.promises import Emd, Guarantee, PureRelease, UserLevel
from tests.ledger.helpers import LINE
from tests.ledger.helpers import budget as alpha_budget
from tests.ledger.test_promises import COARSE, DAY, NEAR, budget, emd, pay, used

YEARS = (PromiseLimit(1, 5, 2, text="all data by 5 years"), PromiseLimit("1/10", None, 3))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.ledger"


def test_the_same_study_joins_and_writes_nothing(path: Path) -> None:
    first = Ledger.join(path, budget())
    pay(first, "a", emd(1))
    second = Ledger.join(path, budget(DAY, NEAR))  # the order of the promises is the ledger's own
    assert second.budget == budget()
    assert second.head() == first.head()
    assert used(second) == used(first)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (budget(NEAR), "drops the promise “1 day of 30 by 10 km: ε ≤ 0.5”"),
        (budget(PromiseLimit(1, "0.3", 2), DAY), "loosens to ε = 2 the promise “all data by 300 m"),
        (budget(PromiseLimit(1, "0.31", 1), DAY), "drops the promise “all data by 300 m"),
        (budget(delta="1e-8"), "loosens delta to 1e-8"),
        (Budget("visits", 1084, "earth km", Promises([NEAR, DAY], "1e-9")), "a number of users of 1083"),
        (Budget("other", 1083, "earth km", Promises([NEAR, DAY], "1e-9")), "the data set 'visits'"),
        (
            Budget("visits", 1083, "line km", Promises([(1, 10, "0.4")], "1e-9")),
            "'earth km', and keeps ε ≤ 0.5 for every",
        ),
        (Budget("visits", 1083, "line km", Promises([(1, 10, "0.5")], "1e-8")), "keeps 1e-9"),
        (Budget("visits", 1083, "earth km", Promises([NEAR, DAY], "1e-9", model="local")), "the model 'central'"),
        (Budget("visits", 1083, LINE, Emd(10, "1e-9", model="central")), "has the budget 2 promises"),
        (budget(NEAR, DAY, PromiseLimit(1, 1, 1)), "promises more than the ledger"),
        (budget(PromiseLimit(1, "0.3", "0.9"), DAY), "promises more than the ledger"),
        (budget(delta="1e-10"), "promises more than the ledger of 'visits' keeps: δ ≤ 1e-10"),
    ],
)
def test_what_a_second_study_may_not_do(path: Path, asked: Budget, words: str) -> None:
    head = Ledger.join(path, budget()).head()
    with pytest.raises(NotCoveredError, match=words):
        Ledger.join(path, asked)
    assert Ledger.open(path).head() == head


def test_tightening_is_for_good_and_only_what_is_still_kept(path: Path) -> None:
    ledger = Ledger.join(path, budget())
    pay(ledger, "a", emd(1), charges=["0.6", "0.01"])
    with pytest.raises(NotCoveredError, match=r"spent ε 0\.6 .*already"):
        Ledger.join(path, budget(PromiseLimit(1, "0.3", "0.5"), DAY), tighten=True)
    with pytest.raises(NotCoveredError, match="drops"):
        Ledger.join(path, budget(NEAR), tighten=True)
    # A new promise is charged with what the guarantee of each earlier release says, on that release's own grid.
    far = PromiseLimit(1, 3, "0.4", text="all data by 3 km")
    tight = Ledger.join(path, budget(PromiseLimit(1, "0.3", "0.7"), DAY, far), tighten=True)
    assert used(tight) == [Fraction(6, 10), Fraction(1, 100), Fraction(1, 10) + Fraction(2, 10)]
    assert used(ledger) == used(tight)  # the object that was open sees it too
    with pytest.raises(OverBudgetError, match=r"all data by 3 km: ε 0\.3 of 0\.4 used, this needs 0\.2"):
        pay(ledger, "b", emd(1), charges=["0.05", "0.01", "0.2"])
    pay(ledger, "b", emd(1), charges=["0.05", "0.01", "0.1"])
    with pytest.raises(NotCoveredError, match="loosens"):
        Ledger.join(path, budget())
    assert tight.verify().within_limits is True
    assert tight.verify().releases == 2


def test_no_second_budget_beside_the_first(path: Path, tmp_path: Path) -> None:
    Ledger.join(path, budget())
    for make in (Ledger.join, Ledger.create):
        with pytest.raises(MissingLedgerError, match=r"has a ledger already: .*visits\.ledger"):
            make(tmp_path / "fresh.ledger", budget())
    assert os.listdir(tmp_path) == ["visits.ledger"]
    assert Ledger.find(tmp_path, "visits") == str(path)
    assert Ledger.find(tmp_path, "ages") is None
    Ledger.create(tmp_path / "ages.ledger", Budget("ages", 3, "line years", Promises([(1, 1, 1)])))
    (tmp_path / "broken.ledger").write_bytes(path.read_bytes()[:4096])
    connection = sqlite3.connect(tmp_path / "ages.ledger")
    connection.execute("INSERT INTO records VALUES (2, 'edited', '00')")
    connection.commit()
    connection.close()
    assert Ledger.find(tmp_path, "ages") == str(tmp_path / "ages.ledger")


# Ledgers of alpha.


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Spent of alpha: 3, 4 (worst case 0.05), 1 with delta, 1/2 at user level, 1/3 lost."""
    data = json.loads((Path(__file__).parent / "data" / "alpha.json").read_text())
    file = tmp_path / "ages.ledger"
    SqliteStore.create(file, [Row(**row) for row in data["records"]])
    return file


def years(*promises: PromiseLimit, delta: str = "1e-6") -> Budget:
    return Budget("ages", 1000, "line years", Promises(promises or YEARS, delta))


def space_of(file: Path) -> SpaceRef:
    first = Ledger.open(file).records()[0]
    return SpaceRef(**first.data["budget"]["space"])


def test_a_ledger_of_alpha_is_read_and_spent_from(old: Path) -> None:
    ledger = Ledger.open(old)
    assert ledger.left() == Amount(Fraction(10) - 3 - 4 - 1 - Fraction(1, 3), Fraction("1e-6") - Fraction("1e-9"))
    assert ledger.left("user").loss == Fraction(3, 2)
    assert ledger.verify().uncommitted == 1
    guarantee = Guarantee(Emd(1, model="central"), "pure", "def:emd-dp")
    space = ledger.budget.space
    assert space is not None
    paid = ledger.reserve(
        key="new", what="new", event=PureRelease(1, model="central"), guarantee=guarantee, space=space, dataset="ages",
        users=1000,
    )  # fmt: skip
    ledger.commit(paid, "sha256:" + "0" * 64)
    assert [record.to_json()["barrow"] for record in Ledger.open(old).records()]
    assert Ledger.open(old).left().loss == Fraction(2, 3)


def test_what_was_spent_of_alpha_is_carried_into_every_promise(old: Path) -> None:
    before = Ledger.open(old).head()
    ledger = Ledger.join(old, years())
    near, share = Fraction(5, 100) + Fraction(1, 100), Fraction(1, 10)
    # 3, 4 and 1 by their events, user level in full, and what was lost
    assert used(ledger) == [8 * near + Fraction(1, 2) + near / 3, 8 * share + Fraction(1, 2) + share / 3]
    assert ledger.balances()[0].spent.delta == Fraction("1e-9")
    assert ledger.verify(before).anchored  # the old chain goes on
    assert Ledger.join(old, years()).head() == ledger.head()
    ledger.reserve(
        key="mean-2", what="mean", event=PureRelease(1, model="central"), guarantee=emd(1), space=space_of(old),
        dataset="ages", users=1000,
    )  # fmt: skip
    assert used(ledger)[0] == 9 * near + Fraction(1, 2) + near / 3
    with pytest.raises(AlreadyPaidError):
        ledger.resume("lost", {"key": "lost"})
    assert "ε" in ledger.overview().sentences()[0]


def test_about_another_metric_it_is_carried_at_its_worst(old: Path) -> None:
    elsewhere = Promises(YEARS, "1e-6")
    with pytest.raises(NotCoveredError, match=r"have spent ε ≈8\.833"):
        Ledger.join(old, Budget("ages", 1000, "line km", elsewhere))
    wide = [PromiseLimit(p.share, p.distances or None, 9) for p in YEARS]
    ledger = Ledger.join(old, Budget("ages", 1000, "line km", Promises(wide, "1e-6")))
    assert used(ledger) == [8 + Fraction(1, 2) + Fraction(1, 3)] * 2


def test_a_promise_that_was_broken_before_is_not_made(old: Path) -> None:
    head = Ledger.open(old).head()
    with pytest.raises(NotCoveredError, match=r"“all data by 5: ε ≤ 0\.5” with δ 0\.000001 cannot be made"):
        Ledger.join(old, years(PromiseLimit(1, 5, "0.5")))
    with pytest.raises(NotCoveredError, match="δ 1e-9 there already"):
        Ledger.join(old, years(delta="1e-12"))
    with pytest.raises(NotCoveredError, match="a number of users of 1000"):
        Ledger.join(old, Budget("ages", 999, "line years", Promises(YEARS, "1e-6")))
    assert Ledger.open(old).head() == head


def test_a_composer_of_ones_own_is_not_asked_about_promises(path: Path) -> None:
    class Free:
        name = "free"

        def total(self, charges: Any, limit: Amount) -> Amount:
            return Amount(0, 0)

    Ledger.create(path, Budget("visits", 1083, COARSE, Emd(10, model="central")))
    careless = Ledger.open(path, composer=Free())
    Ledger.join(path, budget())
    with pytest.raises(OverBudgetError):
        pay(careless, "a", emd(100))
    pay(careless, "b", emd(1))
    assert careless.records()[-1].data["composer"] == "additive"
    assert careless.verify().within_limits is True


def test_quadrature_is_carried_as_sums(path: Path) -> None:
    from tests.ledger.helpers import pay as pay_alpha

    ledger = Ledger.create(path, alpha_budget(10, "1e-6", composition="quadrature"))
    for number in range(4):
        pay_alpha(ledger, str(number), "0.5")
    new = Budget("visits", 1083, "line km", Promises([PromiseLimit(1, 1, 2)], "1e-6"))
    joined = Ledger.join(path, new)
    assert used(joined) == [2]
    with pytest.raises(OverBudgetError):
        pay_alpha(ledger, "more", "0.1")
    assert ledger.verify().within_limits is True


@pytest.mark.parametrize(
    "change",
    [
        lambda carried: carried[1:],
        lambda carried: [[seq, ["0"], delta] for seq, _, delta in carried],
        lambda carried: [[seq, ["-1", "0"], delta] for seq, _, delta in carried],
        lambda carried: [[seq, ["x", "0"], delta] for seq, _, delta in carried],
        lambda carried: "nothing",
    ],
)
def test_a_carried_sum_that_makes_no_sense(old: Path, change: Any) -> None:
    Ledger.join(old, years())
    rows, previous = [], GENESIS
    for row in SqliteStore(old).rows():
        data = json.loads(row.body)
        if data["kind"] == "budget":
            data["carried"] = change(data["carried"])
        body = canonical(data)
        previous = link(previous, body)
        rows.append(Row(row.seq, body, previous))
    with pytest.raises(CorruptLedgerError):
        LedgerState.read(rows)


def test_a_broken_ledger_is_not_joined(path: Path) -> None:
    path.write_text("theirs")
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.join(path, budget())
    assert path.read_text() == "theirs"


def test_anything_with_a_budget_makes_a_ledger(path: Path) -> None:
    class Study:
        budget = Budget("ages", 3, "line years", Promises([(1, 1, 1)]))

    assert Ledger.create(path, Study()).budget.dataset == "ages"  # type: ignore[arg-type]
    assert Ledger.join(path, Study()).head() == Ledger(path).head()  # type: ignore[arg-type]


def test_a_release_of_a_v2_alpha_ledger_is_carried_by_its_own_grid(path: Path) -> None:
    ledger = Ledger.create(path, Budget("visits", 1083, COARSE, Emd(10, model="central"), user_level=UserLevel(1)))
    pay(ledger, "a", emd(1))
    assert used(Ledger.join(path, budget())) == [Fraction(21, 100), Fraction(1, 30) * Fraction(16, 30)]


PROMISED = Budget("visits", 3, "earth km", Promises([(1, 1, 1)]))


def test_joining_and_promises():
    state = LedgerState.read([first_row(PROMISED)])
    assert joined(state, PROMISED) is None
    tighter = joined(state, Budget("visits", 3, "earth km", Promises([(1, 1, "0.5")])), tighten=True)
    assert tighter.budget.promises[0].epsilon == Fraction(1, 2)
    subset = Promises([(1, "0.3", 1), (1, None, 5)], delta="1e-9")
    assert promises_from_json(subset.to_json()) == subset
