"""Records outside a space: a local study that makes promises prices what its clients do with them, or they refuse."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.collect.world import admitted, batch_of, item, key

from barrow.collect import Client as CardClient
from barrow.collect import make_card, read_card
from barrow.collect.analyser import analyse, of_batch, of_reports
from barrow.collect.words import card_text
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.local.client import LocalClient, Survey
from barrow.local.server import Server
from barrow.promises import RecordMap
from barrow.questions.linear import ratio_of
from barrow.questions.plan_text import plan_lines
from barrow.questions.prices import charges
from barrow.spaces.nearness import keeps_near
from barrow.study import Data, Study, statement_text

LINE = "line(low=0, high=100, step=1, unit='years')"
DAY = "1 day of 30, 5 years, 0.5"
MODELS = {
    "local": ("local", "mean", {}),
    "shuffle": ("shuffle", "frequency(items=2)", {"delta": "1e-6"}),
}


def asked(model="local", outside=None, space=LINE, **changes) -> Study:
    name, question, more = MODELS[model]
    data = None if outside is None else Data(outside=outside)
    built = {"promises": [DAY], "users": 1000, "model": name, "questions": [question], "data": data, **more, **changes}
    return Study(space, **built)


def card_of(study: Study):
    parties = {"signer": key("signer"), "front": key("front")}
    if study.model.value == "shuffle":
        parties |= {"analyser": key("analyser"), "mixer": key("shuffler"), "shuffler": "https://shuffle.example"}
    return make_card(study, address="https://collect.example", **parties)


def drawn(client, records, **options):
    return client.messages(records, **options) if client.survey.shuffled else client.report(records, **options)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("carded", [False, True])
def test_what_is_not_priced_is_refused_and_what_is_priced_is_drawn(tmp_path, model, carded):
    def client(study, name):
        if not carded:
            return LocalClient(study, memory=tmp_path / name)
        return CardClient(read_card(card_of(study).text), memory=tmp_path / name, limit=1000)

    plain = client(asked(model), "plain.json")
    with pytest.raises(ParameterError, match="priced for records that stay near") as result:
        drawn(plain, [50, 130], unknown="default")
    assert "'error' or 'nearest'" in str(result.value)
    assert "outside = 'default'" in str(result.value)
    assert plain.answered == ()
    assert not carded or plain.budget.spent == 0
    assert drawn(plain, [50, 130], unknown="nearest")  # on a line the nearest point is a contraction

    priced = client(asked(model, "default"), "priced.json")
    assert priced.survey.plan.terms.records is RecordMap.JUMPS
    assert drawn(priced, [50, 130], unknown="default")


def test_nearest_is_refused_where_no_contraction_is_proved(tmp_path):
    study = Study("hours", ["1 of 30, 1 h, 0.5"], users=100, model="local", questions=["histogram"])
    assert not keeps_near(study.space, "nearest")
    with pytest.raises(ParameterError, match="priced for records that stay near") as result:
        LocalClient(study, memory=tmp_path / "me.json").report([25.0], unknown="nearest")
    assert "allowed: 'error', or" in str(result.value)


def test_alpha_promises_nothing_about_records_and_names_are_what_the_space_says(tmp_path):
    """As in the central model: alpha is about items, and an unknown name is the default item by definition."""
    given = Study(LINE, alpha=3, users=100, model="local", questions=["mean"])
    assert LocalClient(given, memory=tmp_path / "alpha.json").report([130], unknown="default")
    names = Study("discrete(labels=['a', 'b'])", ["all, anywhere, 1"], users=9, model="local", questions=["histogram"])
    assert LocalClient(names, memory=tmp_path / "names.json").report(["c"], unknown="default")


def test_a_priced_study_costs_what_a_jump_costs():
    """A thirtieth of the records by the whole space, where it was by 5 of 100 years and half a year twice."""
    near, far = (Survey(asked(outside=outside)) for outside in (None, "default"))
    for survey, reach in ((near, Fraction(6, 100)), (far, Fraction(1))):
        plan = survey.plan
        assert charges(plan) == (Fraction(1, 2),)
        assert float(charges(plan)[0] / plan.alpha) == pytest.approx(float(reach) / 30, rel=1e-6)
    # What a client of the cheap study would lose if its record crossed the edge: all of B/ell instead of 6/100.
    assert near.plan.alpha * ratio_of(near.plan) / 30 > 15 * charges(near.plan)[0]
    assert far.plan.alpha * ratio_of(far.plan) / 30 <= charges(far.plan)[0]
    assert near.digest != far.digest


@pytest.mark.parametrize("model", MODELS)
def test_card_plan_and_result_say_so(tmp_path, model):
    study = asked(model, "default", users=3)
    card = read_card(card_of(study).text)
    words = RecordMap.JUMPS.words
    assert words in " ".join(card_text(card).split())
    assert words in "\n".join(plan_lines(card.survey.plan))
    assert card.survey.digest == Survey(study).digest
    assert words not in " ".join(card_text(card_of(asked(model, users=3))).split())
    if model == "shuffle":
        return
    server = Server(card.survey)
    assert server.add(LocalClient(card.survey, memory=tmp_path / "me.json").report([130], unknown="default")) is None
    result = server.result()
    assert words in str(result)
    assert result.details["records"] == "jumps"


def test_a_card_names_no_source_and_keeps_the_word(tmp_path):
    study = asked(outside="default").replace(
        data=Data("visits.csv", user="uid", items="age", outside="default", sql="SELECT uid, age FROM records")
    )
    text = card_of(study).study
    assert 'outside = "default"' in text
    assert "visits" not in text
    assert "SELECT" not in text
    assert "[data]" not in card_of(asked(outside="error")).study


@pytest.mark.parametrize("model", MODELS)
def test_statement_and_ledger_of_what_was_collected_say_the_same_price(tmp_path, model):
    study = asked(model, "default", users=4, dataset="ages")
    card, ledger = read_card(card_of(study).text), Ledger.create(tmp_path / "ages.ledger", study)
    if model == "local":
        people = [LocalClient(card.survey, memory=tmp_path / f"{i}.json") for i in range(4)]
        lines = [admitted(card, person.report([130], unknown="default").to_text()) for person in people]
        release = analyse(card, of_reports(card, lines), ledger=ledger, out=tmp_path / "out")
    else:
        messages = [item(card, i) for i in range(8)]
        batch = batch_of(card, tmp_path / "batch", messages)
        release = analyse(card, of_batch(card, batch, key("analyser")), ledger=ledger, out=tmp_path / "out")
    assert release.statement.records is RecordMap.JUMPS
    assert RecordMap.JUMPS.words in " ".join(statement_text(release.statement).split())
    (charge,) = charges(card.survey.plan)
    spent = ledger.balances()[0].spent.loss  # rounded up in the 36th decimal
    assert charge <= spent <= min(charge + Fraction(1, 10**36), Fraction(1, 2))
    assert "snapping" not in ledger.records()[1].data["space"]
