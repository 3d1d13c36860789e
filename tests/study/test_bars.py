"""Progress bars are for terminals, and for work that takes long."""

from __future__ import annotations

from barrow.study.bars import Bars, bars


def test_bars_are_not_shown_in_a_pipe(capsys):
    with bars():
        print("planning")
    assert capsys.readouterr() == ("planning\n", "")


def test_quick_work_shows_no_bar(capsys):
    quick = Bars()
    quick.ended(quick.began("planning", 3))
    quick.close()
    assert capsys.readouterr() == ("", "")
