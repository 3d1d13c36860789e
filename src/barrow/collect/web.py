"""What the services share: limited bodies, rates without addresses, answers in JSON, commits in groups, no logs."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from barrow.collect.stores import StoreError
from barrow.errors import BarrowError, MissingExtraError

Row = TypeVar("Row")
Handler = Callable[[bytes], Awaitable["Answer"]]
"""From a request's body to an answer."""
MOST_BYTES = 2**20
MOST_LINES = 1000
MOST_WAITING = 20_000
"""Rows that may wait for a commit; beyond it the service says that it is busy."""
MOST_TOGETHER = 5_000
_MINUTE = 60.0


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
            raise BusyError("Too much waits to be stored.", allowed="a little later", fix="send again")
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


class Answer(NamedTuple):
    """What a service answers.

    Attributes:
        body: The bytes.
        status: The status.
        headers: Names and values, as they are sent.
    """

    body: bytes
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


def reply(data: Any, status: int = 200, **headers: str) -> Answer:
    """JSON that nobody may cache."""
    more = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    return Answer(msgspec.json.encode(data), status, _JSON + more)


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


class Service:
    """An application (ASGI) of some routes, by method and path; browsers of other origins may post.

    Every answer to something that went wrong is a constant text that repeats nothing of what was sent.
    """

    def __init__(self, routes: Mapping[tuple[str, str], Handler], *, rate: int = 0) -> None:
        self._routes, self._rates = dict(routes), Rates(rate)
        self._paths = {path for _, path in routes}

    async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        body, status, headers = await self._answer(scope, receive)
        named = [*headers, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": named})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, scope: Mapping[str, Any], receive: Any) -> Answer:
        method, path = scope["method"], scope["path"]
        handler = self._routes.get(("GET" if method == "HEAD" else method, path))
        if handler is None:
            if method == "OPTIONS" and path in self._paths:
                return reply({}, 200, **_PREFLIGHT)
            return reply({"problem": "there is nothing here"}, 404)
        client = scope.get("client")
        if not self._rates.allow(client[0] if client else ""):
            return reply({"problem": "too many requests"}, 429, retry_after="60")
        try:
            return await handler(await _body(scope, receive))
        except RefusedError as error:
            return reply({"problem": error.problem}, error.status)
        except BusyError:
            return reply({"problem": "busy"}, 429, retry_after="1")
        except StoreError:
            return reply({"problem": "it cannot be stored now"}, 507, retry_after="60")
        except Exception:
            return reply({"problem": "something went wrong"}, 500)


async def _body(scope: Mapping[str, Any], receive: Any, most: int = MOST_BYTES) -> bytes:
    """The body, refused as soon as it is larger than ``most``."""
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value) > most):
            raise RefusedError(413, f"at most {most} bytes")
    message = await receive()
    if not message.get("more_body") and message["type"] == "http.request":
        found = message.get("body", b"")
    else:
        parts = bytearray()
        while message["type"] == "http.request":
            parts += message.get("body", b"")
            if not message.get("more_body") or len(parts) > most:
                break
            message = await receive()
        else:
            raise RefusedError(400, "gone")
        found = bytes(parts)
    if len(found) > most:
        raise RefusedError(413, f"at most {most} bytes")
    return bytes(found)


def run(app: Any, *, host: str, port: int, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until it is stopped; nothing about requests is logged."""
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError.for_extra("uvicorn", extra="collect", purpose="Collecting") from None
    settings = uvicorn.Config(
        app, host=host, port=port, access_log=False, log_level="critical", server_header=False, date_header=False,
        proxy_headers=False, lifespan="off", timeout_keep_alive=15, limit_concurrency=2000, backlog=512,
    )  # fmt: skip
    server = uvicorn.Server(settings)
    ready(f"http://{host}:{port}")
    server.run()
