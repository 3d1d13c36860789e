"""Passwords go to Postgres by SCRAM alone: a server that is not the right one learns none, nor its MD5."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

NEVER_SENT = "!password,!md5"
"""Every way to log in but the two that hand the password, or its MD5, to whoever answers."""


def by_scram(address: str) -> str:
    """Libpq's ``require_auth`` (16 or later) for an address; one that asks for SCRAM and nothing else keeps its word.

    >>> by_scram("postgresql://db.example/stats?require_auth=password")
    '!password,!md5'
    """
    required = dict(parse_qsl(urlsplit(address).query)).get("require_auth")
    return "scram-sha-256" if required == "scram-sha-256" else NEVER_SENT
