"""Numbers on the command line are read as strictly as everywhere else."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from barrow.cli.main import cli
from barrow.cli.numbers import Whole

ODD = ["1_000", "١٠٠", "１０", "1,000", "0x10", "10.5", "ten", "", "nan", "9" * 9000]


def options(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Parameter]]:
    """Every option of every command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from options(command, (*path, name))
        elif command is not None:
            yield from (((*path, name), option) for option in command.params)


WHOLE = [(path, option) for path, option in options() if isinstance(option.type, Whole)]


def test_python_reads_no_number_of_any_command():
    """Python's int and float take 1_000, digits of every script, and spaces round them."""
    lax = (type(click.INT), type(click.FLOAT))  # ranges are of these, too
    assert [f"{' '.join(path)} {option.name}" for path, option in options() if isinstance(option.type, lax)] == []
    assert len(WHOLE) >= 20


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_numbers_are_refused_by_every_option(text):
    for path, option in WHOLE:
        with pytest.raises(click.BadParameter, match="a whole number"):
            option.type.convert(text, option, click.Context(cli, info_name=" ".join(path)))


def test_limits_and_words(barrow):
    assert Whole(1, 9).convert("9", None, None) == Whole().convert(9, None, None) == 9
    for typed in ("0", "10", "-1"):
        with pytest.raises(click.BadParameter, match=r"a whole number from 1 to 9, e\.g\. 9\."):
            Whole(1, 9).convert(typed, None, None)
    arguments = ("choose", "--space", "hours", "--promise", "all, 1 h, 1", "--quiet", "--users")
    assert barrow(*arguments, "1000")[0] == 0
    code, out, err = barrow(*arguments, "1_000")
    assert (code, out) == (2, "")
    assert "Invalid value for '--users': it is '1_000'. Allowed: a whole number, 0 or more, e.g. 1000." in err


def test_a_confidence_is_read_as_every_probability(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text('alpha = 1\nusers = 9\n[space]\nkind = "hours"\n')
    for typed in ("0_1", "٠.١", "1e400", "2"):
        code, _, err = barrow("region", "out", "--items", "1", "--confidence", typed)
        assert code == 1
        assert "confidence is " in err
