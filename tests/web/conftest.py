"""Designers that really run: in processes of their own, on free ports, with everything they say kept."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("uvicorn", reason="the extra web is not installed")

JSON = {"content-type": "application/json"}


class Running:
    """One ``barrow design`` in a folder; its link works once, so its first token is shared by all who ask."""

    def __init__(self, folder: Path, *words: str, path: Path | None = None) -> None:
        self.folder, self.log = folder, folder / ".log"
        places = [str(place) for place in (path, os.environ.get("PYTHONPATH")) if place]
        with open(self.log, "w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "barrow", "design", *words, "--no-browser"],
                cwd=folder, stdout=out, stderr=out,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": os.pathsep.join(places)},
            )  # fmt: skip
        until = time.monotonic() + 600
        while (result := re.search(r"http://127\.0\.0\.1:(\d+)/#code=(\w+)", self.log.read_text())) is None:
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until
            time.sleep(0.05)
        self.link, self.port, self.code = result[0], int(result[1]), result[2]
        self._token = None

    def ask(self, path, method="GET", body=None, headers=None):
        """Status, headers and body of a bare request: nothing is added but Host, unless it is given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        sent = {"host": f"127.0.0.1:{self.port}", **(headers or {})}
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if body is not None and "content-length" not in sent and "transfer-encoding" not in sent:
            sent["content-length"] = str(len(data))
        for name, value in sent.items():
            for one in value if isinstance(value, list) else [value]:
                connection.putheader(name, one)
        connection.endheaders()
        with suppress(OSError):  # refused before all was read
            connection.send(data)
        answer = connection.getresponse()
        result = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        connection.close()
        return result

    @property
    def token(self) -> str:
        if self._token is None:
            status, _, text = self.ask("/api/session", "POST", {"code": self.code}, JSON)
            assert status == 200
            self._token = json.loads(text)["token"]
        return self._token

    def api(self, name, body=None, **headers):
        """Status and answer of one of the page's requests."""
        sent = {**JSON, "authorization": f"Bearer {self.token}", **headers}
        status, _, text = self.ask(f"/api/{name}", "POST", body or {}, sent)
        return status, json.loads(text)

    def another_link(self) -> str:
        return f"http://127.0.0.1:{self.port}/#code={self.api('link')[1]['code']}"

    def stop(self, hard: bool = False) -> None:
        self.process.kill() if hard else self.process.terminate()
        self.process.wait(20)


@pytest.fixture(scope="session")
def running():
    """Starts designers, and ends all of them."""
    started = []

    def start(folder: Path, *words: str, path: Path | None = None) -> Running:
        started.append(Running(folder, *words, path=path))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.stop()


@pytest.fixture(scope="session")
def designer(running, tmp_path_factory):
    """One designer for all who do not spend, save or kill."""
    return running(tmp_path_factory.mktemp("designer"))
