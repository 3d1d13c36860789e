"""``scripts/faults release``: whole releases are killed, starved and failed; the last line is one JSON object.

Each case is a study of its own with a budget for one release. ``barrow release`` runs in a process of its own and is
killed at a random instant or at one of its I/O calls, or one of these calls fails, or the disk is full. Then the same
command runs again, undisturbed. Counted are: ``unpaid``, values that were published before the ledger had committed
them; ``lost``, releases that the same command does not publish (or pays or draws twice); ``draws_left``, draws that
are not shown and stay on the disk when another folder is named; ``leaked``, private ids and values in temporary files,
errors and logs, and drawn values where others could read them too early.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults.cuts import available
from tests.faults.elsewhere import elsewhere, forget_nothing
from tests.faults.ledger import end, say, stop_if
from tests.faults.processes import Ended, attached, calls_of, kill_after, load, started
from tests.faults.published import CANARY, judge, leaks, look_at, study_in

FAULTS = [
    ("write", "ENOSPC"), ("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fsync", "EIO"), ("fdatasync", "EIO"),
    ("fallocate", "ENOSPC"), ("rename", "EIO"), ("mkdir", "ENOSPC"), ("unlink", "EIO"), ("chmod", "EIO"),
    ("ftruncate", "EIO"),
]  # fmt: skip
"""A call and its error; each of them fails once, at every place where it happens."""
Patch = Callable[[], None]


def at(call: str, number: int, error: str | None = None) -> Callable[[Path, Patch | None], Ended]:
    """A release whose ``number``-th ``call`` fails, or kills it."""
    return lambda folder, patch: attached(folder, call, number, error, patch)


def case(ended: Callable[[Path, Patch | None], Ended | None], patch: Patch | None = None) -> Counter[str]:
    """One study, one disturbed run, one undisturbed one; ``ended`` says how the first went."""
    with tempfile.TemporaryDirectory(prefix="barrow-release-") as name:
        folder = Path(name)
        study_in(folder)
        return on(folder, ended, patch)


def on(folder: Path, ended: Callable[[Path, Patch | None], Ended | None], patch: Patch | None) -> Counter[str]:
    """As :func:`case`, in a folder that is there."""
    first = ended(folder, patch)
    if first is None:
        return Counter()
    counts = Counter[str](kills=int(first.killed), failed=int(not first.killed and first.code != 0))
    # A fault may end well, or as an error that is printed; a traceback is neither.
    if "Traceback" in first.output:
        counts["unclear"] += 1
        print(first.output)
    before = look_at(folder)
    counts["unpaid"] += before.unpaid
    counts["leaked"] += leaks(folder, first.output, after=False)
    again = started(folder, patch).wait()
    after = look_at(folder)
    counts["lost"] += judge(before, after, again.code)
    counts["unpaid"] += after.unpaid
    counts["leaked"] += leaks(folder, again.output, after=True)
    counts["published_first"] += before.published is not None
    counts["staged_first"] += before.staged is not None and before.published is None
    counts["paid_first"] += before.paid > 0 and before.staged is None
    return counts


def kills(number: int, seed: int, patch: Patch | None = None) -> Counter[str]:
    """kill -9 at instants that are spread over the life of a release."""
    rng, counts = random.Random(seed), Counter[str]()
    load()
    began = time.monotonic()
    counts += case(lambda folder, patch: started(folder, patch).wait(), patch)
    whole = 0.45 * (time.monotonic() - began)
    while counts["kills"] < number:
        counts += case(lambda folder, patch: kill_after(folder, rng.uniform(0, whole), patch), patch)
        counts["rounds"] += 1
    return counts


def kills_at_calls(every: int, offset: int) -> Counter[str]:
    """kill -9 at every call that changes a file, a name, or their durability."""
    counts = Counter[str]()
    for call, times in calls_of(study_in).items():
        for number in range(1 + offset % every if times > every else times, times + 1, every):
            counts += case(at(call, number))
    return counts


def errors(every: int) -> Counter[str]:
    """Each call fails once, wherever it happens."""
    counts, known = Counter[str](), calls_of(study_in)
    for call, error in FAULTS:
        for number in range(known[call], 0, -every):
            counts += case(at(call, number, error))
            counts["faults"] += 1
    return counts


def full(sizes: range) -> Counter[str]:
    """Files may not grow beyond a size, then they may."""
    counts = Counter[str]()
    for size in sizes:

        def starve(folder: Path, patch: Patch | None, size: int = size) -> Ended:
            return started(folder, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))).wait()

        counts += case(starve)
        counts["full_disks"] += 1
    return counts


def full_tmpfs(sizes: range) -> Counter[str]:
    """A file system that is really full, and then is not."""
    from subprocess import run

    counts = Counter[str]()
    for kib in sizes:
        with tempfile.TemporaryDirectory(prefix="barrow-full-") as name:
            if run(
                ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", name], capture_output=True, check=False
            ).returncode:
                return Counter(tmpfs_not_allowed=1)
            try:
                folder, filler = Path(name), Path(name) / "filler"
                study_in(folder)
                left = os.statvfs(name)
                filler.write_bytes(bytes(max(0, left.f_bavail * left.f_frsize - kib * 1024)))

                def starve(folder: Path, patch: Patch | None, filler: Path = filler) -> Ended:
                    ended = started(folder, patch).wait()
                    filler.unlink()
                    return ended

                counts += on(folder, starve, None)
                counts["full_disks"] += 1
            finally:
                run(["umount", name], check=True)
    return counts


# Controls: three old mistakes, which the harness must see.


def publish_first() -> None:
    """The mistake of showing values before they are committed."""
    from barrow.study.outputs import Stage

    write = Stage.write

    def shown(self: Stage, files: dict[str, bytes]) -> None:
        write(self, files)
        os.rename(self.folder, self.out)

    Stage.write = shown  # type: ignore[method-assign,assignment]


def forget_staged() -> None:
    """The mistake of removing what was staged when the record of it seems to have failed."""
    from barrow.study import release
    from barrow.study.outputs import Stage

    stages: list[Stage] = []
    opened, interrupted = Stage.open, release._interrupted

    def keep(self: Stage, room: int) -> None:
        stages.append(self)
        opened(self, room)

    def discard(*args: object) -> BaseException:
        stages[-1].discard()
        return interrupted(*args)  # type: ignore[arg-type]

    Stage.open = keep  # type: ignore[method-assign]
    release._interrupted = discard  # type: ignore[assignment]


def leave_an_id() -> None:
    """The mistake of writing a person's id into a temporary file."""
    Path(tempfile.gettempdir(), "spilled").write_text(CANARY)


def published_first() -> Counter[str]:
    """Kills around the ledger's last records, of releases that are shown before they are committed."""
    counts, times = Counter[str](), calls_of(study_in)["fdatasync"]
    for number in range(times, times - 8, -1):
        counts += case(at("fdatasync", number), publish_first)
        if counts["unpaid"]:
            break
    return counts


def staged_removed() -> Counter[str]:
    """Failures around the ledger's records: one of them is on the disk although it seems to have failed."""
    counts = Counter[str]()
    for call in ("fdatasync", "unlink", "fsync"):
        for number in range(calls_of(study_in)[call], 0, -1):
            counts += case(at(call, number, "EIO"), forget_staged)
            if counts["lost"]:
                return counts
    return counts


def timed(name: str, work: Callable[[], Counter[str]]) -> Counter[str]:
    """The counts of some work, printed."""
    began = time.monotonic()
    counts = work()
    say(name, counts, began)
    return counts


def run(number: int, every: int, seed: int) -> dict[str, int | float]:
    """All faults and controls; the last line."""
    sizes = 10 if every == 1 else 1
    killed = timed("kill -9 at random instants", lambda: kills(number, seed))
    at_calls = timed("kill -9 at I/O calls", lambda: kills_at_calls(every, seed))
    failed = timed("I/O errors", lambda: errors(every))
    starved = timed("files that may not grow", lambda: full(range(9_000, 9_000 + 6_000 * sizes, 6_000)))
    mounted = timed("full file systems", lambda: full_tmpfs(range(1200, 1200 - 120 * sizes, -120)))
    shown = timed("control: published before committed", published_first)
    forgot = timed("control: staged files removed", staged_removed)
    moved = timed("killed unstaged, resumed elsewhere", lambda: elsewhere(2 + number // 10))
    subset = timed("control: nothing forgotten", lambda: elsewhere(1, forget_nothing))
    spilled = timed("control: an id in a temporary file", lambda: kills(1, seed, leave_an_id))
    real = killed + at_calls + failed + starved + mounted + moved
    return {
        "kills": killed["kills"] + at_calls["kills"],
        "random_kills": killed["kills"],
        "unpaid": real["unpaid"],
        "lost": real["lost"],
        "leaked": real["leaked"],
        "unclear": real["unclear"],
        "faults": failed["faults"],
        "full_disks": starved["full_disks"] + mounted["full_disks"],
        "killed_after_paying": killed["paid_first"] + at_calls["paid_first"],
        "killed_after_staging": killed["staged_first"] + at_calls["staged_first"],
        "resumed_elsewhere": moved["rounds"],
        "draws_left": moved["draws_left"],
        "control_nothing_forgotten_left": subset["draws_left"],
        "control_published_first_unpaid": shown["unpaid"],
        "control_staged_removed_lost": forgot["lost"],
        "control_id_leaked": spilled["leaked"],
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/faults release", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="kill -9 at random instants (default 200)")
    parser.add_argument("--every", type=int, default=1, help="kill and fail at every EVERY-th call (default 1)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    stop_if(available())
    end(run(options.kills, options.every, options.seed))


if __name__ == "__main__":
    main()
