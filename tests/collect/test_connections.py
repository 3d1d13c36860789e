"""HTTP of the services over real connections: limits, times, one request at a time, and who goes where it is full.

No test waits for a time to pass without an event: a limit of seconds is made small, and the end of the connection is
what is waited for.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading

import pytest

from barrow.collect.connections import Limits, Room, network_of, serve
from barrow.collect.web import Reply, Service, constant, reply
from barrow.errors import ParameterError
from tests.collect.asking import served

WAIT = 30.0


async def _echo(body: bytes) -> Reply:
    return reply({"bytes": len(body)})


def service() -> Service:
    return Service({("POST", "/echo"): _echo, ("GET", "/card"): constant(reply({"card": 1}))})


class Line:
    """One connection, spoken to in bytes."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("http://").partition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=WAIT)
        self.rest = b""

    def say(self, data: bytes) -> Line:
        self.socket.sendall(data)
        return self

    def hear(self) -> tuple[int, dict[str, str], bytes]:
        while b"\r\n\r\n" not in self.rest:
            self._more()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        first, *rows = head.decode().split("\r\n")
        headers = dict(row.split(": ", 1) for row in rows)
        while len(self.rest) < int(headers.get("content-length", 0)):
            self._more()
        size = int(headers.get("content-length", 0))
        body, self.rest = self.rest[:size], self.rest[size:]
        return int(first.split()[1]), headers, body

    def _more(self) -> None:
        some = self.socket.recv(2**16)
        if not some:
            raise ConnectionError("closed")
        self.rest += some

    def ended(self) -> bool:
        """Wait until the other side ends it."""
        try:
            while self.socket.recv(2**16):
                pass
        except ConnectionError:
            pass
        self.socket.close()
        return True


def post(body: bytes, *more: bytes) -> bytes:
    head = [b"POST /echo HTTP/1.1", b"Host: x", b"Content-Length: %d" % len(body), *more]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


@pytest.fixture
def address():
    with served(service(), head=2000, body=5000) as result:
        yield result


@pytest.fixture
def call():
    """Makes connections, and closes them in the end."""
    lines: list[Line] = []

    def dial(address: str) -> Line:
        lines.append(Line(address))
        return lines[-1]

    yield dial
    for line in lines:
        line.socket.close()


@pytest.fixture
def line(address, call):
    return call(address)


def test_requests_follow_each_other_on_one_connection(line):
    for size in (0, 1, 5000):
        assert line.say(post(b"x" * size)).hear()[2] == b'{"bytes":%d}' % size
    line.say(b"HEAD /card HTTP/1.1\r\nHost: x\r\n\r\n")
    while b"\r\n\r\n" not in line.rest:
        line._more()
    assert line.rest.startswith(b"HTTP/1.1 200 OK")
    assert b"content-length: 10" in line.rest
    assert line.rest.endswith(b"\r\n\r\n")
    line.rest = b""
    assert (
        line.say(b"OPTIONS /echo HTTP/1.1\r\nHost: x\r\n\r\n").hear()[1]["access-control-allow-methods"] == "GET, POST"
    )
    status, _, body = line.say(b"GET /none?x=%41 HTTP/1.1\r\nHost: x\r\n\r\n").hear()
    assert (status, json.loads(body)) == (404, {"problem": "there is nothing here"})
    assert line.say(b"GET /card?x HTTP/1.1\r\nConnection: close\r\n\r\n").hear()[1]["connection"] == "close"
    assert line.ended()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /card HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 400),
        (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 411),
        (b"POST /echo HTTP/1.1\r\nContent-Length: 5001\r\n\r\n" + b"x" * 5001, 413),
        (b"POST /echo HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400),
        (b"GET /" + b"x" * 2500, 431),
        (b"GET /card HTTP/1.1\r\n" + b"a: b\r\n" * 400, 431),
    ],
)
def test_what_is_refused_is_told_why_and_ends(line, sent, status):
    result, headers, body = line.say(sent).hear()
    assert (result, headers["connection"]) == (status, "close")
    assert list(json.loads(body)) == ["problem"]
    assert line.ended()


def test_a_head_of_the_largest_size_and_a_body_behind_it(line):
    """The limit is of the head alone: what is read together with it is not counted."""
    head = b"POST /echo HTTP/1.1\r\nContent-Length: 4000\r\nx: "
    line.say(head + b"y" * (2000 - len(head) - 4) + b"\r\n\r\n" + b"x" * 4000)
    assert line.hear()[2] == b'{"bytes":4000}'


def test_a_request_that_does_not_wait_for_the_answer_ends_the_connection(line):
    assert line.say(post(b"first") + post(b"second")).hear()[2] == b'{"bytes":5}'
    assert line.ended()


def test_who_asks_whether_to_go_on_is_told(line):
    line.say(b"POST /echo HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
    assert line.hear()[0] == 100
    assert line.say(b"abc").hear()[2] == b'{"bytes":3}'


@pytest.mark.parametrize(
    ("sent", "answer", "why"),
    [
        (b"", None, "silent"),
        (b"GET /ca", 408, "slow"),
        (b"POST /echo HTTP/1.1\r\nContent-Length: 100\r\n\r\n" + b"x" * 99, 408, "slow"),
    ],
)
def test_who_takes_too_long_goes(sent, answer, why, call):
    app = service()
    with served(app, head_seconds=0.2, body_seconds=0.2, leave_seconds=0.2) as result:
        line = call(result).say(sent)
        if answer is not None:
            assert line.hear()[0] == answer
        assert line.ended()
    assert app.dropped == {why: 1}


def test_a_kept_connection_and_an_unread_answer_end(call):
    app = Service({("GET", "/large"): constant(Reply(bytes(2**24)))})
    with served(app, idle_seconds=0.2, answer_seconds=0.2) as result:
        line = call(result)
        line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.say(b"GET /large HTTP/1.1\r\n\r\n")
        while not app.dropped:  # nobody reads; the answer does not fit into what the system holds
            threading.Event().wait(0.01)
        assert app.dropped == {"unread": 1}
        line.socket.close()
        subset = call(result)
        assert subset.say(b"GET /none HTTP/1.1\r\n\r\n").hear()[0] == 404
        assert subset.ended()
    assert app.dropped == {"unread": 1}  # that a kept connection ends is no event


@pytest.mark.parametrize(("limits", "why"), [({"of_one": 3}, "crowd"), ({"connections": 3}, "full")])
def test_where_it_is_full_the_one_that_waits_longest_goes(limits, why, call):
    app = service()
    with served(app, **limits) as result:
        lines = [call(result) for _ in range(2)]
        asking = call(result)
        assert asking.say(post(b"1")).hear()[0] == 200  # it came last, and now waits least
        newest = call(result)
        assert lines[0].ended()
        assert newest.say(post(b"2")).hear()[0] == 200
        assert asking.say(post(b"3")).hear()[0] == 200
        assert lines[1].say(post(b"4")).hear()[0] == 200
        assert app.dropped == {why: 1}


def test_whose_answer_is_being_made_keeps_the_place(call):
    """Two are being answered and there is no third place: the third is told to come again."""
    began, go_on = threading.Semaphore(0), threading.Event()

    async def slow(body: bytes) -> Reply:
        began.release()
        await asyncio.to_thread(go_on.wait, WAIT)
        return reply({})

    with served(Service({("POST", "/echo"): slow}), connections=2) as result:
        lines = [call(result).say(post(b"x")) for _ in range(2)]
        assert all(began.acquire(timeout=WAIT) for _ in lines)
        assert call(result).hear()[0] == 503
        lines.pop().socket.close()  # who leaves before the answer keeps the place until the work is done
        assert call(result).hear()[0] == 503
        go_on.set()
        assert lines[0].hear()[0] == 200


def test_memory_is_bounded_and_the_slowest_gives_it_back(call):
    app = service()
    with served(app, body=1000, held=2500) as result:
        short = [
            call(result).say(b"POST /echo HTTP/1.1\r\nContent-Length: 1000\r\n\r\n" + b"x" * 999) for _ in range(2)
        ]
        quiet = call(result)
        while sum(guest.held for guest in app.room.inside) < 2 * 999:
            threading.Event().wait(0.01)
        assert call(result).say(post(b"y" * 900)).hear()[0] == 200
        assert short[0].ended()
        assert short[1].say(b"x").hear()[2] == b'{"bytes":1000}'
        assert quiet.say(post(b"")).hear()[0] == 200  # it held nothing, and was not asked to go
        assert app.dropped == {"memory": 1}


def test_one_that_would_fill_all_memory_is_told_so(call):
    with served(service(), body=1000, held=500) as result:
        assert call(result).say(post(b"y" * 900)).hear()[0] == 503


def test_addresses():
    assert network_of("::ffff:203.0.113.7") != network_of("2001:db8::1")
    assert network_of("2001:db8:0:1::1") != network_of("2001:db8:0:2::1")
    assert network_of("fe80::1%eth0") == network_of("fe80::2")
    assert network_of("unix") == "unix"


def test_the_room_forgets_addresses():
    class One:
        address, held = "a", 0

    room = Room(service(), Limits())
    one, two = One(), One()
    assert room.enter(one)
    assert room.enter(two)
    for each in (one, two, two):
        room.leave(each)
    assert room._of == {}


def test_an_address_that_is_taken():
    with served(service()) as result, pytest.raises(ParameterError, match="Nothing can listen"):
        serve(service(), host="127.0.0.1", port=int(result.rpartition(":")[2]), limits=Limits())
