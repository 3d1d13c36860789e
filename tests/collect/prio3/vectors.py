"""Our own vectors of `Edges`, shared by clients; ``python -m tests.collect.prio3.vectors`` writes them anew."""

import hashlib
import json
import random

from Crypto.Hash import TurboSHAKE128

from barrow.collect.prio3 import EdgeGroup, Edges, Prio3
from tests.collect.prio3.cases import KEY, honest, some_circuit
from tests.collect.vectors import FOLDER

FILE = FOLDER / "sums.json"
STREAMS = FOLDER / "turboshake.json"


def circuits():
    """Small ones of many shapes; the paper's two spaces; samples at the nodes of a map."""
    source = random.Random(2026)
    yield from (
        (some_circuit(source, chunk), 2 + n % 4) for n, chunk in enumerate([None, 3, None, 1, None, 5, None, 8])
    )
    for clusters, inner, high, low in ((10, 10, 100, 5), (20, 50, 40, 4)):
        upper, lower = tuple(range(clusters)), tuple(range(clusters, clusters * (inner + 1)))
        most = (high + 1,) * clusters + (low + 1,) * (clusters * inner)
        span = 2 * (len(lower) - 1)
        yield Edges(most, (EdgeGroup(upper, high - clusters + 1, 2 * clusters - 2), EdgeGroup(lower, 0, span))), 2
    yield Edges((1023,) * 25, (EdgeGroup(tuple(range(25)), 1023, 0),)), 2


def short(data: bytes) -> str:
    """The bytes, or of many their digest."""
    return data.hex() if len(data) <= 4000 else "sha256:" + hashlib.sha256(data).hexdigest()


def made():
    source, cases = random.Random(7), []
    for number, (circuit, aggregators) in enumerate(circuits()):
        context = f"card {number}".encode()
        prio3 = Prio3(circuit, aggregators, context)
        values, nonce, randomness = honest(source, circuit), source.randbytes(16), source.randbytes(prio3.random_size)
        public, shares = prio3.shard(values, nonce, randomness)
        states = [prio3.verify_init(KEY, i, nonce, public, share) for i, share in enumerate(shares)]
        cases.append(
            {
                "most": list(circuit.most),
                "groups": [[list(g.members), g.floor, g.span] for g in circuit.groups],
                "chunk": circuit.chunk,
                "aggregators": aggregators,
                "context": context.hex(),
                "nonce": nonce.hex(),
                "random": randomness.hex(),
                "values": list(values),
                "public": public.hex(),
                "shares": [short(share) for share in shares],
                "verifier_shares": [short(state.share) for state in states],
                "message": prio3.decide([state.share for state in states]).hex(),
                "outputs": [short(state.output) for state in states],
            }
        )
    return {"about": "docs/collect-format.md", "algorithm": "ffff0001", "key": KEY.hex(), "cases": cases}


def streams():
    """TurboSHAKE128 of counting bytes, around the ends of its blocks."""
    cases = []
    for length in (0, 1, 7, 8, 166, 167, 168, 169, 335, 336, 337, 1000):
        shake = TurboSHAKE128.new(data=bytes(i % 251 for i in range(length)), domain=1)
        start = 160 if length % 2 else 0
        shake.read(start)
        cases.append({"length": length, "start": start, "stream": shake.read(64).hex()})
    return {"about": "docs/collect-format.md", "cases": cases}


if __name__ == "__main__":
    STREAMS.write_text(json.dumps(streams()) + "\n", encoding="utf-8")
    FILE.write_text(json.dumps(made()) + "\n", encoding="utf-8")
