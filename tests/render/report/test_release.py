"""Every release has a report: staged with its values, verified with them, never saying less than the statement."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec import structs

import barrow as bw
from barrow.cli.main import cli
from barrow.errors import ParameterError
from barrow.numerics import float_up
from barrow.numerics.exact import near
from barrow.promises import odds_upper, percent_up
from barrow.questions.answer import Sample
from barrow.questions.plan_text import answer_json
from barrow.questions.prices import charge, missing_people
from barrow.render.report.accuracy import accuracy_of
from barrow.render.report.page import report_html
from barrow.render.report.plans import plan_report
from barrow.render.report.release import Released, release_files, release_report
from barrow.study import Study, verify
from barrow.study.result import Release
from barrow.study.statement import make_statement
from barrow.study.verification import _numbers
from tests.study.helpers import make_ledger, make_study


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of three questions, released."""
    folder = tmp_path_factory.mktemp("made")
    study = make_study(folder, questions=["mean", "quantile", "histogram(noise='laplace')"])
    make_ledger(study)
    study.write(folder / "study.toml")
    return study, folder, {q.label: study.release(q.label, out=folder / q.label) for q in study.questions}


def page_of(release: Release) -> str:
    return (release.folder / "report.html").read_text(encoding="utf-8")


def test_every_release_writes_its_report_and_verify_checks_it(made, tmp_path):
    study, _, releases = made
    for release in releases.values():
        assert "report.html" in {file.name for file in release.statement.files}
        assert all(check.holds for check in verify(release.folder, ledger=study.ledger))
        assert {"report.html"} <= {check.what for check in verify(release.folder)}
        assert release.report.is_file()


def test_a_changed_report_is_found(tmp_path):
    study = make_study(tmp_path)
    make_ledger(study)
    release = study.release("mean", out=tmp_path / "mean")
    release.report.write_text(
        page_of(release).replace("Only what this page shows", "All that this page says"), encoding="utf-8"
    )
    failed = {check.what for check in verify(release.folder, ledger=study.ledger) if not check.holds}
    assert failed == {"report.html", "ledger", "tables"}  # files for catalogues have the digest of the report


def test_the_same_release_gives_the_same_bytes_and_no_renderers_no_report(made, tmp_path):
    _study, _, releases = made
    for release in releases.values():
        plan = release.plan
        bare = structs.replace(release.statement, files=[])
        assert release_files(bare, release.tables, plan)["report.html"] == release.report.read_bytes()
    again = make_study(tmp_path)
    make_ledger(again)
    assert not again.release("mean", out=tmp_path / "mean", renderers=()).report.exists()


def test_nothing_of_the_commit_record_is_inside(made):
    study, _folder, releases = made
    records = bw.Ledger.open(str(study.ledger)).records()
    for release in releases.values():
        page = page_of(release)
        for record in records:
            assert record.when not in page
            assert record.data.get("outputs") is None or record.data["outputs"] not in page
        assert re.search(r'(href|src)="(?!#|data:)', page) is None


def test_printed_bounds_are_never_below_the_statement(made):
    for release in made[2].values():
        statement, page = release.statement, page_of(release).replace("\u00a0", " ")
        for row in [*statement.protected, statement.worst_case]:
            printed = {float(text) for text in re.findall(r"at most (?:<b>)?([0-9.]+)(?:</b>)? %", page)}
            least = 100 * row.odds
            assert any(least <= number < least + 0.2 for number in printed), (least, sorted(printed))
        worst = re.search(r"Worst case\..*?at most <b>(\d+)</b>", page)
        assert int(worst.group(1)) >= 100 * statement.worst_case.odds


def test_several_releases_add_up(made):
    _, _, releases = made
    report = release_report([Released(r.statement, r.tables, plan=r.plan) for r in releases.values()])
    assert [answer.title for answer in report.answers] == ["Mean", "Quantile", "Histogram"]
    total = sum(r.statement.worst_case.epsilon for r in releases.values())
    assert report.learnt[-1].worst
    assert odds_upper(total) <= report.learnt[-1].probability <= odds_upper(total) + 1e-9
    first = [sum(r.statement.protected[k].epsilon for r in releases.values()) for k in (0, 1)]
    assert all(odds_upper(e) <= x.probability for e, x in zip(first, report.learnt, strict=False))


def test_releases_of_different_data_sets_do_not_share_a_page(made):
    mean = made[2]["mean"]
    other = Released(structs.replace(mean.statement, dataset="other"), mean.tables)
    with pytest.raises(ParameterError, match="different data sets"):
        release_report([Released(mean.statement, mean.tables), other])
    with pytest.raises(ParameterError, match="no release"):
        release_report([])


def test_hostile_names_stay_text(tmp_path):
    hostile = "</script><img src=x onerror=alert(1)>"
    study = make_study(tmp_path, dataset=hostile, questions=[bw.Mean(name="mean")])
    make_ledger(study)
    page = page_of(study.release("mean", out=tmp_path / "mean"))
    assert "<img" not in page
    assert "&lt;/script&gt;" in page


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_line_writes_pages(made, tmp_path, monkeypatch):
    study, folder, _ = made
    monkeypatch.chdir(folder)
    out = tmp_path / "all.html"
    text = run("report", "mean", "quantile", "histogram", "--out", str(out))
    assert "3 releases" in text
    page = out.read_text(encoding="utf-8")
    assert page.count("<h2") >= 5
    assert "The privacy budget" in page
    for command, name in (("plan", "plan.html"), ("compare", "compare.html")):
        file = tmp_path / name
        assert str(file) in run(command, "mean", "--html", str(file))
        assert "default-src 'none'" in file.read_text(encoding="utf-8")
    ledger = tmp_path / "ledger.html"
    assert str(ledger) in run("ledger", "show", str(study.ledger), "--html", str(ledger))
    assert "histogram" in ledger.read_text(encoding="utf-8")
    taken = CliRunner().invoke(cli, ["report", "mean", "--out", str(out)])
    assert isinstance(taken.exception, ParameterError)


def test_open_opens_the_page(made, tmp_path, monkeypatch):
    _, folder, _ = made
    monkeypatch.chdir(folder)
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    run("report", "mean", "--out", str(tmp_path / "one.html"), "--open")
    assert opened == [(tmp_path / "one.html").resolve().as_uri()]


def test_a_folder_is_drawn_without_its_study(made, tmp_path, monkeypatch):
    _, folder, releases = made
    monkeypatch.chdir(tmp_path)
    run("report", str(folder / "histogram"), "--out", "one.html")
    release = Release.read(folder / "histogram")
    assert release.space == releases["histogram"].plan.terms.space
    assert "histogram" in bw.plot(release).svg
    wrong = CliRunner().invoke(cli, ["report", str(folder / "mean"), "--study", str(changed(folder, tmp_path))])
    assert "not made from this study" in str(wrong.exception)


def changed(folder: Path, place: Path) -> Path:
    study = bw.Study.read(folder / "study.toml").replace(users=41)
    study.write(place / "other.toml")
    return place / "other.toml"


def test_statements_say_where_promises_lie(made):
    statement = made[2]["mean"].statement
    assert [(row.share, row.distance) for row in statement.protected] == [(1.0, 5.0), (0.1, 20.0)]
    space = json.loads(json.dumps(statement.space))
    assert (space["kind"], space["inner"]["kind"]) == ("no_records", "line")


def test_a_million_values_are_a_table_of_the_largest_and_one_value_is_fine(made):
    statement = structs.replace(made[2]["histogram"].statement, space=None)
    many = [{"item": f"i{k}", "share": float(k % 97)} for k in range(300_000)]
    answer = release_report([Released(statement, {"values": many})]).answers[0]
    assert answer.pictures == ()
    assert "too many to draw" in answer.text[0]
    assert answer.table.total == 300_000
    assert len(answer.table.rows) <= 1000
    one = release_report([Released(statement, {"values": [{"item": "<b>", "share": 1.0}]})])
    assert len(one.answers[0].pictures) == 1


def test_long_and_right_to_left_labels_are_drawn(made):
    statement = structs.replace(made[2]["histogram"].statement, space=None)
    names = ["x" * 5000, "\u0645\u0634\u0631\u0648\u0628", "</script>"]
    rows = [{"item": name, "share": 0.3} for name in names]
    page = report_html(release_report([Released(statement, {"values": rows})]))
    assert page.count("</script>") == page.count("<script")
    assert len(page) < 400_000


@pytest.mark.parametrize("missing", ["no records", "default item"])
@pytest.mark.parametrize("asked", ["mean", "density(bandwidth='20 years')", "distance(to=30)"])
def test_the_report_and_the_plan_have_one_ratio(asked, missing):
    line = bw.Line(0, 100, step=1, unit="years")
    study = bw.Study(line, ["1 of 30, 10 years, 0.5"], users=1000, dataset="ages", missing=missing)
    plan = study.plan(asked)
    text = re.search(r"([\d.,]+) times the error", "\n".join(accuracy_of(plan)[0]))[1]
    assert float(text) == pytest.approx(
        float(re.search(r"([\d.,]+) times the error", plan.comparison.line)[1]), rel=0.05
    )


def test_a_predicted_error_is_said_alike_in_statement_and_report(tmp_path):
    space = "line(low=0, high=120, step=1, unit='minutes')"
    study = bw.Study(space, ["1/10, 30 minutes, 0.2"], users=1100, dataset="v")
    people = bw.read({"uid": [1, 2, 3], "x": [30, 40, 50]}, user="uid", item="x")
    ledger = bw.Ledger.create(tmp_path / "v.ledger", study)
    built = study.release("histogram", people, ledger=ledger, out=tmp_path / "out")
    own = built.statement.error_after
    assert built.error == own.about != built.statement.answer.histogram.emd_predicted
    text = near(built.error, "minutes", digits=1)
    assert f"On average, records appear about {text} from" in " ".join(built.text.split())
    page = (built.folder / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert page.count(f"On average, records appear about {text} from where they were") >= 1
    before = built.statement.answer.histogram
    about, most = (near(error, "minutes") for error in (before.emd_predicted, before.emd_most))
    words = f"(predicted: about {about}, at most about {most})"
    assert words in page
    assert words in " ".join(built.text.split())


def test_randomised_items_state_a_distance_and_no_error_of_counts(tmp_path):
    space = "line(low=0, high=120, step=1, unit='minutes')"
    study = bw.Study(space, alpha=200, users=3, dataset="v", delta=1e-6)
    people = bw.read({"uid": [1, 1, 2, 2, 3, 3], "x": [30, 40, 50, 30, 40, 50]}, user="uid", item="x")
    ledger = bw.Ledger.create(tmp_path / "v.ledger", study)
    built = study.release("items(samples=2)", people, ledger=ledger, out=tmp_path / "out")
    page = (built.folder / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert f"A report is about {near(built.error, 'minutes')} from its item on average." in page
    assert "each value ±" not in page


def test_delta_is_counted_in_what_every_page_says_about_guesses(tmp_path):
    """Plan, statement, its words, its check and its report say (e^epsilon + delta)/(1 + e^epsilon)."""
    question = {"kind": "mean", "noise": "gaussian", "definition": "emd"}
    study = make_study(tmp_path, promises=["all, 40 years, 0.5"], delta="0.05", questions=[question])
    make_ledger(study)
    plan = study.plan()
    worst = answer_json(plan)["worst_case"]
    assert worst["odds"] == odds_upper(worst["epsilon"], 0.05) > odds_upper(worst["epsilon"]) + 1e-3
    result = study.release(out=str(tmp_path / "out"))
    statement, text = result.statement, " ".join(result.text.split())
    (row,) = statement.protected
    most = odds_upper(row.epsilon, 0.05)
    assert row.odds == most > odds_upper(row.epsilon) + 0.015
    assert statement.worst_case.odds == odds_upper(statement.worst_case.epsilon, statement.worst_case.delta)
    assert f"a 50 % guess can become at most {percent_up(most)}" in text
    assert "δ = 0.05 is included in these numbers: such a guess is right with probability at most" in text
    assert percent_up(odds_upper(float_up(charge(plan, Fraction(1), Fraction(1))), 0.05)) in missing_people(plan)
    report = release_report([Released(statement, result.tables, plan=plan)])
    assert [one.probability for one in report.learnt] == [most, statement.worst_case.odds]
    assert plan_report([plan]).learnt[0].probability == pytest.approx(most, rel=1e-12)
    assert all(check.holds for check in verify(tmp_path / "out", ledger=str(study.ledger)))
    wrong = json.loads((tmp_path / "out" / "statement.json").read_text())
    wrong["protected"][0]["odds"] = odds_upper(row.epsilon)
    assert not _numbers(wrong, by_ledger=False)[0]


def test_release_files():
    study = Study("line(low=0, high=100, step=1, unit='years')", ["all, 5 years, 0.5"], users=1000)
    plan = study.plan("mean")
    statement = make_statement(study, plan)
    files = release_files(statement, plan.tables(Sample(np.array([30.0, 50.0]))), plan)
    assert sorted(files) == ["report.html"]
    assert files == release_files(statement, plan.tables(Sample(np.array([30.0, 50.0]))), plan)
