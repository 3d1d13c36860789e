"""Collector and shuffler in processes of their own, forked from this one so that they start at once and die at will."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from barrow.collect.card import Card
from barrow.collect.collector import Collector
from barrow.collect.shuffler import Shuffler, mix_and_forget, open_pool
from barrow.collect.stores import open_store
from barrow.collect.web import run
from tests.collect.asking import free_port
from tests.collect.world import key


class Service:
    """A forked process; ``work`` runs in it until it ends or is killed."""

    def __init__(self, work: Callable[[], None], port: int | None = None, *, file_limit: int | None = None) -> None:
        sys.stdout.flush()
        self.port = port
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                if file_limit is not None:  # a write beyond it fails as on a full disk
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
                work()
                code = 0
            finally:
                os._exit(code)

    def wait_until_open(self, seconds: float = 20.0) -> bool:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port or 0), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.002)
        return False

    def rss_mib(self) -> float:
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def stop(self) -> int:
        os.kill(self.pid, signal.SIGTERM)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def join(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def collector(card: Card, store: str | Path, *, rate: int = 0, **options) -> Service:
    port = free_port()

    def work() -> None:
        run(Collector(card, open_store(store, card.survey.digest), rate=rate).app(), host="127.0.0.1", port=port)

    return Service(work, port, **options)


def shuffler(card: Card, store: Path, **options) -> Service:
    port = free_port()
    return Service(
        lambda: run(Shuffler(card, open_pool(store, card)).app(), host="127.0.0.1", port=port), port, **options
    )


def mixing(card: Card, store: Path, out: Path) -> Service:
    return Service(lambda: mix_and_forget(card, open_pool(store, card), out, key("shuffler")) and None)
