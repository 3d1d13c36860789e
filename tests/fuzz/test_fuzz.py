"""A few thousand malformed inputs, and those that once ended in a traceback."""

import random
from fractions import Fraction

import msgspec
import pytest

from barrow.accounting import price
from barrow.collect import make_card, read_card
from barrow.collect.keys import new_key
from barrow.engines import Source
from barrow.errors import BarrowError, ParameterError
from barrow.ledger.budget import budget_from_json
from barrow.promises import Policy, ShuffledReports, event_from_json
from barrow.promises.guarantees import definition_from_json, guarantee_from_json
from barrow.queries import query_from_spec
from barrow.randomisers import randomiser_from_spec
from barrow.spaces import Discrete, Line, parse_space, space_from_spec
from barrow.study import Study, explain, make_statement
from tests.fuzz import forgeries, reader, texts
from tests.fuzz.run import run
from tests.fuzz.targets import targets

LINE = Line(0, 10, step=1, unit="km", cells=True)
TARGETS = ["spaces", "space text", "queries", "randomisers", "guarantees", "numbers", "policies", "budgets", "columns"]
TOP = ["study files", "study specs", "statements", "reports", "messages", "batches", "servers", "questions"]
COLLECT = ["cards", "sealed batches", "admissions", "wallets"]


def test_malformed_inputs_are_refused_kindly():
    result = run(900, 3600.0, 7, TARGETS)
    assert result["tracebacks"] == 0, result["places"]
    assert result["slow"] == 0
    assert result["accepted"] > 20  # some mutations are harmless: the harness reaches the inside


def test_malformed_files_and_messages_are_refused_kindly():
    result = run(1_200, 3600.0, 11, TOP)
    assert result["tracebacks"] == 0, result["places"]
    assert result["slow"] == 0
    assert result["accepted"] > 50


def test_malformed_cards_batches_and_wallets_are_refused_kindly():
    result = run(450, 3600.0, 13, COLLECT)
    assert result["tracebacks"] == 0, result["places"]
    assert result["slow"] == 0
    assert result["accepted"] > 10


def test_texts_are_read_as_a_second_reader_reads_them():
    result = texts.compare(6_000, 17)
    assert result["texts"] == 6_000
    assert result["different"] == []
    assert all(result["read"][kind] > 40 for kind in texts.WRITERS), result[
        "read"
    ]  # what refuses everything is useless


@pytest.mark.parametrize("name", texts.PLANTS)
def test_a_reader_that_is_wrong_is_found_out(name):
    assert texts.compare(6_000, 17, texts.PLANTS[name])["different"]


def test_the_second_reader_by_known_answers():
    third, far = Fraction(1, 3), Fraction(1000)
    shares = {"1 day of 30": Fraction(1, 30), "a third": third, "1 week of 21 days": third, "1/2 of the 30 days": None}
    assert {text: reader.share(text) for text in shares} == shares
    assert reader.share("two dozen of 48 visits") == Fraction(1, 2)
    assert reader.distance("1.000 km", "km", Fraction(5000)) == Fraction(1, 5)  # the more protective way
    assert reader.distance("0.5 d", "km", far) is reader.distance("5 % km", "km", far) is None
    assert reader.epsilon("1,000") == 1
    assert reader.promise("1 of 30, 1,000 km, 0.5", "km", far) == (Fraction(1, 30), 1, Fraction(1, 2))
    assert reader.promise("1, 10 km", "km", far) is None


def test_forged_releases_are_counted_and_a_verifier_that_believes_them_is_caught():
    """Every fifth here; all of this kind, and of all others, in tests/study/test_verification.py."""
    result = forgeries.run(["distance"], every=5)
    assert (result["forgeries"] > 40, result["undetected"], result["believed"]) == (True, 0, [])
    assert forgeries.run(["distance"], verifier=forgeries.weak, every=5)["undetected"] > 20


@pytest.mark.parametrize("number", [274, 440])
def test_inputs_that_once_ended_in_a_traceback(number, tmp_path):
    name = {274: "study specs", 440: "batches"}[number]
    with pytest.raises(BarrowError):
        targets()[name](random.Random(f"3/{name}/{number}"), tmp_path)


@pytest.mark.parametrize(
    "text", ["-" * 100_000, "(" * 100_000, "line(" + "-" * 9_000 + "1)", "line(low=" + "[" * 5_000]
)
def test_deep_texts_are_refused_without_memory(text):
    with pytest.raises(ParameterError, match="cannot be read"):
        parse_space(text)


@pytest.mark.parametrize(
    "read",
    [
        space_from_spec,
        event_from_json,
        definition_from_json,
        guarantee_from_json,
        budget_from_json,
        lambda data: query_from_spec(LINE, data),
        lambda data: Policy(LINE, data),
        lambda data: randomiser_from_spec(Discrete("ab"), 1, data),
    ],
)
@pytest.mark.parametrize("data", [7, "x", [1], [[1, 2]], None, {1: 2}, {"kind": []}, {"definition": {}}])
def test_what_is_no_table_is_refused(read, data):
    if data is None and "randomiser" in repr(read):
        return
    try:
        read(data)
    except BarrowError:
        return
    assert data is None  # the randomiser that suits the space


def test_a_unit_is_a_text():
    with pytest.raises(ParameterError, match=r"unit is 3\.5"):
        space_from_spec({**LINE.to_spec(), "unit": 3.5})


def test_a_name_that_no_file_system_takes_is_refused():
    with pytest.raises(ParameterError, match="source"):
        Source.parse("(" * 5_000)


def test_a_certified_zero_is_stated_as_a_small_number():
    result = price(ShuffledReports("1e-9", reports=10**6, items=10, delta="1e-9", model="central"))
    assert 0 < result.definition.alpha <= Fraction(1, 10**12)
    with_name = ShuffledReports("1e-9", reports=10**6, items=10, delta="0.5", model="central", randomiser="krr:2")
    assert price(with_name).definition.alpha > 0


def test_words_of_a_forged_statement_end_in_words():
    study = Study(LINE, alpha=5, users=10)
    forged = msgspec.structs.replace(make_statement(study, study.plan("mean")), conditions=["nobody tells"])
    with pytest.raises(ParameterError, match="not whole"):  # who collects reports is no curator
        explain(forged)


def test_a_card_of_bytes_is_no_card():
    study = Study("discrete(labels=['calm', 'tense'])", alpha=1, users=100, model="local")
    keys = {"signer": new_key("signer"), "front": new_key("front")}
    data = make_card(study, "items(items=1)", address="https://example.org", **keys).data
    with pytest.raises(ParameterError, match="card"):
        read_card({**data, "metric": {"name": b"bytes"}})
