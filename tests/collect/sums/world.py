"""A card's task with two or three aggregators, people, and noise that tests can see."""

import random
import time
from dataclasses import replace
from types import SimpleNamespace

from barrow.collect.admission import Gate, attest
from barrow.collect.aggregator import Aggregator
from barrow.collect.keys import b64, new_key, public_bytes
from barrow.collect.prio3 import EdgeGroup, Edges, Prio3
from barrow.collect.share_messages import seal_report
from barrow.collect.share_store import ShareStore
from barrow.collect.sum_task import SumTask, role_name, sum_task, verify_digest
from tests.collect.world import key, let_in

CIRCUIT = Edges((9,) * 3 + (5,) * 4, (EdgeGroup((0, 1, 2), 6, 4), EdgeGroup((3, 4, 5, 6), 1, 6)))
CARD = "sha256:" + "ab" * 32
VERIFY = bytes(range(32))


class World:
    """Keys, task and people of one card."""

    def __init__(self, folder, aggregators=2, card=CARD, people=200, noise=None, expires=None, circuit=CIRCUIT):
        self.folder, self.card = folder, card
        self.keys = [new_key("analyser") for _ in range(aggregators)]
        self.front = new_key("front")
        self.draws = 0
        self._noise = noise
        admission = {"kind": "attested", "key": b64(public_bytes(self.front))}
        self.task = SumTask(
            card,
            Prio3(circuit, aggregators, card.encode()),
            tuple(public_bytes(key) for key in self.keys),
            verify_digest(VERIFY),
            Gate(SimpleNamespace(admission=admission, digest=card, counted="attested")),
            self._draw,
            people,
            time.time() + 3600 if expires is None else expires,
        )
        self.source = random.Random(1)
        self.circuit = circuit

    def _draw(self):
        self.draws += 1
        return [0] * len(self.circuit.most) if self._noise is None else self._noise()

    def values(self):
        values = [0] * len(self.circuit.most)
        for group in self.circuit.groups:
            left = self.source.randint(group.floor, group.floor + group.span)
            for i in group.members:
                values[i] = min(left, self.circuit.most[i])
                left -= values[i]
        return values

    def report(self, values=None):
        """What one person sends: the report, and one message for each aggregator."""
        sealed = seal_report(self.task, self.values() if values is None else values)
        admission = self.let_in(sealed.signed)
        return sealed, [sealed.message(i, admission) for i in range(len(self.keys))]

    def let_in(self, signed):
        """What lets a report in."""
        return attest(self.front, self.card, signed)

    def aggregator(self, index, name=None):
        store = ShareStore(self.folder / (name or f"{role_name(index)}.db"), self.card, index)
        return Aggregator(self.task, index, store, self.keys[index], VERIFY)


class CardWorld(World):
    """The same of a whole card, as a client reads it: its circuit, its keys, and a token for each report."""

    def __init__(self, folder, card, noise=None):
        task = sum_task(card)
        super().__init__(folder, len(task.keys), card.digest, noise=noise, circuit=task.prio3.circuit)
        self.whole, self.keys = card, [key("aggregator", i) for i in range(len(task.keys))]
        self.task = replace(task, draw_noise=self._draw)

    def let_in(self, signed):
        """What the card's issuer signed for a report, unseen."""
        return let_in(self.whole, signed)
