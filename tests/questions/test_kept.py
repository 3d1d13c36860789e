"""Queries that are kept: never taken for another one, and made once however many ask."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from barrow.questions import Density, Distance, Function, Mean
from barrow.questions.kept import Kept, kept_query, query_key
from barrow.spaces import Line

LINE = Line(0, 5000, step=1, unit="km")


def test_everything_that_is_asked_is_in_the_key():
    values = np.arange(5001.0)
    other = values.copy()
    other[2500] += 0.5  # where a printed array would be cut
    asked = [
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
    keys = [query_key(question, LINE) for question in asked]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert query_key(Mean(), LINE) != query_key(Mean(), Line(0, 5000, step=2, unit="km"))
    assert query_key(Mean(name="a", fraction="1/2", noise="laplace"), LINE) == query_key(Mean(), LINE)


def test_what_cannot_be_written_down_is_not_kept():
    odd = Function(np.array([object()] * 3, dtype=object))
    assert query_key(odd, Line(0, 2, step=1)) is None
    first = kept_query(Mean(), LINE)
    assert kept_query(Mean(), Line(0, 5000, step=1, unit="km")) is first


def test_a_thing_is_made_once_and_mistakes_are_not_kept():
    kept, made, found = Kept(2), [], []

    def make():
        made.append(1)
        time.sleep(0.05)
        return "made"

    threads = [threading.Thread(target=lambda: found.append(kept.get("a", make))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["made"] * 8
    assert len(made) == 1

    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        kept.get("b", fail)
    assert not kept.ready("b")
    assert kept.get("b", lambda: "yes") == "yes"
    kept.get("c", make)
    assert [kept.ready(key) for key in "abc"] == [False, True, True]
