"""Kills of both aggregators of a secure sum, cheats, replays, full disks, and a report's cost; the last line is JSON.

All of it on a whole card, whose issuer signs a token for each report. Reports are sent until they are acknowledged.
``lost`` counts acknowledged reports that are not in the sum, ``sets`` whether both aggregators counted the same,
``exact`` whether the sum with the noise that was stored is the sum of what was sent.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from pathlib import Path

from barrow.collect.aggregator import add_shares
from barrow.collect.client import SendError
from barrow.collect.posting import post_bytes
from barrow.collect.sealing import seal_bytes
from barrow.collect.share_messages import SealedReport, _info, seal_report
from barrow.collect.share_store import ACCEPTED, RECEIVED, REFUSED, TOLD
from barrow.collect.sum_service import HelperService, LeaderService, Wire, Worker
from barrow.collect.web import run
from tests.collect.asking import free_port
from tests.collect.prio3.cases import lying
from tests.collect.sums.test_card import SPACE, summed_card
from tests.collect.sums.world import VERIFY, CardWorld
from tests.load.services import Service
from tests.load.traffic import Connection

GONE = (ConnectionError, OSError, ValueError, IndexError)
LARGE = "clustered(shape=[10, 10], r=0.05)"
"""The paper's space: 110 numbers a report."""


class Noise:
    """Noise that each aggregator writes down before it adds it, so that a test can take it off again."""

    def __init__(self, folder: Path, length: int) -> None:
        self._folder, self._length = folder, length
        self.name = ""

    def __call__(self) -> list[int]:
        values = [random.SystemRandom().randint(-999, 999) for _ in range(self._length)]
        with open(self._folder / f"noise-{self.name}", "a") as file:
            file.write(json.dumps(values) + "\n")
        return values

    def last(self, name: str) -> list[int]:
        return json.loads((self._folder / f"noise-{name}").read_text().splitlines()[-1])


class Parties:
    """A leader and a helper in processes of their own, which are killed and begun again."""

    def __init__(self, folder: Path, space: str = SPACE) -> None:
        card = summed_card(tokens=True, space=space, alpha=25, users=10_000)
        self.noise = Noise(folder, len(card.survey.channel.form.most))
        self.world = CardWorld(folder, card, self.noise)
        self.ports = [free_port(), free_port()]

    def leader(self, **options) -> Service:
        def work() -> None:
            self.noise.name = "leader"
            worker = Worker(self.world.aggregator(0), [self.helper_address], VERIFY, post_bytes)
            threading.Thread(target=worker.run, args=[threading.Event()], daemon=True).start()
            app = LeaderService(self.world.aggregator(0), {}).app()
            run(app, host="127.0.0.1", port=self.ports[0])

        return Service(work, self.ports[0], **options)

    def helper(self, **options) -> Service:
        def work() -> None:
            self.noise.name = "helper"
            app = HelperService(self.world.aggregator(1), Wire(self.world.task, VERIFY, 1), fewest=1).app()
            run(app, host="127.0.0.1", port=self.ports[1])

        return Service(work, self.ports[1], **options)

    @property
    def helper_address(self) -> str:
        return f"http://127.0.0.1:{self.ports[1]}"

    def closing(self, out: Path) -> Service:
        """Close, and write down everybody's commitments."""

        def work() -> None:
            self.noise.name = "leader"
            shares = Worker(self.world.aggregator(0), [self.helper_address], VERIFY, post_bytes).close(fewest=1)
            result = add_shares(self.world.task, shares)
            with open(out, "a") as file:
                file.write(json.dumps([result.reports, result.values, result.commitments]) + "\n")

        return Service(work)

    def body(self, values: list[int]) -> bytes:
        sealed = seal_report(self.world.task, values)
        return sealed.body(self.world.let_in(sealed.signed))

    def cheat(self, chance: random.Random) -> bytes:
        """A report whose bits are none, or whose sums are too large, or that is damaged after it was let in."""
        world, task = self.world, self.world.task
        bits = [1] * world.circuit.length
        if chance.random() < 0.5:
            bits[chance.randrange(len(bits))] = chance.choice([2, -1, 2**40])
        nonce = chance.randbytes(16)
        public, shares = lying(task.prio3, bits, nonce, chance.randbytes(task.prio3.random_size))
        if chance.random() < 0.3:
            shares[chance.randrange(2)] = chance.randbytes(len(shares[1]))  # not even of the right size for the leader
            shares[0] = shares[0].ljust(task.prio3.leader_size, b"\0")[: task.prio3.leader_size]
        sealed = [seal_bytes(_info(task, i, nonce, public), task.keys[i], share) for i, share in enumerate(shares)]
        report = SealedReport(nonce, public, tuple(sealed))
        return report.body(world.let_in(report.signed))


def _post(parties: Parties, waiting: dict[bytes, None], told: set[bytes]) -> None:
    """Send what waits; what is acknowledged waits no longer."""
    try:
        link = Connection(parties.ports[0], "/reports", "application/octet-stream", timeout=5)
        some = list(waiting)[:8]
        status, data = link.post(b"".join(some))
        link.close()
    except GONE:
        return
    if status == 200:
        for body, line in zip(some, data["lines"], strict=True):
            assert line in ("accepted", "repeated"), line
            told.add(body)
            waiting.pop(body, None)


def kills(folder: Path, count: int, closings: int, chance: random.Random, *, each: int = 2) -> dict:
    """Kills of either aggregator while reports arrive and are checked, then of both while they close."""
    parties = Parties(folder)
    world = parties.world
    services = {"leader": parties.leader(), "helper": parties.helper()}
    for service in services.values():
        assert service.wait_until_open()
    sent: dict[bytes, list[int]] = {}
    waiting: dict[bytes, None] = {}
    told: set[bytes] = set()
    cheats = 0
    for number in range(count):
        for _ in range(each):
            values = world.values()
            body = parties.body(values)
            sent[body] = values
            waiting[body] = None
        if number % 10 == 0:
            waiting[parties.cheat(chance)] = None
            cheats += 1
        if told and number % 7 == 0:
            waiting[chance.choice(sorted(told))] = None  # a replay
        _post(parties, waiting, told)
        time.sleep(chance.uniform(0, 0.03))
        name = chance.choice(["leader", "helper"])
        services[name].kill()
        services[name] = getattr(parties, name)()
        assert services[name].wait_until_open()
    until = time.monotonic() + 60
    while waiting and time.monotonic() < until:
        _post(parties, waiting, told)
    out = folder / "closed"
    for _ in range(closings):
        closing = parties.closing(out)
        time.sleep(chance.uniform(0.0, 0.3))
        closing.kill()
        if chance.random() < 0.5:
            services["helper"].kill()
            services["helper"] = parties.helper()
            services["helper"].wait_until_open()
    last = 1
    while last and time.monotonic() < until + 60:
        last = parties.closing(out).join()
    parties.closing(out).join()
    for service in services.values():
        service.kill()
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    reports, values, _ = lines[-1]
    noise = [parties.noise.last(name) for name in ("leader", "helper")]
    expected = [sum(column) for column in zip(*sent.values(), *noise, strict=True)]
    leader, helper = world.aggregator(0), world.aggregator(1)
    counted = [
        {row[0] for row in party.store._link.execute("SELECT nonce FROM reports WHERE state = ?", [ACCEPTED])}
        for party in (leader, helper)
    ]
    honest = {body[5:21] for body in sent}
    return {
        "kills": count + closings, "sent": len(sent), "acknowledged": len(told), "cheats": cheats,
        "cheats_counted": len(counted[0] - honest), "counted": reports,
        "lost": sum(body[5:21] not in counted[0] for body in told & set(sent)), "sets": counted[0] == counted[1],
        "exact": values == expected, "noise_told": len({json.dumps(line) for line in lines}),
    }  # fmt: skip


def full_disk(folder: Path, name: str) -> dict:
    """One aggregator's files cannot grow any more: what was acknowledged is counted when there is room again."""
    parties = Parties(folder)
    services = {other: getattr(parties, other)() for other in ("leader", "helper") if other != name}
    services[name] = getattr(parties, name)(file_limit=120_000)
    for service in services.values():
        assert service.wait_until_open()
    sent, told, refused = {}, set(), 0
    until = time.monotonic() + 20
    while time.monotonic() < until and len(sent) < 200:
        values = parties.world.values()
        body = parties.body(values)
        try:
            link = Connection(parties.ports[0], "/reports", "application/octet-stream", timeout=5)
            status, data = link.post(body)
            link.close()
        except GONE:
            continue
        sent[body] = values
        if status == 200 and data["lines"] == ["accepted"]:
            told.add(body)
        else:
            refused += 1
            if refused > 3:
                break
        if name == "helper" and len(told) == 60:
            break
    time.sleep(0.5)
    services[name].kill()
    services[name] = getattr(parties, name)()
    assert services[name].wait_until_open()
    out = folder / "closed"
    code = parties.closing(out).join()
    for service in services.values():
        service.kill()
    reports, values, _ = json.loads(out.read_text().splitlines()[-1])
    noise = [parties.noise.last(party) for party in ("leader", "helper")]
    world = parties.world
    counted = {
        row[0]
        for row in world.aggregator(0).store._link.execute("SELECT nonce FROM reports WHERE state = ?", [ACCEPTED])
    }
    expected = [sum(c) for c in zip(*(v for b, v in sent.items() if b[5:21] in counted), *noise, strict=True)]
    lost = sum(body[5:21] not in counted for body in told)
    return {"closed": code == 0, "refused": refused, "acknowledged": len(told), "lost": lost,
            "exact": values == expected, "counted": reports}  # fmt: skip


def cost(folder: Path, count: int) -> dict:
    """CPU milliseconds of a report of 110 edges from its values to the sum: all of them together.

    Of the client's a part is the issuer's: a token is blinded, signed and unblinded for each report.
    """
    parties = Parties(folder, LARGE)
    values = parties.world.values()
    services = [parties.leader(), parties.helper()]
    for service in services:
        assert service.wait_until_open()
    before = [service.cpu_seconds() for service in services]
    start, clock = time.process_time(), time.perf_counter()
    bodies = [parties.body(values) for _ in range(count)]
    client = time.process_time() - start
    link = Connection(parties.ports[0], "/reports", "application/octet-stream")
    for first in range(0, count, 16):
        status, data = link.post(b"".join(bodies[first : first + 16]))
        assert status == 200, data
    store = parties.world.aggregator(0).store
    while store.count(RECEIVED) + store.count(TOLD):
        time.sleep(0.05)
    wall = time.perf_counter() - clock
    spent = [service.cpu_seconds() - first for service, first in zip(services, before, strict=True)]
    assert store.count(ACCEPTED) == count, store.refused()
    assert store.count(REFUSED) == 0
    for service in services:
        service.stop()
    each = {"client_ms": client / count * 1e3, "leader_ms": spent[0] / count * 1e3, "helper_ms": spent[1] / count * 1e3}
    return {**each, "all_ms": sum(each.values()), "reports_a_second": count / wall, "body_bytes": len(bodies[0])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=400)
    parser.add_argument("--reports", type=int, default=1000, help="for the cost of one")
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    chance, result = random.Random(seed), {"seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / name for name in ("kills", "cost", "leader", "helper")]
        for place in places:
            place.mkdir()
        result["kills"] = kills(places[0], options.kills * 9 // 10, options.kills // 10, chance)
        print(result["kills"], flush=True)
        result["full_disk"] = {name: full_disk(Path(folder) / name, name) for name in ("leader", "helper")}
        print(result["full_disk"], flush=True)
        result["cost"] = cost(places[1], options.reports)
        print(result["cost"], flush=True)
    print(json.dumps(result))


if __name__ == "__main__":
    try:
        main()
    except SendError as error:
        raise SystemExit(str(error)) from error
