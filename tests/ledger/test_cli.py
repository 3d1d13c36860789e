"""``barrow ledger``: commands, JSON, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from barrow.cli.main import main
from barrow.ledger import Ledger
from barrow.ledger.errors import CorruptLedgerError
from barrow.promises import Emd, Guarantee, PureRelease
from barrow.study import read_study

STUDY = """
dataset = "visits-2026-10"
users = 1083
model = "central"
alpha = 25
[space]
kind = "line"
low = 0
high = 10
unit = "km"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def go(*arguments: object, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["ledger", *map(str, arguments)])
        result = capsys.readouterr()
        assert ended.value.code == code, result
        return result.out if code == 0 or "--json" in arguments else result.err

    return go


@pytest.fixture
def file(tmp_path: Path, study: Path, run: Any) -> Path:
    path = tmp_path / "nyc.ledger"
    run("init", path, "--study", study, "--alpha", 250, "--delta", "1e-9")
    return path


def release(path: Path, study: Path, key: str, alpha: Any, what: str = "heatmap 1km") -> None:
    ledger = Ledger.open(path)
    paid = ledger.reserve(
        key=key,
        what=what,
        event=PureRelease(alpha, model="central"),
        guarantee=Guarantee(Emd(alpha), "pure", "def:emd-dp"),
        space=read_study(study).space,
        dataset="visits-2026-10",
        users=1083,
    )
    ledger.commit(paid, "sha256:" + "0" * 64)


def test_init(tmp_path: Path, study: Path, run: Any) -> None:
    path = tmp_path / "a.ledger"
    text = run("init", path, "--study", study, "--alpha", "250", "--delta", "1e-9")
    assert "visits-2026-10: 1,083 people, line space" in text
    assert "(α=250, δ=1e-09)-unbounded EMD-DP (central)" in text
    assert "Budget: alpha 250 of 250 and delta 1e-9 of 1e-9 left." in text
    assert Ledger.open(path).budget.space.unit == "km"


def test_init_options(tmp_path: Path, study: Path, run: Any) -> None:
    path = tmp_path / "a.ledger"
    options = ["--dataset", "other", "--users", 7, "--model", "local", "--bounded", 30]
    out = run("init", path, "--study", study, "--alpha", "1/3", *options, "--user-epsilon", "0.5", "--json")
    data = json.loads(out)
    assert data["budget"]["dataset"] == "other"
    assert data["budget"]["items"] == 30
    assert data["budget"]["limit"] == {
        "definition": "Emd", "alpha": "1/3", "delta": "0", "model": "local", "bounded": True,
    }  # fmt: skip
    assert data["budget"]["user_level"]["epsilon"] == "0.5"
    assert data["head"]["length"] == 1
    run("init", tmp_path / "b.ledger", "--study", study, "--epsilon", "0.2", "--radius", "0.01")
    assert Ledger.open(tmp_path / "b.ledger").budget.symbol == "epsilon"


def test_show(file: Path, study: Path, run: Any) -> None:
    release(file, study, "a", 121)
    lines = run("show", file).splitlines()
    assert lines[1].split() == ["#", "when", "(UTC)", "what", "α", "δ", "who", "left", "result"]
    assert "heatmap 1km" in lines[2]
    for cell in (" 121 ", " 129, δ 1e-9 ", "released"):
        assert cell in lines[2]
    assert lines[3] == "Budget: alpha 129 of 250 and delta 1e-9 of 1e-9 left."
    data = json.loads(run("show", file, "--json"))
    assert data["accounts"]["main"]["left"] == {"alpha": "129", "delta": "1e-9"}
    assert data["releases"][0]["what"] == "heatmap 1km"


def test_a_ledger_must_be_named_somewhere(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in ("show", "head", "verify", "export", "price"):
        assert f"barrow ledger {command} visits.ledger" in run(command, code=1)
    (tmp_path / "study.toml").write_text("users = 3\n[space]\nkind = 'line'\nlow = 0\nhigh = 1\nstep = 1\n")
    assert "names no ledger" in run("show", code=1)


def test_markup_in_names_is_only_text(file: Path, study: Path, run: Any) -> None:
    release(file, study, "a", 1, what="[red]map[/red]")
    assert "[red]map[/red]" in run("show", file)


def test_head_and_verify(file: Path, study: Path, run: Any) -> None:
    head = run("head", file).strip()
    assert json.loads(run("head", file, "--json"))["head"] == head
    release(file, study, "a", 1)
    assert "Not checked: whether records were cut off" in run("verify", file)
    assert "nothing was cut off" in run("verify", file, "--head", head)
    assert json.loads(run("verify", file, "--head", head, "--json")) | {"hash": ""} == {
        "valid": True, "length": 3, "hash": "", "releases": 1, "uncommitted": 0, "anchored": True,
        "within_limits": True,
    }  # fmt: skip
    later = run("head", file).strip()
    wrong = later[:-1] + ("0" if later[-1] != "0" else "1")
    assert "anchored head" in run("verify", file, "--head", wrong, code=1)
    assert json.loads(run("verify", file, "--head", wrong, "--json", code=1))["error"] == "CorruptLedgerError"
    assert "LENGTH:HASH" in run("verify", file, "--head", "3", code=1)


def test_export(file: Path, tmp_path: Path, run: Any) -> None:
    data = json.loads(run("export", file))
    assert data["head"]["length"] == len(data["records"]) == 1
    assert json.loads(run("export", file, "--json")) == data
    out = tmp_path / "out.json"
    run("export", file, "--out", out)
    assert json.loads(out.read_text()) == data
    assert "cannot be written" in run("export", file, "--out", out, code=1)
    assert json.loads(run("export", file, "--out", tmp_path / "o2", "--json")) == {"out": str(tmp_path / "o2")}


@pytest.mark.parametrize("command", ["show", "head", "verify", "export"])
def test_missing_and_foreign_files(tmp_path: Path, study: Path, run: Any, command: str) -> None:
    assert "barrow ledger init" in run(command, tmp_path / "none", code=1)
    assert json.loads(run(command, tmp_path / "none", "--json", code=1))["error"] == "MissingLedgerError"
    assert "is not a ledger" in run(command, study, code=1)
    assert study.read_text() == STUDY


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--alpha", "-1"], "alpha is -1"),
        (["--alpha", "ten"], "not a number"),
        (["--alpha", "1", "--delta", "1"], "delta is 1"),
        (["--alpha", "1", "--users", "0"], "users is 0"),
        (["--alpha", "1", "--model", "cloud"], "model is 'cloud'"),
        (["--alpha", "1", "--bounded", "0"], "items is 0"),
        (["--alpha", "1", "--user-epsilon", "0"], "epsilon is 0"),
        (["--alpha", "1", "--epsilon", "1"], "no single definition"),
        (["--epsilon", "1"], "no single definition"),
        ([], "no single definition"),
        (["--epsilon", "1", "--radius", "0.1", "--bounded", "3"], "Discrete EMD-DP"),
    ],
)
def test_bad_budgets_write_nothing(tmp_path: Path, study: Path, run: Any, options: list[str], words: str) -> None:
    assert words in run("init", tmp_path / "a.ledger", "--study", study, *options, code=1)
    assert [p.name for p in tmp_path.iterdir()] == ["study.toml"]


def test_init_needs_a_data_set_and_users(tmp_path: Path, run: Any) -> None:
    study = tmp_path / "study.toml"
    study.write_text('alpha = 25\n[space]\nkind = "earth"\n')
    assert "--dataset" in run("init", tmp_path / "a", "--study", study, "--alpha", 1, code=1)
    run("init", tmp_path / "a", "--study", study, "--alpha", 1, "--dataset", "d", "--users", 3)
    assert "already a file" in run(
        "init", tmp_path / "a", "--study", study, "--alpha", 1, "--dataset", "d", "--users", 3, code=1
    )
    run("init", tmp_path / "b", "--study", tmp_path / "none.toml", "--alpha", 1, code=1)


@pytest.mark.parametrize("command", ["init", "show", "head", "anchor", "verify", "export"])
def test_help_has_an_example(run: Any, command: str) -> None:
    assert f"Example:  barrow ledger {command} nyc.ledger" in run(command, "--help")


def test_the_study_may_name_the_separate_user_level_budget(study: Path, tmp_path: Path, run: Any) -> None:
    study.write_text(STUDY + '[privacy]\nuser_epsilon = "0.5"\n')
    built = json.loads(run("init", tmp_path / "l", "--study", study, "--alpha", "3", "--json"))
    assert built["budget"]["user_level"]["epsilon"] == "0.5"


PROMISES = """
dataset = "visits-2026-10"
users = 1083
model = "central"
delta = "1e-9"
[space]
kind = "line"
low = 0
high = 10
unit = "km"
step = 1
cells = true
[[promise]]
share = "all"
distance = "300 m"
epsilon = 1
[[promise]]
share = "1 day of 30"
distance = "anywhere"
epsilon = 0.5
"""


@pytest.fixture
def promised(tmp_path: Path, run: Any) -> Path:
    (tmp_path / "promises.toml").write_text(PROMISES)
    return tmp_path / "visits.ledger"


def test_promises(promised: Path, tmp_path: Path, run: Any) -> None:
    study = tmp_path / "promises.toml"
    out = run("init", promised, "--study", study, "--anchor", tmp_path / "head")
    assert out.splitlines()[0] == f"Made {promised}."
    assert "visits-2026-10: 1,083 people, line km, 2 promises, δ 1e-9 (central)" in out
    assert "all data by 300 m: ε 0 of 1 used." in out
    assert run("init", promised, "--study", study).startswith("Joined")
    release(promised, study, "k1", 2)
    shown = run("show", promised)
    assert "all data by 300 m: ε ≈0.26 of 1 used." in shown
    assert "1 day of 30 anywhere: ε ≈0.06667 of 0.5 used." in shown
    assert "heatmap 1km" in shown
    assert (
        run("show", promised, "--who")
        .splitlines()[1]
        .endswith(": all data by 300 m: ≈0.26, 1 day of 30 anywhere: ≈0.06667.")
    )
    assert run("show", promised, "--by-question").splitlines()[1].startswith("heatmap 1km: all data by")
    assert run("show", promised, "--csv").splitlines()[0].startswith("record,when,period,group,question,what,key")
    assert len(run("show", promised, "--quiet").split()) == 2
    assert json.loads(run("show", promised, "--json"))["promises"][1]["of"] == "0.5"
    assert (tmp_path / "head").read_text().split()[-1] == run("head", promised).strip()


def test_a_second_study_may_not_loosen(promised: Path, tmp_path: Path, run: Any) -> None:
    study, other = tmp_path / "promises.toml", tmp_path / "other.toml"
    run("init", promised, "--study", study)
    other.write_text(PROMISES.replace("epsilon = 1", "epsilon = 2"))
    assert "loosens to ε = 2 the promise" in run("init", promised, "--study", other, code=1)
    assert "has a ledger already" in run("init", tmp_path / "fresh.ledger", "--study", study, code=1)
    other.write_text(PROMISES.replace("epsilon = 1", "epsilon = 0.9"))
    assert "tighten" in run("init", promised, "--study", other, code=1)
    assert "ε 0 of 0.9 used" in run("init", promised, "--study", other, "--tighten")
    assert "loosens" in run("init", promised, "--study", study, code=1)


def test_an_alpha_ledger_is_joined_by_promises(promised: Path, tmp_path: Path, run: Any) -> None:
    study = tmp_path / "promises.toml"
    run("init", promised, "--study", study, "--alpha", 10, "--delta", "1e-9")
    release(promised, study, "k1", 2)
    assert "all data by 300 m: ε ≈0.26 of 1 used." in run("init", promised, "--study", study)


def test_anchor(file: Path, study: Path, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "head"
    assert run("anchor", file, target) == f"{target} holds the head of 1 record.\n"
    assert json.loads(run("anchor", file, target, "--json"))["length"] == 1
    backup = file.read_bytes()
    release(file, study, "k1", 2)
    run("anchor", file, target, "--quiet")
    file.write_bytes(backup)
    assert "older copy" in run("anchor", file, target, code=1)
    monkeypatch.setenv("BARROW_LEDGER_ANCHOR", str(target))
    with pytest.raises(CorruptLedgerError, match="older copy"):
        release(file, study, "k2", 2)
    assert "is a file" in run("adopt", file, target, code=1)


def test_promises_in_quadrature(promised: Path, tmp_path: Path, run: Any) -> None:
    study = tmp_path / "promises.toml"
    out = run("init", promised, "--study", study, "--releases", 8)
    assert "All of every promise is kept for releases that add up in quadrature" in out
    assert Ledger.open(promised).budget.promised.quadrature.share == 1
    assert "keeps 0.5 of every promise" in run("init", promised, "--study", study, "--quadrature", "1/2", code=1)
    (tmp_path / "b").mkdir()
    out = run("init", tmp_path / "b" / "b.ledger", "--study", study, "--quadrature", "9/10")
    assert "0.9 of every promise is kept for" in out
