"""Nothing that strangers wrote steers the terminal, and every command writes to it in one place."""

from __future__ import annotations

import ast
import io
import json
from pathlib import Path

import pytest
from rich.console import ColorSystem
from rich.table import Table

import barrow.cli
from barrow.cli.screen import Screen
from barrow.cli.terminal import echo, echo_count, echo_json
from barrow.errors import clean
from barrow.study.bars import Bars
from tests.study.helpers import make_ledger, make_study

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b1A\u202e\x7f\ud800\r"
WRITERS = ("click.echo", "click.secho", "print", "Console", "sys.stdout.write", "sys.stderr.write")
BAD = set(EVIL) - set("]0;owned[2J1A")


def test_what_steers_a_terminal_is_shown_as_a_sign(capsys):
    echo(f"a{EVIL}b\tc\n")
    echo_count("3 reports")
    text = capsys.readouterr()
    assert not BAD & set(text.out)
    assert text.out == clean(f"a{EVIL}b") + "\tc\n\n"
    assert text.err == "\r3 reports"
    assert clean("Zürich, 東京, نرم‌افزار, 👩‍👩‍👧\n") == "Zürich, 東京, نرم‌افزار, 👩‍👩‍👧\n"


def test_json_is_clean_and_reads_back_to_the_same(capsys):
    echo_json({EVIL: [EVIL, "é"]})
    out = capsys.readouterr().out
    assert not BAD & set(out)
    assert json.loads(out) == {EVIL: [EVIL, "é"]}


def test_tables_are_clean_and_keep_their_own_styles():
    table = Table(title=EVIL)
    table.add_column(EVIL)
    table.add_row(EVIL.replace("\ud800", ""))
    screen = Screen()
    screen.file, screen._force_terminal, screen._color_system = io.StringIO(), True, ColorSystem.TRUECOLOR
    screen.print(table, style="bold red")
    text = screen.file.getvalue()
    assert "\x1b[1" in text  # its own
    assert "\x1b]0" not in text
    assert not (BAD - {"\x1b"}) & set(text)


def test_brackets_and_colons_of_strangers_are_no_styles(barrow, capsys):
    odd = "[bold red]km[/] :smile:"
    table = Table(title=odd)
    table.add_column(odd)
    table.add_row(odd)
    Screen(width=200).print(table)
    Screen(width=200).print(odd)
    assert capsys.readouterr().out.count(odd) == 4
    space = f"line(low=0, high=10, step=1, unit='{odd}')"
    code, out, err = barrow("choose", "--space", space, "--promise", f"all, 1 {odd}, 1")
    assert (code, err) == (0, "")
    assert out.count(odd) >= 2


def test_bars_show_names_of_strangers_as_letters(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("FORCE_COLOR", "1")
    bars = Bars(60)
    bars.began(f"planning [red]{EVIL}", None)
    bars._appear()
    bars.close()
    assert clean(f"planning [red]{EVIL}") in shown.getvalue()
    assert "\x1b]0" not in shown.getvalue()
    assert "\u202e" not in shown.getvalue()


def test_no_command_writes_anywhere_else():
    for file in Path(barrow.cli.__file__).parent.glob("*.py"):
        if file.name in ("terminal.py", "screen.py"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert name not in WRITERS, f"{file.name}: {name}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = make_study(tmp_path, ledger="ages.ledger")
    study.write(tmp_path / "study.toml")
    make_ledger(study)
    return study.release("mean", out=tmp_path / "out").folder


def test_statements_columns_and_paths_of_strangers_do_not_steer_the_terminal(barrow, folder, tmp_path):
    statement = json.loads((folder / "statement.json").read_text())
    statement["sentence"] = statement["dataset"] = statement["definition"] = EVIL.replace("\ud800", "")
    statement["files"][0]["name"] = "a\x1b[2J.csv"
    (folder / "statement.json").write_text(json.dumps(statement))
    (tmp_path / "evil.csv").write_text("u\x1b[2Jid,\x9bage\n1,2\n")
    for arguments in (
        ["verify", str(folder)], ["explain", str(folder)], ["report", str(folder)], ["explain", "\x1b[2J"],
        ["check", "evil.csv", "--user", "uid", "--item", "age", "--space", "line(low=0, high=9, step=1)"],
        ["plan", "--sql", "SELECT \x1b[2J FROM x"], ["plan", "--no-such-\x1b[2J"], ["ledger", "show", "\x9b.ledger"],
        ["plan", "\x1b[2J"],
    ):  # fmt: skip
        for more in ([], ["--json"]):
            _, out, err = barrow(*arguments, *more)
            assert not BAD & set(out + err), arguments
