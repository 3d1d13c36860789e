"""kill -9 at random instants over four spenders that share one ledger."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from barrow.errors import LedgerError
from barrow.ledger import Ledger
from barrow.ledger.errors import LedgerBusyError, LedgerIOError, NoAuthorityError, OverBudgetError
from tests.faults.check import Found, look
from tests.faults.scenario import MONTHS, STORES, Released, make, pay, released_in

FATAL = 7
AMOUNTS = [Fraction(1, 3), Fraction(2, 7), Fraction(1, 5), Fraction(3, 11)]


def spend(path: Path | str, world: Path, name: str, *, store: str, release_first: bool, monthly: bool = False) -> None:
    """Pay and release until the budget is spent; the life of one spender."""
    ledger, out, spent = Ledger(STORES[store](path)), Released(world), 0
    for number in range(100_000):
        key = f"{name}-{number}"
        try:
            if release_first:
                out.add(key)
            if store == "no-lock":  # An open ledger would notice; so this control looks with fresh eyes.
                ledger = Ledger(STORES[store](path))
            reads = {"reads": MONTHS[number % len(MONTHS)]} if monthly else {}
            reservation = pay(ledger, key, AMOUNTS[number % len(AMOUNTS)], **reads)
            if not release_first:
                out.add(key)
            if store != "no-lock":
                ledger.commit(reservation, "sha256:" + "0" * 64)
        except OverBudgetError:
            spent += 1
            if spent > (2 * len(MONTHS) if monthly else 0):  # a full month leaves others
                return
        except LedgerBusyError:
            continue


def fork(path: Path | str, folder: Path, name: str, *, store: str, release_first: bool, monthly: bool = False) -> int:
    """Start a spender; returns its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        spend(path, folder / f"world-{name}", name, store=store, release_first=release_first, monthly=monthly)
        code = 0
    except (LedgerIOError, NoAuthorityError):
        code = FATAL  # the disk or the server failed, and the spender saw it
    except LedgerError as error:
        os.write(2, f"spender {name}: {error}\n".encode())
    finally:
        os._exit(code)


def round_of(
    folder: Path,
    kills: int,
    rng: random.Random,
    *,
    spenders: int = 4,
    store: str = "real",
    release_first: bool = False,
    where: str | None = None,
    look: Callable[[Any], Found] = look,
    limit: object = None,
    monthly: bool = False,
) -> Counter[str]:
    """One ledger, ``kills`` kills at most, then the survivors spend the rest."""
    path, counts = where or folder / "a.ledger", Counter[str]()
    # Enough budget that spenders are still at work when the last of them is killed.
    make(path, limit or 4 + kills, store, monthly=monthly)
    names = iter(range(10**6))

    def start() -> int:
        return fork(path, folder, str(next(names)), store=store, release_first=release_first, monthly=monthly)

    alive = {start() for _ in range(spenders)}
    while counts["kills"] < kills and alive:
        time.sleep(rng.uniform(0.0, 0.05))
        victim = rng.choice(sorted(alive))
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        alive.discard(victim)
        if os.WIFSIGNALED(status):
            counts["kills"] += 1
            alive.add(start())
        else:
            counts["failed"] += os.waitstatus_to_exitcode(status) != 0
    for child in alive:
        counts["failed"] += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    counts += verdict(path, folder, look)
    return counts


def verdict(path: Path | str, folder: Path, look: Callable[[Any], Found] = look) -> Counter[str]:
    """What was released and what was paid, when everybody is gone."""
    counts, result = Counter[str](), look(path)
    released = set().union(*(released_in(file) for file in folder.glob("world-*")))
    counts["releases"] += len(released)
    counts["reservations"] += len(result.paid)
    counts["unpaid"] += len(released - result.paid)
    counts["overspent"] += result.overspent
    counts["corrupt"] += result.flaw is not None
    try:
        Ledger.open(path).verify()
    except LedgerError:
        counts["refused_by_verify"] += 1
    return counts


def run(kills: int, seed: int, *, per_round: int = 25, **options: object) -> Counter[str]:
    """Rounds until ``kills`` processes were killed."""
    rng, counts = random.Random(seed), Counter[str]()
    while counts["kills"] < kills:
        with tempfile.TemporaryDirectory(prefix="barrow-kills-") as folder:
            wanted = min(per_round, kills - counts["kills"])
            counts += round_of(Path(folder), wanted, rng, **options)  # type: ignore[arg-type]
        counts["rounds"] += 1
    return counts
