"""The demo page in a real browser: what is sent and remembered, whom it talks to, how reports are distributed."""

from __future__ import annotations

import json
import os
import urllib.request

import pytest
from scipy.stats import chi2

from barrow.collect import Client, make_card
from barrow.collect.card_form import signed_bytes
from barrow.collect.collector import Collector
from barrow.collect.issuer import Invitations, Issuer, new_invitations
from barrow.collect.keys import b64, new_key
from barrow.collect.stores import open_store
from barrow.study import Study
from tests.collect.asking import free_port, served

pytest.importorskip("httptools", reason="httptools is not installed")
SECRET = "of the operator, and of nobody else"
MOODS = ["calm", "glad", "sad", "tense", "tired"]
PAGES = int(os.environ.get("BARROW_PAGES", "25"))
"""Pages over which 20,000 reports are drawn: each has a generator and modules of its own; 200 take minutes."""
EACH = 20_000 // PAGES
CODES = new_invitations(3)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A collector with its demo page, served on this machine."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    study = Study(f"discrete(labels={MOODS})", alpha=2, users=1000, model="local")
    keys = {"signer": new_key("signer"), "issuer": new_key("issuer")}
    card = make_card(study, "frequency(items=1)", address=address, **keys)
    folder = tmp_path_factory.mktemp("store")
    invitations = Invitations(folder / "invitations.db", card.digest)
    invitations.invite(CODES)
    issuer = Issuer(card, keys["issuer"], invitations)
    store = open_store(str(folder / "reports.db"), card.survey.digest)
    app = Collector(card, store, issuer=issuer, demo=True, operator=SECRET).app()
    with served(app, port):
        yield address, card


def status(address):
    request = urllib.request.Request(f"{address}/status", headers={"Authorization": f"Bearer {SECRET}"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


@pytest.fixture
def page(browser, site):
    context = browser.new_context()
    built = context.new_page()
    built.troubles = []
    built.on("console", lambda message: built.troubles.append(message.text))
    built.on("pageerror", lambda error: built.troubles.append(str(error)))
    built.on("request", lambda request: None if request.url.startswith(site[0]) else built.troubles.append(request.url))
    built.goto(f"{site[0]}/#invitation={CODES[0]}")
    built.wait_for_selector("body[data-ready=yes]")
    yield built
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


def test_an_invitation_lets_one_person_in(browser, site):
    """Another browser with the same link, or one without, is told so, and nothing of it is counted."""
    before = status(site[0])["accepted"]
    mine = f"#invitation={CODES[1]}"
    for link, problem in ((mine, None), (mine, "used invitation"), ("", "no invitation")):
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{site[0]}/{link}")
        page.wait_for_selector("body[data-ready=yes]")
        page.get_by_role("radio", name="calm").check()
        page.get_by_role("button", name="See what would be sent").click()
        page.get_by_role("button", name="Send it").click()
        page.get_by_text(problem or "Sent. Thank you.").wait_for()
        context.close()
    assert status(site[0])["accepted"] == before + 1


ATTACK = """async ([address, texts, limit]) => {
  const { Client, BrowserMemory } = await import(`${address}/client/index.js`);
  const memory = new BrowserMemory("victim");
  const told = [];
  for (const { card, fails } of texts) {
    try {
      const client = await Client.open(card, { memory, limit });
      if (fails) client.card.draw = () => { throw new Error("the draw fails"); };
      await client.line([0]);
      told.push("answered");
    } catch (error) {
      told.push(`${error.name}: ${error.message}`);
    }
  }
  const kept = await memory.update((state) => [...state.surveys.values()].map(({ epsilon }) => epsilon)).catch(String);
  return [told, kept];
}"""


def test_hostile_cards_in_a_browser(browser, site):
    """A limit of 1 against cards that cost 40: by their names, by their prices, by a draw that fails."""
    address = site[0]
    study = Study(f"discrete(labels={MOODS})", alpha=40, users=1000, model="local")
    author = new_key("signer")
    keys = {"signer": author, "issuer": new_key("issuer")}
    dear = make_card(study, "frequency(items=1)", address=address, **keys).data
    cheap = make_card(study.replace(alpha="1/2"), "frequency(items=1)", address=address, **keys).data

    def hostile(**changes):
        built = {**dear, **changes}
        return {"card": json.dumps({**built, "signature": b64(author.sign(signed_bytes(built)))})}

    def run(*texts):
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{address}/card")
        result = page.evaluate(ATTACK, [address, list(texts), "1"])
        context.close()
        return result

    names = ("toString", "__proto__", "constructor", "hasOwnProperty")
    prices = ("-1000", "0", "NaN", "1/0", "9" * 30)
    told, spent = run(
        *(hostile(survey=name) for name in names),
        *(hostile(local={**dear["local"], "epsilon": price}) for price in prices),
        hostile(),
    )
    assert all(text.startswith("CardError") for text in told[:-1]), told
    assert told[-1].startswith("LimitError: This card costs more")
    assert spent == []
    first = {"card": json.dumps(cheap), "fails": True}
    same = hostile(survey=cheap["survey"])
    told, spent = run(first, same, {"card": json.dumps(cheap)}, same)
    assert told[0] == "Error: the draw fails"
    assert told[1].startswith("LimitError: This survey was answered already with another card")
    assert told[2] == "answered"
    assert told[3] == told[1]
    assert spent == [cheap["local"]["epsilon"]]


def test_a_person_with_python_answers_over_the_network(site, tmp_path):
    before = status(site[0])["accepted"]
    me = Client(site[1], memory=tmp_path / "me.json", limit=5)
    assert me.send(["glad"], invitation=CODES[2]) == {"accepted": 1}
    assert me.send(["sad"], invitation=CODES[2]) == {"repeated": 1}
    assert status(site[0])["accepted"] == before + 1


def test_axe_finds_nothing_by_day_and_by_night_and_nothing_scrolls_sideways(page, axe):
    page.evaluate(axe)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        result = page.evaluate("async () => (await axe.run()).violations.map(v => [v.id, v.nodes.map(n => n.html)])")
        assert result == []
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
        sample = page.evaluate(
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
        for value in sample:
            counts[value] += 1
    context.close()
    assert sum(counts) == PAGES * EACH
    spread = int(card.channel["nodes"][0][3]) / 2**62
    limit = chi2.isf(1e-6, len(MOODS) - 1)
    assert statistic(counts, spread) < limit
    odds = (spread / 5 + 1 - spread) / (spread / 5)
    wrong = 5 / (4 + odds**1.1)
    assert statistic(counts, wrong) > limit
