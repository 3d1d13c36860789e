"""Ledgers whose charges add up in quadrature: chosen at the start, remembered, and priced anew."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from barrow.accounting import adaptive_alpha_upper, price
from barrow.cli.main import main
from barrow.errors import ParameterError
from barrow.ledger import Budget, Ledger, SpaceRef
from barrow.ledger.charges import composer_named, price_together
from barrow.ledger.errors import OverBudgetError
from barrow.promises import DiscreteEmd, Emd, KNormNoise, UserLevel

REF = SpaceRef("line", "sha256:00", 10, "km")


def budget(**changes: object) -> Budget:
    return Budget("visits", 100, REF, Emd(3, "1e-6", model="central"), **{"composition": "quadrature", **changes})


def pay(ledger: Ledger, key: str, alpha: str = "0.05") -> None:
    event = KNormNoise(alpha, model="central")
    ledger.reserve(key=key, what="a mean", event=event, guarantee=price(event), space=REF, dataset="visits", users=100)


def test_quadrature_lets_more_small_releases_through_than_sums_and_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "l"
    Ledger.create(path, budget())
    paid = 0
    try:
        while True:
            pay(Ledger.open(path), f"k{paid}")
            paid += 1
    except OverBudgetError:
        pass
    assert paid > 60  # sums would stop at 3/0.05 = 60
    events = Ledger.open(path).events()
    assert len(events) == paid
    assert adaptive_alpha_upper(events, "1e-6") <= 3 < adaptive_alpha_upper([*events, events[0]], "1e-6")
    assert Ledger.open(path).verify().within_limits is True


def test_the_user_level_account_still_adds(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", budget(user_level=UserLevel(1, model="central")))
    other = SpaceRef("line", "sha256:11", 10, "km")
    event = KNormNoise("0.4", model="central")
    for i in range(2):
        ledger.reserve(
            key=f"u{i}", what="x", event=event, guarantee=price(event), space=other, dataset="visits", users=100
        )
    assert ledger.left("user").loss == Fraction(1, 5)


def test_wrong_compositions_are_refused() -> None:
    for call, words in (
        (lambda: budget(composition="magic"), "composition is 'magic'"),
        (lambda: Budget("d", 1, REF, Emd(3, model="central"), composition="quadrature"), "delta above 0"),
        (
            lambda: Budget("d", 1, REF, DiscreteEmd(1, "1e-6", radius="0.1"), composition="quadrature"),
            "of EMD-DP with delta above 0",
        ),
        (lambda: composer_named("magic"), "composition is 'magic'"),
    ):
        with pytest.raises(ParameterError, match=words):
            call()


def test_an_old_ledger_is_priced_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "l"
    ledger = Ledger.create(path, Budget("visits", 100, REF, Emd(10, "1e-6", model="central")))
    for i in range(20):
        pay(ledger, f"k{i}", "0.2")
    prices = price_together(ledger.events(), Fraction(1, 10**6))
    assert prices["additive"] == 4
    assert prices["together"] < 3.7
    with pytest.raises(SystemExit) as stop:
        main(["ledger", "price", str(path), "--json"])
    assert stop.value.code in (0, None)
    data = json.loads(capsys.readouterr().out)
    assert data["releases"] == 20
    assert data["alpha"]["together"] == pytest.approx(float(prices["together"]))
    with pytest.raises(SystemExit):
        main(["ledger", "price", str(path)])
    assert "fixed beforehand" in capsys.readouterr().out
