"""Queries that are kept: never taken for another one, and made once however many ask."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from barrow.questions import Density, Distance, Function, Mean
from barrow.questions.cache import Cache, cached_query, query_key, query_ready
from barrow.spaces import Line

LINE = Line(0, 5000, step=1, unit="km")


def test_everything_that_is_asked_is_in_the_key():
    values = np.arange(5001.0)
    other = values.copy()
    other[2500] += 0.5  # where a printed array would be cut
    means = [
        Mean(),
        Mean(step="1/2"),
        Distance(3),
        Distance(4),
        Density(bandwidth="50 km"),
        Density(bandwidth="51 km"),
        Function(values),
        Function(other),
        Function(values.astype(np.float32)),
        Function(values.tolist()),
    ]
    keys = [query_key(question, LINE) for question in means]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert query_key(Mean(), LINE) != query_key(Mean(), Line(0, 5000, step=2, unit="km"))
    assert query_key(Mean(name="a", fraction="1/2", noise="laplace"), LINE) == query_key(Mean(), LINE)


def test_what_cannot_be_written_down_is_not_kept():
    odd = Function(np.array([object()] * 3, dtype=object))
    assert query_key(odd, Line(0, 2, step=1)) is None
    first = cached_query(Mean(), LINE)
    assert cached_query(Mean(), Line(0, 5000, step=1, unit="km")) is first


def test_a_thing_is_made_once_and_mistakes_are_not_kept():
    subset, built, results = Cache(2), [], []

    def make():
        built.append(1)
        time.sleep(0.05)
        return "made"

    threads = [threading.Thread(target=lambda: results.append(subset.get("a", make))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["made"] * 8
    assert len(built) == 1

    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        subset.get("b", fail)
    assert not subset.ready("b")
    assert subset.get("b", lambda: "yes") == "yes"
    subset.get("c", make)
    assert [subset.ready(key) for key in "abc"] == [False, True, True]


def test_kept():
    subset, built = Cache(2), []
    assert [subset.get(key, lambda: built.append(1) or len(built)) for key in "aab"] == [1, 1, 2]
    assert subset.ready("a")
    assert not subset.ready("c")


def test_query_key():
    assert query_key(Mean(fraction="0.5"), Line(0, 1, step=1)) == query_key(Mean(), Line(0, 1, step=1))


def test_kept_query():
    assert cached_query(Mean(), Line(0, 1, step=1)) is cached_query(Mean(noise="laplace"), Line(0, 1, step=1))


def test_query_ready():
    assert not query_ready(Density(bandwidth="0.3"), Line(0, 7, step=1))
