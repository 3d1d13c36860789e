"""Loads, kills, slow clients and full disks for the collector and the shuffler, on this machine alone.

``acknowledged_lost`` counts what a client was told is stored and is not; ``counted_twice`` what is there, or was called
new, more than once; ``undetected`` the kinds of slow clients that kept others waiting. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

from barrow.collect.analyser import collect_reports, open_batch
from barrow.collect.batches import read_batch
from barrow.collect.card import Card
from barrow.collect.shuffler import open_pool
from barrow.collect.stores import open_store
from tests.collect.world import item, key, local_card, shuffle_card
from tests.load.services import collector, mixing, shuffler
from tests.load.slow import ATTACKS, attack
from tests.load.traffic import Connection, blast, reports

EACH = 2
GONE = (ConnectionError, OSError, ValueError, IndexError)


def many_people() -> Card:
    """A card of so many people that none is one too many."""
    return local_card(users=10**7)


def speeds(folder: Path, seconds: float) -> dict:
    card, outcome = many_people(), {}
    for batch in (100, 1):
        for connections in (1, 8, 64):
            service = collector(card, folder / f"speed-{batch}-{connections}.db")
            service.wait_until_open()
            before = service.cpu_seconds()
            result = blast(service.port, card, connections, batch, seconds, 10**7)
            result["per_cpu_second"] = result["taken"] / max(service.cpu_seconds() - before, 0.01)
            service.stop()
            stored = open_store(folder / f"speed-{batch}-{connections}.db", card.survey.digest).count()
            assert stored == result["taken"], "what was acknowledged is not what is stored"
            text = f"batches of {batch:3}, {connections:2} connections: {result['per_second']:8,.0f} reports/s, "
            text += f"{result['per_cpu_second']:,.0f} a second of one core, "
            print(f"{text}p50 {result['p50_ms']:.1f} ms, p99 {result['p99_ms']:.1f} ms", flush=True)
            outcome[batch, connections] = result
    return outcome


def memory(folder: Path, most: int) -> dict:
    """Resident memory of the collector after 1e4 and after ``most`` reports."""
    card = many_people()
    service = collector(card, folder / "memory.db")
    service.wait_until_open()
    blast(service.port, card, 8, 500, 60, 10_000)
    first = service.rss_mib()
    result = blast(service.port, card, 8, 500, 300, most - 10_000)
    last = service.rss_mib()
    print(
        f"memory: {first:.0f} MiB after 10,000 reports, {last:.0f} MiB after {10_000 + result['taken']:,}", flush=True
    )
    service.stop()
    return {"rss_mib_first": first, "rss_mib_last": last, "reports": 10_000 + result["taken"]}


class Sender:
    """Sends lines over several connections until the service dies, and the rest again to the next one."""

    def __init__(self, make, path: str, kind: str, batch: int, links: int = 4) -> None:
        self._make, self._path, self._kind, self._batch, self._links = make, path, kind, batch, links
        self.open: dict[bytes, None] = {}
        self.acknowledged: set[bytes] = set()
        self.new: Counter[bytes] = Counter()
        self.in_flight = 0

    def _chunks(self, chance: random.Random) -> list[list[bytes]]:
        """What to send now, over each connection: first what was sent before and not acknowledged."""
        sizes = [chance.randint(1, self._batch) for _ in range(self._links)]
        old = list(islice(self.open, sum(sizes)))
        lines = iter(old + self._make(sum(sizes) - len(old)))
        return [some for size in sizes if (some := list(islice(lines, size)))]

    def send(self, service, until: float, chance: random.Random, *, cut: bool = True) -> None:
        """Until a time; then once more without waiting for answers, so that the kill finds requests under way."""
        links: list[Connection] = []
        try:
            links = [Connection(service.port, self._path, self._kind, timeout=5) for _ in range(self._links)]
            while chunks := self._chunks(chance):
                last = time.monotonic() >= until
                if last and not cut:
                    return
                for link, some in zip(links, chunks, strict=False):
                    self.open |= dict.fromkeys(some)
                    link.send(b"".join(some))
                if last:
                    self.in_flight += sum(map(len, chunks))
                    time.sleep(chance.uniform(0, 0.006))
                    return
                for link, some in zip(links, chunks, strict=False):
                    self._told(link.receive(), some)
        except GONE:
            return
        finally:
            for link in links:
                link.close()

    def _told(self, answer: tuple[int, dict], some: list[bytes]) -> None:
        status, data = answer
        if status != 200:
            return
        for line, text in zip(some, data["lines"], strict=True):
            assert text in ("accepted", "repeated"), text
            self.acknowledged.add(line)
            self.new[line] += text == "accepted"
            self.open.pop(line, None)


def kill_collector(folder: Path, kills: int, chance: random.Random) -> dict:
    card = many_people()
    digest, store = card.survey.digest, folder / "kills.db"
    sender = Sender(lambda n: reports(card, n), "/reports", "application/x-ndjson", 40)
    for _ in range(kills):
        service = collector(card, store)
        if service.wait_until_open():
            sender.send(service, time.monotonic() + chance.uniform(0.0, 0.05), chance)
        service.kill()
    subset = open_store(store, digest)
    texts = Counter(text.encode() + b"\n" for text in subset.texts())
    server = collect_reports(card, (text.decode() for text in texts))
    lost = sum(line not in texts for line in sender.acknowledged)
    twice = sum(n > 1 for n in texts.values()) + sum(n > 1 for n in sender.new.values()) + (server.n - len(texts))
    told = {"kills": kills, "acknowledged": len(sender.acknowledged), "in_flight": sender.in_flight}
    return {**told, "lost": lost, "twice": twice}


def kill_shuffler(folder: Path, kills: int, chance: random.Random, count: int, *, counted: bool, mixes: int) -> dict:
    """Kills of the shuffler while messages arrive, then of mixing, which goes on each time."""
    card = shuffle_card(users=20, tokens=counted)
    store, batch = folder / f"pool-{counted}.db", folder / f"mixed-{counted}.batch"
    items = [item(card, i % 4) for i in range(count)]
    fresh = iter(items)
    sender = Sender(lambda n: list(islice(fresh, n)), "/messages", "application/octet-stream", max(1, count // 400))
    for _ in range(kills):
        service = shuffler(card, store)
        if service.wait_until_open():
            sender.send(service, time.monotonic() + chance.uniform(0.0, 0.03), chance)
            copies = [one for one in chance.sample(items, 3) if one in sender.acknowledged]
            sender.open |= dict.fromkeys(copies)
        service.kill()
    service = shuffler(card, store)
    service.wait_until_open()
    sender.open |= dict.fromkeys(fresh)
    while sender.open:
        sender.send(service, time.monotonic() + 0.5, chance, cut=False)
    service.kill()
    pool = open_pool(store, card)
    held = Counter(pool.items())
    pool.close()
    sent = sender.acknowledged
    lost = len(sent - set(held))
    twice = sum(n > 1 for n in held.values()) + sum(n > 1 for n in sender.new.values())
    for _ in range(mixes):
        mix = mixing(card, store, batch)
        time.sleep(chance.uniform(0.0, 0.05))
        mix.kill()
    assert mixing(card, store, batch).join() == 0
    result = read_batch(batch)
    out = Counter(result.items())
    lost += len(held) - len(out) - result.head.left_out
    twice += sum(n > 1 for n in out.values()) + len(set(out) - set(held))
    opened = open_batch(card, result, key("analyser"))
    twice += int(opened.counts.sum()) - opened.people * EACH
    told = {"kills": kills, "mixing_kills": mixes, "acknowledged": len(sent), "in_flight": sender.in_flight}
    return {**told, "lost": lost, "twice": twice}


def slow_clients(folder: Path, name: str) -> dict:
    """What becomes of everybody else while some keep a collector waiting."""
    card = local_card()
    service = collector(card, folder / f"slow-{name}.db")
    service.wait_until_open()
    result = attack(service, card, name)
    service.kill()
    return result


def full_disk(folder: Path) -> dict:
    """Writes of the collector fail from some size on."""
    card = many_people()
    digest, store = card.survey.digest, folder / "full.db"
    result = _filled(
        lambda **limit: collector(card, store, **limit), 2**20, ("/reports", "application/x-ndjson"),
        lambda: reports(card, 50), tries=400, most=20,
    )  # fmt: skip
    return result({text.encode() + b"\n" for text in open_store(store, digest).texts()})


def full_pool(folder: Path) -> dict:
    """The same for the shuffler: its files cannot grow any more."""
    card = shuffle_card(users=20, tokens=False)
    store = folder / "full-pool.db"
    result = _filled(
        lambda **limit: shuffler(card, store, **limit), 2**23 + 2**20, ("/messages", "application/octet-stream"),
        lambda: [item(card) for _ in range(500)], tries=150, most=3,
    )  # fmt: skip
    pool = open_pool(store, card)
    subset = set(pool.items())
    pool.close()
    return result(subset)


def _filled(start, limit: int, place: tuple[str, str], some, *, tries: int, most: int):
    """Sends until the disk is full: refused with 507, everything acknowledged is there, and later it goes on."""
    service = start(file_limit=limit)
    service.wait_until_open()
    link = Connection(service.port, *place)
    told, refused, left = set(), 0, b""
    for _ in range(tries):
        sent = some()
        status, data = link.post(b"".join(sent))
        if status == 200:
            told |= {each for each, text in zip(sent, data["lines"], strict=True) if text == "accepted"}
        else:
            assert status == 507, status
            refused, left = refused + 1, b"".join(sent)
            if refused == most:
                break
    service.kill()
    link.close()
    service = start()
    service.wait_until_open()
    link = Connection(service.port, *place)
    status, data = link.post(left)
    link.close()
    later = status == 200 and set(data["lines"]) <= {"accepted", "repeated"}
    service.stop()
    return lambda subset: {
        "refused": refused, "acknowledged": len(told), "lost": len(told - subset), "accepted_later": later,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each speed")
    parser.add_argument("--kills", type=int, default=200, help="of the collector, and as many of the shuffler")
    parser.add_argument("--reports", type=int, default=1_000_000, help="up to which memory is watched")
    parser.add_argument("--seed", type=int, default=1, help="of the instants of kills")
    request = parser.parse_args()
    chance = random.Random(request.seed)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="barrow-load-") as name:
        folder = Path(name)
        fast = speeds(folder, request.seconds)
        size = memory(folder, request.reports)
        killed = {"collector": kill_collector(folder, request.kills, chance)}
        half = request.kills // 2
        killed["shuffler"] = kill_shuffler(folder, request.kills - half, chance, 20_000, counted=False, mixes=10)
        killed["shuffler, tokens"] = kill_shuffler(folder, half, chance, 2_000, counted=True, mixes=10)
        for name, result in killed.items():
            print(f"kills, {name}: {result}", flush=True)
        slow = {name: slow_clients(folder, name) for name in ATTACKS}
        for name, result in slow.items():
            print(f"slow clients, {name}: {result}", flush=True)
        full = full_disk(folder)
        pool = full_pool(folder)
        print(f"full disk: {full}; of the shuffler: {pool}", flush=True)

    def total(name: str) -> int:
        return sum(outcome.get(name, 0) for outcome in killed.values())

    single, batched = fast[1, 64], max((fast[100, c] for c in (1, 8, 64)), key=lambda r: r["per_second"])
    told = {
        "batched_per_second": round(batched["per_second"]),
        "single_per_second": round(max(fast[1, c]["per_second"] for c in (1, 8, 64))),
        "p99_ms": round(single["p99_ms"], 2),
        "speeds": {f"{batch}x{c}": round(fast[batch, c]["per_second"]) for batch, c in fast},
        "per_cpu_second": {f"{batch}x{c}": round(fast[batch, c]["per_cpu_second"]) for batch, c in fast},
        "p99": {f"{batch}x{c}": round(fast[batch, c]["p99_ms"], 2) for batch, c in fast},
        "kills": total("kills") + total("mixing_kills"),
        "killed": killed,
        "acknowledged": total("acknowledged") + full["acknowledged"] + pool["acknowledged"],
        "in_flight": total("in_flight"),
        "acknowledged_lost": total("lost") + full["lost"] + pool["lost"],
        "counted_twice": total("twice"),
        "slow": slow,
        "undetected": sum(not outcome["survived"] for outcome in slow.values()),
        "full_disk": {"collector": full, "shuffler": pool},
        "memory": size,
        "seconds": round(time.perf_counter() - began, 1),
    }
    print(json.dumps(told))
    filled = all(outcome["refused"] and outcome["accepted_later"] for outcome in (full, pool))
    bad = told["undetected"] or told["acknowledged_lost"] or told["counted_twice"] or not filled
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
