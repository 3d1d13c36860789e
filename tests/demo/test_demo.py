"""The demo from the outside: files, statements, ledger, values against the truth, and what it must not print."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from barrow.cli.main import main
from barrow.demo import EXAMPLES, run_demo
from barrow.demo.examples import CONCEPTS, bundled
from barrow.errors import BarrowError, ParameterError
from barrow.ledger import Ledger
from barrow.questions.statement import Statement
from barrow.spaces.nearness import distances_from
from barrow.study import LostReleaseError, Study, read_statement, read_study, verify

ROOT = Path(__file__).parent.parent.parent


def call(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
        main(["demo", *arguments])
    return stop.value.code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder in which both demos have run: flights as words, Shakespeare as JSON."""
    here, before = tmp_path_factory.mktemp("demo"), Path.cwd()
    os.chdir(here)
    try:
        flights = call("--verbose")
        words = call("--data", "shakespeare", "--out", "plays", "--json")
        yield flights, words
    finally:
        os.chdir(before)


@pytest.fixture
def printed(place):
    code, out, err = place[0]
    assert (code, err) == (0, "")
    return out


@pytest.fixture
def data(place):
    code, out, err = place[1]
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    return json.loads(out)


def test_every_file_is_there_and_nothing_else(printed, data):
    files = sorted(str(path) for path in Path("barrow-demo").rglob("*") if path.is_file())
    results = ("croissant.json", "datapackage.json", "report.html", "statement.json", "statement.txt", "values.csv")
    results = (*results, "values.parquet")
    assert files == sorted(
        [
            "barrow-demo/nycflights13.ledger",
            "barrow-demo/flights.parquet",
            "barrow-demo/study.toml",
            "barrow-demo/map/values.geojson",
            "barrow-demo/map/cells.geoparquet",
            *(f"barrow-demo/{name}/{file}" for name in ("map", "distance") for file in results),
        ]
    )
    assert data["files"] == sorted(str(path) for path in Path("plays").rglob("*") if path.is_file())
    assert sorted(os.listdir()) == ["barrow-demo", "plays"]
    for folder in ("barrow-demo/map", "barrow-demo/distance", "plays/concepts"):
        assert sum(path.stat().st_size for path in Path(folder).iterdir()) < 2_000_000


def test_the_releases_hold_and_a_promise_is_spent(printed, data):
    flights, plays = "barrow-demo/nycflights13.ledger", "plays/shakespeare.ledger"
    for folder, ledger in (("barrow-demo/map", flights), ("barrow-demo/distance", flights), ("plays/concepts", plays)):
        checks = verify(folder, ledger=ledger)
        assert all(check.holds for check in checks), checks
        assert len(checks) >= 4
    for name, entries in (("barrow-demo/nycflights13", 2), ("plays/shakespeare", 1)):
        ledger = Ledger.open(f"{name}.ledger")
        assert min(balance.left.loss / balance.limit.loss for balance in ledger.balances()) < 1e-9
        assert len([r for r in ledger.records() if r.kind == "commit"]) == entries
    assert data["ledger"] == {"file": "plays/shakespeare.ledger"}


def test_parts_add_up_to_what_is_promised(printed):
    study = read_study("barrow-demo/study.toml")
    assert study == EXAMPLES["flights"].study(Path("barrow-demo"))
    assert sum(study.terms(question).fraction for question in study.questions) == 1


def test_a_further_release_is_refused(printed, tmp_path):
    study = read_study("barrow-demo/study.toml")
    with pytest.raises(BarrowError, match="200 km") as error:
        study.release("map", key="again", out=tmp_path / "more")
    assert error.value.fix
    assert not (tmp_path / "more").exists()


def released(folder: str) -> tuple[np.ndarray, Statement]:
    rows = duckdb.sql(f"SELECT value FROM read_csv('{folder}/values.csv')").fetchall()
    return np.array([row[0] for row in rows]), read_statement(folder)


@pytest.mark.parametrize("folder", ["barrow-demo/map", "barrow-demo/distance", "plays/concepts"])
def test_values_are_multiples_of_the_public_grid(printed, data, folder):
    values, text = released(folder)
    assert len(values) == text.answer.outputs
    grid = Fraction(text.answer.noise.grid)
    multiples = [Fraction(value) / grid for value in values.tolist()]
    assert all(multiple.denominator == 1 for multiple in multiples)
    assert any(multiple % 2 for multiple in multiples) or len(multiples) < 20


def flown() -> tuple[np.ndarray, np.ndarray]:
    """The aircraft's number and the item of each flight, without the engine."""
    rows = duckdb.sql("SELECT user, lat, lon FROM 'barrow-demo/flights.parquet'").fetchall()
    users = np.unique([row[0] for row in rows], return_inverse=True)[1]
    return users, np.array([row[1:] for row in rows])


def over_people(users: np.ndarray, values: np.ndarray) -> np.ndarray:
    sizes = np.bincount(users)
    sums = np.stack([np.bincount(users, weights=column) for column in values.T])
    return (sums / sizes).mean(axis=1)


def test_the_map_and_the_distance_are_near_the_truth(printed):
    users, places = flown()
    study = read_study("barrow-demo/study.toml")
    items = study.space.encode(places)
    far = distances_from(study.space, (40.64, -73.78))[items] * study.space.diameter
    value, text = released("barrow-demo/distance")
    # Laplace noise exceeds 30 scales with probability 1e-13.
    reach = 30 * text.answer.noise.scale
    truth = over_people(users, far[:, None])
    assert abs(value - truth) < reach
    assert abs(far.mean() - truth) > 2 * reach  # a mean over flights would have been found out

    query = study.question("map").query(study.space)
    values, text = released("barrow-demo/map")
    used, positions = np.unique(items, return_inverse=True)
    table = query.table.integers[used].toarray() * float(query.step)
    truth = over_people(users, table[positions])
    reach = 30 * text.answer.noise.scale
    assert np.abs(values - truth).max() < reach
    assert np.abs(table[positions].mean(axis=0) - truth).max() > 0.02 > reach
    # The noise is there and of the stated size: the mean of 426 exponential variates is off by 0.35 with
    # probability 1e-9; half or double the noise would be found out.
    assert np.abs(values - truth).mean() / text.answer.noise.scale == pytest.approx(1.0, abs=0.35)


def test_concepts_are_near_the_truth(data):
    space = read_study("plays/study.toml").space
    words, vectors = list(space.labels), space.points
    rows = duckdb.sql("SELECT user, word FROM 'plays/shakespeare.parquet'").fetchall()
    users = np.unique([row[0] for row in rows], return_inverse=True)[1]
    assert users.max() + 1 == data["people"] == 297
    known = {word: i for i, word in enumerate(words)}
    items = np.array([known.get(row[1], known["the"]) for row in rows])
    cosines = vectors @ vectors[[known[word] for word in CONCEPTS]].T
    truth = over_people(users, cosines[items])
    values = data["releases"][0]["values"]
    assert list(values) == [f"similarity to {word}" for word in CONCEPTS]
    half_width = data["releases"][0]["half_width_95"]
    off = np.abs(np.array(list(values.values())) - truth)
    # This is about 25 scales; the noise's length, a gamma variate of shape 5, exceeds them with probability 3e-7.
    assert (off < 5 * half_width).all()
    assert (off > 0).all()
    dropped = np.array([row[1] in known for row in rows])
    assert np.abs(over_people(users[dropped], cosines[items[dropped]]) - truth).max() > half_width


def test_it_prints_no_private_count(printed):
    file = "barrow-demo/flights.parquet"
    rows, airports = duckdb.sql(f"SELECT count(*), count(DISTINCT dest) FROM '{file}'").fetchall()[0]
    sizes = [n for (n,) in duckdb.sql(f"SELECT DISTINCT count(*) FROM '{file}' GROUP BY user").fetchall()]
    assert (rows, airports) == (326670, 100)
    numbers = {text.replace(",", "") for text in re.findall(r"\d[\d,.]*", printed)}
    assert not numbers & {str(rows), str(airports), str(max(sizes))}
    assert "4043" in numbers  # n is public: the study says so
    texts = [p.read_text() for p in Path("barrow-demo").rglob("*") if p.suffix in (".json", ".txt", ".toml")]
    assert texts
    assert not [text for text in texts if str(rows) in text or f"{rows:,}" in text]


def test_the_words_say_what_the_statements_say(printed):
    _, near = released("barrow-demo/map")
    value, far = released("barrow-demo/distance")
    assert f"{value[0]:,.0f} ± " in printed
    worst = near.worst_case.epsilon + far.worst_case.epsilon
    shown = float(re.search(r"ε ≤ ([\d.]+) for all releases together", " ".join(printed.split()))[1])
    assert worst <= shown < worst + 0.02
    half_width = float(re.search(r"each ± ([\d.]+)", printed)[1])
    assert near.answer.half_width_95 <= half_width < 1.1 * near.answer.half_width_95
    for label in ("Data", "Promises", "α", "Map", "Distance", "Worst", "Ledger", "Wrote", "Next"):
        assert re.search(rf"^{label} ", printed, re.MULTILINE), label
    assert max(len(line) for line in printed.splitlines()) <= 78
    assert "barrow verify barrow-demo/map" in printed
    assert "barrow plan barrow-demo/study.toml" in printed


@pytest.mark.parametrize("name", ["flights", "shakespeare"])
def test_a_demo_is_one_screen(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = call("--data", name)
    lines = out.splitlines()
    assert (code, max(map(len, lines)) <= 78) == (0, True)
    assert len(lines) <= 24
    assert [line.split()[0] for line in lines if line[0] != " "][:2] == ["Data", "Promises"]
    assert "if all data of one" in out
    assert "--verbose says more" in lines[-1]


def test_json_says_everything(data):
    assert (data["alpha"], data["delta"]) == (10.0, 0.0)
    assert [row["epsilon_got"] for row in data["promises"]] == [0.1, 0.5]
    release = data["releases"][0]
    assert set(release) >= {"name", "description", "half_width_95", "worst_case", "values", "folder", "file"}
    assert data["worst_case"]["epsilon"] >= release["worst_case"]["epsilon"]
    assert data["seconds"] > 0
    assert Path(release["file"]).is_file()


def test_an_existing_folder_is_left_alone(printed):
    def contents() -> dict[str, str]:
        files = (path for path in Path("barrow-demo").rglob("*") if path.is_file())
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    before = contents()
    code, out, err = call()
    assert (code, out) == (1, "")
    assert "'barrow-demo' exists" in err
    assert "fix:     barrow demo --out barrow-demo-2" in err
    code, out, err = call("--json")
    assert (code, err) == (1, "")
    assert json.loads(out)["fix"] == "barrow demo --out barrow-demo-2"
    assert contents() == before
    Path("barrow-demo-2").mkdir()
    assert "--out barrow-demo-3" in call()[2]
    Path("barrow-demo-2").rmdir()


def test_wrong_folders_and_data(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="exists"):
        run_demo(tmp_path / "file")
    with pytest.raises(ParameterError, match="cannot be made"):
        run_demo(tmp_path / "file" / "under")
    assert call("--data", "storms")[0] == 2
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(("error", "seen"), [(KeyboardInterrupt, KeyboardInterrupt), (LostReleaseError("x"), None)])
def test_nothing_is_left_of_a_demo_that_fails(tmp_path, monkeypatch, error, seen):
    def fail(self: Study, *_: object, **__: object) -> None:
        assert (tmp_path / "new" / "nycflights13.ledger").exists()
        raise error

    monkeypatch.setattr(Study, "release", fail)
    with pytest.raises(seen or LostReleaseError) as caught:
        run_demo(tmp_path / "new", data="flights")
    assert os.listdir(tmp_path) == []
    if seen is None:
        assert "folder was removed" in str(caught.value)


def test_the_folder_can_be_entered(printed, monkeypatch, capsys):
    monkeypatch.chdir("barrow-demo")
    assert "barrow-demo" not in Path("study.toml").read_text()
    assert read_statement("map").ledger.ledger == "nycflights13.ledger"
    for command in (["plan", "distance"], ["release", "distance", "--quiet"]):  # the second shows it again
        with pytest.raises(SystemExit) as stop:
            main(command)
        assert not stop.value.code
    assert Path(capsys.readouterr().out.splitlines()[-1]).resolve() == Path("distance").resolve()


def test_quiet_and_html(tmp_path):
    code, out, _ = call("--data", "shakespeare", "--out", str(tmp_path / "a"), "--quiet")
    assert (code, out.strip()) == (0, str(tmp_path / "a"))
    result = run_demo(tmp_path / "b", data="shakespeare")
    assert result._repr_html_().startswith("<pre>Data ")
    assert result.worst_epsilon >= result.shown["concepts"].plan.worst_epsilon


def test_bundled_data_are_small_and_explained():
    sizes = {name: len(bundled(name).read_bytes()) for name in ("flights.parquet", "shakespeare.parquet", "words.npz")}
    assert sizes["flights.parquet"] < 300_000
    assert sizes["shakespeare.parquet"] + sizes["words.npz"] < 500_000
    text = bundled("README.md").read_text()
    for name in sizes:
        assert name in text
    assert "Example" in call("--help")[1]
    assert 'exec .venv/bin/barrow demo --out "$folder"' in (ROOT / "scripts" / "demo").read_text()
