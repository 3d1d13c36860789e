"""Releases in processes of their own, which are killed or whose I/O calls fail.

The library is loaded once; each release runs in a fork of this process, as ``barrow release`` would, and ends with it.
strace is attached to a fork that waits, so that only the release's own calls are counted.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

CALLS = ("write", "pwrite64", "fsync", "fdatasync", "fallocate", "rename", "mkdir", "unlink", "chmod", "ftruncate")
_PTRACER = 0x59616D61
Patch = Callable[[], None]


@dataclass(frozen=True)
class Ended:
    """How a release ended, and everything that it printed."""

    code: int
    output: str
    killed: bool


@dataclass
class Child:
    """A release that runs."""

    pid: int
    folder: Path

    def wait(self) -> Ended:
        """Until it has ended."""
        status = os.waitpid(self.pid, 0)[1]
        code = os.waitstatus_to_exitcode(status)
        text = self.folder / "said"
        # A release that was killed at once has not begun to say anything.
        return Ended(code, text.read_text(errors="replace") if text.exists() else "", code == -signal.SIGKILL)


@cache
def load() -> None:
    """Everything that a release imports, before the fork; only a release says what that is."""
    with tempfile.TemporaryDirectory(prefix="barrow-release-") as name, ProcessPoolExecutor(1) as pool:
        for module in pool.submit(_modules, name).result():
            with suppress(ImportError):
                import_module(module)


def _modules(folder: str) -> list[str]:
    from barrow.cli.main import main
    from tests.faults.published import study_in

    os.chdir(folder)
    study_in(Path(folder))
    with suppress(SystemExit), open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        main(["release"])
    return [name for name in sys.modules if not name.startswith(("__", "tests."))]


def started(folder: Path, patch: Patch | None = None, *, stopped: bool = False, out: str | None = None) -> Child:
    """Start ``barrow release`` in ``folder``, with ``TMPDIR`` and everything that it prints below it."""
    from barrow.cli.main import main

    load()
    pid = os.fork()
    if pid:
        return Child(pid, folder)
    code = 70
    try:
        os.chdir(folder)
        Path("tmp").mkdir(exist_ok=True)
        os.environ["TMPDIR"] = str(folder / "tmp")
        tempfile.tempdir = None
        text = os.open("said", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        os.dup2(text, 1)
        os.dup2(text, 2)
        if stopped:
            ctypes.CDLL(None).prctl(_PTRACER, -1, 0, 0, 0)  # whoever runs this may trace it
            os.kill(os.getpid(), signal.SIGSTOP)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if patch is not None:
            patch()
        try:
            main(["release", *([] if out is None else ["--out", out])])
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
    except BaseException:
        import traceback

        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def kill_after(folder: Path, seconds: float, patch: Patch | None) -> Ended:
    """Start a release and kill it."""
    child = started(folder, patch)
    time.sleep(seconds)
    os.kill(child.pid, signal.SIGKILL)
    return child.wait()


def attached(folder: Path, call: str, number: int, error: str | None, patch: Patch | None) -> Ended:
    """A release whose ``number``-th ``call`` fails with ``error``, or kills it."""
    what = "signal=KILL" if error is None else f"error={error}"
    return _traced(folder, ["-e", f"trace={call}", "-e", f"inject={call}:{what}:when={number}"], patch)[0]


@cache
def calls_of(make: Callable[[Path], None]) -> Counter[str]:
    """How often each call happens in one release."""
    with tempfile.TemporaryDirectory(prefix="barrow-release-") as name:
        make(Path(name))
        ended, trace = _traced(Path(name), ["-e", f"trace={','.join(CALLS)}"], None)
        if ended.code != 0:
            raise RuntimeError(f"the release ended with {ended.code}: {ended.output[:500]}")
        return Counter(re.findall(r"^(?:\d+ +)?(\w+)\(", trace, re.MULTILINE))


def _traced(folder: Path, options: list[str], patch: Patch | None) -> tuple[Ended, str]:
    child = started(folder, patch, stopped=True)
    os.waitpid(child.pid, os.WUNTRACED)
    with tempfile.NamedTemporaryFile("r", prefix="barrow-trace-") as trace:
        tracer = subprocess.Popen(
            ["strace", "-o", trace.name, *options, "-p", str(child.pid)], stderr=subprocess.PIPE, text=True
        )
        try:
            if tracer.stderr is None or "attached" not in tracer.stderr.readline():
                os.kill(child.pid, signal.SIGKILL)
                raise RuntimeError("strace cannot attach")
            os.kill(child.pid, signal.SIGCONT)
            return child.wait(), (tracer.wait(), Path(trace.name).read_text(errors="replace"))[1]
        finally:
            tracer.kill()
            tracer.wait()
