"""Exactly uniform places: every 8-bit number is tried for every bound, and the words become places as they should."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from barrow.errors import ParameterError
from barrow.noise import SystemSource, uniform_places
from barrow.noise.counts import uniform_int as module
from barrow.noise.counts.uniform_int import placed, scaled_to_spans, uniform_in_spans
from barrow.noise.source import RandomSource, SeededSource, checked_source


def distribution_of(bound, bits=8, place=module.placed):
    """How often each place comes out of all 2^bits numbers, and how many numbers are refused."""
    numbers = np.arange(2**bits, dtype=np.uint32)
    result, subset = place(numbers, np.full(len(numbers), bound, dtype=np.uint32), bits=bits)
    return np.bincount(result[subset], minlength=bound), int((~subset).sum())


@pytest.mark.parametrize("bits", [1, 3, 8])
def test_every_place_keeps_equally_many_numbers(bits):
    for bound in range(1, 2**bits):
        distribution, refused = distribution_of(bound, bits)
        assert distribution.tolist() == [2**bits // bound] * bound
        assert refused == 2**bits % bound


def test_the_enumeration_sees_a_biased_sampler():
    """Without refusals (the usual multiply-and-shift) some places are likelier."""

    def biased(numbers, limits, *, bits):
        result, subset = module.placed(numbers, limits, bits=bits)
        return result, np.ones_like(subset)

    assert len(set(distribution_of(10, place=biased)[0].tolist())) > 1


class Counting(RandomSource):
    """The system's words, of which it counts how many were handed out."""

    def __init__(self):
        self.handed, self._inner = 0, SystemSource()

    @property
    def private(self):
        return True

    def words(self, count):
        self.handed += count
        return self._inner.words(count)


def test_words_are_not_used_twice(monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 64)
    source = Counting()
    uniform_places(np.full(1000, 2**31 + 1), source=source)  # about half of the numbers are refused
    assert 900 < source.handed < 1300
    source.handed = 0
    uniform_places(np.full(1000, 256), source=source)  # none is
    assert source.handed == 500


def statistic(drawn, bound):
    expected = len(drawn) / bound
    return float(((np.bincount(drawn, minlength=bound) - expected) ** 2).sum() / expected)


def test_chi_square_with_power():
    bound, limit = 12, chi2.isf(1e-7, 11)
    sample = uniform_places(np.full(600_000, bound), source=SeededSource(5))
    assert statistic(sample, bound) < limit
    off = np.where((sample == 0) & (np.arange(len(sample)) % 25 == 0), 1, sample)  # one place 4 percent short
    assert statistic(off, bound) > limit
    # Neighbours share a word: they must be independent all the same.
    assert statistic(sample[0::2] * bound + sample[1::2], bound**2) < chi2.isf(1e-7, bound**2 - 1)


def test_mixed_and_wide_bounds():
    bounds = np.array([1, 2, 2**31, 2**32 - 1, 7] * 50)
    assert (uniform_places(bounds) < bounds).all()
    wide = np.array([2**40, 3, 2**32])
    result = uniform_places(wide)
    assert ((result >= 0) & (result < wide)).all()
    assert uniform_places(np.array([], dtype=np.int64)).size == 0


@pytest.mark.parametrize("bounds", [np.array([0]), np.array([-1, 3]), np.array([1.5]), np.array([[1]])])
def test_wrong_bounds(bounds):
    with pytest.raises(ParameterError):
        uniform_places(bounds)


def test_uniform_in_spans():
    assert (
        repr(uniform_in_spans(np.array([5, 7]), np.array([1, 1]), np.array([1, 2]), checked_source(None)))
        == "(array([5, 7, 7]), None)"
    )


def test_scaled_to_spans():
    assert (
        repr(
            scaled_to_spans(
                np.arange(4, dtype=np.uint64), np.array([9]), np.array([3], dtype=np.uint64), np.array([4]), 2
            )
        )
        == "(array([ 9,  9, 10, 11]), array([0]))"
    )


def test_placed():
    place, subset = placed(np.arange(8, dtype=np.uint32), np.full(8, 3, dtype=np.uint32), bits=3)
    assert np.bincount(place[subset]).tolist() == [2, 2, 2]
