"""Promises kept by periods and groups: what is refused, what is left, and that the sums hold by enumeration."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm

from barrow.ledger import Budget, Ledger, PromiseLimit, Promises, SpaceRef
from barrow.ledger.budget import budget_from_json
from barrow.ledger.cells import CellSums, worst_atom
from barrow.ledger.charges import Charge, charge_for, spent_at, used_at
from barrow.ledger.errors import NotCoveredError, OverBudgetError
from barrow.promises import Emd, GaussianNoise, Guarantee, KNormNoise, UserLevel, UserLevelRelease
from barrow.promises.periods import Calendar, Window
from tests.ledger.helpers import LINE
from tests.ledger.helpers import budget as alpha_budget
from tests.ledger.helpers import pay as pay_alpha

F = Fraction
UTC = Calendar("month", "UTC")
GRID = SpaceRef("earth", "sha256:" + "c" * 64, 10, "km", "earth km", 0)
FILTERED = SpaceRef("earth", "sha256:" + "c" * 64, 10, "km", "earth km", None, True)
ANY = PromiseLimit("1/10", 10, "1", text="1 of 10 anywhere, in any month", scope="any month")
THREE = PromiseLimit("1/10", 10, "2", scope="any 3 months")
EVERY = PromiseLimit("1/10", 10, "6", scope="every month")
ALL = PromiseLimit("1/10", 10, "50")
REGIONS = {"region": {"north": 512, "south": 571}, "age": {"young": 83, "old": 1000}}


def budget(*promises: PromiseLimit, **options: Any) -> Budget:
    given = {"calendar": UTC, "groups": REGIONS, **options}
    return Budget("visits", 1083, "earth km", Promises(promises or (ANY, EVERY, ALL), "1e-6"), **given)


def window(text: str, pool: str = "records", unit: str = "month") -> Window:
    return Window(Calendar(unit, "UTC").parse_range(text), pool)  # type: ignore[arg-type]


def pay(ledger: Ledger, key: str, alpha: Any, reads: str | Window | None = None, **options: Any) -> Any:
    """A release of ``alpha``: at a tenth of the records it costs a tenth of that."""
    given: dict[str, Any] = {
        "key": key,
        "what": "a map",
        "event": KNormNoise(alpha, model="central"),
        "guarantee": Guarantee(Emd(alpha), "knorm", "lemma:lin"),
        "space": GRID,
        "dataset": "visits",
        "users": 1083,
        "reads": window(reads) if isinstance(reads, str) else reads,
    }
    return ledger.reserve(**{**given, **options})


def used(ledger: Ledger) -> list[Fraction]:
    return [balance.spent.loss for balance in ledger.balances()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "visits.ledger"


def test_each_month_has_the_whole_promise_and_every_month_the_sum(path: Path) -> None:
    ledger = Ledger.create(path, budget(ANY, EVERY))
    for month in range(1, 7):
        pay(ledger, f"month {month}", 10, f"2026-{month:02}")
    assert used(ledger) == [1, 6]
    with pytest.raises(OverBudgetError, match="in any month: ε 1 of 1 used, this needs"):
        pay(ledger, "again", "0.01", "2026-03")
    with pytest.raises(OverBudgetError, match="in every month: ε 6 of 6 used, this needs 1"):
        pay(ledger, "july", 10, "2026-07")
    assert Ledger.open(path).verify().within_limits is True
    assert used(Ledger.open(path)) == [1, 6]


def test_everything_counts_in_every_month_and_windows_pay_their_worst_case_at_all_data(path: Path) -> None:
    ledger = Ledger.create(path, budget())
    pay(ledger, "all", 4)
    pay(ledger, "october", 5, "2026-10")
    assert used(ledger) == [F(9, 10), F(9, 10), F(4, 10) + 5]
    pay(ledger, "a day", "0.1", window("2026-11-07", unit="day"))
    assert used(ledger)[0] == F(9, 10)
    assert ledger.balances()[0].periods == {"2026-10": F(9, 10), "2026-11": F(5, 10)}
    left = [balance.left.loss for balance in ledger.remaining(reads=window("2026-11"))]
    assert left == [F(5, 10), 6 - F(9, 10) - F(1, 10), 50 - F(54, 10) - F(1, 10)]
    with pytest.raises(OverBudgetError):
        pay(ledger, "behind a filter", "0.6", "2026-11", space=FILTERED)


def test_pooled_windows_and_windows_by_periods(path: Path) -> None:
    ledger = Ledger.create(path, budget(ANY, THREE, EVERY))
    pay(ledger, "pooled", 5, "2026-01..2026-03")
    assert used(ledger) == [F(1, 2), F(1, 2), F(1, 2)]  # once at any 3 months, not three times
    pay(ledger, "by periods", 9, window("2026-01..2026-03", "periods"))
    assert used(ledger) == [F(8, 10), F(14, 10), F(14, 10)]
    assert [b.left.loss for b in ledger.remaining(reads=window("2026-02"))] == [F(2, 10), F(6, 10), 6 - F(14, 10)]
    pay(ledger, "february", 2, "2026-02")
    with pytest.raises(OverBudgetError):
        pay(ledger, "pooled again", "0.1", "2026-02..2026-05")
    pay(ledger, "user level", 1, "2026-05", event=UserLevelRelease("0.3", model="central"),
        guarantee=Guarantee(UserLevel("0.3"), "user_level", ""))  # fmt: skip
    assert ledger.balances()[0].periods["2026-05"] == F(3, 10)


def test_a_user_level_release_by_periods_costs_its_epsilon_in_each(path: Path) -> None:
    ledger = Ledger.create(path, budget(ANY))
    release = UserLevelRelease("0.4", model="central")
    pay(ledger, "x", 1, window("2026-01..2026-02", "periods"), event=release,
        guarantee=Guarantee(UserLevel("0.4"), "user_level", ""))  # fmt: skip
    assert ledger.balances()[0].periods == {"2026-01": F(4, 10), "2026-02": F(4, 10)}


@pytest.mark.parametrize(("mu", "delta"), [(3, "0.54"), (1, "0.19"), (3, "1e-6"), ("0.1", "0.019")])
def test_what_counts_in_a_month_of_a_window_by_periods_is_what_it_costs_there(mu: Any, delta: str) -> None:
    """Each month takes a part of the epsilon and all of the delta: with a part of both the first fails."""
    reads = Window(UTC.parse_range("2026-01..2026-03"), "periods", (F(1, 2), F(1, 4), F(1, 4)))
    event = GaussianNoise(mu, delta=delta, model="central")
    whole = PromiseLimit(1, None, 50, scope="any month")
    own = Budget("visits", 1083, "earth km", Promises([whole], "0.9"), calendar=UTC)
    given = {"guarantee": event.guarantee(), "space": GRID, "dataset": "visits", "users": 1083}
    charge = charge_for(own, event=event, reads=reads, **given)
    for label, weight in (("2026-01", F(1, 2)), ("2026-03", F(1, 4))):
        month = charge_for(own, event=event, reads=window(label), **given)
        counted = used_at(own, [charge], 0, month)
        assert counted.delta == F(delta)
        assert gdp_delta(float(F(mu) * weight), float(counted.loss)) <= float(counted.delta) * (1 + 1e-9)
    broken = gdp_delta(3 / 4, float(charge.epsilons[0]) / 2) / 0.54
    assert (mu, delta) != (3, "0.54") or broken > 0.5  # half of the delta would be too little


def test_what_was_let_through_is_within_the_limit_when_it_is_added_up_again() -> None:
    """Each month's rest went by the better of two bounds, the total by one for all: honest chains looked broken."""
    draw, limit = random.Random(5), F(6)
    for _ in range(600):
        sums = CellSums(draw.choice([2, 3]))
        paid: list[tuple[Fraction, dict[str, Fraction]]] = []
        for _ in range(8):
            months = draw.sample("abcdef", draw.choice([1, 1, 2, 3, 4]))
            part = draw.choice([F(1), F(1, len(months))])
            amount, cells = F(draw.randint(1, 6), 2), dict.fromkeys(months, part)
            if sums.used(list(cells)) + amount <= limit:
                sums.add(amount, cells)
                paid.append((amount, cells))
            assert sums.total <= limit
        together = combinations("abcdef", sums.k or 1)
        worst = max(sum(min(a, a * sum(cells.get(t, F(0)) for t in c)) for a, cells in paid) for c in together)
        assert worst <= sums.total


def gdp_delta(mu: float, epsilon: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def test_each_group_has_the_whole_promise_and_groupings_add_up(path: Path) -> None:
    ledger = Ledger.create(path, budget(ALL, ANY))
    for region in ("north", "south"):
        pay(ledger, region, 5, "2026-10", groups={"region": [region]}, users=REGIONS["region"][region])
    assert used(ledger) == [5, F(5, 10)]
    pay(ledger, "old", 3, "2026-10", groups={"age": ["old"]})
    assert used(ledger) == [8, F(8, 10)]
    pay(ledger, "young", 4, "2026-10", groups={"age": ["young"]})
    assert used(ledger) == [9, F(9, 10)]
    assert ledger.remaining(reads=window("2026-10"), groups={"age": ["old"]})[1].left.loss == F(2, 10)
    with pytest.raises(OverBudgetError):
        pay(ledger, "everybody", "1.1", "2026-10")
    pay(ledger, "all regions at once", 1, "2026-10", groups={"region": ["south", "north"]})
    assert ledger.records()[-1].data["groups"] is None
    assert used(ledger)[1] == 1
    assert ledger.verify().within_limits is True
    assert "region north" in ledger.overview().to_csv()
    for bad in ({"region": ["west"]}, {"team": ["a"]}, {"region": []}, {"region": "north"}):
        with pytest.raises(NotCoveredError, match="does not know"):
            pay(ledger, "bad", 1, groups=bad)
    with pytest.raises(NotCoveredError, match="users"):
        pay(ledger, "bad", 1, groups={"region": ["north"]}, users=511)


def test_groups_in_a_ledger_of_alpha_and_no_windows_there(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", alpha_budget(alpha=3, calendar=UTC, groups=REGIONS))
    for region in ("north", "south"):
        pay_alpha(ledger, region, 3, groups={"region": [region]}, users=REGIONS["region"][region])
    with pytest.raises(OverBudgetError):
        pay_alpha(ledger, "more", "0.1")
    with pytest.raises(NotCoveredError, match="Promises with a scope"):
        pay_alpha(ledger, "october", "0.1", reads=window("2026-10"))
    beside = Ledger.create(
        tmp_path / "sub.ledger", Budget("other", 1083, LINE, Emd(3), user_level=UserLevel(1), calendar=UTC)
    )
    assert pay_alpha(beside, "x", "0.5", reads=window("2026-10"), dataset="other").charge.account == "user"


def test_budgets_say_what_they_need() -> None:
    with pytest.raises(ValueError, match="no calendar"):
        budget(ANY, calendar=None)
    with pytest.raises(ValueError, match="hold 3 people, the data set 1083"):
        budget(ANY, groups={"region": {"north": 1, "south": 2}})
    built = budget()
    assert budget_from_json(json.loads(json.dumps(built.to_json()))) == built
    twice = PromiseLimit("1/10", 10, "2", scope="any month")
    with pytest.raises(ValueError, match="two promises"):
        budget(ANY, twice)


def test_windows_need_a_calendar(path: Path) -> None:
    ledger = Ledger.create(path, Budget("visits", 1083, "earth km", Promises([ALL], "1e-6")))
    with pytest.raises(NotCoveredError, match="no calendar"):
        pay(ledger, "x", 1, "2026-10")
    joined = Ledger.join(path, budget(ALL))  # a calendar and groups promise nothing, and are added
    pay(joined, "x", 1, "2026-10", groups={"region": ["north"]})
    with pytest.raises(NotCoveredError, match="time zone"):
        Ledger.join(path, budget(ALL, calendar=Calendar("month", "Europe/Berlin")))
    with pytest.raises(NotCoveredError, match="groups of 'region'"):
        Ledger.join(path, budget(ALL, groups={"region": {"north": 1083}}))


@pytest.mark.parametrize(
    ("own", "asked", "words"),
    [
        ("any month", "every month", None),
        ("any month", "any 3 months", None),
        ("any month", None, None),
        ("every month", None, None),
        ("any month", "any quarter", None),
        ("every month", "any month", "drops the promise"),
        (None, "every month", "drops the promise"),
        ("any 3 months", "any month", "drops the promise"),
        ("any month", "any week", "drops the promise"),
    ],
)
def test_joining_goes_up_in_strength_and_never_down(path: Path, own: str, asked: str, words: str | None) -> None:
    mine, theirs = (PromiseLimit("1/10", 10, 1, scope=scope) for scope in (own, asked))
    ledger = Ledger.create(path, budget(mine))
    pay(ledger, "x", 1)
    if words is not None:
        with pytest.raises(NotCoveredError, match=words):
            Ledger.join(path, budget(theirs), tighten=True)
        return
    with pytest.raises(NotCoveredError, match="promises more"):
        Ledger.join(path, budget(theirs))
    joined = Ledger.join(path, budget(theirs), tighten=True)
    assert [p.scope for p in joined.budget.promises] == [mine.scope, theirs.scope]
    assert used(joined) == [F(1, 10), F(1, 10)]
    joined.check_study(budget(theirs))


def test_promises_that_come_later_are_priced_by_what_was_read(path: Path) -> None:
    ledger = Ledger.create(path, budget(ANY))
    for month in ("2026-01", "2026-02"):
        pay(ledger, month, 8, month, groups={"region": ["north"]})
    with pytest.raises(NotCoveredError, match="have spent ε 16"):
        Ledger.join(path, budget(PromiseLimit("1/10", 10, 1)), tighten=True)
    joined = Ledger.join(path, budget(ANY, PromiseLimit("1/10", 10, 2, scope="every month")), tighten=True)
    assert used(joined) == [F(8, 10), F(16, 10)]
    pay(joined, "south", 8, "2026-01", groups={"region": ["south"]})
    assert used(Ledger.open(path)) == [F(8, 10), F(16, 10)]


def test_presence_costs_h_in_one_month_and_the_worst_case_in_pooled_ones(path: Path) -> None:
    gone = PromiseLimit(1, None, 4, scope="any month", presence=True)
    near = SpaceRef("earth", "sha256:" + "d" * 64, 10, "km", "earth km", 0, no_records="1/2")
    ledger = Ledger.create(path, budget(gone))
    pay(ledger, "one", 2, "2026-01", space=near)
    assert used(ledger) == [1]
    pay(ledger, "two", 2, "2026-01..2026-02", space=near)
    assert used(ledger) == [3]
    assert Ledger.open(path).records()[1].data["space"]["no_records"] == "0.5"


def test_what_people_see(path: Path) -> None:
    ledger = Ledger.create(path, budget(ANY, EVERY))
    pay(ledger, "a", 4, "2026-09")
    pay(ledger, "b", 6, "2026-10")
    words = ledger.overview().sentences()
    assert words[0] == "1 of 10 anywhere, in any month: ε 0.6 of 1 used in the costliest month."
    assert "  2026-09: 1 of 10 anywhere, in any month: ε 0.4." in words
    assert "  2026-10: 1 of 10 anywhere, in any month: ε 0.6." in words
    assert any("in all of these periods, 1 of 10 anywhere, in any month: ε 1." in text for text in words)
    assert "Worst case: everything about a person different in all periods: ε 10, delta 0." in words
    data = json.loads(json.dumps(ledger.overview().to_json()))
    assert data["periods"][1] == {"period": "2026-10", "used": ["0.6", None]}
    assert data["worst_case"] == {"epsilon": "10", "delta": "0"}
    assert data["releases"][0]["reads"] == "2026-09"
    assert "2026-09" in ledger.overview().to_html()
    assert [line.left.loss for line in ledger.overview().lines] == [F(6, 10), F(4, 10)]


# The sums, by a second route.


def random_releases(rng: random.Random, many: int) -> list[Charge]:
    built = []
    for _ in range(many):
        months = sorted(rng.sample(range(1, 6), rng.choice([1, 1, 1, 2, 3])))
        text = ",".join(f"2026-{month:02}" for month in months)
        reads = rng.choice([None, window(text), window(text, "periods")])
        groups: dict[str, tuple[str, ...]] = {}
        if rng.random() < 0.5:
            groups["region"] = (rng.choice(["north", "south"]),)
        if rng.random() < 0.4:
            groups["age"] = (rng.choice(["young", "old"]),)
        alpha = F(rng.randrange(1, 20))
        event = KNormNoise(alpha, model="central")
        known = Guarantee(Emd(alpha), "knorm", "lemma:lin")
        built.append(Charge("promises", None, event, known, (), reads, groups))  # type: ignore[arg-type]
    return built


def enumerated(charges: Sequence[Charge], k: int, *, planted: str = "") -> Fraction:
    """The largest loss over all atoms and all choices of k months, by Lemma 1, one by one."""
    largest = F(0)
    for region, age in product(("north", "south"), ("young", "old")):
        atom = {"region": region, "age": age}
        held = [c for c in charges if all(atom[name] in labels for name, labels in c.groups.items())]
        for changed in combinations([f"2026-{month:02}" for month in range(1, 6)], k):
            costs = []
            for c in held:
                if c.reads is None:
                    costs.append(c.event.alpha / 10)
                elif c.reads.pool == "records":
                    costs.append(c.event.alpha / 10 * bool(set(c.reads.labels) & set(changed)))
                else:
                    costs.append(c.event.alpha / 10 * sum(c.reads.weight(t) for t in c.reads.periods
                                                          if t.label in changed))  # fmt: skip
            largest = max(largest, max(costs, default=F(0)) if planted == "dearest" else sum(costs, F(0)))
    return largest


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_sums_are_never_too_small(k: int) -> None:
    """200 random lists of releases; k = 1 and all months are exact, so are single months at any k."""
    rng, exact, dearest = random.Random(k), 0, 0
    promise = PromiseLimit("1/10", 10, 1000, scope="any month" if k == 1 else f"any {k} months")
    subset = budget(promise)
    for _ in range(200):
        charges = []
        for charge in random_releases(rng, rng.randrange(1, 7)):
            price = charge.event.alpha / 10
            if charge.reads is not None and charge.reads.pool == "periods":
                price *= min(F(1), F(k, len(charge.reads.periods)))
            charges.append(_charged(charge, price))
        bound, result = spent_at(subset, charges, 0).loss, enumerated(charges, k)
        assert result <= bound
        exact += result == bound
        dearest += enumerated(charges, k, planted="dearest") < result
    assert exact == 200 if k in (1, 5) else exact > 120
    assert dearest > 80  # "the dearest release only" is too small


def _charged(charge: Charge, price: Fraction) -> Charge:
    from dataclasses import replace

    from barrow.ledger.budget import Amount

    return replace(charge, amount=Amount(price, 0), epsilons=(price,))


def test_what_is_used_for_a_window_is_what_decides() -> None:
    """A release fits exactly where its price and what is used for its window do, for single months and everything."""
    rng, subset = random.Random(1), budget(PromiseLimit("1/10", 10, 3, scope="any 2 months"))
    for _ in range(200):
        charges = [_charged(c, c.event.alpha / 10) for c in random_releases(rng, 5) if c.reads is None
                   or len(c.reads.labels) == 1]  # fmt: skip
        request = _charged(random_releases(rng, 1)[0], F(rng.randrange(1, 30), 10))
        if request.reads is not None and len(request.reads.labels) > 1:
            continue
        before, after = spent_at(subset, charges, 0).loss, spent_at(subset, [*charges, request], 0).loss
        assert after == max(before, used_at(subset, charges, 0, request).loss + request.epsilons[0])


def test_many_groupings_are_bounded_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, subset, larger = random.Random(3), budget(PromiseLimit("1/10", 10, 3, scope="any month")), 0
    for _ in range(60):
        charges = [_charged(c, c.event.alpha / 10) for c in random_releases(rng, 6)]
        exact = spent_at(subset, charges, 0).loss
        monkeypatch.setattr("barrow.ledger.cells._MOST", 0)
        bound = spent_at(subset, charges, 0).loss
        monkeypatch.undo()
        assert bound >= exact
        larger += bound > exact
        everybody = spent_at(subset, [_everybody(c) for c in charges], 0).loss
        assert bound <= everybody + sum((c.epsilons[0] for c in charges if c.groups), F(0))
    assert larger


def _everybody(charge: Charge) -> Charge:
    from dataclasses import replace

    return replace(charge, groups={})


def test_an_atom_that_nobody_named_pays_for_what_is_about_everybody() -> None:
    sizes = {"region": {"north": 1, "south": 1, "west": 1}}
    charge = random_releases(random.Random(0), 1)[0]
    from dataclasses import replace

    everybody, north = replace(charge, groups={}), replace(charge, groups={"region": ("north",)})
    assert worst_atom(sizes, [everybody, north], lambda held: F(len(held))) == 2
    assert worst_atom(sizes, [everybody, north], lambda held: F(len(held)), {"region": ("west",)}) == 1


# Adaptive spenders, by dynamic programming over all strategies.

UNIT, STEP = 0.3, 0.02
"""An epsilon and a delta of 1 in these units."""
ACTIONS = [(frozenset(months), e, d) for months in ({1}, {2}, {1, 2}) for e, d in ((1, 0), (2, 0), (1, 1))]
LIMIT = (3, 1)


def cells(history: tuple[tuple[frozenset[int], int, int], ...]) -> tuple[int, int]:
    """The rule of the ledger at any month: the largest sums over months."""
    losses, deltas = CellSums(1), CellSums(1)
    for months, e, d in history:
        parts = {f"2026-{month:02}": F(1) for month in months}
        losses.add(F(e), parts)
        deltas.add(F(d), parts)
    return int(losses.total), int(deltas.total)


def first_month(history: tuple[tuple[frozenset[int], int, int], ...]) -> tuple[int, int]:
    """Planted: a pooled release is charged in its first month only."""
    return cells(tuple((frozenset({min(months)}), e, d) for months, e, d in history))


def dearest(history: tuple[tuple[frozenset[int], int, int], ...]) -> tuple[int, int]:
    """Planted: a second release about a month is free."""
    return max((e for _, e, _ in history), default=0), max((d for _, _, d in history), default=0)


def no_delta(history: tuple[tuple[frozenset[int], int, int], ...]) -> tuple[int, int]:
    """Planted: deltas do not add up."""
    return cells(history)[0], max((d for _, _, d in history), default=0)


def supremum(rule: Callable[[Any], tuple[int, int]], month: int, rounds: int = 4) -> float:
    """The largest delta at the limit's epsilon that any spender reaches, who sees every output, by any strategy."""

    @cache
    def allowed(history: tuple[tuple[frozenset[int], int, int], ...]) -> bool:
        return all(have <= most for have, most in zip(rule(history), LIMIT, strict=True))

    @cache
    def value(history: tuple[tuple[frozenset[int], int, int], ...], net: int) -> float:
        best = max(0.0, 1.0 - math.exp(UNIT * (LIMIT[0] - net)))
        if len(history) == rounds:
            return best
        for action in ACTIONS:
            after = tuple(sorted((*history, action), key=str))
            if allowed(after):
                months, e, d = action
                if month not in months:
                    continue  # its output has one law in both versions, and only uses up the other month
                up = (1 - STEP * d) / (1 + math.exp(-UNIT * e))
                down = 1 - STEP * d - up
                best = max(best, STEP * d + up * value(after, net + e) + down * value(after, net - e))
        return best

    return value((), 0)


@pytest.mark.parametrize("month", [1, 2])
def test_no_adaptive_spender_gets_beyond_a_promise(month: int) -> None:
    limit = STEP * LIMIT[1]
    assert supremum(cells, month) <= limit * (1 + 1e-12)
    assert supremum(cells, month) == pytest.approx(limit)


def test_planted_rules_are_broken_by_some_spender() -> None:
    limit = STEP * LIMIT[1]
    assert supremum(first_month, 2) > 1.5 * limit
    assert supremum(dearest, 1) > 1.5 * limit
    assert supremum(no_delta, 1) > 1.5 * limit
