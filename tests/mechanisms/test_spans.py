"""Spans of a space, whose masses give the earth mover's distance, by known answers."""

from __future__ import annotations

import numpy as np

from barrow.mechanisms.spans import DenseMoments, FlatMoments, halving_spans, spans_of
from barrow.spaces import Clustered, Discrete, Euclidean, Line


def test_spans():
    assert spans_of(Discrete(["a", "b", "c"])).lengths.tolist() == [0.5, 0.5, 0.5]


def test_spans_masses():
    assert spans_of(Line(0, 3, step=1, cells=True)).masses(np.array([0.5, 0.25, 0.25])).tolist() == [0.5, 0.75]


def test_spans_spread():
    assert spans_of(Line(0, 3, step=1, cells=True)).spread(np.array([1.0, 10.0])).tolist() == [11.0, 10.0, 0.0]


def test_spans_of():
    space = Clustered.grid(2, 2, r=0.2)
    spans = spans_of(space)
    assert spans.lengths.tolist() == [0.4, 0.4, 0.1, 0.1, 0.1, 0.1]
    assert spans.exact


def test_halving_spans():
    spans = halving_spans(Euclidean([0, 0], [3, 3], step=1))
    assert not spans.exact
    assert len(spans.order) == 9


def test_dense_moments():
    moments = DenseMoments(spans_of(Discrete(["a", "b"])), np.array([[1.5, -0.5], [-0.5, 1.5]]))
    assert moments.at(np.array([0.5, 0.5])).tolist() == [1.25]


def test_flat_moments():
    assert FlatMoments(spans_of(Discrete(["a", "b"])), 0.5, 2).at(np.array([0.5, 0.5])).tolist() == [1.25]
