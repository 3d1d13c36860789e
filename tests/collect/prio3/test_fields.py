"""Arithmetic of both fields against Python's integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.collect.prio3 import Edges
from barrow.collect.prio3 import prio3 as xof
from barrow.collect.prio3.fields import FIELDS
from barrow.collect.prio3.proofs import lagrange, query

P = FIELDS["Field64"].modulus
EDGES = [0, 1, 2, 2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1, 2**63, P // 2, P - 2**32, P - 2, P - 1]
elements = st.one_of(st.sampled_from(EDGES), st.integers(0, P - 1))


@given(st.lists(st.tuples(elements, elements), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_words_of_64_bits_compute_as_integers_do(pairs):
    field = FIELDS["Field64"]
    a, b = (field.array([pair[i] for pair in pairs]) for i in (0, 1))
    for result, expected in [
        (field.add(a, b), [(x + y) % P for x, y in pairs]),
        (field.sub(a, b), [(x - y) % P for x, y in pairs]),
        (field.mul(a, b), [x * y % P for x, y in pairs]),
        (field.sum(a[None], axis=1), [sum(x for x, _ in pairs) % P]),
        (field.segments(a, np.array([0, len(pairs) // 2])[: min(len(pairs), 2)]), None),
    ]:
        if expected is not None:
            assert result.tolist() == expected
        assert field.canonical(result).all()


def test_all_pairs_of_extreme_elements():
    field = FIELDS["Field64"]
    a, b = (grid.reshape(-1) for grid in np.meshgrid(field.array(EDGES), field.array(EDGES)))
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert field.mul(a, b).tolist() == [x * y % P for x, y in pairs]
    assert field.add(a, b).tolist() == [(x + y) % P for x, y in pairs]
    assert field.sub(a, b).tolist() == [(x - y) % P for x, y in pairs]


@pytest.mark.parametrize("name", FIELDS)
def test_roots_and_the_polynomials_that_are_one_at_one_of_them(name):
    field = FIELDS[name]
    roots = [int(x) for x in field.roots(8)]
    assert len(set(roots)) == 8
    assert all(pow(x, 8, field.modulus) == 1 for x in roots)
    point = field.array([3, 12345])
    for t, row in zip((3, 12345), lagrange(field, point, 8), strict=True):
        for k, value in enumerate(row):
            expected = 1
            for j in range(8):
                if j != k:
                    expected = expected * (t - roots[j]) * pow(roots[k] - roots[j], -1, field.modulus)
            assert int(value) == expected % field.modulus


def test_what_is_not_below_the_modulus_is_passed_over(monkeypatch):
    field = FIELDS["Field64"]
    words = [5, P, 6, 2**64 - 1, 7, P - 1, P + 3, 8]

    class Stream:
        def __init__(self):
            self.data = field.write(np.array(words, dtype=np.uint64))

        def read(self, size):
            taken, self.data = self.data[:size], self.data[size:]
            return taken

    monkeypatch.setattr(xof, "_stream", lambda *parts: Stream())
    assert xof.expand(field, b"", b"", b"", 5).tolist() == [5, 6, 7, P - 1, 8]


def test_a_point_among_the_roots_is_not_good():
    circuit, field = Edges((3, 3)), FIELDS["Field64"]
    zeros = field.array(np.zeros((2, 100), dtype=int))
    queries = field.array([[int(field.roots(circuit.points)[1])], [12345]])
    shares, proofs = zeros[:, : circuit.length], zeros[:, : circuit.proof_length]
    _, good = query(circuit, field, shares, proofs, queries, zeros[:, : circuit.calls], 2)
    assert good.tolist() == [False, True]
