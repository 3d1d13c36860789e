"""A throw-away Postgres server: a cluster of its own in a temporary folder, on a socket, as an unprivileged user."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

_PLACES = (*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), Path("/usr/local/bin"), Path("/usr/bin"))
_ACCOUNT = "postgres"
_CONF = """
listen_addresses = ''
shared_buffers = 16MB
max_wal_size = 64MB
min_wal_size = 32MB
max_connections = 40
autovacuum = off
recovery_init_sync_method = syncfs
"""


def binaries() -> Path | None:
    """Where initdb and postgres are."""
    result = shutil.which("initdb")
    places = [*_PLACES, Path(result).parent] if result else _PLACES
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


def unavailable() -> str | None:
    """Why no server can be started here, or None."""
    if os.name != "posix" or binaries() is None:
        return "Postgres is not installed (Debian: apt-get install postgresql)"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed (pip install 'barrow[postgres]')"
    if os.getuid() == 0:
        try:
            pwd.getpwnam(_ACCOUNT)
        except KeyError:
            return "Postgres refuses to run as root, and there is no user postgres"
    return None


class Cluster:
    """A server with a folder of its own, or whose data lie in ``data``; ``conf`` is added to its configuration."""

    def __init__(self, conf: str = "", *, data: Path | None = None, make: bool = True, port: int = 5432) -> None:
        self.port = port
        # Not below a test's own folder, which only its user may enter; and paths of sockets must be short.
        self.folder = Path(tempfile.mkdtemp(prefix="barrow-pg-", dir="/tmp"))
        self.data, self.sockets = data or self.folder / "data", self.folder / "s"
        self._server: subprocess.Popen[bytes] | None = None
        self.sockets.mkdir()
        own(self.folder)
        own(self.sockets)
        if make:
            how = ["-E", "UTF8", "--locale=C.UTF-8", "-A", "trust", "-N", "-U", "owner"]
            self._run("initdb", "-D", str(self.data), *how)
            with (self.data / "postgresql.conf").open("a") as file:
                file.write(_CONF + f"unix_socket_directories = '{self.sockets}'\nport = {port}\n" + conf)

    def url(self, ledger: str = "visits", user: str = "owner") -> str:
        return f"postgresql:///postgres?host={quote(str(self.sockets))}&user={user}&ledger={quote(ledger)}"

    @property
    def conninfo(self) -> str:
        return f"host={self.sockets} port={self.port} dbname=postgres user=owner"

    def start(self) -> None:
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        for left in self.sockets.glob(".s.PGSQL*"):
            left.unlink()
        place = binaries()
        assert place is not None
        log = (self.folder / "log").open("ab")
        self._server = subprocess.Popen(
            [str(place / "postgres"), "-D", str(self.data)], stdout=log, stderr=log, start_new_session=True, **_as()
        )
        log.close()
        self.wait()

    def copy_of(self, primary: Cluster) -> None:
        """Fill this cluster with a running replica's files: a base backup of ``primary``, in standby."""
        self._run(
            "pg_basebackup", "-D", str(self.data), "-h", str(primary.sockets), "-U", "owner", "-R", "-c", "fast", "-N"
        )
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"unix_socket_directories = '{self.sockets}'\n")

    def promote(self) -> None:
        """Make a standby a primary, and wait until it is one."""
        import psycopg

        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            connection.execute("SELECT pg_promote(true, 60)")

    def wait(self) -> None:
        import psycopg

        for _ in range(1200):
            try:
                psycopg.connect(self.conninfo).close()
                return
            except psycopg.OperationalError:
                if self._server is not None and self._server.poll() is not None:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.05)
        raise RuntimeError("the server does not answer")

    def processes(self) -> list[int]:
        """The server and its children."""
        assert self._server is not None
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self._server.pid)], capture_output=True, text=True)
        return [self._server.pid, *map(int, listed.stdout.split())]

    def kill(self) -> None:
        """kill -9 of the server and of all its children."""
        assert self._server is not None
        everyone = self.processes()
        os.kill(self._server.pid, signal.SIGSTOP)  # so that it starts no child in between
        for pid in {*everyone, *self.processes()}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._server.wait()
        for pid in everyone[1:]:  # orphans are reaped by init
            while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2:3]:
                time.sleep(0.01)
        self._server = None

    def stop(self) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.wait(30)
            if self._server.poll() is None:
                self.kill()
            self._server = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        place = binaries()
        assert place is not None
        done = subprocess.run([str(place / program), *arguments], capture_output=True, text=True, check=False, **_as())
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])


def own(path: Path) -> None:
    """Give ``path`` to the user that the server runs as."""
    if os.getuid() == 0:
        shutil.chown(path, _ACCOUNT)


def _as() -> dict[str, object]:
    """Run as the unprivileged user, where this process is root."""
    if os.getuid() != 0:
        return {}
    account = pwd.getpwnam(_ACCOUNT)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}
