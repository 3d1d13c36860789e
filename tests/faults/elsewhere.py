"""Releases that die between writing files and telling the ledger, and go on in other folders: one draw is left."""

from __future__ import annotations

import os
import signal
import tempfile
from collections import Counter
from pathlib import Path

from tests.faults.processes import Patch, started
from tests.faults.published import study_in


def die_unstaged() -> None:
    """As by kill -9, when all files are on the disk and the ledger does not know."""
    from barrow.ledger import Ledger

    Ledger.stage = lambda *args: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign,assignment]


def forget_nothing() -> None:
    """The mistake of leaving what earlier attempts drew where it is."""
    from barrow.study.outputs import Stage

    Stage.forget = lambda self: None  # type: ignore[method-assign]


def elsewhere(rounds: int, patch: Patch | None = None) -> Counter[str]:
    """Each round: two attempts die in two folders, then one command goes on in a third, or two at once."""
    counts = Counter[str]()
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="barrow-release-") as name:
            folder = Path(name)
            study_in(folder)
            for out in ("a/mean", "b/mean"):
                counts["kills"] += started(folder, _both(patch, die_unstaged), out=out).wait().killed
            counts["unshown"] += len(_drawn(folder)[0])
            going = [started(folder, patch, out=f"{place}/mean") for place in ("c", "d")[: 1 + number % 2]]
            codes = [child.wait().code for child in going]
            hidden, shown = _drawn(folder)
            counts["rounds"] += 1
            counts["draws_left"] += len(hidden)
            counts["lost"] += 0 not in codes or len(shown) != 1
    return counts


def _both(first: Patch | None, second: Patch) -> Patch:
    def patch() -> None:
        if first is not None:
            first()
        second()

    return patch


def _drawn(folder: Path) -> tuple[list[Path], list[Path]]:
    """Where drawn values lie: hidden, and published."""
    places = [file.parent for file in folder.rglob("values.csv")]
    hidden = [place for place in places if place.name.startswith(".")]
    return hidden, [place for place in places if place not in hidden]
