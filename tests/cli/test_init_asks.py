"""What ``barrow init`` asks on a terminal: a wrong answer is asked for again, and nothing typed before is lost."""

from __future__ import annotations

import click
import pytest

from barrow.cli.init import _ask, _columns
from barrow.errors import ParameterError


def answers(monkeypatch, *texts):
    """A person who types these lines; a question that nobody answers is an error."""
    left = list(texts)

    def prompt(question, default=None, type=None, **_):
        text = left.pop(0) or default
        return text if type is None else type.convert(text, None, None)

    monkeypatch.setattr(click, "prompt", prompt)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: False)
    return left


def test_wrong_answers_are_asked_for_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("person,lat,lon\na,40.7,-74.0\n")
    left = answers(
        monkeypatch,
        *("persn", "person", "lat, long", "lat, lon", "erth", "earth(box=(40.5, -74.3, 41.0, -73.6), cell=5)"),
        *("1 of 10", "5 kilm", "0.5", "1 of 10", "5 km", "0.5", "histogram", "2000", "visits", "", "", "", "", ""),
    )
    flags = {"source": "visits.csv", "user": None, "items": (), "space": None, "promises": (), "alpha": None}
    flags |= {"questions": (), "users": None, "dataset": None}
    _ask(flags)
    assert not left
    assert (flags["user"], flags["items"], flags["users"]) == ("person", ("lat", "lon"), 2000)
    assert flags["promises"] == ("1 of 10, 5 km, 0.5",)
    told = capsys.readouterr().err
    for words in ("There is no column 'persn'", "fix:     lon", "Did you mean 'earth'", 'fix:     "5 km"'):
        assert words in told


def test_columns_are_those_of_the_file():
    assert _columns(["a", "b"], "b , a") == ("b", "a")
    with pytest.raises(ParameterError, match="There is no column 'c'"):
        _columns(["a", "b"], "a, c")
