"""Values, words, plain data and errors of queries."""

import json
import math

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.queries import (
    QUERIES,
    density,
    distance_to,
    function,
    hats,
    histogram,
    linear_embedding,
    mean,
    multiscale,
    person,
    query_from_spec,
    region_share,
    similarity,
    tree_edges,
    workload,
)
from barrow.queries.coordinates import direction
from barrow.queries.holders import holders, with_no_records
from barrow.spaces import Circle, Clustered, Discrete, Earth, Embedding, Euclidean, Line, NoRecords

LINE = Line(0, 100, unit="km", step=1, cells=True)
WORDS = Embedding(["cat", "dog", "car"], [[1, 0], [0.8, 0.6], [-1, 0]])
EARTH = Earth(box=(40, -74, 41, -73), cell=10)

SOME = [
    mean(LINE),
    mean(LINE, step="1/1000"),
    distance_to(LINE, 3),
    distance_to(EARTH, (40.5, -73.5)),
    similarity(WORDS, [[1, 0]], names=["pets"]),
    similarity(Embedding(["a", "b", "c"], [[1, 2], [3, 1], [0, 5]], metric="angular"), [[3, 1], [0.1, 7]]),
    linear_embedding(WORDS, [[1, 0], [0, 1]], unit="points"),
    region_share(EARTH, center=(40.5, -73.5), radius="10 km", ramp="20 km"),
    region_share(WORDS, members=["cat", "dog"], ramp="0.5"),
    density(LINE, bandwidth="10 km"),
    multiscale(LINE, bandwidths=["25 km", "10 km", "cells"], shares=["0.2", "0.3", "1/2"]),
    multiscale(EARTH, bandwidths=["40 km", "20 km"]),
    histogram(WORDS),
    hats(LINE, spacing=7),
    hats(EARTH, spacing=30),
    hats(WORDS),
    direction(Circle.hours()),
    tree_edges(Clustered.grid(2, 3, r=0.25)),
    function(WORDS, [[1, 2], [3, 4], [0, 0]], names=["x", "y"], lipschitz={2: 100, "inf": "90"}),
    function(WORDS, [1, 2, 4], lipschitz="50", description="a score"),
    person(WORDS, function="share", region={"members": ["cat", "dog"], "border": "0.5"}, above="10 %", ramp=0.1),
    person(EARTH, function="radius", centers=[(40.5, -73.5), (40.2, -73.9)]),
    person(LINE, function="distance", reference=[3, 5, 5]),
    workload(LINE, [mean(LINE), density(LINE, bandwidth="10 km")]),
]


@pytest.mark.parametrize("query", SOME, ids=repr)
def test_plain_data_round_trip(query):
    again = query_from_spec(query.space, json.loads(json.dumps(query.to_spec())))
    assert again == query
    assert again.digest == query.digest
    assert hash(again) == hash(query)
    assert again.outputs == query.outputs
    assert len(query.outputs) == query.dimension
    assert again.lipschitz_upper(1) == query.lipschitz_upper(1)


def test_digests_tell_queries_and_spaces_apart():
    assert len({q.digest for q in SOME}) == len(SOME)
    assert distance_to(Line(0, 10, step=1, cells=True), 3) != distance_to(Line(0, 20, step=1, cells=True), 3)


def test_every_kind_is_in_the_table_of_kinds():
    assert {q.kind for q in SOME} == set(QUERIES)


def test_values_are_what_the_words_say():
    line = Line(0, 10, step=2, cells=True)
    assert (mean(line).table.integers[:, 0] * float(mean(line).step)).tolist() == [1, 3, 5, 7, 9]
    far = distance_to(line, 4)
    assert (far.table.integers[:, 0] * float(far.step)).tolist() == pytest.approx([3, 1, 1, 3, 5])
    share = region_share(line, center=1, radius="0.2", ramp="0.4")
    assert (share.table.integers[:, 0] * float(share.step)).tolist() == pytest.approx([1, 1, 0.5, 0, 0])
    one = function(WORDS, lambda vector: vector[0])
    assert (one.table.integers[:, 0] * float(one.step)).tolist() == pytest.approx([1, 0.8, -1])
    named = function(Discrete(["a", "bb"]), len)
    assert (named.table.integers[:, 0] * float(named.step)).tolist() == [1, 2]


def test_descriptions_and_units():
    assert distance_to(EARTH, (40.5, -73.5)).unit == "km"
    assert "mean over people" in distance_to(EARTH, (40.5, -73.5)).description
    assert all(q.description for q in SOME)


@pytest.mark.parametrize(
    "query",
    [
        mean(LINE),
        distance_to(LINE, 3),
        similarity(WORDS, [[1, 0]]),
        linear_embedding(WORDS, [[1, 0]]),
        region_share(LINE, center=3, radius="1 km", ramp="9 km"),
        density(LINE, bandwidth="9 km"),
        histogram(WORDS),
        function(WORDS, [1, 2, 3]),
        tree_edges(Discrete(["a", "b"])),
        hats(LINE),
    ],
    ids=lambda query: query.kind,
)
def test_asking_for_records_explains_what_it_costs(query):
    spec = query.to_spec()
    assert query_from_spec(query.space, spec | {"over": "people"}) == query
    with pytest.raises(ParameterError, match="counts a person as often") as error:
        query_from_spec(query.space, spec | {"over": "records"})
    assert "public sizes" in str(error.value)
    assert "reduction" in str(error.value)
    with pytest.raises(ParameterError, match="over is 'rows'"):
        query_from_spec(query.space, spec | {"over": "rows"})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mean(EARTH), "does not exist on the earth"),
        (lambda: mean(Circle.hours()), "does not exist on the circle"),
        (lambda: mean(Discrete(["a", "b"])), "needs coordinates"),
        (lambda: mean(Line(0, 1)), "no grid"),
        (lambda: similarity(EARTH, [[1, 2]]), "inner product does not exist"),
        (lambda: similarity(WORDS, [[1, 2, 3]]), "3 columns"),
        (lambda: similarity(WORDS, [[1, 2]], names=["a", "b"]), "2 names for 1"),
        (lambda: similarity(WORDS, [[1, math.nan]]), "nan"),
        (lambda: similarity(Embedding(["a", "b"], [[1, 0], [0, 1]], metric="angular"), [[0, 0]]), "no direction"),
        (lambda: distance_to(LINE, 101), "outside"),
        (lambda: distance_to(LINE, "north"), "not a point of the line"),
        (lambda: distance_to(LINE, math.nan), "outside"),
        (lambda: distance_to(EARTH, (100, 0)), "not on Earth"),
        (lambda: distance_to(EARTH, "here"), "not a point"),
        (lambda: distance_to(WORDS, "cow"), "not an item"),
        (lambda: distance_to(Euclidean([0, 0], [1, 1], step=0.5), [2, 2]), "outside the space"),
        (lambda: region_share(LINE, ramp="5 km"), "not given"),
        (lambda: region_share(LINE, ramp="5 km", center=3, radius="1 km", members=[3]), "not given"),
        (lambda: region_share(LINE, ramp="5 km", members=[]), "empty"),
        (lambda: region_share(LINE, ramp="5", center=3, radius="1 km"), "has no unit"),
        (lambda: region_share(LINE, ramp="0 km", center=3, radius="1 km"), "not above 0"),
        (lambda: density(LINE, bandwidth="1.5 km"), "too coarse"),
        (lambda: density(EARTH, bandwidth="15 km"), "too coarse"),
        (lambda: density(Euclidean([0, 0], [1, 1], step=0.2), bandwidth="0.2"), "too coarse"),
        (lambda: density(WORDS, bandwidth="0.2"), "needs places"),
        (lambda: function(WORDS, [1, math.nan, 2]), "nan at 'dog'"),
        (lambda: function(WORDS, [1, math.inf, 2]), "inf at 'dog'"),
        (lambda: function(WORDS, [1, 2]), "shape"),
        (lambda: function(WORDS, [[1], [2, 3], [4]]), "not as many"),
        (lambda: function(WORDS, ["a", "b", "c"]), "not numbers"),
        (lambda: function(WORDS, [1, 2, 3], names=["a", "b"]), "2 names"),
        (lambda: function(WORDS, [[1, 2], [1, 2], [2, 2]], lipschitz=3), "norm is not said"),
        (lambda: function(WORDS, [1, 2, 3], lipschitz=-3), "above 0"),
        (lambda: function(WORDS, [1, 1, 1]).lipschitz_upper(1), "the same for every item"),
        (lambda: histogram(Discrete(["a"])).lipschitz_upper(1), "the same for every item"),
        (lambda: mean(LINE, step=1), "too coarse a grid"),
        (lambda: mean(LINE, step="1e-30"), "step is"),
        (lambda: mean(LINE, step=0), "step is"),
        (lambda: mean(LINE).lipschitz_upper(0.5), "is not a norm"),
        (lambda: query_from_spec(LINE, {"kind": "maen"}), "Did you mean 'mean'"),
        (lambda: query_from_spec(LINE, {"kind": "distance_to"}), "missing"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ParameterError, match=message) as error:
        make()
    assert error.value.fix or error.value.allowed


def test_a_query_that_tells_items_at_distance_zero_apart_is_refused_by_name():
    class Blurred(Discrete):
        def _distance(self, a, b):
            return np.where(a // 2 == b // 2, 0.0, 1.0)

        @property
        def least_distance_lower(self):
            return 0.0

    space = Blurred(["a", "b", "c", "d"])
    with pytest.raises(ParameterError, match="not Lipschitz: 'c' and 'd'"):
        function(space, [1, 1, 2, 3]).lipschitz_upper(1)
    assert function(space, [1, 1, 2, 2]).lipschitz_upper(1) == pytest.approx(1)


def test_queries_are_frozen():
    with pytest.raises(AttributeError):
        mean(LINE).unit = "mi"


def test_direction():
    query = direction(Circle.hours())
    assert query.outputs == ("cosine", "sine")
    assert 3.13 < query.lipschitz_upper(2) <= math.pi


def test_holders():
    space = NoRecords(Line(0, 10, unit="km", step=1))
    result = holders(mean(space.inner), space)
    assert result.query.outputs == ("mean", "share of people with records")
    assert result.middles == (5.0,)
    assert round(result.weight, 9) == 5.0
    assert round(result.query.lipschitz_upper(1), 6) == 10.0


def test_with_no_records():
    space = NoRecords(Line(0, 10, unit="km", step=1))
    result = with_no_records(density(space.inner, bandwidth="5 km"), space)
    assert result.outputs[-1] == "no records"
    assert result.dimension == 4
    assert round(result.lipschitz_upper(1), 6) == 4.0
