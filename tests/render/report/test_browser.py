"""The report in a real browser: opened as a file, by day and by night, on a phone, on paper, without scripts."""

from __future__ import annotations

import re

import pytest

from barrow.render.report import report_html
from tests.render.report.example import example


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_html(example()), encoding="utf-8", newline="")
    return path


@pytest.fixture
def opened(browser, saved):
    contexts = []

    def open_report(**options):
        context = browser.new_context(**{"viewport": {"width": 960, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.troubles = []
        page.on("console", lambda message: page.troubles.append(message.text))
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("request", lambda request: page.troubles.append(request.url) if request.url != saved.as_uri() else None)
        page.goto(saved.as_uri())
        return page

    yield open_report
    for context in contexts:
        context.close()


def test_nothing_is_asked_and_nothing_is_complained_about(opened):
    page = opened()
    page.mouse.move(400, 700)
    page.wait_for_timeout(100)
    assert page.troubles == []


@pytest.mark.parametrize("width", [320, 390, 780, 1400])
def test_no_page_scrolls_sideways_and_every_figure_is_seen(opened, width):
    page = opened(viewport={"width": width, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    shown = page.evaluate(
        """() => [...document.querySelectorAll("figure")].map(f => [...f.querySelectorAll("svg.bw")]
             .filter(s => s.getBoundingClientRect().width > 100).length)"""
    )
    assert shown == [1] * len(shown)
    assert len(shown) == 7
    smallest = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll("figure svg.bw text")].filter(t => t.getClientRects().length)
             .map(t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a).filter(s => s > 0))"""
    )
    assert smallest >= (11 if width >= 390 else 9)


def test_without_javascript_all_is_there(opened):
    page = opened(java_script_enabled=False)
    text = page.locator("body").text_content()
    report = example()
    assert report.answers[0].table.rows[-1][2] in text.replace("\u00a0", " ")
    assert page.locator("figure svg.bw").first.bounding_box()["height"] > 100
    assert page.locator(".tools").first.is_hidden()
    assert page.locator("details").count() == 2


def test_by_day_and_by_night_axe_finds_nothing(opened, axe):
    page = opened()
    page.evaluate(axe)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        result = page.evaluate("async () => (await axe.run()).violations.map(v => [v.id, v.nodes.map(n => n.html)])")
        assert result == []


def test_dark_is_dark_and_paper_is_white(opened):
    page = opened(color_scheme="dark")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(20, 23, 26)"
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_paper_cuts_nothing(opened):
    page = opened()
    pdf = page.pdf(format="A4")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) <= 4
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 900})
    cut = page.evaluate(
        """() => [...document.querySelectorAll("main *")].filter(e => !(e instanceof SVGElement) && e.clientWidth
             && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible")
             .map(e => e.outerHTML)"""
    )
    assert cut == []


def test_the_saved_table_is_the_file(opened, tmp_path):
    page = opened()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save values.csv").click()
    download.value.save_as(tmp_path / "values.csv")
    assert (tmp_path / "values.csv").read_bytes() == example().answers[0].table.csv.encode()
    assert download.value.suggested_filename == "values.csv"


def test_keys_read_the_map_out_and_buttons_change_it(opened):
    page = opened()
    figure = page.locator("figure").first
    figure.locator("svg.bw").first.focus()
    first = figure.locator(".bw-said").first.text_content()
    assert "95 % interval" in first
    page.keyboard.press("ArrowLeft")
    assert figure.locator(".bw-said").first.text_content() != first
    figure.get_by_role("button", name="Another draw").first.click()
    assert "noise" in figure.locator(".bw-said").first.text_content()


def test_another_draw_runs_while_it_is_let_and_steps_where_nobody_wants_motion(opened):
    page = opened()
    figure = page.locator("figure").first
    button, frame = figure.get_by_role("button", name="Another draw").first, "g[data-frame]:not(.off)"

    def shown():
        return figure.locator("svg.bw").first.locator(frame).first.get_attribute("data-frame")

    page.emulate_media(reduced_motion="reduce")
    button.focus()
    page.keyboard.press("Enter")
    assert (shown(), button.text_content()) == ("0", "Another draw: next")
    page.wait_for_timeout(1000)
    assert shown() == "0"  # nothing moves by itself
    page.keyboard.press("Enter")
    assert shown() == "1"
    page.emulate_media(reduced_motion="no-preference")
    figure.get_by_role("button", name="The release").first.click()
    assert figure.locator("svg.bw").first.locator(frame).count() == 0
    button.click()
    assert button.text_content() == "Another draw: stop"
    figure.locator("svg.bw").first.locator('g[data-frame="1"]:not(.off)').first.wait_for(state="attached", timeout=9000)
    button.click()
    assert button.text_content() == "Another draw"
    kept = shown()
    page.wait_for_timeout(1000)
    assert shown() == kept
