"""Power cuts, simulated at every I/O step of a real process.

``strace`` records what the process asks of the file system: creations, writes, truncations, links, deletions
and fsyncs. A model of a disk replays them. A file's bytes are certain only up to its last fsync, and the names
in a folder only up to the folder's last fsync. What came later a cut may keep or drop; it may keep only the
names, or only the bytes, or any sectors of the bytes with any first part of the names ("torn"). After every
step every such disk is written out and opened by the real ledger, which must then hold each payment whose
release was already outside.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from barrow.errors import LedgerError
from barrow.ledger import Ledger
from tests.faults.check import look
from tests.faults.scenario import MONTHS, pay

SECTOR = 512
CALLS = "openat,open,creat,write,pwrite64,pwritev,writev,ftruncate,truncate,fallocate,fsync,fdatasync,"
CALLS += "unlink,unlinkat,link,linkat,rename,renameat,renameat2"
ROOT = Path(__file__).resolve().parents[2]


def available() -> str | None:
    """Why strace cannot be used here, or None."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    test = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, check=False)
    return None if test.returncode == 0 else "strace may not trace here"


def command(folder: Path, store: str, releases: int) -> list[str]:
    """How the scenario is started."""
    module = [sys.executable, "-m", "tests.faults.scenario", str(folder)]
    return [*module, "--store", store, "--releases", str(releases)]


def environment() -> dict[str, str]:
    """One thread, no cache files, the package from this checkout."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True)
class Step:
    """One call that changed a file, a name, or their durability."""

    kind: str
    path: str
    data: bytes = b""
    offset: int = 0
    other: str = ""


def record(store: str, releases: int, start: dict[str, bytes] | None = None) -> list[Step]:
    """The steps of one run of the scenario, from nothing or from the files that a cut left."""
    with tempfile.TemporaryDirectory(prefix="barrow-cuts-") as name:
        folder, trace = Path(name).resolve() / "disk", Path(name) / "trace"
        folder.mkdir()
        for file, data in (start or {}).items():
            (folder / file).write_bytes(data)
        tracer = ["strace", "-y", "-xx", "-s", "1000000", "-e", f"trace={CALLS}", "-o", str(trace)]
        run = [*tracer, *command(folder, store, releases), *(["--resume"] if start else [])]
        subprocess.run(run, cwd=ROOT, env=environment(), check=True, capture_output=True)
        return list(parse(trace.read_text().splitlines(), str(folder)))


_CALL = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+)")


def unhex(text: str) -> bytes:
    """The bytes that strace -xx wrote."""
    return bytes.fromhex(text.replace("\\x", ""))


def parse(lines: list[str], folder: str) -> Iterator[Step]:
    """The steps below ``folder`` in a trace; a call that the model does not know is an error."""
    for line in lines:
        match = _CALL.match(line)
        if match is None or int(match[3]) < 0:
            continue
        name, arguments = match[1], match[2]
        texts = [unhex(result) for result in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', arguments)]
        handles = [unhex(result).decode() for result in re.findall(r"<((?:\\x[0-9a-f]{2})*)>", arguments)]
        places = [p for p in handles + [t.decode("utf-8", "replace") for t in texts] if p.startswith(folder)]
        if not places:
            continue
        if name == "openat":
            if "O_CREAT" in arguments:
                yield Step("create", texts[0].decode())
        elif name == "pwrite64":
            yield Step("write", handles[0], texts[0], int(arguments.rsplit(",", 1)[1]))
        elif name == "write" and handles[0].endswith("/released"):
            yield Step("released", handles[0], texts[0])
        elif name == "ftruncate":
            yield Step("truncate", handles[0], offset=int(arguments.rsplit(",", 1)[1]))
        elif name in ("fsync", "fdatasync"):
            yield Step("sync", handles[0])
        elif name in ("unlink", "unlinkat"):
            yield Step("unlink", texts[0].decode())
        elif name in ("link", "linkat"):
            yield Step("link", texts[0].decode(), other=texts[1].decode())
        else:
            raise ValueError(f"the model of the disk does not know {line[:200]!r}")


@dataclass
class File:
    """Bytes that are certain, and changes since."""

    certain: bytes = b""
    changes: list[tuple[int, bytes | None]] = field(default_factory=list)

    def content(self, how: str, rng: random.Random) -> bytes:
        data = bytearray(self.certain)
        for offset, written in self.changes if how != "dropped" else []:
            if written is None:
                if how == "kept" or rng.random() < 0.5:
                    data = data[:offset] + bytearray(max(0, offset - len(data)))
                continue
            for start in range(0, len(written), SECTOR):
                if how == "kept" or rng.random() < 0.5:
                    piece, at = written[start : start + SECTOR], offset + start
                    data += bytearray(max(0, at + len(piece) - len(data)))
                    data[at : at + len(piece)] = piece
        return bytes(data)


class Disk:
    """Files by name: the names that are certain, and the changes of names since."""

    def __init__(self, folder: str, start: Start) -> None:
        files, released = start
        self.folder = folder
        self.names = {f"{folder}/{name}": File(data) for name, data in files.items()}
        self.certain = dict(self.names)
        self.pending: list[tuple[str, File | None]] = []
        self.released = set(released)

    def apply(self, step: Step) -> None:
        if step.kind == "released":
            self.released |= set(step.data.decode().split())
        elif step.kind == "create":
            if step.path not in self.names:
                self._name(step.path, File())
        elif step.kind == "link":
            self._name(step.other, self.names[step.path])
        elif step.kind == "unlink":
            self._name(step.path, None)
        elif step.kind == "sync" and step.path == self.folder:
            self.certain, self.pending = dict(self.names), []
        elif step.kind == "sync":
            file = self.names[step.path]
            file.certain, file.changes = file.content("kept", random.Random(0)), []
        else:
            change = (step.offset, step.data if step.kind == "write" else None)
            self.names[step.path].changes.append(change)

    def _name(self, path: str, file: File | None) -> None:
        _rename(self.names, path, file)
        self.pending.append((path, file))

    def after_cut(self, names: str, data: str, rng: random.Random) -> dict[str, bytes]:
        """The files that a computer finds when the power is back."""
        result = dict(self.certain)
        count = {"kept": len(self.pending), "dropped": 0}.get(names, rng.randint(0, len(self.pending)))
        for path, file in self.pending[:count]:
            _rename(result, path, file)
        return {os.path.basename(path): file.content(data, rng) for path, file in result.items()}


def _rename(names: dict[str, File], path: str, file: File | None) -> None:
    if file is None:
        names.pop(path, None)
    else:
        names[path] = file


Start = tuple[dict[str, bytes], frozenset[str]]
"""The files that a first cut left, and what had been released by then."""

NOTHING: Start = ({}, frozenset())


def simulate(
    steps: list[Step], *, torn: int, seed: int, start: Start = NOTHING, hot: list[Start] | None = None
) -> Counter[str]:
    """Cut the power after every step, in every way; count what broke. ``hot`` collects disks with a journal."""
    folder = os.path.dirname(next(step.path for step in steps if step.kind == "create"))
    disk, rng, counts, seen = Disk(folder, start), random.Random(seed), Counter[str](), dict[bytes, Counter[str]]()
    ways = [(a, b) for a in ("kept", "dropped") for b in ("kept", "dropped")] + [("torn", "torn")] * torn
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    for step in steps:
        disk.apply(step)
        counts["steps"] += 1
        for names, data in ways:
            files = disk.after_cut(names, data, rng)
            counts["cuts"] += 1
            identity = repr((sorted(files.items()), sorted(disk.released))).encode()
            state = hashlib.sha256(identity).digest()
            if state not in seen:
                with tempfile.TemporaryDirectory(prefix="barrow-cut-", dir=memory) as name:
                    seen[state] = judge(Path(name), files, disk.released)
                counts["states"] += 1
                if hot is not None and files.get("a.ledger-journal") and "a.ledger" in files:
                    hot.append((files, frozenset(disk.released)))
            counts += seen[state]
    return counts


def again(steps: list[Step], *, torn: int, seed: int, starts: int) -> Counter[str]:
    """A second cut, at every step of the process that mends what a first one left and then goes on."""
    hot: list[Start] = []
    simulate(steps, torn=torn, seed=seed, hot=hot)
    counts = Counter[str]()
    for number in range(min(starts, len(hot))):
        start = hot[number * len(hot) // min(starts, len(hot))]
        counts["starts"] += 1
        result = simulate(record("real", 1, start[0]), torn=torn, seed=seed + number, start=start)
        result["second_cuts"] = result.pop("cuts")
        counts += result
    return counts


def judge(folder: Path, files: dict[str, bytes], released: set[str]) -> Counter[str]:
    """Open what the cut left, as the next process would."""
    counts = Counter[str]()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    path, keys = folder / "a.ledger", released - {"init"}
    if not path.exists():
        counts["corrupt"] += "init" in released
        counts["unpaid"] += len(keys)
        return counts
    try:
        ledger = Ledger.open(path)
        ledger.verify()
        pay(ledger, "after the cut", Fraction(1, 7), reads=MONTHS[1])
    except LedgerError:
        counts["corrupt"] += 1
    result = look(path)
    counts["corrupt"] += result.flaw is not None and not counts["corrupt"]
    counts["unpaid"] += len(keys - result.paid)
    counts["overspent"] += result.overspent
    return counts
