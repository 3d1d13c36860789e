"""Random circuits, honest reports of them, and people who lie."""

import random
from dataclasses import dataclass

from barrow.collect.prio3 import EdgeGroup, Edges, Prio3

KEY = bytes(range(100, 132))


def some_circuit(source: random.Random, chunk=None):
    """A two-level tree's: levels of clusters and of leaves, each with its sum; or entries without sums."""
    clusters, inner = source.randint(1, 3), source.randint(1, 3)
    high, low = source.randint(1, 40), source.randint(1, 12)
    most = (high + 1,) * clusters + (low + 1,) * (clusters * inner)
    if source.random() < 0.2:
        return Edges(most, (), chunk)
    upper, lower = range(clusters), range(clusters, len(most))
    groups = (
        EdgeGroup(tuple(upper), max(0, high - clusters + 1), 2 * clusters - 2),
        EdgeGroup(tuple(lower), max(0, low - len(lower) + 1), 2 * len(lower) - 2),
    )
    return Edges(most, groups, chunk)


def honest(source: random.Random, circuit: Edges):
    """Values that satisfy the circuit."""
    values = [source.randint(0, top) for top in circuit.most]
    for group in circuit.groups:
        for i in group.members:
            values[i] = 0
        left = source.randint(group.floor, group.floor + group.span)
        for i in group.members:
            values[i] = min(left, circuit.most[i])
            left -= values[i]
        if left:
            return honest(source, circuit)
    return values


def told(prio3, public, shares, nonce, key=KEY):
    """What each aggregator says of a report, and the message; None where one of them refuses."""
    states = []
    for index, share in enumerate(shares):
        states.append(prio3.verify_block(key, index, [(nonce, public, share)])[0])
    if None in states:
        return None
    message = prio3.decide_block([[state.share for state in states]])[0]
    if message is None or any(state.seed != message for state in states):
        return None
    return [state.output for state in states]


@dataclass(frozen=True)
class Liar(Edges):
    """A circuit whose owner writes other bits than an honest one."""

    lie: tuple[int, ...] = ()

    def encode(self, values):
        return list(self.lie)


def lying(prio3: Prio3, bits, nonce, randomness):
    """The shares of bits that a liar proves as well as can be."""
    circuit = prio3.circuit
    liar = Prio3(Liar(circuit.most, circuit.groups, circuit.arity, lie=tuple(bits)), prio3.aggregators, prio3.context)
    return liar.shard((), nonce, randomness)
