"""kill -9 over spenders that go on where another one was killed: each key is paid once and one draw of it is shown."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

from barrow.ledger import Ledger
from barrow.ledger.errors import AlreadyPaidError, LedgerBusyError, NoAuthorityError
from barrow.ledger.opened import Committed, Reservation, Staged
from tests.faults.check import look
from tests.faults.scenario import make, pay

PARAMETERS = {"question": "mean"}


def digest(value: bytes) -> str:
    return "sha256:" + hashlib.sha256(value).hexdigest()


def one(ledger: Ledger, folder: Path, key: str, *, stage: bool) -> None:
    """Bring the release ``key`` one way to its end, wherever it stopped."""
    result = ledger.resume(key, PARAMETERS)
    if isinstance(result, Committed) and not stage:
        return
    if result is None:
        result = pay(ledger, key, 1, parameters=PARAMETERS, resumable=True)
    if isinstance(result, Reservation):
        result.take()
        value = os.urandom(16).hex().encode()
        draft = folder / "stage" / f"{key}.{digest(value)[7:23]}"
        with draft.open("xb") as file:
            file.write(value)
            file.flush()
            os.fsync(file.fileno())
        if not stage:  # the control: what was drawn is shown before it is staged
            show(folder, key, value)
        result = ledger.stage(result, digest(value))
    subset = folder / "stage" / f"{key}.{result.outputs[7:23]}"
    if isinstance(result, Staged):
        ledger.commit(result)
    if stage:
        show(folder, key, subset.read_bytes())


def show(folder: Path, key: str, value: bytes) -> None:
    """The world sees a value: it is never forgotten."""
    with (folder / "shown").open("ab") as file:
        file.write(key.encode() + b" " + value + b"\n")
    (folder / "done" / key).touch()


def live(folder: Path, keys: int, *, stage: bool) -> None:
    """The life of one spender: any release that is not done."""
    ledger, rng = Ledger.open(folder / "a.ledger"), random.Random(os.getpid())
    while left := [k for k in map(str, range(keys)) if not (folder / "done" / k).exists()]:
        try:
            one(ledger, folder, rng.choice(left[:4]), stage=stage)
        except (AlreadyPaidError, LedgerBusyError, NoAuthorityError):
            continue  # another one was quicker


def run(kills: int, seed: int, *, stage: bool = True, spenders: int = 3) -> Counter[str]:
    """Kill spenders until ``kills`` were, let the last ones finish, and look at what the world saw."""
    rng, counts, keys = random.Random(seed), Counter[str](), max(8, kills)
    with tempfile.TemporaryDirectory(prefix="barrow-resumes-") as name:
        folder = Path(name)
        (folder / "stage").mkdir()
        (folder / "done").mkdir()
        make(folder / "a.ledger", keys)  # exactly enough: a second charge for any key would be refused
        alive = {_fork(folder, keys, stage) for _ in range(spenders)}
        while counts["kills"] < kills and alive:
            time.sleep(rng.uniform(0.0, 0.04))
            victim = rng.choice(sorted(alive))
            os.kill(victim, signal.SIGKILL)
            status = os.waitpid(victim, 0)[1]
            alive.discard(victim)
            if os.WIFSIGNALED(status):
                counts["kills"] += 1
                alive.add(_fork(folder, keys, stage))
            else:
                counts["failed"] += os.waitstatus_to_exitcode(status) != 0
        for child in alive:
            counts["failed"] += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
        shown: dict[str, set[str]] = {}
        for line in (folder / "shown").read_text().splitlines():
            key, _, value = line.partition(" ")
            shown.setdefault(key, set()).add(value)
        ledger, result = Ledger.open(folder / "a.ledger"), look(folder / "a.ledger")
        committed = {r.key: r.outputs for k in shown if isinstance(r := ledger.resume(k, PARAMETERS), Committed)}
        counts["shown_twice"] += sum(len(values) > 1 for values in shown.values())
        counts["unpaid"] += len(set(shown) - result.paid)
        counts["lost"] += keys - len(shown)
        counts["not_what_was_committed"] += sum(
            {digest(v.encode()) for v in values} != {committed.get(key)} for key, values in shown.items()
        )
        counts["overspent"] += result.overspent
        counts["corrupt"] += result.flaw is not None
        counts["resumed"] += sum(record.kind == "resumed" for record in ledger.records())
        counts["keys"] += keys
    return counts


def _fork(folder: Path, keys: int, stage: bool) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        live(folder, keys, stage=stage)
        code = 0
    except Exception as error:
        os.write(2, f"spender: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)
