"""plan, check, release, explain, verify from the outside."""

from __future__ import annotations

import json

import pytest

from barrow.release import write_study
from tests.release.helpers import USERS, make_ledger, make_study, write_ages

LINE = "line(low=0, high=100, unit='years', step=1)"


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = make_study(tmp_path, ledger="ages.ledger", out=None)
    write_study(study, tmp_path / "study.toml")
    return study


def test_from_a_file_to_a_verified_statement(barrow, study, tmp_path):
    code, out, _ = barrow("plan", "--study", "study.toml")
    assert code == 0
    assert "No private value was read" in out
    assert "± " in out
    code, out, err = barrow("release", "--study", "study.toml", "--out", "o")
    assert code == 1
    assert "barrow ledger init" in err
    assert barrow("ledger", "init", "ages.ledger", "--study", "study.toml", "--alpha", "20", "--delta", "0")[0] == 0
    code, out, err = barrow("release", "--study", "study.toml", "--out", "o")
    assert (code, err) == (0, "")
    for words in ("We released", "Not hidden", f"{USERS} people", "Wrote o:", "barrow verify o"):
        assert words in out
    code, out, _ = barrow("verify", "o")
    assert code == 0
    assert "✗" not in out
    assert "7. " in barrow("explain", "o/statement.json")[1]
    code, out, _ = barrow("release", "--study", "study.toml", "--out", "o2", "--json", "--key", "again")
    data = json.loads(out)
    assert code == 0
    assert data["folder"] == "o2"
    assert len(data["values"]) == 1
    assert {"worst_case", "alpha", "delta", "unit", "theorem"} <= set(data)
    code, out, err = barrow("release", "--study", "study.toml", "--out", "o3", "--key", "third")
    assert code == 1
    for words in ("Requested", "Remaining", "Difference"):
        assert words in err
    (tmp_path / "o" / "values.csv").write_text("changed")
    code, out, _ = barrow("verify", "o", "--json")
    assert code == 1
    assert json.loads(out)["holds"] is False


def test_flags_say_the_same_as_a_study(barrow, study):
    flags = ["ages.csv", "--user", "uid", "--item", "age", "--users", USERS, "--space", LINE, "--query", "mean",
             "--promise", "all, 5 years, 0.5", "--promise", "1/10, 20 years, 0.3"]  # fmt: skip
    by_flags = json.loads(barrow("plan", *flags, "--json")[1])
    by_file = json.loads(barrow("plan", "--study", "study.toml", "--json")[1])
    assert by_flags == by_file
    assert json.loads(barrow("plan", "study.toml", "--json")[1]) == by_file
    halved = json.loads(barrow("plan", "--study", "study.toml", "--alpha", "1", "--json")[1])
    assert halved["alpha"] == 1.0
    assert float(barrow("plan", *flags, "--quiet")[1]) == pytest.approx(by_file["half_width_95"], rel=1e-5)


def test_plan_reads_column_names_only(barrow, study, tmp_path, monkeypatch):
    from barrow.engines import DuckDBEngine

    def never(*_args, **_kwargs):
        raise AssertionError("records were read")

    monkeypatch.setattr(DuckDBEngine, "count", never)
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
    assert str(rows) not in out + err


WRONG = [
    (["plan", "ages.csv", "--user", "uid", "--item", "age"], "No space is named"),
    (["plan", "--study", "none.toml"], "no study file"),
    (["plan", "--study", "study.toml", "--query", "median("], "cannot be read"),
    (["plan", "--study", "study.toml", "--query", "median"], "kind of query is 'median'"),
    (["plan", "--study", "study.toml", "--alpha", "-1"], "alpha is -1"),
    (["plan", "--study", "study.toml", "--delta", "0", "--noise", "gaussian"], "no pure guarantee"),
    (["plan", "nothing.csv", "--study", "study.toml"], "no file"),
    (["release", "--study", "study.toml"], "No output folder"),
    (["check", "--space", LINE], "No source is named"),
    (["explain", "nowhere"], "no statement"),
    (["verify", "nowhere"], "no statement"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_errors_teach(barrow, study, arguments, words):
    code, out, err = barrow(*arguments)
    assert (code, out) == (1, "")
    assert words in err
    assert "fix:" in err
    code, out, err = barrow(*arguments, "--json")
    assert (code, err) == (1, "")
    assert words in json.loads(out)["problem"]


@pytest.mark.parametrize("command", ["plan", "release", "check", "explain", "verify"])
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

    monkeypatch.setattr(DuckDBEngine, "count", interrupt)
    code, _, err = barrow("release", "--study", "study.toml", "--out", "o")
    assert code == 130
    assert "before the release was paid for" in err
    assert json.loads(barrow("ledger", "show", "ages.ledger", "--json")[1])


def test_quiet_ledgers(barrow, study):
    make_ledger(study)
    assert barrow("ledger", "show", "ages.ledger", "--quiet")[1] == "30\n"
    assert barrow("ledger", "verify", "ages.ledger", "--quiet")[1] == "holds\n"
    assert barrow("ledger", "price", "ages.ledger", "--quiet")[1] == "0\n"
    assert barrow("ledger", "init", "b.ledger", "--study", "study.toml", "--alpha", "1", "--quiet")[1] == ""


def test_quiet_account(barrow):
    code, out, _ = barrow("account", "--alpha", "25", "--delta", "0", "--items", "100", "--model", "local", "--quiet")
    assert (code, float(out)) == (0, 0.25)
