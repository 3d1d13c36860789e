"""A ledger on a real Postgres server: kill -9 of clients and of the server, and power cuts.

A power cut: the server's files lie on a file system in an image (a loop device). Everything is stopped in the middle of
its work, the image is copied as it is, and a server is started on the copy. What the file system had not handed to its
device is gone, as it would be; what it had handed over is kept (the device itself is taken to be honest).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.faults.check import Found, judge
from tests.faults.kills import FATAL, fork, round_of, verdict
from tests.faults.scenario import make
from tests.postgres_cluster import Cluster, own, unavailable

LAZY = "wal_writer_delay = 10s\n"
"""So that a server that does not wait for its log loses something when it dies."""
_SIZE_MB = 260
_NAMES = iter(range(10**9))


def look(url: str) -> Found:
    """The rows by plain SQL."""
    import psycopg

    from barrow.ledger.postgres import PostgresStore

    conninfo, name = PostgresStore.address(url)
    try:
        with psycopg.connect(conninfo) as connection:
            rows = connection.execute(
                "SELECT seq, body, hash FROM barrow.records WHERE ledger = %s ORDER BY seq", [name]
            ).fetchall()
    except psycopg.Error as error:
        return judge([], f"gone: {error.sqlstate}")
    return judge(rows)


@contextmanager
def server(conf: str = "", running: Cluster | None = None) -> Iterator[Cluster]:
    """A server of its own, or the one that runs."""
    if running is not None:
        yield running
        return
    cluster = Cluster(LAZY + conf)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def clients(
    kills: int, seed: int, *, release_first: bool = False, per_round: int = 25, running: Cluster | None = None
) -> Counter[str]:
    """kill -9 of spenders at random instants."""
    rng, counts = random.Random(seed), Counter[str]()
    with server(running=running) as cluster:
        while counts["kills"] < kills:
            with tempfile.TemporaryDirectory(prefix="barrow-pg-kills-") as folder:
                wanted = min(per_round, kills - counts["kills"])
                counts += round_of(
                    Path(folder), wanted, rng, store="postgres", release_first=release_first,
                    where=cluster.url(f"clients {next(_NAMES)}"), look=look, limit=3 + wanted // 4, monthly=True,
                )  # fmt: skip
            counts["rounds"] += 1
    return counts


def servers(kills: int, seed: int, *, store: str = "postgres", running: Cluster | None = None) -> Counter[str]:
    """kill -9 of the server and all its children, while four spenders are at work."""
    rng, counts = random.Random(seed), Counter[str]()
    with server(running=running) as cluster:
        while counts["server_kills"] < kills:
            with tempfile.TemporaryDirectory(prefix="barrow-pg-server-") as name:
                folder, url = Path(name), cluster.url(f"servers {next(_NAMES)}")
                make(url, 5000, store, monthly=True)
                spenders = _start(url, folder, store)
                time.sleep(rng.uniform(0.2, 0.8))
                cluster.kill()
                counts["server_kills"] += 1
                cluster.start()
                time.sleep(0.2)  # whoever was not cut off in a COMMIT goes on
                counts += _ended(spenders)
                counts += verdict(url, folder, look)
    return counts


def cuts(number: int, seed: int, *, store: str = "postgres", conf: str = "") -> Counter[str]:
    """Power cuts; each round a new image is made of the one before."""
    rng, counts = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="barrow-pg-power-") as name:
        root = Path(name)
        image, copy, mount = root / "disk.img", root / "cut.img", root / "disk"
        root.chmod(0o711)
        mount.mkdir()
        with image.open("wb") as file:
            file.truncate(_SIZE_MB << 20)
        _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", str(image))
        _run("mount", "-o", "loop", str(image), str(mount))
        (mount / "data").mkdir(mode=0o700)
        own(mount / "data")
        cluster = Cluster(LAZY + conf, data=mount / "data")
        try:
            _run("sync", "-f", str(mount))
            cluster.start()
            while counts["cuts"] < number and not counts["lost_clusters"]:
                counts += _one_cut(cluster, rng, store, image, copy, mount)
        finally:
            cluster.stop()
            subprocess.run(["umount", str(mount)], check=False)
    return counts


def _one_cut(cluster: Cluster, rng: random.Random, store: str, image: Path, copy: Path, mount: Path) -> Counter[str]:
    with tempfile.TemporaryDirectory(prefix="barrow-pg-world-") as name:
        folder, url = Path(name), cluster.url(f"cuts {next(_NAMES)}")
        make(url, 5000, store, monthly=True)
        spenders = _start(url, folder, store)
        time.sleep(rng.uniform(0.2, 0.8))
        for pid in [*spenders, *cluster.processes()]:
            with suppress(ProcessLookupError):  # a session of the server that has just ended
                os.kill(pid, signal.SIGSTOP)
        _run("cp", "--sparse=always", str(image), str(copy))
        cluster.kill()
        counts = _ended(spenders)
        _run("umount", str(mount))
        copy.replace(image)
        _run("mount", "-o", "loop", str(image), str(mount))
        counts["cuts"] += 1
        try:
            cluster.start()
        except RuntimeError:  # a disk from which no server starts: everything is lost
            counts["unpaid"] += sum(len(file.read_text().split()) for file in folder.glob("world-*"))
            counts["corrupt"] += 1
            counts["lost_clusters"] += 1
            return counts
        return counts + verdict(url, folder, look)


def _start(url: str, folder: Path, store: str) -> list[int]:
    return [fork(url, folder, str(number), store=store, release_first=False, monthly=True) for number in range(4)]


def _ended(spenders: list[int]) -> Counter[str]:
    """End all spenders; those that ended by themselves must have seen the server fail."""
    counts = Counter[str]()
    for pid in spenders:
        os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        counts["noticed"] += code == FATAL
        counts["failed"] += code not in (FATAL, -signal.SIGKILL)
    return counts


def throughput(seconds: float, spenders: int = 8) -> Counter[str]:
    """Reservations with their commits in a time, by spenders on one ledger."""
    with server() as cluster, tempfile.TemporaryDirectory(prefix="barrow-pg-speed-") as name:
        url, folder = cluster.url("speed"), Path(name)
        make(url, 10**6, "postgres")
        pids = [fork(url, folder, str(i), store="postgres", release_first=False) for i in range(spenders)]
        time.sleep(1.0)
        before, started = look(url).length, time.monotonic()
        time.sleep(seconds)
        done, passed = look(url).length - before, time.monotonic() - started
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return Counter({"payments": done // 2, "milliseconds": int(passed * 1000)})


def may_mount() -> str | None:
    """Why no image can be mounted here, or None."""
    if os.getuid() != 0 or not Path("/dev/loop-control").exists() or shutil.which("mkfs.ext4") is None:
        return "power cuts mount an image: they need root, loop devices and e2fsprogs"
    return unavailable()


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
