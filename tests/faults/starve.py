"""Failing disks: each I/O call of a real process fails once, or from some call on; and full disks."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from barrow.errors import LedgerError
from barrow.ledger import Ledger
from tests.faults.check import look
from tests.faults.cuts import ROOT, command, environment
from tests.faults.scenario import released_in

FAULTS = [
    ("pwrite64", "ENOSPC", ""),
    ("pwrite64", "EIO", ""),
    ("pwrite64", "ENOSPC", "+"),
    ("fdatasync", "EIO", ""),
    ("fdatasync", "EIO", "+"),
    ("fsync", "EIO", ""),
    ("unlink", "EIO", ""),
    ("link", "EIO", ""),
]
"""A call, its error, and whether later calls fail too."""


def one(call: str, error: str, more: str, number: int, releases: int) -> tuple[str, Counter[str]]:
    """Run the scenario with call ``number`` failing; says how the process ended."""
    with tempfile.TemporaryDirectory(prefix="barrow-fault-") as name:
        folder = Path(name)
        inject = f"inject={call}:error={error}:when={number}{more}"
        tracer = ["strace", "-o", str(folder / "trace"), "-e", f"trace={call}", "-e", inject]
        disk = folder / "disk"
        disk.mkdir()
        ended = subprocess.run(
            tracer + command(disk, "real", releases),
            cwd=ROOT, env=environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        hit = "(INJECTED)" in (folder / "trace").read_text()
        return ("hit" if hit else "missed"), judge(disk, ended)


def judge(disk: Path, ended: subprocess.CompletedProcess[str]) -> Counter[str]:
    """What a failed process left behind, seen by the next one."""
    counts, path = Counter[str](), disk / "a.ledger"
    outcome = json.loads(ended.stdout) if ended.stdout.strip() else {"error": None}
    clear = {0: (None,), 3: ("LedgerIOError", "MissingLedgerError"), 4: ("world",)}
    # SQLite may shrug off a failure that loses nothing (0); after any other the process must say so.
    counts["unclear"] += outcome["error"] not in clear.get(ended.returncode, ())
    names = {0: "harmless", 3: "fatal", 4: "world"}
    counts[names.get(ended.returncode, "unclear_exit")] += 1
    released = released_in(disk / "released")
    if not path.exists():
        counts["corrupt"] += "init" in released
        counts["unpaid"] += len(released - {"init"})
        return counts
    try:
        Ledger.open(path).verify()
    except LedgerError:
        counts["corrupt"] += 1
    result = look(path)
    counts["corrupt"] += result.flaw is not None and not counts["corrupt"]
    counts["unpaid"] += len(released - {"init"} - result.paid)
    counts["overspent"] += result.overspent
    return counts


def run(releases: int, *, every: int = 1, faults: list[tuple[str, str, str]] | None = None) -> Counter[str]:
    """Every fault at every call (or every few) of the scenario."""
    counts = Counter[str]()
    for call, error, more in FAULTS if faults is None else faults:
        number = 1
        while True:
            state, result = one(call, error, more, number, releases)
            if state == "missed":
                break
            counts["faults"] += 1
            counts += result
            number += every
    return counts


def full_disk(limit: int, releases: int) -> Counter[str]:
    """A process that may not write files beyond ``limit`` bytes."""
    with tempfile.TemporaryDirectory(prefix="barrow-full-") as name:
        counts = _starved(Path(name), releases, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    return counts


def full_tmpfs(kib: int, releases: int) -> Counter[str] | None:
    """A file system that is really full; None where this user may not mount one."""
    with tempfile.TemporaryDirectory(prefix="barrow-full-") as name:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", name]
        if os.name != "posix" or subprocess.run(mount, capture_output=True, check=False).returncode:
            return None
        try:
            return _starved(Path(name), releases, None)
        finally:
            subprocess.run(["umount", name], check=True)


def _starved(folder: Path, releases: int, before: Callable[[], None] | None) -> Counter[str]:
    ended = subprocess.run(
        command(folder, "real", releases),
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, preexec_fn=before,
    )  # fmt: skip
    counts = judge(folder, ended)
    counts["full_disks"] += ended.returncode in (3, 4)
    return counts
