"""Budgets of promises: what each release costs at each promise, what is refused, and in which words."""

from __future__ import annotations

import itertools
import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.ledger import Budget, Ledger, PromiseLimit, Promises, SpaceRef
from barrow.ledger.budget import budget_from_json
from barrow.ledger.errors import NotCoveredError, OverBudgetError
from barrow.ledger.ledger import first_row
from barrow.ledger.promises import Price, cost_of, exposure_at
from barrow.promises import (
    DiscreteEmd,
    Emd,
    Event,
    Exposure,
    GaussianNoise,
    Guarantee,
    ItemMetric,
    KNormNoise,
    Policy,
    Promise,
    PureRelease,
    UserLevel,
    UserLevelRelease,
)
from barrow.promises.periods import Calendar
from barrow.spaces import Circle, Discrete, Earth, Line
from tests.ledger.helpers import OUTPUTS, MemoryStore
from tests.ledger.test_charges import telling, worst_pair

COARSE = SpaceRef("earth", "sha256:" + "c" * 64, 30, "km", "earth km", "1/10")
FINE = SpaceRef("earth", "sha256:" + "f" * 64, 60, "km", "earth km", "1/1000")
AGES = SpaceRef("line", "sha256:" + "a" * 64, 100, "years", "line years", "1/200")
NEAR = PromiseLimit(1, "0.3", 1, text="all data by 300 m")
DAY = PromiseLimit("1/30", 10, "0.5", text="1 day of 30 by 10 km")


def budget(*promises: PromiseLimit, delta: Any = "1e-9", **options: Any) -> Budget:
    return Budget("visits", 1083, "earth km", Promises(promises or (NEAR, DAY), delta), **options)


def emd(alpha: Any, delta: Any = 0, worst: UserLevel | None = None, model: str = "central") -> Guarantee:
    return Guarantee(Emd(alpha, delta, model=model), "pure", "def:emd-dp", worst)


def event_of(guarantee: Guarantee) -> Event:
    """A release that has this guarantee: what it costs is said by the event alone."""
    known, worst = guarantee.definition, guarantee.worst_case
    if isinstance(known, UserLevel):
        return UserLevelRelease(known.epsilon, delta=known.delta, model=known.model)
    if not isinstance(known, Emd):
        return PureRelease(1, model="central")
    return KNormNoise(
        known.alpha, model=known.model, range_ratio=None if worst is None else worst.epsilon / known.alpha
    )


def pay(ledger: Ledger, key: str, guarantee: Guarantee, space: SpaceRef = COARSE, **options: Any) -> Any:
    given: dict[str, Any] = {
        "key": key,
        "what": "a map",
        "event": event_of(guarantee),
        "guarantee": guarantee,
        "space": space,
        "dataset": "visits",
        "users": 1083,
    }
    return ledger.reserve(**{**given, **options})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a.ledger", budget())


def used(ledger: Ledger) -> list[Fraction]:
    return [balance.spent.loss for balance in ledger.balances()]


def emd_of(seen: Exposure) -> Fraction:
    return seen.share * seen.reach


def test_grids_draw_on_the_same_promises_each_at_its_own_price(ledger: Ledger) -> None:
    pay(ledger, "coarse", emd(1))
    # 0.3 of 30 km and twice a tenth of 30 km for snapping; a thirtieth of 10 + 6 km
    assert used(ledger) == [
        Fraction(3, 10) / 30 + Fraction(2, 10),
        Fraction(1, 30) * (Fraction(10, 30) + Fraction(2, 10)),
    ]
    before = used(ledger)
    pay(ledger, "fine", emd(1), FINE)
    added = [b - a for a, b in zip(before, used(ledger), strict=True)]
    assert added == [Fraction(3, 10) / 60 + Fraction(2, 1000), Fraction(1, 30) * (Fraction(10, 60) + Fraction(2, 1000))]
    assert ledger.verify().within_limits is True
    assert Ledger.open(ledger._store.name).budget == budget()


def test_user_level_releases_cost_their_epsilon_everywhere(ledger: Ledger) -> None:
    pay(ledger, "dp", Guarantee(UserLevel("0.2", "1e-9", model="central"), "laplace", "lem:lap-freq"))
    assert used(ledger) == [Fraction(1, 5)] * 2
    assert [b.spent.delta for b in ledger.balances()] == [Fraction(1, 10**9)] * 2
    assert [line.amount.loss for line in ledger.overview().lines] == [Fraction(1, 5)]


def test_the_worst_case_caps_the_price(ledger: Ledger) -> None:
    pay(ledger, "region", emd(4, worst=UserLevel("0.05", model="central")))
    # beyond a range of 1/80 nothing is seen: of all data, and of a thirtieth of them
    assert used(ledger) == [Fraction(1, 20), Fraction(1, 20) / 30]


def test_other_metrics_pay_their_worst_case(ledger: Ledger) -> None:
    pay(ledger, "ages", emd("0.2"), AGES)
    assert used(ledger) == [Fraction(1, 5)] * 2
    # Whatever a caller says that it costs there: never less than the worst case, and more if it says so.
    pay(ledger, "cheap", emd("0.05"), AGES, charges=["0.05", "0.001"])
    assert used(ledger) == [Fraction(1, 4)] * 2
    pay(ledger, "dear", emd("0.05"), AGES, charges=["0.05", "0.25"])
    assert used(ledger) == [Fraction(3, 10), Fraction(1, 2)]


def test_an_unknown_way_from_record_to_item_costs_the_share(ledger: Ledger) -> None:
    unknown = SpaceRef("earth", "sha256:" + "d" * 64, 30, "km", "earth km")
    pay(ledger, "nearest", emd("0.3"), unknown)
    assert used(ledger) == [Fraction(3, 10), Fraction(1, 100)]


def test_what_does_not_fit_is_named_in_words(ledger: Ledger) -> None:
    pay(ledger, "first", emd(1), charges=["0.62", "0.1"])
    with pytest.raises(OverBudgetError) as caught:
        pay(ledger, "second", emd(1), charges=["0.5", "0.1"])
    assert str(caught.value) == (
        "This release does not fit the promises of 'visits'. Nothing was spent.\n"
        "  all data by 300 m: ε 0.62 of 1 used, this needs 0.5\n"
        "  allowed: ε at most 0.38 there\n"
        "  fix:     0.76 of what it asks for fits"
    )
    assert caught.value.to_json()["difference"] == {"epsilon": "0.12", "delta": "0"}
    with pytest.raises(OverBudgetError, match=r"1 day of 30 by 10 km: ε 0\.1 of 0\.5 used, this needs 0\.41"):
        pay(ledger, "third", emd(1), charges=["0.1", "0.41"])
    with pytest.raises(OverBudgetError, match="delta: 0 of 1e-9 used, this needs 2e-9"):
        pay(ledger, "fourth", emd(1, "2e-9"), charges=["0.1", "0.1"])
    assert ledger.head().length == 2
    pay(ledger, "second", emd(1), charges=["0.38", "0.4"])
    with pytest.raises(OverBudgetError, match="nothing: a promise is spent"):
        pay(ledger, "crumb", emd(1), charges=[Fraction(1, 10**30), 0])
    pay(ledger, "free", emd(1), charges=[0, 0])


def test_checking_spends_nothing(ledger: Ledger) -> None:
    request = {
        "event": event_of(emd(1)),
        "guarantee": emd(1),
        "space": COARSE,
        "dataset": "visits",
        "users": 1083,
    }
    assert ledger.check(**request).epsilons[0] == Fraction(21, 100)  # type: ignore[arg-type]
    with pytest.raises(OverBudgetError):
        ledger.check(**{**request, "event": event_of(emd(5)), "guarantee": emd(5)})  # type: ignore[arg-type]
    assert ledger.head().length == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"charges": ["0.1"]}, "1 charges for 2 promises"),
        ({"charges": ["0.1", "-0.1"]}, "below 0"),
        ({"charges": ["0.1", "much"]}, "not a number"),
        ({"guarantee": Guarantee(ItemMetric(1), "pure", "x")}, "about one item"),
        ({"guarantee": emd(1, model="central"), "dataset": "other"}, "of 'other'"),
        ({"guarantee": emd(1), "users": 1082}, "1082 users"),
        ({"guarantee": Guarantee(Emd(1, bounded=True, model="central"), "x", "x"), "items": 7}, "7 items"),
    ],
)
def test_refused(ledger: Ledger, options: dict[str, Any], words: str) -> None:
    with pytest.raises(NotCoveredError, match=words):
        pay(ledger, "a", **{"guarantee": emd(1), **options})
    assert ledger.head().length == 1


def test_models_of_less_trust_pay_and_of_more_do_not(tmp_path: Path) -> None:
    subset = Promises([NEAR], model="shuffle")
    ledger = Ledger.create(tmp_path / "s.ledger", Budget("visits", 1083, "earth km", subset))
    pay(ledger, "local", emd(1, model="local"))
    with pytest.raises(NotCoveredError, match="central guarantee"):
        pay(ledger, "central", emd(1, model="central"))


def test_discrete_definitions_go_by_steps() -> None:
    sampled = DiscreteEmd("0.1", radius="1/10", model="central")
    assert sampled.within("1/20") == (Fraction(1, 10), Fraction(0))
    assert sampled.within("1/4") == (Fraction(3, 10), Fraction(0))
    assert sampled.within(1) == (Fraction(1), Fraction(0))
    with pytest.raises(ParameterError, match="is no guarantee"):
        DiscreteEmd(5, "1e-3", radius="1/100", model="central").within(1)


@pytest.mark.parametrize(
    "space", [Line(0, 100, unit="years", step=1, cells=True), Earth(box=(40, -75, 41, -73), cell=5)]
)
def test_the_price_is_what_a_policy_says(space: Any) -> None:
    """A second route: the policy's own arithmetic in shares of the diameter."""
    text = {"line": "7 years", "earth": "2500 m"}[space.kind]
    promise = Promise("1 day of 30", text, "0.5")
    policy = Policy(space, [promise])
    limit, ref = PromiseLimit.of(promise, space), SpaceRef.of(space)
    release = PureRelease(policy.alpha_exact, model="central")
    assert cost_of(release, Fraction(0), ref, [limit], space.metric_name).epsilons == (Fraction(1, 2),)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(-60, 60)), min_size=1, max_size=6),
    st.sampled_from([(0, 40, 1), (0, 100, 7), (0, 33, 10), (0, 50, 3)]),
    st.integers(0, 2),
)
def test_moves_never_reach_beyond_the_bound(
    moves: list[tuple[int, int]], grid: tuple[int, int, int], still: int
) -> None:
    """Records move on the raw line, are snapped to a grid, and the EMD is an optimal assignment, not our formula."""
    low, high, step = grid
    space = Line(low, high, unit="years", step=step, cells=True)
    raw = np.clip(np.array([a / 10 for a, _ in moves] + [low + 0.5] * still), low, high)
    new = np.clip(raw + np.array([d / 10 for _, d in moves] + [0.0] * still), low, high)
    first, second = space.encode(raw), space.encode(new)
    cost = space.distance(first[:, None], second[None, :])
    result = float(cost[linear_sum_assignment(cost)].mean())
    tau = Fraction(len(moves), len(raw))
    q = sum((Fraction(abs(b - a)) for a, b in zip(raw[: len(moves)], new, strict=False)), Fraction(0)) / len(moves)
    if q > 0:
        assert result <= float(emd_of(exposure_at(PromiseLimit(tau, q, 1), SpaceRef.of(space), "line years"))) * (
            1 + 1e-12
        )


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    st.lists(st.integers(0, 9), min_size=6, max_size=6),
    st.integers(1, 6),
    st.sampled_from([1.0, 2.5, 5.0]),
)
def test_the_price_of_noise_covers_what_the_answer_can_move(
    items: list[int], others: list[int], moved: int, cap: float
) -> None:
    """A second route: the change of the mean of a clipped function, measured, in units of the noise."""
    space = Line(0, 10, unit="km", points=[0.5 + i for i in range(10)])
    f = np.minimum(np.arange(10.0), cap)  # 1-Lipschitz per kilometre, ell = 10 per diameter, B = cap
    moved = min(moved, len(items))
    new = [*others[:moved], *items[moved:]]
    q = sum(Fraction(abs(a - b)) for a, b in zip(items[:moved], new, strict=False)) / moved
    if q == 0:
        return
    ref = SpaceRef(space.kind, space.digest, 10, "km", "line km", 0)  # records are the points themselves
    noise = KNormNoise(7, model="central", range_ratio=Fraction(cap) / 10)
    promise = PromiseLimit(Fraction(moved, len(items)), q, 1)
    cost = cost_of(noise, Fraction(0), ref, [promise], "line km").epsilons[0]
    loss = 7 * abs(f[items].mean() - f[new].mean()) / 10
    assert loss <= float(cost) * (1 + 1e-12)
    assert float(cost) <= 7 * float(promise.share) * cap / 10 * (1 + 1e-12)


def test_gaussian_noise_is_priced_by_its_profile_at_the_promise() -> None:
    delta = Fraction(1, 10**9)
    noise = GaussianNoise(3, delta=delta, model="central", range_ratio="1/10")
    guarantee = price(noise)
    result = cost_of(noise, delta, COARSE, [NEAR, DAY], "earth km")
    mu = [3 * 0.1, 3 / 30 * 0.1]  # the range binds at both: 0.21 and 16/30 are above 0.1
    for epsilon, at in zip(result.epsilons, mu, strict=True):
        assert norm_delta(at, float(epsilon)) <= float(delta)
        assert norm_delta(at, float(epsilon) * 0.98) > float(delta)
    assert result.delta == delta
    assert max(result.epsilons) < guarantee.definition.parameters["alpha"] * Fraction(21, 100)


def norm_delta(mu: float, epsilon: float) -> float:
    """delta of Gaussian differential privacy, by its formula."""
    return float(norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2))


def test_metric_names() -> None:
    assert Line(0, 10, unit="km", step=1, cells=True).metric_name == Line(5, 9, unit="km").metric_name == "line km"
    assert Line(0, 10, step=1, cells=True).metric_name != Line(0, 11, step=1, cells=True).metric_name
    assert Circle.hours(1).metric_name == Circle.hours(0.5).metric_name
    assert Circle(24, unit="h", step=1).metric_name != Circle(12, unit="h", step=1).metric_name
    assert Earth(box=(40, -75, 41, -73), cell=5).metric_name == Earth(cell=50).metric_name == "earth km"
    assert Discrete(["a", "b"]).metric_name != Discrete(["a", "c"]).metric_name


@pytest.mark.parametrize(
    "made",
    [
        budget(),
        budget(NEAR, PromiseLimit("1/30", 10, "0.5", scope="any month"), calendar=Calendar("month", "UTC")),
        Budget("a", 3, "earth km", Promises([NEAR]), groups={"region": {"north": 1, "south": 2}}),
        Budget("a", 3, "product", Promises([PromiseLimit("1/3", [5, 2], "0.1"), PromiseLimit(1, None, 3)])),
        Budget("a", 3, "earth km", Promises([NEAR], "1/3", model="local", bounded=True), items=7),
        Budget("visits", 1083, COARSE, Emd(10, "1e-9"), user_level=UserLevel(1), composition="quadrature"),
        Budget("visits", 1083, AGES, DiscreteEmd(1, radius="1/10")),
    ],
)
def test_reprs_say_what_was_typed(made: Budget) -> None:
    from barrow.promises import Model

    names = [Budget, Calendar, DiscreteEmd, Emd, Fraction, Model, PromiseLimit, Promises, SpaceRef, UserLevel]
    assert eval(repr(made).replace("<Model.CENTRAL: 'central'>", "'central'"), {n.__name__: n for n in names}) == made


def test_distances_do_not_depend_on_the_grid() -> None:
    promise = Promise("all", "300 m", 1)
    grids = [Earth(box=(40, -75, 41, -73), cell=cell) for cell in (1, 3, 10)]
    assert {PromiseLimit.of(promise, grid) for grid in grids} == {NEAR}
    everywhere = PromiseLimit.of(Promise("1/10", "anywhere", 2), grids[0])
    assert (everywhere.distances, everywhere.text) == ((), "a share of 1/10 of the data anywhere")
    assert emd_of(exposure_at(everywhere, COARSE, "earth km")) == Fraction(1, 10)


def test_products_have_a_distance_for_each_part() -> None:
    promise = PromiseLimit("1/10", [5, 2], 1, text="1 of 10 by 5 km and 2 h")
    assert promise.distances == (5, 2)
    assert emd_of(exposure_at(promise, COARSE, "earth km")) == Fraction(1, 10)
    subset = Budget("visits", 3, "product", Promises([promise]))
    assert budget_from_json(json.loads(json.dumps(subset.to_json()))) == subset


@pytest.mark.parametrize(
    "make",
    [
        lambda: Promises([]),
        lambda: Promises([(1, 1, 1), (1, "1.0", 2)]),
        lambda: Promises([(1, 1, 1)], delta=1),
        lambda: PromiseLimit(0, 1, 1),
        lambda: PromiseLimit(1, 0, 1),
        lambda: PromiseLimit(1, -1, 1),
        lambda: PromiseLimit(1, [], 1),
        lambda: PromiseLimit(1, "0.3 km", 1),
        lambda: PromiseLimit(1, 1, 0),
        lambda: PromiseLimit(1, 1, 1, text="x" * 201),
        lambda: Budget("visits", 3, "", Promises([(1, 1, 1)])),
        lambda: Budget("visits", 3, "earth km", Emd(1)),
        lambda: Budget("visits", 3, SpaceRef("line", "x", 1, ""), Promises([(1, 1, 1)])),
        lambda: Budget("visits", 3, "earth km", Promises([(1, 1, 1)]), user_level=UserLevel(1)),
        lambda: Budget("visits", 3, "earth km", Promises([(1, 1, 1)]), composition="quadrature"),
        lambda: Budget("visits", 3, "earth km", Promises([(1, 1, 1)]), items=3),
    ],
)
def test_bad_budgets(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()


def test_overview_by_whom_by_question_and_csv(ledger: Ledger) -> None:
    paid = pay(ledger, "k1", emd(1), charges=["0.3", "0.1"], question="map", folder="release/map")
    ledger.commit(paid, OUTPUTS)
    pay(ledger, "k2", emd(1, "1e-10"), charges=["0.32", "0.1"], question="=cmd()", folder="release/mean")
    overview = ledger.overview()
    assert overview.sentences() == [
        "all data by 300 m: ε 0.62 of 1 used.",
        "1 day of 30 by 10 km: ε 0.2 of 0.5 used.",
        "delta: 1e-10 of 1e-9 used.",
        "Shares are of all records that a person has in 'visits'; a release about records selected by "
        "a query or a period is charged its worst case.",
    ]
    assert overview.columns == ("#", "when (UTC)", "question", "key", "ε 1", "ε 2", "δ", "who", "folder", "result")
    assert overview.cells()[0][2:6] == ("map", "k1", "0.3", "0.1")
    assert overview.used_by("question") == {
        "map": (Fraction(3, 10), Fraction(1, 10)),
        "=cmd()": (Fraction(32, 100), Fraction(1, 10)),
    }
    assert list(overview.used_by("who").values()) == [(Fraction(62, 100), Fraction(1, 5))]
    lines = overview.to_csv().splitlines()
    assert "epsilon: all data by 300 m,epsilon: 1 day of 30 by 10 km,delta" in lines[0]
    assert "'=cmd()" in lines[2]
    assert lines[1].endswith(f"released,{OUTPUTS}")
    data = json.loads(json.dumps(overview.to_json()))
    assert data["promises"][0] == {"promise": "all data by 300 m", "used": "0.62", "of": "1", "in_all_periods": None}
    assert [line.left.loss for line in overview.lines] == [Fraction(4, 10), Fraction(3, 10)]
    with pytest.raises(ParameterError, match="promise 1"):
        ledger.left()
    assert ledger.left("promise 2").loss == Fraction(3, 10)
    assert "<table>" in overview.to_html()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(*[st.fractions(0, 1, max_denominator=10**6)] * 2), min_size=1, max_size=12))
def test_no_promise_is_ever_exceeded(charges: list[Any]) -> None:
    ledger = Ledger(MemoryStore([first_row(budget())]))
    subset = [Fraction(0), Fraction(0)]
    for number, pair in enumerate(charges):
        fits = all(a + b <= limit.epsilon for a, b, limit in zip(subset, pair, (NEAR, DAY), strict=True))
        try:
            pay(ledger, str(number), emd(1), charges=pair)
        except OverBudgetError:
            assert not fits
        else:
            assert fits
            subset = [a + b for a, b in zip(subset, pair, strict=True)]
    assert used(ledger) == subset


@given(st.fractions(0, 5))
def test_long_epsilons_are_rounded_up(epsilon: Fraction) -> None:
    result = Price((epsilon,), Fraction(0)).epsilons[0]
    assert epsilon <= result <= epsilon + Fraction(1, 10**36)
    assert result.denominator.bit_length() <= 120


def test_sums_of_many_computed_prices_stay_readable() -> None:
    ledger = Ledger(MemoryStore([first_row(budget())]))
    for number in range(40):
        pay(ledger, str(number), emd(Fraction(1, 3**90 + number)), charges=[Fraction(1, 3**90 + 2 * number), 0])
    assert len(str(used(ledger)[0])) < 100
    assert ledger.verify().within_limits is True


GRIDS = [Line(0, 8, unit="km", step=step, cells=True) for step in (0.5, 2, 4)]
LIMIT = PromiseLimit(1, 1, "1.5", text="all data by 1 km")


def spends(rng: random.Random, pair: tuple[float, float], snapping: bool, left: Fraction, rounds: int) -> list[Any]:
    """All outcomes of a spender who chooses grid and alpha from what came out so far, on two versions of the raw data.

    On each grid the release is the most telling one that alpha-EMD-DP allows for this pair.
    """
    if rounds == 0:
        return [(1.0, 1.0)]
    grid = rng.choice(GRIDS)
    ref = SpaceRef.of(grid)
    ref = ref if snapping else SpaceRef(ref.kind, ref.digest, ref.diameter, ref.unit, ref.metric, 0)
    per_alpha = emd_of(exposure_at(LIMIT, ref, "line km"))
    alpha = rng.choice([1, 2, 3]) * left / 3 / per_alpha
    apart = float(grid.distance(*grid.encode(list(pair))))
    outcomes = []
    for p, q in worst_pair(float(alpha) * apart, 0.0):
        rest = spends(rng, pair, snapping, left - alpha * per_alpha, rounds - 1)
        outcomes += [(p * a, q * b) for a, b in rest]
    return outcomes


def worst_of(snapping: bool) -> float:
    """The largest hockey-stick divergence at the promise's epsilon over pairs at most 1 km apart."""
    result = 0.0
    for seed, (a, b) in itertools.product(range(6), [(1.9, 2.1), (3.5, 4.5), (3.99, 4.01), (1.75, 2.25), (5.0, 6.0)]):
        result = max(result, telling(spends(random.Random(seed), (a, b), snapping, LIMIT.epsilon, 3), 1.5))
    return result


def test_promises_are_kept_by_enumeration() -> None:
    assert worst_of(snapping=True) <= 1e-12


def test_the_enumeration_sees_grids_that_do_not_pay_for_snapping() -> None:
    assert worst_of(snapping=False) > 0.01


def test_what_a_release_sees_of_a_promise():
    grid, promise = SpaceRef("earth", "sha256:00", 30, "km", "earth km", "1/100"), PromiseLimit("1/10", "0.3", 1)
    assert emd_of(exposure_at(promise, grid, "earth km")) == Fraction(3, 1000)
    assert emd_of(exposure_at(promise, grid, "line years")) == 1
