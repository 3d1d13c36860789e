"""What a server adds up, and the reports that it refuses."""

from __future__ import annotations

from fractions import Fraction

import pytest

from barrow.errors import ParameterError
from barrow.mechanisms.user_level.local import local_subsets
from barrow.questions.collecting import Averaged, Counted
from barrow.questions.subsets import Sets
from barrow.spaces import Discrete


def test_averaged():
    sums = Averaged([(-9, 9)])
    assert sums.add([3]) is None
    assert sums.add([5]) is None
    assert sums.means(Fraction(1, 2)) == [2.0]
    assert sums.refusal([10]) == "impossible value"


def test_counted():
    counts = Counted(2, 3)
    assert counts.add([0, 2]) is None
    assert counts.counts.tolist() == [1, 0, 1]
    assert counts.refusal([2, 3]) == "impossible value"
    assert counts.refusal([2, 0]) == "impossible value"


def test_collectors_of_another_kind_are_refused():
    counted, averaged = Counted(1, 2), Averaged([(0, 1)])
    assert Counted.of(counted) is counted
    assert Averaged.of(averaged) is averaged
    with pytest.raises(ParameterError, match="another way"):
        Counted.of(averaged)
    with pytest.raises(ParameterError, match="another way"):
        Averaged.of(counted)


def test_sets():
    sets = Sets(local_subsets(Discrete("abc"), 30, users=10))
    assert sets.add([0, 2]) is None
    assert sets.refusal([0, 3]) == "impossible value"
    assert sets.refusal([1, 2]) == "impossible value"
    assert sets.n == 1
