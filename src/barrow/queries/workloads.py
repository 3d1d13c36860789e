"""Workloads: several linear queries asked together, as one query with all their outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics.digest import table_digest
from barrow.queries.quantised import quantise
from barrow.queries.query import ClosedForm, Query
from barrow.spaces.space import Floats

if TYPE_CHECKING:
    from barrow.spaces import Space

MOST_ENTRIES = 3 * 10**7
CLOSED = "closed form"


def table_floats(query: Query) -> Floats:
    """The values of a query as a dense table of floats, shape (items, outputs), in its unit.

    >>> from barrow.queries import distance_to
    >>> from barrow.spaces import Line
    >>> table_floats(distance_to(Line(0, 2, unit="km", step=1), 0)).ravel().tolist()
    [0.0, 1.0, 2.0]
    """
    integers = query.table.integers.toarray() if query.table.sparse else query.table.integers
    return np.asarray(integers, dtype=np.float64) * float(query.step)


def workload(space: Space, parts: Sequence[Query]) -> Query:
    """Several linear queries at once; each output keeps its name, with its place in the list where names repeat.

    Args:
        space: The space of all of them.
        parts: Queries on this space.

    >>> from barrow.queries import distance_to, region_share
    >>> from barrow.spaces import Line
    >>> line = Line(0, 10, unit="km", step=1)
    >>> both = workload(line, [distance_to(line, 3), distance_to(line, 7)])
    >>> both.dimension, both.unit, round(both.lipschitz_upper(2) / 10, 6)
    (2, 'km', 1.414214)
    """
    queries = [_checked(space, part) for part in parts]
    if not queries:
        raise ParameterError("The workload is empty.", allowed="one linear query or more", fix="list its parts")
    entries = space.items * sum(query.dimension for query in queries)
    if entries > MOST_ENTRIES:
        raise ParameterError(
            f"The workload has {entries:,} values: outputs times items.",
            allowed=f"at most {MOST_ENTRIES:,}",
            fix="a coarser space, or fewer outputs",
        )
    if len(queries) == 1:
        return queries[0]
    units = {query.unit for query in queries}
    off = max(query.rounding_upper for query in queries)
    values = np.hstack([table_floats(query) for query in queries])
    return Query(
        space,
        "workload",
        units.pop() if len(units) == 1 else "",
        f"{len(queries)} linear questions, answered together",
        quantise(values, evaluation_error=off),
        {"parts": [query.to_spec() for query in queries]},
        _bound_of(queries),
        names=lambda: _names(queries),
    )


def _bound_of(queries: Sequence[Query]) -> ClosedForm | None:
    """The norm of the parts' constants bounds that of all together, where each is known on paper."""
    known = [query.closed_form for query in queries]
    if any(form is None or form.method != CLOSED or form.rests_on is not None for form in known):
        return None

    def bound(p: float) -> float:
        parts = np.array([form.bound(p) for form in known if form is not None])
        return float(parts.max() if p == math.inf else (parts**p).sum() ** (1.0 / p)) * (1.0 + 2.0**-40)

    return ClosedForm(bound, tight=False)


def _checked(space: Space, query: Query) -> Query:
    if query.space != space:
        raise ParameterError(
            "A part of the workload is about another space.", allowed="one space for all parts", fix="use one space"
        )
    if type(query) is not Query:
        raise ParameterError(
            f"A part of the workload is a query of the kind {query.kind!r}, which is no mean over items.",
            allowed="linear queries: means, distances, regions, densities, histograms, functions",
            fix="ask it alone",
        )
    return query


def _names(queries: Sequence[Query]) -> list[str]:
    plain = [name for query in queries for name in query.outputs]
    if len(set(plain)) == len(plain):
        return plain
    return [f"{i + 1}: {name}" for i, query in enumerate(queries) for name in query.outputs]


def strategy_query(query: Query, values: Floats) -> Query:
    """What is released in place of ``query``: other linear combinations, from which its answers are computed.

    >>> from barrow.queries import histogram
    >>> from barrow.spaces import Discrete
    >>> shares = histogram(Discrete(["red", "green"]))
    >>> strategy_query(shares, np.array([[0.5], [-0.5]])).lipschitz_upper(2) >= 1.0
    True
    """
    table = quantise(values)
    data = {"of": query.to_spec(), "table": table_digest(numbers=table.floats()), "step": str(table.step)}
    return Query(
        query.space,
        "strategy",
        "",
        f"{values.shape[1]:,} combinations from which the answers are computed: {query.description}",
        table,
        data,
        names=lambda: [f"combination {j + 1}" for j in range(values.shape[1])],
    )
