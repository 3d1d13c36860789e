"""What a reader meets first: a title in words, the picture, one sentence with the error, what anyone can learn."""

from __future__ import annotations

import html
import re

import pytest

import barrow as bw
from barrow.errors import ParameterError
from barrow.render.plots import comparison_figure, comparison_rows
from barrow.render.report import report_html
from barrow.render.report.headings import error_sentence, verdict
from barrow.render.report.plans import plan_report
from barrow.render.report.release import Released, release_report
from barrow.study import read_statement
from tests.study.monthly import make_study

LINE = "line(low=0, high=180, unit='min', step=5)"
TITLE = "Minutes to work of 30 people, 2026"


def released(folder, question, space=LINE, values=(10, 35, 50), promises=("all, 30 min, 1",), **changes):
    data = bw.read({"uid": list(range(30)), "x": list(values) * (30 // len(values))}, user="uid", item="x")
    study = bw.Study(space, list(promises), users=30, dataset="ways", questions=[question], data=data, **changes)
    return study, study.release(ledger=bw.Ledger.create(folder / "l.ledger", study), out=folder / "out")


def test_titles_go_from_file_to_statement_and_page(tmp_path):
    asked = {"kind": "histogram", "title": TITLE, "description": "One way, on one day."}
    study, release = released(tmp_path, asked, title="Ways")
    study.replace(data=None).write(tmp_path / "study.toml")
    again = bw.Study.read(tmp_path / "study.toml")
    assert (again.title, again.questions[0].title) == ("Ways", TITLE)
    assert again.plan().question.description == "One way, on one day."
    statement = read_statement(release.folder)
    assert (statement.title, statement.description) == (TITLE, "One way, on one day.")
    assert all(check.holds for check in bw.verify(release.folder, ledger=tmp_path / "l.ledger"))
    page = release.report.read_text(encoding="utf-8").replace("\u00a0", " ")
    assert f'<h1 dir="auto">{TITLE}</h1>' in page
    assert page.index("<h1") < page.index("One way, on one day.") < page.index("<figure") < page.index("On average")
    assert page.index("On average") < page.index("What anyone can learn")


def test_words_for_readers_change_nothing_else(tmp_path):
    study = bw.Study(LINE, alpha=5, users=30)
    plain, named = study.plan(bw.Mean()), study.plan(bw.Mean(title=TITLE, description="x"))
    assert named.event == plain.event
    with pytest.raises(ParameterError, match="text of 201 letters"):
        bw.Mean(title="x" * 201)
    with pytest.raises(ParameterError, match="description is 7"):
        bw.Study(LINE, alpha=5, description=7)


def test_what_has_no_title_says_what_it_is(tmp_path):
    _, release = released(tmp_path, bw.Mean())
    page = release.report.read_text(encoding="utf-8").replace("\u00a0", " ")
    assert '<h1 dir="auto">ways: mean of 30 people</h1>' in page
    assert not isinstance(release.statement.title, str)


@pytest.mark.parametrize(("odds", "words"), [(0.52, "hardly"), (0.58, "a little"), (0.73, "partly"), (0.983, "yes")])
def test_98_percent_is_not_partly(odds, words):
    assert verdict(odds).startswith(words)


def test_means_and_quantiles_are_points_and_not_bars(tmp_path):
    for k, question in enumerate(["mean", "quantile(of=[0.25, 0.5])"]):
        (tmp_path / str(k)).mkdir()
        svg = bw.plot(released(tmp_path / str(k), question)[1]).svg
        assert 'class="point"' in svg
        assert 'class="bar"' not in svg


def test_a_circular_mean_near_midnight_is_not_below_the_noise(tmp_path):
    _, release = released(tmp_path, "circular_mean", bw.Circle.hours(1), (23.5, 0.5, 23.0), ("all, 3 hours, 90",))
    figure = bw.plot(release)
    assert "noise" not in figure.description
    mean = re.search(r"circular mean: ([\d.]+) h \(([\d.]+) to ([\d.]+) h\)", figure.description.replace("  ", " "))
    value, low, high = (float(text) for text in mean.groups())
    row = release.rows()[0]
    assert value == pytest.approx(row["value"] % 24, abs=0.051)
    assert (row["low_95"] % 24 - low) % 24 < 0.11  # rounded outwards
    assert (high - row["high_95"] % 24) % 24 < 0.11


def test_weekdays_are_bars_and_graphs_are_drawn_as_graphs():
    days = bw.Circle.weekdays()
    assert bw.plot(days, [1 / 7] * 7).svg.count('class="bar"') == 7
    roads = bw.Graph([("a", "b", 2), ("b", "c", 3), ("c", "d", 1), ("a", "d", 2)], unit="km")
    svg = bw.plot(roads, [0.1, 0.2, 0.3, 0.4]).svg
    assert 'class="road"' in svg
    assert svg.count("<circle") == 8  # a ground and a node


def test_groups_and_months_are_lines_and_multiples_with_one_scale(tmp_path):
    study = make_study(tmp_path, questions=[bw.Mean(by="region", fraction="1/2"), bw.Histogram(fraction="1/2")])
    bw.Ledger.create(study.ledger, study)
    pages = {}
    for name, asked in (("mean", {}), ("histogram", {"by": "region"})):
        releases = [
            study.release(name, period=f"2026-0{month}", out=tmp_path / f"{name}{month}", **asked) for month in (1, 2)
        ]
        report = release_report([Released(r.statement, r.tables, plan=r.plan) for r in releases])
        assert report.title == f"ages: {name} of 60 people by region, 2026-01 to 2026-02"
        pages[name] = report
    (line,) = pages["mean"].answers[0].pictures
    assert line.figure.svg.count('class="curve') == 2
    assert all(group in line.figure.svg for group in ("north", "south"))
    multiples = pages["histogram"].answers[0].pictures
    assert [picture.caption[:5] for picture in multiples] == ["north", "north", "south", "south"]
    ticks = [re.findall(r'class="tick end">([^<]*)<', picture.figure.svg) for picture in multiples]
    assert len({tuple(texts) for texts in ticks}) == 1
    assert '<div class="multiples">' in report_html(pages["histogram"])


def test_statements_are_paragraphs_and_comparisons_are_tables(tmp_path):
    study = bw.Study("line(low=0, high=180, unit='min', step=5)", ["all, 30 min, 1"], users=30, dataset="ways")
    people = bw.read({"uid": list(range(30)), "x": [10, 35, 50] * 10}, user="uid", item="x")
    release = study.release("mean", people, ledger=bw.Ledger.create(tmp_path / "l", study), out=tmp_path / "o")
    shown = release._repr_mimebundle_()["text/html"]
    paragraphs = re.findall(r"<p>(.*?)</p>", shown)
    assert len(paragraphs) < len(release.text.splitlines())
    assert all(text.endswith((".", ":")) or text.startswith("- ") for text in paragraphs)
    assert release.statement._repr_mimebundle_() == {
        "text/plain": release.text,
        "text/html": "".join(f"<p>{text}</p>" for text in paragraphs),
    }
    assert " ".join(" ".join(paragraphs).split()) == " ".join(html.escape(release.text).split())
    assert f'<td style="text-align:right">{release.rows()[0]["value"]:.4g}</td>' in shown
    assert (
        '<th style="text-align:left">output</th><th style="text-align:right">value</th>' in shown
    )  # heads stand where their columns do
    comparison = study.compare("mean")
    table = comparison._repr_mimebundle_()["text/html"]
    assert "<pre>" not in table + study._repr_mimebundle_()["text/html"] + study.policy._repr_mimebundle_()["text/html"]
    assert '<th style="text-align:right">error</th><th style="text-align:right">worst case at most</th>' in table
    assert table.count("<tr>") == 1 + len(comparison.candidates) + len(comparison.baselines)
    plan = study.plan("mean")._repr_mimebundle_()["text/html"]
    assert "<td>" not in plan


def test_one_value_is_said_with_its_two_ends(tmp_path):
    _, release = released(tmp_path, "mean", promises=("all, 30 min, 3",))
    row = release.rows()[0]
    told = error_sentence(Released(release.statement, release.tables, plan=release.plan))
    low, high = (float(text) for text in re.findall(r"-?[\d.]+(?= min| and)", told))
    assert re.fullmatch(r"The true value lies between [^ ]* and [^ ]* min with probability 95 %\.", told)
    assert low <= row["low_95"] < row["high_95"] <= high  # rounded outwards


def test_labels_that_are_all_alike_have_no_way_between_them(tmp_path):
    _, release = released(
        tmp_path, "histogram", 'discrete(labels=["a", "b"])', ("a", "b"), ("half, anywhere, 1",), alpha=None
    )
    told = error_sentence(Released(release.statement, release.tables, plan=release.plan))
    assert re.fullmatch(r"About [\d.]+ % of the records appear under another label than their own\.", told)
    assert "earth mover" not in told


@pytest.mark.parametrize("question", ["mean", "histogram"])
def test_the_page_of_an_aggregated_plan_sounds_the_alarm(question):
    line = "line(low=0, high=50, unit='min', step=5)"
    plan = bw.Study(line, ["all, 5 min, 1"], users=1000, model="aggregated").plan(question)
    page = plan_report([plan])
    assert any("hardly hidden" in text and "all, anywhere, 1" in text for text in page.warnings)
    calm = bw.Study(line, ["all, 50 min, 1"], users=1000, model="aggregated").plan(question)
    assert not any("hardly hidden" in text for text in plan_report([calm]).warnings)


def test_the_picture_of_groups_names_them(tmp_path):
    sizes = {"north": 15, "south": 15}
    rows = {"uid": list(range(30)), "x": [10, 35, 50] * 10, "region": ["north"] * 15 + ["south"] * 15}
    data = bw.read(rows, user="uid", item="x")
    groups = [bw.Grouping("region", sizes=sizes)]
    study = bw.Study(LINE, ["all, 30 min, 9"], users=30, dataset="ways", data=data, groups=groups)
    release = study.release("mean", by="region", ledger=bw.Ledger.create(tmp_path / "g", study), out=tmp_path / "out")
    assert {"north", "south"} <= set(re.findall(r">(\w+)</text>", release.plot().svg))
    told = error_sentence(Released(release.statement, release.tables, plan=release.plan), parts=2)
    assert told == "Each value comes with its own interval, which holds the true value with probability 95 %."


def test_a_comparison_says_the_same_errors_in_its_table_and_its_picture():
    study = bw.Study("line(low=0, high=120, step=5, unit='min', cells=True)", ["all, 20 min, 1"], users=800)
    for question in ("histogram", "distance(to=31)"):
        comparison = study.compare(question)
        assert all(row[2] in comparison_figure(comparison).svg for row in comparison_rows(comparison))
