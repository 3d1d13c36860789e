"""What a client needs is built from question and terms: nothing is planned, simulated or decoded for a report."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import DataError, ParameterError
from barrow.local.client import LocalClient, Survey
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.questions import to_question
from barrow.questions.channels import NoiseChannel
from barrow.spaces import Discrete, Line
from barrow.study import Study

LINE = Line(0, 100, unit="years", step=1)
PLANNED = (
    "barrow.planning.simulate",
    "barrow.planning.histograms",
    "barrow.mechanisms.decoding",
    "barrow.questions.histogram",
)
LINEAR = [
    "mean",
    "distance(to=3)",
    "region(center=30, radius='10 years', ramp='10 years')",
    "density(bandwidth='20 years')",
]

REPORT = """
import sys, tempfile
import barrow as bw
study = bw.Study("line(low=0, high=100, step=1, unit='years')", {promises}, users=2000, model="local")
with tempfile.TemporaryDirectory() as folder:
    for person in "ab":
        print(len(bw.Client(study, {asked!r}, memory=f"{{folder}}/{{person}}.json").report([20, 30]).values))
print(*sorted(sys.modules))
"""


def _loaded(text: str, promises: str = '["all, 5 years, 0.5"]') -> set[str]:
    """The modules that a process holds after two reports; what was never loaded was never run."""
    code = REPORT.format(asked=text, promises=promises)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


@pytest.mark.parametrize("asked", ["mean", "distance(to=3)", "items(items=2)"])
def test_a_report_loads_nothing_that_simulates_or_decodes(asked):
    loaded = _loaded(asked)
    assert "barrow.local.client" in loaded
    assert not loaded & {*PLANNED, "scipy", "duckdb"}


@pytest.mark.parametrize("asked", ["histogram(mechanism='tree')", "histogram(mechanism='cells')"])
def test_a_mechanism_that_is_named_is_not_compared(asked, monkeypatch):
    def refused(*_, **__):
        raise AssertionError("simulated")

    monkeypatch.setattr("barrow.planning.histograms.simulate", refused)
    monkeypatch.setattr("barrow.planning.user_level.simulate", refused)
    terms = Terms(LINE, 2000, given=Fraction(3), model=Model.LOCAL)
    channel = to_question(asked).channel(terms)
    assert len(channel.report(np.array([3, 4]))) == channel.collector().length
    with pytest.raises(AssertionError, match="simulated"):
        to_question(asked).plan(terms)


CHOSEN = [
    (LINE, {"promises": ["all, 5 years, 0.5"]}, {}, {"mechanism": "edges", "spacing": 12.5}),
    (Discrete(list("abcdef")), {"promises": ["all, anywhere, 2"]}, {}, {"mechanism": "subset"}),
    (Discrete(list("ab")), {"alpha": 3}, {"items": 1}, {"mechanism": "frequency"}),
]


@pytest.mark.parametrize(("space", "granted", "options", "named"), CHOSEN)
def test_a_survey_names_what_it_chose_and_nobody_chooses_again(space, granted, options, named, monkeypatch):
    def refused(*_, **__):
        raise AssertionError("simulated")

    study = Study(space, users=2000, model="local", **granted)
    asked = to_question({"kind": "histogram", **options})
    survey = Survey(study, asked)
    chosen = survey.question.to_spec()
    assert {key: pytest.approx(chosen[key]) if key == "spacing" else chosen[key] for key in named} == named
    plan = asked.plan(survey.terms)
    for place in ("histograms", "user_level", "node_spacing"):
        monkeypatch.setattr(f"barrow.planning.{place}.measure_of", refused, raising=False)
        monkeypatch.setattr(f"barrow.planning.{place}.simulate", refused, raising=False)
    written = to_question(chosen)
    again = Survey(study, written)
    assert (again.digest, again.guarantee) == (survey.digest, survey.guarantee)
    assert type(again.channel) is type(survey.channel)
    items = np.array([1])
    assert len(again.channel.report(items)) == len(survey.channel.report(items)) == again.collector().length
    assert plan.guarantee == survey.guarantee
    if isinstance(survey.channel, NoiseChannel):
        assert (again.channel.noise.scale, again.channel.noise.event) == (plan.noise.scale, plan.noise.event)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("histogram(mechanism='edges', spacing=-1)", "spacing is -1"),
        ("histogram(mechanism='edges', spacing='wide')", "spacing is 'wide'"),
        ("histogram(spacing=5)", "only noise along edges"),
    ],
)
def test_a_spacing_is_a_distance_along_edges(text, says):
    with pytest.raises(ParameterError, match=says):
        to_question(text)


def test_mechanisms_of_user_level_dp_are_named_with_promises():
    terms = Terms(LINE, 2000, given=Fraction(3), model=Model.LOCAL)
    with pytest.raises(ParameterError, match="makes no promises"):
        to_question("histogram(mechanism='subset')").channel(terms)
    study = Study(LINE, ["all, 5 years, 0.5"], users=2000, model="local")
    with pytest.raises(ParameterError, match="not for reports that people make"):
        Survey(study, "histogram(mechanism='levels')")


def test_a_choice_is_made_once_for_all_clients_of_a_process(tmp_path, monkeypatch):
    study = Study(Line(0, 20, step=1), alpha="3.5", users=77, model="local")
    first = LocalClient(study, "histogram", memory=tmp_path / "a.json")
    monkeypatch.setattr("barrow.questions.histogram.histogram_candidates", None)
    second = LocalClient(study, "histogram", memory=tmp_path / "b.json")
    assert second.survey.digest == first.survey.digest
    assert len(second.report([3]).values) == len(first.report([3]).values)


@pytest.mark.parametrize("asked", [*LINEAR, "histogram", "histogram(mechanism='edges')", "histogram(definition='emd')"])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_clients_add_the_noise_that_the_server_plans_with(asked, delta):
    survey = Survey(Study(LINE, ["all, 5 years, 0.5"], users=500, model="local", delta=delta), asked)
    assert (survey.channel.noise.scale, survey.channel.noise.grid) == (survey.plan.noise.scale, survey.plan.noise.grid)
    assert survey.channel.noise.event == survey.plan.event
    assert survey.channel.guarantee == survey.plan.guarantee
    assert survey.channel.description == survey.plan.description
    assert survey.channel.proved


@pytest.mark.parametrize("asked", ["items(items=2)", "items(samples=3)", "frequency(items=2)", "histogram(items=2)"])
@pytest.mark.parametrize("model", ["local", "shuffle"])
def test_clients_randomise_as_the_server_plans(asked, model):
    study = Study(Discrete(["a", "b", "c"]), alpha=6, users=100, delta="1e-6", model=model)
    survey = Survey(study, asked)
    assert survey.channel.guarantee == survey.plan.guarantee
    if hasattr(survey.channel, "mechanism"):
        assert survey.channel.mechanism.event == survey.plan.event
    assert survey.channel.description == survey.plan.description


def test_people_who_hold_other_numbers_of_items_are_refused_with_a_constant_text(tmp_path):
    study = Study(Discrete(["a", "b"]), alpha=6, users=100, model="local")
    with pytest.raises(DataError, match="exactly the public number"):
        LocalClient(study, "items(items=2)", memory=tmp_path / "me.json").report(["a"])
    assert len(LocalClient(study, "items(samples=2)", memory=tmp_path / "you.json").report(["a"]).values) == 2
