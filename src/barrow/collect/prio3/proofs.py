"""Fully linear proofs of the draft (BBCGGI19) that every element is a bit and every sum is right, for many reports.

The gadget is ``ParallelSum`` of products: for each call k it adds r_k^(j+1) x_kj times (x_kj - 1), which is 0 for bits.
Its wires are polynomials, given by their values at roots of unity; a proof holds the gadget's polynomial along them.
Whoever checks evaluates shares of both at a random point.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from barrow.collect.prio3.circuits import Edges
from barrow.collect.prio3.fields import Elements, Field128


def prove(circuit: Edges, field: Field128, bits: Elements, seeds: Elements, joint: Elements) -> Elements:
    """Proofs, one a row, given random seeds of the wires and joint randomness of each proof."""
    rows, arity, points = len(seeds), circuit.arity, circuit.points
    calls = _calls(circuit, field, bits[None])
    left, right = (field.array(np.zeros((rows, points, arity), dtype=np.int64)) for _ in range(2))
    left[:, 0], right[:, 0] = seeds[:, 0::2], seeds[:, 1::2]
    left[:, 1 : circuit.calls + 1] = field.mul(_powers(field, joint, joint, arity), calls)
    right[:, 1 : circuit.calls + 1] = field.sub(calls, field.array([1]))
    gadget = field.array(np.zeros((rows, 2 * points), dtype=np.int64))
    gadget[:, 0::2] = field.sum(field.mul(left, right), axis=-1)
    gadget[:, 1::2] = field.sum(field.mul(_between(field, left), _between(field, right)), axis=-1)
    return np.concatenate([seeds, gadget[:, :-1]], axis=1)


def query(
    circuit: Edges, field: Field128, shares: Elements, proofs: Elements, queries: Elements, joint: Elements,
    aggregators: int,
) -> tuple[Elements, NDArray[np.bool_]]:  # fmt: skip
    """Shares of what verifies one proof of each of several reports; and which points were good ones.

    Args:
        circuit: The circuit.
        field: Its field.
        shares: Shares of encoded reports, one a row.
        proofs: Shares of one proof of each.
        queries: The aggregators' randomness for each.
        joint: The joint randomness of each.
        aggregators: How many there are, who hold a share of 1 each.
    """
    share_of_one, arity, points = field.inverse(aggregators), circuit.arity, circuit.points
    gadget, used = proofs[:, 2 * arity :], slice(1, circuit.calls + 1)
    out = field.sum(gadget[:, 2 : 2 * circuit.calls + 1 : 2], axis=-1)
    if circuit.groups:
        defects = circuit.defects(field, circuit.values(field, shares), share_of_one)
        outs = np.concatenate([out[:, None], defects], axis=1)
        out = field.sum(field.mul(outs, queries[:, :-1]), axis=-1)
    point = queries[:, -1]
    basis = lagrange(field, point, points)
    calls, weights = _calls(circuit, field, shares), basis[:, used]
    left = field.sum(field.mul(_powers(field, joint, field.mul(joint, weights), arity), calls), axis=1)
    right = field.sum(field.mul(calls, weights[:, :, None]), axis=1)
    right = field.sub(right, field.mul(field.sum(weights, axis=-1), share_of_one)[:, None])
    wires = field.mul(proofs[:, : 2 * arity], basis[:, :1])
    wires[:, 0::2], wires[:, 1::2] = field.add(wires[:, 0::2], left), field.add(wires[:, 1::2], right)
    # The last of the gadget's 2n points is not sent: that the highest coefficient is 0 gives it by the others.
    wide, root = lagrange(field, point, 2 * points), field.roots(2 * points)
    wide = field.sub(wide[:, :-1], field.mul(wide[:, -1:], np.roll(root, -1)[:-1]))
    value = field.sum(field.mul(gadget, wide), axis=-1)
    good = np.asarray(field.power(point, points) != 1, dtype=bool)
    return np.concatenate([out[:, None], wires, value[:, None]], axis=1), good


def decide(field: Field128, verifiers: Elements) -> NDArray[np.bool_]:
    """Which rows, each the sum of all shares, verify: the circuit is 0, and the gadget is its polynomial."""
    wires = verifiers[:, 1:-1]
    gadget = field.sum(field.mul(wires[:, 0::2], wires[:, 1::2]), axis=-1)
    return np.asarray((verifiers[:, 0] == 0) & (gadget == verifiers[:, -1]), dtype=bool)


def lagrange(field: Field128, point: Elements, n: int) -> Elements:
    """Values at each point of the n polynomials that are 1 at one n-th root of unity and 0 at the others.

    (t^n - 1)/(t - w) is the product over l of t^(n/2^l) + w^(n/2^l), which takes 2^l values: no division is needed.
    """
    powers = [point[:, None]]
    while len(powers) < n.bit_length() - 1:
        powers.append(field.mul(powers[-1], powers[-1]))
    result = field.array(np.ones((len(point), 1), dtype=np.int64))
    size = 1
    while size < n:
        size *= 2
        factor = field.add(powers[(n // size).bit_length() - 1], field.roots(size))
        result = field.mul(np.concatenate([result, result], axis=1), factor)
    return field.mul(result, field.mul(field.roots(n), field.inverse(n)))


def _calls(circuit: Edges, field: Field128, shares: Elements) -> Elements:
    """Encoded reports by calls, zeros in what the last one does not fill."""
    result = field.array(np.zeros((len(shares), circuit.calls * circuit.arity), dtype=np.int64))
    result[:, : circuit.length] = shares
    return result.reshape(len(shares), circuit.calls, circuit.arity)


def _powers(field: Field128, base: Elements, first: Elements, count: int) -> Elements:
    """First, first · base, first · base², …, along a new last axis."""
    result, step, size = first[..., None], base[..., None], 1
    while size < count:
        result = np.concatenate([result, field.mul(result[..., : count - size], step)], axis=-1)
        step, size = field.mul(step, step), 2 * size
    return result


def _between(field: Field128, values: Elements) -> Elements:
    """Values of polynomials half-way between the roots at which they are given, along axis 1."""
    n = values.shape[1]
    shift = field.mul(field.roots(2 * n)[:n], field.inverse(n))
    back = _transform(field, values)
    back = np.concatenate([back[:, :1], back[:, :0:-1]], axis=1)  # from w^i to w^-i
    return _transform(field, field.mul(back, shift[:, None]))


def _transform(field: Field128, values: Elements) -> Elements:
    """The sums over k of w^(ik) values_k along axis 1 (number theoretic transform)."""
    n = values.shape[1]
    result, size = values[:, _reversed(n)], 2
    while size <= n:
        blocks = result.reshape(result.shape[0], n // size, 2, size // 2, *result.shape[2:])
        even, odd = blocks[:, :, 0], field.mul(blocks[:, :, 1], field.roots(size)[: size // 2, None])
        result = np.stack([field.add(even, odd), field.sub(even, odd)], axis=2).reshape(values.shape)
        size *= 2
    return result


@cache
def _reversed(n: int) -> NDArray[np.intp]:
    """The numbers below n, a power of two, in the order of their bits read backwards."""
    result = np.zeros(1, dtype=np.intp)
    while len(result) < n:
        result = np.concatenate([2 * result, 2 * result + 1])
    return result
