"""Promises whose releases add up in quadrature: two accounts, fixed when the ledger is made."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scipy.stats import norm

from barrow.accounting.adaptive import pure_epsilon_lower, pure_mu_upper
from barrow.errors import ParameterError
from barrow.ledger import Budget, Ledger, PromiseLimit, Promises, SpaceRef
from barrow.ledger.errors import NotCoveredError, OverBudgetError
from barrow.ledger.promises import promises_from_json
from barrow.numerics import gdp_delta_upper, gdp_mu_lower
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.planning.terms import Terms, in_quadrature
from barrow.promises import GaussianNoise, KNormNoise, Promise, UserLevelRelease
from barrow.promises.periods import Calendar, Window
from barrow.spaces import Line

F = Fraction
DELTA = F(1, 10**9)
GRID = SpaceRef("line", "sha256:" + "c" * 64, 10, "km", "line km", 0)
ALL = PromiseLimit(1, 10, "0.5", text="all data anywhere")
MONTH = PromiseLimit(1, 10, "0.5", scope="any month")


def budget(*promises: PromiseLimit, share: Any = 1, **options: Any) -> Budget:
    subset = Promises(promises or [ALL], DELTA, quadrature=share)
    return Budget("visits", 1000, "line km", subset, calendar=Calendar("month", "UTC"), **options)


def pay(ledger: Ledger, key: str, event: Any, **options: Any) -> Any:
    known = event.guarantee()
    return ledger.reserve(
        key=key, what="a mean", event=event, guarantee=known, space=GRID, dataset="visits", users=1000, **options
    )


def gaussian(mu: Any) -> GaussianNoise:
    return GaussianNoise(mu, delta=DELTA, model="central")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.ledger"


@pytest.mark.parametrize(("releases", "gain"), [(2, 1.41), (4, 1.99), (8, 2.81), (50, 7.02)])
def test_a_series_of_gaussian_releases_fits_and_has_less_noise(path: Path, releases: int, gain: float) -> None:
    alone = Terms(Line(0, 10, step=1, unit="km"), 1000, (Promise("all", "anywhere", "0.5"),), delta=DELTA)
    one = replace(alone, fraction=F(1, releases))
    adding, quadratic = replace(one, delta=DELTA / releases), in_quadrature(one, DELTA)
    mu = quadratic.mu_for(F(1))
    assert float(mu / adding.mu_for(F(1))) == pytest.approx(gain, abs=0.006)
    ledger = Ledger.create(path, budget())
    for number in range(releases):
        assert len(pay(ledger, str(number), gaussian(mu)).charge.squares) == 1
    with pytest.raises(OverBudgetError, match="μ² in quadrature"):
        pay(ledger, "one more", gaussian(mu))
    again = Ledger.open(path)
    assert again.verify().within_limits is True
    spent = again.balances()[0].spent
    assert F(499, 1000) < spent.loss <= F(1, 2)
    assert spent.delta == DELTA
    assert any("add up in quadrature" in text for text in again.overview().sentences())
    assert {record.data["composer"] for record in again.records() if record.kind == "reserve"} == {"quadrature"}


def test_what_is_planned_in_quadrature_costs_no_more_than_is_granted() -> None:
    """Epsilons of mus are found by searches, which end a little above: nothing that was planned may be refused."""
    for promise, releases, ratio in itertools.product(
        (F(1, 10), F(3, 10)), range(2, 60, 3), (F(1, 10) + F(1, 2**58), F(1))
    ):
        alone = Terms(
            Line(0, 60, step=1, unit="km"), 2000, (Promise("all", f"{float(60 * promise):g} km", "0.5"),), delta=DELTA
        )
        quadratic = in_quadrature(replace(alone, fraction=F(1, releases)), DELTA)
        mu = quadratic.mu_for(ratio)
        noise = GaussianNoise(mu, delta=DELTA, model="central", range_ratio=ratio)
        row = quadratic.satisfied[0]
        assert noise.epsilon_at(row.share, row.reach, DELTA) <= quadratic.granted[0]
        assert quadratic.granted[0] <= noise.epsilon_at(row.share, row.reach, DELTA) * (1 + F(1, 10**9))
        assert noise.mu_at(row.share, row.reach) ** 2 <= quadratic.squares[0]


def test_accounts_are_fixed_and_each_release_has_one(path: Path) -> None:
    ledger = Ledger.create(path, budget(share="1/2"))
    assert ledger.budget.composition == "quadrature"
    assert Budget.__eq__(Ledger.open(path).budget, ledger.budget)
    left = ledger.remaining()[0]
    assert (left.limit.loss, left.left.delta) == (F(1, 4), DELTA / 2)
    mu = float(gdp_mu_lower(0.25, 5e-10))
    assert float(left.square) == pytest.approx(mu**2, rel=1e-9)
    assert pay(ledger, "pure", KNormNoise("1/4", model="central")).charge.squares == ()
    more = pay(ledger, "pure in quadrature", KNormNoise("1/100", model="central")).charge
    assert float(more.squares[0]) == pytest.approx(pure_mu_upper(0.01) ** 2)
    with pytest.raises(OverBudgetError):
        pay(ledger, "user level", UserLevelRelease("1/100", delta="1e-10", model="central"))
    rest = ledger.remaining()[0].square
    pay(ledger, "gaussian", gaussian(F(math.sqrt(rest)) * F(999, 1000)))
    with pytest.raises(OverBudgetError, match="quadrature"):
        pay(ledger, "too much", gaussian("0.01"))
    assert ledger.balances()[0].spent.loss <= F(1, 2)
    shown = json.loads(json.dumps(ledger.overview().to_json()))
    assert shown["composer"] == "quadrature"


def test_each_month_has_its_own_quadrature(path: Path) -> None:
    ledger = Ledger.create(path, budget(MONTH))
    mu = ledger.budget.promised.quadrature.mus[0]
    october, both = (Window(Calendar("month", "UTC").parse_range(t)) for t in ("2026-10", "2026-10..2026-11"))
    november = Window(Calendar("month", "UTC").parse_range("2026-11"))
    pay(ledger, "october", gaussian(mu * F(3, 5)), reads=october)
    pay(ledger, "both", gaussian(mu * F(3, 5)), reads=both)
    pay(ledger, "november", gaussian(mu * F(4, 5) * F(999, 1000)), reads=november)
    assert ledger.remaining(reads=october)[0].square == pytest.approx(float(mu) ** 2 * (1 - 0.72))
    with pytest.raises(OverBudgetError):
        pay(ledger, "more", gaussian(mu * F(3, 5)), reads=both)
    assert ledger.verify().within_limits is True
    shown = ledger.balances()[0]
    october_alone = gdp_epsilon_upper(float(mu) * math.sqrt(0.72), 1e-9)
    assert float(shown.periods["2026-10"]) == pytest.approx(october_alone, rel=1e-9)
    assert max(shown.periods.values()) == shown.spent.loss <= F(1, 2)  # and not the sum of their epsilons
    everything = math.sqrt(0.36 * 2 + (0.8 * 0.999) ** 2)
    assert float(shown.repeated) == pytest.approx(gdp_epsilon_upper(float(mu) * everything, 1e-9))


def test_ledgers_that_exist_keep_adding_and_splits_stay(path: Path, tmp_path: Path) -> None:
    plain = Budget("visits", 1000, "line km", Promises([ALL], DELTA))
    Ledger.create(path, plain)
    with pytest.raises(NotCoveredError, match="keeps 1 of every promise for quadrature"):
        Ledger.join(path, budget())
    other = tmp_path / "sub" / "b.ledger"
    other.parent.mkdir()
    ledger = Ledger.create(other, budget())
    assert Ledger.join(other, plain).budget == ledger.budget  # a study says nothing of it
    tighter = Budget("visits", 1000, "line km", Promises([PromiseLimit(1, 10, "0.4")], DELTA))
    joined = Ledger.join(other, tighter, tighten=True)
    assert float(joined.budget.promised.quadrature.mus[0]) == pytest.approx(gdp_mu_lower(0.4, 1e-9))
    pay(joined, "x", gaussian("0.01"))
    tightest = Budget("visits", 1000, "line km", Promises([PromiseLimit(1, 10, "0.3")], DELTA))
    with pytest.raises(NotCoveredError, match="has releases in quadrature"):
        Ledger.join(other, tightest, tighten=True)
    grouped = Budget("visits", 1000, "line km", tighter.limit, groups={"region": {"a": 400, "b": 600}})
    assert Ledger.join(other, grouped).balances()[0].spent.loss > 0
    assert Ledger.open(other).verify().within_limits is True


@pytest.mark.parametrize("share", [0, 2, -1])
def test_bad_splits(share: int) -> None:
    with pytest.raises(ParameterError):
        budget(share=share)


@pytest.mark.parametrize(("field", "value"), [("mus", ["100"]), ("delta", "1/2"), ("share", "9/10"), ("mus", [])])
def test_an_account_that_holds_more_than_its_promise_is_refused(path: Path, field: str, value: Any) -> None:
    """A forged ledger could let everything through, and call the promise kept."""
    data = budget().promised.to_json()
    data["quadrature"] = {**data["quadrature"], field: value}
    with pytest.raises(ParameterError, match="not that of these promises"):
        promises_from_json(data)
    digits = budget().promised.to_json()
    digits["quadrature"]["mus"] = [str(F(digits["quadrature"]["mus"][0]) * (1 + F(1, 10**14)))]
    assert promises_from_json(digits).quadrature is not None  # another processor's last digit


def test_quadrature_needs_a_delta() -> None:
    with pytest.raises(ParameterError, match="delta"):
        Promises([ALL], 0, quadrature=1)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1, 1.0, 5.0, 30.0])
def test_a_pure_release_that_a_square_allows(epsilon: float) -> None:
    mu = pure_mu_upper(epsilon)
    assert pure_mu_upper(pure_epsilon_lower(mu)) <= mu
    assert pure_epsilon_lower(mu) == pytest.approx(epsilon, rel=1e-6)


# Adaptive spenders who use both accounts, by enumeration of all strategies.


class Action(NamedTuple):
    """A release: Gaussian, seen in four cells only, or the most telling pair of (e, d)."""

    mu: float
    e: float
    d: float

    @property
    def outcomes(self) -> list[tuple[float, float]]:
        if self.mu:
            at = gdp_epsilon_upper(MU, SLACK) / self.mu + self.mu / 2  # where the ratio is the account's epsilon
            cuts = [-math.inf, at - 1.0, at, at + 0.4, math.inf]
            pairs = [(norm.cdf(b) - norm.cdf(a), norm.cdf(b - self.mu) - norm.cdf(a - self.mu))
                     for a, b in itertools.pairwise(cuts)]  # fmt: skip
            return [(q, p) for p, q in pairs]
        up = (1 - self.d) / (1 + math.exp(-self.e))
        return [(self.d, 0.0), (up, 1 - self.d - up), (1 - self.d - up, up), (0.0, self.d)]


MU, SLACK, PURE, EXTRA = 0.8, 0.02, 0.4, 0.01
"""mu* of one account with its delta; epsilon and delta of the other."""
TOTAL = PURE + gdp_epsilon_upper(MU, SLACK)
ACTIONS = [Action(0.8, 0, 0), Action(0.5, 0, 0), Action(0, 0.2, 0), Action(0, 0.4, 0.01), Action(0, 0.8, 0)]
History = tuple[Action, ...]


def two_accounts(history: History) -> bool:
    squares = sum(a.mu**2 for a in history)
    return (
        squares <= MU**2 + 1e-12
        and sum(a.e for a in history) <= PURE + 1e-12
        and sum(a.d for a in history) <= EXTRA + 1e-12
    )


def largest_mu(history: History) -> bool:
    """Planted: the largest mu instead of the root of the sum of squares."""
    return max((a.mu for a in history), default=0) <= MU and two_accounts(tuple(a for a in history if not a.mu))


def shared(history: History) -> bool:
    """Planted: each account has the whole epsilon, because only one of them counts in the end."""
    quadratic, adding = tuple(a for a in history if a.mu), [a for a in history if not a.mu]
    return (
        two_accounts(quadratic)
        and sum(a.e for a in adding) <= TOTAL + 1e-12
        and sum(a.d for a in adding) <= SLACK + EXTRA
    )


def supremum(rule: Callable[[History], bool], history: History = (), p: float = 1.0, q: float = 1.0) -> float:
    """The largest delta at the promise's epsilon that any spender of three releases reaches."""
    best = max(0.0, p - math.exp(TOTAL) * q)
    if len(history) < 3 and p > 0:
        for action in ACTIONS:
            after = (*history, action)
            if rule(after):
                best = max(best, sum(supremum(rule, after, p * a, q * b) for a, b in action.outcomes if a > 0))
    return best


def test_no_spender_of_both_accounts_gets_beyond_the_promise() -> None:
    assert supremum(two_accounts) <= SLACK + EXTRA
    assert supremum(two_accounts) > 0.5 * (SLACK + EXTRA)  # four cells of a Gaussian tell less than all of it


@pytest.mark.parametrize("rule", [largest_mu, shared])
def test_planted_sums_are_broken(rule: Callable[[History], bool]) -> None:
    assert supremum(rule) > SLACK + EXTRA


def test_the_root_of_squares_is_exact_and_the_sum_of_mus_is_safe() -> None:
    """Four releases of mu together are one of 2 mu: by the root nothing is lost, by the largest the promise is."""
    mu, epsilon = 0.3, 1.0
    together = gdp_delta_upper(2 * mu, epsilon)
    assert gdp_delta_upper(math.sqrt(4 * mu**2), epsilon) == pytest.approx(together, rel=1e-9)
    assert gdp_delta_upper(4 * mu, epsilon) > together > gdp_delta_upper(mu, epsilon)
