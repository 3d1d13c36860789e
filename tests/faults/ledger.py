"""``scripts/faults ledger``: what can happen to a ledger, with counts; the last line is one JSON object."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable

from tests.faults import cuts, kills, postgres, resumes, starve, tamper

BAD = ("unpaid", "overspent", "corrupt", "unclear", "undetected", "spenders_failed", "shown_twice", "lost", "leaked")


def say(name: str, counts: Counter[str], started: float) -> None:
    text = ", ".join(f"{key} {value}" for key, value in sorted(counts.items()))
    print(f"{name:<34} {text}  ({time.monotonic() - started:.0f} s)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/faults ledger", description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite", help="where the ledger is")
    parser.add_argument("--kills", type=int, help="kill -9 over 4 spenders (default 240; Postgres 500)")
    parser.add_argument("--server-kills", type=int, default=100, help="kill -9 of the server (Postgres; default 100)")
    parser.add_argument("--cuts", type=int, default=100, help="power cuts of the server (Postgres; default 100)")
    parser.add_argument("--releases", type=int, default=6, help="releases in the traced run (default 6)")
    parser.add_argument("--torn", type=int, default=4, help="torn disks at each step (default 4)")
    parser.add_argument("--every", type=int, default=1, help="inject errors at every EVERY-th call (default 1)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    end((postgres_faults if options.store == "postgres" else sqlite_faults)(options))


def timed(name: str, work: Callable[[], Counter[str]]) -> Counter[str]:
    started = time.monotonic()
    counts = work()
    say(name, counts, started)
    return counts


def end(result: dict[str, int | float]) -> None:
    """The last line, and whether all is well: nothing bad, and every control saw what it must."""
    print(json.dumps(result))
    blind = [name for name, value in result.items() if name.startswith("control_") and value == 0]
    for name in blind:
        print(f"{name} is 0: the harness may be blind.", file=sys.stderr)
    sys.exit(1 if any(result.get(name) for name in BAD) or blind else 0)


def stop_if(reason: str | None) -> None:
    if reason is not None:
        print(f"These faults cannot be made here: {reason}.", file=sys.stderr)
        sys.exit(1)


def postgres_faults(options: argparse.Namespace) -> dict[str, int | float]:
    """A real server on this machine."""
    stop_if(postgres.may_mount())
    seed = options.seed
    killed = timed("kill -9 of clients", lambda: postgres.clients(options.kills or 500, seed))
    server = timed("kill -9 of the server", lambda: postgres.servers(options.server_kills, seed))
    cut = timed("power cuts", lambda: postgres.cuts(options.cuts, seed))
    first = timed("control: release before paying", lambda: postgres.clients(40, seed, release_first=True))
    lazy = timed("control: synchronous_commit off", lambda: postgres.servers(6, seed, store="synchronous-off"))
    forgetful = timed("control: fsync off", lambda: postgres.cuts(4, seed, store="no-questions", conf="fsync = off\n"))
    speed = timed("8 spenders", lambda: postgres.throughput(10))
    real = killed + server + cut
    return {
        "store": "postgres",  # type: ignore[dict-item]
        "kills": killed["kills"],
        "server_kills": server["server_kills"],
        "cuts": cut["cuts"],
        "unpaid": real["unpaid"],
        "overspent": real["overspent"],
        "corrupt": real["corrupt"] + real["refused_by_verify"],
        "releases": real["releases"],
        "reservations": real["reservations"],
        "spenders_failed": real["failed"],
        "spenders_noticed": real["noticed"],
        "payments_per_second": round(1000 * speed["payments"] / max(1, speed["milliseconds"]), 1),
        "control_release_first_unpaid": first["unpaid"],
        "control_synchronous_commit_off_unpaid": lazy["unpaid"],
        "control_fsync_off_unpaid": forgetful["unpaid"],
    }


def sqlite_faults(options: argparse.Namespace) -> dict[str, int | float]:
    """One file on this machine."""
    stop_if(cuts.available())

    def simulated(store: str) -> Counter[str]:
        steps = cuts.record(store, options.releases)
        return cuts.simulate(steps, torn=options.torn, seed=options.seed)

    def second_cuts() -> Counter[str]:
        return cuts.again(cuts.record("real", 3), torn=options.torn, seed=options.seed, starts=20)

    seed = options.seed
    killed = timed("kill -9", lambda: kills.run(options.kills or 240, seed))
    first = timed("control: release before paying", lambda: kills.run(40, seed, release_first=True))
    unlocked = timed("control: no lock", lambda: without_lock(seed))
    resumed = timed("kill -9, then going on", lambda: resumes.run(150, seed))
    hasty = timed("control: shown before staged", lambda: resumes.run(60, seed, stage=False))
    cut = timed("power cuts", lambda: simulated("real"))
    second = timed("second cuts, while mending", second_cuts)
    unsynced = timed("control: no fsync", lambda: simulated("no-sync"))
    folderless = timed("control: folder not fsynced", lambda: simulated("no-folder-sync"))
    failed = timed("I/O errors", lambda: starve.run(2, every=options.every))
    full = timed("full disks", full_disks)
    tampered = timed("tampering", tamper.run)

    real = killed + resumed + cut + second + failed + full
    return {
        "kills": killed["kills"],
        "cuts": cut["cuts"],
        "unpaid": real["unpaid"],
        "overspent": real["overspent"],
        "corrupt": real["corrupt"],
        "kill_releases": killed["releases"],
        "kill_reservations": killed["reservations"],
        "spenders_failed": killed["failed"] + resumed["failed"],
        "resume_kills": resumed["kills"],
        "resumed": resumed["resumed"],
        "shown_twice": resumed["shown_twice"] + resumed["not_what_was_committed"],
        "lost": resumed["lost"],
        "cut_steps": cut["steps"],
        "cut_states": cut["states"],
        "second_cuts": second["second_cuts"],
        "faults": failed["faults"],
        "faults_fatal": failed["fatal"],
        "faults_harmless": failed["harmless"],
        "unclear": real["unclear"],
        "full_disks": full["full_disks"],
        "tampered": tampered["tampered"],
        "undetected": tampered["undetected"],
        "control_release_first_unpaid": first["unpaid"],
        "control_shown_before_staged": hasty["shown_twice"] + hasty["not_what_was_committed"],
        "control_no_lock_overspent": unlocked["overspent"],
        "control_no_fsync_unpaid": unsynced["unpaid"],
        "control_no_fsync_corrupt": unsynced["corrupt"],
        "control_folder_not_synced_unpaid": folderless["unpaid"],
        "control_cut_unseen_without_head": tampered["control_cut_unseen_without_head"],
    }


def without_lock(seed: int) -> Counter[str]:
    """Rounds until two spenders have seen the same rest; chance decides how soon."""
    counts = Counter[str]()
    for number in range(20):
        counts += kills.run(4, seed + number, per_round=4, store="no-lock")
        if counts["overspent"]:
            break
    return counts


def full_disks() -> Counter[str]:
    counts = Counter[str]()
    for kib in range(8, 72, 4):
        counts += starve.full_disk(kib * 1024, 40)
        mounted = starve.full_tmpfs(kib, 40)
        if mounted is None:
            counts["tmpfs_not_allowed"] += 1
        else:
            counts += mounted
    return counts


if __name__ == "__main__":
    main()
