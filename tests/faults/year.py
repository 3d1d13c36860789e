"""A year of twelve cron jobs: one is killed, one typed twice, one month corrected late, a thirteenth does not fit.

``python -m tests.faults.year`` prints what happened as one JSON object.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from barrow.cli.main import main
from barrow.ledger import Ledger
from barrow.study import Release, verify
from tests.faults import cuts
from tests.study import monthly

MONTHS = [f"2026-{month:02}" for month in range(1, 13)]
KILLED, REPEATED, CORRECTED, TOO_MUCH = "2026-05", "2026-07", "2026-03", "2027-01"
PROMISES = ["all, 5 years, 0.5, in any month", "all, 5 years, 3.25, in every month"]
"""The second lasts for thirteen releases: twelve months and one correction."""
_KILLER = """
import os, signal, sys
from barrow.study import Study
from barrow.study.release import run_release
study = Study.read("study.toml")
question = study.question("mean")
(about,), = study.abouts(question, sys.argv[1])
kill = lambda stage: os.kill(os.getpid(), signal.SIGKILL) if stage == sys.argv[2] else None
run_release(study, question, about=about, out=f"release/{sys.argv[1]}/mean", stages=kill)
"""


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def typed(*words: str) -> tuple[int, str]:
    """What a command exits with and prints."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            main(list(words))
        except SystemExit as stop:
            return int(stop.code or 0), told.getvalue()
    return 0, told.getvalue()


def payments() -> int:
    """How often the ledger was paid."""
    return sum(record.kind == "reserve" for record in Ledger.open("ages.ledger").records())


def simulate(folder: Path, stage: str = "stage") -> dict[str, object]:
    """The year; ``stage`` is where the killed job ends."""
    with inside(folder):
        records = monthly.rows()
        monthly.write(Path("ages.parquet"), records)
        sizes = ", ".join(f"{label}={n}" for label, n in monthly.SIZES.items())
        code, told = typed(
            "init", "ages.parquet", "--user", "uid", "--item", "age", "--users", f"{monthly.USERS}", "--dataset",
            "ages", "--space", monthly.SPACE, "--question", "mean(by='region')", "--time", "at", "--period",
            "month", "--zone", "Europe/Berlin", "--periods", "13", "--group", f"region: {sizes}", 
            "--promise", PROMISES[0], "--promise", PROMISES[1],
        )  # fmt: skip
        assert code == 0, told
        paid = []
        for month in MONTHS:
            if month == KILLED:
                command = [sys.executable, "-c", _KILLER, month, stage]
                ended = subprocess.run(command, env=cuts.environment(), capture_output=True, text=True, check=False)
                assert ended.returncode == -9, ended.stderr
            code, told = typed("release", "--period", month, "--ahead", "--quiet")
            assert code == 0, told
            paid.append(payments())
        first = Release.read(f"release/{REPEATED}/mean").rows()
        code, told = typed("release", "--period", REPEATED)
        repeated = (code, "nothing was spent" in told, payments(), first)
        assert repeated == (0, True, 12, Release.read(f"release/{REPEATED}/mean").rows())
        monthly.write(Path("ages.parquet"), [*records, ("p3", 99, "north", f"{CORRECTED}-17 08:00:00")])
        code, told = typed("release", "--period", CORRECTED)  # the same answer again: a correction is asked for by name
        assert (code, payments()) == (0, 12), told
        code, told = typed("release", "--period", CORRECTED, "--data-version", "2", "--quiet")
        assert (code, payments()) == (0, 13), told
        code, refusal = typed("release", "--period", TOO_MUCH, "--ahead")
        assert (code, payments()) == (1, 13), refusal
        folders = [f"release/{month}/mean" for month in MONTHS] + [f"release/{CORRECTED}/mean-2"]
        checks = [check for place in folders for check in verify(place, ledger="ages.ledger")]
        hidden = [str(place) for place in Path("release").rglob(".*")]
        ledger = Ledger.open("ages.ledger")
        ledger.verify()
        return {
            "months": len(MONTHS),
            "paid_after_each": paid,
            "payments": payments(),
            "refused": refusal,
            "verified": all(check.holds for check in checks),
            "draws_left": len(hidden),
            "spent": [str(balance.spent.loss) for balance in ledger.balances()],
            "text": Release.read("release/2026-12/mean").text,
        }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(simulate(Path(place))))
