"""What a person sees on a terminal of 80 columns: nothing is torn, no word is cut; piped text has 80 columns too."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import click
import pytest

from barrow.cli.main import _COMMANDS, cli
from barrow.cli.terminal import fitted
from tests.study.helpers import write_ages

STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
INIT = ["init", "ages.csv", "--user", "uid", "--item", "age", "--users", "40", "--dataset", "ages", "--space",
        "line(low=0, high=100, step=1, unit='years', whole=True)", "--promise", "all, 5 years, 0.5", "--promise",
        "1 of 30, 20 years, 0.5", "--promise", "1 of 10, 15 years, 0.5", "--question", "mean", "--question",
        "quantile(of=[0.25, 0.5, 0.75])"]  # fmt: skip
WALK = [
    ["plan"], ["plan", "--verbose"], ["compare"], ["compare", "mean", "--verbose"], ["release"],
    ["release", "mean", "--verbose"], ["release", "--question", "mean"], ["verify", "release/mean"],
    ["explain", "release/mean"], ["ledger", "show"], ["ledger", "show", "--who"], ["check"], ["plan", "nothing"],
    ["choose", "--space", "hours", "--promise", "all, 1 h, 0.5"], ["account", "--help"], ["nothing"],
    ["account", "--alpha", "25", "--delta", "1e-12", "--users", "100000", "--items", "1000", "--model", "central"],
]  # fmt: skip
PROGRAM = "import sys; from barrow.cli.main import main; main(sys.argv[1:])"
MANY = """
import sys
from barrow.cli.main import main
for words in {walk!r}:
    print("\\x1e", flush=True)
    try:
        main(words)
    except SystemExit:
        sys.stdout.flush()
"""


def on_terminal(program: str, folder: object) -> str:
    """What a program writes to a terminal of 80 columns."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    space = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=other, stdout=other, stderr=other, cwd=str(folder), env={**space, "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(other)
    seen = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    child.wait()
    os.close(main)
    return seen.decode()


def lines_of(text: str) -> list[str]:
    """The lines as they stay on the screen; what bars wrote over is gone."""
    return [STYLE.sub("", line).rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]


def test_a_whole_study_fits_into_80_columns(tmp_path):
    write_ages(tmp_path / "ages.csv")
    told = on_terminal(MANY.format(walk=[[*INIT, "--quiet"], *WALK]), tmp_path).split("\x1e")[2:]
    assert len(told) == len(WALK)
    for words, text in zip(WALK, told, strict=True):
        lines = lines_of(text)
        assert max(map(len, lines)) <= 80, (words, max(lines, key=len))
        if "--verbose" not in words and "--help" not in words:
            assert len(lines) <= 26, words  # a screen, and the last line's end
    plan, release = told[WALK.index(["plan"])], told[WALK.index(["release"])]
    for text in (plan, told[WALK.index(["compare"])], release):
        alarm = text[text.index("\x1b[31m") :]
        assert "\x1b[31m" in text
        assert '"all, anywhere, 1"' in " ".join(alarm.split())
    asked = " ".join(told[WALK.index(["release", "--question", "mean"])].split())
    assert "not one of study.toml (mean, quantile)" in asked
    assert "It may use all that is left of every promise" in asked
    assert "type: barrow release mean" in asked


def test_piped_text_has_80_columns_too(tmp_path):
    write_ages(tmp_path / "ages.csv")
    space = {name: value for name, value in os.environ.items() if name != "COLUMNS"}

    def piped(*words: str) -> str:
        run = [sys.executable, "-c", PROGRAM, *words]
        return subprocess.run(run, cwd=tmp_path, env=space, capture_output=True, text=True).stdout

    first = piped(*INIT)
    assert '"all, anywhere, 1"' in " ".join(first.split())
    assert "\x1b" not in first
    assert max(map(len, (first + piped("plan")).splitlines())) <= 80


def every_command() -> list[tuple[str, click.Command]]:
    context = click.Context(cli)
    pairs: list[tuple[str, click.Command]] = []
    for name in _COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        pairs.append((name, command))
        pairs += [(f"{name} {sub}", each) for sub, each in getattr(command, "commands", {}).items()]
    return pairs


@pytest.mark.parametrize(("name", "command"), every_command(), ids=lambda x: x if isinstance(x, str) else "")
def test_help_fits_into_80_columns_and_has_an_example(name, command):
    text = command.get_help(click.Context(command, info_name=f"barrow {name}", terminal_width=80))
    assert max(map(len, text.splitlines())) <= 80, max(text.splitlines(), key=len)
    if not isinstance(command, click.Group):
        assert "Example" in text


def test_words_are_not_cut_and_labels_keep_their_column():
    text = "Against   user-level DP at the promises (laplace, ε = 0.1): 11 times the error, 5.5 % of all of it at most"
    lines = fitted(text, 40).split("\n")
    assert " ".join(line.strip() for line in lines).split() == text.split()
    assert all(line.startswith(" " * 10) for line in lines[1:])
    assert "5.5 %" in fitted(text, 40)
    long = "/a/very/long/path/that/nobody/can/break/without/making/it/useless/to/those/who/copy/it"
    assert fitted(f"Wrote {long}", 40).split() == ["Wrote", long]
