"""Long works say what they do, to people and to nobody else."""

from __future__ import annotations

import io
import sys
import threading
import time

from barrow.progress import has_listener, progress_to, task, with_progress
from barrow.study.bars import Bars, bars


class Terminal(io.StringIO):
    def isatty(self):
        return True


def show(monkeypatch, terminal, *, seconds, work=lambda: None):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("barrow.study.bars.SECONDS", seconds)
    with bars(), task("planning the map"):
        for _ in with_progress(range(4), "simulating [releases]"):
            work()


def test_a_terminal_shows_what_takes_long_and_nothing_stays(monkeypatch):
    terminal = Terminal()

    def work():  # takes as long as the bars need to appear, on any machine
        while "simulating [releases]" not in terminal.getvalue():
            time.sleep(0.01)

    show(monkeypatch, terminal, seconds=0.05, work=work)
    shown = terminal.getvalue().rstrip()
    assert "planning the map" in shown
    assert "simulating [releases]" in shown
    assert shown.endswith("\x1b[2K\x1b[?25h")  # every line is erased, and the cursor is back


def test_what_is_over_soon_shows_nothing(monkeypatch):
    terminal = Terminal()
    show(monkeypatch, terminal, seconds=3600)
    assert terminal.getvalue() == ""


def test_pipes_stay_empty(monkeypatch):
    pipe = io.StringIO()
    show(monkeypatch, pipe, seconds=0.0, work=lambda: time.sleep(0.03))
    assert pipe.getvalue() == ""


def test_whoever_listens_already_is_the_one_that_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    outer = Bars(60)
    with progress_to(outer), bars():
        assert has_listener()
        with task("inner"):
            assert len(outer._works) == 1
    outer.close()


def test_other_threads_have_listeners_of_their_own():
    outer, results = Bars(60), []
    with progress_to(outer):
        thread = threading.Thread(target=lambda: results.append(has_listener()))
        thread.start()
        thread.join()
    outer.close()
    assert results == [False]
