"""The paper's rules against its own error bounds; sentences."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.planning.candidates import Candidate, preferred
from barrow.planning.rules import (
    CAVEATS,
    paper_rule_central,
    paper_rule_linear,
    paper_rule_local,
)
from barrow.promises import Emd, Guarantee


def costs(alpha, epsilon, log, k, central):
    """The orders of the paper's Table 2: user-level DP and EMD-DP, without constants and n."""
    mixed = math.sqrt(max(log, alpha))
    if central:
        return k / epsilon, k**1.5 / alpha * mixed
    return math.sqrt(k * k * log) / epsilon, k**1.5 / alpha * mixed


@settings(deadline=None, max_examples=200)
@given(
    epsilon=st.floats(0.01, 50), k=st.integers(2, 5000), m=st.integers(2, 10**6), power=st.integers(3, 15),
    central=st.booleans(),
)  # fmt: skip
def test_rules_are_where_the_papers_bounds_cross(epsilon, k, m, power, central):
    delta = Fraction(1, 10**power)
    rule = (paper_rule_central if central else paper_rule_local)(epsilon, delta, items=k, users_items=m)
    log = math.log(m) + power * math.log(10)
    user, ours = costs(rule.alpha * 1.001, epsilon, log, k, central)
    assert ours < user
    user, ours = costs(rule.alpha * 0.999, epsilon, log, k, central)
    assert ours > user


def test_both_cases_and_their_assumptions():
    assert paper_rule_local(1, "1e-9", items=100, users_items=1000).formula == "eps sqrt(k)"
    assert paper_rule_local(20, "1e-9", items=100, users_items=1000).formula == "eps^2 k/ln(m/delta)"
    assert paper_rule_central("0.1", "1e-9", items=100, users_items=1000).formula == "eps sqrt(k ln(m/delta))"
    rule = paper_rule_central(2, "1e-9", items=10, users_items=10**6, users=1000)
    assert (rule.alpha, rule.holds) == (40.0, True)
    assert not paper_rule_central(2, "1e-9", items=10, users_items=10**6).holds
    assert "does not hold" in paper_rule_local(1, "1e-9", items=100, users_items=100).sentence()
    assert "does not hold" not in paper_rule_linear(1).sentence()


def test_caveats_are_sentences():
    assert all(caveat.endswith(".") for caveat in CAVEATS)
    assert any("medical" in caveat for caveat in CAVEATS)


def test_errors():
    with pytest.raises(ParameterError, match="delta is 0"):
        paper_rule_local(1, 0, items=10, users_items=10)
    with pytest.raises(ParameterError, match="items is 0"):
        paper_rule_central(1, "1e-9", items=0, users_items=10)


def test_preferred():
    both = [Candidate(name, "", Guarantee(Emd(1), "", ""), error) for name, error in (("a", 1.04), ("b", 1.0))]
    assert preferred(both[:1], both[1:]).name == "a"
    assert preferred(both[:1], both[1:], "user_level").name == "b"
