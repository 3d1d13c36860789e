"""The page that explains the idea: its numbers are the planner's, and it works in a browser without any request."""

from __future__ import annotations

import json
import math
import re

import pytest

from barrow.promises import odds_upper, percent_up
from barrow.render.idea import LONGEST, example_people, idea, idea_page, idea_still


def test_its_numbers_are_those_of_the_two_guarantees():
    shown = idea()
    alpha = 0.2 * LONGEST / 5  # the promise: all data by 5 minutes at epsilon 0.2
    for share, row in zip(shown.shares, shown.learnt, strict=True):
        for far, said in zip(shown.distances, row, strict=True):
            exact = 1 / (1 + math.exp(-alpha * share / 100 * far / LONGEST))
            assert 100 * exact <= float(said.removesuffix(" %")) <= 100 * exact + 0.11
    assert shown.constant == percent_up(odds_upper(0.2, 0.0)) == "55.0 %"
    assert shown.alarming[-1][-1]  # it says where barrow hides less
    assert not shown.better[-1][-1]
    assert shown.better[0][0]
    assert float(shown.errors["emd"].split()[0]) < float(shown.errors["user_level"].split()[0])
    assert sum(shown.truth) == pytest.approx(1.0, abs=1e-3)
    assert example_people().sum() == pytest.approx(1.0)
    for drawn in shown.draws.values():
        for bars in drawn:
            assert sum(bars) == pytest.approx(1.0, abs=1e-2)


def test_the_page_holds_everything_and_the_still_too():
    page = idea_page()
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    told = json.loads(re.search(r'id="tables">(.*?)</script>', page)[1])
    assert told["learnt"] == idea().learnt
    assert "Where barrow hides less" in page
    assert idea_still().count('class="truth"') == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_moved_by_keys_alone(browser, axe, tmp_path, scheme):
    file = tmp_path / "idea.html"
    file.write_text(idea_page(), encoding="utf-8")
    context = browser.new_context(
        viewport={"width": 390 if scheme == "dark" else 1040, "height": 900}, color_scheme=scheme
    )
    page, told = context.new_page(), []
    page.on("console", lambda message: told.append(message.text))
    page.on(
        "request", lambda request: told.append(request.url) if not request.url.startswith(("file:", "data:")) else None
    )
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    before = page.inner_text("#emd-odds")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")  # how far
    page.keyboard.press("End")
    assert page.inner_text("#emd-odds") != before
    assert "almost surely" in page.inner_text("#verdict")
    bar = page.get_attribute("#emd-chart .bar:nth-child(6)", "height")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # draw again
    assert page.get_attribute("#emd-chart .bar:nth-child(6)", "height") != bar
    page.evaluate(axe)
    assert page.evaluate("axe.run().then(found => found.violations.map(v => v.id))") == []
    assert told == []
    context.close()


def test_the_command(tmp_path, monkeypatch, capsys):
    from barrow.cli.main import main

    monkeypatch.chdir(tmp_path)
    for words, code in ((["explain", "--idea"], 0), (["explain"], 1)):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert (stop.value.code or 0) == code
    assert (tmp_path / "idea.html").read_text(encoding="utf-8") == idea_page()
    assert "barrow explain --idea" in capsys.readouterr().err
