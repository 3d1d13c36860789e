"""Loads, kills and full disks for the collector and the shuffler, on this machine alone.

``acknowledged_lost`` counts what a client was told is stored and is not; ``counted_twice`` what is there, or was called
new, more than once. The last line is one JSON object.
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

from barrow.collect import tokens
from barrow.collect.analyser import open_batch
from barrow.collect.batches import read_batch
from barrow.collect.keys import unb64
from barrow.collect.pool import Pool
from barrow.collect.sealing import seal
from barrow.collect.stores import open_store
from barrow.local import Server
from tests.collect.world import key, local_card, shuffle_card
from tests.load.services import collector, mixing, shuffler
from tests.load.traffic import Connection, blast, reports

EACH = 2
GONE = (ConnectionError, OSError, ValueError, IndexError)


def speeds(folder: Path, seconds: float) -> dict:
    card, found = local_card(), {}
    for batch in (100, 1):
        for connections in (1, 8, 64):
            service = collector(card, folder / f"speed-{batch}-{connections}.db")
            service.wait_until_open()
            before = service.cpu_seconds()
            result = blast(service.port, card.survey.digest, connections, batch, seconds, 10**7)
            result["per_cpu_second"] = result["taken"] / max(service.cpu_seconds() - before, 0.01)
            service.stop()
            stored = open_store(folder / f"speed-{batch}-{connections}.db", card.survey.digest).count()
            assert stored == result["taken"], "what was acknowledged is not what is stored"
            said = f"batches of {batch:3}, {connections:2} connections: {result['per_second']:8,.0f} reports/s, "
            said += f"{result['per_cpu_second']:,.0f} a second of one core, "
            print(f"{said}p50 {result['p50_ms']:.1f} ms, p99 {result['p99_ms']:.1f} ms", flush=True)
            found[batch, connections] = result
    return found


def memory(folder: Path, most: int) -> dict:
    """Resident memory of the collector after 1e4 and after ``most`` reports."""
    card = local_card()
    service = collector(card, folder / "memory.db")
    service.wait_until_open()
    blast(service.port, card.survey.digest, 8, 500, 60, 10_000)
    first = service.rss_mib()
    result = blast(service.port, card.survey.digest, 8, 500, 300, most - 10_000)
    last = service.rss_mib()
    print(
        f"memory: {first:.0f} MiB after 10,000 reports, {last:.0f} MiB after {10_000 + result['taken']:,}", flush=True
    )
    service.stop()
    return {"rss_mib_first": first, "rss_mib_last": last, "reports": 10_000 + result["taken"]}


class Sender:
    """Sends lines until the service dies, remembers what was acknowledged, and sends the rest again to the next one."""

    def __init__(self, make, path: str, kind: str, batch: int) -> None:
        self._make, self._path, self._kind, self._batch = make, path, kind, batch
        self.open: list[bytes] = []
        self.acknowledged: set[bytes] = set()
        self.new: Counter[bytes] = Counter()

    def send(self, service, until: float, chance: random.Random) -> None:
        try:
            link = Connection(service.port, self._path, self._kind, timeout=2)
        except GONE:
            return
        try:
            while time.monotonic() < until:
                some = self.open[: chance.randint(1, self._batch)] or self._make(chance.randint(1, self._batch))
                self.open += [line for line in some if line not in self.open]
                if not some:
                    return
                self._told(link.post(b"".join(some)), some)
            self.open = self.open or self._make(3)
            link.send(b"".join(self.open))  # killed with a request under way: sent again, it must not count twice
        except GONE:
            return
        finally:
            link.close()

    def _told(self, answer: tuple[int, dict], some: list[bytes]) -> None:
        status, data = answer
        if status != 200:
            return
        for line, said in zip(some, data["lines"], strict=True):
            assert said in ("accepted", "repeated"), said
            self.acknowledged.add(line)
            self.new[line] += said == "accepted"
        kept = set(some)
        self.open = [line for line in self.open if line not in kept]


def kill_collector(folder: Path, kills: int, chance: random.Random) -> dict:
    card = local_card()
    digest, store = card.survey.digest, folder / "kills.db"
    sender = Sender(lambda n: reports(digest, 4, EACH, n), "/reports", "application/x-ndjson", 40)
    for _ in range(kills):
        service = collector(card, store)
        if service.wait_until_open():
            sender.send(service, time.monotonic() + chance.uniform(0.0, 0.05), chance)
        service.kill()
    kept = open_store(store, digest)
    texts = Counter(text.encode() + b"\n" for text in kept.texts())
    server = Server(card.survey)
    server.add_all(text.decode() for text in texts)
    lost = sum(line not in texts for line in sender.acknowledged)
    twice = sum(n > 1 for n in texts.values()) + sum(n > 1 for n in sender.new.values()) + (server.n - len(texts))
    return {"kills": kills, "acknowledged": len(sender.acknowledged), "lost": lost, "twice": twice}


def token_items(card, count: int) -> list[bytes]:
    """Messages with tokens, as the issuer would have signed them."""
    issuer, said = key("issuer"), tokens.message_of(card.digest)
    public, made = issuer.public_key(), []
    seal_to = unb64(card.sealing["key"])
    for i in range(count):
        blinded = tokens.blind(public, said)
        signature = tokens.finalize(public, said, blinded, tokens.sign(issuer, blinded.request))
        made.append(seal(card.digest, seal_to, i % 4) + blinded.prefix + signature)
    return made


def kill_shuffler(folder: Path, kills: int, chance: random.Random, count: int = 300) -> dict:
    card = shuffle_card(users=20)
    store, batch = folder / "pool.db", folder / "mixed.batch"
    items = token_items(card, count)
    fresh = iter(items)
    sender = Sender(lambda n: list(islice(fresh, min(n, 3))), "/messages", "application/octet-stream", 6)
    done = 0
    while done < kills:
        service = shuffler(card, store)
        if service.wait_until_open():
            sender.send(service, time.monotonic() + chance.uniform(0.0, 0.03), chance)
            for item in chance.sample(items, 3):  # copies of what may have been taken before
                if item in sender.acknowledged:
                    sender.open.append(item)
        service.kill()
        done += 1
    service = shuffler(card, store)
    service.wait_until_open()
    sender.open += fresh
    while sender.open:
        sender.send(service, time.monotonic() + 0.2, chance)
    service.kill()
    held = Counter(Pool(store, card.digest).messages())
    sent = {item[:64] for item in sender.acknowledged}
    lost = len(sent - set(held))
    twice = sum(n > 1 for n in held.values()) + sum(n > 1 for n in sender.new.values())
    mixed_kills = 0
    for _ in range(20):  # mixing is killed too, and goes on
        mix = mixing(card, store, batch)
        time.sleep(chance.uniform(0.0, 0.03))
        mix.kill()
        mixed_kills += 1
    assert mixing(card, store, batch).join() == 0
    found = read_batch(batch)
    out = Counter(found.messages())
    lost += len(held) - len(out) - found.head.left_out
    twice += sum(n > 1 for n in out.values()) + len(set(out) - set(held))
    opened = open_batch(card, found, key("analyser"))
    twice += int(opened.counts.sum()) - opened.people * EACH
    return {"kills": kills + mixed_kills, "acknowledged": len(sent), "lost": lost, "twice": twice}


def full_disk(folder: Path) -> dict:
    """Writes fail from some size on: refused with 507, everything acknowledged is there, and later it goes on."""
    card = local_card()
    digest, store = card.survey.digest, folder / "full.db"
    service = collector(card, store, file_limit=2**20)
    service.wait_until_open()
    link = Connection(service.port, "/reports", "application/x-ndjson")
    told, refused, left = set(), 0, b""
    for _ in range(400):
        lines = reports(digest, 4, EACH, 50)
        status, data = link.post(b"".join(lines))
        if status == 200:
            told |= {line for line, said in zip(lines, data["lines"], strict=True) if said == "accepted"}
        else:
            assert status == 507, status
            refused, left = refused + 1, b"".join(lines)
            if refused == 20:
                break
    service.kill()
    link.close()
    service = collector(card, store)
    service.wait_until_open()
    link = Connection(service.port, "/reports", "application/x-ndjson")
    status, data = link.post(left)
    link.close()
    later = status == 200 and set(data["lines"]) <= {"accepted", "repeated"}
    service.stop()
    kept = {text.encode() + b"\n" for text in open_store(store, digest).texts()}
    return {"refused": refused, "acknowledged": len(told), "lost": len(told - kept), "accepted_later": later}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each speed")
    parser.add_argument("--kills", type=int, default=220)
    parser.add_argument("--reports", type=int, default=1_000_000, help="up to which memory is watched")
    parser.add_argument("--seed", type=int, default=1, help="of the instants of kills")
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="barrow-load-") as name:
        folder = Path(name)
        fast = speeds(folder, asked.seconds)
        size = memory(folder, asked.reports)
        one = kill_collector(folder, (asked.kills + 1) // 2, chance)
        print(f"collector: {one}", flush=True)
        two = kill_shuffler(folder, max(0, asked.kills // 2 - 20), chance)
        print(f"shuffler: {two}", flush=True)
        full = full_disk(folder)
        print(f"full disk: {full}", flush=True)
    single, batched = fast[1, 64], max((fast[100, c] for c in (1, 8, 64)), key=lambda r: r["per_second"])
    told = {
        "batched_per_second": round(batched["per_second"]),
        "single_per_second": round(max(fast[1, c]["per_second"] for c in (1, 8, 64))),
        "p99_ms": round(single["p99_ms"], 2),
        "speeds": {f"{batch}x{c}": round(fast[batch, c]["per_second"]) for batch, c in fast},
        "per_cpu_second": {f"{batch}x{c}": round(fast[batch, c]["per_cpu_second"]) for batch, c in fast},
        "p99": {f"{batch}x{c}": round(fast[batch, c]["p99_ms"], 2) for batch, c in fast},
        "kills": one["kills"] + two["kills"],
        "acknowledged": one["acknowledged"] + two["acknowledged"] + full["acknowledged"],
        "acknowledged_lost": one["lost"] + two["lost"] + full["lost"],
        "counted_twice": one["twice"] + two["twice"],
        "full_disk": full,
        "memory": size,
        "seconds": round(time.perf_counter() - began, 1),
    }
    print(json.dumps(told))
    bad = told["acknowledged_lost"] or told["counted_twice"] or not full["refused"] or not full["accepted_later"]
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
