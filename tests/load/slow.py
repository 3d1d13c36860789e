"""Clients that take their time, against a running collector on this machine: each is bounded in number, bytes and time.

While they hold on, well-behaved clients must get their answers, each over a new connection, and memory stays bounded.
"""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from barrow.collect.card import Card
from barrow.local.report import Report
from tests.collect.world import admitted
from tests.load.services import Service
from tests.load.traffic import Connection

MIB = 2**20
ANSWER_SECONDS = 20.0
"""Within which each well-behaved client has its answer; it takes milliseconds."""
MOST_MIB = 160
"""By which the service may grow under any of these: twice what it says it holds, and room."""
_HEAD = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n"


def _open(port: int, stack: ExitStack) -> socket.socket:
    built = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS))
    built.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return built


def _say(made: socket.socket, *parts: bytes) -> int:
    """How many bytes went out before the service had enough."""
    sent = 0
    with suppress(OSError):
        for part in parts:
            made.sendall(part)
            sent += len(part)
    return sent


def silent(port: int, stack: ExitStack, number: int = 2000) -> None:
    """Connections that say nothing."""
    for _ in range(number):
        _open(port, stack)


def long_head(port: int, stack: ExitStack) -> None:
    """A header of 40 MiB; the service has enough long before its end."""
    sent = _say(_open(port, stack), b"GET /card HTTP/1.1\r\nHost: x\r\nX: ", *[b"x" * MIB] * 40)
    assert sent < 20 * MIB, "a header of any length is read"


def short_bodies(port: int, stack: ExitStack, number: int = 500) -> None:
    """Bodies of 1 MiB that lack their last byte."""
    for _ in range(number):
        _say(_open(port, stack), _HEAD % MIB + b"\r\n", b"x" * (MIB - 1))


def slow_heads(port: int, stack: ExitStack, number: int = 2100) -> None:
    """Heads that never end, a byte at a time."""
    links = [_open(port, stack) for _ in range(number)]
    for letter in b"GET /card HT":
        for link in links:
            _say(link, bytes([letter]))


def unread_answers(port: int, stack: ExitStack, number: int = 2100) -> None:
    """Requests by the hundred on each connection, whose answers nobody reads."""
    for _ in range(number):
        link = _open(port, stack)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        _say(link, b"GET /card HTTP/1.1\r\nHost: x\r\n\r\n" * 100)


def long_trailer(port: int, stack: ExitStack) -> None:
    """A body in chunks, behind which a header of 40 MiB follows."""
    head = b"POST /reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: "
    sent = _say(_open(port, stack), head, *[b"x" * MIB] * 40)
    assert sent < 20 * MIB, "a trailer of any length is read"


ATTACKS: dict[str, Callable[..., None]] = {
    "silent": silent, "long head": long_head, "short bodies": short_bodies, "slow heads": slow_heads,
    "unread answers": unread_answers, "long trailer": long_trailer,
}  # fmt: skip


def attack(service: Service, card: Card, name: str, *, clients: int = 20) -> dict:
    """How many of some clients were answered while all attackers still hold on, and how far memory grew."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    before, answered, longest, most = service.rss_mib(), 0, 0.0, 0.0
    with ExitStack() as stack:
        try:
            ATTACKS[name](service.port or 0, stack)
        except AssertionError as error:
            return {"problem": str(error), "survived": False}
        for number in range(clients):
            line = admitted(card, Report(card.survey.digest, f"{number:032x}", (0, 1)).to_text()).encode() + b"\n"
            began = time.perf_counter()
            with suppress(OSError, ValueError, IndexError):
                link = Connection(service.port or 0, "/reports", "application/x-ndjson", timeout=ANSWER_SECONDS)
                answered += link.post(line) == (200, {"lines": ["accepted"]})
                link.close()
            longest = max(longest, time.perf_counter() - began)
            most = max(most, service.rss_mib() - before)
            if longest > ANSWER_SECONDS:
                break
    survived = answered == clients and most <= MOST_MIB
    told = {"clients": clients, "answered": answered, "survived": survived}
    return {**told, "longest_ms": round(1000 * longest, 1), "grew_mib": round(most, 1)}
