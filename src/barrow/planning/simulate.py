"""Errors by simulation: noise as a release has it, from a seeded source, decoded, measured in EMD, and snapping.

Before a release the truth is a public reference distribution, which never comes from data, so that equal arguments give
equal numbers. What is predicted is the distance from the *raw* records, which nothing has snapped to a grid
(docs/proofs/snapping.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.multiscale import mixed_reference
from barrow.noise.source import SeededSource
from barrow.numerics import whole
from barrow.planning.candidates import Errors
from barrow.progress import with_progress
from barrow.spaces import Space
from barrow.spaces.grids import coarser, snapping_means
from barrow.spaces.space import Floats
from barrow.transport import measure_of
from barrow.transport.measure import MOST_MEASURED

WITH_RECORDS = 0.95
"""So many people hold records at a reference distribution that has a name."""
Reference = object
"""``"auto"``, ``"uniform"``, ``"rough"``, ``"zipf"``, ``"mixed"``, a weight for each item, or weights by label."""
_SEED, _EVEN_SEED = 20241014, 20261118
_DRAWS = ((500, 8), (2000, 4), (5000, 2))
"""So many releases up to so many items, beyond them one: errors of many items average out."""
MOST_RANKED = 5000
"""What is ranked, and not promised, is measured on a grid of at most about so many items."""
_FINER = 2.5
"""Grids that stand in for finer ones have at least so many items for each node."""


def reference_distribution(space: Space, reference: Reference = "auto") -> Floats:
    """A distribution over the items: named, or one that the user gives and that is public.

    Args:
        space: The public space.
        reference: ``"uniform"``; ``"rough"`` (fixed weights like those of a distribution drawn evenly from all that
            there are); ``"zipf"`` (the i-th item in the space's order has weight 1/i); ``"mixed"`` (half in clusters,
            half in single cells, for spaces with a geometry; rough weights times these where it is no line); a list of
            weights, one for each item; or weights by label, 0 for the others. ``"auto"`` is mixed where there is a
            geometry, else rough. Others flatter decoders: these turn noise into what is even, and neither names nor
            places are like those next to them.

    >>> from barrow.spaces import Discrete
    >>> reference_distribution(Discrete(["a", "b", "c"]), {"a": 3, "c": 1}).tolist()
    [0.75, 0.0, 0.25]
    """
    k = space.items
    if space.no_records_distance is not None and isinstance(reference, str):
        return np.append(WITH_RECORDS * reference_distribution(space.records_space, reference), 1.0 - WITH_RECORDS)
    if isinstance(reference, str):
        geometric = space.geometry.has_map or bool(space.geometry.parts)
        if reference == "auto":
            reference = "mixed" if geometric else "rough"
        plain = {"uniform": np.ones(k), "rough": _rough(k), "zipf": 1.0 / np.arange(1, k + 1)}
        if reference == "mixed" and geometric:
            plain["mixed"] = mixed_reference(space) * (1.0 if space.geometry.on_line else plain["rough"])
        if reference not in plain:
            raise ParameterError(
                f"The reference distribution is {reference!r}.",
                allowed="'auto', 'uniform', 'rough', 'zipf', 'mixed' (with a geometry), or public weights",
                fix="reference='uniform'",
            )
        values = plain[reference]
    elif isinstance(reference, Mapping):
        values = np.zeros(k)
        values[space.encode(list(reference))] = list(reference.values())
    else:
        values = np.array(reference, dtype=np.float64)
    if values.shape != (k,) or not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise ParameterError(
            f"The reference distribution has the shape {values.shape}, or weights that are no weights.",
            allowed=f"{k:,} weights of 0 or more, one for each item, not all 0",
            fix="reference='uniform'",
        )
    result: Floats = values / values.sum()
    return result


def even_numbers(items: int) -> Floats:
    """Fixed numbers from 0.001 to 1, evenly spread, in no order.

    >>> bool(even_numbers(1000).min() >= 0.001)
    True
    """
    return np.asarray(np.maximum((SeededSource(_EVEN_SEED).words(items) >> np.uint64(11)) * 2.0**-53, 1e-3))


def _rough(items: int) -> Floats:
    """Weights like those of a distribution drawn evenly from all that there are."""
    return np.asarray(-np.log(even_numbers(items)))


class Simulable(Protocol):
    """What can be simulated: a mechanism that gives histograms."""

    @property
    def space(self) -> Space:
        """The public space."""

    def simulated(self, reference: Floats, source: SeededSource) -> Floats:
        """One decoded histogram, if everybody's items followed ``reference``."""


@dataclass(frozen=True)
class Simulated:
    """A simulated error.

    Attributes:
        mean: The mean EMD from raw records, in the space's units.
        standard_error: Of that mean; None after one release.
        draws: How many releases were simulated.
        method: How the EMD was measured, see :func:`barrow.transport.measure_of`.
        decoded: The mean EMD from snapped records: noise and decoding without snapping.

    >>> Simulated(0.01, 0.001, 12, "exact", 0.01).mean
    0.01
    """

    mean: float
    standard_error: float | None
    draws: int
    method: str
    decoded: float

    @property
    def errors(self) -> Errors:
        """What a candidate says of it."""
        return Errors(self.mean, self.standard_error, self.decoded)


def raw_error(decoded: float, snapping: float) -> float:
    """About how far a histogram is from raw records that is ``decoded`` off from the snapped ones.

    It is at least what snapping moves and what is left of the error without it, and at most their sum: where cells are
    full of records both act across each other, and neither is far larger (docs/proofs/snapping.md).
    """
    return math.hypot(decoded, snapping)


def draws_of(items: int) -> int:
    """How many releases are simulated, unless more are asked for.

    >>> draws_of(300), draws_of(10_000)
    (8, 1)
    """
    return next((count for most, count in _DRAWS if items <= most), 1)


def simulate(
    mechanism: Simulable, reference: Floats, draws: int | None = None, most: int = MOST_MEASURED, seed: int = _SEED
) -> Simulated:
    """The mean EMD between raw records that follow ``reference`` and what ``mechanism`` would release about them.

    Args:
        mechanism: The mechanism.
        reference: A public distribution, see :func:`barrow.planning.simulate.reference_distribution`.
        draws: How many releases to simulate; fewer for large spaces by default.
        most: On how many items distances are measured at most: what is only ranked may be measured on a coarser grid.
        seed: Of the simulated noise: errors of few draws that are compared should not share it.
    """
    space, measure = mechanism.space, measure_of(mechanism.space, most)
    count = draws_of(space.items) if draws is None else whole(draws, "draws", least=1, most=10_000)
    source, moved = SeededSource(seed), float(reference @ snapping_means(space))
    decoded = [
        measure.distance(mechanism.simulated(reference, source) - reference)
        for _ in with_progress(range(count), "simulating releases")
    ]
    errors = [raw_error(error, moved) for error in decoded]
    size = space.diameter
    spread = float(np.std(errors, ddof=1)) / count**0.5 * size if count > 1 else None
    return Simulated(float(np.mean(errors)) * size, spread, count, measure.method, float(np.mean(decoded)) * size)


@dataclass(frozen=True, eq=False)
class StandIn:
    """A coarser grid that stands in for a space in simulations. See :func:`stand_in`.

    Attributes:
        space: The coarser grid, or the space itself.
        reference: The public distribution there.
        lost: What the coarser cells hide, normalised: how much farther they snap, as a root of squares.
    """

    space: Space
    reference: Floats
    lost: float

    def error(self, decoded: float) -> float:
        """The error that the space itself would have, from that of the stand-in."""
        return raw_error(decoded, self.lost)


def stand_in(space: Space, reference: Floats, nodes: int, least: int = MOST_MEASURED) -> StandIn:
    """A coarser grid with items enough for ``nodes`` nodes: what is simulated there errs as the space itself would.

    Where items are several times finer than nodes their number decides how long decoding takes, and the error but
    little: what cells hide is added as :func:`raw_error` adds snapping.

    Args:
        space: The public space.
        reference: A public distribution over its items.
        nodes: How many nodes carry them.
        least: Spaces of so many items or fewer stand for themselves.
    """
    result, wanted = None, max(least, math.ceil(_FINER * nodes))
    while result is None and space.items > wanted:  # cells become wider by whole factors, and may become too wide
        wider = coarser(space, wanted)
        if wider is None:
            break
        result, wanted = wider if wider[0].items >= _FINER * nodes else None, math.ceil(1.5 * wanted)
    if result is None:
        return StandIn(space, reference, 0.0)
    coarse, home = result
    shares = np.asarray(np.bincount(home, reference, minlength=coarse.items), dtype=np.float64)
    before, after = float(reference @ snapping_means(space)), float(shares @ snapping_means(coarse))
    return StandIn(coarse, shares, math.sqrt(max(after**2 - before**2, 0.0)))
