"""Functions of whole people: constants, ranges and prices against every pair of small people; wrong ones are broken."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import DataError, ParameterError
from barrow.promises import PersonKNormNoise, event_from_json
from barrow.promises.events import linear_change, person_change
from barrow.queries import PersonQuery, person
from barrow.queries.profiles import Profiles
from barrow.spaces import Circle, Clustered, Discrete, Euclidean, Line, NoRecords, Space, Tree
from barrow.transport import emd_between

SHARE = {"function": "share", "above": "1/2", "ramp": "1/3"}

TIGHT = ("share of labels", "share on a line", "bracket", "bracket on a line", "radius", "distance")
"""Cases in which people of three items attain the constant."""


def line() -> Line:
    return Line(0, 3, step=1, unit="km", whole=True)


def small(items: int, most: int = 3) -> list[tuple[int, ...]]:
    """Every person of up to so many items."""
    return [held for size in range(1, most + 1) for held in itertools.combinations_with_replacement(range(items), size)]


def cases() -> list[tuple[str, PersonQuery]]:
    labels, tree = Discrete(["a", "b", "c", "d"]), Tree.nested(["a/1", "a/2", "b/3", "b/4"], distances=[1, 0.25])
    soft = {"members": [0], "border": "2 km"}
    return [
        ("share of labels", person(labels, region="b", **SHARE)),
        ("share on a line", person(line(), region=soft, **SHARE)),
        ("bracket", person(labels, region=["b", "c"], bracket=True, **SHARE)),
        ("bracket on a line", person(line(), region=soft, bracket=True, **SHARE)),
        ("radius", person(line(), function="radius")),
        ("radius, two centres", person(line(), function="radius", centers=[0, 2])),
        ("radius in the plane", person(Euclidean([0, 0], [2, 2], step=1, unit="km"), function="radius")),
        ("radius on a circle", person(Circle(4, step=1, unit="h"), function="radius")),
        ("spread", person(line(), function="spread")),
        ("spread of labels", person(labels, function="spread")),
        ("spread on a circle", person(Circle(4, step=1, unit="h"), function="spread")),
        ("distance", person(line(), function="distance", reference=[0, 0, 3])),
        ("distance in a tree", person(tree, function="distance", reference="uniform")),
        ("distance of clusters", person(Clustered.grid(2, 2, r=0.25), function="distance", reference="uniform")),
        ("distance of labels", person(labels, function="distance", reference=["a", "a", "b"])),
    ]


def norm(a: list[Fraction], b: list[Fraction], p: float) -> float:
    moves = [abs(float(x - y)) for x, y in zip(a, b, strict=True)]
    return max(moves) if math.isinf(p) else sum(move**p for move in moves) ** (1.0 / p)


@pytest.mark.parametrize(("name", "query"), cases(), ids=[name for name, _ in cases()])
def test_no_pair_of_people_moves_it_by_more_than_its_constant_and_some_nearly_by_all_of_it(
    name: str, query: PersonQuery
) -> None:
    space, people = query.space, small(query.space.items)
    values = [query.phi.exactly(held) for held in people]
    for p in (1.0, 2.0, math.inf):
        ell, most = query.lipschitz_upper("inf" if math.isinf(p) else int(p)), query.phi.range_upper(p)
        steepest = widest = 0.0
        for (x, a), (y, b) in itertools.combinations(zip(people, values, strict=True), 2):
            far = emd_between(space, x, y)
            if far <= 1e-12:
                assert a == b  # the same histogram has the very same value
                continue
            moved = norm(a, b, p)
            steepest, widest = max(steepest, moved / far), max(widest, moved)
        assert steepest <= ell * (1 + 1e-9)
        assert widest <= min(most, ell) * (1 + 1e-9)
        if p == 1.0:  # a constant smaller by one per cent (of the spread: half of it, one item coupled) is broken
            assert steepest >= (0.6 if "spread" in name else 0.99 if name in TIGHT else 0.9) * ell


def test_values_are_those_of_the_definition_in_words() -> None:
    labels = Discrete(["a", "b", "c"])
    share = person(labels, function="share", region="b", above="10 %", ramp="10 %")
    shares = [Fraction(k, 20) for k in range(21)]
    values = [share.phi.exactly([1] * k + [0] * (20 - k))[0] for k in range(21)]
    assert values == [min(max((s - Fraction(1, 20)) * 10, Fraction(0)), Fraction(1)) for s in shares]
    space = line()
    for held in small(4):
        (radius,) = person(space, function="radius").phi.exactly(held)
        assert float(radius) == pytest.approx(min(sum(abs(x - c) for x in held) / len(held) for c in range(4)))
        (spread,) = person(space, function="spread").phi.exactly(held)
        pairs = [abs(x - y) for x in held for y in held]
        assert float(spread) == pytest.approx(sum(pairs) / len(pairs), abs=1e-8)
        (far,) = person(space, function="distance", reference=[0, 0, 3]).phi.exactly(held)
        assert float(far) == pytest.approx(3 * emd_between(space, held, [0, 0, 3]), abs=1e-8)


def test_two_half_ramps_enclose_the_sharp_share() -> None:
    query = person(Discrete(["a", "b"]), function="share", region="b", above="1/4", ramp="1/4", bracket=True)
    for k in range(13):
        upper, lower = query.phi.exactly([1] * k + [0] * (12 - k))
        assert lower <= (Fraction(k, 12) > Fraction(1, 4))
        assert upper >= (Fraction(k, 12) >= Fraction(1, 4))
    one = person(Discrete(["a", "b"]), function="share", region="b", above="1/4", ramp="1/8")
    assert query.lipschitz_upper(1) == pytest.approx(one.lipschitz_upper(1))  # two for the price of one of this slope


def test_the_price_covers_every_small_change_and_that_of_a_linear_answer_does_not() -> None:
    """Share tau of the records moves by q on average: alpha min(tau q, B/L); planted: alpha tau min(q, B/L)."""
    query = person(Discrete(["a", "b"]), function="share", region="b", above="1/5", ramp="1/5")
    ratio, size, broken = query.range_ratio(1), 10, 0
    event = PersonKNormNoise(3, model="central", range_ratio=ratio)
    values = [query.phi.exactly([1] * k + [0] * (size - k))[0] for k in range(size + 1)]
    for k, moved in itertools.product(range(size + 1), range(1, size + 1)):
        if k + moved > size:
            continue
        share = Fraction(moved, size)
        lost = event.alpha * abs(values[k + moved] - values[k]) / Fraction(query.lipschitz_upper(1))
        assert lost <= event.epsilon_at(share, Fraction(1), Fraction(0))
        broken += lost > event.alpha * linear_change(share, Fraction(1), ratio)
    assert broken > 5
    assert person_change(Fraction(1, 30), Fraction(1), Fraction(1, 10)) == Fraction(1, 30)
    assert event_from_json(event.to_json()) == event


def test_rounding_a_persons_value_would_be_caught() -> None:
    """Planted: values to multiples of 1/7 before they are added up. Errors do not shrink with the distance."""
    query = person(line(), function="radius")
    ell, people = Fraction(query.lipschitz_upper(1)), small(4, 5)
    broken = 0
    for x, y in itertools.combinations(people, 2):
        far = Fraction(emd_between(query.space, x, y)) * (1 + Fraction(1, 10**9))
        a, b = (round(query.phi.exactly(held)[0] * 7) / Fraction(7) for held in (x, y))
        broken += abs(a - b) > ell * far
    assert broken


def test_people_without_records_count_in_the_middle_and_the_constant_covers_it() -> None:
    space = NoRecords(Line(0, 2, step=1, unit="km", whole=True), distance="1/2")
    far = person(space, function="distance", reference=[0, 0, 2])
    assert far.of_nobody == [far.phi.high / 2]
    assert float(far.phi.high) == pytest.approx(4 / 3)
    assert far.lipschitz_upper(1) == pytest.approx(2.0)  # the diameter: (2/3)/(1/2) is less
    query = person(NoRecords(Discrete(["a", "b"]), distance="1/2"), function="share", region="b", above="1/2", ramp="1")
    assert query.of_nobody == [Fraction(1, 2)]
    both = person(
        NoRecords(Discrete(["a", "b"]), distance="1/2"),
        function="share", region="b", above="1/2", ramp="1", bracket=True,
    )  # fmt: skip
    assert both.of_nobody == [Fraction(1, 2)] * 2
    for some in (far, query, both):
        h = float(some.space.no_records_distance or 1)
        for held in small(some.space.records_space.items):
            moved = norm(some.phi.exactly(held), some.of_nobody, 1.0)
            assert moved <= some.lipschitz_upper(1) * h * (1 + 1e-9)
    plain = person(Discrete(["a", "b"]), function="share", region="b", above="1/2", ramp="1")
    assert plain.lipschitz_upper(1) == pytest.approx(1.0)
    assert plain.of_nobody == [Fraction(0)]


def test_sums_are_exact_whatever_the_sizes() -> None:
    generator = np.random.Generator(np.random.PCG64(7))
    space: Space = Line(0, 20, step=1, unit="km", whole=True)
    people = [generator.integers(0, 21, size=int(generator.integers(1, 40))).tolist() for _ in range(50)]
    queries = [
        person(space, function="share", region={"center": 3, "radius": "2 km", "border": "3 km"}, above=0.3, ramp=0.2),
        person(space, function="radius"),
        person(space, function="spread"),
        person(space, function="distance", reference=[0, 5, 20]),
    ]
    for query in queries:
        (sums,) = query.phi.exact_sums(Profiles.of_users(people))
        exact = sum((query.phi.exactly(held)[0] for held in people), Fraction(0))
        assert sums.exact() == exact
        assert sums.nearly() == pytest.approx(float(exact), rel=2.0**-48)
        about, result, missing = query.exact_means(Profiles.of_users(people), 60)[0]
        assert about == pytest.approx(float((result.exact() + missing) / 60))


def test_counts_near_the_largest_are_summed_without_overflow() -> None:
    """A person of 2^40 records, once as int64 would overflow: the same shares have the same values."""
    space = Line(0, 3, step=1, unit="km", whole=True)
    small_one = Profiles(np.array([0]), np.array([0, 3]), np.array([3, 1]))
    large_one = Profiles(np.array([0]), np.array([0, 3]), np.array([3 * 2**38, 2**38]))
    soft = {"center": 0, "radius": "1 km", "border": "1 km"}
    for query in (
        person(space, function="share", region=soft, above="3/4", ramp="1/10"),
        person(space, function="radius"),
        person(space, function="spread"),
        person(space, function="distance", reference="uniform"),
    ):
        assert query.phi.exact_sums(small_one)[0].exact() == query.phi.exact_sums(large_one)[0].exact()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"function": "median"}, "not Lipschitz"),
        ({"function": "shere"}, "Did you mean 'share'"),
        ({"function": "share", "above": 0.1, "ramp": 0.1}, "lacks region"),
        ({"function": "share", "region": "b", "above": 0.1, "ramp": 0.5}, "The ramp goes from"),
        ({"function": "spread", "above": 0.1}, "above is not an option"),
        ({"function": "distance"}, "lacks its reference"),
        ({"function": "radius", "centers": []}, "centers is empty"),
        ({"function": "share", "region": {"middle": 1}, "above": 0.1, "ramp": 0.1}, "an entry 'middle'"),
    ],
)
def test_what_cannot_be_is_refused_in_words(options: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        person(Discrete(["a", "b"]), **options)  # type: ignore[arg-type]


def test_sharp_edges_and_spaces_without_a_formula_are_refused() -> None:
    with pytest.raises(ParameterError, match="has no border"):
        person(line(), function="share", region={"center": 1, "radius": "1 km"}, above=0.1, ramp=0.1)
    with pytest.raises(ParameterError, match="no exact formula"):
        person(Circle(24, step=1, unit="h"), function="distance", reference="uniform")
    with pytest.raises(DataError, match="whole people"):
        Profiles(np.array([0, 0]), np.array([1, 2]), np.array([1, 1]))
