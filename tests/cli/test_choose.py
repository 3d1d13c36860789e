"""``barrow choose`` from the outside: what it prints, its JSON, its errors, its file."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from barrow.study import read_study

PAPER = ["--space", "earth", "--promise", "1/30, 1000 mi, 0.2", "--promise", "1, 100 mi, 0.2", "--delta", "1e-12"]


def test_json_has_what_the_paper_has(barrow):
    code, out, err = barrow("choose", *PAPER, "--json")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert round(data["alpha"], 2) == 24.87
    assert (data["delta"], data["unit"]) == (1e-12, "km")
    first, second = data["promises"]
    assert set(first) >= {"share", "distance", "epsilon_asked", "epsilon_got", "binds"}
    assert (first["binds"], second["binds"]) == (False, True)
    assert second["epsilon_got"] == pytest.approx(0.2)
    assert second["distance"] == pytest.approx(160.9344)


def test_words_for_people(barrow):
    code, out, _ = barrow("choose", *PAPER, "--users", "100000")
    assert code == 0
    for part in ("24.87", "20,015.1 km", "← decides", "≤ 55.0 %", "100,000 people", "Worst case", "0.002 per mi"):
        assert part in out


def test_quiet_prints_alpha_only(barrow):
    assert barrow("choose", *PAPER, "--quiet")[1].startswith("24.87")
    assert len(barrow("choose", *PAPER, "--quiet")[1].split()) == 1


def test_the_study_file_can_be_read_back_and_is_never_overwritten(barrow, tmp_path):
    file = tmp_path / "study.toml"
    grid = ["--space", "earth(cell=50, box=(35, -10, 60, 20))", "--promise", "1 day of 30, 100 km, 0.2"]
    assert barrow("choose", *grid, "--save", str(file), "--dataset", "trips", "--users", "42")[0] == 0
    study = read_study(file)
    assert (study.dataset, study.users, study.space.cell) == ("trips", 42, 50.0)
    code, out, _ = barrow("choose", "--space", str(file), "--promise", "1 day of 30, 100 km, 0.2", "--json")
    assert json.loads(out)["alpha"] == study.policy.alpha
    before = file.read_text()
    code, _, err = barrow("choose", *grid, "--save", str(file))
    assert code == 1
    assert "exists" in err
    assert file.read_text() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--space", "earth"], "No space or no promise"),
        (["--space", "moon", "--promise", "1, 1 km, 1"], "kind of space is 'moon'"),
        (["--space", "earth(", "--promise", "1, 1 km, 1"], "cannot be read"),
        (["--space", "earth", "--promise", "2, 1 km, 1"], "share is 2"),
        (["--space", "earth", "--promise", "1, 1 parsec, 1"], "unit 'parsec'"),
        (["--space", "earth", "--promise", "1, 1 km, 1", "--delta", "2"], "delta is 2"),
        (["--space", "earth", "--promise", "1, 1 km, 1", "--users", "0"], "users is 0"),
        (["--space", "none.toml", "--promise", "1, 1 km, 1"], "no study file"),
        (["--space", "earth", "--promise", "1, 1 km, 1", "--save", "/nowhere/x.toml"], "cannot be written"),
    ],
)
def test_errors_teach(barrow, arguments, words):
    code, out, err = barrow("choose", *arguments)
    assert (code, out) == (1, "")
    assert words in err
    assert "fix:" in err
    code, out, err = barrow("choose", *arguments, "--json")
    assert (code, err) == (1, "")
    assert words in json.loads(out)["problem"]


def test_unknown_commands_and_options_exit_with_two(barrow):
    assert barrow("chose")[0] == 2
    assert barrow("choose", "--nope")[0] == 2
    code, out, _ = barrow("--help")
    assert code == 0
    assert "choose" in out
    assert "Example" in barrow("choose", "--help")[1]


def test_without_options_it_asks():
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "barrow", "choose"],
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    os.write(leader, b"earth\n1 day of 30\n1000 mi\n0.2\ny\nall\n100 mi\n0.2\nn\n1e-12\n")
    out, _ = process.communicate(timeout=600)
    os.close(leader)
    os.close(follower)
    assert process.returncode == 0
    assert "24.87" in out
