"""Figures in a real browser: what is read out, what is seen, whether anything is asked of anybody.

They are skipped where Debian's chromium or the package playwright is missing; the check of accessibility needs npm.
"""

from __future__ import annotations

import pytest

from barrow.render import figures as fig
from tests.render.figures.fonts import FONTS, installed
from tests.render.figures.gallery import PICTURES, narrow

TEXTS = """k => {
  const svg = document.querySelectorAll("svg.bw")[k], back = svg.getCTM().inverse();
  return [...svg.querySelectorAll("text")].filter(t => t.getClientRects().length && !t.closest(".off")).map(t => {
    const b = t.getBBox(), m = back.multiply(t.getCTM());
    const p = [[b.x, b.y], [b.x + b.width, b.y + b.height]].map(([x, y]) => new DOMPoint(x, y).matrixTransform(m));
    const x = p.map(q => q.x).sort((a, b) => a - b), y = p.map(q => q.y).sort((a, b) => a - b);
    return { said: t.textContent, size: parseFloat(getComputedStyle(t).fontSize), box: [x[0], y[0], x[1], y[1]] };
  });
}"""


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """Opens figures in one page as a file; whatever the page asks for or complains about is collected."""
    contexts = []

    def open_figures(*figures, scheme="light", javascript=True, width=900, font=None):
        context = browser.new_context(
            color_scheme=scheme, java_script_enabled=javascript, viewport={"width": width, "height": 900}
        )
        contexts.append(context)
        page = context.new_page()
        page.troubles = []
        page.on("console", lambda message: page.troubles.append(message.text))
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("request", lambda request: page.troubles.append(request.url) if request.url[:5] != "file:" else None)
        body = "".join(f"<section>{figure.svg}</section>" for figure in figures)
        css = fig.stylesheet() + "body{background:var(--ground)}"
        css += f'.bw,.bw *{{font-family:"{font}"!important}}' if font else ""
        html = (
            figures[0].html()
            if len(figures) == 1
            else fig.document("Gallery", f"<main><h1>Gallery</h1>{body}</main>", css=css, js=fig.script())
        )
        path = tmp_path_factory.mktemp("page") / "figure.html"
        path.write_text(html, encoding="utf-8")
        page.goto(path.as_uri())
        return page

    yield open_figures
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def drawn():
    return {name: draw() for name, draw in PICTURES.items()}


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("phone", [False, True])
def test_texts_are_large_enough_inside_and_apart(opened, drawn, phone, font):
    if font not in installed():
        pytest.skip(f"{font} is not installed")
    figures = [narrow(name) for name in drawn if name != "hundred"] if phone else list(drawn.values())
    page = opened(*figures, width=400 if phone else 900, font=font)
    for k, figure in enumerate(figures):
        texts = page.evaluate(TEXTS, k)
        for text in texts:
            assert text["size"] >= 11
            x0, y0, x1, y1 = text["box"]
            assert x0 >= -1, text
            assert y0 >= -1, text
            assert x1 <= figure.width + 1, text
            assert y1 <= figure.height + 1, text
        for i, a in enumerate(texts):
            for b in texts[i + 1 :]:
                wide = min(a["box"][2], b["box"][2]) - max(a["box"][0], b["box"][0])
                tall = min(a["box"][3], b["box"][3]) - max(a["box"][1], b["box"][1])
                assert wide < 1 or tall < 3, (figure.title, a, b)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert page.troubles == []


def test_keys_and_pointer_read_every_figure_out(opened, drawn):
    figures = [figure for name, figure in drawn.items() if name != "hundred"]
    page = opened(*figures)
    for k in range(len(figures)):
        section = page.locator("section").nth(k)
        text, svg = section.locator(".bw-said"), section.locator("svg.bw")
        assert text.text_content() == ""
        svg.focus()
        first = text.text_content()
        assert first
        heard = {first}
        for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
            page.keyboard.press(key)
            heard.add(text.text_content())
        assert len(heard) >= min(section.locator("[data-at]").count(), 2), figures[k].title
        svg.hover()
        assert text.text_content() or figures[k].svg.count("data-at") < 2
    assert page.troubles == []


def test_layers_take_turns_and_keep_their_legend(opened, drawn):
    page = opened(drawn["map"])
    buttons = page.locator(".bw-layers button")
    assert buttons.all_text_contents() == ["The release", "How sure", "Another draw"]
    assert page.evaluate('() => document.querySelectorAll("[data-layer]:not(.off)").length') == 2
    for k in range(3):
        buttons.nth(k).click()
        shown = page.evaluate(
            '() => [...document.querySelectorAll("[data-layer]:not(.off)")].map(g => g.dataset.layer)'
        )
        assert set(shown) == {buttons.nth(k).text_content()}
        assert len(shown) == 2
        assert buttons.nth(k).get_attribute("aria-pressed") == "true"
    assert "noise" in page.locator(".bw-said").text_content()


COLOURED = """() => [...document.querySelectorAll("svg.bw")].map(svg => {
  const fills = new Set();
  let area = 0;
  for (const p of svg.querySelectorAll("g:not(.off) > .cell")) {
    const b = p.getBBox();
    fills.add(getComputedStyle(p).fill);
    for (let i = 0.5; i < 40; i++) for (let j = 0.5; j < 40; j++) {
      const inside = p.isPointInFill(new DOMPoint(b.x + b.width * i / 40, b.y + b.height * j / 40));
      if (inside) area += b.width * b.height / 1600;
    }
  }
  return [area, fills.size];
})"""


def test_something_is_coloured(opened, drawn):
    """Asked of the browser's own geometry: an empty map would pass every other check."""
    page = opened(*(drawn[name] for name in ("map", "map-world", "map-hexagons", "map-points")))
    light = page.evaluate(COLOURED)
    page.emulate_media(color_scheme="dark")
    for area, fills in light + page.evaluate(COLOURED):
        assert area > 1000
        assert fills >= 2


def test_without_javascript_the_figure_and_its_words_are_there(opened, drawn):
    page = opened(drawn["belief"], javascript=False)
    assert page.locator("svg.bw").bounding_box()["height"] > 100
    assert drawn["belief"].description in page.locator("figcaption").text_content()
    assert page.locator(".bw-said").count() == 0


def test_hostile_labels_stay_text(opened):
    bad = "</title></script><img src=x onerror=alert(1)><script>alert(2)</script>"
    page = opened(fig.bars([bad, "b"], [0.6, 0.4], title=bad))
    assert page.locator("img").count() == 0
    assert page.evaluate("() => document.scripts.length") == 1
    page.keyboard.press("Tab")
    assert "</script>" in page.locator(".bw-said").text_content()
    assert page.troubles == []


def test_axe_finds_nothing(opened, drawn, axe):
    # One map stands for all: what differs between them is the number of shapes.
    page = opened(*(figure for name, figure in drawn.items() if name not in ("map", "map-world", "map-points")))
    page.evaluate(axe)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        result = page.evaluate("async () => (await axe.run()).violations.map(v => [v.id, v.nodes.map(n => n.html)])")
        assert result == []
