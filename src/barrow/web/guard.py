"""Who may talk to the page: the page itself, opened by whoever started it.

No cookie exists, so no other page can make a browser act for this one. The link that is printed holds a code in its
fragment, which no request carries; the code is exchanged once for a token that stays in the tab. Every request is
judged here before anything else sees it, and every answer leaves with the headers below.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from barrow.noise import system_source

MOST_BODY = 2**22
"""Bytes of a request; labels and paths of a space travel in it."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_ONCE = ("host", "origin", "authorization", "content-type", "content-length", "sec-fetch-site")


def random_name(words: int = 4) -> str:
    """A name that nobody guesses, of 64 random bits a word."""
    return "".join(f"{word:016x}" for word in system_source().words(words).tolist())


class Guard:
    """ASGI middleware that lets nothing through but the page's own requests, by Host and Origin.

    >>> guard = Guard(JSONResponse({}), 8931)
    >>> guard.refused("GET", "/", {"host": "evil.example:8931"})
    (403, 'This server answers only to 127.0.0.1.')
    >>> guard.refused("GET", "/", {"host": "127.0.0.1:8931"}) is None
    True
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._token = random_name()
        self._codes: set[str] = set()

    def code(self) -> str:
        """A new code for one link; it works once."""
        result = random_name()
        self._codes.add(result)
        return result

    def exchange(self, code: str) -> str | None:
        """The token of this server for a code that was not used yet."""
        match = next((known for known in self._codes if hmac.compare_digest(known.encode(), code.encode())), None)
        if match is None:
            return None
        self._codes.discard(match)
        return self._token

    def refused(self, method: str, path: str, heads: dict[str, str]) -> tuple[int, str] | None:
        """Why a request is refused, with its status; None where it may pass."""
        if heads.get("host") not in self._hosts:
            return 403, "This server answers only to 127.0.0.1."
        origin = heads.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return 403, "Another page may not ask this server."
        if not self._from_here(method, path, heads):
            return 403, "Another page may not ask this server."
        if method not in ("GET", "POST") or (method == "POST") != path.startswith("/api/"):
            return 405, "This request has the wrong method."
        if method == "GET":
            return None
        if heads.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return 415, "Only JSON is read."
        length = heads.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BODY:
            return 413, "This is too long."
        wanted = f"Bearer {self._token}"
        if path != "/api/session" and not hmac.compare_digest(heads.get("authorization", "").encode(), wanted.encode()):
            return 403, "This tab is not connected. Open the link that barrow design printed, or start it again."
        return None

    @staticmethod
    def _from_here(method: str, path: str, heads: dict[str, str]) -> bool:
        """Whether a browser says that this page asks; opening the bare page from anywhere tells nobody anything."""
        site = heads.get("sec-fetch-site", "same-origin")
        opened = heads.get("sec-fetch-mode") == "navigate" and heads.get("sec-fetch-dest") == "document"
        return site in ("same-origin", "none") or (opened and method == "GET" and path == "/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge a request, answer it or hand it on; anything but HTTP is closed."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message.get("headers", [])}
                more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in own]
                message["headers"] = [*message.get("headers", []), *more]
            await send(message)

        heads = _once(scope["headers"])
        why = (
            (400, "A header is given twice.") if heads is None else self.refused(scope["method"], scope["path"], heads)
        )
        if why is not None:
            await JSONResponse({"problem": why[1]}, status_code=why[0])(scope, receive, guarded)
            return
        await self._app(scope, _limited(receive), guarded)


def _once(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str] | None:
    """The headers that are judged, in lower case; None where one of them is said twice."""
    result: dict[str, str] = {}
    for key, value in headers:
        name = key.decode("latin1").lower()
        if name in result and name in _ONCE:
            return None
        result[name] = value.decode("latin1")
    return result


def _limited(receive: Receive) -> Receive:
    """A body that is cut off where it becomes too long, whatever its headers say."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > MOST_BODY else message

    return counted
