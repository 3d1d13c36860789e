"""``scripts/faults ledger``: what can happen to a ledger, with counts; the last line is one JSON object."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter

from tests.faults import cuts, kills, starve, tamper


def say(name: str, counts: Counter[str], started: float) -> None:
    text = ", ".join(f"{key} {value}" for key, value in sorted(counts.items()))
    print(f"{name:<34} {text}  ({time.monotonic() - started:.0f} s)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/faults ledger", description=__doc__)
    parser.add_argument("--kills", type=int, default=240, help="kill -9 over 4 spenders (default 240)")
    parser.add_argument("--releases", type=int, default=6, help="releases in the traced run (default 6)")
    parser.add_argument("--torn", type=int, default=4, help="torn disks at each step (default 4)")
    parser.add_argument("--every", type=int, default=1, help="inject errors at every EVERY-th call (default 1)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    reason = cuts.available()
    if reason is not None:
        print(f"Power cuts and I/O errors need strace: {reason}.", file=sys.stderr)
        sys.exit(1)

    def timed(name: str, work: object) -> Counter[str]:
        started = time.monotonic()
        counts: Counter[str] = work()  # type: ignore[operator]
        say(name, counts, started)
        return counts

    def simulated(store: str) -> Counter[str]:
        steps = cuts.record(store, options.releases)
        return cuts.simulate(steps, torn=options.torn, seed=options.seed)

    def second_cuts() -> Counter[str]:
        return cuts.again(cuts.record("real", 3), torn=options.torn, seed=options.seed, starts=20)

    seed = options.seed
    killed = timed("kill -9", lambda: kills.run(options.kills, seed))
    first = timed("control: release before paying", lambda: kills.run(40, seed, release_first=True))
    unlocked = timed("control: no lock", lambda: kills.run(8, seed, per_round=4, store="no-lock"))
    cut = timed("power cuts", lambda: simulated("real"))
    second = timed("second cuts, while mending", second_cuts)
    unsynced = timed("control: no fsync", lambda: simulated("no-sync"))
    folderless = timed("control: folder not fsynced", lambda: simulated("no-folder-sync"))
    failed = timed("I/O errors", lambda: starve.run(2, every=options.every))
    full = timed("full disks", full_disks)
    tampered = timed("tampering", tamper.run)

    real = killed + cut + second + failed + full
    result = {
        "kills": killed["kills"],
        "cuts": cut["cuts"],
        "unpaid": real["unpaid"],
        "overspent": real["overspent"],
        "corrupt": real["corrupt"],
        "kill_releases": killed["releases"],
        "kill_reservations": killed["reservations"],
        "spenders_failed": killed["failed"],
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
        "control_no_lock_overspent": unlocked["overspent"],
        "control_no_fsync_unpaid": unsynced["unpaid"],
        "control_no_fsync_corrupt": unsynced["corrupt"],
        "control_folder_not_synced_unpaid": folderless["unpaid"],
        "control_cut_unseen_without_head": tampered["control_cut_unseen_without_head"],
    }
    print(json.dumps(result))
    bad = ("unpaid", "overspent", "corrupt", "unclear", "undetected", "spenders_failed")
    blind = [name for name, value in result.items() if name.startswith("control_") and value == 0]
    for name in blind:
        print(f"{name} is 0: the harness may be blind.", file=sys.stderr)
    sys.exit(1 if any(result[name] for name in bad) or blind else 0)


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
