"""What the services share: routes, rates without addresses, answers in JSON, commits in groups."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from barrow.collect.operating import Troubles, metrics_text
from barrow.collect.stores import StoreError
from barrow.errors import BarrowError, MissingExtraError

Row = TypeVar("Row")
Outcome = TypeVar("Outcome")
Handler = Callable[[bytes], Awaitable["Reply"]]
"""From a request's body to an answer."""
Counts = Callable[[], Awaitable[Mapping[str, Any]]]
"""What a service knows about itself: numbers, or numbers by reason."""
MOST_BYTES = 2**20
MOST_LINES = 1000
MOST_WAITING = 20_000
"""Rows that may wait for a commit; beyond it the service says that it is busy."""
MOST_TOGETHER = 5_000
_MINUTE = 60.0
_HEALTH_SECONDS = 1.0


class RefusedError(BarrowError):
    """A request that is answered with a status and a constant text."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class BusyError(BarrowError):
    """More waits than should; come again later."""


class GroupCommit(Generic[Row]):
    """Whatever arrives while one commit runs goes into the next one, and is answered when it is durable.

    ``store`` stores rows in one durable step and returns one result for each.
    """

    def __init__(self, store: Callable[[list[Row]], Sequence[Any]], *, most_waiting: int = MOST_WAITING) -> None:
        self._store, self._most = store, most_waiting
        self._waiting: list[tuple[list[Row], asyncio.Future[list[Any]]]] = []
        self._rows = 0
        self._running: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self.lock = threading.Lock()

    async def add(self, rows: list[Row]) -> list[Any]:
        """Results of these rows, once they are durable."""
        if self._rows + len(rows) > self._most:
            raise BusyError("Too many reports wait to be stored.", allowed="a little later", fix="send again")
        done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append((rows, done))
        self._rows += len(rows)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await done

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            some: list[tuple[list[Row], asyncio.Future[list[Any]]]] = []
            size = 0
            while self._waiting and (not some or size + len(self._waiting[0][0]) <= MOST_TOGETHER):
                some.append(self._waiting.pop(0))
                size += len(some[-1][0])
            try:
                results = await loop.run_in_executor(
                    self._thread, self._stored, [row for rows, _ in some for row in rows]
                )
            except Exception as error:
                for _, done in some:
                    if not done.done():
                        done.set_exception(error)
            else:
                start = 0
                for rows, done in some:
                    if not done.done():
                        done.set_result(list(results[start : start + len(rows)]))
                    start += len(rows)
            finally:
                self._rows -= size

    async def alone(self, work: Callable[[], Outcome]) -> Outcome:
        """The result of some work on the same store, between commits."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._locked, work)

    def _locked(self, work: Callable[[], Outcome]) -> Outcome:
        with self.lock:
            return work()

    def _stored(self, rows: list[Row]) -> Sequence[Any]:
        with self.lock:
            return self._store(rows)


class Rates:
    """How many requests one address may make in a minute, 0 for no limit; it keeps no address.

    Addresses are hashed under a key that is drawn anew each minute and never written; then all counts are forgotten.
    """

    def __init__(self, most: int) -> None:
        self._most, self._until = most, 0.0
        self._key, self._seen = b"", dict[bytes, int]()

    def allow(self, address: str) -> bool:
        """Count a request, and whether it may go on."""
        if not self._most:
            return True
        now = time.monotonic()
        if now >= self._until:
            self._key, self._seen, self._until = os.urandom(32), {}, now + _MINUTE
        name = hashlib.blake2b(address.encode(), key=self._key, digest_size=16).digest()
        count = self._seen.get(name, 0) + 1
        if count <= self._most:
            self._seen[name] = count
        return count <= self._most


class Reply(NamedTuple):
    """What a service answers.

    Attributes:
        body: The bytes.
        status: The status.
        headers: Names and values, as they are sent.
    """

    body: bytes
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


def reply(data: Any, status: int = 200, **headers: str) -> Reply:
    """JSON that nobody may cache."""
    more = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    return Reply(msgspec.json.encode(data), status, _JSON + more)


def constant(answer: Reply) -> Handler:
    """Whoever asks gets this."""

    async def give(_: bytes) -> Reply:
        return answer

    return give


class Health:
    """Whether a check passes; asked again within a second, or while it runs, it is not made again."""

    def __init__(self, check: Callable[[], Awaitable[None]]) -> None:
        self._check, self._until = check, 0.0
        self._running: asyncio.Task[None] | None = None

    async def answer(self, _: bytes) -> Reply:
        """That all is well, or what the check raised."""
        if self._running is None or (self._running.done() and time.monotonic() >= self._until):
            self._running = asyncio.create_task(self._checked())
        await asyncio.shield(self._running)
        return reply({"ok": True})

    async def _checked(self) -> None:
        try:
            await self._check()
        finally:
            self._until = time.monotonic() + _HEALTH_SECONDS


_JSON = (
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"access-control-allow-origin", b"*"),
)
_PREFLIGHT = {
    "access_control_allow_methods": "GET, POST",
    "access_control_allow_headers": "Content-Type",
    "access_control_max_age": "86400",
}


class HttpRequest(NamedTuple):
    """What a request asks for, before its body.

    Attributes:
        method: GET, POST, HEAD or OPTIONS.
        path: The path.
        address: Who asks, as far as rates are concerned.
        authorization: The header of that name.
    """

    method: str
    path: str
    address: str = ""
    authorization: bytes = b""


class Service:
    """Some routes, by method and path; browsers of other origins may post.

    Every answer to something that went wrong is a constant text that repeats nothing of what was sent.

    Args:
        routes: What anybody may ask.
        status: What the operator may ask, at ``/status`` in JSON and at ``/metrics`` in hundreds.
        operator: The operator's secret; without it nobody may.
        rate: Requests a minute from one address; 0 for no limit.
    """

    def __init__(
        self, routes: Mapping[tuple[str, str], Handler], *, status: Counts | None = None, operator: str | None = None,
        rate: int = 0,
    ) -> None:  # fmt: skip
        self._routes, self._rates, self.rate = dict(routes), Rates(rate), rate
        self._paths = {path for _, path in routes}
        self._operator = None if operator is None else f"Bearer {operator}".encode()
        self.dropped: Counter[str] = Counter()
        self.troubles = Troubles()
        self.room: Any = None  # and ``stop``, of whoever serves it
        self.stop: Callable[[], Any] = lambda: None
        self._status, self._private = status, dict[tuple[str, str], Handler]()
        if status is not None and operator is not None:
            self._private = {("GET", "/status"): self._give_status, ("GET", "/metrics"): self._give_metrics}

    def find(self, request: HttpRequest) -> Handler | Reply:
        """Who answers this, or the answer where no body is wanted."""
        route = ("GET" if request.method == "HEAD" else request.method, request.path)
        if not self._rates.allow(request.address):
            return reply({"problem": "too many requests"}, 429, retry_after="60")
        if route in self._private:
            if hmac.compare_digest(request.authorization, self._operator or b""):
                return self._private[route]
            return reply({"problem": "for the operator only"}, 401, www_authenticate="Bearer")
        if route in self._routes:
            return self._routes[route]
        if request.method == "OPTIONS" and request.path in self._paths:
            return reply({}, 200, **_PREFLIGHT)
        return reply({"problem": "there is nothing here"}, 404)

    async def answer(self, handler: Handler, body: bytes) -> Reply:
        """What a handler says, or in constant words what went wrong."""
        try:
            return await handler(body)
        except RefusedError as error:
            return reply({"problem": error.problem}, error.status)
        except BusyError:
            return reply({"problem": "busy"}, 429, retry_after="1")
        except StoreError as error:
            self.troubles.note(error)
            return reply({"problem": "it cannot be stored now"}, 507, retry_after="60")
        except Exception as error:
            self.troubles.note(error)
            return reply({"problem": "something went wrong"}, 500)

    async def _give_status(self, _: bytes) -> Reply:
        told = {} if self._status is None else await self._status()
        return reply({**told, "dropped": self.dropped, "errors": self.troubles.number})

    async def _give_metrics(self, _: bytes) -> Reply:
        told = {} if self._status is None else await self._status()
        text = metrics_text({**told, "dropped": self.dropped, "errors": self.troubles.number})
        return Reply(text.encode(), 200, ((b"content-type", b"text/plain; version=0.0.4"), _JSON[1]))


def run(
    service: Service, *, host: str, port: int, ready: Callable[[str], None] = lambda address: None, of_one: int = 64
) -> None:
    """Serve until it is stopped; nothing about requests is logged.

    Where requests are not limited by address (``rate`` 0, behind a proxy), connections are not either.
    """
    try:
        from barrow.collect.connections import Limits, serve
    except ImportError:
        raise MissingExtraError.for_extra("httptools", extra="collect", purpose="Collecting") from None
    serve(service, host=host, port=port, ready=ready, limits=Limits(of_one=of_one if service.rate else 0))
