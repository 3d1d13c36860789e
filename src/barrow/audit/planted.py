"""Bugs planted on purpose: each replaces a piece of shipped code for a moment, and an audit must see it.

An audit that cannot fail says nothing. Every bug here was made by somebody, somewhere, or is one line away: half a
scale, a sensitivity that forgets one side, rounding before the noise, noise that is used twice, a budget given back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from barrow import accounting
from barrow.accounting import shuffled
from barrow.audit.cases import CASES
from barrow.audit.verdict import Planted
from barrow.engines import counts as engine_counts
from barrow.engines import memory
from barrow.errors import BarrowError
from barrow.ledger import cells, charges, opened
from barrow.ledger import promises as ledger_promises
from barrow.mechanisms import additive, itemwise, linear, reduction, sampled_sums, statistics, strategies, summed
from barrow.mechanisms.user_level import ball, noise, subsets
from barrow.noise import Center, lazy_uniform
from barrow.noise.additive import graph_noise, knorm, rounded, variates
from barrow.noise.counts import binomial, shares
from barrow.noise.source import SeededSource
from barrow.numerics import limits
from barrow.promises import RecordMap, aggregation, definitions, events
from barrow.queries import holders, private_groups, quantised, query
from barrow.randomisers import matrix, mixture
from barrow.study import study as asked

Patch = Callable[[Any], Any]
"""From the shipped piece of code to the broken one."""


@dataclass(frozen=True)
class Bug:
    """A bug to plant.

    Attributes:
        name: What it breaks.
        case: The audit that must see it.
        owner: Where the shipped piece is.
        piece: What it is called there.
        broken: From the shipped piece to the broken one.

    >>> BUGS[0].case in CASES
    True
    """

    name: str
    case: str
    owner: Any
    piece: str
    broken: Patch


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """Plants a bug, and takes it out again whatever happens.

    >>> before = additive.AdditiveNoise.draw
    >>> with planted(BUGS[0]):
    ...     changed = additive.AdditiveNoise.draw is not before
    >>> changed, additive.AdditiveNoise.draw is before
    (True, True)
    """
    getattr(bug.owner, bug.piece)  # a name that loads its module on first use is there from here on
    shipped = vars(bug.owner)[bug.piece]
    setattr(bug.owner, bug.piece, bug.broken(shipped))
    try:
        yield
    finally:
        setattr(bug.owner, bug.piece, shipped)


def try_bug(bug: Bug) -> Planted:
    """Plants a bug, audits, and says whether it was caught; an audit that cannot go on has caught it, too.

    >>> try_bug(BUGS[0]).caught
    True
    """
    with planted(bug):
        try:
            result = CASES[bug.case]()
        except BarrowError as error:
            return Planted(bug.name, True, f"{bug.case}: refused, {error.problem}")
    wrong = next((f for f in result if not f.passed), None)
    return Planted(bug.name, wrong is not None, "" if wrong is None else f"{wrong.mechanism} ({wrong.model})")


# Broken pieces.


def _as_if(forgotten: RecordMap) -> Patch:
    """The price alpha tau q where records are filtered, or may jump."""

    def make(reach: Any) -> Any:
        return lambda self, *change: reach(RecordMap.CONTRACTION if self is forgotten else self, *change)

    return make


def _after(change: Callable[[Any], Any]) -> Patch:
    """The shipped piece, with its result changed."""
    return lambda shipped: lambda *args, **options: change(shipped(*args, **options))


def _half_scale(draw: Any) -> Any:
    return lambda self, center, source=None: draw(
        replace(self, scale=self.scale / 2, grid=self.grid / 2), center, source
    )


def _exponential_ratio(shipped: Any) -> Any:
    """P = e^-a, which is right where answers are on the grid."""
    return property(lambda self: Fraction(math.exp(-self.rate)))


def _nearest_step(shipped: Any) -> Any:
    return lambda values, *, source=None: [math.floor(value + Fraction(1, 2)) for value in values]


def _all_parties(shipped: Any) -> Any:
    return property(lambda self: self.aggregators)


def _scaled_constants(lipschitz: float, span: float) -> Patch:
    return _after(
        lambda result: [
            replace(c, lipschitz_upper=c.lipschitz_upper * lipschitz, range_upper=c.range_upper * span) for c in result
        ]
    )


def _rounded(exact: Center) -> Center:
    return Center.from_fractions([Fraction(round(exact.exact_entry(j) * 8), 8) for j in range(len(exact))])


def _weighted_by_records(center: Any) -> Any:
    """Every record counts once, instead of every user."""

    def broken(self: Any, query: Any) -> Center:
        sizes = self._size
        object.__setattr__(self, "_size", np.ones_like(sizes))
        self._cache.clear()
        try:
            exact = center(self, query)
            entries = [exact.exact_entry(j) * self.users / int(self._count.sum()) for j in range(len(exact))]
        finally:
            object.__setattr__(self, "_size", sizes)
            self._cache.clear()
        return Center.from_fractions(entries)

    return broken


def _one_word(init: Any) -> Any:
    return lambda self, magnitude, words, source: init(self, magnitude, np.full_like(words, words[0]), source)


def _cut_off(approximate: Any) -> Any:
    return lambda self, uniforms: approximate(self, np.maximum(uniforms, 0.05))


def _resampled(reach: Any) -> Any:
    def broken(self: Any, length: int) -> None:
        if self.length < length:
            self.bits, self.length = 0, 0
        reach(self, length)

    return broken


def _smaller_shape(init: Any) -> Any:
    return lambda self, shape, source: init(self, max(1, shape - 1), source)


def _truth_in_eight(from_items: Any) -> Any:
    def broken(self: Any, ids: Any, *, source: Any = None) -> Any:
        result = from_items(self, ids, source=source)
        truth = self.space._ids(ids).ravel()
        return np.where(result == (truth + 1) % self.space.items, truth, result)

    return broken


def _same_word(from_items: Any) -> Any:
    def broken(self: Any, ids: Any, *, source: Any = None) -> Any:
        word = source.words(1)

        class Again(SeededSource):
            def words(self, count: int) -> Any:
                return np.repeat(word, count)

        return from_items(self, ids, source=Again(1))

    return broken


def _biased_bits(by_bits: Any) -> Any:
    def broken(counts: Any, above: Any, below: Any, source: Any) -> Any:
        return by_bits(counts, above - np.minimum(np.maximum(above // 8, 1), above), below, source)

    return broken


def _half_price(result: Any) -> Any:
    true = result.definition
    half = definitions.Emd(true.alpha / 2, true.delta, model=true.model.value, bounded=true.bounded)
    return replace(result, definition=half, worst_case=None)


def _in_order(randomise: Any) -> Any:
    """The reports of a person are listed in the order of the items: who reads them can link them."""

    def broken(self: Any, ids: Any, *, source: Any = None) -> Any:
        sample = self.randomiser.from_items(np.asarray(ids).ravel(), source=source)
        labels = [self.randomiser.report_labels[i] for i in sample.tolist()]
        item_reports = itemwise.ItemReports(
            tuple(self.randomiser.report_labels),
            np.bincount(sample, minlength=self.randomiser.reports),
            self.event,
            True,
        )
        object.__setattr__(item_reports, "sorted_list", lambda: labels)
        return item_reports

    return broken


def _one_item(event: Any) -> Any:
    def broken(self: Any) -> Any:
        true = event.fget(self)
        return type(true)(
            true.alpha0, reports=true.reports, items=1, delta=true.delta, model=true.model.value,
            least_distance=true.least_distance, randomiser=true.randomiser,
        )  # fmt: skip

    return property(broken)


def _times(factor: float | Fraction) -> Patch:
    return _after(lambda result: result * factor)


def _longer_edges(init: Any) -> Any:
    def broken(self: Any, nodes: int, tails: Any, heads: Any, lengths: Any, *rest: Any) -> None:
        init(self, nodes, tails, heads, 2.0 * lengths, *rest)

    return broken


def _flat_cones(result: Any) -> Any:
    signs = result[0]
    return signs, tuple(4 if row[0] == 0 else 1 for row in signs)


def _as_laplace(center: Any, scale: Any, p: Any, *, grid: Any = None, source: Any = None) -> Any:
    return rounded.rounded_laplace(center, scale, grid=grid, source=source)


def _heavier(set_weight: Any) -> Any:
    return lambda epsilon, share: set_weight(Fraction(epsilon) * Fraction(5, 4), share)


def _bolder(agree: Any) -> Any:
    return lambda budget: agree(budget * Fraction(5, 4))


def _raised(bits: int) -> Patch:
    """A limit that says more bits than it should."""
    return lambda shipped: bits if shipped < 64 else 2**bits


_NOISE = additive.AdditiveNoise
_QUERY = query.Query
_half_range = _scaled_constants(1.0, 0.5)
_one_sided = _after(lambda result: replace(result, values=np.abs(result.values)))
_divided_twice = _after(lambda result: (result[0], result[1] ** 2))
_half_claim = _after(lambda result: type(result)(result.alpha0_upper / 2, 0, 0, 0))
_smaller = _after(lambda result: (result[0], result[1] / 2))
_first_only = _after(lambda result: result // 2)


def _largest_only(shipped: Any) -> Any:
    def add(self: Any, amount: Fraction, parts: Any) -> None:
        for label in parts:
            amount = max(Fraction(0), amount - self.cells.get(label, 0))
        shipped(self, amount, parts)

    return add


def _divided(parts: Any) -> Any:
    return {label: part / len(parts) for label, part in parts.items()}


def _presence_alone(shipped: Any) -> Any:
    def exposure(scope: Any, share: Any, distance: Any, *, presence: Any = None, **options: Any) -> Any:
        seen = shipped(scope, share, distance, presence=presence, **options)
        return seen if presence is None else replace(seen, reach=presence)

    return exposure


def _all_records(shipped: Any) -> Any:
    def exposure(scope: Any, share: Any, distance: Any, *, reads: Any = None, **options: Any) -> Any:
        return shipped(scope, share, distance, reads=None if scope is None else reads, **options)

    return exposure


def _number_of_records(shipped: Any) -> Any:
    def exposure(*arguments: Any, number: bool = False, **options: Any) -> Any:
        return shipped(*arguments, **options)

    return exposure


def _dearest_release(groups: Any, paid: Any, cost: Any, within: Any = None) -> Any:
    return max((cost([one]) for one in paid), default=Fraction(0))


def _answers_constant(shipped: Any) -> Any:
    """Noise for the answers, which is added to the combinations."""

    def noise(factors: Any, *rest: Any) -> Any:
        built = shipped(factors, *rest)
        smaller = replace(built, scale=built.scale * Fraction(4, 5)) if isinstance(built, _NOISE) else built
        return built if factors.name == "plain" else smaller

    return noise


def _nearer_groups(shipped: Any) -> Any:
    def exposure_at(promise: Any, *arguments: Any) -> Any:
        seen = shipped(promise, *arguments)
        return replace(seen, reach=seen.reach / 2) if promise.group else seen

    return exposure_at


_committed_only = _after(lambda result: result[1:])

BUGS: tuple[Bug, ...] = (
    Bug("half the scale", "Laplace", _NOISE, "draw", _half_scale),
    Bug("a sensitivity off by 2", "Laplace", _QUERY, "constants", _scaled_constants(0.5, 0.5)),
    Bug("a constant in the wrong norm", "l2", _QUERY, "constants", _scaled_constants(1 / math.sqrt(2), 1.0)),
    Bug("noise divided by the users twice", "tree histogram", linear, "checked_model", _divided_twice),
    Bug("rounding before the noise", "Laplace", statistics.UserCounts, "center", _after(_rounded)),
    Bug("records weighted instead of users", "cells", statistics.UserCounts, "center", _weighted_by_records),
    Bug("too little Gaussian noise", "Gaussian", linear, "gdp_mu_lower", _times(1.25)),
    Bug("noise of the answers on their combinations", "strategies", strategies, "_noise", _answers_constant),
    Bug("one word for all outputs", "tree histogram", variates.SymmetricVariates, "__init__", _one_word),
    Bug("one-sided noise", "Laplace", variates.SymmetricVariates, "approximate", _one_sided),
    Bug("noise cut off", "multiscale histogram", variates.Exponential, "approximate", _cut_off),
    Bug("resampling instead of refining", "Laplace", lazy_uniform.LazyUniform, "reach", _resampled),
    Bug("too short a radius (l2)", "l2", knorm.GammaRadius, "__init__", _smaller_shape),
    Bug("sphere for ball (linf)", "linf", knorm.GammaRadius, "__init__", _smaller_shape),
    Bug("surface for cone measure", "l3", knorm, "PowerVariates", lambda f: lambda n, p, s: f(n, Fraction(1), s)),
    Bug("Laplace noise for the l2 norm", "l2", additive, "rounded_knorm", lambda f: _as_laplace),
    Bug("cones of a cycle by count, not by volume", "edge noise, cycles", graph_noise, "cones", _after(_flat_cones)),
    Bug("edges as long as they look on the map", "edge noise", graph_noise.NodeSums, "__init__", _longer_edges),
    Bug("the truth now and then", "exponential", matrix.MatrixRandomiser, "from_items", _truth_in_eight),
    Bug("one word for all items", "exponential", matrix.MatrixRandomiser, "from_items", _same_word),
    Bug("an understated alpha0", "matrix", matrix, "worst_triple", _half_claim),
    Bug("an understated alpha0 of GKRR", "gkrr", mixture.MixtureRandomiser, "_tight", _times(Fraction(9, 10))),
    Bug("a biased binomial", "samplers", binomial, "_by_bits", _biased_bits),
    Bug("a biased binomial in a release", "planar_laplace", binomial, "_by_bits", _biased_bits),
    Bug("a uniform number that is not", "user level subset", subsets, "uniform_below", _first_only),
    Bug("linked reports", "exponential", itemwise.ItemWise, "randomise", _in_order),
    Bug("half the price of reports", "exponential", shuffled.ShuffledAccountant, "guarantee", _after(_half_price)),
    Bug("the price of one item for all", "gkrr", itemwise.ItemWise, "event", _one_item),
    Bug("samples that are not uniform", "sampled", reduction, "uniform_places", _first_only),
    Bug("samples taken for nothing", "sampled", accounting, "sampled_alpha_upper", _times(0.25)),
    Bug("a histogram's range of 1 instead of 2", "user level Laplace", _QUERY, "constants", _half_range),
    Bug("levels that share one range", "user level levels", _QUERY, "constants", _half_range),
    Bug("a side that tells too much", "user level half sphere", ball, "_agree", _bolder),
    Bug("half a polytope", "user level polytope", noise, "query_polytope", _smaller),
    Bug("too large a weight of the own set", "user level subset", subsets, "set_weight", _heavier),
    Bug("a share of all data for a part of them", "promises", RecordMap, "reach_upper", _as_if(RecordMap.FILTER)),
    Bug("a record outside taken for near", "promises", RecordMap, "reach_upper", _as_if(RecordMap.JUMPS)),
    Bug("budget given back", "ledger", charges, "spent_by", _committed_only),
    Bug("a second release about a month for nothing", "scopes", cells.CellSums, "add", _largest_only),
    Bug("a pooled release divided by its months", "scopes", cells, "_cells", _after(_divided)),
    Bug("presence at h in pooled months", "scopes", ledger_promises, "exposure", _presence_alone),
    Bug("two months at the larger", "scopes", cells, "_largest", lambda f: lambda k, amounts: f(1, amounts)),
    Bug("a share of all records for a month of them", "scopes", ledger_promises, "exposure", _all_records),
    Bug("groups that do not add up", "scopes", charges, "worst_atom", lambda f: _dearest_release),
    Bug("months together taken for one of them", "scopes", ledger_promises, "exposure", _number_of_records),
    Bug("the linear price for people", "whole people", events, "person_change", lambda f: events.linear_change),
    Bug("half of each mu in quadrature", "scopes", charges, "square_at", _after(lambda s: s / 4)),
    Bug("one block of two where the group changes", "hidden groups", private_groups, "apart_upper", _times(0.5)),
    Bug("another group half as far", "hidden groups", ledger_promises, "exposure_at", _nearer_groups),
    Bug("a group that is read taken for unseen", "hidden groups", asked, "reads_groups", lambda f: lambda *_: False),
    Bug("a reservation for many draws", "ledger", opened.Reservation, "take", lambda f: lambda self: None),
    Bug("replayable noise called private", "samplers", SeededSource, "private", lambda f: property(lambda self: True)),
    Bug("discrete noise at the price of Laplace", "secure sums", summed.SummedNoise, "ratio", _exponential_ratio),
    Bug("a grid for 1.05 alpha", "secure sums", summed, "_step", _times(Fraction(20, 21))),
    Bug("samples that cost nothing", "secure sums", sampled_sums, "inner_for", lambda f: lambda alpha, samples: alpha),
    Bug("answers rounded to the nearest step", "secure sums", summed, "rounded_at_random", _nearest_step),
    Bug("dishonest noise counted on", "secure sums", aggregation.Aggregation, "honest", _all_parties),
    Bug("half of the noise shares", "secure sums", shares, "kept_by_urn", _after(lambda kept: kept // 2)),
    Bug("a weight beyond its table", "limits", holders, "TABLE_BITS", _raised(62)),
    Bug("tables of any size", "limits", quantised.Quantised, "__post_init__", lambda f: lambda self: None),
    Bug("limbs that are too wide", "limits", statistics, "_LIMB", _raised(40)),
    Bug("counts that are not cut into limbs", "limits", statistics, "_RECORD_BITS", _raised(62)),
    Bug("more people than add up", "limits", limits, "MOST_PEOPLE", _raised(62)),
    Bug("more records than add up", "limits", engine_counts, "MOST_RECORDS", _raised(63)),
    Bug("more records than a statistic adds up", "limits", statistics, "MOST_RECORDS", _raised(63)),
    Bug("rows that stand for too many records", "limits", memory, "MOST_WEIGHT", _raised(40)),
    Bug("more items than are drawn", "limits", itemwise, "MOST_RECORDS", _raised(63)),
)
"""All bugs."""
