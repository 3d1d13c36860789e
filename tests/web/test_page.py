# ruff: noqa: E501 - scripts that run in the page
"""The page in a real browser: what is shown is what is planned, it follows the controls, and nothing old looks new."""

from __future__ import annotations

import json
import tomllib

import pytest

from barrow.numerics.exact import at_most
from barrow.promises import Policy
from barrow.questions.plan_text import plan_lines
from barrow.spaces import Earth
from barrow.study import Study

SMALL = """
dataset = "ages"
users = 5000
[space]
kind = "line"
low = 0
high = 100
step = 1
unit = "years"
[[promise]]
share = "all"
distance = "5 years"
epsilon = "0.5"
[[promise]]
share = "1/10"
distance = "20 years"
epsilon = "0.5"
[[question]]
kind = "mean"
fraction = "0.75"
[[question]]
kind = "histogram"
"""
FRESH, SECONDS = 'body[data-fresh="yes"]', 300_000


class Opened:
    """A tab of a designer, with everything it complained about and asked for."""

    def __init__(self, browser, link, **options):
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.context.set_default_timeout(SECONDS)
        self.page = self.context.new_page()
        self.troubles, self.asked = [], []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(link)
        self.settled()

    def settled(self):
        self.page.wait_for_selector(FRESH, timeout=SECONDS)

    def value(self, name):
        return self.page.locator(f"#card-{name} dd").inner_text()

    def jobs(self):
        return json.loads(self.page.evaluate("document.body.dataset.jobs"))

    def slide(self, selector, to):
        """Move a slider and wait until the page is fresh."""
        return self.page.evaluate(
            """([selector, to]) => new Promise(done => {
                 const s = document.querySelector(selector);
                 s.value = String(to);
                 s.dispatchEvent(new Event("input", { bubbles: true }));
                 const look = () => document.body.dataset.fresh === "yes" ? done() : setTimeout(look, 1);
                 setTimeout(look, 1);
               })""",
            [selector, to],
        )

    def close(self):
        self.context.close()


@pytest.fixture(scope="module")
def demo(browser, designer):
    """The page as it opens without a study: the map of 25,000 cells."""
    opened = Opened(browser, designer.another_link())
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def ages(running, tmp_path_factory):
    """A designer of a small study, for pages that do not save."""
    folder = tmp_path_factory.mktemp("ages")
    (folder / "study.toml").write_text(SMALL)
    return running(folder)


@pytest.fixture
def small(browser, ages):
    """A page of a small study."""
    opened = Opened(browser, ages.another_link())
    yield opened
    opened.close()


@pytest.fixture
def saving(browser, running, tmp_path_factory):
    """A page of a small study, in a folder of its own."""
    folder = tmp_path_factory.mktemp("saving")
    (folder / "study.toml").write_text(SMALL)
    built = running(folder)
    opened = Opened(browser, built.link)
    opened.folder = folder
    yield opened
    opened.close()
    built.stop()


def test_alpha_and_error_are_those_of_the_library(demo):
    space = Earth(box=(10, -172, 72, -59), cell=50)
    policy = Policy(space, ["1 day of 50, 1000 km, 0.1", "all, 200 km, 1"])
    assert demo.value("alpha") == at_most(policy.alpha_exact, digits=4)
    assert demo.page.locator("#promises li.decides").count() == 1
    assert "decides" in demo.page.locator("#promises li.decides").inner_text()
    assert demo.page.locator("#sentence").inner_text().startswith("User-level DP at the promises")


def test_a_map_is_really_drawn(demo, pictures):
    sample = demo.page.evaluate(
        """() => { const found = {}; for (const c of document.querySelectorAll("#picture .cell")) {
             const b = c.getBBox(); found[c.getAttribute("class")] = b.width * b.height; } return found; }"""
    )
    assert len(sample) >= 3
    assert max(sample.values()) > 500
    seen, of = (int(part) for part in demo.value("seen").split(" of "))
    assert 10 < seen < of
    assert demo.page.locator("#belief .curve").count() == 4
    assert demo.page.locator("#accuracy .curve").count() == 4
    demo.page.screenshot(path=pictures / "designer-light.png", full_page=True)
    demo.settled()


def test_nothing_is_asked_of_others_and_nothing_is_complained_about(demo, designer):
    assert demo.troubles == []
    assert {url.split("/")[2] for url in demo.asked} == {f"127.0.0.1:{designer.port}"}
    assert all("code=" not in url.partition("#")[0] for url in demo.asked)
    assert demo.page.url == f"http://127.0.0.1:{designer.port}/"


def test_the_picture_follows_the_slider(demo):
    sliders = "#promises li:nth-child(2) input[type=range]"
    before = demo.value("error")
    for k in range(15):
        demo.slide(sliders, 30 + k % 5)
    assert demo.value("error") != before  # how fast is what scripts/bench designer measures
    demo.slide(sliders, 40)


def test_sixty_moves_cost_two_jobs_and_the_last_one_wins(demo):
    before = demo.jobs()
    last = demo.page.evaluate(
        """() => { const s = document.querySelector("#promises li:nth-child(2) input[type=range]");
             for (let k = 0; k < 60; k++) { s.value = String(20 + k % 20); s.dispatchEvent(new Event("input", { bubbles: true })); }
             return s.getAttribute("aria-valuetext"); }"""
    )
    demo.settled()
    after = demo.jobs()
    assert sum(after.values()) - sum(before.values()) <= 2
    assert f"asked: at most {last}" in demo.page.locator("#kept li:nth-child(2)").inner_text()
    demo.slide("#promises li:nth-child(2) input[type=range]", 40)


def test_a_wider_bandwidth_shows_a_preview_first(demo):
    before = demo.jobs()
    result = demo.page.evaluate(
        """() => new Promise(done => {
             const s = document.querySelector("#questions input[type=range]"), began = performance.now(), seen = [];
             for (let k = 0; k < 60; k++) { s.value = String(k % 2); s.dispatchEvent(new Event("input", { bubbles: true })); }
             const look = () => { const how = document.body.dataset.fresh;
               if (seen.at(-1)?.[0] !== how) seen.push([how, performance.now() - began, document.querySelector("#card-error dd").textContent, document.getElementById("busy").textContent]);
               how === "yes" ? done(seen) : setTimeout(look, 2); };
             look();
           })"""
    )
    states = [how for how, *_ in result]
    assert states[0] == "no"
    assert states[-1] == "yes"
    previews = [(ms, error, busy) for how, ms, error, busy in result if how == "preview"]
    assert previews
    assert previews[-1][1].startswith("≈")
    assert "preview" in previews[-1][2]
    assert not demo.value("error").startswith("≈")
    after = demo.jobs()
    assert after["slow"] - before["slow"] <= 2
    assert after["preview"] - before["preview"] <= 2
    demo.page.locator("#undo").click()
    demo.settled()
    assert demo.page.locator("#questions input[type=text]").first.input_value() == "400 km"


def test_old_numbers_are_marked_while_new_ones_are_worked_out(demo):
    demo.page.route("**/api/design", lambda route: (demo.page.wait_for_timeout(300), route.continue_()))
    marked = demo.page.evaluate(
        """() => { const s = document.querySelector("#promises input[type=range]"); s.value = "5"; s.dispatchEvent(new Event("input", { bubbles: true }));
             const card = getComputedStyle(document.querySelector("#card-error dd"));
             return [document.body.dataset.fresh, card.fontStyle, document.getElementById("right").getAttribute("aria-busy")]; }"""
    )
    assert marked == ["no", "italic", "true"]
    demo.settled()
    demo.page.unroute("**/api/design")
    assert demo.page.locator("#right").get_attribute("aria-busy") == "false"
    demo.page.locator("#undo").click()
    demo.settled()


def test_by_day_and_by_night_axe_finds_nothing(demo, axe, pictures):
    demo.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    demo.page.evaluate(axe)
    for scheme in ("light", "dark"):
        demo.page.emulate_media(color_scheme=scheme)
        result = demo.page.evaluate(
            "async () => (await axe.run()).violations.map(v => [v.id, v.nodes.map(n => n.html)])"
        )
        assert result == [], scheme
    demo.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = false; })")
    demo.page.screenshot(path=pictures / "designer-dark.png", full_page=True)
    demo.page.emulate_media(color_scheme="light")
    demo.settled()


def test_a_phone_scrolls_down_only(demo, pictures):
    demo.page.set_viewport_size({"width": 390, "height": 800})
    demo.settled()
    demo.page.wait_for_timeout(200)
    demo.settled()
    assert demo.page.evaluate("document.documentElement.scrollWidth") == 390
    smallest = demo.page.evaluate(
        """() => Math.min(...[...document.querySelectorAll("main svg.bw text")].filter(t => t.getClientRects().length)
             .map(t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a).filter(s => s > 0))"""
    )
    assert smallest >= 11
    demo.page.screenshot(path=pictures / "designer-phone.png", full_page=True)
    demo.page.set_viewport_size({"width": 1280, "height": 900})
    demo.page.wait_for_timeout(200)
    demo.settled()


def test_a_box_is_drawn_with_the_pointer(demo):
    world = demo.page.locator(".world")
    world.scroll_into_view_if_needed()
    at = world.bounding_box()
    degree = at["width"] / 360
    demo.page.mouse.move(at["x"] + 170 * degree, at["y"] + 30 * degree)
    demo.page.mouse.down()
    demo.page.mouse.move(at["x"] + 190 * degree, at["y"] + 45 * degree, steps=3)
    demo.page.mouse.up()
    ends = [float(box.input_value()) for box in demo.page.locator(".four input").all()]
    assert ends == pytest.approx([45, -10, 60, 10], abs=1.5)
    demo.settled()
    assert "of" in demo.value("seen")
    demo.page.locator("#undo").click()
    demo.settled()
    assert [box.input_value() for box in demo.page.locator(".four input").all()] == ["10", "-172", "72", "-59"]


def test_mistakes_stand_beside_their_controls(small, pictures):
    page = small.page
    distance = page.get_by_label("Promise 1: how far elsewhere")
    distance.fill("5 kg")
    problem = page.locator('[data-where="promise-0"] .problem')
    problem.wait_for()
    sentence = problem.inner_text()
    assert "'kg'" in sentence
    assert "Allowed: years" in sentence
    assert "Try: " in sentence
    assert distance.get_attribute("aria-invalid") == "true"
    assert page.locator("body").get_attribute("data-fresh") == "no"
    assert "not this one" in page.locator("#busy").inner_text()
    page.screenshot(path=pictures / "designer-mistake.png")
    distance.fill("5 years")
    small.settled()
    assert page.locator(".problem").count() == 0
    for name, text, where in (("People", "many", "users"), ("δ", "2", "delta"), ("Fraction of α", "1.5", "question-0")):
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        control = page.get_by_label(name, exact=True).first
        old = control.input_value()
        control.fill(text)
        page.locator(f'[data-where="{where}"] .problem').wait_for()
        control.fill(old)
        small.settled()
    assert [t for t in small.troubles if "422" not in t] == []


def test_what_is_saved_plans_to_what_was_shown(saving):
    page = saving.page
    page.get_by_role("button", name="Save study.toml").click()
    page.get_by_text("Saved as study.toml").wait_for()
    saved = Study.read(saving.folder / "study.toml")
    plan = saved.plan("mean")
    assert saving.value("error") == f"± {at_most(plan.error, 'years')}"
    assert saving.value("alpha") == at_most(saved.alpha, digits=4)
    assert page.locator("#plan").text_content().splitlines() == plan_lines(plan)
    assert page.locator("#toml").text_content() == (saving.folder / "study.toml").read_text()
    assert (saving.folder / "study.toml.before").read_text() == SMALL
    assert "50 % guess can become at most" in page.locator("#statement").text_content()
    assert page.locator("#commands").text_content().splitlines()[0] == "barrow plan study.toml"
    # Each question is shown by itself.
    page.get_by_label("Show question 2").check()
    saving.settled()
    assert saving.value("error") == at_most(saved.plan("histogram").error, "years")


def test_a_file_that_somebody_changed_is_not_overwritten(saving):
    file = saving.folder / "study.toml"
    file.write_text(SMALL.replace("5000", "6000"))
    saving.page.get_by_role("button", name="Save study.toml").click()
    saving.page.locator('[data-where="save"] .problem').wait_for()
    assert "6000" in file.read_text()
    saving.page.get_by_role("button", name="Save over it").click()
    saving.page.get_by_text("Saved as study.toml").wait_for()
    assert tomllib.loads(file.read_text())["users"] == 5000
    assert "6000" in (saving.folder / "study.toml.before").read_text()


def test_two_tabs_do_not_overwrite_each_other(browser, running, tmp_path):
    (tmp_path / "study.toml").write_text(SMALL)
    built = running(tmp_path)
    first, second = (Opened(browser, built.another_link()) for _ in range(2))
    first.page.get_by_label("People").fill("6000")
    first.settled()
    first.page.get_by_role("button", name="Save study.toml").click()
    first.page.get_by_text("Saved as study.toml").wait_for()
    second.page.get_by_label("People").fill("7000")
    second.settled()
    second.page.get_by_role("button", name="Save study.toml").click()
    second.page.locator('[data-where="save"] .problem').wait_for()
    assert tomllib.loads((tmp_path / "study.toml").read_text())["users"] == 6000
    first.page.get_by_label("People").fill("6001")  # a tab may save what it saved itself
    first.settled()
    first.page.get_by_role("button", name="Save study.toml").click()
    first.page.wait_for_selector("body[data-saved=yes]")
    assert tomllib.loads((tmp_path / "study.toml").read_text())["users"] == 6001
    first.close()
    second.close()
    built.stop()


def test_suggestions_are_drawn_and_taken(small, pictures):
    small.page.get_by_role("button", name="Suggest a grid").click()
    take = small.page.get_by_role("button", name="Take ")
    take.wait_for(timeout=SECONDS)
    assert small.page.locator(".suggestion svg .curve").count() == 1
    small.page.locator(".suggestion").screenshot(path=pictures / "suggestion.png")
    words = take.inner_text()
    take.click()
    small.settled()
    assert words == f"Take {float(small.page.get_by_label('Width of the cells').input_value()):g} years"


def test_keys_alone_are_enough(small):
    page = small.page
    page.get_by_label("Promise 1: what a 50 % guess may become at most").focus()
    before = small.value("alpha")
    page.keyboard.press("ArrowRight")
    small.settled()
    assert small.value("alpha") != before
    page.keyboard.press("Control+z")
    small.settled()
    assert small.value("alpha") == before
    page.keyboard.press("Control+Shift+Z")
    small.settled()
    assert small.value("alpha") != before
    page.locator("#add-promise").focus()
    page.keyboard.press("Enter")
    small.settled()
    assert page.locator("#promises > li").count() == 3
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Promise 3")
    # Every control can be reached, and nothing keeps the keys.
    reached = set()
    page.evaluate("document.body.focus()")
    for _ in range(90):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.id || document.activeElement.getAttribute('aria-label') || ''")
        )
    assert {"save", "download", "typed", "add-question", "undo"} <= reached


@pytest.mark.parametrize("shown", [["hours", "weekdays", "week", "labels"], ["tree", "embedding", "line", "other"]])
def test_every_space_of_the_catalogue_has_a_picture(small, shown, pictures):
    page = small.page
    for entry in shown:
        page.get_by_label("Records are").select_option(entry)
        page.wait_for_function("entry => document.querySelector('#space select').value === entry", arg=entry)
        small.settled()
        page.wait_for_timeout(150)
        small.settled()
        assert page.locator(".problem").count() == 0, entry
        box = page.locator("#picture svg.bw").bounding_box()
        assert box["height"] > 60, entry
        area = page.evaluate(
            """() => [...document.querySelectorAll("#picture .bar, #picture .cell, #picture path, #picture rect")]
                 .map(e => e.getBBox()).reduce((sum, b) => sum + b.width * b.height, 0)"""
        )
        assert area > 100, entry
        page.locator("#picture").screenshot(path=pictures / f"space-{entry}.png")
    assert small.troubles == []


def test_hostile_names_stay_text(small):
    evil = "</script><img src=x onerror=alert(1)>"
    small.page.get_by_label("Data set", exact=True).fill(evil)
    small.settled()
    assert small.page.locator("img").count() == 0
    assert evil in small.page.locator("#toml").text_content()
    assert small.troubles == []


def test_a_draft_outlives_a_killed_designer(browser, running, tmp_path):
    (tmp_path / "study.toml").write_text(SMALL)
    first = running(tmp_path)
    opened = Opened(browser, first.link)
    opened.page.get_by_label("Data set", exact=True).fill("renamed")
    opened.settled()
    opened.page.wait_for_timeout(100)
    first.stop(hard=True)
    opened.page.get_by_label("Data set", exact=True).fill("renamed-2")
    opened.page.get_by_text("The server is gone.").wait_for()
    opened.close()
    again = Opened(browser, running(tmp_path).link)
    assert again.page.get_by_label("Data set", exact=True).input_value() == "ages"
    again.page.get_by_role("button", name="Bring it back").click()
    again.settled()
    assert again.page.get_by_label("Data set", exact=True).input_value() == "renamed"
    assert (tmp_path / "study.toml").read_text() == SMALL
    again.page.reload()
    again.settled()
    assert again.page.get_by_label("Data set", exact=True).input_value() == "renamed"
    again.close()
