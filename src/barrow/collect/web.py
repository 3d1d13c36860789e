"""What both services share: bodies of limited size, limited rates without addresses, answers in JSON, no logs."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from barrow.collect.commits import BusyError
from barrow.collect.stores import StoreError
from barrow.errors import BarrowError, MissingExtraError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

Handler = Callable[[Any], Awaitable[Any]]
MOST_BYTES = 2**20
MOST_LINES = 1000
_MINUTE = 60.0


class RefusedError(BarrowError):
    """A request that is answered with a status and a constant text.

    >>> RefusedError(413, "too large").status
    413
    """

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class Rates:
    """How many requests one address may make in a minute; it keeps no address.

    Addresses are hashed under a key that is drawn anew each minute and never written; then all counts are forgotten.

    Args:
        most: Requests a minute; 0 for no limit.

    >>> rates = Rates(2)
    >>> [rates.allow("10.0.0.1") for _ in range(3)], rates.allow("10.0.0.2")
    ([True, True, False], True)
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


async def body_of(request: Request, most: int = MOST_BYTES) -> bytes:
    """The body, refused as soon as it is larger than ``most``."""
    said = request.headers.get("content-length", "0")
    if not said.isdigit() or int(said) > most:
        raise RefusedError(413, f"at most {most} bytes")
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > most:
            raise RefusedError(413, f"at most {most} bytes")
    return bytes(found)


def answered(rates: Rates, handler: Handler) -> Handler:
    """The handler with its errors as answers; texts are constant and repeat nothing of what was sent."""
    from starlette.requests import ClientDisconnect

    async def handle(request: Request) -> Response:
        address = request.client.host if request.client else ""
        if not rates.allow(address):
            return reply({"problem": "too many requests"}, 429, {"Retry-After": "60"})
        try:
            found: Response = await handler(request)
            return found
        except RefusedError as error:
            return reply({"problem": error.problem}, error.status)
        except BusyError:
            return reply({"problem": "busy"}, 429, {"Retry-After": "1"})
        except StoreError:
            return reply({"problem": "it cannot be stored now"}, 507, {"Retry-After": "60"})
        except ClientDisconnect:
            return reply({"problem": "gone"}, 400)

    return handle


def reply(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON that nobody may cache.

    >>> reply({"a": 1}).body
    b'{"a":1}'
    """
    from starlette.responses import Response as Plain

    plain = {"Cache-Control": "no-store", "Access-Control-Allow-Origin": "*", **(headers or {})}
    body = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()
    return Plain(body, status_code=status, media_type="application/json", headers=plain)


def service(routes: dict[tuple[str, str], Handler], *, rate: int = 0) -> Any:
    """An application of these routes, by method and path; browsers of other origins may post."""
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ImportError:
        raise MissingExtraError.for_extra("starlette", extra="collect", purpose="Collecting") from None
    rates = Rates(rate)

    async def preflight(_: Request) -> Response:
        allowed = {"Access-Control-Allow-Methods": "GET, POST", "Access-Control-Allow-Headers": "Content-Type"}
        return reply({}, 200, {**allowed, "Access-Control-Max-Age": "86400"})

    async def missing(_: Request, __: Exception) -> Response:
        return reply({"problem": "there is nothing here"}, 404)

    async def failed(_: Request, __: Exception) -> Response:
        return reply({"problem": "something went wrong"}, 500)

    made = [Route(path, answered(rates, handler), methods=[method]) for (method, path), handler in routes.items()]
    paths = {path for _, path in routes}
    made += [Route(path, preflight, methods=["OPTIONS"]) for path in sorted(paths)]
    return Starlette(routes=made, exception_handlers={404: missing, 405: missing, 500: failed})


def run(app: Any, *, host: str, port: int, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until it is stopped; nothing about requests is logged."""
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError.for_extra("uvicorn", extra="collect", purpose="Collecting") from None
    settings = uvicorn.Config(
        app, host=host, port=port, access_log=False, log_level="critical", server_header=False, date_header=False,
        proxy_headers=False, timeout_keep_alive=15, limit_concurrency=2000, backlog=512,
    )  # fmt: skip
    server = uvicorn.Server(settings)
    ready(f"http://{host}:{port}")
    server.run()
