"""Which budget pays, how much, and the exactness of the check."""

from __future__ import annotations

import math
import pickle
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.accounting import price
from barrow.errors import LedgerError, ParameterError
from barrow.ledger import Budget, SpaceRef
from barrow.ledger.budget import Amount, budget_from_json, show_amount
from barrow.ledger.charges import AdditiveComposer, Charge, as_limit, charge_for, running_totals, spent_by, worst_case
from barrow.ledger.digits import show, typed_down
from barrow.ledger.errors import NotCoveredError, OverBudgetError
from barrow.numerics import exact
from barrow.promises import DiscreteEmd, Emd, Guarantee, ItemMetric, PureRelease, SampledItems, UserLevel, to_discrete
from barrow.spaces import Earth, Line
from tests.ledger.helpers import EARTH, LINE, budget, guarantee

EVENT = PureRelease(1, model="central")


def charged(b: Budget, definition: Any, worst: UserLevel | None = None, **options: Any) -> Charge:
    given = {"space": LINE, "dataset": "visits", "users": 1083, **options}
    return charge_for(b, event=EVENT, guarantee=Guarantee(definition, "test", "def:emd-dp", worst), **given)


def test_a_budget_is_bound_to_the_space_of_the_study() -> None:
    line = Line(0, 10, unit="km")
    b = Budget("visits", 1083, line, Emd(5))
    assert (b.space.kind, b.space.digest, b.space.unit) == ("line", line.digest, "km")
    assert b.space.diameter == 10
    assert budget_from_json(b.to_json()) == b
    assert Budget("visits", 1083, Earth(), Emd(5)).space != b.space


MODELS = ("local", "shuffle", "central")


@pytest.mark.parametrize("own", MODELS)
@pytest.mark.parametrize("asked", MODELS)
def test_models_go_one_way(own: str, asked: str) -> None:
    b, definition = budget(model=own), Emd(2, "1e-9", model=asked)
    if MODELS.index(asked) <= MODELS.index(own):
        assert charged(b, definition).amount == Amount(2, "1e-9")
    else:
        with pytest.raises(NotCoveredError, match="says nothing in the"):
            charged(b, definition)


def test_boundedness_goes_one_way() -> None:
    bounded, unbounded = budget(items=100), budget()
    assert charged(bounded, Emd(2)).amount.loss == 2
    assert charged(bounded, Emd(2, bounded=True), items=100).amount.loss == 2
    for b in (bounded, unbounded):
        for items in (None, 99):
            with pytest.raises(NotCoveredError, match="items"):
                charged(b, Emd(2, bounded=True), items=items)
    with pytest.raises(NotCoveredError):
        charged(unbounded, Emd(2, bounded=True), items=100)


def test_a_bounded_release_of_another_m_is_not_paid_by_the_user_level_budget_either() -> None:
    b = budget(items=100, user_level=UserLevel(5, bounded=True))
    with pytest.raises(NotCoveredError, match="items"):
        charged(b, Emd(2, bounded=True), items=99, space=EARTH)
    assert charged(b, Emd(2, bounded=True), items=100, space=EARTH).account == "user"


def test_discrete_budgets() -> None:
    b = Budget("visits", 1083, LINE, DiscreteEmd(1, "1e-6", radius="0.01", model="central"))
    assert b.symbol == "epsilon"
    assert charged(b, DiscreteEmd("0.2", "1e-9", radius="0.01")).amount == Amount("0.2", "1e-9")
    assert charged(b, Emd(25, model="local")).amount == Amount("0.25", 0)
    assert charged(b, UserLevel("0.5")).amount.loss == Fraction(1, 2)
    # A smaller radius is reached in several steps (group privacy), a larger one contains ours.
    assert charged(b, DiscreteEmd("0.2", 0, radius="0.004")).amount.loss == Fraction(3, 5)
    assert charged(b, DiscreteEmd("0.2", 0, radius="0.5")).amount.loss == Fraction(1, 5)
    two = charged(b, DiscreteEmd("0.2", "1e-9", radius="0.005")).amount.delta
    assert Fraction("2.22e-9") < two < Fraction("2.23e-9")  # 1e-9 (1 + e^0.2) = 2.2214e-9
    with pytest.raises(NotCoveredError):
        charged(b, Emd(2, bounded=True), items=100)


@pytest.mark.parametrize("definition", [DiscreteEmd("0.2", radius="0.01"), UserLevel(1), ItemMetric(1)])
def test_other_definitions_are_refused(definition: Any) -> None:
    with pytest.raises(NotCoveredError, match="never added"):
        charged(budget(), definition)


@pytest.mark.parametrize("options", [{"dataset": "other"}, {"users": 1084}])
def test_another_data_set_or_n_is_refused_even_with_a_user_level_budget(options: dict[str, Any]) -> None:
    with pytest.raises(NotCoveredError, match="1083 of 'visits'"):
        charged(budget(user_level=UserLevel(5)), Emd(1), **options)


def test_another_space() -> None:
    with pytest.raises(NotCoveredError, match="Alphas of different records, spaces or definitions") as caught:
        charged(budget(), Emd(1), space=EARTH)
    assert "earth" in str(caught.value)
    assert "--user-epsilon" in str(caught.value.fix)
    b = budget(user_level=UserLevel(3, "1e-6"))
    # theory D1: its own worst case where it has one, else alpha times the diameter (1), else group privacy.
    assert charged(b, Emd(121), UserLevel("1.06"), space=EARTH).amount == Amount("1.06", 0)
    assert charged(b, Emd(2, "1e-9"), space=EARTH).amount == Amount(2, "1e-9")
    assert charged(b, DiscreteEmd("0.2", radius="0.3"), space=EARTH).amount.loss == Fraction(4, 5)
    assert charged(b, UserLevel(1, "1e-8", model="local"), space=EARTH).amount == Amount(1, "1e-8")
    assert charged(b, Emd(2)).account == "main"
    assert charged(b, Emd(2), UserLevel("0.1")).amount.loss == 2
    with pytest.raises(NotCoveredError, match="about a whole user"):
        charged(b, ItemMetric(1), space=EARTH)


def test_the_user_level_budget_keeps_its_model_and_size() -> None:
    local = budget(user_level=UserLevel(3, model="local"), model="local")
    with pytest.raises(NotCoveredError, match="worst case"):
        charged(local, Emd(1, model="central"), space=EARTH)
    with pytest.raises(NotCoveredError, match="worst case"):
        charged(budget(user_level=UserLevel(3)), Emd(1), UserLevel(1, bounded=True), space=EARTH)


SAMPLED = SampledItems(samples=1000, radius="0.01", delta="1e-9", inner=PureRelease(20, model="central", bounded=True))


def sampled(b: Budget) -> Charge:
    return charge_for(b, event=SAMPLED, guarantee=price(SAMPLED), space=LINE, dataset="visits", users=1083)


@pytest.mark.parametrize("radius", ["0.005", "0.01", "0.02", "0.1", "1"])
def test_samples_are_priced_at_the_radius_of_the_budget(radius: str) -> None:
    b = Budget("visits", 1083, LINE, DiscreteEmd(5, "1e-6", radius=radius, model="central"))
    there = SampledItems(samples=1000, radius=radius, delta="1e-9", inner=SAMPLED.inner)
    result = sampled(b)
    assert result.amount == Amount(price(there).definition.parameters["epsilon"], "1e-9")
    if radius != "1":  # there steps of the release's own radius promise nothing any more
        steps = to_discrete(price(SAMPLED).definition, radius=radius).definition.parameters  # type: ignore[arg-type]
        assert result.amount.loss <= steps["epsilon"]
    assert (result.event, result.guarantee) == (SAMPLED, price(SAMPLED))


def test_samples_pay_in_alpha() -> None:
    """A bounded release of alpha 20 on 1000 samples is unbounded EMD-DP with 20 e^0.02, whatever radius is stated."""
    paid = sampled(budget(1000))
    assert (paid.account, paid.amount) == ("main", Amount(price(SAMPLED.at(None)).definition.parameters["alpha"], 0))
    assert float(paid.amount.loss) == pytest.approx(20 * math.exp(0.02))
    both = Budget("visits", 1083, LINE, Emd(50, "1e-6"), user_level=UserLevel(50, "1e-6"))
    assert (sampled(both).account, sampled(both).amount) == ("main", paid.amount)
    bounded = Budget("visits", 1083, LINE, Emd(50, "1e-6", bounded=True), items=7)
    assert sampled(bounded).amount == paid.amount


def test_a_foreign_discrete_guarantee_does_not_pay_in_alpha() -> None:
    """Below the radius its epsilon need not shrink, so no alpha holds at every distance."""
    foreign = PureRelease(20, model="central")
    guarantee = Guarantee(DiscreteEmd(1, "1e-9", radius="0.01", model="central"), "elsewhere", "unknown")
    with pytest.raises(NotCoveredError, match="says nothing in terms of the budget") as caught:
        charge_for(budget(1000), event=foreign, guarantee=guarantee, space=LINE, dataset="visits", users=1083)
    assert "samples pay in alpha" in str(caught.value)


def test_group_privacy_that_promises_nothing_is_refused() -> None:
    b = budget(user_level=UserLevel(3000, "1e-6"))
    with pytest.raises(NotCoveredError, match="is no guarantee"):
        charged(b, DiscreteEmd(1, "1e-6", radius="0.001"), space=EARTH)


@pytest.mark.parametrize(
    "make",
    [
        lambda: budget(alpha=-1),
        lambda: budget(alpha=0),
        lambda: budget(alpha="ten"),
        lambda: budget(alpha=float("nan")),
        lambda: budget(alpha=float("inf")),
        lambda: budget(delta=-1),
        lambda: budget(delta=1),
        lambda: budget(groups={"region": {"north": 1}}),
        lambda: budget(items=0),
        lambda: Budget("", 3, LINE, Emd(1)),
        lambda: Budget("a", 0, LINE, Emd(1)),
        lambda: Budget("a", 2.5, LINE, Emd(1)),  # type: ignore[arg-type]
        lambda: Budget("a", True, LINE, Emd(1)),
        lambda: Budget("a", 3, LINE, UserLevel(1)),
        lambda: Budget("a", 3, LINE, Emd(1), items=3),
        lambda: Budget("a", 3, LINE, Emd(1, bounded=True)),
        lambda: Budget("a", 3, LINE, Emd(1), user_level=Emd(1)),
        lambda: Amount(-1, 0),
        lambda: Amount(0, "x"),
        lambda: SpaceRef("line", "d", "wide", "km"),
    ],
)
def test_bad_budgets(make: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.allowed


fractions = st.fractions(min_value=0, max_value=10**6)


@given(st.lists(st.tuples(fractions, fractions), max_size=8))
@settings(deadline=None, max_examples=100)
def test_addition_is_exact(pairs: list[tuple[Fraction, Fraction]]) -> None:
    charges = [Charge("main", Amount(a, d), EVENT, guarantee(1)) for a, d in pairs]
    total = AdditiveComposer().total(charges, Amount(1, 0))
    assert (total.loss, total.delta) == (sum(a for a, _ in pairs), sum(d for _, d in pairs))
    assert total.fits(total)
    assert not (total + Amount(Fraction(1, 10**40), 0)).fits(total)
    assert not (total + Amount(0, Fraction(1, 10**40))).fits(total)


def worst_pair(epsilon: float, delta: float) -> list[tuple[float, float]]:
    """The most telling (epsilon, delta)-close pair of distributions, outcome by outcome."""
    high = (1 - delta) / (1 + math.exp(-epsilon))
    low = 1 - delta - high
    return [(delta, 0.0), (high, low), (low, high), (0.0, delta)]


def adaptive(rng: random.Random, left: Amount, rounds: int) -> list[tuple[float, float]]:
    """All outcomes of a spender who looks at each output before choosing the next amount, within the budget."""
    if rounds == 0:
        return [(1.0, 1.0)]
    amount = Amount(left.loss * rng.choice([0, 1, 2, 4]) / 4, left.delta * rng.choice([0, 1, 2, 4]) / 4)
    outcomes = []
    for p, q in worst_pair(float(amount.loss), float(amount.delta)):
        rest = adaptive(rng, left.less(amount), rounds - 1)
        outcomes += [(p * a, q * b) for a, b in rest]
    return outcomes


def telling(outcomes: list[tuple[float, float]], epsilon: float) -> float:
    """The smallest delta at ``epsilon``: the hockey-stick divergence, by enumeration."""
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in outcomes)


@pytest.mark.parametrize("seed", range(20))
def test_adaptive_spending_keeps_the_limit_by_enumeration(seed: int) -> None:
    """The claim of docs/proofs/budget.md, and that the enumeration would see a smaller limit fail."""
    limit = Amount("1.5", "0.1")
    outcomes = adaptive(random.Random(seed), limit, 4)
    assert sum(p for p, _ in outcomes) == pytest.approx(1)
    assert telling(outcomes, 1.5) <= 0.1 + 1e-12
    all_at_once = worst_pair(1.5, 0.1)
    assert telling(all_at_once, 1.5) == pytest.approx(0.1)
    assert telling(all_at_once, 1.45) > 0.1


def test_addition_is_tight_by_enumeration() -> None:
    """Three pure releases: at the sum nothing is left, just below it something is."""
    outcomes = [(1.0, 1.0)]
    for epsilon in (0.2, 0.5, 0.8):
        outcomes = [(p * a, q * b) for p, q in outcomes for a, b in worst_pair(epsilon, 0)]
    assert telling(outcomes, 1.5) <= 1e-12
    assert telling(outcomes, 1.4) > 1e-3


@given(st.fractions(min_value=0, max_value=10**30))
@settings(deadline=None, max_examples=300)
def test_typed_numbers_are_safe(value: Fraction) -> None:
    """What is offered as fitting is never above what is left, and nearly all of it."""
    typed = exact(typed_down(value))
    assert typed <= value
    assert value - typed <= value * Fraction(1, 10**11)
    assert show(value).startswith("≈") == (typed != value)


@pytest.mark.parametrize("text", ["0", "1", "129", "0.2", "1e-12", "24.87", "123456789012", "0.000123", "1e20"])
def test_short_decimals_are_shown_as_they_are(text: str) -> None:
    assert exact(show(exact(text))) == exact(text)
    assert len(show(exact(text))) <= max(len(text), 6)


def test_over_budget_says_what_would_fit() -> None:
    error = OverBudgetError.of(Amount(200, "2e-9"), Amount("1/3", "1e-9"), symbol="alpha", whose="'visits'")
    text = str(error)
    for line in ("Requested   alpha 200, delta 2e-9", "Remaining   alpha ≈0.3333, delta 1e-9", "Difference  "):
        assert line in text
    assert error.fix == "alpha=0.333333333333 with delta=1e-9 fits"
    assert error.difference == Amount(200 - Fraction(1, 3), "1e-9")
    spent = OverBudgetError.of(Amount(1, 0), Amount(0, 0), symbol="alpha", whose="'visits'", later="wait")
    assert spent.fix == "nothing: this budget is spent; wait"
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, LedgerError)
    assert copy.to_json() == error.to_json()


GRID = SpaceRef("line", "sha256:00", 10, "km")


ALPHA = Budget("visits", 3, GRID, Emd(25))


def charge(loss):
    guarantee = Guarantee(Emd(loss, model="central"), "pure", "def:emd-dp")
    return Charge("main", Amount(loss, 0), PureRelease(loss, model="central"), guarantee)


def test_who_pays_and_how_much():
    budget = Budget("visits", 1083, GRID, Emd(250, "1e-9", model="central"))
    guarantee = Guarantee(Emd(121, model="local"), "knorm", "lemma:lin")
    pure_release = PureRelease(121, model="local")
    paid = charge_for(budget, event=pure_release, guarantee=guarantee, space=GRID, dataset="visits", users=1083)
    assert (paid.account, paid.amount.loss) == ("main", 121)
    assert worst_case(Guarantee(Emd(5, model="central"), "pure", "def:emd-dp")).epsilon == 5
    assert [len(spent_by([charge(1), charge(2)], account)) for account in ("main", "user")] == [2, 0]
    totals = running_totals(ALPHA, [charge("1/3")] * 3, AdditiveComposer())
    assert [str(total.loss) for total in totals] == ["1/3", "2/3", "1"]
    assert show_amount(Amount(25, "1e-12"), "alpha") == "alpha 25, delta 1e-12"


def test_as_limit():
    assert (
        str(as_limit(Emd(25, model="local"), DiscreteEmd(1, radius="0.01", model="central")))
        == "(ε=0.25, δ=0, r=0.01)-discrete EMD-DP (central)"
    )
