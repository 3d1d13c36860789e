"""The report that a real release wrote, in a real browser: a map, a mean, a histogram of labels."""

from __future__ import annotations

import csv
import hashlib
import re

import pytest
from msgspec import structs

import barrow as bw
from barrow.render.report.release import release_files

TOWNS = [(48.8, 2.3), (52.5, 13.4), (41.9, 12.5), (51.5, 0.0)]
GROUND = "() => getComputedStyle(document.body).backgroundColor"
TEXTS = """() => [...document.querySelectorAll("p, li, dd, dt, td, th, h1, h2, h3, figcaption, summary")]
  .filter(e => e.getClientRects().length).map(e => e.textContent).join("\\n")"""
COLOURED = """() => Math.max(...[...document.querySelectorAll("figure svg.bw .cell, figure svg.bw .bar")]
  .filter(p => p.getClientRects().length).map(p => p.getBBox().width * p.getBBox().height))"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Three releases of two studies."""
    folder = tmp_path_factory.mktemp("real")
    rows = [(k, *TOWNS[k % 4], ("tea", "coffee", "</script>")[k % 3]) for k in range(2000)]
    with open(folder / "people.csv", "w", newline="") as file:
        csv.writer(file).writerows([("uid", "lat", "lon", "drink"), *rows])

    def study(name, space, promise, item, questions):
        study = bw.Study(
            space, [promise], users=2000, dataset=f"{name} & <b>", questions=questions,
            data=bw.read(str(folder / "people.csv"), user="uid", item=item), ledger=str(folder / f"{name}.ledger"),
        )  # fmt: skip
        bw.Ledger.create(study.ledger, study)
        return study

    densities = [bw.Density(bandwidth="400 km", name="map", fraction="1/2"), bw.Distance([48.8, 2.3], name="far")]
    towns = study("towns", bw.Earth(box=(35, -11, 60, 30), cell=100), "all, 100 km, 1", ["lat", "lon"], densities)
    labels = bw.Discrete(["tea", "coffee", "</script>"])
    drinks = study("drinks", labels, "all, 1, 1", "drink", [bw.Histogram(name="drinks")])
    built = [(towns, "map"), (towns, "far"), (drinks, "drinks")]
    return {name: one.release(name, out=folder / name) for one, name in built}


@pytest.fixture(params=["map", "far", "drinks"])
def release(request, folders):
    return folders[request.param]


@pytest.fixture(scope="module")
def contexts(browser):
    """One context for each way to look, shared by all tests."""
    ways = {
        "wide": {"viewport": {"width": 960, "height": 900}},
        "phone": {"viewport": {"width": 390, "height": 800}},
        "bare": {"java_script_enabled": False},
    }
    built = {name: browser.new_context(**options) for name, options in ways.items()}
    yield built
    for context in built.values():
        context.close()


def opened(contexts, way, release):
    page = contexts[way].new_page()
    page.troubles = []
    address = release.report.as_uri()
    page.on("console", lambda message: page.troubles.append(message.text))
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on("request", lambda request: page.troubles.append(request.url) if request.url != address else None)
    page.goto(address)
    return page


def test_it_asks_for_nothing_is_small_and_forbids_everything(contexts, release):
    page = opened(contexts, "wide", release)
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    page.evaluate("() => { const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; }")
    page.wait_for_timeout(50)
    assert all("Content Security Policy" in text or "127.0.0.1:9" in text for text in page.troubles)
    assert len(release.report.read_bytes()) < 400_000
    assert re.search(rb'(href|src)="(?!#|data:)', release.report.read_bytes()) is None
    page.close()


def test_all_of_it_is_there_without_scripts(contexts, release):
    data = dict.fromkeys(("wide", "bare"), "")
    for way in data:
        page = opened(contexts, way, release)
        if way == "wide":
            assert page.troubles == []
            data[way] = page.evaluate(TEXTS)
        else:
            data[way] = page.locator("body").text_content()
            assert page.locator("figure svg.bw").first.bounding_box()["height"] > 50
        page.close()
    assert all(line in data["bare"] for line in data["wide"].split("\n") if line)
    assert "&lt;" not in data["wide"]


def test_something_is_coloured_and_read_out_by_keys(contexts, release):
    page = opened(contexts, "wide", release)
    assert page.evaluate(COLOURED) > 100
    figure = page.locator("figure").first
    figure.locator("svg.bw").first.focus()
    first = figure.locator(".bw-said").first.text_content()
    assert first
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    moved = figure.locator(".bw-said").first.text_content()
    assert moved != first or figure.locator("svg.bw").first.locator("[data-at]:not(.off *)").count() < 2
    assert page.troubles == []
    page.close()


def test_on_a_phone_nothing_is_sideways(contexts, release):
    page = opened(contexts, "phone", release)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    sizes = page.evaluate(
        """() => [...document.querySelectorAll("figure svg.bw text")].filter(t => t.getClientRects().length)
             .map(t => parseFloat(getComputedStyle(t).fontSize) * Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b))"""
    )
    assert min(sizes) >= 10.9
    page.close()


def test_dark_light_and_paper(contexts, release, axe):
    page = opened(contexts, "wide", release)
    page.evaluate(axe)
    for scheme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 26)")):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(GROUND) == ground
        result = page.evaluate("async () => (await axe.run()).violations.map(v => [v.id, v.nodes.map(n => n.html)])")
        assert result == []  # contrast is among what axe checks
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(GROUND) == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 680, "height": 900})
    cut = page.evaluate(
        """() => [...document.querySelectorAll("main *")]
             .filter(e => !(e instanceof SVGElement) && e.clientWidth && e.scrollWidth > e.clientWidth + 1)
             .filter(e => getComputedStyle(e).overflowX !== "visible").map(e => e.outerHTML)"""
    )
    assert cut == []
    page.close()


def test_the_saved_table_is_the_file_beside_it(contexts, folders, tmp_path):
    page = opened(contexts, "wide", folders["map"])
    with page.expect_download() as download:
        page.get_by_role("button", name="Save values.csv").click()
    download.value.save_as(tmp_path / "values.csv")
    assert (tmp_path / "values.csv").read_bytes() == (folders["map"].folder / "values.csv").read_bytes()
    page.close()


def test_printed_bounds_are_never_below_the_statement(release):
    statement = release.statement
    page = release.report.read_text(encoding="utf-8").replace("\u00a0", " ")
    for row in [*statement.protected, statement.worst_case]:
        printed = [float(text) for text in re.findall(r"at most (?:<b>)?([0-9.]+)(?:</b>)? %", page)]
        assert any(100 * row.odds <= number < 100 * row.odds + 0.2 for number in printed)
    for number, unit in re.findall(r"[Ee]ach value is within (?:± )?([0-9.,]+) (\S+) of the true", page):
        assert float(number.replace(",", "")) >= statement.answer.half_width_95 * (100 if unit == "%" else 1)
    assert ("Each value is within" in page) == (
        statement.answer.histogram is None and statement.answer.share_half_width_95 is None
    )


def test_the_same_release_gives_the_same_bytes(release):
    again = release_files(structs.replace(release.statement, files=[]), release.tables, release.plan)["report.html"]
    listed = {file.name: file.sha256 for file in release.statement.files}
    assert hashlib.sha256(again).hexdigest() == listed["report.html"]
