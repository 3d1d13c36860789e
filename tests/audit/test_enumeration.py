"""Distributions found by following random words, against what is known on paper."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from barrow.audit import ScriptedSource, distribution
from barrow.audit.additive import upper_tails
from barrow.audit.itemwise import mixed_reports, observed_rows
from barrow.audit.pairs import products
from barrow.errors import ParameterError
from barrow.mechanisms import linear_noise
from barrow.mechanisms.user_level.subsets import uniform_subsets
from barrow.noise import exact_binomial, exact_multinomials, uniform_below, uniform_places
from barrow.queries import mean
from barrow.randomisers import exponential, gkrr, randomised_response
from barrow.spaces import Clustered, Discrete, Line


@pytest.mark.parametrize(("count", "above", "below"), [(1, 1, 3), (2, 3, 8), (3, 1, 4)])
def test_binomials_are_found_exactly(count, above, below):
    result = distribution(lambda s: int(exact_binomial([count], above, below, source=s)[0]), cut=Fraction(1, 2**14))
    p = Fraction(above, below)
    ideal = {k: comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)}
    assert not result.differs_from(ideal)
    assert result.left < Fraction(1, 2**8)
    wrong = dict(ideal)
    wrong[0], wrong[1] = ideal[0] + Fraction(1, 20), ideal[1] - Fraction(1, 20)
    assert result.differs_from(wrong)


def test_multinomials_with_dyadic_parts_are_found_completely():
    result = distribution(lambda s: tuple(exact_multinomials([1], [[9, 3, 3, 1]], source=s)[0].tolist()))
    assert result.left == 0
    assert result.chances[1, 0, 0, 0] == Fraction(9, 16)
    assert result.chances[0, 0, 0, 1] == Fraction(1, 16)
    assert sum(result.chances.values()) == 1


def test_two_draws_from_one_word_are_told_apart():
    result = distribution(lambda s: tuple(uniform_places(np.array([2, 4]), source=s).tolist()))
    assert set(result.chances.values()) == {Fraction(1, 8)}
    assert len(result.chances) == 8


def test_subsets_that_lead_away_and_back_are_followed():
    """Floyd's algorithm maps the least and the largest number to the same subset."""
    result = distribution(lambda s: tuple(uniform_subsets(1, 4, 2, s)[0].tolist()), cut=Fraction(1, 2**10))
    assert not result.differs_from(dict.fromkeys(result.chances, Fraction(1, 6)))
    assert len(result.chances) == 6


@pytest.mark.parametrize(
    "randomiser", [gkrr(Clustered.grid(2, 2, r=0.25), 2), exponential(Line(0, 4, step=1, cells=True), 3)]
)
def test_channels_are_found_to_the_last_bit(randomiser):
    for x in (0, 2):
        result = distribution(lambda s, x=x: int(randomiser.from_items([x], source=s)[0]))
        assert result.left == 0
        for report, chance in result.chances.items():
            if hasattr(randomiser, "probability"):
                assert chance == randomiser.probability(x, report)
            else:
                assert chance == Fraction(int(randomiser.weights[x, report]), 2**62)


def test_rejection_leaves_only_what_was_cut():
    result = distribution(lambda s: int(uniform_below([3], source=s)[0]), cut=Fraction(1, 2**10))
    assert 0 < result.left < Fraction(1, 2**6)
    assert not result.differs_from({k: Fraction(1, 3) for k in range(3)})


def test_low_bits_cannot_be_followed_and_are_refused():
    with pytest.raises(ParameterError, match="cannot be followed"):
        distribution(lambda s: int(s.words(1)[0]) >> 8 & 1)


def test_scripts_repeat_or_end():
    script = np.array([1, 2], dtype=np.uint64)
    assert ScriptedSource(script).words(5).tolist() == [1, 2, 1, 2, 1]
    assert ScriptedSource(script).private is False
    with pytest.raises(ParameterError, match="no more words"):
        ScriptedSource(script, repeat=False).words(3)


def test_upper_tails():
    noise = linear_noise(mean(Line(0, 1, step=0.5)), 1, model="local", grid=1)
    low, _high = upper_tails(noise, [Fraction(0), Fraction(0)], [1, 2])
    assert [round(x, 6) for x in low.tolist()] == [round(0.5 * math.exp(-x), 6) for x in (0.5, 1.5)]


def test_observed_rows():
    coin = randomised_response(Discrete(["a", "b"]), 1)
    rows = observed_rows(lambda x, source: int(coin.from_items([x], source=source)[0]), 2)
    assert rows.chances[0][0] == coin.probability(0, 0)
    assert rows.left == 0.0


def test_mixed_reports():
    assert mixed_reports([{0: Fraction(1)}, {1: Fraction(1)}], (0, 1)) == {0: Fraction(1, 2), 1: Fraction(1, 2)}


def test_products():
    half = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert {k: str(v) for k, v in products([half], (0, 0)).items()} == {(0, 0): "1/4", (0, 1): "1/2", (1, 1): "1/4"}
