"""The small parts behind the page: catalogue, words, suggestions, and the child process, each by one known answer."""

import asyncio
import subprocess
import sys

import pytest

from barrow.errors import ParameterError
from barrow.policy import Policy, Promise
from barrow.questions import Density, Mean, question_kinds
from barrow.spaces import Earth, Line, NoRecords
from barrow.study import Study
from barrow.web.app import world_path
from barrow.web.asked import Asked, MisfitError, at, space_of
from barrow.web.catalogue import catalogue, distances, entry_of, grids, steps
from barrow.web.child import Cancelled, Child, columns
from barrow.web.design import Design, can_preview, coarser, commands, cost, quick, toml_of
from barrow.web.example import Pictured, cities, population
from barrow.web.guard import random_name
from barrow.web.releasing import _message, started
from barrow.web.saving import StudyPlace
from barrow.web.suggest import suggestion
from barrow.web.words import guesses, promise_rows

KILOMETRES = Line(0, 100, unit="km", step=1)
AGES = "line(low=0, high=100, step=5, unit='years')"
SMALL = "line(low=0, high=9, step=1)"


def test_the_catalogue():
    assert entry_of({"kind": "circle", "period": 24.0, "unit": "h", "step": 2}) == "hours"
    assert entry_of({"kind": "graph"}) == ""
    assert steps(3, 60) == [5.0, 10.0, 20.0, 50.0]
    assert distances(KILOMETRES) == ["2 km", "5 km", "10 km", "20 km"]
    assert grids(KILOMETRES)[:3] == [0.01, 0.02, 0.05]
    assert {row["kind"] for row in catalogue()["questions"]} == set(question_kinds())


def test_a_design_and_what_is_asked():
    study = Study(AGES, ["all, 5 years, 0.5"], users=99, questions="mean")
    shown = Design(Asked(study, 0)).to_json()
    assert (shown["exact"], shown["cards"]["error"]["value"]) == (True, "± 3.34 years")
    assert suggestion(Asked(study, 0), "grid")["best"]["text"] == "0.02 years"
    plain = Study(SMALL, alpha=1, users=9, questions="mean")
    assert quick(Asked(plain, 0))
    assert not can_preview(Asked(plain, 0))
    assert commands(plain, "study.toml")[0] == "barrow plan study.toml"
    assert toml_of(Study(SMALL, alpha=1)).splitlines()[0] == "alpha = 1"
    assert cost(Study(SMALL, alpha=2, users=9).plan("mean")) == {"name": "α", "value": "2"}
    counted = Study(SMALL, ["all, 0.5, 1"], users=99, questions="histogram")
    assert counted.question().preview(counted.terms(counted.question()), counted.space).chosen.name == "tree"
    assert space_of({"call": "line(low=0, high=1, step=0.5)"}).items == 2


def test_what_does_not_fit_says_where():
    with pytest.raises(MisfitError, match="epsilon is 0"), at("promise-1"):
        Promise("all", "1 km", 0)
    assert MisfitError("users", ParameterError("users is 0.", fix="100")).to_json()["where"] == "users"


def test_grids_and_examples():
    assert coarser(Line(0, 100, step=0.01), Mean()).items == 400
    assert coarser(Line(0, 100, step=0.01), Density(bandwidth="0.001")).items == 3200
    assert coarser(Line(0, 10, step=1), Mean()).items == 11
    assert coarser(NoRecords(Line(0, 100, step=0.01)), Mean()).items == 401
    weights, words = population(Earth(box=(10, -172, 72, -59), cell=500))
    assert weights.sum() == pytest.approx(1.0)
    assert words == "people of large cities"
    assert len(cities()) > 200
    picture = Pictured(Study(AGES, ["all, 5 years, 0.5"], users=1000).plan("mean")).figure(360)
    assert picture.title == "What the answer would look like"
    assert world_path().startswith("M")
    assert len(world_path()) < 60_000


def test_words_about_promises():
    policy = Policy(KILOMETRES, ["all, 5 km, 0.5", "1/10, 5 km, 0.5"])
    assert [row["decides"] for row in promise_rows(policy, None)] == [True, False]
    assert guesses()[0] == {"epsilon": "0.01", "guess": "50.3 %"}
    assert len(guesses()) == 57


def test_a_child_that_is_cancelled_goes_no_further():
    told = []
    child = Child(told.append)
    child.stage("validate")
    child.cancel(interrupt=lambda: None)
    with pytest.raises(Cancelled):
        child.stage("reserve")
    assert told == [{"event": "stage", "stage": "validate"}, {"event": "cancelling"}]
    with pytest.raises(ParameterError, match=r"There is no file 'nowhere\.parquet'"):
        columns("nowhere.parquet")


def test_a_file_whose_name_is_in_another_encoding_reaches_the_child(tmp_path):
    child = asyncio.run(_ordered(tmp_path, {"do": "release", "file": "caf\udce9.toml", "question": "mean"}))
    assert child["problem"] == "There is no study file 'caf\\udce9.toml'."


async def _ordered(folder, order):
    child = await started(folder, order)
    return _message((await child.communicate())[0])


def test_a_draft_that_cannot_be_read_is_passed_over(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    place, draft = StudyPlace(tmp_path / "study.toml"), tmp_path / f".study.toml.draft-{gone.pid}"
    for text in ("", "[]", "{", "[" * 10**5):
        draft.write_text(text)
        assert place.draft() is None
    draft.write_text('{"study": {}}')
    assert place.draft() == {"study": {}}


def test_places_and_names(tmp_path):
    place = StudyPlace(tmp_path / "study.toml")
    assert place.save("users = 3", seen=None) == place.digest
    assert place.file.read_text() == "users = 3"
    assert len(random_name()) == 64
    assert random_name() != random_name()
