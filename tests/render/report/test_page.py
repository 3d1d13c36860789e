"""The report as text: one file, nothing fetched, the same bytes, hostile texts harmless, large releases still small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.render import figures as fig
from barrow.render.report import Learnt, Picture, ReportPage, ReportTable, Section, report_html
from tests.render.figures.gallery import pictures
from tests.render.report.example import example

VOID = {"meta", "link", "img", "br", "path", "rect", "circle", "use"}


class Reader(HTMLParser):
    """Tags in order, attributes, texts; every tag must be closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.seen, self.attributes, self.scripts, self.styles, self.texts = [], [], [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        where = self.open[-1] if self.open else ""
        (self.scripts if where == "script" else self.styles if where == "style" else self.texts).append(data)


@pytest.fixture(scope="module")
def page():
    return report_html(example())


def test_the_same_bytes_every_time(page):
    assert report_html(example()) == page


def test_well_formed_and_small(page):
    reader = Reader(page)
    assert len(page.encode()) < 450_000
    ids = [value for _, name, value in reader.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert reader.seen.count("h1") == 1
    assert reader.seen.count("main") == 1
    for tag, name, value in reader.attributes:
        assert name != "style"
        assert not name.startswith("on")
        if name in ("href", "src"):
            assert value.startswith("#") or value == "data:,", (tag, value)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


def test_the_policy_allows_this_style_and_this_script_only(page):
    reader = Reader(page)
    policy = next(value for _, name, value in reader.attributes if name == "content" and "default-src" in value)
    digests = set(re.findall(r"'sha256-([^']*)'", policy))
    style = "".join(reader.styles)
    code = [text for text in reader.scripts if text.startswith('"use strict"')]
    assert len(code) == 1
    wanted = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, code[0])}
    assert digests == wanted
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_everything_that_is_said_is_in_the_page(page):
    sentence = " ".join(Reader(page).texts).replace("\u00a0", " ")
    report = example()
    for text in (report.title, report.lead, *report.technical, *report.commands):
        assert text in sentence
    for question, answer in report.glance:
        assert question in sentence
        assert answer.split("**")[0] in sentence
    for name, value in report.parameters:
        assert name in sentence
        assert value in sentence
    for figure in (report.belief, report.budget, *report.accuracy):
        assert figure.figure.description in sentence
        assert figure.caption in sentence
    for row in report.answers[0].table.rows:
        for cell in row:
            assert cell in sentence


def test_numbers_of_people_are_rounded_up():
    page = report_html(ReportPage("x", learnt=[Learnt("a", 0.5201), Learnt("b", 0.69), Learnt("c", 0.693, worst=True)]))
    assert re.findall(r"at most <b>(\d+)</b>", page) == ["53", "69", "70"]
    assert "<b>Worst case.</b>" in page
    with pytest.raises(ParameterError):
        Learnt("a", 0.4)


def test_the_saved_table_is_the_file_to_the_last_letter():
    text = 'a,b\r\n"</script><!--",\u2028\u202e\ud800\x00é\r\n'
    page = report_html(ReportPage("x", answers=[Section("y", table=ReportTable(["a"], [["1"]], csv=text))]))
    data = re.search(r'<script type="application/json" id="values-csv">(.*?)</script>', page)[1]
    assert json.loads(data) == text
    assert "<!--" not in page


BAD = "</script></style></title><img src=x onerror=alert(1)>\"'&<b>\x00\ud800\u202e"


def test_hostile_texts_stay_text():
    figure = fig.bars([BAD, "b"], [0.6, 0.4], title=BAD)
    table = ReportTable([BAD], [[BAD]] * 20, caption=BAD, name=BAD, csv=BAD)
    report = ReportPage(
        BAD, BAD, BAD, [(BAD, BAD)], [Section(BAD, [BAD], [Picture(figure, BAD, figure)], table, [BAD])] * 2,
        [Learnt(BAD, 0.6)], Picture(figure, BAD), [Picture(figure, BAD)], [BAD], Picture(figure, BAD), [BAD], table,
        [BAD], [BAD], [(BAD, BAD)], [BAD], BAD,
    )  # fmt: skip
    page = report_html(report)
    reader = Reader(page)
    assert "img" not in reader.seen
    assert not [name for _, name, _ in reader.attributes if name.startswith("on")]
    code = [text for text in reader.scripts if "alert" in text and not text.startswith('"')]
    assert code == []
    page.encode("utf-8")


def test_empty_parts_are_left_out():
    page = report_html(ReportPage("Only a title"))
    assert "<h2" not in page
    assert "At a glance" not in page
    assert Reader(page).seen.count("section") == 0


def test_ninety_thousand_cells_and_long_tables():
    box = (25.0, -125.0, 50.0, -66.0)
    places, lat, lon = pictures.grid(box, 250, 360)
    values = pictures.hills(lat, lon, ((40.7, -74.0, 1.5, 1.0), (34.0, -118.0, 1.5, 0.8))) + pictures.pattern(
        90_000, 1e-6
    )
    figure = fig.map_figure(places, values, low=values - 3e-6, high=values + 3e-6, noise=1e-5, box=box)
    rows = [[str(i), fig.near(v, "%")] for i, v in enumerate(np.sort(values)[::-1][:5000])]
    table = ReportTable(["place", "share"], rows, numeric=[1], total=90_000, csv="x" * 3_000_000)
    page = report_html(ReportPage("Large", answers=[Section("The map", pictures=[Picture(figure)], table=table)]))
    assert len(page) < 600_000
    assert "1,000 of 90,000 rows" in page
    assert "All 90,000 rows are in values.csv beside this page." in page
    assert "data-save=" not in page.split("<body>")[1].split("<script>")[0]


def test_mistakes_are_named():
    with pytest.raises(ParameterError):
        ReportTable(["a"], [["1", "2"]])
