"""Paths in a study file start in the folder of that file, so that the folder may be moved and entered."""

from __future__ import annotations

import os
from urllib.parse import quote, unquote

_FILES = ("sqlite", "duckdb")
"""Schemes of addresses that name a file; all other addresses are servers'."""


def from_here(name: str, folder: str | os.PathLike[str]) -> str:
    """What a study file in ``folder`` calls ``name``, as it is called from here.

    >>> from_here("visits.csv", "demo"), from_here("visits.csv", ""), from_here("/data/visits.csv", "demo")
    ('demo/visits.csv', 'visits.csv', '/data/visits.csv')
    >>> from_here("sqlite:///visits.db?table=visits", "my demo"), from_here("postgresql://host/db?table=visits", "demo")
    ('sqlite:///my%20demo/visits.db?table=visits', 'postgresql://host/db?table=visits')
    """
    start, path, end = _split(name)
    if not path or os.path.isabs(path) or os.fspath(folder) in ("", "."):
        return name
    return _joined(start, os.path.join(folder, path), end)


def from_study(name: str, folder: str | os.PathLike[str]) -> str:
    """What is called ``name`` here, as a study file in ``folder`` calls it: the other way round.

    An absolute path stays one, unless it leads into the study's folder.

    >>> from_study("demo/visits.csv", "demo"), from_study("visits.csv", "demo"), from_study("/data/visits.csv", "demo")
    ('visits.csv', '../visits.csv', '/data/visits.csv')
    >>> from_study("sqlite:///my%20demo/visits.db?table=visits", "my demo")
    'sqlite:///visits.db?table=visits'
    """
    start, path, end = _split(name)
    if not path:
        return name
    result = os.path.relpath(path, os.fspath(folder) or ".")
    outside = result == os.pardir or result.startswith(os.pardir + os.sep)
    return name if os.path.isabs(path) and outside else _joined(start, result, end)


def _split(name: str) -> tuple[str, str, str]:
    """What stands before a path, the path (empty where a server is named), and what stands behind it."""
    scheme, colon, rest = name.partition("://")
    if not colon:
        return ("", "", "") if name.startswith(("local[", "local?")) else ("", name, "")
    if scheme not in _FILES:
        return "", "", ""
    path, mark, query = rest.partition("?")
    return f"{scheme}:///", unquote(path[1:]), mark + query


def _joined(start: str, path: str, end: str) -> str:
    return f"{start}{quote(path)}{end}" if start else path
