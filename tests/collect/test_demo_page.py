"""The demo page in a real browser: what is sent and remembered, whom it talks to, how reports are distributed."""

from __future__ import annotations

import json
import os
import socket
import threading
import urllib.request

import pytest
from scipy.stats import chi2

from barrow.collect import make_card
from barrow.collect.collector import Collector
from barrow.collect.keys import new_key
from barrow.collect.stores import open_store
from barrow.study import Study

uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
MOODS = ["calm", "glad", "sad", "tense", "tired"]
PAGES = int(os.environ.get("BARROW_PAGES", "25"))
"""Pages over which 20,000 reports are drawn: each has a generator and modules of its own; 200 take minutes."""
EACH = 20_000 // PAGES


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A collector with its demo page, served on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    study = Study(f"discrete(labels={MOODS})", alpha=2, users=1000, model="local")
    card = make_card(study, "frequency(items=1)", signer=new_key("signer"), address=address)
    store = open_store(str(tmp_path_factory.mktemp("store") / "reports.db"), card.survey.digest)
    config = uvicorn.Config(Collector(card, store, demo=True).app(), port=port, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
    yield address, card
    server.should_exit = True
    thread.join(10)


def status(address):
    with urllib.request.urlopen(f"{address}/status") as answer:
        return json.loads(answer.read())


@pytest.fixture
def page(browser, site):
    context = browser.new_context()
    made = context.new_page()
    made.troubles = []
    made.on("console", lambda message: made.troubles.append(message.text))
    made.on("pageerror", lambda error: made.troubles.append(str(error)))
    made.on("request", lambda asked: None if asked.url.startswith(site[0]) else made.troubles.append(asked.url))
    made.goto(site[0])
    made.wait_for_selector("body[data-ready=yes]")
    yield made
    context.close()


def test_a_person_answers_sees_what_leaves_and_it_survives_a_reload(page, site, tmp_path):
    before = status(site[0])["accepted"]
    page.get_by_label("sad").check()
    page.get_by_role("button", name="See what would be sent").click()
    page.wait_for_selector("#outgoing:not([hidden])")
    line = page.locator("#line").text_content()
    report = json.loads(line)
    assert report["study"] == site[1].survey.digest
    assert status(site[0])["accepted"] == before
    page.reload()
    page.wait_for_selector("body[data-ready=yes]")
    assert page.locator("#line").text_content() == line
    page.get_by_role("button", name="Send it").click()
    page.get_by_text("Sent. Thank you.").wait_for()
    assert status(site[0])["accepted"] == before + 1
    page.locator("#bars li").first.wait_for()
    page.reload()
    page.wait_for_selector("body[data-ready=yes]")
    page.get_by_role("button", name="Send it").click()
    page.get_by_text("nothing was counted twice").wait_for()
    assert status(site[0])["accepted"] == before + 1
    assert page.troubles == []
    page.screenshot(path=tmp_path / "demo.png", full_page=True)


def test_axe_finds_nothing_by_day_and_by_night_and_nothing_scrolls_sideways(page, axe):
    page.evaluate(axe)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate("async () => (await axe.run()).violations.map(v => [v.id, v.nodes.map(n => n.html)])")
        assert found == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def statistic(counts, spread):
    total, kinds = sum(counts), len(counts)
    expected = [total * (spread / kinds + (1 - spread) * (item == 0)) for item in range(kinds)]
    return sum((seen - wanted) ** 2 / wanted for seen, wanted in zip(counts, expected, strict=True))


def test_browsers_draw_exactly_what_the_card_says(browser, site):
    address, card = site
    counts = [0] * len(MOODS)
    context = browser.new_context()
    for _ in range(PAGES):
        page = context.new_page()
        page.goto(f"{address}/card")
        drawn = page.evaluate(
            """async ([address, draws]) => {
                 const { readCard } = await import(`${address}/client/card.js`);
                 const { SystemWords } = await import(`${address}/client/words.js`);
                 const card = await readCard(document.body.textContent);
                 const words = new SystemWords();
                 return Array.from({ length: draws }, () => Number(card.draw([0], words)[0]));
               }""",
            [address, EACH],
        )
        page.close()
        for value in drawn:
            counts[value] += 1
    context.close()
    assert sum(counts) == PAGES * EACH
    spread = int(card.channel["nodes"][0][3]) / 2**62
    limit = chi2.isf(1e-6, len(MOODS) - 1)
    assert statistic(counts, spread) < limit
    odds = (spread / 5 + 1 - spread) / (spread / 5)
    wrong = 5 / (4 + odds**1.1)
    assert statistic(counts, wrong) > limit
