"""Asks a service without a network."""

from __future__ import annotations

import asyncio
import json

from barrow.collect.web import Answer, Asked, Service


async def _ask(app: Service, asked: Asked, body: bytes) -> tuple[int, dict]:
    found = app.find(asked)
    answer = found if isinstance(found, Answer) else await app.answer(found, body)
    return answer.status, json.loads(answer.body)


def ask(app: Service, method: str, path: str, body: bytes = b"", *, secret: str = "") -> tuple[int, dict]:
    """Status and JSON of the answer."""
    asked = Asked(method, path, "203.0.113.7", f"Bearer {secret}".encode() if secret else b"")
    return asyncio.run(_ask(app, asked, body))
