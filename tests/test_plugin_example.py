"""The plug-in in ``examples/plugin`` works from its own wheel, as an installed package: its tests, and a study."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPACE = "prefixes(networks=['10.0.1.0/24', '10.0.2.0/24', '10.9.0.0/24', '8.8.8.0/24'])"
STUDY = ["--user", "uid", "--item", "address", "--users", "300", "--dataset", "visits", "--space", SPACE,
         "--promise", "1 of 10, anywhere, 1", "--question", "private_share"]  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a process that has the wheel's files on its path."""
    pytest.importorskip("hatchling")
    place = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples" / "plugin", place / "source")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)],
        cwd=place / "source", check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = place.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(place / "site")
    assert {path.name for path in (place / "site").iterdir()} == {
        "barrow_prefixes.py",
        "barrow_prefixes-0.1.0.dist-info",
    }
    paths = [str(place / "site"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def run(environment, folder, *words):
    return subprocess.run([sys.executable, *words], env=environment, cwd=folder, capture_output=True, text=True)


def test_its_own_tests_pass(installed, tmp_path):
    shutil.copy(ROOT / "examples" / "plugin" / "tests" / "test_plugin.py", tmp_path)
    ran = run(installed, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_plugin.py")
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert "passed" in ran.stdout


def test_a_study_is_planned_released_and_verified(installed, tmp_path):
    rows = [
        {"uid": i % 300, "address": f"{('10.0.1', '10.0.2', '10.9.0', '8.8.8')[i % 4]}.{i % 250}"} for i in range(900)
    ]
    (tmp_path / "visits.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def barrow(*words, code=0):
        ran = run(installed, tmp_path, "-m", "barrow", *words)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return " ".join((ran.stdout + ran.stderr).split())

    barrow("init", "visits.jsonl", *STUDY)
    word = "is declared by barrow-prefixes 0.1.0, unproved"
    lines = [f"The {what} {word}" for what in ("space 'prefixes'", "question 'private_share'", "engine of 'jsonl'")]
    planned = barrow("plan")
    assert all(text in planned for text in lines)
    barrow("release")
    statement = " ".join((tmp_path / "release" / "private_share" / "statement.txt").read_text().split())
    assert all(text in statement for text in lines), statement
    paid = barrow("ledger", "export", "visits.ledger")
    assert all(text in paid for text in lines)
    assert "✗" not in barrow("--plugins", "verify")
    for command in ("verify", "explain"):
        refused = barrow(command, "release/private_share", code=1)
        assert "'private_share' is not built in. It belongs to barrow-prefixes 0.1.0, which was not loaded." in refused
        assert "barrow --plugins" in refused
