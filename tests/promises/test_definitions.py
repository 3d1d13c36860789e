"""The nine definitions, their maps, and what one implies about another."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.promises import (
    DiscreteEmd,
    Emd,
    Guarantee,
    ItemMetric,
    Model,
    UserLevel,
    definition_from_json,
    group_delta_upper,
    guarantee_from_json,
    item_to_emd,
    to_bounded,
    to_discrete,
    to_emd,
    to_model_of,
    to_user_level,
)
from barrow.promises.definitions import positive, probability

NINE = [
    ItemMetric(25, "1e-9"),
    UserLevel(1, "1e-9", model="local"),
    UserLevel(1, "1e-9", model="central"),
    Emd(25, "1e-9", model="local", bounded=True),
    Emd(25, "1e-9", model="local"),
    DiscreteEmd("0.2", "1e-9", radius="0.01", model="local"),
    Emd(25, "1e-9", model="central", bounded=True),
    Emd(25, "1e-9", model="central"),
    DiscreteEmd("0.2", "1e-9", radius="0.01", model="central"),
]
SHARE = st.fractions(min_value=Fraction(1, 10**6), max_value=1)


def test_there_are_nine_and_they_say_what_they_are():
    kinds = {(type(d).__name__, d.distance, d.model, d.bounded) for d in NINE}
    assert len(kinds) == 9
    assert {d.distance for d in NINE} == {"item", "user", "EMD"}
    assert len({str(d) for d in NINE}) == 9


@pytest.mark.parametrize("definition", NINE, ids=str)
def test_they_are_frozen_and_round_trip_through_json(definition):
    with pytest.raises(AttributeError):
        definition.delta = 0
    assert definition_from_json(definition.to_json()) == definition
    guarantee = Guarantee(definition, "test", "none", UserLevel(3, model="central"))
    assert guarantee_from_json(guarantee.to_json()) == guarantee


@settings(max_examples=200, deadline=None)
@given(SHARE, SHARE)
def test_maps_are_monotone_and_rounded_up(v, w):
    v, w = sorted((v, w))
    for definition in NINE:
        assert definition.epsilon_at(v) <= definition.epsilon_at(w)
        assert definition.delta_at(v) <= definition.delta_at(w)
    emd = NINE[4]
    assert Fraction(emd.epsilon_at(w)) >= emd.alpha * w
    assert Fraction(emd.delta_at(w)) >= emd.delta


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-3, 8), st.floats(1e-30, 1e-3), st.integers(1, 200))
def test_group_privacy_is_the_geometric_sum(epsilon, delta, steps):
    with mpmath.workdps(60):
        eps = mpmath.mpf(epsilon)
        total = mpmath.mpf(delta) * sum(mpmath.exp(i * eps) for i in range(steps))
    ours = group_delta_upper(epsilon, delta, steps)
    assert ours >= min(1, total) * (1 - mpmath.mpf(10) ** -40)
    if total < 1:
        assert ours <= total * (1 + 1e-9)


def test_group_privacy_holds_on_a_chain_where_the_papers_constants_do_not():
    """A chain of randomised responses whose delta accumulates: the geometric sum is attained, the paper's are not safe.

    P_0, ..., P_k on two outputs with P_{i+1}(1) = e^eps P_i(1) + delta: each neighbouring pair is (eps, delta), and
    after k steps the hockey-stick divergence at k eps is exactly the geometric sum.
    """

    def chain(eps: float, delta: float, k: int) -> float:
        p = 0.0
        for _ in range(k):
            p = math.exp(eps) * p + delta
        return p  # P_k(1) - e^{k eps} P_0(1) with P_0(1) = 0

    for eps, delta, k in ((2.0, 1e-7, 5), (0.01, 1e-6, 50)):
        real = chain(eps, delta, k)
        assert group_delta_upper(eps, delta, k) == pytest.approx(real, rel=1e-9)
        assert group_delta_upper(eps, delta, k) >= real * (1 - 1e-12)
    assert chain(2.0, 1e-7, 5) > 1e-7 * 5 * math.exp(5)  # Fact ref:group lacks epsilon in the exponent
    assert chain(0.01, 1e-6, 50) > 1e-6 * math.exp(0.01 * 50)  # Table 1 lacks the factor ceil(d/r)


def exact_delta(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def test_the_d_min_translation_needs_the_number_of_items():
    """Randomised response of the majority is user-level DP; its EMD rate is epsilon m/d_min, not epsilon/d_min."""
    m, epsilon = 5, 1.0
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    rates = []
    for ones in range(m + 1):
        for other in range(m + 1):
            if ones == other:
                continue
            p = np.array([keep, 1 - keep]) if 2 * ones > m else np.array([1 - keep, keep])
            q = np.array([keep, 1 - keep]) if 2 * other > m else np.array([1 - keep, keep])
            w = abs(ones - other) / m  # discrete space, d_min = 1
            rates.append(float(np.log(p / q).max()) / w)
    bound = to_emd(UserLevel(1, model="local"), items=m, least_distance=1)
    assert max(rates) == pytest.approx(float(bound.definition.alpha))
    assert max(rates) > epsilon * 1.01  # the translation of Section 8 read naively would fail here
    assert bound.theorem == "sec:interpret"


def test_conversions_name_their_theorem_and_are_safe():
    emd = Emd(25, "1e-12", model="local")
    assert to_user_level(emd).definition == UserLevel(25, "1e-12", model="local")
    assert to_user_level(emd, largest_distance="1/5").definition == UserLevel(5, "1e-12", model="local")
    assert to_bounded(emd).definition == Emd(25, "1e-12", model="local", bounded=True)
    assert to_bounded(UserLevel(1)).definition.bounded
    assert to_discrete(emd, radius="0.02").definition == DiscreteEmd("0.5", "1e-12", radius="0.02", model="local")
    assert to_discrete(UserLevel(1), radius=1).definition == DiscreteEmd(1, radius=1)
    assert to_model_of(emd, "shuffle").definition.model is Model.SHUFFLE
    assert to_model_of(UserLevel(1, model="local"), "central").definition == UserLevel(1)
    assert item_to_emd(ItemMetric("0.025"), items=1000).definition == Emd(25, model="local", bounded=True)
    fine = DiscreteEmd("0.2", "1e-12", radius="0.01")
    assert to_discrete(fine, radius="0.001").definition.epsilon == Fraction(1, 5)
    coarse = to_discrete(fine, radius="0.1")
    assert coarse.definition.epsilon == 2
    assert coarse.definition.delta >= Fraction(group_delta_upper("0.2", "1e-12", 10))
    assert coarse.theorem == "ref:group"
    assert to_user_level(fine).definition.epsilon == 20


@settings(max_examples=100, deadline=None)
@given(SHARE, SHARE)
def test_an_implied_definition_never_promises_more(radius, w):
    """At every w the implied (eps, delta) is at least the one it came from."""
    emd = Emd(25, "1e-12", model="central")
    for implied in (to_user_level(emd), to_discrete(emd, radius=radius), to_bounded(emd), to_model_of(emd, "central")):
        assert implied.definition.epsilon_at(w) >= emd.epsilon_at(w)
        assert implied.definition.delta_at(w) >= emd.delta_at(w)


WRONG = {
    "alpha": (lambda: Emd(0), "alpha is 0"),
    "alpha text": (lambda: Emd("x"), "not a number"),
    "alpha nan": (lambda: Emd(float("nan")), "not a number"),
    "alpha bool": (lambda: Emd(True), "not a number"),
    "delta": (lambda: Emd(1, 1), "delta is 1"),
    "negative delta": (lambda: Emd(1, "-1e-9"), "delta is -1e-9"),
    "radius": (lambda: DiscreteEmd(1, radius=2), "radius is 2"),
    "model": (lambda: Emd(1, model="global"), "model is 'global'"),
    "w": (lambda: Emd(1).epsilon_at(2), "w is 2"),
    "steps": (lambda: group_delta_upper(1, 0.1, 0), "steps is 0"),
    "trust": (lambda: to_model_of(Emd(1, model="central"), "local"), "says nothing in the local model"),
    "bounded": (lambda: to_discrete(Emd(1, bounded=True), radius=1), "one public size"),
    "vacuous": (lambda: to_user_level(DiscreteEmd(1, "1e-3", radius="1/100")), "is no guarantee"),
    "items": (lambda: to_emd(UserLevel(1), items=0, least_distance=1), "items is 0"),
    "impure": (lambda: item_to_emd(ItemMetric(1, "1e-9"), items=10**9), "delta = 1e-09"),
    "json": (lambda: definition_from_json({"definition": "Nope"}), "'Nope' is not known"),
    "json keys": (lambda: definition_from_json({"definition": "Emd", "beta": 1}), "fields"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused(name):
    call, pattern = WRONG[name]
    with pytest.raises(ParameterError, match=pattern) as error:
        call()
    assert error.value.fix


def test_positive():
    assert positive("25", "alpha") == Fraction(25, 1)


def test_probability():
    assert probability("1e-3") == Fraction(1, 1000)
