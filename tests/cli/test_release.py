"""plan, check, release, explain, verify from the outside."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.study.helpers import USERS, make_ledger, make_study, write_ages

LINE = "line(low=0, high=100, unit='years', step=1, cells=True)"


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = make_study(tmp_path, ledger="ages.ledger")
    study.write(tmp_path / "study.toml")
    return study


INIT = ["--user", "uid", "--item", "age", "--users", USERS, "--space", LINE, "--question", "mean",
        "--promise", "all, 5 years, 0.5", "--promise", "1/10, 20 years, 0.3", "--dataset", "ages"]  # fmt: skip


def test_two_commands_from_a_file_to_a_published_release(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_ages(tmp_path / "ages.csv")
    code, out, err = barrow("init", "ages.csv", *INIT)
    assert (code, err) == (0, "")
    assert "made the ledger ages.ledger" in out
    code, out, err = barrow("release")
    assert (code, err) == (0, "")
    assert (tmp_path / "release" / "mean" / "values.csv").is_file()
    assert len(out.splitlines()) <= 30
    code, out, _ = barrow("verify", "release/mean")  # no ledger was typed
    assert (code, "– ledger: not checked." in out) == (0, True)
    code, out, err = barrow("verify")  # and without a folder, those of the study
    assert (code, err) == (0, "")
    assert "✓ ledger: entry 2" in out
    shown = barrow("ledger", "show")[1]  # so with its ledger
    assert "ages: " in shown
    assert "all data by 5 years: ε 0.5 of 0.5 used." in shown
    assert "delta" not in shown
    assert barrow("ledger", "head")[1].startswith("4:")


def test_from_a_file_to_a_verified_statement(barrow, study, tmp_path):
    code, out, _ = barrow("plan")
    assert code == 0
    assert "No private value was read" in out
    assert "± " in out
    code, out, err = barrow("release", "--out", "o")
    assert code == 1
    assert "ages.ledger" in err
    make_ledger(study)
    code, out, err = barrow("release", "--out", "o")
    assert (code, err) == (0, "")
    for words in (
        "We released",
        f"{USERS} people",
        "Wrote o (",
        "barrow verify o",
        'promise "all, anywhere, 1"',
    ):
        assert words in out
    again = barrow("release", "--out", "o", "--verbose")[1]
    assert "Not hidden" in again
    assert "statement.json, statement.txt" in again
    code, out, _ = barrow("verify", "o", "--ledger", "ages.ledger")
    assert code == 0
    assert "✗" not in out
    assert "7. " in barrow("explain", "o")[1]
    code, out, _ = barrow("release", "--out", "o2", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["folder"] == str(tmp_path / "o")  # the same question again is the same answer, where it is
    assert len(data["values"]) == 1
    assert {"worst_case", "alpha", "delta", "unit", "theorem"} <= set(data)
    code, out, err = barrow("release", "--out", "o3", "--key", "third")
    assert code == 1
    assert "all data by 5 years" in err
    (tmp_path / "o" / "values.csv").write_text("changed")
    code, out, _ = barrow("verify", "o", "--json")
    assert code == 1
    assert json.loads(out)["holds"] is False


def test_flags_say_the_same_as_a_study(barrow, study):
    flags = ["ages.csv", *INIT]
    by_flags = json.loads(barrow("plan", *flags, "--json")[1])
    by_file = json.loads(barrow("plan", "--study", "study.toml", "--json")[1])
    assert by_flags == by_file
    assert json.loads(barrow("plan", "study.toml", "--json")[1]) == by_file
    assert json.loads(barrow("plan", "mean", "--json")[1]) == by_file
    other = json.loads(barrow("plan", "--alpha", "1", "--json")[1])
    assert other["alpha"] == 1.0
    assert float(barrow("plan", *flags, "--quiet")[1]) == pytest.approx(by_file["error"], rel=1e-5)


def test_all_questions_are_released_and_none_twice(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_ages(tmp_path / "ages.csv")
    barrow("init", "ages.csv", *INIT, "--question", "density(bandwidth='20 years', name='curve')")
    told = json.loads(barrow("plan", "--json")[1])["plans"]
    assert [plan["fraction"] for plan in told] == ["0.5", "0.5"]
    code, out, _ = barrow("release", "mean")
    assert (code, "Wrote release/mean" in out, "was made before" in out) == (0, True, False)
    assert barrow("release", "--quiet")[1].split() == ["release/curve"]
    before = (tmp_path / "release" / "mean" / "values.csv").read_bytes()
    code, out, _ = barrow("release", "--quiet")  # all of them again, for free
    assert (code, out.split()) == (0, ["release/mean", "release/curve"])
    assert (tmp_path / "release" / "mean" / "values.csv").read_bytes() == before
    out = barrow("release", "curve")[1]
    assert ("Wrote" in out, "nothing was spent" in out) == (False, True)
    several = barrow("release")[1]  # a screen holds them: what it is and what can be learnt, not each whole statement
    assert several.count("A 50 % guess about one person can become at most") == 2
    assert "Not hidden" in barrow("release", "curve", "--verbose")[1]
    assert "Not hidden" not in several
    shown = barrow("ledger", "show", "ages.ledger")[1]
    assert "all data by 5 years" in shown


def test_a_released_histogram_shows_what_stands_out_with_intervals(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{uid},{'Mon' if uid % 4 else 'Tue'}\n" for uid in range(2000))
    (tmp_path / "days.csv").write_text("uid,day\n" + rows, encoding="utf-8")
    days = ["--space", "weekdays(whole=True)", "--user", "uid", "--item", "day", "--users", "2000"]
    asked = ["--question", "histogram", "--promise", "all, anywhere, 1", "--dataset", "days"]
    assert barrow("init", "days.csv", *days, *asked)[0] == 0
    shown = re.sub(r"\s+", " ", barrow("release")[1])
    assert re.search(r"no records: .{1,24}(0 % to|to) [0-9.]+ % \(95 %\)", shown)
    assert re.search(r"Mon: 7[0-9](\.\d+)? %, from 7[0-9.]+ % to [78][0-9.]+ % \(95 %\)", shown)
    assert "stand out from the noise (regions.csv)" in shown
    few = [
        "--study",
        "few.toml",
        "--space",
        "weekdays(whole=True)",
        "--user",
        "uid",
        "--item",
        "day",
        "--users",
        "2000",
    ]
    asked[-1] = "few"
    assert barrow("init", "days.csv", *few, "--fraction", "1/1000", *asked)[0] == 0
    shown = re.sub(r"\s+", " ", barrow("release", "--study", "few.toml", "--out", "few")[1])
    # One release in twenty or so has a value that noise alone lifted.
    assert re.search("None of 7 values stands out from the noise by itself|1 region stands out from the noise", shown)
    assert "The answer is nearly useless" in shown


def test_check_takes_a_folder_and_an_encoding(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits" / "year=2026").mkdir(parents=True)
    (tmp_path / "visits" / "year=2026" / "a.csv").write_bytes("uid,item\nJosé,é\n".encode("latin-1"))
    texts = ["visits", "--user", "uid", "--item", "item", "--space", "discrete(labels=['é'])", "--users", "1"]
    code, out, _ = barrow("check", *texts)
    assert (code, "--encoding latin-1" in out) == (1, True)
    code, out, _ = barrow("check", *texts, "--encoding", "latin-1")
    assert (code, "Usable." in out) == (0, True)


def test_misspelt_options_are_named_with_the_nearest_one(barrow):
    texts = ["plan", "--users", "9", "--promise", "all, 1 km, 1"]
    city = "earth(box=(40, -75, 41, -73), cell=1)"
    code, _, err = barrow(*texts, "--space", city, "--question", "density(bandwith='5 km')")
    assert (code, "Did you mean 'bandwidth'?" in err) == (1, True)
    code, _, err = barrow(*texts, "--space", city.replace("cell", "cel"), "--question", "histogram")
    assert (code, "Did you mean 'cell'?" in err) == (1, True)


def test_a_question_without_an_answer_is_refused_before_anything_is_made(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_ages(tmp_path / "ages.csv")
    hours = ["--space", "hours", "--promise", "all, 2 hours, 0.5", "--users", "1000", "--dataset", "days"]
    texts = ["--question", "histogram", "--question", "mean"]
    code, _, err = barrow("init", "ages.csv", "--user", "uid", "--item", "age", *hours, *texts)
    assert code == 1
    assert "The question 'mean' has no answer: A mean does not exist on the circle" in err
    assert "circular_mean" in err
    assert not (tmp_path / "days.ledger").exists()
    study = ["dataset = 'days'", "users = 1000", "ledger = 'days.ledger'", "[data]", "source = 'ages.csv'",
             "user = 'uid'", "items = ['age']", "[space]", "kind = 'hours'", "[[promise]]", "share = 'all'",
             "distance = '2 hours'", "epsilon = 0.5"]  # fmt: skip
    (tmp_path / "study.toml").write_text("\n".join([*study, *[f"[[question]]\nkind = '{q}'" for q in texts[1::2]]]))
    assert barrow("ledger", "init", "days.ledger", "--study", "study.toml")[0] == 0
    code, _, err = barrow("release")
    assert (code, "'mean' has no answer" in err) == (1, True)
    assert not (tmp_path / "release").exists()


def test_a_second_study_joins_the_ledger_and_cannot_loosen_it(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_ages(tmp_path / "ages.csv")
    assert barrow("init", "ages.csv", *INIT)[0] == 0
    code, out, _ = barrow("init", "ages.csv", *INIT, "--study", "second.toml")
    assert code == 0
    assert "ages.ledger" in out
    loose = [word if word != "all, 5 years, 0.5" else "all, 5 years, 5" for word in INIT]
    code, _, err = barrow("init", "ages.csv", *loose, "--study", "third.toml")
    assert code == 1
    assert "fix:" in err
    assert not (tmp_path / "third.toml").exists()


@pytest.mark.parametrize("missing", ["--space", "--users", "--dataset", "--promise"])
def test_init_says_what_is_missing(barrow, tmp_path, monkeypatch, missing):
    monkeypatch.chdir(tmp_path)
    write_ages(tmp_path / "ages.csv")
    words = [word for i, word in enumerate(INIT) if missing not in (word, INIT[i - 1])]
    code, _, err = barrow("init", "ages.csv", *words)
    assert code == 1
    assert missing in err
    assert not (tmp_path / "study.toml").exists()
    assert not (tmp_path / "ages.ledger").exists()


def test_a_year_of_releases_is_planned_in_twelfths(barrow, study):
    once, often = (json.loads(barrow("plan", "--releases", n, "--json")[1]) for n in (1, 12))
    assert often["fraction"] == "1/12"
    assert often["alpha"] == pytest.approx(once["alpha"] / 12)


def test_plan_reads_column_names_only(barrow, study, tmp_path, monkeypatch):
    from barrow.engines import DuckDBEngine

    def never(*_args, **_kwargs):
        raise AssertionError("records were read")

    monkeypatch.setattr(DuckDBEngine, "sum_cells", never)
    assert barrow("plan", "--study", "study.toml")[0] == 0
    code, _, err = barrow("plan", "--study", "study.toml", "--item", "agee")
    assert code == 1
    assert "'age'" in err


def test_check_is_private_and_exits_with_one_on_bad_data(barrow, study, tmp_path):
    code, out, _ = barrow("check", "--study", "study.toml")
    assert code == 0
    assert out.startswith("PRIVATE")
    write_ages(tmp_path / "bad.csv", bad="999")
    code, out, _ = barrow("check", "bad.csv", "--study", "study.toml")
    assert code == 1
    assert "999" in out
    code, out, _ = barrow("check", "bad.csv", "--study", "study.toml", "--json")
    assert code == 1
    assert json.loads(out)["private"] is True
    assert barrow("check", "bad.csv", "--study", "study.toml", "--quiet")[1].strip() == "not usable"


def test_a_release_never_prints_what_the_records_hold(barrow, study, tmp_path):
    make_ledger(study)
    write_ages(tmp_path / "bad.csv", bad="secret-value")
    code, out, err = barrow("release", "bad.csv", "--study", "study.toml", "--out", "o")
    assert code == 1
    assert "secret" not in out + err
    assert "barrow check" in err
    rows = sum(1 + i % 5 for i in range(USERS))
    code, out, err = barrow("release", "--study", "study.toml", "--out", "o")
    assert code == 0
    assert not re.search(rf"(?<!\d){rows}(?!\d)|(?<!\d){rows:,}(?!\d)", out + err)  # digits of noise may hold them


WRONG = [
    (["plan", "--study", "/dev/null"], "is a device"),
    (["plan", "--study", "empty.toml"], "No space is named"),
    (["plan", "--study", "none.toml"], "no study file"),
    (["plan", "--study", "study.toml", "--query", "median("], "cannot be read"),
    (["plan", "--study", "study.toml", "--query", "meen"], "Did you mean 'mean'"),
    (["plan", "--study", "study.toml", "--alpha", "-1"], "alpha is -1"),
    (["plan", "--study", "study.toml", "--query", "mean(noise='gaussian')"], "no pure guarantee"),
    (["plan", "nothing.csv", "--study", "study.toml"], "no file"),
    (["plan", "meen"], "no question 'meen'"),
    (["check", "--space", LINE], "No source is named"),
    (["explain", "nowhere"], "no statement"),
    (["verify", "nowhere"], "no statement"),
    (["verify"], "no release in this folder"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_errors_teach(barrow, study, arguments, words):
    Path("empty.toml").touch()
    code, out, err = barrow(*arguments)
    assert (code, out) == (1, "")
    assert words in err
    assert "fix:" in err
    code, out, err = barrow(*arguments, "--json")
    assert (code, err) == (1, "")
    assert words in json.loads(out)["problem"]


@pytest.mark.parametrize("command", ["init", "plan", "compare", "release", "check", "explain", "verify"])
def test_help_has_an_example(barrow, command):
    code, out, _ = barrow(command, "--help")
    assert code == 0
    assert f"barrow {command}" in out
    assert "Example" in out


def test_an_interruption_before_the_payment_says_so(barrow, study, monkeypatch):
    from barrow.engines import DuckDBEngine

    make_ledger(study)

    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(DuckDBEngine, "sum_cells", interrupt)
    code, _, err = barrow("release", "--study", "study.toml", "--out", "o")
    assert code == 130
    assert "before the budget was charged" in err
    assert json.loads(barrow("ledger", "show", "ages.ledger", "--json")[1])


def test_quiet_account(barrow):
    code, out, _ = barrow("account", "--alpha", "25", "--delta", "0", "--items", "100", "--model", "local", "--quiet")
    assert (code, float(out)) == (0, 0.25)
