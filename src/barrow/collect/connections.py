"""HTTP/1.1 for the services: one request at a time, small heads, bodies of a stated length, a time for each part."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Protocol, cast

import httptools

from barrow.collect.web import MOST_BYTES, Handler, HttpRequest, Reply, Service, reply
from barrow.errors import ParameterError


@dataclass(frozen=True)
class Limits:
    """What clients may take of a service.

    Attributes:
        connections: How many at a time.
        of_one: How many of them from one address; 0 for no limit.
        head: Bytes of the first line and headers.
        body: Bytes of a body.
        held: Bytes of all bodies and answers that are held at a time.
        head_seconds: How long the head may take, from the connection or the first byte.
        body_seconds: How long the body may take.
        answer_seconds: How long an answer may be left unread.
        idle_seconds: How long a connection is kept for another request.
        leave_seconds: How long somebody who was refused may take to notice.
    """

    connections: int = 1000
    of_one: int = 0
    head: int = 2**14
    body: int = MOST_BYTES
    held: int = 2**26
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    answer_seconds: float = 30.0
    idle_seconds: float = 15.0
    leave_seconds: float = 2.0


def network_of(address: str) -> str:
    """What counts as one address: an IPv6 customer has a whole /64.

    >>> network_of("203.0.113.7"), network_of("2001:db8::1:2") == network_of("2001:db8::3")
    ('203.0.113.7', True)
    """
    try:
        result = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(result) if result.version == 4 else str(int(result) >> 64)


class Guest(Protocol):
    """A connection, as far as the room knows it."""

    address: str
    held: int

    def drop(self, why: str) -> None:
        """Send them away without a word."""
        ...


class Room:
    """Who is connected, and how much is held for them; where it is full, who was waited for longest goes."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service, self.limits = service, limits
        self.inside: set[Guest] = set()
        self.waiting: dict[Guest, None] = {}
        self._of: dict[str, int] = {}
        self._held = 0
        self.stopping = False

    def enter(self, guest: Guest) -> bool:
        """Let a connection in, if need be in the place of another; whether there is a place."""
        most, here = self.limits.of_one, guest.address
        if most and self._of.get(here, 0) >= most and not self._drop("crowd", lambda other: other.address == here):
            return False
        if len(self.inside) >= self.limits.connections and not self._drop("full", lambda other: True):
            return False
        self.inside.add(guest)
        self._of[here] = self._of.get(here, 0) + 1
        return True

    def leave(self, guest: Guest) -> None:
        """Forget a connection."""
        self.waiting.pop(guest, None)
        if guest in self.inside:
            self.inside.discard(guest)
            self._of[guest.address] -= 1
            if not self._of[guest.address]:
                del self._of[guest.address]

    def wait(self, guest: Guest, *, now: bool = True) -> None:
        """From now on, or no longer, it is the other side that takes its time."""
        self.waiting.pop(guest, None)
        if now:
            self.waiting[guest] = None

    def hold(self, guest: Guest, size: int) -> bool:
        """Whether this many more bytes may be held, if need be in the place of others."""
        while self._held + size > self.limits.held:
            if not self._drop("memory", lambda other: other.held > 0 and other is not guest):
                return False
        guest.held += size
        self._held += size
        return True

    def let_go(self, guest: Guest) -> None:
        """Nothing is held for a connection any more."""
        self._held -= guest.held
        guest.held = 0

    def _drop(self, why: str, which: Callable[[Guest], bool]) -> bool:
        slow = next(filter(which, self.waiting), None)
        if slow is not None:
            slow.drop(why)
        return slow is not None

    def close(self) -> None:
        """Keep nobody any longer; who is being answered gets the answer."""
        self.stopping = True
        for guest in list(self.waiting):
            guest.drop("stopped")


_BACKLOG = 512
_SPARE_FILES = _BACKLOG + 128
"""Files that a process needs beside its connections: those that wait to be looked at, stores, batches."""


class Connection(asyncio.Protocol):
    """One connection; its state says whose turn it is."""

    def __init__(self, room: Room) -> None:
        self._room, self._limits, self._service = room, room.limits, room.service
        self._parser: Any = httptools.HttpRequestParser(self)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._state = "head"
        self._again = False
        self.address, self.held = "", 0
        self._begin()

    def _begin(self) -> None:
        self._head_bytes, self._left = 0, 0
        self._url, self._headers = b"", dict[bytes, bytes]()
        self._body = bytearray()
        self._result: Handler | Reply = reply({})

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody came."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=0)  # resume_writing says that everything is on its way
        peer = transport.get_extra_info("peername")
        self.address = network_of(peer[0]) if isinstance(peer, tuple) else ""
        if self._room.enter(self):
            self._await("head", self._limits.head_seconds)
        else:
            self._state = "gone"
            self._service.dropped["busy"] += 1
            self._transport.write(_written(reply({"problem": "busy"}, 503, retry_after="1"), "GET", again=False))
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """They went, or were sent away; what they asked for is done all the same, and keeps their place until then."""
        self._state = "gone"
        self._begin()
        self._stop_timer()
        if self._task is None:
            self._room.leave(self)
            self._room.let_go(self)

    def _await(self, state: str, seconds: float) -> None:
        """Now it is the other side that may take so long."""
        self._state = state
        self._stop_timer()
        self._timer = self._loop.call_later(seconds, self._late)
        self._room.wait(self)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        if self._state in ("body", "head") and self._head_bytes:
            self._service.dropped["slow"] += 1
            self._refuse(408, "too slow")
        else:
            self.drop("unread" if self._state == "sending" else "silent")

    def drop(self, why: str) -> None:
        """Send them away without a word."""
        if self._state not in ("idle", "leaving"):  # which end in this way every day
            self._service.dropped[why] += 1
        self._state = "gone"
        self._begin()  # the body goes now, and not when somebody finds that nobody needs this object
        self._room.leave(self)
        self._room.let_go(self)
        self._transport.abort()

    def _refuse(self, status: int, problem: str) -> None:
        """Say why; what they still send is thrown away for a moment, so that the answer arrives."""
        self._room.let_go(self)
        self._begin()
        self._left = 2 * self._limits.body
        self._transport.write(_written(reply({"problem": problem}, status), "GET", again=False))
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._await("leaving", self._limits.leave_seconds)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._state == "idle":
            self._await("head", self._limits.head_seconds)
        if self._state == "leaving":
            self._left -= len(data)
            if self._left < 0:
                self.drop("leaving")
            return
        try:
            while data and self._state in ("head", "body"):
                most = self._limits.head - self._head_bytes if self._state == "head" else len(data)
                if not most:
                    self._refuse(431, f"at most {self._limits.head} bytes before the body")
                    return
                if self._state == "head":
                    self._head_bytes += min(most, len(data))
                self._parser.feed_data(data[:most])
                data = data[most:]
            self._again = self._again and not data
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if self._state in ("head", "body"):
                self._refuse(400, "malformed")

    def on_message_begin(self) -> None:
        """What comes before an answer is left unread, and the connection ends with the answer."""
        self._again = self._state == "head"

    def on_url(self, url: bytes) -> None:
        """A part of the address."""
        if self._state == "head":
            self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        if self._state == "head":
            self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """The body may come; whether it is wanted is known now."""
        if self._state != "head":
            return
        self._again = self._again and bool(self._parser.should_keep_alive())
        length = self._headers.get(b"content-length", b"0")
        if self._parser.should_upgrade():
            self._refuse(400, "HTTP/1.1 and nothing else")
            return
        if b"transfer-encoding" in self._headers:
            self._refuse(411, "a body with its Content-Length")
            return
        if not length.isdigit() or len(length) > 9 or int(length) > self._limits.body:
            self._refuse(413, f"at most {self._limits.body} bytes")
            return
        self._left = int(length)
        self._method = self._parser.get_method().decode("ascii")
        request = HttpRequest(self._method, _path(self._url), self.address, self._headers.get(b"authorization", b""))
        self._result = self._service.find(request)
        if self._left and self._headers.get(b"expect", b"").lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._await("body", self._limits.body_seconds)

    def on_body(self, body: bytes) -> None:
        """A part of the body; kept only where it is wanted."""
        if self._state != "body" or isinstance(self._result, Reply):
            return
        if self._room.hold(self, len(body)):
            self._body += body
        else:
            self._service.dropped["busy"] += 1
            self._refuse(503, "busy")

    def on_message_complete(self) -> None:
        """Now it is our turn."""
        if self._state != "body":
            return
        self._state = "answering"
        self._stop_timer()
        self._room.wait(self, now=False)
        self._transport.pause_reading()
        if isinstance(self._result, Reply):
            self._loop.call_soon(self._send, self._result)  # not inside the parser
        else:
            self._task = self._loop.create_task(self._answered(self._result, bytes(self._body)))
            self._body = bytearray()

    async def _answered(self, handler: Handler, body: bytes) -> None:
        answer = await self._service.answer(handler, body)
        self._task = None
        self._room.let_go(self)
        if self._state == "gone":
            self._room.leave(self)
        self._send(answer)

    def _send(self, answer: Reply) -> None:
        if self._state != "answering":
            return
        self._again = self._again and not self._room.stopping
        text = _written(answer, self._method, again=self._again)
        if not self._room.hold(self, len(text)):
            self.drop("busy")
            return
        self._await("sending", self._limits.answer_seconds)
        self._transport.write(text)
        if self._state == "sending" and not self._transport.get_write_buffer_size():
            self._sent()

    def resume_writing(self) -> None:
        """Everything is on its way."""
        if self._state == "sending":
            self._sent()

    def _sent(self) -> None:
        self._room.let_go(self)
        if not self._again:
            self._await("leaving", self._limits.leave_seconds)
            self._transport.close()
            return
        self._begin()
        self._await("idle", self._limits.idle_seconds)
        self._transport.resume_reading()


def serve(
    service: Service, *, host: str, port: int, limits: Limits, ready: Callable[[str], None] = lambda address: None
) -> None:
    """Serve until the process is told to stop (SIGTERM, SIGINT); requests under way are answered first."""
    try:
        import uvloop

        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    except ImportError:  # there is none for Windows
        runner = asyncio.Runner()
    with runner:
        runner.run(_serving(service, host, port, limits, ready))


async def _serving(service: Service, host: str, port: int, limits: Limits, ready: Callable[[str], None]) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # another system, or not the main thread
            loop.add_signal_handler(name, stop.set)
    room = Room(service, replace(limits, connections=min(limits.connections, _files() - _SPARE_FILES)))
    try:
        server = await loop.create_server(lambda: Connection(room), host, port, backlog=_BACKLOG)
    except OSError as error:
        raise ParameterError(
            f"Nothing can listen at {host}:{port}: {error.strerror}.",
            allowed="an address of this machine that is free",
            fix="--port with another number",
        ) from None
    service.room, service.stop = room, lambda: loop.call_soon_threadsafe(stop.set)
    ready(f"http://{host}:{server.sockets[0].getsockname()[1]}")
    await stop.wait()
    server.close()
    room.close()
    until = loop.time() + limits.answer_seconds
    while room.inside and loop.time() < until:
        await asyncio.sleep(0.01)


def _files() -> int:
    """How many files this process may have open, raised as far as it may be."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 2**16
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 2**16 if hard == resource.RLIM_INFINITY else min(hard, 2**16)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(resource.getrlimit(resource.RLIMIT_NOFILE)[0], _SPARE_FILES + 16)


def _path(url: bytes) -> str:
    """The path; routes are plain, so nothing is decoded."""
    return url.partition(b"?")[0].decode("latin-1")


def _written(answer: Reply, method: str, *, again: bool) -> bytes:
    ending = b"" if again else b"connection: close\r\n"
    head = b"HTTP/1.1 %d %s\r\n" % (answer.status, HTTPStatus(answer.status).phrase.encode())
    rows = b"".join(b"%s: %s\r\n" % row for row in answer.headers)
    length = b"content-length: %d\r\n\r\n" % len(answer.body)
    return head + rows + ending + length + (b"" if method == "HEAD" else answer.body)
