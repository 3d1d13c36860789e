"""Sums that several aggregators add up in shares: answers rounded at random to a public grid, and discrete noise.

Each person's answer is divided by a grid h and rounded to a neighbouring whole number by an exact coin. Each of m
aggregators, of whom b may break the rules, adds noise shares of which the honest ones' sum is discrete Laplace with
p = 1/(1 + a), a = alpha h/ell. The sum is then exactly (alpha, 0)-EMD-DP, unbounded, at every number of people
(docs/proofs/summed.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.additive import CONFIDENCE, AdditiveNoise
from barrow.noise import RandomSource
from barrow.noise.additive.values import checked_grid
from barrow.noise.counts.shares import noise_shares, rounded_at_random
from barrow.numerics import Exact, checked_people, float_up
from barrow.promises import Aggregation, SecureSum
from barrow.promises.definitions import positive
from barrow.queries import Quantised, Query
from barrow.queries.quantised import entrywise
from barrow.spaces.space import Floats

_FINE = 0.7
"""a = alpha h/ell is the power of two nearest to this over the root of the number of people: rounding then adds at most
6 % to the variance of a curator's noise, and usually 4 %. It is less where one report could otherwise do more than it
should."""
FALSE_REPORT = Fraction(8, 5)
"""A false report that passes may add this many times as much to all numbers as an honest person can."""
_HALF = 25
_MOST_BITS = 120_000
"""No grid is made finer for that where an answer would take more bits: a leader takes a megabyte in one body."""
_LEAST, _LEAST_BY_URN = Fraction(1, 2**40), Fraction(1, 2**16)
"""Of a, where it is made finer: where two or more must be honest, an urn takes a step for each of some 1/a balls."""
SUMS_WORDS = "answers rounded at random, added up in shares with each aggregator's noise"
MOST_LEVELS = 2**40
"""More steps than this are not needed to answer anything: an answer's numbers, and their sums, stay far below 2^62."""


@dataclass(frozen=True)
class SumGroup:
    """Numbers of an answer whose sum is nearly the same for everybody: they are parts of one whole.

    Attributes:
        members: Which numbers.
        floor: No honest answer has a smaller sum.
        span: No honest answer has a sum above ``floor + span``.
    """

    members: tuple[int, ...]
    floor: int
    span: int


@dataclass(frozen=True)
class SumForm:
    """What an honest answer looks like; everything in it is public, and a validity proof shows it of each answer.

    Attributes:
        step: h, the grid of the answers, in the query's unit.
        offsets: What is subtracted from each number, so that none is negative.
        most: The largest value of each number.
        groups: Sums that are known but for rounding.
    """

    step: Fraction
    offsets: tuple[int, ...]
    most: tuple[int, ...]
    groups: tuple[SumGroup, ...]

    @property
    def bits(self) -> int:
        """How many bits the numbers of an answer take."""
        return sum(most.bit_length() for most in self.most)

    @property
    def largest(self) -> int:
        """The most that the numbers of one report may add up to: groups do not overlap."""
        grouped = {j for group in self.groups for j in group.members}
        free = sum(most for j, most in enumerate(self.most) if j not in grouped)
        tops = (min(g.floor + g.span, sum(self.most[j] for j in g.members)) for g in self.groups)
        return free + sum(tops)

    def encode(self, values: Sequence[Fraction], *, source: RandomSource | None = None) -> list[int]:
        """One person's exact answer as the whole numbers that are shared: rounded at random, once."""
        rounded = rounded_at_random([value / self.step for value in values], source=source)
        return [number - offset for number, offset in zip(rounded, self.offsets, strict=True)]

    def decode(self, sums: Sequence[int], people: int) -> list[Fraction]:
        """The mean over people, exact, from the sums of their numbers with noise."""
        pairs = zip(sums, self.offsets, strict=True)
        return [(total + people * offset) * self.step / people for total, offset in pairs]


def sum_form(table: Quantised, step: Fraction) -> SumForm:
    """The form of answers to a table on a grid.

    Outputs whose values are 0 or one common value, and of which every item has the same number, are parts of a whole:
    rounding moves each by less than 1, so that k of them add up to the whole within k - 1.

    >>> from barrow.queries import tree_edges
    >>> from barrow.spaces import Clustered
    >>> form = sum_form(tree_edges(Clustered.grid(2, 2, r=0.25)).table, Fraction(1, 10))
    >>> form.most, [(group.members, group.floor, group.span) for group in form.groups], form.largest
    ((4, 4, 2, 2, 2, 2), [((2, 3, 4, 5), 0, 5), ((0, 1), 2, 3)], 10)
    """
    form = _form(_shape(table), step)
    if max(form.most) > MOST_LEVELS:
        raise ParameterError(
            f"An answer would have {max(form.most):,} steps.",
            allowed=f"at most 2^{MOST_LEVELS.bit_length() - 1}",
            fix="a smaller alpha, looser promises, or fewer people",
        )
    return form


@dataclass(frozen=True)
class _Shape:
    """What of a table the form of answers follows from, in its steps.

    Attributes:
        step: The table's step.
        lows: The least value of each output.
        highs: The largest.
        wholes: Outputs that are parts of one whole, and how many steps the whole has.
        honest: The most that one item adds to all outputs together, above their least values.
    """

    step: Fraction
    lows: list[int]
    highs: list[int]
    wholes: list[tuple[tuple[int, ...], int]]
    honest: int


def _shape(table: Quantised) -> _Shape:
    lows, highs = (_ends(ends, table.sparse) for ends in (table.integers.min(axis=0), table.integers.max(axis=0)))
    return _Shape(table.step, lows, highs, _wholes(table, lows, highs), max(_row_sums(table)) - sum(lows))


def _ends(values: object, sparse: bool) -> list[int]:
    array = values.toarray() if sparse else np.asarray(values)  # type: ignore[attr-defined]
    return [int(value) for value in np.ravel(array)]


def _row_sums(table: Quantised) -> list[int]:
    """What all outputs of each item add up to: in two halves, since a long row may have more than 2^63."""
    parts = [lambda data: data >> _HALF, lambda data: data & (2**_HALF - 1)]
    sums = [_ends(entrywise(table.integers, part).sum(axis=1), False) for part in parts]
    return [(upper << _HALF) + lower for upper, lower in zip(*sums, strict=True)]


def _wholes(table: Quantised, lows: list[int], highs: list[int]) -> list[tuple[tuple[int, ...], int]]:
    """For each value that two or more outputs share, those outputs, if every item has the same number of them."""
    columns = table.integers.tocsc() if table.sparse else table.integers
    alike: dict[int, list[int]] = {}
    for j, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if low == 0 and high > 0:
            alike.setdefault(high, []).append(j)
    results = []
    for value in sorted(value for value, members in alike.items() if len(members) > 1):
        members = alike[value]
        sums = np.ravel(np.asarray(columns[:, members].sum(axis=1)))
        if (sums == sums[0]).all():
            results.append((tuple(members), int(sums[0])))
    return results


def _form(shape: _Shape, step: Fraction) -> SumForm:
    unit = shape.step / step
    offsets = tuple(math.floor(low * unit) for low in shape.lows)
    most = tuple(max(1, math.ceil(high * unit) - offset) for high, offset in zip(shape.highs, offsets, strict=True))
    groups = []
    for members, whole in shape.wholes:
        floor = max(0, math.floor(whole * unit - len(members)) + 1)
        top = math.ceil(whole * unit + len(members)) - 1
        groups.append(SumGroup(members, floor, top - floor))
    return SumForm(step, offsets, most, tuple(groups))


@dataclass(frozen=True)
class SummedNoise(AdditiveNoise):
    """What rounding and the noise of all aggregators do to the mean over people, ready to plan with.

    As an :class:`AdditiveNoise` it is one of ``copies`` independent Laplace variables whose mean has the variance of
    what is released: noise of all aggregators, the honest and the dishonest, and rounding at its largest. Two
    aggregators add two Laplace variables; where m/(m - b) is no whole number, fewer copies have heavier tails, so that
    intervals are not too narrow.

    Attributes:
        rate: a = alpha h/ell, one over a whole number.
        step: h, in the query's unit.
        people: How many take part.
        parties: Who adds up.

    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> noise = summed_noise(mean(Line(0, 100, unit="years", step=1)), 25, users=10_000)
    >>> noise.rate, noise.ratio, noise.copies, round(noise.half_width, 6)
    (Fraction(1, 128), Fraction(128, 129), 2, 0.001685)
    """

    rate: Fraction
    step: Fraction
    people: int
    parties: Aggregation

    @property
    def name(self) -> str:
        """What the noise is called."""
        return "discrete Laplace"

    @property
    def stated(self) -> tuple[Fraction, Fraction]:
        """Of the mean over people: the scale that the honest aggregators' noise has at least, and the grid."""
        return self.step / self.rate / self.people, self.step / self.people

    @property
    def ratio(self) -> Fraction:
        """P = 1/(1 + a)."""
        return 1 / (1 + self.rate)

    @property
    def copies(self) -> int:
        """The mean of so many draws is what is released."""
        return _copies(self.parties)

    @property
    def half_width(self) -> float:
        """What one output is off by with probability at most 5 %."""
        return self.mean_half_width(self.copies)

    @property
    def simultaneous_half_width(self) -> float:
        """What no output is off by more than, with probability at least 95 %."""
        level = -math.expm1(math.log(CONFIDENCE) / self.dimension)
        return self.mean_half_width(self.copies, level)

    def noise_share(self, *, source: RandomSource | None = None) -> list[int]:
        """One aggregator's noise, one whole number for each output: drawn once, after the last answer."""
        return noise_shares([self.ratio] * self.dimension, self.parties.honest, source=source).tolist()  # type: ignore[no-any-return]

    @property
    def variance(self) -> float:
        """The variance of one output of the mean over people: noise, and rounding at its largest (a coin of 1/2)."""
        return _variance(self.rate, self.step, self.people, self.parties)


def _copies(parties: Aggregation) -> int:
    return math.floor(parties.noise_factor)


def _variance(rate: Fraction, step: Fraction, people: int, parties: Aggregation) -> float:
    noise = parties.noise_factor * 2 * (1 + rate) / rate**2  # 2p/(1-p)^2 at p = 1/(1+a)
    return float_up((noise + Fraction(people, 4)) * (step / people) ** 2)


def rate_for(people: int) -> Fraction:
    """a, the power of two nearest to 0.7 over the root of the number of people, never above 1.

    >>> rate_for(10_000), rate_for(1)
    (Fraction(1, 128), Fraction(1, 2))
    """
    return Fraction(1, 2 ** max(0, round(math.log2(math.sqrt(people) / _FINE))))


def _rate(table: Quantised, price: Fraction, rate: Fraction, parties: Aggregation) -> Fraction:
    """``rate``, or the largest a = 1/K that is surely fine enough for what a false report may add.

    Ranges and sums admit less than one step more than the table has for each part of a whole, and for each other
    number whose least value is 0, and less than two for the rest: a step will do with which all of these stay within
    ``FALSE_REPORT``. Where ranges alone are beyond it no grid helps, and where an answer would take too many bits, or
    its noise too many steps, none is made finer.

    Args:
        table: What is asked.
        price: h/a.
        rate: What would do for accuracy.
        parties: Who adds up.
    """
    if table.shape[1] > _MOST_BITS:
        return rate
    shape = _shape(table)
    allowed = FALSE_REPORT * shape.honest * shape.step
    form = _form(shape, rate * price)
    if form.largest * form.step <= allowed:
        return rate
    grouped = {j for members, _ in shape.wholes for j in members}
    free = [(low, high) for j, (low, high) in enumerate(zip(shape.lows, shape.highs, strict=True)) if j not in grouped]
    exact = sum(high - low for low, high in free) + sum(whole for _, whole in shape.wholes)
    room = allowed - exact * shape.step
    if room <= 0:
        return rate
    slack = len(grouped) + sum(1 if low == 0 else 2 for low, _ in free)
    finer = Fraction(1, math.ceil(slack * price / room))
    least = _LEAST if parties.honest == 1 else _LEAST_BY_URN
    return finer if finer >= least and _form(shape, finer * price).bits <= _MOST_BITS else rate


def _step(a: Fraction, ell: Fraction, alpha: Fraction) -> Fraction:
    """h, so that alpha h/ell = a."""
    return a * ell / alpha


def summed_noise(query: Query, alpha: Exact, *, users: int, parties: Aggregation | None = None) -> SummedNoise:
    """Noise of aggregators that makes the sum of people's answers to ``query`` (alpha, 0)-EMD-DP, unbounded.

    Args:
        query: What is asked.
        alpha: Privacy loss per unit of EMD.
        users: How many people take part; the promise does not depend on it, only the accuracy does.
        parties: Who adds up; two aggregators by default, of whom one may break the rules.
    """
    who, rate, n = parties or Aggregation(), positive(alpha, "alpha"), checked_people(users)
    known = query.constants(["1"])[0]
    ell = Fraction(known.lipschitz_upper)
    a = _rate(query.table, _step(Fraction(1), ell, rate), rate_for(who.planned or n), who)
    step = _step(a, ell, rate)
    event = SecureSum(
        rate, range_ratio=Fraction(known.range_ratio), aggregators=who.aggregators, dishonest=who.dishonest
    )
    scale = Fraction(math.sqrt(_variance(a, step, n, who) * _copies(who) / 2.0) * (1.0 + 1e-12))
    return SummedNoise(
        "1", query.dimension, scale, checked_grid(None, scale), known.lipschitz_upper, query.rounding_upper, event,
        a, step, n, who,
    )  # fmt: skip


def mean_of_sums(form: SumForm, sums: Sequence[int], people: int) -> Floats:
    """The mean over people as floats, each rounded once."""
    return np.array([float(value) for value in form.decode(sums, people)])
