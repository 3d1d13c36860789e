"""Study files: what they say, and every way to get one wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest

from barrow.errors import ParameterError
from barrow.promises import Model, Promise, UserLevel
from barrow.spaces import Discrete, Earth
from barrow.study import Study, read_study, study_from_spec, write_study
from barrow.study.file import spec_of, study_from_text, study_text

SPACE = {"kind": "discrete", "labels": ["a", "b"]}


def test_numbers_beyond_all_floats_round_trip(tmp_path):
    study = Study(Discrete(["a", "b"]), alpha=10**400)
    study.write(tmp_path / "large.toml")
    assert Study.read(tmp_path / "large.toml").alpha == 10**400


def test_files_round_trip(tmp_path):
    promise = Promise("1 day of 30", "100 km", "0.2")
    study = Study(Earth(cell=100), (promise,), dataset="d", users=7, model=Model.LOCAL)
    write_study(study, tmp_path / "s.toml")
    again = read_study(tmp_path / "s.toml")
    assert again == study
    assert again.policy.alpha == study.policy.alpha
    worst = Study(
        Discrete(["a", "b"]), alpha=study.policy.alpha_exact, user_level=UserLevel(1, "1e-9", model="central")
    )
    write_study(worst, tmp_path / "w.toml")
    assert read_study(tmp_path / "w.toml") == worst
    plain = Study(Discrete(["a", "b"]), alpha=study.policy.alpha_exact)
    write_study(plain, tmp_path / "p.toml")
    assert read_study(tmp_path / "p.toml").alpha == study.policy.alpha_exact


WRONG = {
    "unknown key": ({"space": SPACE, "promises": []}, "Did you mean 'promise'"),
    "unknown privacy key": ({"space": SPACE, "privacy": {"user_epsilo": 1}}, "Did you mean 'user_epsilon'"),
    "a key of another table": ({"space": SPACE, "privacy": {"alpha": 1}}, "belongs to another table"),
    "a table of long ago": ({"space": SPACE, "query": {"kind": "mean"}}, "unknown field `query`"),
    "unknown promise key": ({"space": SPACE, "promise": [{"eps": 1}]}, "eps"),
    "no space": ({}, "names no space"),
    "space not a table": ({"space": "earth"}, "Expected `object`"),
    "promise not a list": ({"space": SPACE, "promise": {"share": 1}}, "Expected `array`"),
    "promise lacks": ({"space": SPACE, "promise": [{"share": 1}]}, "distance"),
    "alpha and promises": (
        {"space": SPACE, "alpha": 1, "promise": [{"share": 1, "distance": 1, "epsilon": 1}]},
        "alpha and promises",
    ),
    "users": ({"space": SPACE, "users": 0}, "users is 0"),
    "model": ({"space": SPACE, "model": "magic"}, "model is 'magic'"),
    "delta": ({"space": SPACE, "delta": 1}, "delta is 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_studies_are_refused(name):
    data, pattern = WRONG[name]
    with pytest.raises(ParameterError, match=pattern) as error:
        study_from_spec(data)
    assert error.value.fix


def test_wrong_files_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="no study file"):
        read_study(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("x = [")
    with pytest.raises(ParameterError, match="not TOML"):
        read_study(tmp_path / "bad.toml")
    with pytest.raises(ParameterError, match="cannot be read"):
        read_study(tmp_path)
    with pytest.raises(ParameterError, match="makes no promises"):
        _ = study_from_spec({"space": SPACE}).policy


def test_compare():
    study = Study("line(low=0, high=100, step=1, unit='years')", ["1/50, 5 years, 0.1"], users=1000)
    assert study.compare("mean").choice.name == "laplace"


def test_spec_of():
    assert spec_of(Study("earth", alpha="1/3"))["alpha"] == "1/3"


def test_study_text():
    assert study_from_text(study_text(Study("earth", alpha="1/3"))).alpha == Fraction(1, 3)


def test_study_from_text():
    assert study_from_text("alpha = 0.1\n[space]\nkind = 'earth'").alpha == Fraction(1, 10)
