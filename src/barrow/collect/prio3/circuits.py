"""What a report must satisfy: each entry in its range, and sums of entries in theirs; written in bits.

One circuit serves all. With one range and no sums it is the draft's SumVec, with a sum that must be 1 its Histogram,
with a sum below a bound its MultihotCountVec or L1BoundSum: same bits, same proofs, same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from barrow.collect.prio3.fields import Elements, Field128
from barrow.errors import ParameterError

_MOST = 2**62
"""Below a quarter of the smallest modulus: no sum that is checked can wrap around."""


@dataclass(frozen=True)
class EdgeGroup:
    """A sum that is checked: of these entries, ``floor`` to ``floor + span``.

    Attributes:
        members: Which entries.
        floor: The least sum.
        span: How much more is allowed; 0 for exactly ``floor``.
    """

    members: tuple[int, ...]
    floor: int
    span: int


@dataclass(frozen=True)
class Edges:
    """Entry e is an integer in 0 to ``most[e]``, and the sums of some groups of entries are in their ranges.

    Attributes:
        most: The largest value of each entry.
        groups: The sums.
        chunk: How many bits one call of the proof's gadget takes; by itself the one that makes the proof shortest.

    >>> circuit = Edges((5, 5, 5), (EdgeGroup((0, 1, 2), 4, 3),))
    >>> circuit.length, circuit.encode((1, 2, 3))
    (11, [1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 1])
    """

    most: tuple[int, ...]
    groups: tuple[EdgeGroup, ...] = ()
    chunk: int | None = None

    def __post_init__(self) -> None:
        if not self.most or min(self.most) < 1 or sum(self.most) > _MOST:
            raise _refused("The ranges of a circuit are empty or too large.")
        for group in self.groups:
            if not group.members or min(group.members) < 0 or max(group.members) >= len(self.most):
                raise _refused("A group of a circuit names entries that it does not have.")
            if len(set(group.members)) < len(group.members) or group.floor < 0 or group.span < 0:
                raise _refused("A group of a circuit repeats entries or has a negative range.")
            if group.floor + group.span > _MOST:
                raise _refused("The sum of a group of a circuit is too large.")
        if self.chunk is not None and self.chunk < 1:
            raise _refused("The chunk of a circuit is not a positive number.")

    @cached_property
    def ranges(self) -> tuple[int, ...]:
        """The largest values of all that is written in bits: entries, then what groups have above their floor."""
        return self.most + tuple(group.span for group in self.groups if group.span)

    @cached_property
    def length(self) -> int:
        """Elements of an encoded report: one a bit."""
        return sum(value.bit_length() for value in self.ranges)

    @cached_property
    def arity(self) -> int:
        """Bits of one call of the gadget."""
        if self.chunk is not None:
            return self.chunk
        sizes = [1 << k for k in range(1, self.length.bit_length() + 2)]
        chunks = [-(-self.length // (size - 1)) for size in sizes]
        return min(zip(chunks, sizes, strict=True), key=lambda pair: (2 * pair[0] + 2 * pair[1], pair[1]))[0]

    @cached_property
    def calls(self) -> int:
        """Calls of the gadget."""
        return -(-self.length // self.arity)

    @cached_property
    def points(self) -> int:
        """Points that fix a wire's polynomial: the calls and one that is random, rounded up to a power of two."""
        return 1 << self.calls.bit_length()

    @cached_property
    def proof_length(self) -> int:
        """Elements of one proof: a random one for each wire, and the gadget's polynomial but for its last point."""
        return 2 * self.arity + 2 * self.points - 1

    @cached_property
    def verifier_length(self) -> int:
        """Elements of what an aggregator tells about one proof."""
        return 2 * self.arity + 2

    @cached_property
    def query_length(self) -> int:
        """Random elements that one proof is checked with: one for each thing that must be 0, and a point."""
        return 2 + len(self.groups) if self.groups else 1

    def encode(self, values: Sequence[int]) -> list[int]:
        """The bits of a report.

        Raises:
            ParameterError: If it does not satisfy the circuit; its numbers are not repeated.
        """
        if len(values) != len(self.most):
            raise _refused("The report has another number of entries than the circuit.")
        sums = (sum(values[i] for i in group.members) - group.floor for group in self.groups)
        pairs = [*zip(values, self.most, strict=True), *zip(sums, (g.span for g in self.groups), strict=True)]
        bits: list[int] = []
        for value, most in pairs:
            if not 0 <= value <= most:
                raise _refused("An entry or a sum of the report is out of its range.")
            count = most.bit_length()
            if count:
                rest = 2 ** (count - 1) - 1
                top = value > rest
                value = value - (most - rest) if top else value
                bits += [*((value >> i) & 1 for i in range(count - 1)), int(top)]
        return bits

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        widths = [value.bit_length() for value in self.ranges]
        return np.array([0, *accumulate(widths)][:-1], dtype=np.intp)

    @cached_property
    def _weights(self) -> list[int]:
        """What each bit is worth: powers of two, and the last one of a range so much that all together are its end."""
        return [
            2**i if i < value.bit_length() - 1 else value - (2**i - 1)
            for value in self.ranges
            for i in range(value.bit_length())
        ]

    def values(self, field: Field128, encoded: Elements) -> Elements:
        """What bits, or shares of bits, stand for: entries first, then what groups have above their floor."""
        return field.segments(field.mul(encoded, field.array(self._weights)), self._starts)

    def defects(self, field: Field128, values: Elements, share_of_one: Elements) -> Elements:
        """For each group what must be 0: its sum, less its floor, less what was claimed above it."""
        result, claimed = [], len(self.most)
        for group in self.groups:
            total = field.sum(values[..., list(group.members)], axis=-1)
            total = field.sub(total, field.mul(field.array(group.floor), share_of_one))
            if group.span:
                total, claimed = field.sub(total, values[..., claimed]), claimed + 1
            result.append(total)
        return np.stack(result, axis=-1) if result else values[..., :0]


def sum_vec(length: int, most: int, chunk: int | None = None) -> Edges:
    """The draft's SumVec: so many entries, each in 0 to ``most``.

    >>> sum_vec(10, 255, 9).length
    80
    """
    return Edges((most,) * length, (), chunk)


def histogram(length: int, chunk: int | None = None) -> Edges:
    """The draft's Histogram: a single 1 among zeros.

    >>> histogram(4).encode((0, 0, 1, 0))
    [0, 0, 1, 0]
    """
    return Edges((1,) * length, (EdgeGroup(tuple(range(length)), 1, 0),), chunk)


def multihot(length: int, weight: int, chunk: int | None = None) -> Edges:
    """The draft's MultihotCountVec: zeros and at most ``weight`` ones.

    >>> multihot(4, 2).encode((0, 1, 1, 0))
    [0, 1, 1, 0, 1, 1]
    """
    return Edges((1,) * length, (EdgeGroup(tuple(range(length)), 0, weight),), chunk)


def l1_bound_sum(length: int, most: int, chunk: int | None = None) -> Edges:
    """L1BoundSum of the draft of that name: entries from 0 on that together are at most ``most``.

    >>> l1_bound_sum(3, 3).encode((1, 0, 2))
    [1, 0, 0, 0, 0, 1, 1, 1]
    """
    return Edges((most,) * length, (EdgeGroup(tuple(range(length)), 0, most),), chunk)


def _refused(problem: str) -> ParameterError:
    return ParameterError(problem, allowed="what the card's circuit describes", fix="use the circuit of the card")
