"""Bytes over HTTPS. Loaded when something is sent: most of what a client does needs no network."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import Any

from barrow.collect.client import SendError

_SECONDS = 30
_MOST_ANSWER = 2**20


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def post_bytes(address: str, body: bytes, kind: str) -> tuple[int, bytes]:
    """Post over a connection of its own; redirects are not followed: a card says where to send, and nobody else."""
    request = urllib.request.Request(address, data=body, method="POST", headers={"Content-Type": kind})  # noqa: S310
    try:
        with _OPENER.open(request, timeout=_SECONDS) as answer:
            return int(answer.status), answer.read(_MOST_ANSWER)
    except urllib.error.HTTPError as error:
        return int(error.code), error.read(_MOST_ANSWER)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SendError(
            f"{address} cannot be reached ({type(error).__name__}); what was drawn is kept.",
            allowed="a server that answers",
            fix="send again later: the same report goes out",
        ) from None
