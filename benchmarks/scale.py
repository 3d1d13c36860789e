"""What collecting costs: seconds of one core for each message by part, growth with their number, and a billion people.

Times are processor seconds, so that they mean the same on a machine that does other things too. Mixing is measured on
as many messages as asked (``--most``), opening on fewer, because decrypting is what it costs.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from barrow.collect import tokens
from barrow.collect.admission import attest, signed_message
from barrow.collect.analyser import open_batch
from barrow.collect.batches import read_batch, write_batch
from barrow.collect.card import Card, make_card
from barrow.collect.keys import new_key, public_bytes
from barrow.collect.pool import MessagePool
from barrow.collect.sealing import SEALED_BYTES, seal
from barrow.study import Study
from benchmarks._timing import finish

_ITEMS = 2
_DAY = 86_400
_PEOPLE = 10**9
_ITEM = SEALED_BYTES + tokens.TOKEN_BYTES
"""Bytes of a message with its token."""
_NETWORK = _ITEM + 400
"""The same, and the request around it."""
_POOL_BYTES = 2700
"""A message in the pool, with its token, at most: a slot of 512 bytes where a bucket is a fifth full."""
_MOODS = "discrete(labels=['calm', 'glad', 'sad', 'tense', 'tired', 'bored', 'proud', 'afraid'])"


def _study(users: int, model: str = "shuffle", alpha: str = "1") -> Study:
    delta = {"delta": "1e-9"} if model == "shuffle" else {}
    texts = [f"frequency(items={_ITEMS})"]
    return Study(_MOODS, alpha=alpha, users=users, model=model, dataset="moods", questions=texts, **delta)  # type: ignore[arg-type]


def _each(work: Callable[[], object], count: int) -> float:
    """Processor seconds of one call."""
    work()
    start = time.process_time()
    for _ in range(count):
        work()
    return (time.process_time() - start) / count


def costs(card: Card, keys: dict[str, Any]) -> dict[str, float]:
    """Processor seconds of one message, by part."""
    issuer, text = keys["issuer"], signed_message(card.digest, bytes(SEALED_BYTES))
    public, to = issuer.public_key(), public_bytes(keys["analyser"])
    built = tokens.blind(public, text)
    answer = tokens.sign(issuer, built.request)
    signature = tokens.finalize(public, text, built, answer)
    front, attested = keys["front"].public_key(), keys["front"].sign(text)
    channel, ids = card.survey.channel, np.array([0, 3])
    return {
        "client_draw": _each(lambda: channel.report(ids), 300) / _ITEMS,
        "client_seal": _each(lambda: seal(card.digest, to, 3), 500),
        "client_token": _each(lambda: tokens.blind(public, text), 100)
        + _each(lambda: tokens.finalize(public, text, built, answer), 100),
        "issuer_sign": _each(lambda: tokens.sign(issuer, built.request), 60),
        "shuffler_verify": _each(lambda: tokens.verify(public, text, built.prefix, signature), 500),
        "front_verify": _each(lambda: front.verify(attested, text), 500),
    }  # fmt: skip


def _apart(work: Callable[..., None], *arguments: Any) -> tuple[float, float]:
    """Processor seconds and the growth of resident memory in MiB, in a process of its own."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def run() -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        work(*arguments)
        spent = time.process_time() - start
        theirs.send((spent, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024))

    process = context.Process(target=run)
    process.start()
    theirs.close()
    result: tuple[float, float] = ours.recv()
    process.join()
    return result


def _random_items(count: int) -> Iterator[bytes]:
    for start in range(0, count, 4096):
        some = os.urandom(_ITEM * min(4096, count - start))
        yield from (some[i : i + _ITEM] for i in range(0, len(some), _ITEM))


def _mix(place: Path, count: int) -> None:
    about = {"card": "sha256:0", "name": "0", "count": count, "people_of": 1, "size": _ITEM}
    write_batch(place, _random_items(count), new_key("shuffler"), **about)  # type: ignore[arg-type]


def _store(place: Path, count: int) -> None:
    pool = MessagePool(place, "sha256:0", _ITEM)
    for start in range(0, count, 1000):
        pool.add(list(_random_items(min(1000, count - start))))
    pool.close()


def _open(card: Card, place: Path, key: Any) -> None:
    open_batch(card, read_batch(place), key)


Growth = dict[str, dict[int, dict[str, float]]]


def growth(card: Card, keys: dict[str, Any], most: int, stored: int, opened: int) -> Growth:
    """Microseconds for each message and MiB in all, as messages grow tenfold."""
    growth: Growth = {"mix": {}, "store": {}, "open": {}}
    to = public_bytes(keys["analyser"])
    with tempfile.TemporaryDirectory(prefix="barrow-scale-") as name:
        place = Path(name)
        for part, limit in (("mix", most), ("store", stored), ("open", opened)):
            for count in (10**e for e in range(4, 10) if 10**e <= limit):
                file = place / f"{part}-{count}"
                if part == "open":
                    sealed = (seal(card.digest, to, i % 8) for i in range(count))
                    some = (one + attest(keys["front"], card.digest, one) for one in sealed)
                    about = {"card": card.digest, "name": "0", "count": count, "people_of": _ITEMS, "size": 128}
                    write_batch(file, some, keys["mixer"], **about)
                    seconds, memory = _apart(_open, card, file, keys["analyser"])
                else:
                    seconds, memory = _apart(_mix if part == "mix" else _store, file, count)
                growth[part][count] = {"us": 1e6 * seconds / count, "mib": memory}
                text = f"{part:6} {count:>12,}: {1e6 * seconds / count:7.2f} us a message, {memory:6.1f} MiB"
                print(text, file=sys.stderr, flush=True)
                for left in place.glob(f"{part}-*"):
                    left.unlink()
    return growth


def flatness(sizes: dict[int, dict[str, float]]) -> float:
    """The largest cost of a message over the smallest."""
    times = [value["us"] for value in sizes.values()]
    return max(times) / min(times)


def a_billion(cost: dict[str, float]) -> dict[str, Any]:
    """Cores and bytes for a billion people a day, by part, and which part is the bottleneck."""
    messages = _PEOPLE * _ITEMS
    parts = {
        "issuer": cost["issuer_sign"],
        "shuffler": cost["shuffler_verify"] + cost["shuffler_store"] + cost["shuffler_mix"],
        "analyser": cost["analyser_open"] + cost["shuffler_verify"] - cost["front_verify"],
    }
    cores = {name: round(messages * seconds / _DAY, 2) for name, seconds in parts.items()}
    return {
        "messages_a_second": round(messages / _DAY),
        "cores": cores,
        "bottleneck": max(cores, key=lambda name: cores[name]),
        "shuffler_disk_tb": round(messages * _POOL_BYTES / 1e12, 2),
        "network_mb_a_second": round(messages * _NETWORK / _DAY / 1e6, 1),
        "batch_tb": round(messages * _ITEM / 1e12, 3),
    }


def accuracy(most: int) -> list[dict[str, float]]:
    """alpha0 and the predicted error for one promise, mixed and local, as people grow."""
    rows = []
    for exponent in range(3, round(math.log10(most)) + 1):
        users = 10**exponent
        mixed, local = (_study(users, model).plan() for model in ("shuffle", "local"))
        rows.append(
            {
                "people": users,
                "alpha0": float(mixed.itemwise.randomiser.alpha0_upper),  # type: ignore[attr-defined]
                "error": mixed.error,
                "error_local": local.error,
            }
        )
        text = f"alpha0 {rows[-1]['alpha0']:.3f}, EMD {mixed.error:.3g} mixed, {local.error:.3g} local"
        print(f"{users:>14,} people: {text}", file=sys.stderr, flush=True)
    return rows


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=10**7, help="messages to mix")
    parser.add_argument(
        "--stored", type=int, default=10**6, help="messages to keep in the pool (10**7: some ten minutes)"
    )
    parser.add_argument("--opened", type=int, default=10**5, help="messages to open")
    parser.add_argument("--people", type=int, default=10**9, help="up to which accuracy is predicted")
    request = parser.parse_args()
    if min(request.most, request.stored, request.opened) < 10_000:
        parser.error("growth is measured from 10,000 messages on: --most, --stored and --opened are at least that")
    keys = {name: new_key(name) for name in ("signer", "analyser", "issuer", "front")}
    keys["mixer"] = new_key("shuffler")
    several: Any = {"address": "https://c.example", "shuffler": "https://s.example"}
    several |= {name: keys[name] for name in ("signer", "analyser", "mixer")}
    card = make_card(_study(1000), issuer=keys["issuer"], **several)
    attested = make_card(_study(1000), front=keys["front"], **several)
    cost = costs(card, keys)
    sizes = growth(attested, keys, request.most, request.stored, request.opened)
    for name, part in (("shuffler_store", "store"), ("shuffler_mix", "mix"), ("analyser_open", "open")):
        cost[name] = sizes[part][max(sizes[part])]["us"] * 1e-6
    finish(
        {
            "microseconds": {name: round(1e6 * seconds, 2) for name, seconds in cost.items()},
            "growth": sizes,
            "flatness": {part: round(flatness(result), 2) for part, result in sizes.items()},
            "most_mib": max(value["mib"] for result in sizes.values() for value in result.values()),
            "billion_a_day": a_billion(cost),
            "accuracy": accuracy(request.people),
        }
    )


if __name__ == "__main__":
    main()
