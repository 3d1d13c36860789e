"""Asks an application without a network."""

from __future__ import annotations

import asyncio
import json


async def _ask(app, method: str, path: str, body: bytes, headers: dict[str, str], chunk: int) -> tuple[int, dict]:
    parts = [body[i : i + chunk] for i in range(0, len(body), chunk)] or [b""]
    sent: list[dict] = []

    async def receive() -> dict:
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: dict) -> None:
        sent.append(message)

    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": b"", "headers": raw,
        "client": ("203.0.113.7", 1), "server": ("x", 1),
        "scheme": "http", "root_path": "",
    }  # fmt: skip
    await app(scope, receive, send)
    text = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
    return sent[0]["status"], json.loads(text)


def ask(app, method: str, path: str, body: bytes = b"", headers=None, chunk: int = 2**16) -> tuple[int, dict]:
    """Status and JSON of the answer."""
    return asyncio.run(_ask(app, method, path, body, headers or {"content-length": str(len(body))}, chunk))
