"""Studies whose answers several aggregators add up: what is planned, compared and refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import barrow as bw
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.ledger.errors import NotApprovedError
from barrow.local.client import LocalClient, Survey
from barrow.local.server import Server
from barrow.promises import Model, SecureSum
from barrow.questions.plan_text import answer_json
from barrow.questions.summed import summed_answer
from barrow.study import Study
from barrow.study.models import compare_models
from barrow.study.proposal import propose_collected
from barrow.study.prose import explain
from barrow.study.release import CollectedReports, release_collected
from barrow.transport import measure_of
from tests.ledger.approval_suite import KEYS, QUORUM

CLUSTERS = "clustered(shape=[10, 10], r=0.05)"
YEARS = "line(low=0, high=100, step=1, unit='years')"


@pytest.mark.parametrize(("aggregators", "ratio"), [(2, 1.49), (3, 1.26), (5, 1.16)])
def test_histograms_err_as_was_measured(aggregators, ratio):
    """Within 5 % of the ratios to a curator's error at 60 draws and Dirichlet populations."""
    central = Study(CLUSTERS, alpha=25, users=10_000, missing="default item").plan("histogram")
    plan = Study(CLUSTERS, alpha=25, users=10_000, model="aggregated", aggregators=aggregators).plan("histogram")
    assert plan.error / central.error == pytest.approx(ratio, rel=0.05)
    assert isinstance(plan.event, SecureSum)
    assert plan.guarantee.definition.alpha == 25
    assert plan.guarantee.delta == 0


def test_promises_are_kept_as_a_curator_keeps_them():
    promises = ["1 of 30, 5 years, 0.5", "all, anywhere, 4"]
    plans = [Study(YEARS, promises, users=1000, model=model).plan("mean") for model in ("aggregated", "local")]
    assert plans[0].alpha == plans[1].alpha
    assert answer_json(plans[0])["promises"] == answer_json(plans[1])["promises"]
    assert answer_json(plans[0])["aggregators"] == 2


def test_the_promise_does_not_depend_on_the_number_of_people_and_a_plan_says_who_is_trusted():
    few, many = (Study(YEARS, alpha=5, users=n, model="aggregated").plan("mean") for n in (1, 10**6))
    assert few.guarantee == many.guarantee
    assert "Trust     2 aggregators: no privacy unless at least one of them keeps to the rules" in str(many)


def test_a_study_is_written_and_read_back():
    study = Study(CLUSTERS, alpha=25, users=100, model="aggregated", aggregators=3, dishonest=2)
    again = Study.from_spec(study.to_spec())
    assert (again.parties, again.model) == (study.parties, Model.AGGREGATED)
    assert eval(repr(study), {**vars(bw), "Study": Study, "Clustered": bw.spaces.Clustered}).parties == study.parties
    assert study.replace(model="local").parties is None
    terms = study.terms(study.question("histogram"))
    assert (terms.to_spec()["aggregators"], terms.to_spec()["dishonest"]) == (3, 2)
    assert terms.for_people(60).to_spec()["planned"] == 100


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "local", "aggregators": 2}, "aggregators is 2, and the model is 'local'"),
        ({"model": "shuffle", "dishonest": 1}, "dishonest is 1, and the model is 'shuffle'"),
        ({"aggregators": 2}, "aggregators is 2, and the model is 'central'"),
        ({"model": "aggregated", "honest_fraction": "0.9"}, "dishonest = 1 says"),
        ({"model": "aggregated", "aggregators": 2, "dishonest": 2}, "all of them together see everybody's answer"),
        ({"model": "aggregated", "aggregators": 17}, "aggregators is 17"),
        ({"model": "aggregated", "missing": "no records"}, "no records"),
        ({"model": "aggregated", "groups": [bw.Grouping("region", None, {"a": 50, "b": 50})]}, "has groups"),
    ],
)
def test_what_belongs_to_another_model_is_refused_in_words(options, words):
    with pytest.raises(ParameterError, match=words):
        Study(CLUSTERS, alpha=25, users=100, **options)


def test_periods_are_refused_in_words():
    data = bw.Data(user="u", items=("x",), time="t", period="month", zone="UTC")
    with pytest.raises(ParameterError, match="has periods"):
        Study(YEARS, alpha=25, users=100, model="aggregated", data=data)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("items(items=3)", "randomised items"),
        ("frequency(items=3)", "randomised items"),
        ("mean(noise='gaussian')", "discrete Laplace"),
        ("histogram(noise='gaussian', mechanism='tree')", "discrete Laplace"),
        ("histogram(mechanism='frequency')", "not known in the aggregated model"),
        ("spread", "in which a curator holds the data"),
    ],
)
def test_questions_that_cannot_be_added_up_are_refused_in_words(question, words):
    with pytest.raises(ParameterError, match=words):
        Study(YEARS, alpha=25, users=100, model="aggregated").plan(question)


def test_all_four_models_stand_side_by_side():
    study = Study("clustered(shape=[3, 3], r=0.05)", alpha=25, users=10_000, delta="1e-9")
    result = compare_models(study, "histogram", held=30)
    errors = {row.model.value: row.error for row in result.rows}
    assert list(errors) == ["central", "aggregated", "shuffle", "local"]
    assert errors["central"] < errors["aggregated"] < errors["shuffle"] < errors["local"]
    assert [row.trusted.split(":")[0] for row in result.rows][1:2] == ["2 aggregators"]
    assert "who must be trusted" in str(result)
    with pytest.raises(ParameterError, match="Neither promises nor alpha"):
        compare_models(Study(YEARS, users=100), "mean")


def test_a_release_from_data_in_one_place_is_refused(tmp_path):
    data = bw.read({"u": [1, 2], "x": [3, 4]}, user="u", item="x")
    study = Study(YEARS, alpha=25, users=2, model="aggregated")
    Ledger.create(tmp_path / "l", study.replace(dataset="x"))
    with pytest.raises(ParameterError, match="adds noise centrally"):
        study.replace(dataset="x").release("mean", data, ledger=tmp_path / "l")


def test_alpha_is_that_of_the_event():
    plan = Study(YEARS, alpha=Fraction(7, 3), users=50, model="aggregated").plan("distance(to=30)")
    assert plan.event.alpha == Fraction(7, 3)
    assert plan.comparison is None


def answered(study, people):
    """What people's answers and the aggregators' noise add up to, without cryptography."""
    survey = Survey(study)
    channel, sums, rng = survey.channel, survey.collector(), np.random.default_rng(1)
    means = np.zeros(study.space.items)
    for _ in range(people):
        items = rng.integers(0, study.space.items, rng.integers(1, 5))
        means += np.bincount(items, minlength=study.space.items) / len(items) / people
        numbers = channel.report(items)
        assert sums.refusal(numbers) is None
        sums.add(numbers)
    noise = [channel.noise_share() for _ in range(study.parties.aggregators)]
    return survey, [int(sum(column)) for column in zip(sums.sums, *noise, strict=True)], means


def test_sums_become_a_release_with_a_statement_that_verifies(tmp_path):
    study = Study(
        "clustered(shape=[3, 3], r=0.05)", alpha=25, users=500, dataset="d", model="aggregated",
        questions=["histogram"],
    )  # fmt: skip
    survey, sums, means = answered(study, 300)
    plan, sample = summed_answer(survey.plan, survey.channel, sums, 300)
    assert plan.terms.users == 300
    assert plan.error > 1.3 * survey.plan.error  # the noise is on the sum
    state = Ledger.create(tmp_path / "d.ledger", study)
    (tmp_path / "approved").mkdir()
    reports = CollectedReports(plan, sample, {"card": "sha256:0"}, (study.parties.condition,))
    release = release_collected(study, reports, ledger=state, out=tmp_path / "out", key="one")
    off = measure_of(study.space).distance(plan.shares(sample) - means)
    assert off < 4 * plan.error
    assert release.statement.model is Model.AGGREGATED
    assert release.statement.people == 300
    assert "at least 1 of the 2 aggregators kept to the rules" in str(release)
    assert "split it into shares" in explain(release.statement)
    assert all(check.holds for check in bw.verify(tmp_path / "out", ledger=tmp_path / "d.ledger"))
    assert "Nobody alone" in (tmp_path / "out" / "report.html").read_text()
    governed = Ledger.create(tmp_path / "approved" / "d.ledger", study, approval=QUORUM)
    with pytest.raises(NotApprovedError, match="nobody has approved"):
        release_collected(study, reports, ledger=governed, out=tmp_path / "other", key="one")
    proposal = propose_collected(study, reports, ledger=governed)
    for by in ("ana", "bo"):
        governed.accept(proposal.approve(by=by, key=KEYS[by]))
    fewer = replace(reports, named={"card": "sha256:1"})
    with pytest.raises(NotApprovedError, match="nobody has approved"):  # other reports are another release
        release_collected(study, fewer, ledger=governed, out=tmp_path / "other", key="one")
    assert not (tmp_path / "other").exists()
    approved = release_collected(study, reports, ledger=governed, out=tmp_path / "other", key="one")
    assert [row.by for row in approved.statement.ledger.approved] == ["ana", "bo"]
    assert all(check.holds for check in bw.verify(tmp_path / "other", ledger=governed))
    rows = zip(release.tables["unbiased"], _below(means), strict=True)
    inside = [row["low_95"] <= mass <= row["high_95"] for row, mass in rows]
    assert sum(inside) >= 9  # of 12: fewer once in a hundred thousand


def test_maps_are_released_from_counts_of_samples(tmp_path):
    study = Study(
        {"kind": "euclidean", "low": [0, 0], "high": [1, 1], "step": 0.25}, ["all, 0.1, 0.5"], users=500, dataset="d",
        model="aggregated", questions=["histogram(mechanism='edges', spacing='items')"],
    )  # fmt: skip
    survey, sums, means = answered(study, 400)
    plan, sample = summed_answer(survey.plan, survey.channel, sums, 400)
    assert survey.channel.wire[0]["kind"] == "samples"
    assert float(np.sum(sample.values)) == pytest.approx(1.0)
    state = Ledger.create(tmp_path / "d.ledger", study)
    reports = CollectedReports(plan, sample, {"card": "sha256:0"}, (study.parties.condition,))
    release = release_collected(study, reports, ledger=state, out=tmp_path / "out", key="one")
    assert measure_of(study.space).distance(plan.shares(sample) - means) * study.space.diameter < 4 * plan.error
    assert "counted them at public nodes" in explain(release.statement)
    assert all(check.holds for check in bw.verify(tmp_path / "out", ledger=tmp_path / "d.ledger"))
    [row] = release.statement.protected
    assert row.epsilon <= 0.5


def _below(means):
    clusters = means.reshape(3, 3).sum(axis=1)
    return [*clusters, *means]


def test_half_widths_of_a_mean_are_those_of_the_people_who_took_part():
    study = Study(YEARS, alpha=5, users=10_000, model="aggregated", questions=["mean"])
    survey, sums, means = answered(study, 200)
    plan, sample = summed_answer(survey.plan, survey.channel, sums, 200)
    assert plan.noise.step == survey.channel.noise.step
    assert plan.half_width - plan.moved > 40 * (survey.plan.half_width - survey.plan.moved)
    assert abs(float(sample.values[0]) - float(means @ np.arange(101))) < 2 * plan.half_width
    with pytest.raises(ParameterError, match="not sums of answers"):
        summed_answer(survey.plan, survey.channel, [1, 2], 200)


def test_answers_in_one_piece_are_refused(tmp_path):
    study = Study(YEARS, alpha=5, users=100, model="aggregated", questions=["mean"])
    with pytest.raises(ParameterError, match="in shares"):
        LocalClient(study, memory=tmp_path / "me.json").report([3])
    with pytest.raises(ParameterError, match="never added up in one place"):
        Server(study)
    with pytest.raises(ParameterError, match="there is no guarantee against"):
        _ = Survey(study).channel.alone


def test_channels_are_written_down_for_other_clients():
    study = Study("clustered(shape=[3, 3], r=0.05)", alpha=25, users=500, model="aggregated", questions=["histogram"])
    channel, metric = Survey(study).channel.wire
    assert (channel["kind"], metric["kind"], channel["rate"]) == ("sums", "tree", "1/32")
    assert Fraction(channel["grid"]) * 25 >= Fraction(channel["rate"])
    assert [len(members) for members, _, _ in channel["groups"]] == [9, 3]
    assert len(channel["table"]) == 9
