"""A query: a public function on the items of a space, with its Lipschitz constants, its range and its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics import Exact, digest_of, exact, exact_text
from barrow.queries.lipschitz import (
    DECLARED,
    PAIR_WORK,
    RANGE_WORK,
    Constants,
    by_all_pairs,
    by_chains,
    by_near_pairs,
    by_neighbours,
    by_range,
    pair_work,
    range_by_pairs,
)
from barrow.queries.quantised import Quantised, norm_order, relative_slack
from barrow.spaces import Space
from barrow.spaces.space import Floats


@dataclass(frozen=True)
class ClosedForm:
    """A Lipschitz constant known on paper, of the real function before it is quantised.

    Attributes:
        bound: From the order of the norm to an upper bound, in units per normalised distance.
        tight: Whether no pass over all pairs could give a smaller one (but for rounding).
        method: ``"closed form"``, or ``"declared"`` where it is the user's word.
        range_bound: The same for the range, where it is known.
        quantised: Whether both are bounds of the quantised function already.
        rests_on: The query from whose constants the bounds are made: what is declared there stays declared.

    >>> ClosedForm(lambda p: 2.0).tight
    True
    """

    bound: Callable[[float], float]
    tight: bool = True
    method: str = "closed form"
    range_bound: Callable[[float], float] | None = None
    quantised: bool = False
    rests_on: Query | None = None

    def method_at(self, p: float) -> str:
        """How the constant in the p-norm was found: as somebody's word, if it rests on one."""
        if self.rests_on is not None and not self.rests_on.constants([p])[0].proved:
            return DECLARED
        return self.method


@dataclass(frozen=True, eq=False, repr=False)
class Query:
    """A linear query: the mean over people of the mean over a person's items of a public function f.

    Made by :func:`mean`, :func:`distance_to`, :func:`similarity`, :func:`linear_embedding`, :func:`region_share`,
    :func:`density`, :func:`histogram` and :func:`function`.

    Attributes:
        space: The public space of items.
        kind: Which of these made it.
        unit: The unit of the answer.
        description: What is asked, in plain words.
        table: f on every item, quantised to a public grid.
        arguments: What was asked for, as plain data.
        closed_form: A Lipschitz constant known on paper, or None.
        names: Gives the outputs' names.
        places: Coordinates of the outputs of a density, or None.
        cartesian: Coordinates in which near items can be found, or None, and how far to look first.
        between: The least and the largest that each output can be at any record, snapped or not; where it is known.

    >>> from barrow.spaces import Line
    >>> from barrow.queries import distance_to
    >>> query = distance_to(Line(0, 10, unit="km", step=1), 3)
    >>> query.dimension, query.unit, round(query.lipschitz_upper(1), 6)
    (1, 'km', 10.0)
    """

    space: Space
    kind: str
    unit: str
    description: str
    table: Quantised
    arguments: Mapping[str, Any]
    closed_form: ClosedForm | None = None
    names: Callable[[], Sequence[str]] = tuple
    places: Floats | None = None
    cartesian: tuple[Floats, float] | None = None
    between: tuple[Any, Any] = (-math.inf, math.inf)
    _by_order: dict[float, Constants] = field(default_factory=dict)

    @property
    def of_person(self) -> bool:
        """Whether it is a function of a person's whole data, which need not be linear in it."""
        return False

    @property
    def dimension(self) -> int:
        """The number of outputs."""
        return self.table.shape[1]

    @property
    def step(self) -> Fraction:
        """The public grid of f."""
        return self.table.step

    @property
    def rounding_upper(self) -> float:
        """How far the quantised f may be from the function in words, in units."""
        return self.table.error_upper

    @cached_property
    def snapping_upper(self) -> float:
        """How far snapping records to the grid may move an output, in units: the Lipschitz constant times rho.

        Cells are where records are snapped to, so that their shares do not change. Where no constant of the real
        function is known on paper, twice that of its values on the grid is taken: a piecewise linear function has a
        whole cell on each of its slopes (docs/proofs/snapping.md).

        >>> from barrow.spaces import Line
        >>> from barrow.queries import mean
        >>> round(mean(Line(0, 100, unit="years", step=2)).snapping_upper, 9)
        1.0
        """
        rho = self.space.snapping_upper
        if not rho or self.kind in ("histogram", "tree_edges", "multiscale"):
            return 0.0
        if self.closed_form is not None and self.closed_form.method != DECLARED:
            return self.closed_form.bound(math.inf) * rho
        return 2.0 * self.lipschitz_upper("inf") * rho

    @property
    def of_items(self) -> bool:
        """Whether the outputs are the shares of the items themselves."""
        return self.kind == "histogram"

    @property
    def snapping_counted(self) -> bool:
        """Whether half widths hold what snapping moves; densities and tables are about snapped records and say so."""
        return self.kind not in ("density", "histogram", "function")

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(self.names())

    def lipschitz_upper(self, p: Exact = 1) -> float:
        """An upper bound on the Lipschitz constant of the quantised f in the p-norm, per normalised distance."""
        return self.constants([p])[0].lipschitz_upper

    def range_upper(self, p: Exact = 1) -> float:
        """An upper bound on the largest p-norm of f(x) - f(x') over the space (B)."""
        return self.constants([p])[0].range_upper

    def range_ratio(self, p: Exact = 1) -> Fraction:
        """B/ell, rounded up, at most 1: the worst case of a release at alpha is alpha times this."""
        return Fraction(self.constants([p])[0].range_ratio)

    @property
    def constant_method(self) -> str:
        """How the Lipschitz constant was found: ``"declared"`` where it is somebody's word, else how it was proved."""
        known = list(self._by_order.values()) or self.constants([1])
        return next((c.method for c in known if not c.proved), known[0].method)

    @property
    def constant_proved(self) -> bool:
        """Whether the noise rests on a constant that was proved here, on the values really used, or by a theorem.

        Where it is False, privacy rests on the word of whoever declared the constant: a client refuses such a query,
        and a release names it.

        >>> from barrow.queries import function
        >>> from barrow.spaces import Discrete
        >>> function(Discrete(["walk", "drive"]), [0, 12.5], lipschitz=20).constant_proved
        True
        """
        return self.constant_method != DECLARED

    def constants(self, norms: Iterable[Exact]) -> list[Constants]:
        """Lipschitz constant, range and how they were found, for several norms in one pass.

        >>> from barrow.queries import histogram
        >>> from barrow.spaces import Clustered
        >>> result = histogram(Clustered.grid(2, 2, r=0.25)).constants([1, 2, "inf"])
        >>> [round(c.lipschitz_upper, 6) for c in result], result[0].method
        ([8.0, 5.656854, 4.0], 'closed form')
        """
        orders = [norm_order(p) for p in norms]
        missing = [p for p in dict.fromkeys(orders) if p not in self._by_order]
        if missing:
            for p, constants in self._find(missing).items():
                self._by_order[p] = self._settled(constants, p)
        return [self._by_order[p] for p in orders]

    def _find(self, norms: Sequence[float]) -> dict[float, Constants]:
        if self.space.geometry.gaps is not None:
            return by_neighbours(self.space, self.table, norms)
        closed = self._closed(norms)
        if closed is not None and self.closed_form is not None and self.closed_form.tight:
            return closed
        if self.table.sparse and self.cartesian is not None:
            near = by_near_pairs(self.space, self.table, norms, *self.cartesian, beyond=self._beyond)
            if near is not None:
                # Chains cost a few per cent, so that a formula may be below what was found: both are bounds.
                return near if closed is None else {p: min(near[p], closed[p], key=_constant) for p in norms}
        elif pair_work(self.space.items, self.dimension) <= PAIR_WORK:
            return by_all_pairs(self.space, self.table, norms)
        elif closed is None or (self.closed_form is not None and self.closed_form.method == DECLARED):
            closed = self._proved(norms, closed)
        if closed is None:
            raise ParameterError(
                f"The space has {self.space.items:,} items and the query {self.dimension:,} outputs: too many pairs "
                "to visit for its Lipschitz constant, and none is known on paper.",
                allowed=f"about {int((2 * PAIR_WORK / (self.dimension + 16)) ** 0.5):,} items, or a declared constant",
                fix="lipschitz={2: ...} if you can prove one, or a coarser space",
            )
        return closed

    def _proved(self, norms: Sequence[float], declared: dict[float, Constants] | None) -> dict[float, Constants] | None:
        """What can be proved cheaply where there are too many pairs, in place of what is declared."""
        # A proof stands above a constant that is only declared, even where chains make it a little larger.
        chained = by_chains(self.space, self.table, norms)
        if chained is not None:
            return chained
        by_span = by_range(self.space, self.table, norms)
        if self.space.geometry.equidistant:
            return by_span
        if declared is None:
            return None
        return {p: min(by_span[p], declared[p], key=_constant) for p in norms}

    def _beyond(self, p: float, distance: float) -> float:
        """A bound on the change per unit between items at least ``distance`` apart, beside range/distance."""
        return math.inf

    def _closed(self, norms: Sequence[float]) -> dict[float, Constants] | None:
        """The constant on paper plus what quantising adds: two entries each off by at most ``error_upper``."""
        if self.closed_form is None:
            return None
        known = self.closed_form
        slack = 1.0 + relative_slack(self.dimension)
        differing = min(self.dimension, 2 * self.table.row_width)
        result = {}
        for p in norms:
            moved = 0.0 if known.quantised else float(differing) ** (1.0 / p) * 2.0 * self.table.error_upper
            bound = known.bound(p) + (moved / self.space.least_distance_lower if moved else 0.0)
            span = math.inf if known.range_bound is None else (known.range_bound(p) + moved) * slack
            result[p] = Constants(bound * slack, span, known.method_at(p), None)
        return result

    def _settled(self, result: Constants, p: float) -> Constants:
        """Fills in the range, and refuses a query that is the same everywhere."""
        if not math.isfinite(result.lipschitz_upper):
            raise ParameterError(
                "The query's Lipschitz constant is not a finite number.", allowed="a Lipschitz query", fix="smooth it"
            )
        span = min(result.range_upper, self.table.range_upper(p))
        if result.proved:  # distances are at most 1, so no change can exceed ell either; a declared one bounds nothing
            span = min(span, result.lipschitz_upper)
        several = self.dimension > 1 and not self.table.sparse and not math.isfinite(result.range_upper)
        if several and pair_work(self.space.items, self.dimension) <= RANGE_WORK:
            span = min(span, range_by_pairs(self.table, p))
        if span <= 0.0:
            raise ParameterError(
                f"The query ({self.description}) is the same for every item of the space.",
                allowed="a query whose answer depends on the data",
                fix="print its value: it needs no data and no noise",
            )
        return replace(result, range_upper=span)

    def to_spec(self) -> dict[str, Any]:
        """Plain data (TOML, JSON) from which :func:`query_from_spec` makes an equal query."""
        return {"kind": self.kind, **self.arguments}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical plain data of space and query: what was asked, not how floats rounded it."""
        return digest_of({"space": self.space.digest, "query": self.to_spec()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Query({self.kind}, {self.dimension} outputs: {self.description})"


def _constant(result: Constants) -> float:
    return result.lipschitz_upper


def check_step(query: Query, step: Exact | None) -> Query:
    """``query``, unless its user's grid is so coarse that rounding f raises its Lipschitz constant by over 5%.

    Two items that are close may be rounded apart, and noise would grow with it.
    """
    if step is None:
        return query
    ell = query.lipschitz_upper("inf")
    added = 2.0 * query.table.error_upper / query.space.least_distance_lower
    if added > 0.05 * ell:
        finest = 2.0 ** math.floor(math.log2(0.02 * ell * query.space.least_distance_lower))
        raise ParameterError(
            f"step is {exact_text(query.step)}, too coarse a grid: rounding f to it may raise its Lipschitz constant "
            f"by up to {100.0 * added / ell:.0f}%, and the noise as much.",
            allowed=f"about {finest:.3g} or less, as the nearest items are "
            f"{query.space.least_distance_lower:.3g} of the diameter apart",
            fix="leave step out",
        )
    return query


def step_argument(step: Exact | None) -> dict[str, str]:
    """The step as plain data, if one was asked for."""
    return {} if step is None else {"step": exact_text(exact(step, "step"))}


def plain(value: Any) -> Any:
    """A public record as plain data."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    return value
