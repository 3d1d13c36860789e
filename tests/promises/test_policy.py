"""Promises to alpha and back: the paper's example, a brute force over changes, and every wrong promise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.numerics import gdp_epsilon_upper
from barrow.promises import (
    Policy,
    Promise,
    odds_epsilon,
    odds_sentence,
    odds_upper,
    parse_share,
    percent_up,
)
from barrow.promises.periods import Window
from barrow.promises.policy import to_promise
from barrow.render import plot
from barrow.render.promises import belief_figure
from barrow.spaces import Discrete, Earth, Line, NoRecords
from barrow.transport import emd_between

PAPER = ["1/30, 1000 mi, 0.2", "1, 100 mi, 0.2"]


def test_the_papers_example_with_the_true_half_circumference():
    policy = Policy(Earth(), PAPER, delta="1e-12")
    assert round(policy.alpha, 2) == 24.87
    assert policy.alpha == pytest.approx(0.2 * math.pi * 6371.0088 / 160.9344, rel=1e-7)
    assert [satisfied.binds for satisfied in policy.satisfied] == [False, True]
    assert policy.satisfied[0].epsilon_got == pytest.approx(0.2 / 3)
    # With the paper's own rounded distances q = 0.08 and 0.008 it is 25.
    rounded = Policy(Earth(), [("1/30", "0.08 of the largest distance", "0.2"), (1, "0.8 %", "0.2")])
    assert rounded.alpha_exact == 25


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.fractions(Fraction(1, 1000), 1), st.fractions(Fraction(1, 1000), 1), st.fractions(Fraction(1, 100), 9)
        ),
        min_size=1,
        max_size=5,
    )
)
def test_every_promise_is_kept_and_one_binds(promises):
    policy = Policy(Discrete(["a", "b"]), promises)
    assert any(subset.binds for subset in policy.satisfied)
    for satisfied in policy.satisfied:
        assert policy.alpha_exact * satisfied.emd <= satisfied.promise.epsilon
        assert satisfied.epsilon_got >= policy.alpha_exact * satisfied.emd
        assert satisfied.binds == (policy.alpha_exact * satisfied.emd == satisfied.promise.epsilon)
    assert Fraction(policy.alpha) <= policy.alpha_exact <= Fraction(policy.worst_epsilon)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 12))
def test_a_promised_change_stays_within_its_emd_after_snapping(seed, size, moved):
    """Second route: move records for real, snap, and measure with the transport package."""
    assume(moved <= size)
    rng = np.random.default_rng(seed)
    line = Line(0, 100, unit="km", step=7, cells=True)
    before = rng.uniform(10, 90, size)
    after = before.copy()
    after[:moved] += rng.uniform(-10, 10, moved)
    q = np.abs(after - before)[:moved].mean()
    assume(q > 1e-6)
    policy = Policy(line, [(Fraction(moved, size), f"{Fraction(float(q)).limit_denominator(10**6) + 1} km", "1")])
    w = emd_between(line, line.encode(before), line.encode(after))
    assert float(policy.alpha_exact) * w <= 1 + 1e-9
    assert policy.satisfied[0].emd >= w - 1e-12


def test_snapping_is_counted_and_a_coarse_grid_gives_less_alpha():
    smooth = Policy(Earth(), ["1, 100 km, 0.2"])
    coarse = Policy(Earth(cell=50), ["1, 100 km, 0.2"])
    rho = Earth(cell=50).snapping_upper * Earth().diameter
    assert smooth.alpha / coarse.alpha == pytest.approx((100 + 2 * rho) / 100, rel=1e-9)
    assert "Snapping" in coarse.explain()
    # Nothing is further away than the largest distance, whatever snapping adds.
    assert Policy(Earth(cell=5000), ["1, anywhere, 1"]).alpha_exact == 1


def test_tables_and_functions_give_the_same_alpha():
    shares, distances = ["1/30", "1/3", 1], ["0.01", "0.1", 1]
    table = [[0.1, 0.2, 0.5], [0.2, 0.6, 1.5], [0.3, 1.0, 4.0]]
    policy = Policy.from_table(Discrete(["a", "b"]), shares=shares, distances=distances, epsilons=table)
    by_hand = min(
        Fraction(table[i][j]) / (parse_share(s) * Fraction(q))
        for i, s in enumerate(shares)
        for j, q in enumerate(distances)
    )
    assert policy.alpha_exact == by_hand

    def step(q: float, tau: float) -> float:
        i = next(i for i, s in enumerate(shares) if tau <= float(parse_share(s)) * (1 + 1e-12))
        j = next(j for j, d in enumerate(distances) if q <= float(d) * (1 + 1e-12))
        return table[i][j]

    grid = np.geomspace(1e-3, 1, 200)
    brute = min(step(q, t) / (q * t) for q in grid for t in np.geomspace(1e-2, 1, 200))
    assert policy.alpha <= brute * (1 + 1e-9)
    assert brute <= policy.alpha * 1.05


@settings(max_examples=200)
@given(st.floats(0, 60))
def test_odds_are_rounded_up(epsilon):
    with mpmath.workdps(40):
        assert odds_upper(epsilon) >= min(1, 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))) * (1 - mpmath.mpf(10) ** -30)
    assert odds_upper(epsilon) <= 1 / (1 + math.exp(-epsilon)) + 1e-14


def four_outcomes(epsilon, delta):
    """P and Q that are (epsilon, delta)-indistinguishable and as far apart as that allows."""
    more, rest = math.exp(epsilon) / (1 + math.exp(epsilon)), 1 - delta
    return [delta, rest * more, rest * (1 - more), 0.0], [0.0, rest * (1 - more), rest * more, delta]


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.05, 0.5])
def test_the_best_guess_is_right_as_often_as_the_odds_say_and_no_more(epsilon, delta):
    p, q = four_outcomes(epsilon, delta)
    for outcomes in itertools.product([0, 1], repeat=4):  # every set, in both directions
        a, b = (sum(x for x, one in zip(side, outcomes, strict=True) if one) for side in (p, q))
        assert max(a - math.exp(epsilon) * b, b - math.exp(epsilon) * a) <= delta + 1e-12
    right = sum(max(x, y) for x, y in zip(p, q, strict=True)) / 2
    assert right == pytest.approx(odds_upper(epsilon, delta), rel=1e-12)
    assert odds_upper(epsilon, delta) >= (math.exp(epsilon) + delta) / (1 + math.exp(epsilon)) * (1 - 1e-15)
    if delta:  # without it too little would be said
        assert odds_upper(epsilon) < right - delta / (2 + 2 * math.exp(epsilon))


@pytest.mark.parametrize("mu", [0.05, 0.5, 2.0])
def test_guesses_between_gaussians_stay_within_the_odds(mu):
    right = float(mpmath.ncdf(mu / 2))  # of the likelihood ratio test
    results = []
    for delta in (1e-9, 1e-4, 1e-2, 0.1):
        epsilon = gdp_epsilon_upper(mu, delta)
        assert right <= odds_upper(epsilon, delta) + 1e-12
        results.append(odds_upper(epsilon, delta) - right)
    assert min(results) < 0.15


def test_the_epsilon_of_odds_is_the_way_back():
    for odds, delta in itertools.product([0.51, 0.6, 0.75, 0.99], [0.0, 1e-6, 0.005]):
        assert odds - 1e-6 <= odds_upper(odds_epsilon(odds, delta), delta) <= odds
    assert odds_epsilon(0.55, 0.3) == 0.0


def test_policies_count_delta_in_every_number_and_sentence():
    space = Line(0, 100, unit="km", step=1)
    plain, counted = (Policy(space, ["all, 20 km, 0.5"], delta=delta) for delta in (0, "0.05"))
    before, after = plain.to_json(), counted.to_json()
    epsilon = after["promises"][0]["epsilon_got"]
    assert after["promises"][0]["odds"] == odds_upper(epsilon, 0.05) > before["promises"][0]["odds"] + 0.015
    assert after["worst_case"]["odds"] == odds_upper(after["worst_case"]["epsilon"], 0.05)
    assert percent_up(odds_upper(epsilon, 0.05)) in counted.explain()
    assert percent_up(odds_upper(epsilon)) in plain.explain()
    assert plot(counted).svg != plot(plain).svg


def test_odds_are_what_bayes_says():
    """Second route: the best guess between two neighbours of randomised response with equal priors."""
    for epsilon in (0.1, 0.5, 2.0):
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        posterior = 0.5 * keep / (0.5 * keep + 0.5 * (1 - keep))
        assert odds_upper(epsilon) == pytest.approx(posterior)
    assert odds_sentence(0.5) == "A 50 % guess can become at most 62.3 %."
    assert percent_up(0.5) == "50.0 %"


def test_shares_and_promises_in_words():
    assert parse_share("30 days of 30") == 1
    assert parse_share("2%") == Fraction(1, 50)
    for words in ("1 flight in 50", "one visit of 50", "a visit of 50", "1 of 50", "2 percent", "one visit out of 50"):
        assert parse_share(words) == Fraction(1, 50), words
    assert parse_share("three days of the 1,000") == Fraction(3, 1000)
    assert parse_share("all visits") == parse_share("all of the data") == 1
    assert Promise.parse("1 day of 30, 1,000 mi, eps 0.2") == Promise("1 day of 30", "1,000 mi", "0.2")
    assert Promise.parse("all,300 m,0.5").epsilon == Fraction(1, 2)


UNCLEAR = [
    "1/2 of the 30 days", "two thirds of 30 days", "a dozen of 30", "one hundred of 1000", "one or two of 30",
    "1-2 of 30", "1 to 2 of 30", "0.5 of 30", "half of 30", "half a day of 30", "1 visit of 30 days",
    "1 month of 30 days", "1 day of 30 visits", "1 couple of 30", "1 of 30 to 40", "at least 1 of 30", "all but one",
    "a of 30", "1 of a week", "٣ of 30", "1 of ٣٠", "２ %", "½", "1_0 of 100", "2 % or more", "5 % km", "1 1/2 of 30",
    "1+1 of 30",
    "1 K of 30", "all cats", "half of the unicorns", "50 % of the socks", "1 cat of 30", "1 of 30 cats",
]  # fmt: skip


@pytest.mark.parametrize("text", UNCLEAR)
def test_a_share_that_is_not_certain_is_refused_with_what_to_type(text):
    with pytest.raises(ParameterError, match="cannot be read as a share") as error:
        parse_share(text)
    assert '"1 of 50"' in error.value.fix


def test_units_of_time_are_converted():
    for text, share in {
        "1 day of 24 hours": 1, "1 week of 30 days": Fraction(7, 30), "90 minutes of a day": Fraction(1, 16),
        "1 month of 2 years": Fraction(1, 24), "two days of one week": Fraction(2, 7), "1 of 30 days": Fraction(1, 30),
    }.items():  # fmt: skip
        assert parse_share(text) == share, text
    with pytest.raises(ParameterError, match="share is 1 week of 3 days"):
        parse_share("1 week of 3 days")


def test_every_documented_share_is_read():
    shares = {
        "1 day of 30": (1, 30),
        "1 of 30": (1, 30),
        "1/30": (1, 30),
        "2 %": (1, 50),
        "half": (1, 2),
        "all": (1, 1),
    }
    assert {text: parse_share(text) for text in shares} == {text: Fraction(*share) for text, share in shares.items()}


def test_a_table_names_the_parts_of_a_promise():
    row = {"epsilon": "0.2", "distance": "1000 mi", "share": "1/30"}
    assert Policy(Earth(), [row]).promises == (Promise("1/30", "1000 mi", "0.2"),)
    with pytest.raises(ParameterError, match="cannot be read"):
        Policy(Earth(), [{**row, "more": 1}])


def test_a_unit_of_its_own_is_not_the_diameter():
    days, points = Line(0, 10, unit="d"), Line(0, 50, unit="%")
    assert Policy(days, ["all, 0.5 d, 1"]).satisfied[0].distance == Fraction(1, 20)
    with pytest.raises(ParameterError, match="cannot be read") as error:
        Policy(points, ["all, 5 %, 1"])
    assert Policy(points, [f"all, {error.value.fix.strip(chr(34))}, 1"]).satisfied[0].distance == Fraction(1, 10)


def test_a_decimal_comma_is_not_taken_for_a_thousand():
    for text, fix in (("2,5 %, 10 km, 1", "2.5 %"), ("1, 0,5 km, 1", "0.5 km"), ("1, 1,000,5 km, 1", None)):
        with pytest.raises(ParameterError, match="comma") as error:
            Policy(Earth(), [text])
        assert fix is None or error.value.fix == fix
    assert Policy(Earth(), ["1, 1,000 km, 1"]).alpha == Policy(Earth(), ["1, 1000 km, 1"]).alpha


def test_a_change_to_anywhere_is_said_in_english():
    policy = Policy(Earth(), ["all, anywhere, 1", "1 of 50, 10 km, 1"])
    assert "If all data had been anywhere else: " in policy.explain()
    assert "If 1 of 50 items had been 10 km elsewhere: " in policy.explain()


def test_alpha_reads_back_in_units():
    policy = Policy(Earth(), PAPER)
    rates = dict(policy.per_unit())
    assert rates["mi"] == pytest.approx(0.002)
    assert rates["km"] * 1.609344 == pytest.approx(rates["mi"])
    assert policy.epsilon_at(1, "100 mi") == pytest.approx(0.2)
    assert "This promise binds." in policy.explain()
    assert "not protected" in policy.explain()


WRONG = {
    "share 0": ("0, 10 km, 1", "share is 0"),
    "share above 1": ("1.5, 10 km, 1", "share is 1.5"),
    "share negative": ("-0.1, 10 km, 1", "share is -0.1"),
    "share nan": ("nan, 10 km, 1", "cannot be read"),
    "share of none": ("1 day of 0, 10 km, 1", "share is 1 day of 0"),
    "share words": ("some, 10 km, 1", "cannot be read"),
    "share of a share": ("1 % of 50, 10 km, 1", "cannot be read as a share"),
    "diameters or days": ("1, 0.5 d, 1", "unit 'd'"),
    "per cent of a unit": ("1, 5 % km, 1", "cannot be read"),
    "a point for thousands": ("1, 1.000 km, 1", "in two ways"),
    "distance in another script": ("1, ٥ km, 1", "cannot be read"),
    "distance with an underscore": ("1, 1_0 km, 1", "cannot be read"),
    "epsilon with an underscore": ("1, 10 km, 1_0", "not a number"),
    "epsilon in another script": ("1, 10 km, ١", "not a number"),
    "epsilon of a thousand": ("1, 10 km, 1,000", "with a comma"),
    "a comma that may be a point": ("1,5 %,10", "2 parts"),
    "five parts": ("1 of 30, 10 km, 0.5, in any month, or so", "5 parts"),
    "a scope that nobody knows": ("1 of 30, 10 km, 0.5, in any moon", "scope"),
    "share with a decimal comma": ("2,5 %, 10 km, 1", "comma does not group thousands"),
    "distance with a decimal comma": ("1, 0,5 km, 1", "comma does not group thousands"),
    "epsilon with a decimal comma": ("1, 10 km, 0,5", "with a comma"),
    "unit": ("1, 10 leagues, 1", "unit 'leagues'"),
    "distance beyond": ("1, 30000 km, 1", "beyond the largest"),
    "distance nan": ("1, nan km, 1", "cannot be read"),
    "epsilon 0": ("1, 10 km, 0", "epsilon is 0"),
    "epsilon negative": ("1, 10 km, -2", "epsilon is -2"),
    "epsilon nan": ("1, 10 km, nan", "not a number"),
    "epsilon words": ("1, 10 km, little", "not a number"),
    "parts": ("1, 10 km", "2 parts"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_promises_are_refused(name):
    text, pattern = WRONG[name]
    with pytest.raises(ParameterError, match=pattern) as error:
        Policy(Earth(), [text])
    assert error.value.allowed
    assert error.value.fix


def test_wrong_policies_are_refused():
    for call, pattern in (
        (lambda: Policy(Earth(), []), "no promises"),
        (lambda: Policy(Earth(), PAPER, delta=1), "delta is 1"),
        (lambda: Policy(Earth(), PAPER, delta="nan"), "not a number"),
        (lambda: Policy(Earth(), [(1, "10 km")]), "cannot be read"),
        (
            lambda: Policy.from_table(Earth(), shares=[1], distances=["1 km"], epsilons=[]),
            "0 rows for 1 shares",
        ),
    ):
        with pytest.raises(ParameterError, match=pattern):
            call()


def test_belief_figure():
    draw = belief_figure([], cost=lambda share, reach: 2 * share * reach, worst=2.0, unit="km", diameter=10.0)
    assert draw is not None
    assert str(draw(720)) == "What anyone can learn about one person. Whatever is different: at most 88.1 %."


def test_to_promise():
    assert to_promise("all, 5 km, 0.5") == to_promise(("all", "5 km", "0.5"))


def test_a_window_sees_the_share_of_its_own_periods():
    october = Window.parse("2026-10")
    line, change = Line(0, 10, unit="km"), Promise("1 day of 30", "5 km", 1, scope="any month")
    (seen,) = Policy(line, [change], reads=october).satisfied
    assert (seen.share, seen.reach) == (Fraction(1, 30), Fraction(1, 2))
    (blind,) = Policy(line, [Promise("1 day of 30", "5 km", 1)], reads=october).satisfied
    assert (blind.share, blind.reach) == (Fraction(1), Fraction(1))
    for apart, reach in ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1), Fraction(1))):
        space = NoRecords(Line(0, 10, unit="km", step=1), distance=apart)
        (gone,) = Policy(space, [Promise("all", "no records", 1, scope="any month")], reads=october).satisfied
        assert (gone.share, gone.reach) == (Fraction(1), reach)
