"""Histograms, and any function that a user gives on the items of a finite space."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, float_up
from barrow.queries.lipschitz import DECLARED, PAIR_WORK, pair_work
from barrow.queries.quantised import Quantised, norm_order, quantise, row_norms
from barrow.queries.query import ClosedForm, Query, check_step, step_argument
from barrow.spaces import Space
from barrow.spaces.space import Floats, Ids

_SPOT_CHECKS = 2**20


def histogram(space: Space) -> Query:
    """The share of people (their items) in every item of the space: the identity.

    Its Lipschitz constant is 2^(1/p)/d_min: it treats the nearest items like the farthest, so prefer a density, or a
    histogram along a tree, where distances differ much.

    >>> from barrow.spaces import Discrete
    >>> query = histogram(Discrete(["red", "green"]))
    >>> query.outputs, round(query.lipschitz_upper(1), 9)
    (('red', 'green'), 2.0)
    """
    k = space.items
    identity = heavy.sparse.csr_array((np.ones(k, dtype=np.int64), np.arange(k), np.arange(k + 1)), shape=(k, k))
    steepness = 1.0 / space.least_distance_lower

    def bound(p: float) -> float:
        return float(2.0 ** (1.0 / p)) * steepness * (1.0 + 2.0**-48)

    return Query(
        space,
        "histogram",
        "",
        f"the share of people (their items) in each of the {k:,} items",
        Quantised(identity, Fraction(1), 0.0),
        {},
        ClosedForm(bound),
        lambda: space.labels,
    )


def function(
    space: Space,
    values: ArrayLike | Callable[[Any], Any],
    *,
    names: Sequence[str] | None = None,
    unit: str = "",
    description: str | None = None,
    lipschitz: Exact | Mapping[Any, Exact] | None = None,
    step: Exact | None = None,
) -> Query:
    """The mean over people of any public function on the items.

    Args:
        space: Any space with a public grid or labels.
        values: The function's values, one row for each item; or the function itself, which is called with an item's
            coordinates (its label where it has none) and returns a number or a row of numbers.
        names: What the outputs are called.
        unit: Their unit.
        description: What is asked, in plain words.
        lipschitz: A Lipschitz constant that you can prove, per normalised distance; ``{p: constant}`` if there are
            several outputs. Where the space is small enough, or a box, or a line, a constant that is proved here takes
            its place; elsewhere it is spot-checked and believed, and ``constant_proved`` is False.
        step: The public grid of the values.

    >>> from barrow.spaces import Discrete
    >>> query = function(Discrete(["walk", "drive"]), [0, 12.5], unit="kg", names=["CO2"])
    >>> query.outputs, round(query.lipschitz_upper(1), 9)
    (('CO2',), 12.5)
    """
    rows = _evaluated(space, values)
    labels = [f"output {j + 1}" for j in range(rows.shape[1])] if names is None else [str(x) for x in names]
    if len(labels) != rows.shape[1]:
        raise ParameterError(
            f"There are {len(labels)} names for {rows.shape[1]} outputs.", allowed="as many", fix="one name for each"
        )
    table = quantise(rows, step=step)
    closed = None if lipschitz is None else _declared(lipschitz, rows.shape[1])
    declared = {} if lipschitz is None else {"lipschitz": _plain_constants(lipschitz)}
    query = Query(
        space,
        "function",
        unit,
        description or f"the mean over people of the mean over their items of {', '.join(labels[:3])}",
        table,
        {
            "values": rows.tolist(),
            "names": labels,
            "unit": unit,
            **({} if description is None else {"description": description}),
            **declared,
            **step_argument(step),
        },
        closed,
        lambda: labels,
    )
    if closed is not None:
        _check_declared(query, closed)
    return check_step(query, step)


def _evaluated(space: Space, values: ArrayLike | Callable[[Any], Any]) -> Floats:
    if callable(values):
        known = space.geometry
        points = known.points if known.flat and known.places is None else known.places
        arguments = space.labels if points is None else list(points)
        values = [values(x) for x in arguments[: space.items]]
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            "The function's values are not numbers, or not as many for each item.",
            allowed="one number, or one row of numbers, for each item",
            fix="return the same number of outputs for every item",
        ) from None
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or len(rows) != space.items or rows.shape[1] == 0:
        raise ParameterError(
            f"The function's values have shape {np.shape(values)}.",
            allowed=f"one row for each of the {space.items} items",
            fix="values in the order of space.labels",
        )
    if not np.isfinite(rows).all():
        item, output = np.argwhere(~np.isfinite(rows))[0]
        raise ParameterError(
            f"The function is {rows[item, output]} at {space.label(int(item))!r}.",
            allowed="finite numbers everywhere on the space",
            fix="give this item a public value",
        )
    return rows


def _declared(lipschitz: Exact | Mapping[Any, Exact], outputs: int) -> ClosedForm:
    if isinstance(lipschitz, Mapping):
        known = {norm_order(p): _constant(value) for p, value in lipschitz.items()}
    elif outputs == 1:
        known = {1.0: _constant(lipschitz)}
    else:
        known = {}
    if not known:
        raise ParameterError(
            f"lipschitz is {lipschitz!r} for {outputs} outputs, and the norm is not said.",
            allowed="{p: constant}, p being 1, 2, 'inf' or any number of at least 1",
            fix=f"lipschitz={{2: {lipschitz if isinstance(lipschitz, int | float | str) else 1}}}",
        )

    def bound(p: float) -> float:
        """Norms fall with p, and rise by at most d^(1/p - 1/q) when it falls from q."""
        return min(
            value * float(outputs ** max(0.0, 1.0 / p - 1.0 / q)) * (1.0 + 2.0**-48) for q, value in known.items()
        )

    return ClosedForm(bound, tight=False, method=DECLARED)


def _constant(value: Exact) -> float:
    number = exact(value, "lipschitz")
    if number <= 0:
        raise ParameterError(f"lipschitz is {value}.", allowed="a number above 0", fix="leave it out")
    return float_up(number)


def _plain_constants(lipschitz: Exact | Mapping[Any, Exact]) -> Any:
    if isinstance(lipschitz, Mapping):
        return {str(p): str(value) for p, value in lipschitz.items()}
    return str(lipschitz)


def _check_declared(query: Query, closed: ClosedForm) -> None:
    """Refuses a declared constant that a pair of items exceeds, and names the pair."""
    space, norms = query.space, (1.0, 2.0, math.inf)
    if pair_work(space.items, query.dimension) <= PAIR_WORK:
        result = query.constants(norms)
        pairs = [(p, c.pair) for p, c in zip(norms, result, strict=True) if c.pair is not None]
    else:
        pairs = []
    added = 2.0 * query.table.error_upper
    values = query.table.floats()
    unit = float(query.step)

    def check(p: float, a: Ids, b: Ids) -> None:
        gap = row_norms(values[a] - values[b], p) * unit
        far = space.distance(a, b)
        allowed = closed.bound(p) * far * (1.0 + 2.0 * space.distance_error) + query.dimension * added
        wrong = gap > allowed * (1.0 + 2.0**-40)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            x, y = int(a[i]), int(b[i])
            raise ParameterError(
                f"The query is not Lipschitz with the constant declared: between {space.label(x)!r} and "
                f"{space.label(y)!r} it changes by {gap[i]:.6g} (norm {p:g}) over a distance of {far[i]:.6g}, that is "
                f"by {gap[i] / max(far[i], 1e-300):.6g} per unit.",
                allowed=f"at most {closed.bound(p):.6g} per unit of normalised distance",
                fix="a larger constant, or leave it out where the space is small enough for all pairs",
            )

    for p, pair in pairs:
        check(p, np.array([pair[0]]), np.array([pair[1]]))
    if not pairs:
        ends = np.argmax(query.table.integers, axis=0), np.argmin(query.table.integers, axis=0)
        for a, b in [ends, *_spots(space.items)]:
            for p in norms:
                check(p, a, b)


def _spots(items: int) -> list[tuple[Ids, Ids]]:
    """Deterministic pairs: each item with the next ones, and with ones at growing distances in the order of ids."""
    width = max(1, _SPOT_CHECKS // 32)
    first = np.arange(0, items, max(1, items // width))
    shifts = sorted({1, 2, 3, *(max(1, items // 2**j) for j in range(1, 24)), *(2**j for j in range(2, 8))})
    return [(first, (first + s) % items) for s in shifts if s < items][:32]
