"""A small HTTP client for loads: one connection, many requests, raw sockets."""

from __future__ import annotations

import json
import multiprocessing as mp
import os
import selectors
import socket
import time
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from barrow.collect.card import Card
from barrow.local.report import Report
from tests.collect.world import admitted

_PREPARED = 20_000


class Connection:
    """One connection that is kept open."""

    def __init__(self, port: int, path: str, kind: str, timeout: float = 30.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: ".encode()
        self._rest = b""

    def send(self, body: bytes) -> None:
        self.socket.sendall(self._head + str(len(body)).encode() + b"\r\n\r\n" + body)

    def receive(self) -> tuple[int, dict]:
        while b"\r\n\r\n" not in self._rest:
            self._more()
        head, _, rest = self._rest.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        self._rest = rest
        while len(self._rest) < length:
            self._more()
        body, self._rest = self._rest[:length], self._rest[length:]
        return int(head[9:12]), json.loads(body)

    def _more(self) -> None:
        some = self.socket.recv(1 << 16)
        if not some:
            raise ConnectionError("closed")
        self._rest += some

    def post(self, body: bytes) -> tuple[int, dict]:
        self.send(body)
        return self.receive()

    def close(self) -> None:
        self.socket.close()


def reports(card: Card, count: int) -> list[bytes]:
    """Lines that a client would send, with random ids; values without items behind them, let in by the front end."""
    ids = os.urandom(16 * count).hex()
    values = np.sort(np.random.default_rng().integers(0, 4, (count, 2)), axis=1).tolist()
    texts = [
        Report(card.survey.digest, ids[32 * i : 32 * i + 32], tuple(row)).to_text() for i, row in enumerate(values)
    ]
    return [admitted(card, text).encode() + b"\n" for text in texts]


def blast(port: int, card: Card, connections: int, batch: int, seconds: float, most: int) -> dict:
    """As many reports as the collector takes in some seconds, from a process of its own."""
    with mp.get_context("fork").Pool(1) as pool:
        return pool.apply(_blast, (port, card, connections, batch, seconds, most))


def _bodies(card: Card, batch: int) -> Iterator[bytes]:
    while True:
        lines = reports(card, max(batch, 50))
        for start in range(0, len(lines), batch):
            yield b"".join(lines[start : start + batch])


def _blast(port: int, card: Card, connections: int, batch: int, seconds: float, most: int) -> dict:
    links = [Connection(port, "/reports", "application/x-ndjson") for _ in range(connections)]
    chooser = selectors.DefaultSelector()
    # Signing takes the client longer than the service takes to store: what is sent at first is made before.
    bodies, begun, latencies = _bodies(card, batch), {}, []
    bodies = chain(list(islice(bodies, max(2 * connections, _PREPARED // batch))), bodies)
    taken = busy = 0
    start = time.perf_counter()
    for link in links:
        link.send(next(bodies))
        begun[link] = time.perf_counter()
        chooser.register(link.socket, selectors.EVENT_READ, link)
    while time.perf_counter() - start < seconds and taken < most:
        for key, _ in chooser.select():
            link = key.data
            status, answer = link.receive()
            now = time.perf_counter()
            latencies.append(now - begun[link])
            if status == 200:
                taken += answer["lines"].count("accepted")
            else:
                busy += 1
            link.send(next(bodies))
            begun[link] = time.perf_counter()
    for link in links:  # what is still under way is answered and counted, but not timed
        status, answer = link.receive()
        taken += answer["lines"].count("accepted") if status == 200 else 0
    spent = time.perf_counter() - start
    for link in links:
        link.close()
    milliseconds = np.sort(np.array(latencies)) * 1e3
    return {
        "per_second": taken / spent,
        "p50_ms": float(np.quantile(milliseconds, 0.5)),
        "p99_ms": float(np.quantile(milliseconds, 0.99)),
        "taken": taken,
        "busy": busy,
    }
