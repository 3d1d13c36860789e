"""A small share of ``scripts/faults release``: whole releases, killed, failed and starved; with controls."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.faults import cuts
from tests.thorough import often


@pytest.mark.skipif(cuts.available() is not None, reason=str(cuts.available()))
def test_releases_survive_kills_errors_and_full_disks() -> None:
    often_enough = ["--kills", str(often(1, 30)), "--every", str(often(45, 10)), "--seed", "25"]
    command = [sys.executable, "-m", "tests.faults.release", *often_enough]
    ended = subprocess.run(command, cwd=cuts.ROOT, env=cuts.environment(), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    counts = json.loads(ended.stdout.splitlines()[-1])
    assert counts["kills"] >= 8
    assert [counts[name] for name in ("unpaid", "lost", "leaked", "unclear", "draws_left")] == [0] * 5
    assert counts["resumed_elsewhere"] >= 2
    assert all(value for name, value in counts.items() if name.startswith("control_"))
