"""What the designer's page shows for a study, and where it says that something does not fit."""

from __future__ import annotations

import pytest

from barrow.errors import ParameterError
from barrow.promises import Policy, Promise
from barrow.questions import Density, Mean
from barrow.render.figures.cities import cities
from barrow.spaces import Earth, Line, NoRecords
from barrow.study import Study
from barrow.web.app import world_path
from barrow.web.design import Design, can_preview, coarser, commands, cost, preview, quick, toml_of
from barrow.web.example import Pictured, population
from barrow.web.request import DesignRequest, MisfitError, at, space_of
from barrow.web.suggest import suggestion
from barrow.web.words import guesses, promise_rows

KILOMETRES = Line(0, 100, unit="km", step=1)


AGES = "line(low=0, high=100, step=5, unit='years')"


SMALL = "line(low=0, high=9, step=1)"


def test_a_design_and_what_is_asked():
    study = Study(AGES, ["all, 5 years, 0.5"], users=99, questions="mean")
    shown = Design(DesignRequest(study, 0)).to_json()
    assert (shown["exact"], shown["cards"]["error"]["value"]) == (True, "± 3.34 years")
    assert suggestion(DesignRequest(study, 0), "grid")["best"]["text"] == "0.02 years"
    plain = Study(SMALL, alpha=1, users=9, questions="mean")
    assert quick(DesignRequest(plain, 0))
    assert not can_preview(DesignRequest(plain, 0))
    assert commands(plain, "study.toml")[0] == "barrow plan study.toml"
    assert toml_of(Study(SMALL, alpha=1)).splitlines()[0] == "alpha = 1"
    assert cost(Study(SMALL, alpha=2, users=9).plan("mean")) == {"name": "α", "value": "2"}
    counted = Study(SMALL, ["all, 0.5, 1"], users=99, questions="histogram")
    assert preview(counted.question(), counted.terms(counted.question()), counted.space).chosen.name == "tree"
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
    assert len(cities().names) > 200
    picture = Pictured(Study(AGES, ["all, 5 years, 0.5"], users=1000).plan("mean")).figure(360)
    assert picture.title == "What the answer would look like"
    assert world_path().startswith("M")
    assert len(world_path()) < 60_000


def test_words_about_promises():
    policy = Policy(KILOMETRES, ["all, 5 km, 0.5", "1/10, 5 km, 0.5"])
    assert [row["decides"] for row in promise_rows(policy, None)] == [True, False]
    assert guesses()[0] == {"epsilon": "0.01", "guess": "50.3 %"}
    assert len(guesses()) == 57
