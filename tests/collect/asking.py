"""Asks a service, without a network or on this machine."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from barrow.collect.connections import Limits
from barrow.collect.web import HttpRequest, Reply, Service


async def _ask(app: Service, request: HttpRequest, body: bytes) -> tuple[int, dict]:
    result = app.find(request)
    answer = result if isinstance(result, Reply) else await app.answer(result, body)
    return answer.status, json.loads(answer.body)


def ask(app: Service, method: str, path: str, body: bytes = b"", *, secret: str = "") -> tuple[int, dict]:
    """Status and JSON of the answer."""
    request = HttpRequest(method, path, "203.0.113.7", f"Bearer {secret}".encode() if secret else b"")
    return asyncio.run(_ask(app, request, body))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(app: Service, port: int = 0, **limits: float) -> Iterator[str]:
    """The address of a service that is served by a thread of this process."""
    from barrow.collect.connections import serve

    open_at: list[str] = []
    ready = threading.Event()

    def told(address: str) -> None:
        open_at.append(address)
        ready.set()

    named = {"host": "127.0.0.1", "port": port, "limits": Limits(**limits), "ready": told}
    thread = threading.Thread(target=serve, args=[app], kwargs=named, daemon=True)
    thread.start()
    assert ready.wait(60)
    yield open_at[0]
    app.stop()
    thread.join(60)
    assert not thread.is_alive()
