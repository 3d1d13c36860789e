"""Queries about whole people: the mean over people of a Lipschitz function of a person's items."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.errors import ParameterError, nearest_name
from barrow.numerics import Exact, exact_text
from barrow.numerics.exact import near
from barrow.promises.shares import parse_share
from barrow.queries.distances import distance_slack, point_distances, region_share
from barrow.queries.person_kinds import FromReference, OwnSpread, Radius, Ramps
from barrow.queries.person_query import PersonFunction, PersonQuery
from barrow.queries.quantised import quantise
from barrow.queries.query import ClosedForm, Query, plain
from barrow.spaces import Space
from barrow.spaces.space import Floats

FUNCTIONS = ("share", "radius", "spread", "distance")
MOST_CENTERS = 100
"""How many centres are taken where none are named."""
_REGION = ("center", "radius", "members", "border")
Built = tuple[PersonFunction, str, list[str]]
"""The function, what is asked in words, and the names of its numbers."""


def person(
    space: Space,
    *,
    function: str,
    region: Mapping[str, Any] | Sequence[Any] | str | None = None,
    above: Exact | None = None,
    ramp: Exact | None = None,
    bracket: bool = False,
    centers: Sequence[Any] | None = None,
    reference: Sequence[Any] | str | None = None,
) -> PersonQuery:
    """The mean over people of a function of each person's items.

    Args:
        space: Any space with a public grid or labels; of ``"distance"`` a line or a tree.
        function: ``"share"``, how many people have more than about a share of their items in a region; ``"radius"``,
            the mean distance of a person's items from the best of some public centres; ``"spread"``, the mean distance
            of two of a person's items; ``"distance"``, the earth mover's distance from a public reference.
        region: Of a share: ``{center, radius, border}`` or ``{members, border}``, a list of items, or one label.
            ``border`` is the distance over which the region's edge falls to 0, the largest one by default for labels.
        above: Of a share: the threshold, e.g. ``"10 %"``.
        ramp: Of a share: how wide it is around the threshold, e.g. ``"10 %"``: who has 5 % or less counts nothing, who
            has 15 % or more counts in full.
        bracket: Of a share: two half ramps that enclose the sharp share, in place of one.
        centers: Of a radius: public records; by default all items, or 100 of them that lie far from each other.
        reference: Of a distance: public records that count alike, or ``"uniform"`` for all items.

    >>> from barrow.spaces import Discrete
    >>> query = person(Discrete(["home", "bar", "gym"]), function="share", region="bar", above="10 %", ramp="10 %")
    >>> round(query.lipschitz_upper(1), 6), round(query.range_upper(1), 6)
    (10.0, 1.0)
    >>> query.phi.exactly([1] + [0] * 9)  # one of ten items
    [Fraction(1, 2)]
    """
    if function not in FUNCTIONS:
        close = nearest_name(str(function), FUNCTIONS)
        raise ParameterError(
            f"function is {function!r}." + (f" Did you mean {close!r}?" if close else ""),
            allowed=", ".join(map(repr, FUNCTIONS)) + "; what is not Lipschitz, such as a median, a number of "
            "different places or the most frequent item, has no answer with useful noise",
            fix=f"function = {close or 'share'!r}",
        )
    given: dict[str, Any] = {
        "region": region, "above": above, "ramp": ramp, "bracket": bracket or None, "centers": centers,
        "reference": reference,
    }  # fmt: skip
    builder, takes = _BUILDERS[function]
    wrong = [name for name, value in given.items() if value is not None and name not in takes]
    if wrong:
        raise ParameterError(
            f"{wrong[0]} is not an option of the function {function!r}.",
            allowed=", ".join(takes) or "no further option",
            fix=f"leave {wrong[0]} out",
        )
    base = space.records_space
    _ = base.items
    phi, words, names = builder(base, {name: given[name] for name in takes})
    unit = "" if isinstance(phi, Ramps) else base.unit
    if space.no_records_distance is not None:
        words += f"; people without records count as {near(phi.high / 2, unit or '%')}"
    values = phi.at_items(base.items)
    if space.no_records_distance is not None:
        values = np.append(values, np.full((1, phi.outputs), float(phi.high) / 2.0), axis=0)
    arguments = {name: _plain(value) for name, value in given.items() if value is not None}
    return PersonQuery(
        space, "person", unit, words, quantise(values), {"function": function, **arguments},
        names=lambda: names, between=(0.0, float(phi.high)), phi=phi,
    )  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return plain(value)


def _share(space: Space, given: dict[str, Any]) -> Built:
    for name in ("region", "above", "ramp"):
        if given[name] is None:
            raise ParameterError(
                f"The share of people lacks {name}.",
                allowed="region, above and ramp",
                fix={"region": 'region = "bar"', "above": 'above = "10 %"', "ramp": 'ramp = "10 %"'}[name],
            )
    above, ramp = parse_share(given["above"]), parse_share(given["ramp"])
    start, end = above - ramp / 2, above + ramp / 2
    if start < 0 or end > 1:
        widest = 2 * min(above, 1 - above)
        raise ParameterError(
            f"The ramp goes from {near(start, '%')} to {near(end, '%')}.",
            allowed="a ramp that is half below and half above the threshold, within 0 and 1",
            fix=f'ramp = "{exact_text(widest)}"' if widest else 'above = "90 %"',
        )
    inner, where, edge = _region(space, given["region"])
    much = f"more than about {near(above, '%')} of their items"
    if not given["bracket"]:
        words = (
            f"the share of people with {much} {where} (counted in full from {near(end, '%')}, not at all up to "
            f"{near(start, '%')}, in between in part{edge})"
        )
        return Ramps(inner, (start,), ramp), words, [f"share of people with {much} {where}"]
    words = (
        f"the share of people with more than {near(above, '%')} of their items {where}, between two shares with ramps "
        f"from {near(start, '%')} to {near(above, '%')} and from there to {near(end, '%')}{edge}"
    )
    names = [
        f"no less than the share of people with {near(above, '%')} or more of their items {where}",
        f"no more than the share of people with more than {near(above, '%')} of their items {where}",
    ]
    return Ramps(inner, (start, above), ramp / 2), words, names


def _region(space: Space, region: Any) -> tuple[Query, str, str]:
    """The share of one item in the region, where that is in words, and how its edge falls."""
    table: dict[str, Any]
    if isinstance(region, Mapping):
        table = dict(region)
    else:
        table = {"members": [region] if isinstance(region, str) else list(region)}
    wrong = next((name for name in table if name not in _REGION), None)
    if wrong is not None:
        raise ParameterError(
            f"The region has an entry {wrong!r}.",
            allowed="center, radius and border; or members and border",
            fix='region = {center = [40.7, -74.0], radius = "2 km", border = "1 km"}',
        )
    border = table.pop("border", None)
    if border is None:
        if not space.geometry.equidistant:
            raise ParameterError(
                "The region has no border: a sharp edge has no useful constant, as moving an item across it changes "
                "the share at once.",
                allowed="border, the distance over which the region's edge falls to 0",
                fix='region = {center = [40.7, -74.0], radius = "2 km", border = "1 km"}',
            )
        border = Fraction(1)
    inner = region_share(space, ramp=border, **table)
    name, edge = str(inner.outputs[0]).removeprefix("share "), ""
    if space.geometry.equidistant and len(table.get("members", ())) == 1:
        name = f"at {table['members'][0]}"
    elif not space.geometry.equidistant:
        edge = f"; the edge of the region falls to 0 over {border}"
    return inner, name, edge


def _radius(space: Space, given: dict[str, Any]) -> Built:
    named = given["centers"]
    if named is None:
        ids = _scattered(space)
        far = np.asarray(space.block(None, ids), dtype=np.float64)
        which = "all items" if len(ids) == space.items else f"{len(ids)} items that lie far from each other"
    else:
        records = [named] if isinstance(named, str) else list(named)
        if not records:
            raise ParameterError("centers is empty.", allowed="public records", fix="leave centers out")
        far = np.stack([point_distances(space, record) for record in records], axis=1)
        which = f"{len(records)} public centres"
    inner = Query(
        space, "function", space.unit, "distances from centres",
        quantise(far * space.diameter, evaluation_error=distance_slack(space, far) * space.diameter),
        {}, ClosedForm(lambda p: space.diameter * (1.0 if math.isinf(p) else far.shape[1] ** (1.0 / p))),
    )  # fmt: skip
    words = f"the mean over people of the mean distance of their items from the centre that suits them best, of {which}"
    return Radius(inner), words + _unit(space), ["mean distance from one's own centre"]


def _scattered(space: Space) -> list[int]:
    """Items of which each lies as far as possible from those before, the first of them if several do."""
    if space.items <= MOST_CENTERS:
        return list(range(space.items))
    results = [space.default_item]
    away: Floats = np.asarray(space.block(results)[0], dtype=np.float64)
    while len(results) < MOST_CENTERS:
        results.append(int(np.round(away, 9).argmax()))
        away = np.minimum(away, np.asarray(space.block(results[-1:])[0]))
    return sorted(results)


def _spread(space: Space, given: dict[str, Any]) -> Built:
    words = "the mean over people of the mean distance of two of their items, drawn one after the other"
    return OwnSpread(space), words + _unit(space), ["mean distance of two of one's own items"]


def _distance(space: Space, given: dict[str, Any]) -> Built:
    if not space.geometry.has_tree:
        raise ParameterError(
            f"The earth mover's distance from a reference has no exact formula on a {space.kind} space.",
            allowed="a line, labels, clusters or a tree",
            fix="function = 'radius', or the question 'distance' from one point",
        )
    named = given["reference"]
    if named is None:
        raise ParameterError(
            "The distance lacks its reference.", allowed="public records, or 'uniform'", fix="reference = 'uniform'"
        )
    counts = np.ones(space.items, dtype=np.int64)
    which = "all items alike"
    if not (isinstance(named, str) and named == "uniform"):
        records = [named] if isinstance(named, str) else list(named)
        ids = space.encode(records)
        counts = np.bincount(ids, minlength=space.items).astype(np.int64)
        which = f"a public reference of {len(records)} item{'s' * (len(records) != 1)}"
    words = f"the mean over people of the earth mover's distance between their items and {which}"
    return FromReference(space, counts), words + _unit(space), ["mean distance from the reference"]


def _unit(space: Space) -> str:
    return f" ({space.unit})" if space.unit else ""


_BUILDERS: dict[str, tuple[Callable[[Space, dict[str, Any]], Built], tuple[str, ...]]] = {
    "share": (_share, ("region", "above", "ramp", "bracket")),
    "radius": (_radius, ("centers",)),
    "spread": (_spread, ()),
    "distance": (_distance, ("reference",)),
}
