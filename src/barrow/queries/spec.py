"""Queries as plain data (TOML, JSON)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from barrow.errors import ParameterError, nearest_name, plain_table, reading
from barrow.queries.coordinates import direction, linear_embedding, mean, similarity
from barrow.queries.density import density
from barrow.queries.distances import distance_to, region_share
from barrow.queries.edges import hats, tree_edges
from barrow.queries.multiscale import multiscale
from barrow.queries.people import person
from barrow.queries.query import Query
from barrow.queries.tables import function, histogram
from barrow.queries.workloads import workload
from barrow.spaces import Space

QUERIES: dict[str, Callable[..., Query]] = {
    "mean": mean,
    "direction": direction,
    "distance_to": distance_to,
    "similarity": similarity,
    "linear_embedding": linear_embedding,
    "region_share": region_share,
    "density": density,
    "multiscale": multiscale,
    "histogram": histogram,
    "hats": hats,
    "tree_edges": tree_edges,
    "function": function,
    "workload": lambda space, parts, **more: workload(space, [query_from_spec(space, part) for part in parts], **more),
    "person": person,
}
"""Every kind of query by its name in plain data."""


def query_from_spec(space: Space, spec: Mapping[str, Any]) -> Query:
    """The query that plain data describe; the way back is ``query.to_spec()``.

    >>> from barrow.spaces import Line
    >>> line = Line(0, 10, unit="km", step=1)
    >>> query_from_spec(line, {"kind": "distance_to", "point": 3}) == distance_to(line, 3)
    True
    """
    rest = plain_table(spec, "The query")
    _check_over(rest.pop("over", "people"))
    name = str(rest.pop("kind", None)).replace("-", "_")
    make = QUERIES.get(name)
    if make is None:
        close = nearest_name(name, QUERIES)
        hint = f" Did you mean {close!r}?" if close else ""
        raise ParameterError(
            f"The kind of query is {name!r}.{hint}",
            allowed=", ".join(QUERIES),
            fix=f'kind = "{close or "distance_to"}"',
        )
    with reading(
        f"The query {name!r}", allowed="the arguments of its Python function", fix=f"see help(barrow.queries.{name})"
    ):
        return make(space, **rest)


def _check_over(over: object) -> None:
    """Refuses a mean over records, and says what it would cost."""
    if over == "people":
        return
    if over == "records":
        raise ParameterError(
            "over is 'records'. A share of records counts a person as often as they have records, so one person with "
            "many records can change it without bound, and the number of their records would not be protected.",
            allowed="'people': every person counts once, with the mean of their records. A share of records needs "
            "either public sizes (everybody is known to hold the same number m; then it equals the share of people), "
            "or the reduction that draws the same number of records from everybody, which protects changes up to a "
            "radius only and adds noise",
            fix="over='people'",
        )
    raise ParameterError(f"over is {over!r}.", allowed="'people'", fix="over='people'")
