"""Shares, proofs and sums: a second route byte for byte, cheats and damage refused, what a weaker check takes."""

import random

import numpy as np
import pytest

from barrow.collect.prio3 import EdgeGroup, Edges, Prio3, ShareError, l1_bound_sum
from barrow.collect.prio3.fields import Field64
from barrow.errors import ParameterError
from tests.collect.prio3.cases import KEY, honest, lying, some_circuit, told
from tests.collect.prio3.plainly import Plainly

TREE = Edges((41,) * 3 + (11,) * 9, (EdgeGroup((0, 1, 2), 38, 4), EdgeGroup(tuple(range(3, 12)), 2, 16)))


@pytest.mark.parametrize("number", range(40))
def test_a_second_route_gives_the_same_bytes(number):
    source = random.Random(number)
    circuit = some_circuit(source, chunk=None if number % 4 else source.randint(1, 9))
    aggregators, context = 2 + number % 4, source.randbytes(source.randint(0, 40))
    prio3 = Prio3(circuit, aggregators, context)
    groups = [(list(group.members), group.floor, group.span) for group in circuit.groups]
    plainly = Plainly(list(circuit.most), groups, circuit.arity, aggregators, context, 0xFFFF0001)
    values, nonce, randomness = honest(source, circuit), source.randbytes(16), source.randbytes(prio3.random_size)
    public, shares = prio3.shard(values, nonce, randomness)
    assert (public, shares) == plainly.shard(values, nonce, randomness)
    states = [prio3.verify_init(KEY, i, nonce, public, share) for i, share in enumerate(shares)]
    for i, share in enumerate(shares):
        assert (states[i].share, states[i].output) == plainly.verifier(KEY, i, nonce, public, share)
    message = prio3.decide([state.share for state in states])
    assert prio3.unshard([prio3.add([prio3.finish(state, message)]) for state in states]) == values


def test_sums_of_many_reports_with_noise_are_exact():
    source = random.Random(1)
    prio3 = Prio3(TREE, 3, b"card")
    people = [honest(source, TREE) for _ in range(40)]
    reports = []
    for values in people:
        nonce = source.randbytes(16)
        reports.append((nonce, *prio3.shard(values, nonce, source.randbytes(prio3.random_size))))
    states = [prio3.verify_block(KEY, i, [(n, public, shares[i]) for n, public, shares in reports]) for i in range(3)]
    messages = prio3.decide_block([[state[j].share for state in states] for j in range(40)])
    noise = [[source.randint(-5000, 5000) for _ in TREE.most] for _ in range(3)]
    sums = []
    for index, own in enumerate(states):
        outputs = [prio3.finish(state, message) for state, message in zip(own, messages, strict=True)]
        total = prio3.add(outputs[25:], to=prio3.add(outputs[:25]))
        sums.append(prio3.add([prio3.write(noise[index])], to=total))
    expected = [sum(column) for column in zip(*people, *noise, strict=True)]
    assert prio3.unshard(sums) == expected
    assert min(expected) < 0


def cheats(source, circuit):
    """Bits that break the rules: not bits, every leaf full, every cluster full."""
    bits = circuit.encode(honest(source, circuit))
    kind = source.choice(["not a bit", "leaves", "clusters"])
    if kind == "not a bit":
        place = source.randrange(len(bits))
        bits[place] = source.choice([2, 3, 7, -1, 2**40, Field64.modulus - 1])
        return bits
    values = honest(source, circuit)
    for i in range(3, 12) if kind == "leaves" else range(3):
        values[i] = circuit.most[i]
    free = Edges(circuit.most)
    claimed = bits[free.length :] if source.random() < 0.5 else [1] * (circuit.length - free.length)
    return free.encode(values) + claimed


def test_no_cheat_and_no_damage_is_taken():
    source = random.Random(2)
    prio3 = Prio3(TREE, 2, b"card")
    for _ in range(135):
        nonce, randomness = source.randbytes(16), source.randbytes(prio3.random_size)
        assert told(prio3, *lying(prio3, cheats(source, TREE), nonce, randomness), nonce) is None
    for number in range(135):
        nonce = source.randbytes(16)
        public, shares = prio3.shard(honest(source, TREE), nonce, source.randbytes(prio3.random_size))
        assert number % 9 or told(prio3, public, shares, nonce) is not None
        parts = [bytearray(public), *map(bytearray, shares)]
        part = parts[number % 3]
        if number % 5:
            part[source.randrange(len(part))] ^= 1 << source.randrange(8)
        else:
            del part[source.randrange(len(part)) :]
        assert told(prio3, bytes(parts[0]), [bytes(parts[1]), bytes(parts[2])], nonce) is None


def test_a_liar_who_tells_the_gadget_what_should_come_out_is_refused():
    source = random.Random(3)
    prio3, field = Prio3(TREE, 2, b"card"), Field64()
    nonce = source.randbytes(16)
    bits = [2, *TREE.encode(honest(source, TREE))[1:]]
    public, (leader, helper) = lying(prio3, bits, nonce, source.randbytes(prio3.random_size))
    elements = field.read(leader[:-32])
    values = [prio3.verify_init(KEY, i, nonce, public, share) for i, share in enumerate((leader, helper))]
    total = field.add(*(field.read(value.share[:-32]) for value in values)).reshape(3, -1)
    # The gadget's polynomial is changed at one of its calls, so that the circuit's output is 0 in all three proofs.
    queries = np.stack([prio3._expand(KEY, 5, nonce, TREE.query_length)])[0]
    for k in range(3):
        place = TREE.length + k * TREE.proof_length + 2 * TREE.arity + 2
        wrong = int(total[k, 0]) * pow(int(queries[k, 0]), -1, field.modulus)
        elements[place] = (int(elements[place]) - wrong) % field.modulus
    forged = field.write(elements) + leader[-32:]
    states = [prio3.verify_init(KEY, i, nonce, public, share) for i, share in enumerate((forged, helper))]
    out = field.add(*(field.read(state.share[:-32]) for state in states)).reshape(3, -1)[:, 0]
    assert out.tolist() == [0, 0, 0]
    assert told(prio3, public, [forged, helper], nonce) is None


@pytest.mark.parametrize("which", range(3))
def test_each_of_the_three_proofs_counts(which):
    source = random.Random(4)
    prio3, nonce = Prio3(TREE, 2, b"card"), source.randbytes(16)
    public, (leader, helper) = prio3.shard(honest(source, TREE), nonce, source.randbytes(prio3.random_size))
    start = 8 * (TREE.length + which * TREE.proof_length)
    damaged = bytearray(leader)
    damaged[start] ^= 1
    states = [prio3.verify_init(KEY, i, nonce, public, share) for i, share in enumerate((bytes(damaged), helper))]
    rows = Field64().add(*(Field64().read(state.share[:-32]) for state in states)).reshape(3, -1)
    products = [
        (rows[k, 1:-1:2].astype(object) * rows[k, 2:-1:2].astype(object)).sum() % Field64.modulus for k in range(3)
    ]
    assert [k for k in range(3) if products[k] != rows[k, -1]] == [which]  # the two others alone would take it
    assert told(prio3, public, [bytes(damaged), helper], nonce) is None


@pytest.mark.parametrize(("field", "proofs"), [("Field64", 1), ("Field64", 2), ("Field96", 3), ("Field128", 0)])
def test_parameters_that_can_be_forged_are_refused(field, proofs):
    with pytest.raises(ParameterError, match="can be forged"):
        Prio3(TREE, 2, b"", field, proofs)


def test_an_element_that_is_not_below_the_modulus_is_refused(monkeypatch):
    """The same value, written as itself plus the modulus, is refused by this rule alone."""
    source = random.Random(5)
    prio3, nonce = Prio3(TREE, 2, b"card"), source.randbytes(16)
    zeros = np.zeros(3 * TREE.proof_length, dtype=np.uint64)
    monkeypatch.setattr(Prio3, "_proofs", lambda self, index, seed: zeros)
    public, (leader, helper) = prio3.shard(honest(source, TREE), nonce, source.randbytes(prio3.random_size))
    assert told(prio3, public, [leader, helper], nonce)
    place = 8 * (TREE.length + 2 * TREE.arity + 2)  # what the gadget gives at its first call: 0
    assert leader[place : place + 8] == bytes(8)
    other = leader[:place] + Field64.modulus.to_bytes(8, "little") + leader[place + 8 :]
    assert told(prio3, public, [other, helper], nonce) is None
    with pytest.raises(ShareError, match="malformed"):
        prio3.verify_init(KEY, 0, nonce, public, other)
    monkeypatch.setattr(Field64, "canonical", lambda self, a: np.ones(len(a), dtype=bool))
    assert told(prio3, public, [other, helper], nonce)


def test_sums_and_verifier_shares_must_be_below_the_modulus():
    prio3 = Prio3(TREE, 2, b"card")
    for data, words in [
        (bytes(prio3.output_size - 8), "another number"),
        (b"\xff" * prio3.output_size, "not below the modulus"),
    ]:
        with pytest.raises(ShareError, match=words):
            prio3.add([data])
    assert prio3.decide_block([[b"\xff" * prio3.verifier_size] * 2]) == [None]
    assert prio3.decide_block([[bytes(prio3.verifier_size)]]) == [None]
    with pytest.raises(ShareError, match="not valid"):
        prio3.decide([b"\x01" * prio3.verifier_size] * 2)


@pytest.mark.parametrize("change", ["context", "nonce", "key", "index", "aggregators"])
def test_a_share_is_bound_to_its_card_nonce_key_and_aggregator(change):
    source = random.Random(6)
    prio3, nonce = Prio3(TREE, 3, b"card"), source.randbytes(16)
    public, shares = prio3.shard(honest(source, TREE), nonce, source.randbytes(prio3.random_size))
    assert told(prio3, public, shares, nonce)
    if change == "context":
        assert told(Prio3(TREE, 3, b"cart"), public, shares, nonce) is None
    elif change == "nonce":
        assert told(prio3, public, shares, source.randbytes(16)) is None
    elif change == "index":
        assert told(prio3, public, [shares[0], shares[2], shares[1]], nonce) is None
    elif change == "aggregators":
        assert told(Prio3(TREE, 2, b"card"), public, shares[:2], nonce) is None
    else:
        states = [
            prio3.verify_init(key, i, nonce, public, share)
            for i, (key, share) in enumerate(zip([KEY, KEY, bytes(32)], shares, strict=True))
        ]
        assert prio3.decide_block([[state.share for state in states]]) == [None]


def test_what_the_client_shares_must_satisfy_the_circuit():
    prio3 = Prio3(TREE)
    for values in ([0] * 12, [0] * 11, [42] * 12, [-1] + [0] * 11):
        with pytest.raises(ParameterError, match="report"):
            prio3.shard(values, bytes(16), bytes(prio3.random_size))
    with pytest.raises(ParameterError, match="wrong size"):
        prio3.shard([0] * 12, bytes(15), bytes(prio3.random_size))


@pytest.mark.parametrize(
    ("most", "groups", "chunk"),
    [
        ((), (), None),
        ((0,), (), None),
        ((2**62, 1), (), None),
        ((1,), (EdgeGroup((1,), 0, 1),), None),
        ((1,), (EdgeGroup((), 0, 1),), None),
        ((1,), (EdgeGroup((0, 0), 0, 1),), None),
        ((1,), (EdgeGroup((0,), -1, 1),), None),
        ((1,), (EdgeGroup((0,), 0, 2**63),), None),
        ((1,), (), 0),
    ],
)
def test_circuits_that_make_no_sense_are_refused(most, groups, chunk):
    with pytest.raises(ParameterError, match="circuit"):
        Edges(most, groups, chunk)


def test_reports_are_as_small_as_they_should_be():
    leaves, clusters = tuple(range(10, 110)), tuple(range(10))
    paper = Edges((129,) * 10 + (65,) * 100, (EdgeGroup(clusters, 119, 18), EdgeGroup(leaves, 0, 198)))
    assert Prio3(paper).leader_size <= 9500
    assert Prio3(l1_bound_sum(225, 1023)).leader_size <= 23_000
    assert Prio3(paper).helper_size == 64
    assert all(
        paper.proof_length <= Edges(paper.most, paper.groups, chunk).proof_length for chunk in range(1, paper.length)
    )
