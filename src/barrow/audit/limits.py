"""Integers at their limits: the largest weights, sizes and numbers of people, against Python's integers.

Every query's statistic is computed from counts as large as the code admits and compared with sums of Python integers,
which have no limit; and what is one above a limit must be refused (docs/proofs/integers.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.audit.verdict import Finding, Tally
from barrow.engines import Columns, Counts, MemoryEngine
from barrow.errors import BarrowError
from barrow.mechanisms import UserCounts, item_wise, pooled_items
from barrow.mechanisms.user_level.histograms import with_added
from barrow.queries import Query, density, function, histogram, mean, region_share, tree_edges
from barrow.queries.edges import hats
from barrow.queries.holders import holders, with_no_records
from barrow.queries.quantised import Quantised
from barrow.randomisers import randomised_response
from barrow.spaces import Circle, Clustered, Discrete, Line, NoRecords, Space

PEOPLE, RECORDS, WEIGHT, ENTRY = 2**36, 2**62, 2**31, 2**50
"""What is said everywhere; written again here, so that a limit that was raised by mistake is seen."""
Triples = tuple[list[int], list[int], list[int], int]
"""Items, sizes, counts, and the public number of people."""


def limit_queries() -> dict[str, Query]:
    """Queries of every kind that a release adds up, the steepest among them."""
    money, steps = Line(0, 1_000_000, unit="EUR", step=5000), Line(0, 8, step=1, cells=True)
    steep = region_share(money, center=100_000, radius="20000 EUR", ramp="1 EUR")
    towns = Clustered.grid(3, 2, r=0.25)
    ends = function(steps, [[(-1) ** i * (2.0**50 - 1), i] for i in range(steps.items)], step=1)
    return {
        "steep region of holders": holders(steep, NoRecords(money)).query,
        "mean of holders": holders(mean(money), NoRecords(money)).query,
        "edges of holders": holders(tree_edges(steps), NoRecords(steps)).query,
        "values at both ends": ends,
        "values at both ends of holders": holders(ends, NoRecords(steps)).query,
        "histogram": histogram(Discrete("abcdefgh")),
        "tree edges": tree_edges(towns),
        "density": density(steps, bandwidth="1/4"),
        "density of holders": with_no_records(density(steps, bandwidth="1/4"), NoRecords(steps)),
        "nodes": hats(Circle.hours()),
        "added items": with_added(tree_edges(towns), NoRecords(towns), 1.0),
    }


def limit_crowds(items: int) -> Iterator[tuple[str, Triples]]:
    """People and records, as many as may be, and one person's only record with every weight."""
    last = items - 1
    yield "nobody with records", ([], [], [], PEOPLE)
    yield "everybody at one item", ([last], [1], [PEOPLE], PEOPLE)
    yield "as many records as may be", ([0, last], [2**26, 2**26], [RECORDS - 2**61, 2**61], PEOPLE)
    yield "one person with all of them", ([0, last // 2, last], [RECORDS] * 3, [1, 2**61, 2**61 - 1], PEOPLE)
    odd = 2**61 - 1
    yield "sizes without common factors", ([0, 0, last, last], [1, 3, 7, odd], [5, 2**34 * 3, 7 * 2**35, odd], PEOPLE)
    for weight in (1, 10**8, WEIGHT, 2**55 + 1):
        yield f"one record with the weight {weight}", ([0, last], [1, weight], [99, weight], 100)


def exact_answer(query: Query, triples: Triples, output: int) -> Fraction:
    """The mean over people by Python's integers: those that are missing hold the default item."""
    item, size, count, users = triples
    column = query.table.integers[:, [output]]
    values = np.asarray(column if isinstance(column, np.ndarray) else column.toarray()).ravel().tolist()
    held = sum((Fraction(c * values[i], m) for i, m, c in zip(item, size, count, strict=True)), Fraction(0))
    present = sum((Fraction(c, m) for m, c in zip(size, count, strict=True)), Fraction(0))
    return Fraction((held + (users - present) * values[query.space.default_item]) * query.step / users)


def _answers(tally: Tally, name: str, query: Query, crowd: str, triples: Triples) -> None:
    item, size, count, users = triples
    center = UserCounts.of(query.space, item=item, size=size, count=count, users=users).center(query)
    errors = np.broadcast_to(center.absolute, (query.dimension,))
    for j in {0, query.dimension // 2, query.dimension - 1}:
        tally.draws += 1
        true, near = exact_answer(query, triples, j), Fraction(float(center.approximation[j]))
        if center.exact_entry(j) != true or abs(near - true) > Fraction(float(errors[j])):
            tally.violation(f"{name}, {crowd}: another sum than that of Python's integers", float(near), float(true))


def _counted(tally: Tally) -> None:
    """Rows of a table, weights of 2^31 among them, through the engine and its counts."""
    space, rows = Discrete("abc"), 40
    users = np.arange(rows) % 7
    weights = np.where(np.arange(rows) % 3 == 0, WEIGHT, np.arange(rows) + 1)
    items = np.array(list("abc"))[(np.arange(rows) * 5) % 3]
    table = {"uid": users, "item": items, "w": weights}
    counts = MemoryEngine().count(table, Columns("uid", "item", weight="w"), space, users=PEOPLE)
    query = histogram(space)
    center = UserCounts.of(space, item=counts.items, size=counts.sizes, count=counts.counts, users=PEOPLE).center(query)
    held = [dict.fromkeys("abc", 0) for _ in range(7)]
    for who, item, weight in zip(users.tolist(), items.tolist(), weights.tolist(), strict=True):
        held[who][item] += weight
    for j, label in enumerate("abc"):
        tally.draws += 1
        shares = sum((Fraction(one[label], sum(one.values())) for one in held), Fraction(0))
        true = (shares + (PEOPLE - 7 if j == 0 else 0)) / PEOPLE
        if center.exact_entry(j) != true:
            tally.violation("rows with large weights: another share than that of Python's integers", 1, 0)
    tally.draws += 1
    pooled = pooled_items(space, item=[1], size=[2**26], count=[2**61], present=2**35, items=2**26, users=PEOPLE)
    if pooled.tolist() != [2**61, 2**61, 0]:
        tally.violation("items of all people: another sum than that of Python's integers", 1, 0)


def _refusals() -> Sequence[tuple[str, Callable[[], Any]]]:
    """What is one above a limit."""
    space = Discrete("ab")
    columns, weighed = Columns("uid", "item"), Columns("uid", "item", weight="w")
    heavy = {"uid": [1], "item": ["a"], "w": [WEIGHT + 1]}
    light = {"uid": [1], "item": ["a"]}
    response = randomised_response(space, 1)
    return (
        ("a value of a query", lambda: Quantised(np.array([[0], [ENTRY + 1]]), Fraction(1), 0.0)),
        ("a negative value of a query", lambda: Quantised(np.array([[0], [-ENTRY - 1]]), Fraction(1), 0.0)),
        ("the weight of a row", lambda: MemoryEngine().count(heavy, weighed, space)),
        ("the people of an engine", lambda: MemoryEngine().count(light, columns, space, users=PEOPLE + 1)),
        ("the people of a statistic", lambda: UserCounts.of(space, item=[], size=[], count=[], users=PEOPLE + 1)),
        ("the records of an engine", lambda: Counts([0, 1], [1, RECORDS], [1, RECORDS], users=2)),
        ("the records of a statistic", lambda: UserCounts.of(
            space, item=[0, 1], size=[1, RECORDS], count=[1, RECORDS], users=2)),
        ("the items of all people", lambda: item_wise(response, items=2**26 + 1, users=PEOPLE)),
    )  # fmt: skip


def audit_limits() -> Finding:
    """Every kind of statistic at its limits, and what is beyond them."""
    tally = Tally("limits", "all")
    for name, query in limit_queries().items():
        for crowd, triples in limit_crowds(_known(query.space)):
            _answers(tally, name, query, crowd, triples)
    _counted(tally)
    for what, action in _refusals():
        tally.draws += 1
        try:
            action()
        except BarrowError:
            continue
        tally.violation(f"{what}: one above the limit is not refused", 1, 0)
    return tally.finding()


def _known(space: Space) -> int:
    """The items that records may have."""
    return space.records_space.items
